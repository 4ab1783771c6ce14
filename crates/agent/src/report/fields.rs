//! The fields of a report, typed and bounded. What is wrong is said with the place it stands at.

use serde_json::Value;

use windlass_core::amendment::MAX_PARTS;
use windlass_core::plain;
use windlass_core::proposal::{MAX_PROPOSED, ProposedAction, ProposedAmendment, ProposedPart};
use windlass_core::verdict::ClaimedCheck;

use crate::bound;

pub const LIST_ITEMS: usize = 100;
const TEXT_BYTES: usize = 8 * 1024;
/// Of what an author says it followed and ran.
const CLAIMED: usize = 30;
const CLAIMED_BYTES: usize = 1024;

/// Looked up by name; unknown names are no concern of ours.
pub struct Fields {
    pairs: Vec<(String, Value)>,
}

impl Fields {
    pub fn new(pairs: Vec<(String, Value)>) -> Self {
        Self { pairs }
    }

    pub fn into_value(self) -> Value {
        Value::Object(self.pairs.into_iter().collect())
    }

    /// Absent and null are the same.
    pub fn get(&self, key: &str) -> Option<&Value> {
        let (_, value) = self.pairs.iter().find(|(name, _)| name == key)?;
        (!value.is_null()).then_some(value)
    }

    pub fn count(&self, key: &str) -> usize {
        self.pairs.iter().filter(|(name, _)| name == key).count()
    }

    /// Whether the key is given exactly once, and as this text.
    pub fn is_text(&self, key: &str, text: &str) -> bool {
        self.count(key) == 1 && self.get(key).and_then(Value::as_str) == Some(text)
    }

    /// Of a text, in characters.
    pub fn length(&self, key: &str) -> usize {
        self.get(key).and_then(Value::as_str).map_or(0, |text| text.chars().count())
    }

    pub fn repeated(&self) -> Option<String> {
        let mut keys: Vec<&str> = self.pairs.iter().map(|(key, _)| key.as_str()).collect();
        keys.sort_unstable();
        keys.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| shown(pair[0], 60))
    }

    pub fn text(&self, key: &str) -> Result<String, String> {
        match self.get(key) {
            None => Ok(String::new()),
            Some(Value::String(text)) => Ok(shown(text, TEXT_BYTES)),
            Some(other) => Err(not_a("text", key, other)),
        }
    }

    pub fn texts(&self, key: &str) -> Result<Vec<String>, String> {
        self.list(key)?
            .iter()
            .take(LIST_ITEMS)
            .map(|item| {
                let text = item.as_str().ok_or_else(|| not_a("a list of texts", key, item))?;
                Ok(shown(text, TEXT_BYTES))
            })
            .collect()
    }

    /// A list, or a text with an item a line. What has another form says nothing.
    pub fn lines(&self, key: &str) -> Vec<String> {
        let items = match self.get(key) {
            Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).collect(),
            Some(Value::String(text)) => text.lines().collect(),
            Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => Vec::new(),
        };
        let items = items.into_iter().map(|item| item.trim().trim_start_matches(['-', '*', ' ']));
        items.filter(|item| !item.is_empty()).take(CLAIMED).map(|item| shown(item, CLAIMED_BYTES)).collect()
    }

    /// Commands that an author says it ran: objects, texts, or one of them alone.
    pub fn checks(&self, key: &str) -> Vec<ClaimedCheck> {
        let items = match self.get(key) {
            Some(Value::Array(items)) => items.as_slice(),
            Some(one @ (Value::String(_) | Value::Object(_))) => std::slice::from_ref(one),
            Some(Value::Null | Value::Bool(_) | Value::Number(_)) | None => &[],
        };
        items.iter().filter_map(claimed_check).take(CLAIMED).collect()
    }

    /// What an author would change in the plan. What has another form proposes nothing.
    pub fn amendments(&self, key: &str) -> Vec<ProposedAmendment> {
        let items = self.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        items.iter().filter_map(amendment).take(MAX_PROPOSED).collect()
    }

    pub fn one_of<T: Copy>(&self, key: &str, words: &[(&str, T)]) -> Result<T, String> {
        let wanted = || words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
        let Some(value) = self.get(key) else {
            return Err(format!("`{key}` is missing: it is one of {}", wanted()));
        };
        let found = words.iter().find(|(word, _)| value.as_str() == Some(word));
        let unknown = || format!("`{key}` is {}, not one of {}", shown(&value.to_string(), 60), wanted());
        found.map(|(_, meaning)| *meaning).ok_or_else(unknown)
    }

    /// Absent is 0.
    pub fn number(&self, key: &str) -> Result<u32, String> {
        let Some(value) = self.get(key) else { return Ok(0) };
        value.as_u64().and_then(|n| u32::try_from(n).ok()).ok_or_else(|| not_a("a whole number", key, value))
    }

    /// Every object of a list, read by `read`.
    pub fn objects<T>(&self, key: &str, read: fn(&Fields) -> Result<T, String>) -> Result<Vec<T>, String> {
        let read_at = |(index, item): (usize, &Value)| {
            let Value::Object(map) = item else { return Err(not_a("a list of objects", key, item)) };
            let fields = Fields::new(map.iter().map(|(key, value)| (key.clone(), value.clone())).collect());
            read(&fields).map_err(|what| format!("`{key}` item {}: {what}", index + 1))
        };
        self.list(key)?.iter().enumerate().map(read_at).collect()
    }

    fn list(&self, key: &str) -> Result<&[Value], String> {
        match self.get(key) {
            None => Ok(&[]),
            Some(Value::Array(items)) => Ok(items),
            Some(other) => Err(not_a("a list", key, other)),
        }
    }
}

