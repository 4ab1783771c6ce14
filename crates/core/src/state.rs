//! Everything known about one loop: the fold of its decisions.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::acceptance::CriterionAnswer;
use crate::effect::{Effect, Issued};
use crate::event::{Decision, Event, Phase, ReviewRecorded, TreeRecorded};
use crate::finding::{Finding, Life, Origin};
use crate::gate::{FailingCheck, GateKey, GateSummary, LastGate, Trials};
use crate::id::{AttemptId, BlobId, CommandId, CommitId, EffectId, FindingId, Seq, TaskId, TreeId};
use crate::input::{Asked, AttemptEnd, Change, Creation, PathList, UnmergedWork};
use crate::outcome::{Outcome, Reason};
use crate::policy::{AgentPolicy, Policy, ProvenSandbox, Role};
use crate::proposal::AmendmentState;
use crate::regression::{NO_REGRESSION_CHECK, RegressionTrial, base_is_red};
use crate::revision::Revision;
use crate::setback::Setback;
use crate::stop::StopReport;
use crate::summary::Summary;
use crate::tally::Earlier;
use crate::task::{Task, TaskMode, goal_of_titles};
use crate::time::{Millis, Timestamp};
use crate::usage::{Ledger, Session};
use crate::verdict::{AuthorSaid, Claim};

mod fold;
#[cfg(test)]
pub(crate) mod tests;

/// What grows with the loop is shared: a step copies the state, and only what
/// it changes is copied in full.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    pub seq: Seq,
    /// How many events the log holds.
    pub events: u64,
    pub creation: Arc<Creation>,
    /// The rules in force; the creation has those of the beginning.
    pub policy: Arc<Policy>,
    /// How often the policy was changed, a change that waits included.
    pub policy_changes: u32,
    /// The rules that judged what is in hand, where others are in force now.
    pub judged_by: Option<Arc<Policy>>,
    /// What waits to be taken up between two iterations.
    pub revision: Arc<Revision>,
    /// What agents proposed to change in the plan, and what became of it.
    pub amendments: Arc<Vec<AmendmentState>>,
    pub created_at: Timestamp,
    pub lifecycle: Lifecycle,
    pub run: Run,
    pub tasks: Arc<Vec<TaskState>>,
    /// Where each of them stands in the list.
    places: Arc<BTreeMap<TaskId, usize>>,
    /// The programs that the plan lets an author of windlass's own run.
    pub tools: Arc<Vec<String>>,
    /// The whole plan's own work: final phases and fixes.
    pub whole: Arc<Work>,
    pub current: Option<Current>,
    /// The latest attempt of the run.
    pub attempt: Option<Arc<Attempt>>,
    /// The latest tree of the open iteration or final phase.
    pub recorded: Option<Arc<TreeRecorded>>,
    pub phase: Option<Phase>,
    /// The brief of this phase was too large once.
    pub short_brief: bool,
    pub head: Head,
    /// The tree whose terms are trusted: those of the base, and those that a
    /// reviewer or the operator accepted since. Its product is the head's.
    pub trusted: TreeId,
    /// The terms in which the head differs from it.
    pub changed_terms: Arc<PathList>,
    /// The landed tree by whose terms the operator lets later loops be judged.
    pub trusted_later: Option<TreeId>,
    pub baseline: Option<Arc<GateSummary>>,
    /// Whatever it was for.
    pub last_gate: Option<LastGate>,
    pub gates: Arc<BTreeMap<GateKey, Arc<GateSummary>>>,
    pub tallies: Arc<Tallies>,
    /// Blobs of the paths that the checks wrote on the base.
    pub baseline_writes: Arc<BTreeSet<BlobId>>,
    /// Blobs of the paths that the base showed to be no product.
    pub baseline_terms: Arc<BTreeSet<BlobId>>,
    pub findings: Arc<BTreeMap<FindingId, Finding>>,
    pub pending: Vec<String>,
    pub steering: Vec<String>,
    pub reviews: u32,
    pub last_review: Option<Arc<ReviewRecorded>>,
    pub ledger: Ledger,
    pub waiting: Option<Wait>,
    pub paused: Option<Pause>,
    /// What would land, if the operator approves it.
    pub approval: Option<Arc<AwaitedApproval>>,
    pub cancelling: bool,
    /// The last command that was taken: those up to it are answered.
    pub last_command: CommandId,
    pub completion_summary: Option<String>,
    /// What the stop checks said last; none before they were looked at, and after they changed.
    pub stop: Option<Arc<StopReport>>,
    /// Time spent working, over the whole life of the loop.
    pub worked: Millis,
    pub updated_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub next_attempt: AttemptId,
    pub iterations: u32,
    outstanding: BTreeMap<EffectId, Effect>,
    next_effect: EffectId,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Lifecycle {
    /// No drive has begun since the run was opened.
    Idle,
    Driving,
    Interrupted,
    Ended(Outcome),
}

