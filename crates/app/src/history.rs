//! What a loop's records tell.

use windlass_core::event::Event;
use windlass_core::history::{History, HistoryLimits, TimelineEntry};
use windlass_core::id::{BlobId, Seq};
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
