//! What became true. Events are facts: folding them needs no rule.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::effect::Issued;
use crate::finding::Finding;
use crate::gate::{CheckRun, FailingCheck, Purpose};
use crate::id::{AttemptId, CommandId, CommitId, EffectId, FindingId, TaskId, TreeId};
use crate::input::{Asked, AttemptResult, Change, Creation};
use crate::limit::Limit;
use crate::outcome::{Outcome, Reason};
use crate::policy::Role;
use crate::revision::{PlanRevision, PolicyRevision, Revision};
use crate::time::{Millis, Timestamp};
use crate::verdict::{Claim, NoVerdict, Verdict};

/// One decision: stored whole, as one record, before any of it is acted on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    pub at: Timestamp,
    /// How long the drive worked or waited before it, on a monotonic clock.
    pub elapsed: Millis,
    pub closes: Option<EffectId>,
    pub events: Vec<Event>,
    pub effects: Vec<Issued>,
}

/// What became of an operator's command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandAnswer {
    Done,
    Refused { why: String },
}

impl Decision {
    /// What this decision answers to a command; nothing if it did not take it.
    pub fn answer_to(&self, command: CommandId) -> Option<CommandAnswer> {
        let is_it =
            |event: &Event| matches!(event, Event::CommandTaken { command: id, .. } if *id == command);
        let at = self.events.iter().position(is_it)?;
        let refusal = |event: &Event| {
            if let Event::InputRefused { why, .. } = event { Some(why.clone()) } else { None }
        };
        let refused = self.events[at + 1..].iter().find_map(refusal);
        Some(refused.map_or(CommandAnswer::Done, |why| CommandAnswer::Refused { why }))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    Execute,
    Verify,
    Review,
    Land,
    FinalVerify,
    FinalReview,
    Fix,
    Finish,
}

impl Phase {
    pub fn name(self) -> &'static str {
        match self {
            Self::Execute => "execute",
            Self::Verify => "verify",
            Self::Review => "review",
            Self::Land => "land",
            Self::FinalVerify => "final_verify",
            Self::FinalReview => "final_review",
            Self::Fix => "fix",
            Self::Finish => "finish",
        }
    }
}

/// Whether a tree was there before, in its task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Novelty {
    /// Not seen before in this task.
    New,
    /// The tree the task started from.
    Unchanged,
    /// A tree of an earlier attempt at this task.
    Seen,
}

/// How an iteration ended. It counts against at most one limit of its task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IterationResult {
    Done,
    NoProgress,
    Failed,
    Rejected,
    ReviewFailed,
    AgentFailed,
    AgentBlocked,
    Unproven,
    Waived,
    Ended,
}

