//! `windlass log`: what happened, event by event.

use windlass_core::event::Decision;
use windlass_core::id::Seq;
use windlass_driver::trail::event_line;

use crate::args::LogArgs;
use crate::exit::Exit;
use crate::failure::{Failure, OrFail};
use crate::place::Locations;
use crate::show::out::PagedOutput;
use crate::show::text;

const PAGE: usize = 512;

pub fn log(locations: &Locations, asked: &LogArgs) -> Result<Exit, Failure> {
    let place = locations.project_store()?;
    let (reader, row) = place.find(asked.name.as_deref())?;
    let skip = asked.last.map_or(0, |last| row.head.events.saturating_sub(last));
    let mut out = PagedOutput::new();
    let mut after = Seq(0);
    loop {
        let page = reader.read(&row.name, after, PAGE).or_error()?;
        let Some(last) = page.last() else { break };
        after = last.seq;
        for record in page {
            if record.first_event + record.events <= skip {
                continue;
            }
            let decision: Decision = serde_json::from_str(&record.body)
                .map_err(|error| Failure::error(format!("{} record {}: {error}", row.name, record.seq)))?;
            for (seq, event) in (record.first_event..).zip(&decision.events) {
                if seq <= skip {
                    continue;
                }
                let written = if asked.json {
                    out.machine_line(&event_line(seq, decision.at, event))
                } else {
                    let words = text::clean(&event.to_string());
                    out.line(&format!("{seq:>5}  {}  {words}", text::clock(decision.at)))
                };
                written.or_error()?;
            }
        }
    }
    out.finish().or_error()?;
    Ok(Exit::Done)
}
