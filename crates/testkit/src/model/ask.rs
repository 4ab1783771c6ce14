//! A request of any of the four APIs, as one thing: what was said so far, and what the model may do.

use serde_json::Value;

use super::api::Api;
use super::tool;

#[derive(Clone, Debug)]
pub struct Ask {
    pub api: Api,
    pub model: String,
    pub stream: bool,
    /// Whether a stream of Chat Completions is to end with its token counts. The others always do.
    pub wants_usage: bool,
    pub entries: Vec<Entry>,
    pub tools: Vec<Tool>,
    /// The form the answer must have.
    pub schema: Option<Value>,
    pub bytes: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    User(String),
    Model { calls: bool },
    Results,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    pub name: String,
    /// Codex groups the tools of an MCP server.
    pub namespace: Option<String>,
    pub kind: ToolKind,
    /// The JSON schema of its arguments.
    pub parameters: Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolKind {
    Function,
    /// One text instead of arguments (Responses only).
    Custom,
    /// The API's own shell (Responses only).
    LocalShell,
}

/// Where a conversation stands, read from the conversation itself: a request sent twice stands where it stood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    pub brief: String,
    pub nonce: Option<String>,
    /// How many answers of the model were acted upon since the brief.
    pub position: usize,
}

/// How prompts begin that no person wrote, although tools are offered with them: claude 2.1 and qwen 0.24
/// guess what would be typed next, and qwen writes down what it learned.
const ASIDES: &[&str] = &["[SUGGESTION MODE", "Managed memory has"];

impl Ask {
    /// Titles, summaries, quota checks: a request that offers no tool is not the work itself, nor is what an
    /// agent asks of its own accord when the work is done.
    pub fn is_side(&self) -> bool {
        let last = self.entries.last();
        let aside = |text: &str| ASIDES.iter().any(|begin| text.starts_with(begin));
        self.tools.iter().all(tool::is_form) || matches!(last, Some(Entry::User(text)) if aside(text))
    }

    pub fn push(&mut self, entry: Entry) {
        match (self.entries.last_mut(), entry) {
            (Some(Entry::Model { calls }), Entry::Model { calls: more }) => *calls |= more,
            (Some(Entry::Results), Entry::Results) => {}
            (Some(Entry::User(said)), Entry::User(more)) => {
                said.push('\n');
                said.push_str(&more);
            }
            (_, entry) => self.entries.push(entry),
        }
    }

    pub fn standing(&self) -> Standing {
        let with_nonce = |entry: &Entry| matches!(entry, Entry::User(text) if nonce(text).is_some());
        let from = self.entries.iter().rposition(with_nonce).unwrap_or_else(|| self.last_prompt());
        let since = self.entries.get(from..).unwrap_or_default();
        let brief = since.iter().find_map(|entry| match entry {
            Entry::User(text) => Some(text.clone()),
            Entry::Model { .. } | Entry::Results => None,
        });
        let brief = brief.unwrap_or_default();
        let acted_upon = |pair: &&[Entry]| {
            matches!(
                pair,
                [Entry::Model { calls: true }, Entry::Results]
                    | [Entry::Model { calls: false }, Entry::User(_)]
            )
        };
        let position = since.windows(2).filter(acted_upon).count();
        Standing { nonce: nonce(&brief), brief, position }
    }

    /// Where the prompt stands that followed the last finished turn of the agent; 0 in a first turn.
    fn last_prompt(&self) -> usize {
        let ended = |pair: &[Entry]| matches!(pair, [Entry::Model { calls: false }, Entry::User(_)]);
        self.entries
            .windows(2)
            .collect::<Vec<_>>()
            .iter()
            .rposition(|pair| ended(pair))
            .map_or(0, |at| at + 1)
    }
}

/// The nonce of a brief: the first line that gives one. What a diff quotes comes later.
fn nonce(text: &str) -> Option<String> {
    let of_line = |line: &str| Some(line.trim().strip_prefix("nonce: ")?.trim().to_owned());
    text.lines().find_map(of_line).filter(|nonce| !nonce.is_empty())
}

/// Texts inside of a message's content, however it is nested.
pub fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}
