//! A loop's whole log, with what a proof needs of it beside the state.

use windlass_core::acceptance::CriterionAnswer;
use windlass_core::event::ReviewRecorded;
use windlass_core::finding::{Finding, Life};
use windlass_core::history::{FindingRecord, History, HistoryLimits, Keep, LandingRecord, ReviewRecord};
use windlass_core::id::{AttemptId, LoopName, TreeId};
use windlass_core::policy::{Policy, ProvenSandbox};
use windlass_core::state::{State, TaskState, TaskStatus};
use windlass_core::verdict::Verdict;
use windlass_core::view::{FOLD_VERSION, View};
use windlass_store::{ReadLog, fold_with};
use windlass_workspace::Vault;

use super::judged::{self, Wanted};
use super::{CompletionRecord, OpenFinding, Point, Protected, ReviewProof, TaskProof, WaivedFinding, rules};

/// A proof rests on every policy, run, gate, review (and what its attempt was about), finding and landing there was.
const NEEDED: HistoryLimits =
    HistoryLimits { iterations: Keep::NOTHING, timeline: Keep::NOTHING, ..HistoryLimits::ALL };

pub(super) struct RecordedLoop {
    pub state: State,
    pub records: u64,
    pub head: String,
    pub past: History,
}

impl RecordedLoop {
    /// The reader checks the hash chain page by page and against the loop's own row; why it does not hold is
    /// the error.
    pub fn read(log: &dyn ReadLog, name: &LoopName) -> Result<Self, String> {
        let (mut records, mut head) = (0, String::new());
        let mut past = History::new(NEEDED);
        let folded = fold_with(log, name, |_, record, decision| {
            records += 1;
            head = record.hash.to_string();
            past.note(record.first_event, decision);
        });
        let state = folded.map_err(|error| error.to_string())?;
        let recorded = Self { state, records, head, past };
        recorded.agrees(log, name)?;
        Ok(recorded)
    }

