//! What a loop's records tell.

use std::fmt;

use windlass_core::event::{AttemptEvent, Event, FindingEvent, GateEvent, IterationEvent, TaskEvent};
use windlass_core::history::{AttemptRecord, CheckRecord, History, HistoryLimits, Keep, TimelineEntry};
use windlass_core::id::{AttemptId, BlobId, FindingId, Seq, TaskId};
use windlass_core::time::Timestamp;
use windlass_driver::trail::event_line;
use windlass_store::decisions;

use crate::error::Classify as _;
use crate::{AppError, StoredLoop};

/// No text that is shown is longer.
const SHOWN_BYTES: u64 = 4 << 20;

/// An event with its number in its loop's log.
#[derive(Clone, Debug)]
pub struct LoggedEvent {
    pub number: u64,
    pub at: Timestamp,
    pub event: Event,
}

impl LoggedEvent {
    /// In one line of words.
    pub fn entry(&self) -> TimelineEntry {
        TimelineEntry::of(self.number, self.at, &self.event)
    }

    /// As a line of JSON.
    pub fn json(&self) -> String {
        event_line(self.number, self.at, &self.event)
    }
}

/// What an event can be looked at in full by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoggedItem {
    Attempt(AttemptId),
    /// Counted from 1.
    Check(u64),
    Finding(FindingId),
    Task(TaskId),
}

impl LoggedItem {
    /// `checks` is how many checks ended up to this event, itself included.
    #[expect(clippy::wildcard_enum_match_arm, reason = "most events are told whole by their line")]
    pub fn of(event: &Event, checks: u64) -> Option<Self> {
        Some(match event {
            Event::Attempt(
                AttemptEvent::Started { attempt, .. } | AttemptEvent::FailureCounted { attempt, .. },
            ) => Self::Attempt(*attempt),
            Event::Attempt(AttemptEvent::Finished(finished)) => Self::Attempt(finished.attempt),
            Event::Attempt(AttemptEvent::TreeRecorded(recorded)) => Self::Attempt(recorded.attempt),
            Event::Attempt(AttemptEvent::ReviewRecorded(review)) => Self::Attempt(review.attempt),
            Event::Gate(GateEvent::CheckFinished(_)) => Self::Check(checks),
            Event::Finding(FindingEvent::Opened(finding)) => Self::Finding(finding.id.clone()),
            Event::Finding(
                FindingEvent::Carried { finding }
                | FindingEvent::Remeasured { finding, .. }
                | FindingEvent::Resolved { finding }
                | FindingEvent::Waived { finding, .. },
            ) => Self::Finding(finding.clone()),
            Event::Task(
                TaskEvent::Done { task, .. }
                | TaskEvent::Blocked { task, .. }
                | TaskEvent::Unblocked { task }
                | TaskEvent::Waived { task, .. }
                | TaskEvent::StepLanded { task, .. }
                | TaskEvent::StopChecked { task, .. }
                | TaskEvent::Reopened { task },
            ) => Self::Task(task.clone()),
            Event::Iteration(
                IterationEvent::Opened { task: Some(task), .. }
                | IterationEvent::Closed { task: Some(task), .. },
            ) => Self::Task(task.clone()),
            _ => return None,
        })
    }
}

/// As `windlass show LOOP` takes it.
impl fmt::Display for LoggedItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Attempt(attempt) => write!(f, "attempt:{attempt}"),
            Self::Check(number) => write!(f, "check:{number}"),
            Self::Finding(finding) => write!(f, "{finding}"),
            Self::Task(task) => write!(f, "{task}"),
        }
    }
}

pub(crate) fn is_check(event: &Event) -> bool {
    matches!(event, Event::Gate(GateEvent::CheckFinished(_)))
}

impl StoredLoop {
    pub fn history(&self, limits: HistoryLimits) -> Result<History, AppError> {
        windlass_store::history(&*self.reader, &self.name, limits).or_broken()
    }

    /// Every attempt that ended, in order. Only the last two are held.
    pub fn attempts(&self) -> impl Iterator<Item = Result<AttemptRecord, AppError>> {
        const LAST_TWO: HistoryLimits = HistoryLimits { attempts: Keep::Last(2), ..HistoryLimits::NOTHING };
        let mut past = History::new(LAST_TWO);
        let mut told = AttemptId(0);
        let whole_log = decisions(&*self.reader, &self.name, Seq(0)).map(Some).chain([None]);
        whole_log.flat_map(move |read| {
            let at_end = read.is_none();
            match read.map(|read| read.or_broken()) {
                Some(Ok((record, decision))) => past.note(record.first_event, &decision),
                Some(Err(error)) => return vec![Err(error)],
                None => {}
            }
            // The newest may still run, or have its tree recorded.
            let newest = past.attempts.last().map(|last| last.attempt).filter(|_| !at_end);
            let settled: Vec<AttemptRecord> = past
                .attempts
                .iter()
                .filter(|of| of.attempt > told && Some(of.attempt) != newest)
                .cloned()
                .collect();
            told = settled.last().map_or(told, |last| last.attempt);
            settled.into_iter().filter(|of| of.ended_at.is_some()).map(Ok).collect()
        })
    }

    /// The result of a check, counted from 1 over all checks of the loop.
    pub fn check(&self, number: u64) -> Result<Option<CheckRecord>, AppError> {
        let limits = HistoryLimits { gates: Keep::All, ..HistoryLimits::NOTHING };
        Ok(self.history(limits)?.checks().find(|check| check.number == number).cloned())
    }

    /// What the event of this number in the log is about.
    pub fn item_of_event(&self, number: u64) -> Result<Option<LoggedItem>, AppError> {
        let mut checks = 0;
        for logged in self.events(None) {
            let LoggedEvent { number: at, event, .. } = logged?;
            checks += u64::from(is_check(&event));
            if at == number {
                return Ok(LoggedItem::of(&event, checks));
            }
        }
        Ok(None)
    }

    /// The loop's events in order; the last ones, if a number is given.
    pub fn events(&self, last: Option<u64>) -> impl Iterator<Item = Result<LoggedEvent, AppError>> {
        let skip = last.map_or(0, |last| self.head.events.saturating_sub(last));
        decisions(&*self.reader, &self.name, Seq(0))
            .flat_map(|read| match read.or_broken() {
                Ok((record, decision)) => {
                    let at = decision.at;
                    let logged = |(number, event)| Ok(LoggedEvent { number, at, event });
                    (record.first_event..).zip(decision.events).map(logged).collect()
                }
                Err(error) => vec![Err(error)],
            })
            .filter(move |logged| logged.as_ref().map_or(true, |logged| logged.number > skip))
    }

    /// A stored text: of a task, a brief, a transcript, the output of a check.
    pub fn text(&self, id: &BlobId) -> Result<String, AppError> {
        let bytes = self.reader.blob(id, SHOWN_BYTES).or_broken()?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}
