//! What a loop's log tells that its state does not keep: one fold over the
//! decisions, for everyone who shows or judges what happened. It needs no rule
//! and no state. Each list keeps what its reader asked for; the sums and the
//! counts are exact whatever is kept.

use std::collections::{BTreeMap, VecDeque};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::{
    AttemptEvent, AttemptFinished, Decision, Event, FindingEvent, GateEvent, IterationEvent, IterationResult,
    LandingEvent, LoopEvent, ReviewRecorded, RunEvent,
};
use crate::finding::{Finding, Life};
use crate::gate::{CheckResult, CheckRun, Purpose, Trial};
use crate::id::{AttemptId, BlobId, CommitId, FindingId, TaskId, TreeId};
use crate::input::Asked;
use crate::policy::{Policy, Role};
use crate::regression::RegressionTrial;
use crate::revision::{KeyChange, PlanRevision};
use crate::summary::Summary;
use crate::task::{Plan, Task};
use crate::time::{Millis, Timestamp};
use crate::usage::{Ledger, ModelUsage, Usage, UsageSum};
use crate::verdict::Claim;

/// How much of a list is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Keep {
    All,
    Last(usize),
}

impl Keep {
    pub const NOTHING: Self = Self::Last(0);

    fn has_room(self, kept: usize) -> bool {
        match self {
            Self::All => true,
            Self::Last(most) => kept < most,
        }
    }
}

/// What is kept of each list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryLimits {
    pub policies: Keep,
    pub runs: Keep,
    pub iterations: Keep,
    pub attempts: Keep,
    /// Runs of the gate, each with the results of its checks.
    pub gates: Keep,
    pub reviews: Keep,
    /// Of findings the oldest closed one goes first.
    pub findings: Keep,
    pub landings: Keep,
    pub timeline: Keep,
}

impl HistoryLimits {
    /// Sums and counts only: a place to start from.
    pub const NOTHING: Self = Self::each(Keep::NOTHING);
    pub const ALL: Self = Self::each(Keep::All);

    const fn each(keep: Keep) -> Self {
        Self {
            policies: keep,
            runs: keep,
            iterations: keep,
            attempts: keep,
            gates: keep,
            reviews: keep,
            findings: keep,
            landings: keep,
            timeline: keep,
        }
    }
}

/// A list that drops its oldest entries and remembers how many it was given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BoundedList<T> {
    keep: Keep,
    /// How many there were, those that are dropped included.
    pub total: u64,
    last: VecDeque<T>,
}

impl<T> BoundedList<T> {
    fn new(keep: Keep) -> Self {
        Self { keep, total: 0, last: VecDeque::new() }
    }

    fn push(&mut self, entry: T) {
        self.total += 1;
        self.last.push_back(entry);
        if let Keep::Last(most) = self.keep
            && self.last.len() > most
        {
            self.last.pop_front();
        }
    }

    /// The oldest that is kept first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.last.iter()
    }

    pub fn last(&self) -> Option<&T> {
        self.last.back()
    }

    fn find_last(&mut self, is_it: impl Fn(&T) -> bool) -> Option<&mut T> {
        self.last.iter_mut().rev().find(|entry| is_it(entry))
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct History {
    /// The policy of the creation, and each that took its place.
    pub policies: BoundedList<PolicyRecord>,
    /// Every start of a drive.
    pub runs: BoundedList<RunRecord>,
    pub iterations: BoundedList<IterationRecord>,
    pub attempts: BoundedList<AttemptRecord>,
    pub gates: BoundedList<GateRecord>,
    /// The results whose run of the gate has no end yet.
    pub unjudged: Vec<CheckRecord>,
    pub reviews: BoundedList<ReviewRecord>,
    findings: FindingRecords,
    pub landings: BoundedList<LandingRecord>,
    pub timeline: BoundedList<TimelineEntry>,
    pub usage: UsageTables,
    /// The event that ended the run, if it has ended.
    pub ended: Option<u64>,
    /// The plan as it is, as far as landings are kept.
    plan: BTreeMap<TaskId, Task>,
    /// A finisher has ended, and what it left has neither landed nor been dropped.
    finishing: bool,
    /// How many checks were run.
    checks_total: u64,
    /// The iteration that is open, and its task.
    open: Option<(u32, Option<TaskId>)>,
    /// What the attempts that have not ended are about.
    running: BTreeMap<AttemptId, Option<TaskId>>,
    /// What landed last, or the base.
    head: Option<TreeId>,
    /// What the next attempt of the open iteration begins with.
    start: Option<TreeId>,
}

/// A policy, and the event from which on it was in force.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyRecord {
    pub event: u64,
    pub at: Timestamp,
    /// What differs from the one before.
    pub keys: Vec<KeyChange>,
    pub policy: Policy,
}

