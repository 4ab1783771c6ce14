//! A larger or a smaller number of the same type.

use std::ops::Range;

use tree_sitter::Node;

use super::{Draw, Sign};
use crate::broken::Edit;
use crate::numbers::Direction;
use crate::syntax::text;

/// The digits before the point, and what else may be changed.
#[derive(Clone, Debug)]
pub(super) struct Number {
    digits: Range<usize>,
    value: u64,
    /// The largest that surely fits in.
    limit: u64,
    sign: Sign,
    below_zero: BelowZero,
    /// The first digit behind the point, where it counts.
    tenth: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BelowZero {
    Fits,
    /// Of a type without a sign, or with a minus before it as it is.
    Never,
}

/// Up to here every whole number is one of 32 bits with a point.
const EXACT: u64 = 1 << 23;
/// Up to here every whole number is one of JavaScript.
const SAFE: u64 = (1 << 53) - 1;

impl Number {
    pub fn read(node: Node<'_>, source: &[u8], sign: Sign) -> Option<Self> {
        let written = text(node, source).into_owned();
        let count = written.bytes().take_while(u8::is_ascii_digit).count();
        let (whole, rest) = written.split_at(count);
        let value: u64 = whole.parse().ok()?;
        let typed = matches!(node.kind(), "integer_literal" | "int_literal");
        let digits = node.start_byte()..node.start_byte() + count;
        let suffix = rest.strip_prefix('_').unwrap_or(rest);
        let plain = rest.is_empty() || is_suffix_of_rust(suffix);
        if plain && (whole == "0" || !whole.starts_with('0')) {
            let limit = if typed { largest(suffix, value, sign) } else { SAFE.max(value) };
            let below_zero = if typed || sign == Sign::Minus { BelowZero::Never } else { BelowZero::Fits };
            return Some(Self { digits, value, limit, sign, below_zero, tenth: None });
        }
        let exponent = rest.find(['e', 'E']).map_or(0, |at| rest[at + 1..].trim_matches(['-', '+']).len());
        if !rest.starts_with('.') || exponent > 1 && value == 0 {
            return None;
        }
        // What is that large already may not fit in if it is larger.
        let limit = if exponent > 1 { value } else { EXACT.max(value) };
        let tenth = rest.as_bytes().get(1).filter(|_| exponent == 0 && value < 100_000);
        let tenth = tenth.is_some_and(u8::is_ascii_digit).then_some(digits.end + 1);
        let below_zero = if sign == Sign::Minus { BelowZero::Never } else { BelowZero::Fits };
        Some(Self { digits, value, limit, sign, below_zero, tenth })
    }

    pub fn stays_positive(&mut self) {
        self.below_zero = BelowZero::Never;
    }

    pub fn change(&self, source: &[u8], draw: &mut Draw<'_>) -> Edit {
        let direction = match self.sign {
            Sign::Plus => draw.aim.direction,
            Sign::Minus => draw.aim.direction.turned(),
        };
        if let Some(at) = self.tenth.filter(|_| draw.one_in(3))
            && let Some(tenth) = other_digit(source[at], direction, draw)
        {
            return Edit { from: at, to: at + 1, text: tenth.to_string() };
        }
        let other =
            self.in_direction(direction, draw).or_else(|| self.in_direction(direction.turned(), draw));
        let text = other.unwrap_or_else(|| (self.value ^ 1).to_string());
        Edit { from: self.digits.start, to: self.digits.end, text }
    }

    /// Not the next one, which wrong code may return by chance, where there is another.
    fn in_direction(&self, direction: Direction, draw: &mut Draw<'_>) -> Option<String> {
        match direction {
            Direction::Up => self.above(draw).map(|number| number.to_string()),
            Direction::Down if self.below_zero == BelowZero::Fits && (self.value == 0 || draw.one_in(4)) => {
                let number = draw.between(2, self.value.min(EXACT) + 30);
                Some(format!("-{number}"))
            }
            Direction::Down => self.below(draw).map(|number| number.to_string()),
        }
    }

    fn above(&self, draw: &mut Draw<'_>) -> Option<u64> {
        let room = self.limit.checked_sub(self.value).filter(|room| *room > 0)?;
        let (least, most) = if self.value > EXACT {
            (self.value / 8, self.value)
        } else {
            (2, [9, self.value + 10, self.value * 100 + 10_000][draw.numbers.index(3)])
        };
        match (room, least) {
            (1, 2) => Some(self.value + 1),
            (room, least) if room < least => None,
            (room, least) => Some(self.value + draw.between(least, most.min(room))),
        }
    }

    fn below(&self, draw: &mut Draw<'_>) -> Option<u64> {
        match self.value {
            0 => None,
            1 => Some(0),
            value if value > EXACT => Some(draw.between(0, value / 2)),
            value if draw.one_in(2) => Some(value - draw.between(2, value.min(9))),
            value => Some(draw.between(0, value - 2)),
        }
    }
}

fn other_digit(byte: u8, direction: Direction, draw: &mut Draw<'_>) -> Option<u64> {
    let digit = u64::from(byte.checked_sub(b'0')?);
    match direction {
        Direction::Up => (digit < 9).then(|| draw.between(digit + 1, 9)),
        Direction::Down => (digit > 0).then(|| draw.between(0, digit - 1)),
    }
}

fn is_suffix_of_rust(suffix: &str) -> bool {
    let bits = suffix.strip_prefix(['u', 'i', 'f']);
    bits.is_some_and(|bits| matches!(bits, "8" | "16" | "32" | "64" | "128" | "size"))
}

/// Of the narrowest type that holds the value, where none is written: of a `u8` that must be
/// 200 the number 300 does not compile, and a run that is red for that shows nothing.
fn largest(suffix: &str, value: u64, sign: Sign) -> u64 {
    const SIGNED: [u64; 4] = [i8::MAX as u64, i16::MAX as u64, i32::MAX as u64, i64::MAX as u64];
    const UNSIGNED: [u64; 4] = [u8::MAX as u64, u16::MAX as u64, u32::MAX as u64, u64::MAX];
    let of_bits = |types: [u64; 4], bits: &str| match bits {
        "8" => types[0],
        "16" => types[1],
        "32" | "size" => types[2],
        _ => types[3],
    };
    let written = match suffix.split_at_checked(1) {
        Some(("u", bits)) => Some(of_bits(UNSIGNED, bits)),
        Some(("i", bits)) => Some(of_bits(SIGNED, bits)),
        Some(("f", _)) => Some(EXACT),
        Some(_) | None => None,
    };
    let narrowest = || match sign {
        Sign::Plus => SIGNED.into_iter().chain(UNSIGNED).filter(|largest| *largest >= value).min(),
        // One more fits below zero than above it.
        Sign::Minus => SIGNED.into_iter().find(|largest| *largest >= value.saturating_sub(1)),
    };
    written.or_else(narrowest).unwrap_or(value).max(value)
}
