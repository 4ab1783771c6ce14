//! `windlass log`: what happened, event by event.

use windlass_core::history::TimelineEntry;

use crate::args::LogArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::place::Locations;
use crate::show::out::PagedOutput;
use crate::show::text;

pub fn log(locations: &Locations, asked: &LogArgs) -> Result<Exit, Failure> {
    let place = locations.open_project()?;
    let row = place.find(asked.name.as_deref())?;
    let mut out = PagedOutput::new();
    for logged in row.events(asked.last) {
        let logged = logged?;
        let goes_on = if asked.json {
            out.machine_line(&logged.json())
        } else {
            let TimelineEntry { event, at, line } = logged.entry();
            out.line(&format!("{event:>5}  {}  {}", text::clock(at), text::clean(&line)))
        };
        if !goes_on {
            break;
        }
    }
    out.finish();
    Ok(Exit::Done)
}
