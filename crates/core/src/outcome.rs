//! Why things stop. Every reason is a code from a closed list.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::state::TaskStatus;

/// Why a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Outcome {
    pub kind: OutcomeKind,
    pub reason: Reason,
    /// In words, for a person.
    pub detail: String,
}

impl Outcome {
    /// Whether `run` goes on after it, whatever the tasks are.
    pub fn is_of_a_part(&self) -> bool {
        self.kind == OutcomeKind::Stopped
    }

    /// Whether `run` goes on after it: the operator asked for a part of the work, or the task that the run
    /// ended for is blocked and others are ready, or the operator did without what was left.
    pub fn may_be_run_on(
        &self,
        tasks: impl Iterator<Item = (TaskStatus, Option<Reason>)>,
        has_ready_task: bool,
    ) -> bool {
        let (mut all_over, mut any_waived, mut any_blamed) = (true, false, false);
        for (status, reason) in tasks {
            all_over &= status.is_over();
            any_waived |= status == TaskStatus::Waived;
            any_blamed |= status == TaskStatus::Blocked && reason == Some(self.reason);
        }
        let of_the_whole =
            matches!(self.reason, Reason::FinalFixes | Reason::GateFailed | Reason::ReviewFailed);
        let may_do_without = matches!(self.kind, OutcomeKind::Limit | OutcomeKind::Blocked) && !of_the_whole;
        self.is_of_a_part()
            || (may_do_without && all_over && any_waived)
            || (self.may_blame_a_task() && any_blamed && has_ready_task)
    }

    /// Whether a limit of the run may have blocked a task and ended the run with it.
    pub fn may_blame_a_task(&self) -> bool {
        self.kind == OutcomeKind::Blocked && matches!(self.reason, Reason::AgentFailed | Reason::Stalled)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeKind {
    Completed,
    Stopped,
    Blocked,
    Limit,
    Cancelled,
    Failed,
}

impl OutcomeKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Stopped => "stopped",
            Self::Blocked => "blocked",
            Self::Limit => "limit",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
        }
    }
}

macro_rules! reasons {
    ($($variant:ident => $name:literal, $words:literal;)*) => {
        /// The closed list of reasons, for outcomes, blocked tasks and pauses.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum Reason {
            $($variant,)*
        }

        impl Reason {
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            pub fn words(self) -> &'static str {
                match self {
                    $(Self::$variant => $words,)*
                }
            }
        }
    };
}

reasons! {
    Proven => "proven", "every task is done and the final gate is green";
    Waived => "waived", "every task is done or waived, and nothing that was asked for failed";
    Reviewed => "reviewed", "every task is done by the word of reviewers: there is no check that proves it";
    DoneBefore => "done_before", "every task is done, some before windlass came, which it has not proven";
    Asked => "asked", "what was asked for is done";
    OnePass => "one_pass", "one pass over the plan was asked for, and it did not do all of it";
    NoProgress => "no_progress", "the attempts produced no tree that was not seen before";
    Failing => "failing", "the checks stay red or protected paths stay changed";
    Rejected => "rejected", "the reviewer keeps rejecting the work";
    AgentBlocked => "agent_blocked", "the agent says it cannot go on";
    NothingChanged => "nothing_changed", "the checks are green without any change";
    Unproven => "unproven", "there is neither a check nor a review to prove the work";
    BaseRed => "base_red", "the checks are red on the base, so nothing that the task asks for can be told from them";
    AgentFailed => "agent_failed", "the agent keeps crashing";
    Stalled => "stalled", "the agent keeps hanging";
    ReviewFailed => "review_failed", "the reviewer gives no usable verdict";
    GateFailed => "gate_failed", "too many red gates in a row";
    FinalFixes => "final_fixes", "the final checks or the final review stay red";
    Dependency => "dependency", "a task it depends on is blocked";
    BlockedBefore => "blocked_before", "blocked in prd.json before windlass";
    Several => "several", "tasks are blocked for different reasons";
    MaxIterations => "max_iterations", "the iteration limit is reached";
    Wall => "wall", "the wall-clock budget is spent";
    Tokens => "tokens", "the token budget is spent";
    Cost => "cost", "the cost budget is spent";
    Operator => "operator", "the operator asked for it";
    Approval => "approval", "work waits for your approval before it lands";
    Transient => "transient", "the agent's provider keeps failing";
    Auth => "auth", "the agent is not signed in";
    ModelNotFound => "model_not_found", "the agent does not know this model";
    DiskFull => "disk_full", "the disk is full";
    BranchMoved => "branch_moved", "the loop's branch was moved, is checked out, is locked, or its name is taken";
    SandboxUnavailable => "sandbox_unavailable", "this machine cannot confine programs as the policy asks";
    UsageLimit => "usage_limit", "the agent's usage limit is reached";
    Backoff => "backoff", "the agent's provider failed; trying again later";
    EffectFailed => "effect_failed", "windlass could not do a step of its own";
    InternalError => "internal_error", "a defect of windlass itself stopped a step";
}

/// A step of windlass's own that could not be done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fault {
    pub reason: Reason,
    pub detail: String,
}

impl Fault {
    /// Whether a person can remove the cause: the loop pauses with the step
    /// still to do. Anything else ends the run.
    pub fn pauses(&self) -> bool {
        matches!(
            self.reason,
            Reason::DiskFull | Reason::BranchMoved | Reason::SandboxUnavailable | Reason::InternalError
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_named_as_it_is_stored() {
        for reason in Reason::ALL {
            let stored = serde_json::to_string(reason).expect("a unit variant serialises");
            assert_eq!(stored, format!("{:?}", reason.name()));
        }
    }
}
