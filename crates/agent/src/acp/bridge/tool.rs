//! Calls of the agent's own tools, as far as the agent tells of them, and whether one is let through.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::allowed_paths::{AllowedPaths, PathUse, READ_ONLY};
use crate::cli::line::{text, words};
use crate::cli::messages::input_words;

/// An agent that never ends what it begins must not fill the memory.
const MOST: usize = 1000;

/// What was told of each call so far: a request for permission need not tell it again.
#[derive(Default)]
pub struct Tools {
    calls: BTreeMap<String, KnownToolCall>,
}

#[derive(Clone, Debug, Default)]
pub struct KnownToolCall {
    kind: String,
    title: String,
    paths: Vec<String>,
}

impl Tools {
    pub fn update(&mut self, params: &Value) {
        let update = &params["update"];
        let id = words(update, "/toolCallId");
        let is_call = matches!(words(update, "/sessionUpdate"), "tool_call" | "tool_call_update");
        if !is_call || self.calls.len() >= MOST && !self.calls.contains_key(id) {
            return;
        }
        if matches!(words(update, "/status"), "completed" | "failed") {
            self.calls.remove(id);
            return;
        }
        self.calls.entry(id.to_owned()).or_default().learn(update);
    }

    /// The call with all that is known of it.
    pub fn whole(&self, call: &Value) -> KnownToolCall {
        let mut known = self.calls.get(words(call, "/toolCallId")).cloned().unwrap_or_default();
        known.learn(call);
        known
    }
}

impl KnownToolCall {
    fn learn(&mut self, told: &Value) {
        if let Some(kind) = text(told, "/kind") {
            self.kind = kind.to_owned();
        }
        let what = Some(input_words(told.get("rawInput"))).filter(|what| !matches!(what.as_str(), "" | "{}"));
        if let Some(title) = text(told, "/title").map(str::to_owned).or(what) {
            self.title = title;
        }
        for path in paths(told) {
            if !self.paths.contains(&path) {
                self.paths.push(path);
            }
        }
    }

    pub fn words(&self) -> String {
        format!("{} {}", self.kind, self.title).trim().to_owned()
    }

    /// Inside the workspace it is let through, and so is what names no path: what a command does is held by the
    /// confinement, not by reading it.
    pub fn verdict(&self, place: &AllowedPaths) -> Result<(), String> {
        let edits = matches!(self.kind.as_str(), "edit" | "delete" | "move");
        if edits && self.paths.is_empty() && !place.may_edit() {
            return Err(READ_ONLY.to_owned());
        }
        let wish = if edits { PathUse::Write } else { PathUse::Read };
        self.paths.iter().try_for_each(|path| place.grant(path, wish).map(drop))
    }
}

/// Every place a call names: where it looks, what it was given, and what it would change.
fn paths(told: &Value) -> Vec<String> {
    const KEYS: [&str; 6] =
        ["/file_path", "/filePath", "/absolute_path", "/path", "/notebook_path", "/filepath"];
    let list = |at: &str| told.pointer(at).and_then(Value::as_array).cloned().unwrap_or_default();
    let looked_at = list("/locations");
    let diffs: Vec<Value> =
        list("/content").into_iter().filter(|part| words(part, "/type") == "diff").collect();
    let named = looked_at.iter().chain(&diffs).filter_map(|part| text(part, "/path"));
    let given = told.get("rawInput").into_iter();
    let given = given.flat_map(|input| KEYS.iter().filter_map(|key| text(input, key)));
    let changed = told.pointer("/rawInput/changes").and_then(Value::as_object).into_iter().flatten();
    let all = named.chain(given).chain(changed.map(|(path, _)| path.as_str()));
    all.filter(|path| !path.is_empty()).map(str::to_owned).collect()
}

/// The option that says so, for this once where there is a choice.
pub fn outcome(params: &Value, granted: bool) -> Value {
    let kinds = if granted { ["allow_once", "allow_always"] } else { ["reject_once", "reject_always"] };
    let options = params["options"].as_array().cloned().unwrap_or_default();
    let of_kind = |kind: &&str| options.iter().find(|option| words(option, "/kind") == *kind);
    match kinds.iter().find_map(of_kind) {
        Some(option) => json!({"outcome": {"outcome": "selected", "optionId": option["optionId"]}}),
        None => json!({"outcome": {"outcome": "cancelled"}}),
    }
}
