//! What a loop's records tell.

use windlass_core::event::Event;
use windlass_core::history::{AttemptRecord, CheckRecord, History, HistoryLimits, Keep, TimelineEntry};
use windlass_core::id::{AttemptId, BlobId, Seq};
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

    /// The result of a check, by the number of its event.
    pub fn check(&self, event: u64) -> Result<Option<CheckRecord>, AppError> {
        for read in decisions(&*self.reader, &self.name, Seq(0)) {
            let (record, decision) = read.or_broken()?;
            if event < record.first_event + decision.events.len() as u64 {
                let gates = Keep::All;
                let mut past = History::new(HistoryLimits { gates, ..HistoryLimits::NOTHING });
                past.note(record.first_event, &decision);
                return Ok(past.checks().find(|check| check.event == event).cloned());
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
