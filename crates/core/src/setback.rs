//! Why an iteration did not end with its work done, in one line for people.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::{IterationResult, Novelty};
use crate::gate::GateSummary;
use crate::id::TaskId;
use crate::plain::plain_line;
use crate::state::State;

/// How much of others' words is kept.
const MOST_CHARS: usize = 240;

/// The last iteration of a task, or of the whole, where it did not end well.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Setback {
    pub iteration: u32,
    pub result: IterationResult,
    /// One line; empty where the result says it all.
    pub why: String,
}

impl Setback {
    /// Of the iteration that is open, which ends so. None for one that ends well.
    pub(crate) fn of(state: &State, result: IterationResult) -> Option<Self> {
        let current = state.current.as_ref()?;
        let why = match result {
            IterationResult::Done | IterationResult::Stepped => return None,
            IterationResult::NoProgress => no_progress(state),
            IterationResult::Failed => red(state),
            IterationResult::Rejected | IterationResult::ReviewFailed => {
                state.last_review.as_ref().map(|review| review.summary.clone()).unwrap_or_default()
            }
            IterationResult::AgentFailed => ending(state),
            IterationResult::AgentBlocked => said(state),
            IterationResult::Unproven | IterationResult::Waived => task_words(state),
            IterationResult::OperatorRejected => bug(state),
            IterationResult::Ended => String::new(),
        };
        Some(Self { iteration: current.iteration, result, why: one_line(&why) })
    }

    pub fn words(&self) -> String {
        match self.why.as_str() {
            "" => self.result.words().to_owned(),
            why => format!("{}: {why}", self.result.words()),
        }
    }
}

fn no_progress(state: &State) -> String {
    let recorded = state.recorded.as_ref();
    let same = match recorded.and_then(|recorded| recorded.novelty) {
        Some(Novelty::Unchanged) => "nothing changed",
        Some(Novelty::Seen) => "the tree is one of an earlier attempt",
        Some(Novelty::New) | None if recorded.is_some_and(|recorded| recorded.whitespace_only) => {
            "only white space changed"
        }
        Some(Novelty::New) | None => "",
    };
    let known = red(state);
    let rejected = &state.current_work().objection;
    let known = if known.is_empty() { rejected } else { &known };
    let parts = [same, known.as_str()].into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("; ")
}

/// The red checks; with a green gate, what was measured against the work.
fn red(state: &State) -> String {
    let gate = state.current_work().gate.as_deref();
    match gate.map(failing).unwrap_or_default() {
        none if none.is_empty() => bug(state),
        checks => checks,
    }
}

fn failing(gate: &GateSummary) -> String {
    let named = gate.failing.iter().map(|failing| format!("{}: {}", failing.check, failing.reason.words()));
    named.collect::<Vec<_>>().join("; ")
}

/// The latest that is open.
fn bug(state: &State) -> String {
    let task = state.current_task();
    let Some(bug) = state.open_bugs().filter(|bug| bug.task.as_ref() == task).last() else {
        return String::new();
    };
    match bug.file.as_str() {
        "" => bug.description.clone(),
        file => format!("{file}: {}", bug.description),
    }
}

fn ending(state: &State) -> String {
    let end = state.attempt.as_ref().and_then(|attempt| attempt.end.as_ref());
    end.map(ToString::to_string).unwrap_or_default()
}

fn said(state: &State) -> String {
    let claim = state.attempt.as_ref().and_then(|attempt| attempt.claim.as_ref());
    claim.map_or_else(String::new, |claim| match claim.blockers.as_slice() {
        [] => claim.summary.clone(),
        blockers => blockers.join("; "),
    })
}

fn task_words(state: &State) -> String {
    let task = state.current_task().and_then(|id: &TaskId| state.task(id));
    task.map(|task| task.words.clone()).unwrap_or_default()
}

/// Others' words, bounded.
pub(crate) fn one_line(text: &str) -> String {
    let text = plain_line(text);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(MOST_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
