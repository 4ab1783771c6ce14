//! The letters and digits of a text.

use std::ops::Range;

use tree_sitter::Node;

use super::Draw;
use crate::broken::Edit;
use crate::numbers::Direction;
use crate::syntax::named_children;

/// Where they are. There is at least one.
#[derive(Clone, Debug)]
pub(super) struct Letters {
    found: Vec<Letter>,
    length: Length,
}

#[derive(Clone, Copy, Debug)]
struct Letter {
    at: usize,
    byte: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Length {
    Free,
    /// Of a type that says it, or of a text that is a number: another number may be equal to it.
    Fixed,
}

impl Letters {
    pub fn of_string(node: Node<'_>, source: &[u8]) -> Option<Self> {
        let mut found = Vec::new();
        for fragment in named_children(node) {
            let is_text = matches!(
                fragment.kind(),
                "string_content"
                    | "string_fragment"
                    | "interpreted_string_literal_content"
                    | "raw_string_literal_content"
            );
            if is_text {
                add_plain(source.get(fragment.byte_range())?, fragment.start_byte(), &mut found);
            }
        }
        let is_array =
            node.kind().ends_with("string_literal") && source.get(node.start_byte()) == Some(&b'b');
        let is_word = found.first().is_some_and(|first| {
            first.byte.is_ascii_alphabetic()
                && first.at.checked_sub(1).is_some_and(|before| matches!(source[before], b'"' | b'\'' | b'`'))
        });
        let length = if is_word && !is_array { Length::Free } else { Length::Fixed };
        (!found.is_empty()).then_some(Self { found, length })
    }

    pub fn of_character(node: Node<'_>, source: &[u8]) -> Option<Self> {
        let written = source.get(node.byte_range())?;
        let [.., b'\'', byte, b'\''] = written else { return None };
        let found = vec![Letter { at: node.end_byte() - 2, byte: *byte }];
        byte.is_ascii_alphanumeric().then_some(Self { found, length: Length::Fixed })
    }

    /// Anything that stands there, with a backslash like any other sign.
    pub fn of_text(range: Range<usize>, source: &[u8]) -> Option<Self> {
        let bytes = source.get(range.clone())?.iter().enumerate();
        let letters = bytes.filter(|(_, byte)| byte.is_ascii_alphanumeric());
        let found: Vec<Letter> =
            letters.map(|(at, byte)| Letter { at: range.start + at, byte: *byte }).collect();
        (!found.is_empty()).then_some(Self { found, length: Length::Fixed })
    }

    pub fn change(&self, draw: &mut Draw<'_>) -> Edit {
        if self.length == Length::Free && draw.one_in(4) {
            return self.resize(draw);
        }
        let place = draw.place(self.found.len());
        let letter = self.found[place];
        let direction = draw.aim.direction;
        // Where no letter is behind `z` there are some before it.
        let byte = other(letter.byte, direction, draw)
            .or_else(|| other(letter.byte, direction.turned(), draw))
            .unwrap_or(b'x');
        Edit { from: letter.at, to: letter.at + 1, text: char::from(byte).to_string() }
    }

    fn resize(&self, draw: &mut Draw<'_>) -> Edit {
        let Letter { at, .. } = self.found[draw.place(self.found.len())];
        match draw.aim.direction {
            Direction::Down if self.found.len() > 1 => Edit { from: at, to: at + 1, text: String::new() },
            Direction::Down | Direction::Up => {
                let at = if draw.aim.is_first { at } else { at + 1 };
                Edit::insert(at, any_letter(draw))
            }
        }
    }
}

pub(super) fn any_letter(draw: &mut Draw<'_>) -> String {
    char::from(b'a' + draw.numbers.index(26) as u8).to_string()
}

/// Behind a backslash a letter may be part of an escape, up to the next sign or space.
fn add_plain(bytes: &[u8], begin: usize, into: &mut Vec<Letter>) {
    let (mut escaped, mut named) = (false, false);
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'\\' => {
                escaped = true;
                named = bytes.get(at + 1..at + 3) == Some(b"N{");
            }
            b'}' => (escaped, named) = (false, false),
            _ if named => {}
            byte if byte.is_ascii_alphanumeric() => {
                if !escaped {
                    into.push(Letter { at: begin + at, byte: *byte });
                }
            }
            b'{' => {}
            _ => escaped = false,
        }
    }
}

/// Of the same kind: another digit for a digit.
fn other(byte: u8, direction: Direction, draw: &mut Draw<'_>) -> Option<u8> {
    let (first, last) = match byte {
        b'0'..=b'9' => (b'0', b'9'),
        b'a'..=b'z' => (b'a', b'z'),
        _ => (b'A', b'Z'),
    };
    let range = match direction {
        Direction::Up => (byte < last).then(|| (byte + 1, last)),
        Direction::Down => (byte > first).then(|| (first, byte - 1)),
    };
    range.map(|(from, to)| draw.between(u64::from(from), u64::from(to)) as u8)
}
