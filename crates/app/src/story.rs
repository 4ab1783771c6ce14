//! The whole story of one task, and what was heard of one attempt.

use serde::Serialize;
use windlass_agent::retell;
use windlass_core::event::{AttemptEvent, Event};
use windlass_core::history::{
    AttemptRecord, CheckRecord, FindingRecord, History, HistoryLimits, IterationRecord, Keep, ReviewRecord,
};
use windlass_core::id::{AttemptId, Seq, TaskId, TreeId};
use windlass_core::live::Live;
use windlass_core::nearest::nearest;
use windlass_core::policy::Role;
use windlass_core::state::State;
use windlass_core::task::TaskMode;
use windlass_core::view::TaskView;
use windlass_driver::changed_files::{ChangedFile, TreeComparison};
use windlass_store::decisions;

use crate::error::Classify as _;
use crate::{AppError, OpenProject, StoredLoop};

/// What is kept of a log to tell a story.
const TOLD: HistoryLimits = HistoryLimits {
    iterations: Keep::All,
    attempts: Keep::All,
    gates: Keep::All,
    reviews: Keep::All,
    findings: Keep::All,
    ..HistoryLimits::NOTHING
};

/// Everything that happened to a task, in order.
#[derive(Debug, Serialize)]
pub struct TaskStory {
    pub task: TaskView,
    /// What the plan says of it.
    pub text: String,
    pub iterations: Vec<IterationStory>,
    pub findings: Vec<FindingRecord>,
    /// What the last author of a task that explores reported.
    pub report: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct IterationStory {
    pub iteration: IterationRecord,
    pub attempts: Vec<AttemptStory>,
    pub checks: Vec<CheckRecord>,
    pub reviews: Vec<ReviewRecord>,
}

#[derive(Debug, Serialize)]
pub struct AttemptStory {
    pub attempt: AttemptRecord,
    /// What it changed; none where its tree was not recorded.
    pub changed: Option<Vec<ChangedFile>>,
    /// What came of it, of a reviewer's.
    pub review: Option<ReviewRecord>,
}

impl OpenProject {
    pub fn task_story(&self, stored: &StoredLoop, task: TaskView) -> Result<TaskStory, AppError> {
        let past = stored.history(TOLD)?;
        let text = stored.text(&task.text)?;
        let trees = TreeComparison::open(&self.surroundings(), &self.vault).or_broken()?;
        let about = |of: &&IterationRecord| of.task.as_ref() == Some(&task.id);
        let records: Vec<&IterationRecord> = past.iterations.iter().collect();
        let mut iterations = Vec::new();
        for record in records.iter().copied().filter(about) {
            let end = records.iter().find(|of| of.event > record.event).map_or(u64::MAX, |next| next.event);
            iterations.push(iteration_story(&past, record, end, &trees)?);
        }
        let findings =
            past.findings().filter(|of| of.finding.task.as_ref() == Some(&task.id)).cloned().collect();
        let report = report(&task, &iterations);
        Ok(TaskStory { task, text, iterations, findings, report })
    }

    /// The last attempts, each with what it changed, and how many there were.
    pub fn last_attempts(
        &self,
        stored: &StoredLoop,
        most: usize,
    ) -> Result<(Vec<AttemptStory>, u64), AppError> {
        let past = stored.history(TOLD)?;
        let trees = TreeComparison::open(&self.surroundings(), &self.vault).or_broken()?;
        let all: Vec<&AttemptRecord> = past.attempts.iter().collect();
        let told = all[all.len().saturating_sub(most)..].iter();
        let told = told.map(|attempt| attempt_story(&past, attempt, &trees));
        Ok((told.collect::<Result<_, _>>()?, past.attempts.total))
    }

