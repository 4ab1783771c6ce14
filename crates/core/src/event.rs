//! What became true. Events are facts: folding them needs no rule.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::acceptance::CriterionAnswer;
use crate::effect::Issued;
use crate::finding::Finding;
use crate::gate::{CheckRun, FailingCheck, Purpose};
use crate::id::{AmendmentId, AttemptId, CommandId, CommitId, EffectId, FindingId, TaskId, TreeId};
use crate::input::{Asked, AttemptResult, Change, Creation, PathList, UnmergedWork};
use crate::limit::Limit;
use crate::outcome::{Outcome, Reason};
use crate::policy::Role;
use crate::proposal::{AmendmentAnswer, ProposedAmendment};
use crate::regression::RegressionTrial;
use crate::revision::{PlanRevision, PolicyRevision, Revision};
use crate::stop::StopResult;
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

impl Decision {
    /// As the trail shows it, which agents can read.
    pub fn told(&self) -> Self {
        let mut told = self.clone();
        for event in &mut told.events {
            if let Event::Gate(GateEvent::CheckFinished(run)) = event {
                run.result = run.result.told();
            }
        }
        told
    }
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
        let is_it = |event: &Event| matches!(event, Event::Operator(OperatorEvent::CommandTaken { command: id, .. }) if *id == command);
        let at = self.events.iter().position(is_it)?;
        let refusal = |event: &Event| {
            if let Event::Operator(OperatorEvent::InputRefused { why, .. }) = event {
                Some(why.clone())
            } else {
                None
            }
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
    OperatorRejected,
    Ended,
    /// One step of an open-ended loop landed.
    Stepped,
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
            Self::OperatorRejected => "rejected by the operator",
            Self::Ended => "cut short",
            Self::Stepped => "a step landed",
        }
    }
}

/// The groups, and each of them as an event.
macro_rules! groups {
    ($($about:ident($group:ident)),* $(,)?) => {
        /// A fact, by what it is about. In the log it is one object with `about` and
        /// `event`; the names of events are written out below, because they stay.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "about", rename_all = "snake_case")]
        pub enum Event {
            $($about($group),)*
        }

        $(impl From<$group> for Event {
            fn from(event: $group) -> Self {
                Self::$about(event)
            }
        })*
    };
}

groups!(
    Loop(LoopEvent),
    Run(RunEvent),
    Pause(PauseEvent),
    Iteration(IterationEvent),
    Attempt(AttemptEvent),
    Gate(GateEvent),
    Finding(FindingEvent),
    Task(TaskEvent),
    Landing(LandingEvent),
    Operator(OperatorEvent),
);

/// The loop itself: what it is to do, and by what rules.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event")]
pub enum LoopEvent {
    #[serde(rename = "loop_created")]
    Created(Box<Creation>),
    /// The plan is another from here on.
    #[serde(rename = "plan_changed")]
    PlanChanged(Box<PlanRevision>),
    /// The policy is another from here on.
    #[serde(rename = "policy_changed")]
    PolicyChanged(Box<PolicyRevision>),
    /// A change that waits for the end of the open iteration.
    #[serde(rename = "revision_kept")]
    RevisionKept(Box<Revision>),
    /// An author would change the plan so.
    #[serde(rename = "amendment_proposed")]
    AmendmentProposed { amendment: AmendmentId, attempt: AttemptId, proposed: Box<ProposedAmendment> },
    #[serde(rename = "amendment_answered")]
    AmendmentAnswered {
        amendment: AmendmentId,
        answer: AmendmentAnswer,
        why: String,
        /// Of one that was applied: the tasks it added.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        added: Vec<TaskId>,
    },
}

/// A run, from its start to its outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event")]
pub enum RunEvent {
    #[serde(rename = "run_started")]
    Started { run: u32, asked: Asked },
    /// Driven again after it was interrupted.
    #[serde(rename = "run_resumed")]
    Resumed { run: u32, asked: Asked },
    #[serde(rename = "run_restarted")]
    Restarted { run: u32 },
    #[serde(rename = "interrupted")]
    Interrupted { signal: String },
    #[serde(rename = "run_ended")]
    Ended { outcome: Outcome },
}

