//! The limits of section `[loop]`, one row each: what is counted, when it is
//! looked at, and what follows when it is reached. 0 is off for every one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::input::AttemptEnd;
use crate::outcome::Reason;
use crate::policy::LoopLimits;
use crate::state::{State, TaskState};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    Iterations,
    TaskFailures,
    GateFailures,
    NoProgress,
    Rejections,
    ReviewFailures,
    AgentFailures,
    Stalls,
    Transient,
    FinalFixes,
}

impl Limit {
    /// One of what it counts.
    pub fn words(self) -> &'static str {
        match self {
            Self::Iterations => "iteration",
            Self::TaskFailures => "failed iteration",
            Self::GateFailures => "red gate",
            Self::NoProgress => "iteration without progress",
            Self::Rejections => "rejected review",
            Self::ReviewFailures => "unusable review",
            Self::AgentFailures => "agent failure",
            Self::Stalls => "stall",
            Self::Transient => "temporary failure",
            Self::FinalFixes => "fix",
        }
    }
}

pub struct LimitRow {
    pub limit: Limit,
    /// As in section `[loop]` of windlass.toml.
    pub key: &'static str,
    /// Besides the moment at which an attempt is counted towards it ([`reached_by`]): a
    /// policy that changed can lower a bound after something was counted.
    pub when: &'static [LimitCheck],
    pub outcome: LimitOutcome,
    pub reason: Reason,
    counter: Counter,
    bound: fn(&LoopLimits) -> u32,
    /// From the state and the count.
    words: fn(&State, u32) -> String,
}

/// Whose count it is.
enum Counter {
    Run(fn(&State) -> u32),
    Task(fn(&TaskState) -> u32),
}

/// What a limit counts over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LimitScope {
    /// The task at work; nothing is used while there is none.
    Task,
    /// The open run.
    Run,
    /// The whole life of the loop.
    Loop,
}

/// When a limit is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitCheck {
    /// After an iteration that did not settle its task.
    TaskUnsettled,
    /// Before the next thing to do is chosen.
    Choosing,
    BeforeFix,
    BeforeIteration,
}

/// What follows when a limit is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitOutcome {
    TaskBlocked,
    /// The run ends as blocked, and the task in hand is blocked with it.
    RunBlocked,
    /// The run ends as limited.
    RunLimited,
    Paused,
}

/// A limit that is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitReached {
    pub outcome: LimitOutcome,
    pub reason: Reason,
    pub words: String,
}

/// Of those that are looked at together, the first that is reached counts.
pub static LIMITS: [LimitRow; 10] = [
    LimitRow {
        limit: Limit::Iterations,
        key: "max_iterations",
        when: &[LimitCheck::BeforeIteration],
        outcome: LimitOutcome::RunLimited,
        reason: Reason::MaxIterations,
        counter: Counter::Run(|state| state.run.iterations),
        bound: |limits| limits.max_iterations,
        words: |state, count| {
            let done = several(count, "1 iteration", "iterations");
            format!("{done} of {}", state.policy().limits.max_iterations)
        },
    },
    LimitRow {
        limit: Limit::NoProgress,
        key: "max_no_progress",
        when: &[LimitCheck::TaskUnsettled],
        outcome: LimitOutcome::TaskBlocked,
        reason: Reason::NoProgress,
        counter: Counter::Task(|task| task.no_progress),
        bound: |limits| limits.max_no_progress,
        words: |_, count| several(count, "1 iteration without progress", "iterations without progress"),
    },
    LimitRow {
        limit: Limit::TaskFailures,
        key: "max_task_failures",
        when: &[LimitCheck::TaskUnsettled],
        outcome: LimitOutcome::TaskBlocked,
        reason: Reason::Failing,
        counter: Counter::Task(|task| task.failures),
        bound: |limits| limits.max_task_failures,
        words: |_, count| several(count, "1 failed iteration", "failed iterations in a row"),
    },
    LimitRow {
        limit: Limit::Rejections,
        key: "max_rejections",
        when: &[LimitCheck::TaskUnsettled],
        outcome: LimitOutcome::TaskBlocked,
        reason: Reason::Rejected,
        counter: Counter::Task(|task| task.rejections),
        bound: |limits| limits.max_rejections,
        words: |_, count| several(count, "1 rejected review", "rejected reviews"),
    },
    LimitRow {
        limit: Limit::ReviewFailures,
        key: "max_review_failures",
        when: &[LimitCheck::Choosing],
        outcome: LimitOutcome::RunBlocked,
        reason: Reason::ReviewFailed,
        counter: Counter::Run(|state| state.run.review_failures),
        bound: |limits| limits.max_review_failures,
        words: |_, count| several(count, "1 unusable review", "unusable reviews in a row"),
    },
    LimitRow {
        limit: Limit::AgentFailures,
        key: "max_agent_failures",
        when: &[LimitCheck::Choosing],
        outcome: LimitOutcome::RunBlocked,
        reason: Reason::AgentFailed,
        counter: Counter::Run(|state| state.run.agent_failures),
        bound: |limits| limits.max_agent_failures,
        words: failed_attempts,
    },
    LimitRow {
        limit: Limit::GateFailures,
        key: "max_gate_failures",
        when: &[LimitCheck::Choosing],
        outcome: LimitOutcome::RunBlocked,
        reason: Reason::GateFailed,
        counter: Counter::Run(|state| state.run.gate_failures),
        bound: |limits| limits.max_gate_failures,
        words: |_, count| several(count, "1 red gate", "red gates in a row"),
    },
    LimitRow {
        limit: Limit::FinalFixes,
        key: "max_final_fixes",
        when: &[LimitCheck::BeforeFix],
        outcome: LimitOutcome::RunBlocked,
        reason: Reason::FinalFixes,
        counter: Counter::Run(|state| state.run.final_fixes),
        bound: |limits| limits.max_final_fixes,
        words: |_, count| {
            several(count, "1 fix, and the whole does not hold", "fixes, and the whole does not hold")
        },
    },
    LimitRow {
        limit: Limit::Stalls,
        key: "max_stalls",
        when: &[],
        outcome: LimitOutcome::RunBlocked,
        reason: Reason::Stalled,
        counter: Counter::Run(|state| state.run.stalls),
        bound: |limits| limits.max_stalls,
        words: |_, count| several(count, "1 attempt hung", "attempts in a row hung"),
    },
    LimitRow {
        limit: Limit::Transient,
        key: "max_transient",
        when: &[],
        outcome: LimitOutcome::Paused,
        reason: Reason::Transient,
        counter: Counter::Run(|state| state.run.transient),
        bound: |limits| limits.max_transient,
        words: temporary_failures,
    },
];