/// The run that is open, and what counts towards its limits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    pub number: u32,
    pub asked: Asked,
    pub started_at: Option<Timestamp>,
    pub iterations: u32,
    /// Iterations worked on since the present drive began, for `--max`.
    pub drive_iterations: u32,
    /// The tasks of these iterations, for `--once`.
    pub tried: BTreeSet<TaskId>,
    pub agent_failures: u32,
    pub stalls: u32,
    pub transient: u32,
    pub killed: u32,
    pub gate_failures: u32,
    pub review_failures: u32,
    pub final_fixes: u32,
    /// How many agents of a role could not be used.
    pub replaced: BTreeMap<Role, usize>,
    /// The conversation that the last attempt of a role left, and the task it was about.
    pub sessions: BTreeMap<Role, Conversation>,
}

/// What an attempt left of its talk with an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Conversation {
    /// None for the whole.
    pub task: Option<TaskId>,
    /// As the agent was told it.
    pub told: Option<Arc<Task>>,
    pub session: Session,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TaskState {
    pub task: Arc<Task>,
    pub status: TaskStatus,
    pub reason: Option<Reason>,
    pub words: String,
    pub attempts: u32,
    pub failures: u32,
    pub no_progress: u32,
    pub rejections: u32,
    /// How often it landed, in an open-ended loop.
    pub steps: u32,
    pub commit: Option<CommitId>,
    pub reviewed: bool,
    pub checked: bool,
    pub work: Arc<Work>,
}

impl TaskState {
    /// Nothing is to be done for it.
    pub fn is_settled(&self) -> bool {
        self.status.is_over()
    }

    /// It is settled, and would be with these words too: what windlass has done is done again where it asks
    /// for something else. What the operator waives, or calls done, is not, until that word is taken back.
    pub fn stays_settled(&self, words: &Task) -> bool {
        let to_be_done = self.status == TaskStatus::Done && !words.done_before;
        let word_taken_back = self.was_done_before() && self.task.done_before;
        self.is_settled() && !(to_be_done && (word_taken_back || self.task.asks_otherwise(words)))
    }

    /// It entered the loop as done: windlass landed nothing for it, and proves nothing of it.
    pub fn was_done_before(&self) -> bool {
        self.status == TaskStatus::Done && self.commit.is_none()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    Pending,
    Active,
    Done,
    Blocked,
    Waived,
}

impl TaskStatus {
    /// It may be worked on, as soon as what it depends on is done.
    pub fn is_open(self) -> bool {
        match self {
            Self::Pending | Self::Active => true,
            Self::Done | Self::Blocked | Self::Waived => false,
        }
    }