/// A drive that began, and what it was asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunRecord {
    pub event: u64,
    pub at: Timestamp,
    pub run: u32,
    /// It went on with a run that an earlier drive began.
    pub resumed: bool,
    pub asked: Asked,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IterationRecord {
    /// The number of the event that opened it.
    pub event: u64,
    pub iteration: u32,
    /// None for a fix of the whole.
    pub task: Option<TaskId>,
    /// What it began with.
    pub tree: TreeId,
    pub opened_at: Timestamp,
    pub closed_at: Option<Timestamp>,
    pub result: Option<IterationResult>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AttemptRecord {
    pub attempt: AttemptId,
    pub role: Role,
    /// None for the whole.
    pub task: Option<TaskId>,
    pub iteration: u32,
    /// As it was named when the attempt ended; empty while it runs.
    pub agent: String,
    pub started_at: Timestamp,
    /// None while it runs.
    pub ended_at: Option<Timestamp>,
    /// How it ended, in words; empty while it runs.
    pub end: String,
    pub duration_ms: Millis,
    /// None when it did not say, or has not ended.
    pub usage: Option<Usage>,
    pub models: Vec<ModelUsage>,
    pub summary: Summary,
    /// Its last words, bounded.
    pub message: String,
    /// What it claims of its turn.
    #[serde(default)]
    pub claim: Option<Claim>,
    /// What windlass saw of it.
    pub notes: Vec<String>,
    pub brief: Option<BlobId>,
    pub transcript: Option<BlobId>,
    /// Its report, where that was kept.
    #[serde(default)]
    pub report: Option<BlobId>,
    /// The tree it began with.
    #[serde(default)]
    pub began_with: Option<TreeId>,
    /// What it left, where that was recorded.
    pub tree: Option<TreeId>,
    /// The same as a commit on what had landed.
    #[serde(default)]
    pub commit: Option<CommitId>,
}

/// One run of the gate, as it is on record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateRecord {
    /// The number of the event that says what came of it.
    pub event: u64,
    pub at: Timestamp,
    pub purpose: Purpose,
    pub tree: TreeId,
    /// The tree with trusted terms, where that was to be judged as well.
    pub trusted: Option<TreeId>,
    /// What a fix was judged on without the fix.
    #[serde(default)]
    pub regression: Option<RegressionTrial>,
    pub checks: Vec<String>,
    pub results: Vec<CheckRecord>,
    /// What came of it then.
    pub passed: bool,
    pub flaky: Vec<String>,
    /// Green on what was to land, red on trusted terms.
    pub needs_terms: bool,
}

/// One check, run once, and the number of its event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckRecord {
    /// Counted over the whole life of the loop, from 1.
    pub number: u64,
    pub event: u64,
    pub at: Timestamp,
    pub purpose: Purpose,
    pub trial: Trial,
    pub tree: TreeId,
    pub result: CheckResult,
    /// The event in one line.
    pub line: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewRecord {
    pub event: u64,
    pub at: Timestamp,
    pub review: ReviewRecorded,
}

/// How many changes of one finding are kept: the last ones.
pub const FINDING_CHANGES: usize = 20;

/// A finding as it is, and how it came to be so.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FindingRecord {
    pub finding: Finding,
    pub opened: FindingChange,
    /// What happened to it since.
    pub changes: BoundedList<FindingChange>,
}