impl IterationResult {
    pub fn words(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::NoProgress => "no progress",
            Self::Failed => "the gate did not hold",
            Self::Rejected => "rejected",
            Self::ReviewFailed => "no usable verdict",
            Self::AgentFailed => "the agent failed",
            Self::AgentBlocked => "the agent says it is blocked",
            Self::Unproven => "nothing to prove it with",
            Self::Waived => "waived by the operator",
            Self::Ended => "the run ended",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    LoopCreated(Box<Creation>),
    RunStarted {
        run: u32,
        asked: Asked,
    },
    RunResumed {
        run: u32,
        asked: Asked,
    },
    RunRestarted {
        run: u32,
    },
    IterationOpened {
        iteration: u32,
        task: Option<TaskId>,
        tree: TreeId,
    },
    PhaseEntered {
        phase: Phase,
    },
    AttemptStarted {
        attempt: AttemptId,
        role: Role,
        iteration: u32,
        task: Option<TaskId>,
    },
    AttemptFinished(Box<AttemptFinished>),
    /// The agent of a role cannot be used: the next of its fallbacks takes over.
    AgentReplaced {
        role: Role,
        by: String,
        why: String,
    },
    TreeRecorded(Box<TreeRecorded>),
    CheckFinished(Box<CheckRun>),
    GatePassed {
        purpose: Purpose,
        tree: TreeId,
        checks: Vec<String>,
        /// Checks that were red and then green on this tree.
        #[serde(default)]
        flaky: Vec<String>,
    },
    GateFailed {
        purpose: Purpose,
        tree: TreeId,
        checks: Vec<String>,
        exits: Vec<(String, Option<i32>)>,
        failing: Vec<FailingCheck>,
    },
    /// The same tree was judged by the same checks before.
    GateReused {
        tree: TreeId,
        checks: Vec<String>,
        passed: bool,
    },
    ReviewRecorded(Box<ReviewRecorded>),
    FindingOpened(Box<Finding>),
    FindingCarried {
        finding: FindingId,
    },
    /// It still holds, and shows itself differently.
    FindingRemeasured {
        finding: FindingId,
        diff: String,
    },
    FindingResolved {
        finding: FindingId,
    },
    FindingWaived {
        finding: FindingId,
        why: String,
    },
    TaskDone {
        task: TaskId,
        commit: CommitId,
        reviewed: bool,
        checked: bool,
    },
    TaskBlocked {
        task: TaskId,
        reason: Reason,
        words: String,
    },
    TaskUnblocked {
        task: TaskId,
    },
    TaskWaived {
        task: TaskId,
        why: String,
    },
    IterationClosed {
        iteration: u32,
        task: Option<TaskId>,
        result: IterationResult,
    },
    Landed {
        commit: CommitId,
        tree: TreeId,
    },
    /// An attempt that failed counts towards this limit.
    FailureCounted {
        limit: Limit,
        attempt: AttemptId,
    },
    /// The brief of the next attempt is to be smaller.
    BriefShortened,
    WaitStarted {
        until: Timestamp,
        why: Reason,
    },
    WaitEnded,
    Paused {
        why: Reason,
        detail: String,
    },
    Resumed,
    CancelAsked,
    Steered {
        text: String,
    },
    Noted {
        text: String,
    },
    Interrupted {
        signal: String,
    },
    FinishRecorded {
        summary: String,
    },
    /// The finisher's change was not kept.
    FinishDropped {
        why: String,
    },
    /// The plan is another from here on.
    PlanChanged(Box<PlanRevision>),
    /// The policy is another from here on.
    PolicyChanged(Box<PolicyRevision>),
    /// A change that waits for the end of the open iteration.
    RevisionKept(Box<Revision>),
    CommandTaken {
        command: CommandId,
        name: String,
    },
    InputRefused {
        input: String,
        why: String,
    },
    RunEnded {
        outcome: Outcome,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AttemptFinished {
    pub attempt: AttemptId,
    pub role: Role,
    pub claim: Option<Claim>,
    pub result: AttemptResult,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TreeRecorded {
    pub attempt: AttemptId,
    pub commit: CommitId,
    pub tree: TreeId,
    pub gate_tree: TreeId,
    pub change: Change,
    pub whitespace_only: bool,
    /// None where the attempt did not end by itself: its tree is kept, not judged.
    pub novelty: Option<Novelty>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewRecorded {
    pub attempt: AttemptId,
    pub iteration: u32,
    pub tree: TreeId,
    pub verdict: Verdict,
    pub summary: String,
    pub pending: Vec<String>,
    /// Set when there was no verdict to act on, which is a reject.
    pub failure: Option<NoVerdict>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(id: u64) -> Event {
        Event::CommandTaken { command: CommandId(id), name: "resume".to_owned() }
    }

    fn refused(why: &str) -> Event {
        Event::InputRefused { input: "resume".to_owned(), why: why.to_owned() }
    }

    fn decision(events: Vec<Event>) -> Decision {
        Decision { at: Timestamp(0), elapsed: Millis(0), closes: None, events, effects: Vec::new() }
    }

    #[test]
    fn a_decision_answers_the_command_it_took_and_no_other() {
        let done = decision(vec![taken(3), Event::Resumed]);
        assert_eq!(done.answer_to(CommandId(3)), Some(CommandAnswer::Done));
        assert_eq!(done.answer_to(CommandId(2)), None);

        let not_so = decision(vec![taken(4), refused("it is not paused")]);
        let why = "it is not paused".to_owned();
        assert_eq!(not_so.answer_to(CommandId(4)), Some(CommandAnswer::Refused { why }));

        let not_taken = decision(vec![refused("command 3 was taken before")]);
        assert_eq!(not_taken.answer_to(CommandId(3)), None, "its answer is in the record that took it");
    }
}