    /// It needs no more work: done, or waived by the operator.
    pub fn is_over(self) -> bool {
        match self {
            Self::Done | Self::Waived => true,
            Self::Pending | Self::Active | Self::Blocked => false,
        }
    }
}

/// What attempts at one task, or at the whole, have led to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Work {
    /// The head this work stands on; none until its first iteration.
    pub base: Option<Head>,
    /// Where its next iteration starts.
    pub tree: Option<TreeId>,
    pub seen: BTreeSet<TreeId>,
    /// Trees a reviewer rejected with a verdict of its own.
    pub rejected: BTreeSet<TreeId>,
    /// Trees on which the last look has not shown that a check can fail.
    pub insensitive: BTreeSet<TreeId>,
    pub gate: Option<Arc<GateSummary>>,
    pub previous_gate: Option<Arc<GateSummary>>,
    /// What its last review asked for next.
    pub pending: Vec<String>,
    /// What its last review answered to each criterion.
    pub answers: Vec<CriterionAnswer>,
    /// Why its last review was a reject; empty after an accept.
    pub objection: String,
    pub change: Change,
    /// Its latest work that could not be merged onto what landed since.
    pub unmerged: Option<Arc<UnmergedWork>>,
    /// What the last attempt at it did.
    pub summary: Arc<Summary>,
    /// How many different files that attempt read, where it is known.
    pub files_read: Option<u64>,
    /// What its author said at the end of the last turn that was not cut short.
    pub author: Arc<AuthorSaid>,
    /// Why its last iteration did not end well.
    pub setback: Option<Arc<Setback>>,
}

/// The names of each check's tests, as blobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tallies {
    pub baseline: BTreeMap<String, BlobId>,
    /// Of the tree that landed last with the check among its gate.
    pub accepted: BTreeMap<String, BlobId>,
    pub judged: BTreeMap<TreeId, BTreeMap<String, BlobId>>,
}

impl Tallies {
    /// What the tests of a check are compared with.
    pub fn earlier(&self, check: &str) -> Option<(Earlier, &BlobId)> {
        let accepted = self.accepted.get(check).map(|names| (Earlier::Accepted, names));
        accepted.or_else(|| self.at_baseline(check))
    }

    /// The same on trusted terms, which may lack tests that landed since.
    pub fn at_baseline(&self, check: &str) -> Option<(Earlier, &BlobId)> {
        self.baseline.get(check).map(|names| (Earlier::Baseline, names))
    }
}

/// The branch: what landed last, or the base while nothing has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    pub commit: CommitId,
    pub tree: TreeId,
    pub landed: bool,
}

/// The open iteration.
#[derive(Clone, Debug, PartialEq)]
pub struct Current {
    pub iteration: u32,
    pub task: Option<TaskId>,
    pub start_tree: TreeId,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    pub id: AttemptId,
    pub role: Role,
    pub task: Option<TaskId>,
    pub started_at: Timestamp,
    /// None while it runs.
    pub end: Option<AttemptEnd>,
    /// How the one before it ended, in the same role at the same work.
    pub before: Option<AttemptEnd>,
    pub claim: Option<Claim>,
    pub message: String,
    /// What its program said of its failure, in one line; empty where nothing is known.
    pub failure: String,
}

