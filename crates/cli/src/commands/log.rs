//! `windlass log`: what happened, event by event.

use windlass_core::history::TimelineEntry;
use windlass_core::id::Seq;
use windlass_driver::trail::event_line;
use windlass_store::decisions;

use crate::args::LogArgs;
use crate::exit::Exit;
use crate::failure::{Failure, OrFail};
use crate::place::Locations;
use crate::show::out::PagedOutput;
use crate::show::text;

pub fn log(locations: &Locations, asked: &LogArgs) -> Result<Exit, Failure> {
    let place = locations.open_project()?;
    let row = place.find(asked.name.as_deref())?;
    let skip = asked.last.map_or(0, |last| row.head.events.saturating_sub(last));
    let mut out = PagedOutput::new();
    for read in decisions(&*row.reader, &row.name, Seq(0)) {
        let (record, decision) = read.or_error()?;
        for (seq, event) in (record.first_event..).zip(&decision.events).filter(|(seq, _)| *seq > skip) {
            let written = if asked.json {
                out.machine_line(&event_line(seq, decision.at, event))
            } else {
                let TimelineEntry { event, at, line } = TimelineEntry::of(seq, decision.at, event);
                out.line(&format!("{event:>5}  {}  {}", text::clock(at), text::clean(&line)))
            };
            written.or_error()?;
        }
    }
    out.finish().or_error()?;
    Ok(Exit::Done)
}
