//! What is heard while a step runs: of an attempt, in one shape for all agents, and of the checks. It is for
//! every surface, is shown and summed up, and decides nothing. Whoever tells it bounds every text and makes it
//! safe to show.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::gate::{Purpose, Trial};
use crate::time::Millis;
use crate::usage::Usage;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Live {
    /// A message of the model.
    Text {
        text: String,
    },
    ToolStarted(ToolCall),
    ToolFinished {
        tool: ToolCall,
        exit: Option<i32>,
        ok: bool,
    },
    Touched(TouchedFile),
    /// All tokens of this turn so far, as far as they are told; the end of the turn knows better.
    Tokens(Usage),
    Retry(Retry),
    RefusedCall(RefusedCall),
    /// A step of windlass's own begins.
    StepStarted(LiveStep),
    CheckFinished(CheckEnd),
    /// Nothing runs: the operator's pause holds back what is next.
    Held,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum LiveStep {
    Check {
        check: String,
        purpose: Purpose,
    },
    /// It is shown that the check can fail.
    BrokenTests {
        check: String,
    },
    /// It is seen whether the added tests of a fix are red without it.
    Regression {
        check: String,
    },
    SetUp {
        command: String,
    },
}

/// One run of a check, as it ended. The gate decides later what it is worth.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckEnd {
    pub check: String,
    /// None when it did not exit by itself.
    pub exit_code: Option<i32>,
    pub timed_out: bool,
    pub duration_ms: Millis,
    /// Which tree it judged.
    #[serde(default)]
    pub trial: Trial,
    /// The last useful lines of one that failed.
    pub excerpt: String,
}

/// `what` is its command, its file or its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    pub what: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TouchedFile {
    pub path: String,
    pub how: FileAction,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileAction {
    Created,
    Edited,
    Deleted,
    Read,
}

/// A request that the agent's program makes again by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Retry {
    pub attempt: Option<u32>,
    pub of: Option<u32>,
    pub delay_ms: Option<u64>,
    pub why: String,
}

/// A call that the agent's program, or its rules, did not let through.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RefusedCall {
    pub what: String,
    pub why: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_written_and_read_back() {
        let tool = ToolCall { id: "1".into(), name: "shell".into(), what: "ls".into() };
        let check = CheckEnd {
            check: "test".into(),
            exit_code: Some(1),
            timed_out: false,
            duration_ms: Millis(7),
            trial: Trial::TrustedTerms,
            excerpt: "red".into(),
        };
        let usage = Usage { input_tokens: 7, ..Usage::default() };
        for (live, kind) in [
            (Live::Text { text: "so".into() }, "text"),
            (Live::ToolStarted(tool.clone()), "tool_started"),
            (Live::ToolFinished { tool, exit: Some(0), ok: true }, "tool_finished"),
            (Live::Touched(TouchedFile { path: "a".into(), how: FileAction::Created }), "touched"),
            (Live::Tokens(usage), "tokens"),
            (Live::Retry(Retry { attempt: Some(1), of: None, delay_ms: None, why: "x".into() }), "retry"),
            (Live::RefusedCall(RefusedCall { what: "rm".into(), why: "no".into() }), "refused_call"),
            (Live::StepStarted(LiveStep::SetUp { command: "npm ci".into() }), "step_started"),
            (Live::CheckFinished(check), "check_finished"),
            (Live::Held, "held"),
        ] {
            let written = serde_json::to_value(&live).unwrap();
            assert_eq!(written["kind"], kind);
            assert_eq!(serde_json::from_value::<Live>(written).unwrap(), live);
        }
    }
}
