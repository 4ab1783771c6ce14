//! One line of a program's output as JSON, and the looks into it that all readers share.

use serde_json::Value;

use crate::usage;

/// A longer line is not looked at: no end marker is that long.
const MAX_BYTES: usize = 8 * 1024 * 1024;

pub enum StreamLine {
    Blank,
    /// An object with a `type`.
    Event {
        kind: String,
        body: Value,
    },
    /// Anything else: a warning of the program, or half a line.
    Other,
}

pub fn read(bytes: &[u8]) -> StreamLine {
    let bytes = bytes.trim_ascii();
    if bytes.is_empty() {
        return StreamLine::Blank;
    }
    if bytes.len() > MAX_BYTES || bytes[0] != b'{' {
        return StreamLine::Other;
    }
    let Ok(body) = serde_json::from_slice::<Value>(bytes) else { return StreamLine::Other };
    match body.get("type").and_then(Value::as_str).map(str::to_owned) {
        Some(kind) => StreamLine::Event { kind, body },
        None => StreamLine::Other,
    }
}

/// Any object.
pub fn object(bytes: &[u8]) -> Option<Value> {
    let bytes = bytes.trim_ascii();
    let fits = !bytes.is_empty() && bytes.len() <= MAX_BYTES && bytes[0] == b'{';
    serde_json::from_slice::<Value>(bytes).ok().filter(|_| fits)
}

/// The text at a JSON pointer.
pub fn text<'a>(value: &'a Value, at: &str) -> Option<&'a str> {
    value.pointer(at).and_then(Value::as_str)
}

/// The text, or nothing as an empty one.
pub fn words<'a>(value: &'a Value, at: &str) -> &'a str {
    text(value, at).unwrap_or_default()
}

pub fn count(value: &Value, at: &str) -> Option<u64> {
    usage::count(value.pointer(at)?)
}

/// Absent is zero, impossible is none.
pub fn count_or_zero(value: &Value, at: &str) -> Option<u64> {
    match value.pointer(at) {
        None | Some(Value::Null) => Some(0),
        Some(_) => count(value, at),
    }
}

/// Dollars as their millionths.
pub fn cost(value: &Value, at: &str) -> Option<u64> {
    let usd = value.pointer(at)?.as_f64().filter(|usd| (0.0..=1e9).contains(usd))?;
    Some((usd * 1e6).round() as u64)
}

/// The first word that looks like a version: `codex-cli 0.166.0`, `2.1.325 (Claude Code)`.
pub fn version(printed: &str) -> Option<String> {
    let is_version = |word: &&str| {
        let mut parts = word.split(['.', '-', '+']);
        let number = |part: Option<&str>| part.is_some_and(|part| part.parse::<u32>().is_ok());
        number(parts.next()) && number(parts.next()) && number(parts.next())
    };
    let words = printed.split(|c: char| c.is_whitespace() || c == '(' || c == ')' || c == ',');
    words.map(|word| word.trim_start_matches('v')).find(is_version).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_found_in_what_programs_print() {
        for (printed, version_is) in [
            ("codex-cli 0.166.0\n", Some("0.166.0")),
            ("2.1.325 (Claude Code)", Some("2.1.325")),
            ("WARNING: a thing of 2 parts\nv1.18.33\n", Some("1.18.33")),
            ("0.61.0-nightly.20261101", Some("0.61.0-nightly.20261101")),
            ("command not found", None),
            ("", None),
        ] {
            assert_eq!(version(printed).as_deref(), version_is, "{printed}");
        }
    }
}
