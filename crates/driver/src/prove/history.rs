//! A loop's whole log, with what a proof needs of it beside the state.

use std::collections::BTreeMap;

use windlass_core::event::{Event, ReviewRecorded};
use windlass_core::finding::{Finding, Life};
use windlass_core::id::{FindingId, LoopName, TaskId, TreeId};
use windlass_core::policy::ProvenSandbox;
use windlass_core::state::{State, TaskState, TaskStatus};
use windlass_core::view::{FOLD_VERSION, View};
use windlass_gate::definition;
use windlass_store::{ReadLog, fold_with};
use windlass_workspace::Vault;

use super::judged::{self, Numbered, Run, Wanted};
use super::{Check, Gate, OpenFinding, Point, Protected, Record, Review, Task, WaivedFinding};

pub(super) struct History {
    pub state: State,
    pub records: u64,
    pub head: String,
    /// Every run of the gate, in order.
    pub runs: Vec<Run>,
    /// The results whose run has no end yet.
    pub results: Vec<Numbered>,
    /// Why the operator waived each finding.
    pub waivers: BTreeMap<FindingId, String>,
    pub reviews: Vec<ReviewRecorded>,
    /// The trees that landed, in order, and whether a finisher made the last.
    pub landed: Vec<TreeId>,
    pub finished_by_agent: bool,
    /// The least that any drive was confined by.
    pub sandbox: Option<ProvenSandbox>,
}

impl History {
    /// The reader checks the hash chain page by page and against the loop's own row; why it does not hold is
    /// the error.
    pub fn read(log: &dyn ReadLog, name: &LoopName) -> Result<Self, String> {
        let mut history: Option<Self> = None;
        let folded = fold_with(log, name, |state, record, decision| {
            let history = history.get_or_insert_with(|| Self::begin(state.clone()));
            history.records += 1;
            history.head = record.hash.to_string();
            history.state.clone_from(state);
            for (event, number) in decision.events.iter().zip(record.first_event..) {
                history.note(number, event);
            }
        });
        folded.map_err(|error| error.to_string())?;
        let history = history.ok_or_else(|| format!("loop {name} has no records"))?;
        history.agrees(log, name)?;
        Ok(history)
    }

    fn begin(state: State) -> Self {
        Self {
            state,
            records: 0,
            head: String::new(),
            runs: Vec::new(),
            results: Vec::new(),
            waivers: BTreeMap::new(),
            reviews: Vec::new(),
            landed: Vec::new(),
            finished_by_agent: false,
            sandbox: None,
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "a proof picks the events it rests on")]
    fn note(&mut self, number: u64, event: &Event) {
        match event {
            Event::CheckFinished { .. } => self.results.extend(Numbered::of(number, event)),
            Event::GatePassed { purpose, tree, checks, flaky } => {
                self.gate_ended(Run {
                    event: number,
                    purpose: *purpose,
                    tree: tree.clone(),
                    checks: checks.clone(),
                    results: Vec::new(),
                    passed: true,
                    flaky: flaky.clone(),
                });
            }
            Event::GateFailed { purpose, tree, checks, .. } => {
                self.gate_ended(Run {
                    event: number,
                    purpose: *purpose,
                    tree: tree.clone(),
                    checks: checks.clone(),
                    results: Vec::new(),
                    passed: false,
                    flaky: Vec::new(),
                });
            }
            Event::FindingWaived { finding, why } => {
                self.waivers.insert(finding.clone(), why.clone());
            }
            Event::ReviewRecorded(review) => self.reviews.push((**review).clone()),
            Event::FinishRecorded { .. } => self.finished_by_agent = true,
            Event::Landed { tree, .. } => self.landed.push(tree.clone()),
            Event::RunStarted { asked, .. } => {
                self.finished_by_agent = false;
                self.drive(&asked.sandbox);
            }
            Event::RunResumed { asked, .. } => self.drive(&asked.sandbox),
            Event::RunRestarted { .. } => self.finished_by_agent = false,
            _ => {}
        }
    }

    fn gate_ended(&mut self, run: Run) {
        let results = std::mem::take(&mut self.results);
        self.runs.push(Run { results, ..run });
    }

    fn drive(&mut self, proven: &ProvenSandbox) {
        if self.sandbox.as_ref().is_none_or(|least| proven.level < least.level) {
            self.sandbox = Some(proven.clone());
        }
    }