impl FindingRecord {
    /// Why the operator waived it; empty where nobody did.
    pub fn waiver(&self) -> &str {
        let waived = self.changes.iter().rev().find(|change| change.life == Life::Waived);
        waived.map_or("", |change| &change.why)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FindingChange {
    pub event: u64,
    pub at: Timestamp,
    pub life: Life,
    /// The operator's words, where it was waived.
    pub why: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LandingRecord {
    pub event: u64,
    pub at: Timestamp,
    /// As the plan had it then; none where no task was at work.
    pub task: Option<Task>,
    pub commit: CommitId,
    pub tree: TreeId,
    /// The tree whose terms were trusted from then on, where it is another.
    pub trusted: Option<TreeId>,
    pub by_finisher: bool,
}

/// One event for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimelineEntry {
    pub event: u64,
    pub at: Timestamp,
    pub line: String,
}

/// What attempts used. There are as many rows as tasks, days, roles and models.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UsageTables {
    /// In all, by role and by model.
    pub ledger: Ledger,
    pub by_task: BTreeMap<TaskId, UsageSum>,
    /// The attempts that were about no task.
    pub whole: UsageSum,
    /// By the day on which an attempt ended, in UTC.
    pub by_day: BTreeMap<String, UsageSum>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct FindingRecords {
    keep: Keep,
    total: u64,
    kept: BTreeMap<FindingId, FindingRecord>,
}

/// Where an event stands in the log.
#[derive(Clone, Copy)]
struct Moment {
    event: u64,
    at: Timestamp,
}

impl History {
    pub fn new(limits: HistoryLimits) -> Self {
        Self {
            policies: BoundedList::new(limits.policies),
            runs: BoundedList::new(limits.runs),
            iterations: BoundedList::new(limits.iterations),
            attempts: BoundedList::new(limits.attempts),
            gates: BoundedList::new(limits.gates),
            unjudged: Vec::new(),
            reviews: BoundedList::new(limits.reviews),
            findings: FindingRecords { keep: limits.findings, total: 0, kept: BTreeMap::new() },
            landings: BoundedList::new(limits.landings),
            timeline: BoundedList::new(limits.timeline),
            usage: UsageTables::default(),
            ended: None,
            plan: BTreeMap::new(),
            finishing: false,
            checks_total: 0,
            open: None,
            running: BTreeMap::new(),
            head: None,
            start: None,
        }
    }

    /// Adds one decision, whose first event has this number.
    pub fn note(&mut self, first_event: u64, decision: &Decision) {
        for (number, event) in (first_event..).zip(&decision.events) {
            let moment = Moment { event: number, at: decision.at };
            self.event(moment, event);
            if self.timeline.keep != Keep::NOTHING {
                self.timeline.push(TimelineEntry::of(number, decision.at, event));
            } else {
                self.timeline.total += 1;
            }
        }
    }

    /// The findings that are kept, in the order of their ids.
    pub fn findings(&self) -> impl Iterator<Item = &FindingRecord> {
        self.findings.kept.values()
    }

    pub fn finding(&self, id: &FindingId) -> Option<&FindingRecord> {
        self.findings.kept.get(id)
    }

    /// How many findings were opened.
    pub fn findings_total(&self) -> u64 {
        self.findings.total
    }

    /// The policy that was in force at this event, if it is kept.
    pub fn policy_at(&self, event: u64) -> Option<&PolicyRecord> {
        self.policies.iter().rev().find(|of| of.event <= event)
    }

    /// Every result of a check that is kept, in order.
    pub fn checks(&self) -> impl Iterator<Item = &CheckRecord> {
        self.gates.iter().flat_map(|gate| &gate.results).chain(&self.unjudged)
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "a history lists some events; the timeline has all")]
    fn event(&mut self, moment: Moment, event: &Event) {
        match event {
            Event::Loop(event) => self.loop_event(moment, event),
            Event::Run(event) => self.run_event(moment, event),
            Event::Landing(event) => self.landing_event(moment, event),
            Event::Iteration(IterationEvent::Opened { iteration, task, tree }) => {
                self.start = Some(tree.clone());
                self.iteration_opened(moment, *iteration, task.as_ref(), tree);
            }
            Event::Iteration(IterationEvent::Closed { iteration, result, .. }) => {
                self.iteration_closed(moment, *iteration, *result);
            }
            Event::Attempt(AttemptEvent::Started { attempt, role, iteration, task }) => {
                self.running.insert(*attempt, task.clone());
                let began = AttemptRecord::begin(moment, *attempt, *role).about(*iteration, task.as_ref());
                let began_with = self.start.as_ref().or(self.head.as_ref()).cloned();
                self.attempts.push(AttemptRecord { began_with, ..began });
            }
            Event::Attempt(AttemptEvent::Finished(finished)) => self.attempt_finished(moment, finished),
            Event::Attempt(AttemptEvent::TreeRecorded(recorded)) => {
                if let Some(of) = self.attempts.find_last(|of| of.attempt == recorded.attempt) {
                    of.tree = Some(recorded.tree.clone());
                    of.commit = Some(recorded.commit.clone());
                }
                if self.open.is_some() {
                    self.start = Some(recorded.gate_tree.clone());
                }
            }
            Event::Gate(GateEvent::CheckFinished(run)) => {
                self.checks_total += 1;
                if self.gates.keep != Keep::NOTHING {
                    self.unjudged.push(CheckRecord::of(moment, self.checks_total, run));
                }
            }
            Event::Gate(
                GateEvent::Passed { .. } | GateEvent::Failed { .. } | GateEvent::NeedsTerms { .. },
            ) => self.gate_ended(moment, event),
            Event::Attempt(AttemptEvent::ReviewRecorded(review)) => {
                let review = (**review).clone();
                self.reviews.push(ReviewRecord { event: moment.event, at: moment.at, review });
            }
            Event::Finding(FindingEvent::Opened(finding)) => self.findings.opened(moment, finding),
            Event::Finding(FindingEvent::Carried { finding }) => {
                self.findings.changed(finding, FindingChange::at(moment, Life::Carried));
            }
            Event::Finding(FindingEvent::Remeasured { finding, diff }) => {
                if let Some(of) = self.findings.kept.get_mut(finding) {
                    of.finding.diff.clone_from(diff);
                }
            }
            Event::Finding(FindingEvent::Resolved { finding }) => {
                self.findings.changed(finding, FindingChange::at(moment, Life::Resolved));
            }
            Event::Finding(FindingEvent::Waived { finding, why }) => {
                let waived = FindingChange { why: why.clone(), ..FindingChange::at(moment, Life::Waived) };
                self.findings.changed(finding, waived);
            }
            _ => {}
        }
    }

    fn loop_event(&mut self, moment: Moment, event: &LoopEvent) {
        match event {
            LoopEvent::Created(creation) => {
                self.head = Some(creation.base_tree.clone());
                self.policy_changed(moment, &[], &creation.policy);
                let Plan { tasks, tools: _ } = &creation.plan;
                let order = tasks.iter().map(|task| task.id.clone()).collect();
                self.plan_changed(&PlanRevision { added: tasks.clone(), order, ..PlanRevision::default() });
            }
            LoopEvent::PlanChanged(revision) => self.plan_changed(revision),
            LoopEvent::PolicyChanged(revision) => {
                self.policy_changed(moment, &revision.keys, &revision.policy);
            }
            LoopEvent::RevisionKept(_)
            | LoopEvent::AmendmentProposed { .. }
            | LoopEvent::AmendmentAnswered { .. } => {}
        }
    }

    fn policy_changed(&mut self, moment: Moment, keys: &[KeyChange], policy: &Policy) {
        let Moment { event, at } = moment;
        self.policies.push(PolicyRecord { event, at, keys: keys.to_vec(), policy: policy.clone() });
    }

    fn plan_changed(&mut self, revision: &PlanRevision) {
        if self.landings.keep == Keep::NOTHING {
            return;
        }
        self.plan.retain(|id, _| !revision.removed.contains(id));
        let changed = revision.changed.iter().map(|changed| &changed.after);
        self.plan.extend(revision.added.iter().chain(changed).map(|task| (task.id.clone(), task.clone())));
    }

    fn run_event(&mut self, moment: Moment, event: &RunEvent) {
        let Moment { event: number, at } = moment;
        self.ended = None;
        match event {
            RunEvent::Started { run, asked } | RunEvent::Resumed { run, asked } => {
                let resumed = matches!(event, RunEvent::Resumed { .. });
                self.finishing &= resumed;
                self.runs.push(RunRecord { event: number, at, run: *run, resumed, asked: asked.clone() });
            }
            RunEvent::Restarted { .. } => {
                (self.open, self.start) = (None, None);
                self.finishing = false;
                self.running.clear();
            }
            RunEvent::Interrupted { .. } => {}
            RunEvent::Ended { .. } => self.ended = Some(number),
        }
    }

    fn landing_event(&mut self, moment: Moment, event: &LandingEvent) {
        match event {
            LandingEvent::Landed { commit, tree, trusted } => {
                self.head = Some(tree.clone());
                let task = self.open.as_ref().and_then(|(_, task)| self.plan.get(task.as_ref()?));
                self.landings.push(LandingRecord {
                    event: moment.event,
                    at: moment.at,
                    task: task.cloned(),
                    commit: commit.clone(),
                    tree: tree.clone(),
                    trusted: trusted.clone(),
                    by_finisher: std::mem::take(&mut self.finishing),
                });
            }
            LandingEvent::TermsAccepted { .. }
            | LandingEvent::ApprovalAsked { .. }
            | LandingEvent::Approved { .. }
            | LandingEvent::Rejected { .. } => {}
            LandingEvent::FinishRecorded { .. } => self.finishing = true,
            LandingEvent::FinishDropped { .. } => self.finishing = false,
        }
    }

    fn iteration_opened(&mut self, moment: Moment, iteration: u32, task: Option<&TaskId>, tree: &TreeId) {
        self.finishing = false;
        self.open = Some((iteration, task.cloned()));
        self.iterations.push(IterationRecord {
            event: moment.event,
            iteration,
            task: task.cloned(),
            tree: tree.clone(),
            opened_at: moment.at,
            closed_at: None,
            result: None,
        });
    }

    fn iteration_closed(&mut self, moment: Moment, iteration: u32, result: IterationResult) {
        (self.open, self.start) = (None, None);
        if let Some(of) = self.iterations.find_last(|of| of.iteration == iteration) {
            of.closed_at = Some(moment.at);
            of.result = Some(result);
        }
    }

    fn attempt_finished(&mut self, moment: Moment, finished: &AttemptFinished) {
        let task = self.running.remove(&finished.attempt).flatten();
        self.usage.record(moment.at, task, finished);
        if let Some(of) = self.attempts.find_last(|of| of.attempt == finished.attempt) {
            of.finish(moment.at, finished);
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "two events end a run of the gate")]
    fn gate_ended(&mut self, moment: Moment, event: &Event) {
        let (purpose, tree, trusted, regression, checks, flaky) = match event {
            Event::Gate(GateEvent::Passed { purpose, tree, trusted, regression, checks, flaky }) => {
                (purpose, tree, trusted.as_ref(), regression, checks, Some(flaky))
            }
            Event::Gate(GateEvent::Failed { purpose, tree, trusted, regression, checks, .. }) => {
                (purpose, tree, trusted.as_ref(), regression, checks, None)
            }
            Event::Gate(GateEvent::NeedsTerms { purpose, tree, trusted, regression, checks, .. }) => {
                (purpose, tree, Some(trusted), regression, checks, None)
            }
            _ => return,
        };
        self.gates.push(GateRecord {
            event: moment.event,
            at: moment.at,
            purpose: *purpose,
            tree: tree.clone(),
            trusted: trusted.cloned(),
            regression: regression.clone(),
            checks: checks.clone(),
            results: std::mem::take(&mut self.unjudged),
            passed: flaky.is_some(),
            flaky: flaky.cloned().unwrap_or_default(),
            needs_terms: matches!(event, Event::Gate(GateEvent::NeedsTerms { .. })),
        });
    }
}

impl AttemptRecord {
    fn begin(moment: Moment, attempt: AttemptId, role: Role) -> Self {
        Self {
            attempt,
            role,
            task: None,
            iteration: 0,
            agent: String::new(),
            started_at: moment.at,
            ended_at: None,
            end: String::new(),
            duration_ms: Millis(0),
            usage: None,
            models: Vec::new(),
            summary: Summary::default(),
            message: String::new(),
            claim: None,
            notes: Vec::new(),
            brief: None,
            transcript: None,
            report: None,
            began_with: None,
            tree: None,
            commit: None,
        }
    }

