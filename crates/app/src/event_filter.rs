//! Which events of a log are wanted. What an event is about follows from those
//! before it, so a filter is given all of them in order.

use std::collections::BTreeMap;

use windlass_core::event::{AttemptEvent, Event, FindingEvent, IterationEvent, TaskEvent};
use windlass_core::finding::Finding;
use windlass_core::id::{AttemptId, FindingId, TaskId};
use windlass_core::nearest::nearest;
use windlass_core::time::Timestamp;

use crate::AppError;
use crate::history::{LoggedEvent, LoggedItem, is_check};

/// The groups of events, and single ones that people ask for by a short name.
const KINDS: [(&str, &str); 15] = [
    ("loop", ""),
    ("run", ""),
    ("pause", ""),
    ("iteration", ""),
    ("attempt", ""),
    ("gate", ""),
    ("finding", ""),
    ("task", ""),
    ("landing", ""),
    ("operator", ""),
    ("check", "check_finished"),
    ("review", "review_recorded"),
    ("command", "command_taken"),
    ("tree", "tree_recorded"),
    ("phase", "phase_entered"),
];

/// An event that is wanted, and what to ask for to see all of it.
pub struct ListedEvent {
    pub logged: LoggedEvent,
    pub item: Option<LoggedItem>,
}

#[derive(Default)]
pub struct EventFilter {
    task: Option<TaskId>,
    kinds: Vec<String>,
    since: Option<Timestamp>,
    open: Option<TaskId>,
    attempts: BTreeMap<AttemptId, Option<TaskId>>,
    findings: BTreeMap<FindingId, Option<TaskId>>,
    checks: u64,
}

impl EventFilter {
    pub fn of_task(self, task: Option<TaskId>) -> Self {
        Self { task, ..self }
    }

    pub fn since(self, since: Option<Timestamp>) -> Self {
        Self { since, ..self }
    }

    /// Names that no event has are refused.
    pub fn of_kinds(self, wanted: &[String]) -> Result<Self, AppError> {
        let known = |kind: &str| KINDS.iter().any(|(name, event)| *name == kind || *event == kind);
        if let Some(unknown) = wanted.iter().find(|kind| !known(kind)) {
            let names = KINDS.iter().map(|(name, _)| *name);
            let refused = AppError::refused(format!("no event is of the kind {unknown}"));
            let refused = match nearest(unknown, names.clone()) {
                Some(meant) => refused.hint(format!("did you mean {meant}?")),
                None => refused,
            };
            return Err(refused.hint(format!("the kinds are: {}", names.collect::<Vec<_>>().join(", "))));
        }
        Ok(Self { kinds: wanted.to_vec(), ..self })
    }

    /// The event, if it is wanted.
    pub fn pass(&mut self, logged: LoggedEvent) -> Option<ListedEvent> {
        self.checks += u64::from(is_check(&logged.event));
        let about = self.task_of(&logged.event);
        let of_task = self.task.is_none() || self.task == about;
        let recent = self.since.is_none_or(|since| logged.at >= since);
        let of_kind = self.kinds.is_empty() || is_of_kind(&logged.event, &self.kinds);
        let item = LoggedItem::of(&logged.event, self.checks);
        (of_task && recent && of_kind).then_some(ListedEvent { logged, item })
    }

    /// The task that an event is about: its own, or that of the open iteration.
    #[expect(clippy::wildcard_enum_match_arm, reason = "any other event is about the iteration it is in")]
    fn task_of(&mut self, event: &Event) -> Option<TaskId> {
        match event {
            Event::Loop(_) | Event::Run(_) => {
                self.open = None;
                None
            }
            Event::Iteration(IterationEvent::Opened { task, .. }) => {
                self.open.clone_from(task);
                task.clone()
            }
            Event::Iteration(IterationEvent::Closed { task, .. }) => {
                self.open = None;
                task.clone()
            }
            Event::Attempt(AttemptEvent::Started { attempt, task, .. }) => {
                self.attempts.insert(*attempt, task.clone());
                task.clone()
            }
            Event::Attempt(AttemptEvent::Finished(finished)) => {
                self.attempts.get(&finished.attempt).cloned().flatten()
            }
            Event::Finding(event) => self.task_of_finding(event),
            Event::Task(
                TaskEvent::Done { task, .. }
                | TaskEvent::Blocked { task, .. }
                | TaskEvent::Unblocked { task }
                | TaskEvent::Waived { task, .. }
                | TaskEvent::StepLanded { task, .. }
                | TaskEvent::StopChecked { task, .. }
                | TaskEvent::Reopened { task },
            ) => Some(task.clone()),
            _ => self.open.clone(),
        }
    }

    fn task_of_finding(&mut self, event: &FindingEvent) -> Option<TaskId> {
        match event {
            FindingEvent::Opened(finding) => {
                let Finding { id, task, .. } = &**finding;
                self.findings.insert(id.clone(), task.clone());
                task.clone()
            }
            FindingEvent::Carried { finding }
            | FindingEvent::Remeasured { finding, .. }
            | FindingEvent::Resolved { finding }
            | FindingEvent::Waived { finding, .. } => self.findings.get(finding).cloned().flatten(),
        }
    }
}

/// By the names that the event has as JSON.
fn is_of_kind(event: &Event, kinds: &[String]) -> bool {
    let json = serde_json::to_value(event).expect("an event is plain data");
    let named = |field: &str| json[field].as_str().unwrap_or_default();
    let short = KINDS.iter().find(|(_, event)| !event.is_empty() && *event == named("event"));
    kinds.iter().any(|kind| {
        kind == named("about") || kind == named("event") || short.is_some_and(|(name, _)| kind == name)
    })
}