impl LimitRow {
    pub fn bound(&self, limits: &LoopLimits) -> u32 {
        (self.bound)(limits)
    }

    pub fn scope(&self) -> LimitScope {
        match self.counter {
            Counter::Run(_) => LimitScope::Run,
            Counter::Task(_) => LimitScope::Task,
        }
    }

    /// None for the limit of a task without the task.
    pub fn count(&self, state: &State, task: Option<&TaskState>) -> Option<u32> {
        match (&self.counter, task) {
            (Counter::Run(count), _) => Some(count(state)),
            (Counter::Task(count), Some(task)) => Some(count(task)),
            (Counter::Task(_), None) => None,
        }
    }

    fn reached(&self, state: &State, task: Option<&TaskState>) -> Option<LimitReached> {
        let count = self.count(state, task)?;
        is_reached(count, self.bound(&state.policy().limits)).then(|| LimitReached {
            outcome: self.outcome,
            reason: self.reason,
            words: (self.words)(state, count),
        })
    }
}

/// Whether this limit of the run is reached.
pub fn reached_by(state: &State, limit: Limit) -> Option<LimitReached> {
    LIMITS.iter().find(|row| row.limit == limit).and_then(|row| row.reached(state, None))
}

/// The first limit that is looked at here and is reached.
pub fn reached(state: &State, when: LimitCheck, task: Option<&TaskState>) -> Option<LimitReached> {
    LIMITS.iter().filter(|row| row.when.contains(&when)).find_map(|row| row.reached(state, task))
}

pub fn is_reached(count: u32, bound: u32) -> bool {
    bound != 0 && count >= bound
}

fn several(count: u32, one: &str, many: &str) -> String {
    if count == 1 { one.to_owned() } else { format!("{count} {many}") }
}

fn failed_attempts(state: &State, count: u32) -> String {
    let end = state.attempt.as_ref().and_then(|attempt| attempt.end.as_ref());
    let how = end.map_or_else(|| "unknown".to_owned(), AttemptEnd::to_string);
    several(count, &format!("1 attempt failed: {how}"), &format!("attempts in a row failed; the last: {how}"))
}

fn temporary_failures(state: &State, count: u32) -> String {
    let how = state.attempt.as_ref().map_or_else(|| "unknown".to_owned(), |attempt| attempt.ending());
    several(
        count,
        &format!("1 attempt failed for a temporary reason: {how}"),
        &format!("attempts in a row failed for temporary reasons; the last: {how}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_the_section_is_one_row_that_reads_that_key() {
        let serde_json::Value::Object(all) = serde_json::to_value(LoopLimits::default()).unwrap() else {
            panic!("limits are a table");
        };
        for key in all.keys() {
            let only: serde_json::Map<_, _> =
                all.keys().map(|other| (other.clone(), u32::from(other == key).into())).collect();
            let limits: LoopLimits = serde_json::from_value(only.into()).unwrap();
            let read: Vec<&str> =
                LIMITS.iter().filter(|row| row.bound(&limits) == 1).map(|row| row.key).collect();
            assert_eq!(read, [key.as_str()]);
        }
        assert_eq!(LIMITS.len(), all.len());
    }

    #[test]
    fn a_limit_of_0_is_off() {
        assert!(!is_reached(9, 0));
        assert!(is_reached(9, 9) && !is_reached(8, 9));
    }
}