    /// The row of the loop is written with every record; one that tells something else was changed, or the
    /// log was.
    fn agrees(&self, log: &dyn ReadLog, name: &LoopName) -> Result<(), String> {
        let head = log.head(name).map_err(|fault| fault.to_string())?;
        let head = head.ok_or_else(|| format!("loop {name} is gone"))?;
        if head.events != self.state.events {
            return Err(format!(
                "the log holds {} events, the loop's row says {}",
                self.state.events, head.events
            ));
        }
        if head.fold_version != FOLD_VERSION {
            return Ok(());
        }
        match serde_json::from_str::<View>(&head.view) {
            Ok(view) if view == View::of(&self.state) => Ok(()),
            Ok(_) => Err("the stored view is not what the log folds to".to_owned()),
            Err(error) => Err(format!("the stored view cannot be read: {error}")),
        }
    }

    pub fn landed_point(&self) -> Option<Point> {
        let head = &self.state.head;
        head.landed.then(|| Point { commit: head.commit.clone(), tree: head.tree.clone() })
    }

    /// The tree a done task landed; nothing for the others.
    pub fn task_tree(vault: &Vault, task: &TaskState) -> Option<TreeId> {
        task.commit.as_ref().and_then(|commit| vault.tree_of(commit).ok())
    }

    pub fn record(&self, vault: &Vault, protected: Protected) -> Record {
        let state = &self.state;
        let creation = &state.creation;
        let landed = self.landed_point();
        let text = definition(&creation.policy.gate);
        let whole = state.checks_for(None);
        let checks = landed
            .as_ref()
            .map_or_else(Vec::new, |at| self.proofs(Wanted { tree: &at.tree, checks: &whole, task: None }));
        Record {
            records: self.records,
            events: state.events,
            head: self.head.clone(),
            outcome: state.outcome().cloned(),
            base: Point { commit: creation.base.clone(), tree: creation.base_tree.clone() },
            landed,
            branch: creation.branch.clone(),
            gate: Gate {
                hash: blake3::hash(text.as_bytes()).to_hex().to_string(),
                definition: text,
                checks: whole,
            },
            checks,
            tasks: state.tasks.iter().map(|task| self.task(vault, task)).collect(),
            protected,
            sandbox: self.sandbox.clone().unwrap_or_default(),
            reviews: self.reviews.iter().map(review).collect(),
            findings: state.findings.values().filter(|finding| finding.is_open()).map(open_finding).collect(),
            waived: self.waived().map(|finding| self.waived_finding(finding)).collect(),
        }
    }

    fn task(&self, vault: &Vault, task: &TaskState) -> Task {
        let tree = Self::task_tree(vault, task);
        let id: &TaskId = &task.task.id;
        let checks = self.state.checks_for(Some(id));
        Task {
            id: id.clone(),
            title: task.task.title.clone(),
            status: task.status,
            why: if task.status == TaskStatus::Waived { task.words.clone() } else { String::new() },
            commit: task.commit.clone(),
            checked: task.checked,
            reviewed: task.reviewed,
            checks: tree
                .as_ref()
                .map_or_else(Vec::new, |tree| self.proofs(Wanted { tree, checks: &checks, task: Some(id) })),
            tree,
        }
    }

    fn proofs(&self, wanted: Wanted<'_>) -> Vec<Check> {
        judged::find(self, wanted).map_or_else(Vec::new, |run| run.proofs(self, wanted.task))
    }

    pub fn waived(&self) -> impl Iterator<Item = &Finding> {
        self.state.findings.values().filter(|finding| finding.life == Life::Waived)
    }

    fn waived_finding(&self, finding: &Finding) -> WaivedFinding {
        WaivedFinding {
            id: finding.id.clone(),
            task: finding.task.clone(),
            severity: finding.severity,
            description: finding.description.clone(),
            why: self.waivers.get(&finding.id).cloned().unwrap_or_default(),
        }
    }
}

fn review(review: &ReviewRecorded) -> Review {
    Review {
        attempt: review.attempt,
        iteration: review.iteration,
        tree: review.tree.clone(),
        verdict: review.verdict,
        failure: review.failure.as_ref().map_or_else(String::new, |failure| failure.words()),
    }
}

fn open_finding(finding: &Finding) -> OpenFinding {
    OpenFinding {
        id: finding.id.clone(),
        severity: finding.severity,
        description: finding.description.clone(),
    }
}
