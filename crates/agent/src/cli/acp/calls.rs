//! The calls of an agent's tools: told in pieces, shown once they say what they are about.

use std::collections::BTreeMap;

use serde_json::Value;
use windlass_core::live::FileAction;

use crate::cli::line::{text, words};
use crate::cli::messages::input_words;
use crate::cli::story::Story;

/// An agent that never ends what it begins must not fill the memory.
const MOST: usize = 1000;

#[derive(Default)]
pub struct Calls {
    open: BTreeMap<String, OpenCall>,
    count: u64,
}

#[derive(Default)]
struct OpenCall {
    name: String,
    kind: String,
    what: String,
    is_shown: bool,
    files: Vec<(String, FileAction)>,
}

impl Calls {
    /// Whether there was any.
    pub fn any(&self) -> bool {
        self.count > 0
    }

    pub fn open(&self) -> usize {
        self.open.values().filter(|call| call.is_shown).count()
    }

    /// A request for permission tells what a call is about, and is often the first to tell.
    pub fn asked(&mut self, story: &mut Story, told: &Value) {
        self.learn(told);
        self.show(story, words(told, "/toolCallId"));
    }

    pub fn update(&mut self, story: &mut Story, told: &Value) {
        let id = words(told, "/toolCallId");
        let status = words(told, "/status");
        let is_over = matches!(status, "completed" | "failed");
        if is_over && !self.open.contains_key(id) && text(told, "/title").is_none() {
            return;
        }
        self.learn(told);
        let is_plain = told.get("rawInput").is_some_and(|input| text(input, "/command").is_some());
        if is_over || is_plain || status == "in_progress" {
            self.show(story, id);
        }
        if is_over {
            self.end(story, told, status == "completed");
        }
    }

    fn learn(&mut self, told: &Value) {
        let id = words(told, "/toolCallId");
        if !self.open.contains_key(id) {
            if self.open.len() >= MOST {
                return;
            }
            self.count += 1;
        }
        self.open.entry(id.to_owned()).or_default().learn(told);
    }

    fn show(&mut self, story: &mut Story, id: &str) {
        let Some(call) = self.open.get_mut(id).filter(|call| !call.is_shown) else { return };
        call.is_shown = true;
        let name = if call.name.is_empty() { &call.kind } else { &call.name };
        story.tool_started(id, name, &call.what);
    }

    fn end(&mut self, story: &mut Story, told: &Value, completed: bool) {
        let id = words(told, "/toolCallId");
        let Some(call) = self.open.remove(id) else { return };
        let exit = exit_code(told);
        let ok = completed && exit.is_none_or(|code| code == 0);
        story.tool_finished(id, exit, ok);
        if call.kind == "execute" {
            story.ran(&call.what, exit, ok);
        } else if ok {
            call.files.iter().for_each(|(path, how)| story.touched(path, *how));
        }
        if !completed {
            story.error(&output(told));
        }
    }
}

impl OpenCall {
    fn learn(&mut self, told: &Value) {
        let keep = |into: &mut String, value: Option<&str>| {
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                *into = value.to_owned();
            }
        };
        keep(&mut self.name, text(told, "/_meta/claudeCode/toolName").or_else(|| text(told, "/name")));
        keep(&mut self.kind, text(told, "/kind"));
        let command = text(told, "/rawInput/command").map(str::to_owned);
        let input = || Some(input_words(told.get("rawInput"))).filter(|what| !what.starts_with('{'));
        let what = command.or_else(|| text(told, "/title").map(str::to_owned)).or_else(input);
        keep(&mut self.what, what.as_deref());
        for file in files(told, &self.kind) {
            if !self.files.iter().any(|(path, _)| *path == file.0) {
                self.files.push(file);
            }
        }
    }
}

/// A diff without an old text makes a file.
fn files(told: &Value, kind: &str) -> Vec<(String, FileAction)> {
    let list = |at: &str| told.pointer(at).and_then(Value::as_array).into_iter().flatten();
    let diffs = list("/content").filter(|part| words(part, "/type") == "diff").map(|part| {
        let how = if part["oldText"].is_null() { FileAction::Created } else { FileAction::Edited };
        (words(part, "/path").to_owned(), how)
    });
    let how = match kind {
        "edit" | "move" => Some(FileAction::Edited),
        "delete" => Some(FileAction::Deleted),
        "read" => Some(FileAction::Read),
        _ => None,
    };
    let places = list("/locations").filter_map(|place| text(place, "/path"));
    let places = places.filter_map(|path| Some((path.to_owned(), how?)));
    diffs.chain(places).filter(|(path, _)| !path.is_empty()).take(100).collect()
}

fn exit_code(told: &Value) -> Option<i32> {
    const PLACES: [&str; 4] = [
        "/_meta/terminal_exit/exit_code",
        "/rawOutput/exit_code",
        "/rawOutput/metadata/exit",
        "/rawOutput/exitCode",
    ];
    let code = PLACES.iter().find_map(|at| told.pointer(at)?.as_i64())?;
    i32::try_from(code).ok()
}

fn output(told: &Value) -> String {
    let parts = told["content"].as_array().into_iter().flatten();
    let texts: Vec<&str> = parts.filter_map(|part| text(part, "/content/text")).collect();
    if texts.is_empty() { words(told, "/rawOutput").to_owned() } else { texts.join("\n") }
}