/// Waits for a time, and pauses for the operator's word.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event")]
pub enum PauseEvent {
    #[serde(rename = "wait_started")]
    WaitStarted { until: Timestamp, why: Reason },
    #[serde(rename = "wait_ended")]
    WaitEnded,
    #[serde(rename = "paused")]
    Paused {
        why: Reason,
        detail: String,
        /// The step that failed, may not be left out, and is still to do, in words.
        undone: Option<String>,
    },
    #[serde(rename = "resumed")]
    Resumed,
}

/// An iteration and its phases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event")]
pub enum IterationEvent {
    /// The next iteration of this work starts from the work of earlier ones, on
    /// top of what landed since.
    #[serde(rename = "work_merged")]
    WorkMerged { task: Option<TaskId>, head: TreeId, tree: TreeId, change: Change },
    /// It starts from the head, and its author is shown the earlier work.
    #[serde(rename = "work_not_merged")]
    WorkNotMerged { task: Option<TaskId>, head: TreeId, work: Box<UnmergedWork> },
    #[serde(rename = "iteration_opened")]
    Opened { iteration: u32, task: Option<TaskId>, tree: TreeId },
    #[serde(rename = "phase_entered")]
    PhaseEntered { phase: Phase },
    #[serde(rename = "iteration_closed")]
    Closed { iteration: u32, task: Option<TaskId>, result: IterationResult },
}

/// An attempt of an agent, and what it left.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event")]
pub enum AttemptEvent {
    #[serde(rename = "attempt_started")]
    Started { attempt: AttemptId, role: Role, iteration: u32, task: Option<TaskId> },
    #[serde(rename = "attempt_finished")]
    Finished(Box<AttemptFinished>),
    /// The agent of a role cannot be used: the next of its fallbacks takes over.
    #[serde(rename = "agent_replaced")]
    AgentReplaced { role: Role, by: String, why: String },
    /// An attempt that failed counts towards this limit.
    #[serde(rename = "failure_counted")]
    FailureCounted { limit: Limit, attempt: AttemptId },
    /// The brief of the next attempt is to be smaller.
    #[serde(rename = "brief_shortened")]
    BriefShortened,
    #[serde(rename = "tree_recorded")]
    TreeRecorded(Box<TreeRecorded>),
    #[serde(rename = "review_recorded")]
    ReviewRecorded(Box<ReviewRecorded>),
}

/// What the checks said of a tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event")]
pub enum GateEvent {
    #[serde(rename = "check_finished")]
    CheckFinished(Box<CheckRun>),
    #[serde(rename = "gate_passed")]
    Passed {
        purpose: Purpose,
        tree: TreeId,
        /// The tree with trusted terms, where it was judged as well.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trusted: Option<TreeId>,
        /// What a fix was judged on without the fix.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        regression: Option<RegressionTrial>,
        checks: Vec<String>,
        /// Checks that were red and then green on this tree.
        #[serde(default)]
        flaky: Vec<String>,
    },
    #[serde(rename = "gate_failed")]
    Failed {
        purpose: Purpose,
        tree: TreeId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trusted: Option<TreeId>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        regression: Option<RegressionTrial>,
        checks: Vec<String>,
        exits: Vec<(String, Option<i32>)>,
        failing: Vec<FailingCheck>,
    },
    /// Green on what will land, red on trusted terms.
    #[serde(rename = "gate_needs_terms")]
    NeedsTerms {
        purpose: Purpose,
        tree: TreeId,
        trusted: TreeId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        regression: Option<RegressionTrial>,
        checks: Vec<String>,
        /// As they are on trusted terms.
        failing: Vec<FailingCheck>,
    },
    /// The same tree was judged by the same checks before.
    #[serde(rename = "gate_reused")]
    Reused {
        tree: TreeId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trusted: Option<TreeId>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        regression: Option<RegressionTrial>,
        checks: Vec<String>,
        passed: bool,
    },
}

/// The life of a finding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event")]
pub enum FindingEvent {
    #[serde(rename = "finding_opened")]
    Opened(Box<Finding>),
    #[serde(rename = "finding_carried")]
    Carried { finding: FindingId },
    /// It still holds, and shows itself differently.
    #[serde(rename = "finding_remeasured")]
    Remeasured { finding: FindingId, diff: String },
    #[serde(rename = "finding_resolved")]
    Resolved { finding: FindingId },
    #[serde(rename = "finding_waived")]
    Waived { finding: FindingId, why: String },
}

