//! The picture every surface draws: one documented shape, derived from the
//! state. Tools read it as JSON, so a field keeps its name and meaning.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::acceptance::CriterionAnswer;
use crate::event::{Phase, ReviewRecorded};
use crate::finding::{Finding, Severity};
use crate::gate::{GateSummary, Purpose};
use crate::id::{AmendmentId, AttemptId, BlobId, CommitId, FindingId, LoopName, TaskId, TreeId};
use crate::input::PathList;
use crate::outcome::{Outcome, Reason};
use crate::policy::{MissedLevel, Role, SandboxLevel};
use crate::proposal::{AmendmentState, ProposedAmendment};
use crate::setback::Setback;
use crate::state::{Attempt, AwaitedApproval, Lifecycle, State, TaskState, TaskStatus, Wait};
use crate::task::TaskMode;
use crate::time::{Millis, Timestamp};
use crate::usage::{Usage, UsageSum};
use crate::verdict::Verdict;

mod limit;
mod stop;

pub use limit::{LimitUnit, LimitView};
pub use stop::{StopCheckView, StopView};

/// The version of this shape. It changes when a field changes its meaning.
pub const SCHEMA: &str = "windlass.view.v1";

/// Changes whenever the same log would fold to another view.
pub const FOLD_VERSION: u32 = 10;

/// How many open findings a View lists.
pub const LISTED_FINDINGS: usize = 50;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct View {
    pub schema: String,
    #[serde(rename = "loop")]
    pub name: LoopName,
    pub status: Status,
    pub outcome: Option<Outcome>,
    /// Whose agent it was, where an agent that keeps failing ended the run.
    #[serde(default)]
    pub failed_role: Option<Role>,
    /// The last attempt of that agent.
    #[serde(default)]
    pub failed_attempt: Option<AttemptId>,
    pub phase: Option<Phase>,
    /// Counted over the whole life of the loop, from 1; 0 before the first.
    pub iteration: u32,
    /// The last iteration that the open run may make, counted in the same way; 0 without a limit.
    pub max_iterations: u32,
    pub run: u32,
    pub goal: String,
    pub created_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub updated_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub worked_ms: Millis,
    pub workspace: String,
    /// How often the policy was changed after the loop was created.
    pub policy_changes: u32,
    /// A change of the plan or the policy waits to be taken up.
    pub revision_waits: bool,
    pub agents: BTreeMap<Role, AgentView>,
    /// How its programs were confined in the last drive, as proven on the machine.
    pub sandbox: SandboxLevel,
    /// Better levels that were wanted and do not hold on the machine.
    #[serde(default)]
    pub sandbox_missed: Vec<MissedLevel>,
    /// Something was done by windlass that no check proves.
    pub unchecked: bool,
    /// Something was done by windlass that no reviewer accepted.
    pub unreviewed: bool,
    pub active_task: Option<TaskId>,
    /// The attempt that has started and has not ended.
    pub attempt: Option<AttemptView>,
    /// The last gate, whatever it was for; it stays after the iteration and the run.
    pub gate: Option<GateView>,
    /// The last gate on the base, before there was any work.
    pub baseline: Option<GateView>,
    /// The last gate of the whole.
    pub final_gate: Option<GateView>,
    pub tasks: Vec<TaskView>,
    /// Why the last fix of the whole did not end well.
    #[serde(default)]
    pub setback: Option<Setback>,
    /// Finished tasks are reviewed in this run.
    #[serde(default)]
    pub reviews_tasks: bool,
    /// The whole is reviewed at the end of this run.
    #[serde(default)]
    pub reviews_whole: bool,
    /// How many reviews were recorded.
    pub reviews: u32,
    pub last_review: Option<ReviewView>,
    pub branch: String,
    /// Something landed, and when this was shown the repository had no such branch any more.
    #[serde(default)]
    pub branch_gone: bool,
    /// Something landed, and when this was shown the branch was here instead and did not hold it.
    #[serde(default)]
    pub branch_elsewhere: Option<CommitId>,
    pub base: CommitId,
    pub base_tree: TreeId,
    /// The branch's head; none until something landed.
    pub commit: Option<CommitId>,
    pub tree: Option<TreeId>,
    /// What landed of changed terms and nobody accepted.
    #[serde(default)]
    pub terms: Option<TermsView>,
    pub findings: FindingCounts,
    /// Bugs first, and no more than 50 of them.
    pub open_findings: Vec<FindingView>,
    /// Every limit and budget of the loop.
    pub limits: Vec<LimitView>,
    pub pending: Vec<String>,
    pub usage: UsageView,
    pub usage_by_role: BTreeMap<Role, UsageView>,
    /// An attempt counts for each model it used.
    pub usage_by_model: BTreeMap<String, UsageView>,
    pub completion_summary: Option<String>,
    /// For an open-ended loop: how far it has come.
    #[serde(default)]
    pub stop: Option<StopView>,
    pub waiting: Option<WaitView>,
    pub paused: Option<PauseView>,
    /// What would land, if the operator approves it.
    pub approval: Option<ApprovalView>,
    /// What agents propose to change in the plan, and waits for the operator.
    #[serde(default)]
    pub amendments: Vec<AmendmentView>,
    /// How many events the log holds.
    pub events: u64,
}

