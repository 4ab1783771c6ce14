//! What is heard of a turn while it runs, in one shape for all agents. It is shown and summed up, and decides
//! nothing. Every text is bounded and safe to show.

use windlass_core::plain;
use windlass_core::usage::Usage;

use crate::bound;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Live {
    Text(String),
    ToolStarted(Tool),
    ToolFinished {
        tool: Tool,
        exit: Option<i32>,
        ok: bool,
    },
    Touched(Touched),
    /// All tokens of this turn so far, as far as they are told; the end of the turn knows better.
    Tokens(Usage),
    Retry(Retry),
    RefusedCall(RefusedCall),
}

/// One call of a tool. `what` is its command, its file or its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    pub id: String,
    pub name: String,
    pub what: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touched {
    pub path: String,
    pub how: Touch,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Touch {
    Created,
    Edited,
    Deleted,
    Read,
}

/// A request that the agent's program makes again by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retry {
    pub attempt: Option<u32>,
    pub of: Option<u32>,
    pub delay_ms: Option<u64>,
    pub why: String,
}

/// A call that the agent's program, or its rules, did not let through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedCall {
    pub what: String,
    pub why: String,
}

const TEXT_BYTES: usize = 8 * 1024;
const WORDS_BYTES: usize = 400;

/// A message of the model.
pub fn text(text: &str) -> String {
    bound::block(&plain::plain(bound::head(text, 4 * TEXT_BYTES)), TEXT_BYTES)
}

/// A command, a path, a reason: on one line.
pub fn words(text: &str) -> String {
    let shown = plain::plain(bound::head(text, 4 * WORDS_BYTES));
    bound::line(shown.trim(), WORDS_BYTES).replace('\n', " ⏎ ")
}
