//! What a stop check asks of a file, looked at in the tree itself: no link is followed, and no program of the
//! work runs.

use regex::bytes::RegexBuilder;
use serde_json::Value;
use windlass_core::stop::{MAX_PATTERN_BYTES, StopCondition};

/// A larger file is not read: a stop check is about a small sign that the end is reached.
pub const MAX_STOP_FILE: u64 = 16 << 20;

/// What a tree has at the path of a stop check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FoundPath {
    Nothing,
    File(Vec<u8>),
    TooLarge { bytes: u64 },
    Directory,
    Link,
    Submodule,
}

/// Whether a condition holds, and what was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StopLook {
    pub holds: bool,
    pub why: String,
}

impl StopLook {
    fn yes(why: impl Into<String>) -> Self {
        Self { holds: true, why: why.into() }
    }

    fn no(why: impl Into<String>) -> Self {
        Self { holds: false, why: why.into() }
    }
}

/// The path that a condition asks about; none for a command.
pub fn stop_path(condition: &StopCondition) -> Option<&str> {
    match condition {
        StopCondition::Run { .. } => None,
        StopCondition::Exists { path } => Some(path),
        StopCondition::Contains { file, .. }
        | StopCondition::Matches { file, .. }
        | StopCondition::Json { file, .. } => Some(file),
    }
}

/// Fails closed: what cannot be read or understood does not hold, and a command is not for here.
pub fn look_at(condition: &StopCondition, found: &FoundPath) -> StopLook {
    match condition {
        StopCondition::Run { .. } => StopLook::no("it is a command, and was not run"),
        StopCondition::Exists { path } => match found {
            FoundPath::File(_) | FoundPath::TooLarge { .. } | FoundPath::Directory => {
                StopLook::yes(format!("{path} is there"))
            }
            FoundPath::Nothing | FoundPath::Link | FoundPath::Submodule => StopLook::no(no_file(path, found)),
        },
        StopCondition::Contains { file, text } => in_file(file, found, |bytes| {
            match bytes.windows(text.len()).any(|part| part == text.as_bytes()) {
                true => StopLook::yes(format!("{file} contains it")),
                false => StopLook::no(format!("{file} does not contain it")),
            }
        }),
        StopCondition::Matches { file, pattern } => {
            in_file(file, found, |bytes| matches(file, pattern, bytes))
        }
        StopCondition::Json { file, path, equals } => {
            in_file(file, found, |bytes| json_equals(file, bytes, &JsonPlace { path, equals }))
        }
    }
}

fn in_file(file: &str, found: &FoundPath, look: impl FnOnce(&[u8]) -> StopLook) -> StopLook {
    match found {
        FoundPath::File(bytes) => look(bytes),
        FoundPath::Nothing
        | FoundPath::TooLarge { .. }
        | FoundPath::Directory
        | FoundPath::Link
        | FoundPath::Submodule => StopLook::no(no_file(file, found)),
    }
}

fn no_file(path: &str, found: &FoundPath) -> String {
    match found {
        FoundPath::Nothing => format!("{path} is not there"),
        FoundPath::File(_) => format!("{path} is a file"),
        FoundPath::TooLarge { bytes } => {
            format!("{path} is {bytes} bytes long, more than the {MAX_STOP_FILE} that are looked at")
        }
        FoundPath::Directory => format!("{path} is a directory"),
        FoundPath::Link => format!("{path} is a symbolic link, which is not followed"),
        FoundPath::Submodule => format!("{path} is a submodule"),
    }
}

fn matches(file: &str, pattern: &str, bytes: &[u8]) -> StopLook {
    match RegexBuilder::new(pattern).size_limit(MAX_PATTERN_BYTES).build() {
        Ok(built) if built.is_match(bytes) => StopLook::yes(format!("{file} matches")),
        Ok(_) => StopLook::no(format!("{file} does not match")),
        Err(error) => StopLook::no(format!("the pattern cannot be used: {error}")),
    }
}

struct JsonPlace<'a> {
    path: &'a str,
    equals: &'a str,
}

fn json_equals(file: &str, bytes: &[u8], place: &JsonPlace<'_>) -> StopLook {
    let JsonPlace { path, equals } = place;
    let whole: Value = match serde_json::from_slice(bytes) {
        Ok(whole) => whole,
        Err(error) => return StopLook::no(format!("{file} is no JSON: {error}")),
    };
    let Ok(wanted) = serde_json::from_str::<Value>(equals) else {
        return StopLook::no("what it must equal cannot be read");
    };
    let Some(value) = path.split('.').try_fold(&whole, below) else {
        return StopLook::no(format!("{file} has no {path}"));
    };
    match is_same(value, &wanted) {
        true => StopLook::yes(format!("{path} is {}", short(value))),
        false => StopLook::no(format!("{path} is {}, not {}", short(value), short(&wanted))),
    }
}