/// Terms, and tests that it added, that later loops are not judged by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TermsView {
    pub changed: PathList,
    /// The landed product on the terms that are trusted.
    pub trusted_tree: TreeId,
    /// The operator lets later loops be judged by them all the same.
    pub trusted_later: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Idle,
    Running,
    Waiting,
    Paused,
    Interrupted,
    Ended,
}

impl Status {
    pub fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Paused => "paused",
            Self::Interrupted => "interrupted",
            Self::Ended => "ended",
        }
    }
}

/// Whether a process drives the loop at this moment, and what is seen of it. The log cannot know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    Alive {
        /// Of the attempt that runs.
        last_activity: Option<Timestamp>,
    },
    Gone,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentView {
    pub adapter: String,
    pub model: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskView {
    pub id: TaskId,
    pub title: String,
    /// What the plan says of it.
    pub text: BlobId,
    pub status: TaskStatus,
    pub attempts: u32,
    pub failures: u32,
    pub no_progress: u32,
    pub rejections: u32,
    pub reason: Option<Reason>,
    /// The reason in words; the agent's own where it said it was blocked.
    pub detail: String,
    /// Why its last iteration did not end well.
    #[serde(default)]
    pub setback: Option<Setback>,
    pub depends_on: Vec<TaskId>,
    #[serde(default)]
    pub mode: TaskMode,
    /// What is known of each of its criteria.
    #[serde(default)]
    pub acceptance: Vec<CriterionAnswer>,
    pub commit: Option<CommitId>,
    /// It entered the loop as done: windlass proves nothing of it.
    pub done_before: bool,
    pub reviewed: bool,
    pub checked: bool,
}

/// An amendment that an agent proposed, in the agent's words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AmendmentView {
    pub id: AmendmentId,
    pub attempt: AttemptId,
    pub proposed: ProposedAmendment,
}

