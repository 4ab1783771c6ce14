//! Numbers: counts, amounts of money, sizes, spans of time, and yes or no.

use std::fmt::Display;
use std::marker::PhantomData;

use toml::de::DeValue;
use windlass_core::policy::ResourcePolicy;
use windlass_core::time::Millis;

use super::{Setter, SimpleKind, TomlValue, ValueKind, duration, quoted, replace, size, wrong_type};
use crate::problem::TextProblem;

/// A whole number, kept as a `T`.
pub struct Count<T> {
    least: u64,
    most: u64,
    kept_as: PhantomData<fn() -> T>,
}

/// 0 switches the limit off.
pub const LIMIT: Count<u32> = Count::new(0, u32::MAX as u64);
pub const AT_LEAST_ONE: Count<u32> = Count::new(1, u32::MAX as u64);
/// Never, or once.
pub const AT_MOST_ONE: Count<u32> = Count::new(0, 1);
/// A limit whose numbers may be very large.
pub const LARGE_LIMIT: Count<u64> = Count::new(0, i64::MAX as u64);

impl<T> Count<T> {
    const fn new(least: u64, most: u64) -> Self {
        Self { least, most, kept_as: PhantomData }
    }

    fn parse(&self, key: &str, value: &TomlValue<'_>) -> Result<u64, TextProblem> {
        let Some(number) = value.get_ref().as_integer() else {
            return Err(wrong_type(key, "a whole number", value));
        };
        let number = u64::from_str_radix(number.as_str(), number.radix()).ok();
        number.filter(|number| (self.least..=self.most).contains(number)).ok_or_else(|| TextProblem {
            span: value.span(),
            message: format!("`{key}` must be a whole number from {} to {}", self.least, self.most),
            help: match (self.least, self.most) {
                (0, 1) => "write 1, or 0 for never".to_owned(),
                (0, _) => "0 switches the limit off".to_owned(),
                (_, _) => "write at least 1".to_owned(),
            },
        })
    }
}

impl<T: TryFrom<u64> + Display + 'static> ValueKind for Count<T> {
    type Target = T;

    fn read(&self, key: &str, value: &TomlValue<'_>) -> Result<Setter<T>, Vec<TextProblem>> {
        let narrow = |number| T::try_from(number).ok().expect("the range of a count fits what it is kept as");
        replace(self.parse(key, value).map(narrow))
    }

    fn takes(&self) -> String {
        match (self.least, self.most) {
            (0, 1) => "0 or 1".to_owned(),
            (0, _) => "whole number, 0 = off".to_owned(),
            (_, _) => "whole number, at least 1".to_owned(),
        }
    }

    fn show(&self, number: &T) -> String {
        number.to_string()
    }
}

/// Written in dollars, kept in millionths.
pub const DOLLARS: SimpleKind<u64> =
    SimpleKind { takes: "amount in dollars, 0 = off", parse: dollars, show: show_dollars };

/// Written with a unit, kept in bytes.
pub const BYTES: SimpleKind<u64> = SimpleKind {
    takes: "size such as \"512MB\" or \"4GiB\", 0 = off",
    parse: bytes,
    show: |bytes| size::show(*bytes),
};

/// Written with a unit, or as a part of the machine's.
pub struct MemoryAmount;

impl MemoryAmount {
    fn parse(key: &str, value: &TomlValue<'_>) -> Result<Memory, TextProblem> {
        let Some(part) = value.get_ref().as_str().and_then(|text| text.trim().strip_suffix('%')) else {
            return bytes(key, value).map(Memory::Bytes);
        };
        let percent = part.trim_end().parse::<u64>().ok().filter(|percent| (1..=100).contains(percent));
        percent.map(Memory::Percent).ok_or_else(|| TextProblem {
            span: value.span(),
            message: format!("`{key}` must be from 1% to 100% of the machine's memory"),
            help: "write it like \"75%\", or as a size such as \"4GiB\"; 0 switches the limit off".to_owned(),
        })
    }
}

#[derive(Clone, Copy)]
enum Memory {
    Bytes(u64),
    Percent(u64),
}

impl ValueKind for MemoryAmount {
    type Target = ResourcePolicy;