fn below<'v>(value: &'v Value, word: &str) -> Option<&'v Value> {
    match value {
        Value::Object(entries) => entries.get(word),
        Value::Array(items) => items.get(word.parse::<usize>().ok()?),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// `1` and `1.0` are one number.
fn is_same(found: &Value, wanted: &Value) -> bool {
    match (found, wanted) {
        (Value::Number(a), Value::Number(b)) => {
            a == b || (a.is_f64() != b.is_f64() && a.as_f64() == b.as_f64())
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let same = |(key, a): (&String, &Value)| b.get(key).is_some_and(|b| is_same(a, b));
            a.len() == b.len() && a.iter().all(same)
        }
        (a, b) => a == b,
    }
}

fn short(value: &Value) -> String {
    const SHOWN: usize = 60;
    let text = value.to_string();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> FoundPath {
        FoundPath::File(text.as_bytes().to_vec())
    }

    fn json(path: &str, equals: &str) -> StopCondition {
        StopCondition::Json { file: "s.json".to_owned(), path: path.to_owned(), equals: equals.to_owned() }
    }

    fn holds(condition: &StopCondition, found: &FoundPath) -> bool {
        look_at(condition, found).holds
    }

    #[test]
    fn a_path_exists_as_a_file_or_a_directory_and_never_as_a_link() {
        let exists = StopCondition::Exists { path: "done".to_owned() };
        for there in [file(""), FoundPath::Directory, FoundPath::TooLarge { bytes: 1 << 40 }] {
            assert!(holds(&exists, &there), "{there:?}");
        }
        for not in [FoundPath::Nothing, FoundPath::Link, FoundPath::Submodule] {
            assert!(!holds(&exists, &not), "{not:?}");
        }
        let why = look_at(&exists, &FoundPath::Link).why;
        assert_eq!(why, "done is a symbolic link, which is not followed");
    }

    #[test]
    fn a_file_contains_a_text_or_matches_a_pattern() {
        let contains = StopCondition::Contains { file: "f".to_owned(), text: "all done".to_owned() };
        assert!(holds(&contains, &file("so: all done.\n")));
        assert!(!holds(&contains, &file("all\ndone")));
        let matches = StopCondition::Matches { file: "f".to_owned(), pattern: "(?m)^1$".to_owned() };
        assert!(holds(&matches, &file("4\n2\n1\n")));
        assert!(!holds(&matches, &file("10\n21\n")));
        for condition in [&contains, &matches] {
            let not = [FoundPath::Nothing, FoundPath::Link, FoundPath::Directory];
            for found in not.into_iter().chain([FoundPath::TooLarge { bytes: MAX_STOP_FILE + 1 }]) {
                assert!(!holds(condition, &found), "{found:?}");
            }
        }
        let bytes = FoundPath::File(b"\xff\xfe all done".to_vec());
        assert!(holds(&contains, &bytes), "whatever else is in it");
    }

    #[test]
    fn a_json_value_is_found_by_its_path_and_compared_as_a_value() {
        let text = file(r#"{"a": {"b": [1, {"c": "x"}]}, "n": 1.0, "t": true}"#);
        assert!(holds(&json("a.b.0", "1"), &text));
        assert!(holds(&json("a.b.1.c", "\"x\""), &text));
        assert!(holds(&json("a.b", r#"[1, {"c": "x"}]"#), &text));
        assert!(holds(&json("n", "1"), &text), "one number");
        assert!(holds(&json("t", "true"), &text));
        assert!(!holds(&json("a.b.1.c", "\"y\""), &text));
        assert!(!holds(&json("a.b.2", "1"), &text));
        assert!(!holds(&json("t", "\"true\""), &text), "a text is no truth");
        assert_eq!(look_at(&json("a.x", "1"), &text).why, "s.json has no a.x");
        assert_eq!(look_at(&json("n", "2"), &text).why, "n is 1.0, not 2");
        assert!(look_at(&json("n", "2"), &file("{")).why.starts_with("s.json is no JSON"));
    }

    #[test]
    fn a_number_that_a_fraction_cannot_hold_is_not_rounded() {
        let text = file("9007199254740993");
        let whole = |equals: &str| look_at(&json("x", equals), &file(r#"{"x": 9007199254740993}"#)).holds;
        assert!(whole("9007199254740993") && !whole("9007199254740992"));
        assert!(!holds(&json("x", "1"), &text), "a number has no parts");
    }
}