    pub fn attempt_story(
        &self,
        stored: &StoredLoop,
        number: AttemptId,
    ) -> Result<Option<AttemptStory>, AppError> {
        let past = stored.history(TOLD)?;
        let Some(attempt) = past.attempts.iter().find(|of| of.attempt == number) else { return Ok(None) };
        let trees = TreeComparison::open(&self.surroundings(), &self.vault).or_broken()?;
        attempt_story(&past, attempt, &trees).map(Some)
    }
}

/// The product of a task that changes nothing: its author's summary, or its last words without one.
fn report(task: &TaskView, iterations: &[IterationStory]) -> Option<String> {
    let attempts = iterations.iter().rev().flat_map(|of| of.attempts.iter().rev());
    let mut authors = attempts.map(|of| &of.attempt).filter(|of| of.role == Role::Author);
    let last = authors.find(|of| of.ended_at.is_some()).filter(|_| task.mode == TaskMode::Explore)?;
    let said = last.claim.as_ref().map(|claim| &claim.summary).filter(|said| !said.trim().is_empty());
    Some(said.unwrap_or(&last.message).clone())
}

/// What an attempt found: what the one before it in its iteration left, or what
/// the iteration began with.
fn tree_before<'a>(past: &'a History, attempt: &AttemptRecord) -> Option<&'a TreeId> {
    let earlier = |of: &&AttemptRecord| {
        of.iteration == attempt.iteration && of.attempt < attempt.attempt && of.tree.is_some()
    };
    let left = past.attempts.iter().rev().find(earlier).and_then(|of| of.tree.as_ref());
    let began = || past.iterations.iter().find(|of| of.iteration == attempt.iteration).map(|of| &of.tree);
    left.or_else(began)
}

impl StoredLoop {
    /// What was heard of an attempt, from its transcript; none where its lines
    /// have no known meaning.
    pub fn heard(&self, of: &AttemptRecord) -> Result<Option<Vec<Live>>, AppError> {
        let Some(transcript) = &of.transcript else { return Ok(None) };
        let Some(adapter) = self.adapter_of(of)? else { return Ok(None) };
        Ok(retell(&adapter, &self.text(transcript)?, of.started_at))
    }

    /// By the policy that was in force when it started.
    fn adapter_of(&self, of: &AttemptRecord) -> Result<Option<String>, AppError> {
        let is_start = |event: &Event| matches!(event, Event::Attempt(AttemptEvent::Started { attempt, .. }) if *attempt == of.attempt);
        let mut state: Option<State> = None;
        for read in decisions(&*self.reader, &self.name, Seq(0)) {
            let (record, decision) = read.or_broken()?;
            match &mut state {
                None => state = State::created_by(&decision).ok(),
                Some(state) => state.apply(record.seq, &decision),
            }
            if decision.events.iter().any(is_start) {
                break;
            }
        }
        Ok(state.map(|state| state.agent_in_use(of.role).adapter.clone()))
    }

    /// The task that was meant by a word, if there is one.
    pub fn task(&self, word: &str) -> Result<Option<TaskView>, AppError> {
        let id = TaskId::new(word);
        Ok(self.view()?.tasks.into_iter().find(|task| task.id == id))
    }

    /// The only task whose id begins so.
    pub fn task_beginning(&self, word: &str) -> Result<Option<TaskView>, AppError> {
        let mut found = self.view()?.tasks.into_iter().filter(|task| task.id.as_str().starts_with(word));
        let first = found.next();
        Ok(first.filter(|_| found.next().is_none()))
    }

    /// The task whose id is nearly this word.
    pub fn nearest_task(&self, word: &str) -> Result<Option<TaskId>, AppError> {
        let view = self.view()?;
        Ok(nearest(word, view.tasks.iter().map(|task| task.id.as_str())).map(TaskId::new))
    }
}

fn iteration_story(
    past: &History,
    record: &IterationRecord,
    end: u64,
    trees: &TreeComparison,
) -> Result<IterationStory, AppError> {
    let within = |event: u64| record.event < event && event < end;
    let attempts = past.attempts.iter().filter(|of| of.iteration == record.iteration);
    let attempts = attempts.map(|attempt| attempt_story(past, attempt, trees));
    Ok(IterationStory {
        iteration: record.clone(),
        attempts: attempts.collect::<Result<_, _>>()?,
        checks: past.checks().filter(|check| within(check.event)).cloned().collect(),
        reviews: past.reviews.iter().filter(|review| within(review.event)).cloned().collect(),
    })
}

fn attempt_story(
    past: &History,
    attempt: &AttemptRecord,
    trees: &TreeComparison,
) -> Result<AttemptStory, AppError> {
    let trees_of = tree_before(past, attempt).zip(attempt.tree.as_ref());
    let changed = trees_of.map(|(before, after)| trees.files(before, after)).transpose().or_broken()?;
    let review = past.reviews.iter().find(|of| of.review.attempt == attempt.attempt).cloned();
    Ok(AttemptStory { attempt: attempt.clone(), changed, review })
}