    /// The least that any drive was confined by.
    fn sandbox(&self) -> ProvenSandbox {
        let proven = self.past.runs.iter().map(|run| &run.asked.sandbox);
        proven.min_by_key(|proven| proven.level).cloned().unwrap_or_default()
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

    /// The policy that was in force at this event.
    pub fn policy_at(&self, event: u64) -> &Policy {
        self.past.policy_at(event).map_or(&self.state.creation.policy, |of| &of.policy)
    }

    /// The event at which the run ended; the last one while it has not.
    pub fn end(&self) -> u64 {
        self.past.ended.unwrap_or(self.state.events)
    }

    /// The policy that judged the whole: of its last gate, or, without one, at the end.
    pub fn final_policy(&self) -> &Policy {
        let landed = self.landed_point();
        let run = landed.and_then(|at| judged::find(self, Wanted::whole(self, &at.tree)));
        self.policy_at(run.map_or_else(|| self.end(), |run| run.event))
    }

    /// How a task that is done came onto the branch.
    pub fn landing(&self, task: &TaskState) -> Option<&LandingRecord> {
        let is_it = |landing: &&LandingRecord| {
            Some(&landing.commit) == task.commit.as_ref()
                && landing.task.as_ref().is_some_and(|of| of.id == task.task.id)
        };
        self.past.landings.iter().rev().find(is_it)
    }

    /// The tree a task landed; nothing for one that was done before, and for the others.
    pub fn task_tree(vault: &Vault, task: &TaskState) -> Option<TreeId> {
        task.commit.as_ref().and_then(|commit| vault.tree_of(commit).ok())
    }

    pub fn record(&self, vault: &Vault, protected: Protected) -> CompletionRecord {
        let state = &self.state;
        let creation = &state.creation;
        let landed = self.landed_point();
        let run = landed.as_ref().and_then(|at| judged::find(self, Wanted::whole(self, &at.tree)));
        CompletionRecord {
            records: self.records,
            events: state.events,
            head: self.head.clone(),
            outcome: state.outcome().cloned(),
            base: Point { commit: creation.base.clone(), tree: creation.base_tree.clone() },
            landed,
            branch: creation.branch.clone(),
            policies: rules::policies(&self.past),
            gate: rules::gate(&self.final_policy().gate),
            checks: run.map_or_else(Vec::new, |run| judged::proofs(self, run, None)),
            tasks: state.tasks.iter().map(|task| self.task(vault, task)).collect(),
            protected,
            sandbox: self.sandbox(),
            reviews: self.past.reviews.iter().map(review).collect(),
            findings: state.findings.values().filter(|finding| finding.is_open()).map(open_finding).collect(),
            waived: self
                .past
                .findings()
                .filter(|of| of.finding.life == Life::Waived)
                .map(waived_finding)
                .collect(),
        }
    }

    fn task(&self, vault: &Vault, task: &TaskState) -> TaskProof {
        let tree = Self::task_tree(vault, task);
        let id = &task.task.id;
        let landing = self.landing(task).zip(tree.as_ref());
        let run = landing.and_then(|(landing, tree)| judged::find(self, Wanted::landed(landing, tree)));
        TaskProof {
            id: id.clone(),
            title: task.task.title.clone(),
            status: task.status,
            done_before: task.was_done_before(),
            why: if task.status == TaskStatus::Waived { task.words.clone() } else { String::new() },
            commit: task.commit.clone(),
            checked: task.checked,
            reviewed: task.reviewed,
            gate: run.map(|run| rules::gate(&self.policy_at(run.event).gate).hash),
            regression: run.and_then(|run| judged::regression(self, run)),
            acceptance: self.criteria(task, landing),
            checks: run.map_or_else(Vec::new, |run| {
                let task = landing.and_then(|(landing, _)| landing.task.as_ref());
                judged::proofs(self, run, task)
            }),
            tree,
        }
    }

    pub fn accepts_of<'a>(&'a self, tree: &'a TreeId) -> impl Iterator<Item = &'a ReviewRecorded> {
        let reviews = self.past.reviews.iter().map(|of| &of.review);
        reviews.filter(move |review| {
            review.tree == *tree && review.verdict == Verdict::Accept && review.failure.is_none()
        })
    }

    /// The last task's reviewer has seen the tree of the whole too, and judged only its task: such an accept counts
    /// where that task is all there is.
    pub fn accepted_as_whole(&self, tree: &TreeId) -> bool {
        let tasks = &self.state.tasks;
        let is_all = tasks.len() == 1 && tasks.iter().all(|task| task.steps < 2);
        let of_whole =
            |id: AttemptId| self.past.attempts.iter().any(|of| of.attempt == id && of.task.is_none());
        self.accepts_of(tree).any(|review| is_all || of_whole(review.attempt))
    }

    /// As the accepting review of the tree that landed answered them, or by the last that is known.
    fn criteria(&self, task: &TaskState, landing: Option<(&LandingRecord, &TreeId)>) -> Vec<CriterionAnswer> {
        let accepts = |of: &&ReviewRecord, tree: &TreeId| {
            of.review.tree == *tree && of.review.verdict == Verdict::Accept && !of.review.criteria.is_empty()
        };
        let accepted = landing.and_then(|(landing, tree)| {
            let before = self.past.reviews.iter().rev().filter(|of| of.event < landing.event);
            before.into_iter().find(|of| accepts(of, tree))
        });
        let listed = |answer: &&CriterionAnswer| answer.number > 0;
        match accepted {
            Some(of) => of.review.criteria.iter().filter(listed).cloned().collect(),
            None => task.criteria(),
        }
    }

    pub fn waived(&self) -> impl Iterator<Item = &Finding> {
        self.state.findings.values().filter(|finding| finding.life == Life::Waived)
    }
}

fn waived_finding(of: &FindingRecord) -> WaivedFinding {
    WaivedFinding {
        id: of.finding.id.clone(),
        task: of.finding.task.clone(),
        severity: of.finding.severity,
        description: of.finding.description.clone(),
        why: of.waiver().to_owned(),
    }
}

fn review(ReviewRecord { review, .. }: &ReviewRecord) -> ReviewProof {
    ReviewProof {
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