impl Attempt {
    /// How it ended, with what its program said of that.
    pub fn ending(&self) -> String {
        let end = self.end.as_ref().map_or_else(|| "unknown".to_owned(), AttemptEnd::to_string);
        if self.failure.is_empty() { end } else { format!("{end}: {}", self.failure) }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Wait {
    pub until: Timestamp,
    pub why: Reason,
    /// What failed, in words; empty where `why` says all that is known.
    pub detail: String,
    /// What is left of a wait that is a span of time, whatever the wall clock is set
    /// to meanwhile. None: `until` is a moment that somebody else has set.
    pub left: Option<Millis>,
}

/// When a wait is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deadline {
    At(Timestamp),
    /// So long after the last decision, on a monotonic clock.
    After(Millis),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Pause {
    pub why: Reason,
    pub detail: String,
    /// The step that failed, may not be left out, and is still to do, in words.
    pub undone: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AwaitedApproval {
    pub commit: CommitId,
    pub tree: TreeId,
    /// The tree that it would land on.
    pub base: TreeId,
}

impl AwaitedApproval {
    /// Enough of its name for people.
    pub fn short_tree(&self) -> &str {
        self.tree.as_str().get(..10).unwrap_or(self.tree.as_str())
    }
}

/// What is to become of an outstanding effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Duty<'a> {
    Perform(EffectId, &'a Effect),
    /// The run is being cancelled: close it as dropped.
    Drop(EffectId),
}

#[derive(Debug, thiserror::Error)]
#[error("the first record of a loop's log does not create a loop")]
pub struct NotALoop;

impl State {
    /// The loop as its first record created it.
    pub fn created_by(decision: &Decision) -> Result<Self, NotALoop> {
        fold::created_by(decision).ok_or(NotALoop)
    }

    /// Adds one decision. Total: it copies facts and cannot fail.
    pub fn apply(&mut self, seq: Seq, decision: &Decision) {
        fold::apply(self, seq, decision);
    }

    /// After a crash this is the whole to-do list.
    pub fn outstanding(&self) -> impl Iterator<Item = (EffectId, &Effect)> {
        self.outstanding.iter().map(|(id, effect)| (*id, effect))
    }

    pub fn effect(&self, id: EffectId) -> Option<&Effect> {
        self.outstanding.get(&id)
    }

    /// When `DeadlinePassed` is due. A wait is state, so it survives a restart.
    pub fn next_deadline(&self) -> Option<Deadline> {
        self.waiting.as_ref().map(|wait| match wait.left {
            Some(left) => Deadline::After(left),
            None => Deadline::At(wait.until),
        })
    }

    /// Whether outstanding effects may be started. Pausing, waiting and being
    /// interrupted hold them back; they stay on the list. A run that is being
    /// cancelled does what it may not leave undone, whoever drives it.
    pub fn may_perform(&self) -> bool {
        let driven = self.lifecycle == Lifecycle::Driving || self.cancelling;
        driven && self.paused.is_none() && self.waiting.is_none()
    }

    /// What a driver that performs nothing does next.
    pub fn next_duty(&self) -> Option<Duty<'_>> {
        let (id, effect) = self.outstanding().next().filter(|_| self.may_perform())?;
        Some(match self.cancelling && effect.may_be_dropped() {
            true => Duty::Drop(id),
            false => Duty::Perform(id, effect),
        })
    }

    /// Effects of an earlier driver that can only be closed as lost.
    pub fn lost_with_driver(&self) -> Vec<EffectId> {
        self.outstanding().filter(|(_, effect)| effect.dies_with_its_driver()).map(|(id, _)| id).collect()
    }

    /// What the drive is still to do, with its programs confined in this way
    /// from here on.
    pub fn asked_from_here(&self, sandbox: ProvenSandbox) -> Asked {
        let asked = self.run.asked.clone();
        let over = self.run.drive_iterations.saturating_sub(u32::from(self.current.is_some()));
        let max = if asked.max == 0 { 0 } else { asked.max.saturating_sub(over).max(1) };
        Asked { sandbox, max, ..asked }
    }

    /// One that was made of the plan follows the plan; what a document says, or a person, stays.
    pub fn goal(&self) -> String {
        let tasks = &self.creation.plan.tasks;
        let titles = tasks.iter().map(|task| task.title.as_str());
        // The goal of one task is its title, and may be a sentence of a person.
        if tasks.len() < 2 || self.creation.goal != goal_of_titles(titles) {
            return self.creation.goal.clone();
        }
        goal_of_titles(self.tasks.iter().map(|task| task.task.title.as_str()))
    }

    pub fn outcome(&self) -> Option<&Outcome> {
        match &self.lifecycle {
            Lifecycle::Ended(outcome) => Some(outcome),
            Lifecycle::Idle | Lifecycle::Driving | Lifecycle::Interrupted => None,
        }
    }

    /// Whether `run` goes on after the end. Any other end wants a restart, or is the end.
    pub fn may_be_run_on(&self) -> bool {
        let tasks = self.tasks.iter().map(|task| (task.status, task.reason));
        self.outcome().is_some_and(|outcome| outcome.may_be_run_on(tasks, self.has_ready_task()))
    }

    pub fn has_ready_task(&self) -> bool {
        self.tasks.iter().any(|task| self.is_ready(task))
    }

    /// Whether it is open, and all that it depends on is done or waived.
    pub fn is_ready(&self, task: &TaskState) -> bool {
        task.status.is_open()
            && task.task.depends_on.iter().all(|id| self.task(id).is_some_and(|of| of.status.is_over()))
    }

    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    pub fn task(&self, id: &TaskId) -> Option<&TaskState> {
        self.tasks.get(self.place(id)?)
    }

    fn place(&self, id: &TaskId) -> Option<usize> {
        #[cfg(test)]
        tests::LOOKED_UP.with(|count| count.set(count.get() + 1));
        self.places.get(id).copied()
    }

    /// The task of the open iteration; none for the whole, and between iterations.
    pub fn current_task(&self) -> Option<&TaskId> {
        self.current.as_ref().and_then(|current| current.task.as_ref())
    }

    /// The task of an open-ended loop, which lands step by step.
    pub fn repeating_task(&self) -> Option<&TaskState> {
        match self.tasks.as_slice() {
            [task] if self.policy.is_open_ended() => Some(task),
            _ => None,
        }
    }

    /// Whether this work is that of the task that repeats.
    pub fn repeats(&self, task: Option<&TaskId>) -> bool {
        task.is_some() && self.repeating_task().map(|of| &of.task.id) == task
    }

    /// Whether the task in hand changes nothing, and is to report.
    pub fn explores(&self) -> bool {
        let task = self.current_task().and_then(|id| self.task(id));
        task.is_some_and(|task| task.task.mode == TaskMode::Explore)
    }

    /// Whether the task in hand is done only with a regression test.
    pub fn fixes(&self) -> bool {
        let task = self.current_task().and_then(|id| self.task(id));
        task.is_some_and(|task| self.policy().asks_for_regression_test(&task.task))
    }

    /// The work the open iteration belongs to.
    pub fn current_work(&self) -> &Work {
        let task = self.current_task();
        task.and_then(|id| self.task(id)).map_or(&self.whole, |task| &task.work)
    }

    /// What the work in hand stands on: the head at which its task began, and
    /// between iterations the branch's own.
    pub fn base(&self) -> &Head {
        let base = self.current.as_ref().and_then(|_| self.current_work().base.as_ref());
        base.unwrap_or(&self.head)
    }

    /// The tree that a reviewer who is called now judges.
    pub fn tree_under_review(&self) -> Option<&TreeId> {
        match self.phase {
            Some(Phase::FinalReview) => Some(&self.head.tree),
            Some(_) | None => self.recorded.as_ref().map(|recorded| &recorded.tree),
        }
    }

    /// The changed terms of what is in hand: the recorded tree, or between
    /// iterations the head.
    pub fn terms_under_review(&self) -> &PathList {
        let in_hand = self.current.is_some() || self.phase == Some(Phase::Finish);
        match self.recorded.as_ref().filter(|_| in_hand) {
            Some(recorded) => &recorded.changed_terms,
            None => &self.changed_terms,
        }
    }

    /// What a run of the gate on the recorded tree judges.
    pub fn recorded_trials(&self, recorded: &TreeRecorded) -> Trials {
        let trusted = recorded.trusted_tree.clone().filter(|_| self.trial_has_meaning(recorded));
        Trials { landing: recorded.gate_tree.clone(), trusted, regression: self.regression_trial(recorded) }
    }

    /// What a run of the gate on the branch's head judges.
    pub fn head_trials(&self) -> Trials {
        let landing = self.head.tree.clone();
        let trusted = Some(self.trusted.clone()).filter(|trusted| *trusted != landing);
        Trials { landing, trusted, regression: None }
    }

    /// What must show the regression test of a fix.
    fn regression_trial(&self, recorded: &TreeRecorded) -> Option<RegressionTrial> {
        let task = self.current_task().and_then(|id| self.task(id))?;
        if !self.policy().asks_for_regression_test(&task.task) {
            return None;
        }
        let base = self.base().tree.clone();
        let with_tests = recorded.with_tests.as_ref().unwrap_or(&base).clone();
        Some(RegressionTrial { base, with_tests, checks: self.policy().regression_checks(&task.task) })
    }

    /// Why an attempt at this task would be in vain, where that is known before anybody works on it.
    pub(crate) fn why_in_vain(&self, task: &TaskId) -> Option<(Reason, String)> {
        self.why_unfixable(task).or_else(|| self.why_red_report(task))
    }

    /// A report changes nothing, and so no red check.
    fn why_red_report(&self, task: &TaskId) -> Option<(Reason, String)> {
        self.task(task).filter(|task| task.task.mode == TaskMode::Explore)?;
        let baseline = self.baseline.as_ref().filter(|_| self.head.tree == self.creation.base_tree)?;
        let due = self.checks_for(Some(task));
        let red: Vec<&str> = baseline.failing.iter().map(|failing| failing.check.as_str()).collect();
        let red = due.iter().find(|check| red.contains(&check.as_str()))?;
        let words = format!(
            "check {red} is red before any work, and a report changes nothing: let the task's `checks` name green \
             ones, or mend the base first, in a task that this one depends on"
        );
        Some((Reason::BaseRed, words))
    }

    /// Why no regression test of this task could be told from what is red without it, where that is known before
    /// anybody works on it.
    fn why_unfixable(&self, task: &TaskId) -> Option<(Reason, String)> {
        let task = self.task(task).filter(|task| self.policy().asks_for_regression_test(&task.task))?;
        let checks = self.policy().regression_checks(&task.task);
        if checks.is_empty() {
            return Some((Reason::Unproven, NO_REGRESSION_CHECK.to_owned()));
        }
        let baseline = self.baseline.as_ref().filter(|_| self.head.tree == self.creation.base_tree)?;
        let red = |check: &&String| {
            let plain = self.policy().gate.check(check).is_some_and(|asked| asked.junit.is_empty());
            let is_it = |failing: &FailingCheck| failing.check == **check && failing.reason.rule().is_none();
            plain && baseline.failing.iter().any(is_it)
        };
        let red: Vec<&String> = checks.iter().filter(red).collect();
        let words = || red.iter().map(|check| base_is_red(check)).collect::<Vec<_>>().join("; ");
        (red.len() == checks.len()).then(|| (Reason::BaseRed, words()))
    }

    /// Without a test, and red as it was, the base has no terms to be judged by.
    fn trial_has_meaning(&self, recorded: &TreeRecorded) -> bool {
        recorded.has_tests || self.baseline.as_ref().is_none_or(|baseline| baseline.passed)
    }

    pub fn open_bugs(&self) -> impl Iterator<Item = &Finding> {
        self.findings.values().filter(|finding| finding.is_open_bug())
    }

    /// The finding that this red check is, if the operator has waived it. Findings
    /// of a task speak for that task only.
    pub fn waiver(&self, failing: &FailingCheck, task: Option<&TaskId>) -> Option<&Finding> {
        let seen = failing.evidence()?;
        self.findings.values().find(|finding| {
            finding.life == Life::Waived
                && finding.task.as_ref() == task
                && finding.is_same(Origin::Evidence(seen.rule), &seen.path, &seen.words())
        })
    }

    /// The agent of a role: the one the policy names, or a fallback of it.
    pub fn agent_in_use(&self, role: Role) -> Cow<'_, AgentPolicy> {
        let agent = self.policy().agent_for(role);
        let replaced = self.run.replaced.get(&role).copied().unwrap_or(0);
        match replaced.checked_sub(1).and_then(|last| agent.extra.fallback.get(last)) {
            Some(fallback) => Cow::Owned(agent.replaced_by(fallback)),
            None => Cow::Borrowed(agent),
        }
    }

    /// The adapter that would take over.
    pub fn next_fallback(&self, role: Role) -> Option<&str> {
        let replaced = self.run.replaced.get(&role).copied().unwrap_or(0);
        self.policy().agent_for(role).extra.fallback.get(replaced).map(String::as_str)
    }

    /// The conversation that an attempt which starts now goes on with.
    pub fn session(&self, role: Role) -> Option<&Session> {
        self.conversation(role).map(|of| &of.session)
    }

    fn conversation(&self, role: Role) -> Option<&Conversation> {
        let wanted = self.agent_in_use(role).extra.resume && !self.short_brief;
        let of = self.run.sessions.get(&role)?;
        (wanted && of.task.as_ref() == self.current_task()).then_some(of)
    }

    /// Whether that conversation has the task in it, as it is written now.
    pub fn knows_task(&self, role: Role) -> bool {
        let Some(of) = self.conversation(role) else { return false };
        let now = self.current_task().and_then(|id| self.task(id)).map(|task| &task.task);
        match (&of.told, now) {
            (Some(told), Some(now)) => !told.reads_otherwise(now) && told.mode == now.mode,
            (Some(_), None) | (None, _) => false,
        }
    }

    /// The number of the last iteration that the open run may make; 0 without a limit.
    /// Runs before it have used up numbers, and none of its limit.
    pub fn last_iteration(&self) -> u32 {
        let earlier = self.iterations.saturating_sub(self.run.iterations);
        match self.policy().limits.max_iterations {
            0 => 0,
            max => max.saturating_add(earlier),
        }
    }

    /// How much of the wall budget is left; none when it is off.
    pub fn wall_left(&self) -> Option<Millis> {
        let wall = self.policy().budget.wall;
        (!wall.is_zero()).then(|| Millis(wall.0.saturating_sub(self.worked.0)))
    }

    /// The rules that judge the work in hand: with the checks of its task's own criteria.
    pub fn judging_policy(&self) -> Cow<'_, Policy> {
        let task = self.current_task().and_then(|id| self.task(id));
        self.policy().judging(task.map(|task| &*task.task))
    }