impl AmendmentView {
    fn waiting(state: &State) -> Vec<Self> {
        let waiting = state.amendments.iter().filter(|known| known.answer.is_none());
        let view = |known: &AmendmentState| Self {
            id: known.id.clone(),
            attempt: known.attempt,
            proposed: known.proposed.as_ref().clone(),
        };
        waiting.map(view).collect()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewView {
    pub verdict: Verdict,
    pub summary: String,
    pub iteration: u32,
    pub tree: TreeId,
    /// Why there was no verdict to act on; empty when there was one.
    pub failure: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttemptView {
    pub id: AttemptId,
    pub role: Role,
    /// The adapter of the agent.
    pub agent: String,
    pub task: Option<TaskId>,
    pub started_at: Timestamp,
    /// When it was last seen to print something new or to compute, to within seconds. None as long as
    /// nothing was seen, and where the policy does not limit its silence.
    pub last_activity: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GateView {
    pub purpose: Purpose,
    /// None for the whole.
    pub task: Option<TaskId>,
    pub passed: bool,
    pub checks: Vec<CheckView>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckView {
    pub check: String,
    pub passed: bool,
    /// It was red, and then green on the same tree.
    pub flaky: bool,
    pub ending: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FindingView {
    pub id: FindingId,
    pub task: Option<TaskId>,
    pub severity: Severity,
    pub file: String,
    /// 0 when the finding is about the whole file.
    pub line: u32,
    pub description: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FindingCounts {
    pub open_bugs: u32,
    pub open_warnings: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UsageView {
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub reasoning_tokens: u64,
    pub cache_read_tokens: u64,
    pub cache_write_tokens: u64,
    /// Of the attempts that said.
    pub cost_usd: f64,
    pub attempts: u64,
    /// Attempts that did not say what they used: not zero, unknown.
    pub attempts_unknown: u64,
    /// Attempts that said what they used, but not what it cost.
    #[serde(default)]
    pub costs_unknown: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaitView {
    pub until: Timestamp,
    pub why: Reason,
    /// What failed, in words; empty where `why` says all that is known.
    #[serde(default)]
    pub detail: String,
}

impl WaitView {
    fn of(wait: &Wait) -> Self {
        Self { until: wait.until, why: wait.why, detail: wait.detail.clone() }
    }

    /// Why it waits, with what failed.
    pub fn words(&self) -> String {
        match self.detail.as_str() {
            "" => self.why.words().to_owned(),
            detail => format!("{}: {detail}", self.why.words()),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PauseView {
    pub why: Reason,
    pub detail: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalView {
    /// What `approve` must name.
    pub tree: TreeId,
    /// The tree that it would land on.
    pub base: TreeId,
    pub commit: CommitId,
}

impl ApprovalView {
    fn of(asked: &AwaitedApproval) -> Self {
        let AwaitedApproval { commit, tree, base } = asked;
        Self { tree: tree.clone(), base: base.clone(), commit: commit.clone() }
    }
}

/// The attempt of an agent that keeps failing, after which the run ended.
fn failed_attempt(state: &State) -> Option<&Attempt> {
    let reason = state.outcome()?.reason;
    let failed = matches!(reason, Reason::AgentFailed | Reason::Stalled | Reason::ReviewFailed);
    state.attempt.as_deref().filter(|_| failed)
}

fn last_gate_view(state: &State) -> Option<GateView> {
    let last = state.last_gate.as_ref()?;
    Some(GateView { task: last.task.clone(), ..gate_view(last.purpose, &last.summary) })
}

fn usage_views<K: Ord + Clone>(sums: &BTreeMap<K, UsageSum>) -> BTreeMap<K, UsageView> {
    sums.iter().map(|(of, sum)| (of.clone(), UsageView::of(sum))).collect()
}

impl View {
    /// As the log has it, for an owner that is alive.
    pub fn of(state: &State) -> Self {
        let creation = &state.creation;
        let policy = state.policy();
        let by_windlass = |task: &&TaskState| task.status == TaskStatus::Done && !task.was_done_before();
        let done: Vec<&TaskState> = state.tasks.iter().filter(by_windlass).collect();
        Self {
            schema: SCHEMA.to_owned(),
            name: creation.name.clone(),
            status: status(state),
            outcome: state.outcome().cloned(),
            failed_role: failed_attempt(state).map(|attempt| attempt.role),
            failed_attempt: failed_attempt(state).map(|attempt| attempt.id),
            phase: state.phase,
            iteration: state.iterations,
            max_iterations: state.last_iteration(),
            run: state.run.number,
            goal: state.goal(),
            created_at: state.created_at,
            started_at: state.run.started_at,
            updated_at: state.updated_at,
            ended_at: state.ended_at,
            worked_ms: state.worked,
            workspace: creation.workspace.clone(),
            policy_changes: state.policy_changes,
            revision_waits: !state.revision.is_empty(),
            agents: Role::IN_LOOPS.into_iter().map(|role| (role, agent_view(state, role))).collect(),
            sandbox: state.run.asked.sandbox.level,
            sandbox_missed: state.run.asked.sandbox.missed.clone(),
            unchecked: (policy.gate.checks.is_empty() && policy.stop.is_off())
                || done.iter().any(|task| !task.checked),
            unreviewed: done.iter().any(|task| !task.reviewed),
            active_task: state.current.as_ref().and_then(|current| current.task.clone()),
            attempt: attempt_view(state),
            gate: last_gate_view(state),
            baseline: state.baseline.as_deref().map(|gate| gate_view(Purpose::Baseline, gate)),
            final_gate: state.whole.gate.as_deref().map(|gate| gate_view(Purpose::Final, gate)),
            tasks: state.tasks.iter().map(task_view).collect(),
            setback: state.whole.setback.as_deref().cloned(),
            reviews_tasks: policy.review.tasks && !state.run.asked.no_review,
            reviews_whole: policy.review.whole && !state.run.asked.no_review,
            reviews: state.reviews,
            last_review: state.last_review.as_deref().map(review_view),
            branch: creation.branch.clone(),
            branch_gone: false,
            branch_elsewhere: None,
            base: creation.base.clone(),
            base_tree: creation.base_tree.clone(),
            commit: state.head.landed.then(|| state.head.commit.clone()),
            tree: state.head.landed.then(|| state.head.tree.clone()),
            terms: terms_view(state),
            findings: FindingCounts {
                open_bugs: count(state, Severity::Bug),
                open_warnings: count(state, Severity::Warning),
            },
            open_findings: open_findings(state),
            limits: limit::limits(state),
            pending: state.pending.clone(),
            usage: UsageView::of(&state.ledger.sum()),
            usage_by_role: usage_views(&state.ledger.by_role),
            usage_by_model: usage_views(&state.ledger.by_model),
            completion_summary: state.completion_summary.clone(),
            stop: stop::stop(state),
            waiting: state.waiting.as_ref().map(WaitView::of),
            paused: state.paused.as_ref().map(|p| PauseView { why: p.why, detail: p.detail.clone() }),
            approval: state.approval.as_deref().map(ApprovalView::of),
            amendments: AmendmentView::waiting(state),
            events: state.events,
        }
    }

    /// Whether a drive would be refused: it is paused, or its end stands.
    pub fn rests(&self) -> bool {
        let ended = self.outcome.is_some() && !self.may_be_run_on();
        ended || self.paused.is_some()
    }

    /// As [`State::may_be_run_on`].
    pub fn may_be_run_on(&self) -> bool {
        let tasks = self.tasks.iter().map(|task| (task.status, task.reason));
        let has_ready_task = self.ready_tasks().next().is_some();
        self.outcome.as_ref().is_some_and(|outcome| outcome.may_be_run_on(tasks, has_ready_task))
    }

    /// Those that could be worked on now.
    pub fn ready_tasks(&self) -> impl Iterator<Item = &TaskView> {
        let over: BTreeSet<&TaskId> =
            self.tasks.iter().filter(|task| task.status.is_over()).map(|task| &task.id).collect();
        let is_ready = move |task: &&TaskView| {
            task.status.is_open() && task.depends_on.iter().all(|id| over.contains(id))
        };
        self.tasks.iter().filter(is_ready)
    }

    /// Running and waiting need a living owner.
    pub fn seen_with(mut self, owner: Owner) -> Self {
        let needs_owner = matches!(self.status, Status::Running | Status::Waiting);
        match (owner, &mut self.attempt) {
            (Owner::Alive { last_activity }, Some(attempt)) => attempt.last_activity = last_activity,
            (Owner::Alive { .. }, None) => {}
            (Owner::Gone, attempt) => {
                *attempt = None;
                if needs_owner {
                    self.status = Status::Interrupted;
                }
            }
        }
        self
    }
}

impl UsageView {
    /// Every token an account is charged for.
    pub fn tokens(&self) -> u64 {
        [
            self.input_tokens,
            self.output_tokens,
            self.reasoning_tokens,
            self.cache_read_tokens,
            self.cache_write_tokens,
        ]
        .into_iter()
        .fold(0, u64::saturating_add)
    }

    pub fn of(sum: &UsageSum) -> Self {
        let Usage {
            input_tokens,
            output_tokens,
            reasoning_tokens,
            cache_read_tokens,
            cache_write_tokens,
            cost_micro_usd: _,
        } = sum.used;
        Self {
            input_tokens,
            output_tokens,
            reasoning_tokens,
            cache_read_tokens,
            cache_write_tokens,
            cost_usd: sum.used.cost_usd(),
            attempts: sum.attempts,
            attempts_unknown: sum.attempts_unknown,
            costs_unknown: sum.costs_unknown,
        }
    }
}

fn terms_view(state: &State) -> Option<TermsView> {
    let unaccepted = state.head.landed && state.trusted != state.head.tree;
    unaccepted.then(|| TermsView {
        changed: PathList::clone(&state.changed_terms),
        trusted_tree: state.trusted.clone(),
        trusted_later: state.trusted_later.as_ref() == Some(&state.head.tree),
    })
}

fn status(state: &State) -> Status {
    match &state.lifecycle {
        Lifecycle::Ended(_) => Status::Ended,
        _ if state.paused.is_some() => Status::Paused,
        Lifecycle::Interrupted => Status::Interrupted,
        Lifecycle::Idle => Status::Idle,
        Lifecycle::Driving if state.waiting.is_some() => Status::Waiting,
        Lifecycle::Driving => Status::Running,
    }
}

fn task_view(task: &TaskState) -> TaskView {
    TaskView {
        id: task.task.id.clone(),
        title: task.task.title.clone(),
        text: task.task.text.clone(),
        status: task.status,
        attempts: task.attempts,
        failures: task.failures,
        no_progress: task.no_progress,
        rejections: task.rejections,
        reason: task.reason,
        detail: task.words.clone(),
        setback: task.work.setback.as_deref().cloned(),
        depends_on: task.task.depends_on.clone(),
        mode: task.task.mode.clone(),
        acceptance: task.criteria(),
        commit: task.commit.clone(),
        done_before: task.was_done_before(),
        reviewed: task.reviewed,
        checked: task.checked,
    }
}

fn review_view(review: &ReviewRecorded) -> ReviewView {
    ReviewView {
        verdict: review.verdict,
        summary: review.summary.clone(),
        iteration: review.iteration,
        tree: review.tree.clone(),
        failure: review.failure.as_ref().map_or_else(String::new, |failure| failure.words()),
    }
}

fn agent_view(state: &State, role: Role) -> AgentView {
    let agent = state.agent_in_use(role);
    AgentView { adapter: agent.adapter.clone(), model: agent.model.clone() }
}

fn attempt_view(state: &State) -> Option<AttemptView> {
    let attempt = state.attempt.as_deref().filter(|attempt| attempt.end.is_none())?;
    Some(AttemptView {
        id: attempt.id,
        role: attempt.role,
        agent: state.agent_in_use(attempt.role).adapter.clone(),
        task: attempt.task.clone(),
        started_at: attempt.started_at,
        last_activity: None,
    })
}

/// A check that is repeated, or run again, is listed once.
fn gate_view(purpose: Purpose, gate: &GateSummary) -> GateView {
    let mut checks: Vec<CheckView> = Vec::new();
    let ran = gate.exits.iter().map(|(check, _)| check);
    for check in ran.chain(gate.failing.iter().map(|failing| &failing.check)) {
        if checks.iter().any(|listed| listed.check == *check) {
            continue;
        }
        let failing = gate.failing.iter().find(|failing| failing.check == *check);
        checks.push(CheckView {
            check: check.clone(),
            passed: failing.is_none(),
            flaky: gate.flaky.contains(check),
            ending: failing.map_or_else(|| "exit code 0".to_owned(), |failing| failing.reason.words()),
        });
    }
    GateView { purpose, task: None, passed: gate.passed, checks }
}

fn open_findings(state: &State) -> Vec<FindingView> {
    let of = |severity: Severity| {
        state.findings.values().filter(move |finding| finding.is_open() && finding.severity == severity)
    };
    let listed = of(Severity::Bug).chain(of(Severity::Warning)).take(LISTED_FINDINGS);
    let view = |finding: &Finding| FindingView {
        id: finding.id.clone(),
        task: finding.task.clone(),
        severity: finding.severity,
        file: finding.file.clone(),
        line: finding.line,
        description: finding.description.clone(),
    };
    listed.map(view).collect()
}

fn count(state: &State, severity: Severity) -> u32 {
    let open = |finding: &&Finding| finding.is_open() && finding.severity == severity;
    u32::try_from(state.findings.values().filter(open).count()).unwrap_or(u32::MAX)
}