    fn read(&self, key: &str, value: &TomlValue<'_>) -> Result<Setter<ResourcePolicy>, Vec<TextProblem>> {
        let memory = Self::parse(key, value).map_err(|problem| vec![problem])?;
        let (bytes, percent) = match memory {
            Memory::Bytes(bytes) => (bytes, 0),
            Memory::Percent(percent) => (0, percent),
        };
        Ok(Box::new(move |resources| {
            resources.memory_bytes = bytes;
            resources.memory_percent = percent;
        }))
    }

    fn takes(&self) -> String {
        "size such as \"512MB\" or \"4GiB\", or part of the machine's such as \"75%\", 0 = off".to_owned()
    }

    fn show(&self, resources: &ResourcePolicy) -> String {
        match (resources.memory_bytes, resources.memory_percent) {
            (0, 0) => "0".to_owned(),
            (0, percent) => quoted(&format!("{percent}%")),
            (bytes, _) => size::show(bytes),
        }
    }
}

/// Written with units.
pub const SPAN: SimpleKind<Millis> = SimpleKind {
    takes: "duration such as \"20s\", \"5m\" or \"1h30m\", 0 = off",
    parse: span,
    show: |span| if span.is_zero() { "0".to_owned() } else { quoted(&duration::write(*span)) },
};

pub const FLAG: SimpleKind<bool> = SimpleKind {
    takes: "true or false",
    parse: |key, value| value.get_ref().as_bool().ok_or_else(|| wrong_type(key, "true or false", value)),
    show: bool::to_string,
};

const MICRO: f64 = 1_000_000.0;

fn dollars(key: &str, value: &TomlValue<'_>) -> Result<u64, TextProblem> {
    let written = match value.get_ref() {
        DeValue::Float(float) => float.as_str().parse::<f64>().ok(),
        DeValue::Integer(integer) if integer.radix() == 10 => integer.as_str().parse::<f64>().ok(),
        DeValue::String(_)
        | DeValue::Integer(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_)
        | DeValue::Array(_)
        | DeValue::Table(_) => return Err(wrong_type(key, "an amount in dollars", value)),
    };
    let fits = |dollars: &f64| (0.0..=1e9).contains(dollars);
    let amount = written.filter(fits).ok_or_else(|| TextProblem {
        span: value.span(),
        message: format!("`{key}` must be an amount in dollars from 0 to a billion"),
        help: "write it like 20.0; 0 switches the limit off".to_owned(),
    })?;
    Ok((amount * MICRO).round() as u64)
}

fn show_dollars(micro: &u64) -> String {
    let (whole, part) = (micro / 1_000_000, micro % 1_000_000);
    let part = format!("{part:06}");
    let part = part.trim_end_matches('0');
    format!("{whole}.{}", if part.is_empty() { "0" } else { part })
}

fn bytes(key: &str, value: &TomlValue<'_>) -> Result<u64, TextProblem> {
    let help =
        || "write a number with a unit, such as \"512MB\" or \"4GiB\"; 0 switches the limit off".to_owned();
    if let Some(number) = value.get_ref().as_integer() {
        if number.as_str() == "0" {
            return Ok(0);
        }
        let message = format!("`{key}` has no unit");
        return Err(TextProblem { span: value.span(), message, help: help() });
    }
    let Some(text) = value.get_ref().as_str() else {
        return Err(TextProblem { help: help(), ..wrong_type(key, "a size", value) });
    };
    size::parse(text).ok_or_else(|| TextProblem {
        span: value.span(),
        message: format!("`{key}` is not a size: {}", quoted(text)),
        help: help(),
    })
}

fn span(key: &str, value: &TomlValue<'_>) -> Result<Millis, TextProblem> {
    let help = || {
        "write a number with a unit, such as \"20s\", \"5m\" or \"1h30m\"; 0 switches the limit off"
            .to_owned()
    };
    if let Some(number) = value.get_ref().as_integer() {
        if number.as_str().trim_start_matches(['+', '-']) == "0" {
            return Ok(Millis(0));
        }
        let message = format!("`{key}` has no unit");
        return Err(TextProblem { span: value.span(), message, help: help() });
    }
    let Some(text) = value.get_ref().as_str() else {
        return Err(TextProblem { help: help(), ..wrong_type(key, "a duration", value) });
    };
    duration::parse(text).map_err(|why| TextProblem {
        span: value.span(),
        message: format!("`{key}` is not a duration: {why}"),
        help: help(),
    })
}