    fn about(self, iteration: u32, task: Option<&TaskId>) -> Self {
        Self { iteration, task: task.cloned(), ..self }
    }

    fn finish(&mut self, at: Timestamp, finished: &AttemptFinished) {
        let result = &finished.result;
        self.agent.clone_from(&result.agent);
        self.ended_at = Some(at);
        self.end = result.end.to_string();
        self.duration_ms = result.duration_ms;
        self.usage = result.usage;
        self.models.clone_from(&result.models);
        self.summary.clone_from(&result.summary);
        self.message.clone_from(&result.message);
        self.claim.clone_from(&finished.claim);
        self.notes.clone_from(&result.notes);
        self.brief.clone_from(&result.brief);
        self.transcript.clone_from(&result.transcript);
        self.report.clone_from(&result.report);
    }
}

impl CheckRecord {
    fn of(moment: Moment, number: u64, run: &CheckRun) -> Self {
        let Moment { event, at } = moment;
        let line = GateEvent::CheckFinished(Box::new(run.clone())).to_string();
        let CheckRun { purpose, trial, tree, result } = run.clone();
        Self { number, event, at, purpose, trial, tree, result, line }
    }
}

impl TimelineEntry {
    pub fn of(number: u64, at: Timestamp, event: &Event) -> Self {
        Self { event: number, at, line: event.to_string() }
    }
}

impl FindingChange {
    fn at(moment: Moment, life: Life) -> Self {
        Self { event: moment.event, at: moment.at, life, why: String::new() }
    }
}

impl FindingRecords {
    fn opened(&mut self, moment: Moment, finding: &Finding) {
        self.total += 1;
        if self.keep == Keep::NOTHING {
            return;
        }
        if !self.keep.has_room(self.kept.len()) {
            self.drop_one();
        }
        let record = FindingRecord {
            finding: finding.clone(),
            opened: FindingChange::at(moment, finding.life),
            changes: BoundedList::new(Keep::Last(FINDING_CHANGES)),
        };
        self.kept.insert(finding.id.clone(), record);
    }

    fn drop_one(&mut self) {
        let oldest = |closed: bool| {
            let of = self.kept.values().filter(|of| !closed || !of.finding.is_open());
            of.min_by_key(|of| of.opened.event).map(|of| of.finding.id.clone())
        };
        if let Some(id) = oldest(true).or_else(|| oldest(false)) {
            self.kept.remove(&id);
        }
    }

    fn changed(&mut self, id: &FindingId, change: FindingChange) {
        if let Some(of) = self.kept.get_mut(id) {
            of.finding.life = change.life;
            of.changes.push(change);
        }
    }
}

impl UsageTables {
    fn record(&mut self, at: Timestamp, task: Option<TaskId>, finished: &AttemptFinished) {
        let used = finished.result.usage.as_ref();
        self.ledger.record(finished.role, used, &finished.result.models);
        match task {
            Some(task) => self.by_task.entry(task).or_default().add(used),
            None => self.whole.add(used),
        }
        self.by_day.entry(at.day()).or_default().add(used);
    }
}