fn claimed_check(item: &Value) -> Option<ClaimedCheck> {
    let text = |key: &str| item.get(key).and_then(Value::as_str).map(str::trim).unwrap_or_default();
    let (command, output) = match item.as_str() {
        Some(text) => (text.trim(), ""),
        None => (text("command"), text("output")),
    };
    let exit = item.get("exit").and_then(Value::as_i64).and_then(|code| i32::try_from(code).ok());
    let check =
        ClaimedCheck { command: shown(command, CLAIMED_BYTES), exit, output: shown(output, CLAIMED_BYTES) };
    (!command.is_empty()).then_some(check)
}

fn amendment(item: &Value) -> Option<ProposedAmendment> {
    let line = |of: &Value, key: &str| {
        let text = of.get(key).and_then(Value::as_str).map(str::trim).unwrap_or_default();
        bound::shown_line(text)
    };
    let block = |of: &Value| {
        let text = of.get("text").and_then(Value::as_str).map(str::trim).unwrap_or_default();
        bound::shown_text(text)
    };
    let list = |key: &str| item.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let action = match item.get("action").and_then(Value::as_str)? {
        "add" => ProposedAction::Add,
        "edit" => ProposedAction::Edit,
        "drop" => ProposedAction::Drop,
        "split" => ProposedAction::Split,
        _ => return None,
    };
    let part = |of: &Value| match of.as_str() {
        Some(title) => ProposedPart { title: bound::shown_line(title.trim()), text: String::new() },
        None => ProposedPart { title: line(of, "title"), text: block(of) },
    };
    let depends_on = list("depends_on").iter().filter_map(Value::as_str).take(CLAIMED);
    Some(ProposedAmendment {
        action,
        task: line(item, "task"),
        title: line(item, "title"),
        text: block(item),
        depends_on: depends_on.map(|id| bound::shown_line(id.trim())).collect(),
        parts: list("parts").iter().map(part).take(MAX_PARTS).collect(),
        why: line(item, "why"),
        stored: Vec::new(),
    })
}

fn not_a(wanted: &str, key: &str, found: &Value) -> String {
    let kind = match found {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    format!("`{key}` is not {wanted}: it holds {kind}")
}

fn shown(text: &str, max: usize) -> String {
    let text = plain::plain(text);
    bound::line(&text, max)
}