/// What became of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event")]
pub enum TaskEvent {
    #[serde(rename = "task_done")]
    Done { task: TaskId, commit: CommitId, reviewed: bool, checked: bool },
    #[serde(rename = "task_blocked")]
    Blocked { task: TaskId, reason: Reason, words: String },
    #[serde(rename = "task_unblocked")]
    Unblocked { task: TaskId },
    #[serde(rename = "task_waived")]
    Waived { task: TaskId, why: String },
    /// One step of an open-ended loop is on the branch.
    #[serde(rename = "step_landed")]
    StepLanded { task: TaskId, commit: CommitId, reviewed: bool, checked: bool },
    /// What the stop checks said of the branch's head.
    #[serde(rename = "stop_checked")]
    StopChecked { task: TaskId, tree: TreeId, holds: bool, results: Vec<StopResult> },
    /// It was done, and what landed since has undone that.
    #[serde(rename = "task_reopened")]
    Reopened { task: TaskId },
}

/// What came onto the branch, and what the finisher made of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event")]
pub enum LandingEvent {
    /// This tree would land on this base, and waits for the operator's word.
    #[serde(rename = "approval_asked")]
    ApprovalAsked { commit: CommitId, tree: TreeId, base: TreeId },
    #[serde(rename = "landing_approved")]
    Approved { tree: TreeId },
    #[serde(rename = "landing_rejected")]
    Rejected { tree: TreeId, why: String },
    #[serde(rename = "landed")]
    Landed {
        commit: CommitId,
        tree: TreeId,
        /// The tree whose terms are trusted from here on, where it is another.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trusted: Option<TreeId>,
    },
    /// The terms of what landed were accepted.
    #[serde(rename = "terms_accepted")]
    TermsAccepted { tree: TreeId },
    #[serde(rename = "finish_recorded")]
    FinishRecorded { summary: String },
    /// The finisher's change was not kept.
    #[serde(rename = "finish_dropped")]
    FinishDropped { why: String },
}

/// What the operator asked for, and what was refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event")]
pub enum OperatorEvent {
    #[serde(rename = "command_taken")]
    CommandTaken { command: CommandId, name: String },
    #[serde(rename = "input_refused")]
    InputRefused { input: String, why: String },
    #[serde(rename = "cancel_asked")]
    CancelAsked,
    #[serde(rename = "steered")]
    Steered { text: String },
    #[serde(rename = "noted")]
    Noted { text: String },
    /// Later loops may be judged by the terms of this landed tree.
    #[serde(rename = "terms_trusted")]
    TermsTrusted { tree: TreeId },
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trusted_tree: Option<TreeId>,
    #[serde(default, skip_serializing_if = "PathList::is_empty")]
    pub changed_terms: PathList,
    #[serde(default, skip_serializing_if = "PathList::is_empty")]
    pub added_tests: PathList,
    /// Of a fix: what it began with, with these added; none where it adds none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub with_tests: Option<TreeId>,
    #[serde(default)]
    pub has_tests: bool,
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
    /// What it answers to each criterion of the task, and what else it judged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<CriterionAnswer>,
    /// Whether it judges the changed terms, and finds them in order.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub accepts_terms: bool,
    /// Set when there was no verdict to act on, which is a reject.
    pub failure: Option<NoVerdict>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(id: u64) -> Event {
        Event::Operator(OperatorEvent::CommandTaken { command: CommandId(id), name: "resume".to_owned() })
    }

    fn refused(why: &str) -> Event {
        Event::Operator(OperatorEvent::InputRefused { input: "resume".to_owned(), why: why.to_owned() })
    }

    fn decision(events: Vec<Event>) -> Decision {
        Decision { at: Timestamp(0), elapsed: Millis(0), closes: None, events, effects: Vec::new() }
    }

    #[test]
    fn a_decision_answers_the_command_it_took_and_no_other() {
        let done = decision(vec![taken(3), Event::Pause(PauseEvent::Resumed)]);
        assert_eq!(done.answer_to(CommandId(3)), Some(CommandAnswer::Done));
        assert_eq!(done.answer_to(CommandId(2)), None);

        let not_so = decision(vec![taken(4), refused("it is not paused")]);
        let why = "it is not paused".to_owned();
        assert_eq!(not_so.answer_to(CommandId(4)), Some(CommandAnswer::Refused { why }));

        let not_taken = decision(vec![refused("command 3 was taken before")]);
        assert_eq!(not_taken.answer_to(CommandId(3)), None, "its answer is in the record that took it");
    }
}