    /// Names of the checks that judge a task, or the whole.
    pub fn checks_for(&self, task: Option<&TaskId>) -> Vec<String> {
        let task = task.and_then(|id| self.task(id)).map(|task| &*task.task);
        self.policy().gate.checks_for(task)
    }

    /// Time that was neither waited nor paused counts as work; what was waited
    /// brings the end of the wait nearer.
    pub(crate) fn spend(&mut self, elapsed: Millis) {
        if self.may_perform() {
            self.worked = Millis(self.worked.0.saturating_add(elapsed.0));
        }
        if let Some(left) = self.waiting.as_mut().and_then(|wait| wait.left.as_mut()) {
            *left = Millis(left.0.saturating_sub(elapsed.0));
        }
    }

    /// Folds one event of a decision in the making.
    pub(crate) fn note(&mut self, at: Timestamp, event: &Event) {
        fold::record(self, at, event);
    }

    pub(crate) fn task_mut(&mut self, id: &TaskId) -> Option<&mut TaskState> {
        let place = self.place(id)?;
        Arc::make_mut(&mut self.tasks).get_mut(place)
    }

    pub(crate) fn work_mut(&mut self, task: Option<&TaskId>) -> &mut Work {
        let place = task.and_then(|id| self.place(id));
        match place {
            Some(place) => Arc::make_mut(&mut Arc::make_mut(&mut self.tasks)[place].work),
            None => Arc::make_mut(&mut self.whole),
        }
    }

    pub(crate) fn issue(&self, ahead: usize, effect: Effect) -> Issued {
        Issued { id: EffectId(self.next_effect.0 + ahead as u64), effect }
    }
}
