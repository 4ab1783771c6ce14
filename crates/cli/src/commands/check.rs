//! `windlass check`: whether an open-ended loop is at its end.

use windlass_app::StopCheckReport;

use crate::args::LoopArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::place::Locations;
use crate::show::json;
use crate::show::out::say;
use crate::show::text::{Colour, clean, paint};
use crate::signals;

pub fn check(locations: &Locations, asked: &LoopArgs) -> Result<Exit, Failure> {
    let interrupts = signals::interrupts()?;
    let place = locations.open_project()?;
    let stored = place.find(asked.name.as_deref())?;
    let report = place.check_stop(&stored, &interrupts)?;
    if asked.json {
        json::print(&report);
    } else {
        print(&report);
    }
    Ok(if report.stop { Exit::Done } else { Exit::Error })
}

fn print(report: &StopCheckReport) {
    for check in &report.checks {
        let (mark, colour) = if check.holds { ("holds", Colour::Good) } else { ("open ", Colour::Busy) };
        say!("{}  {}: {}", paint(mark, colour), clean(&check.check), clean(&check.why));
    }
    let tree = report.tree.as_str().get(..10).unwrap_or(report.tree.as_str());
    let words = if report.stop { "stop: all hold" } else { "go on" };
    say!("{words} (tree {tree})");
}
