//! `windlass status`: how one loop stands, or which loops there are.

use windlass_app::{OpenProject, PlanWait, StoredLoop};
use windlass_core::id::LoopName;
use windlass_core::outcome::OutcomeKind;
use windlass_core::view::View;

use crate::args::LoopArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::place::Locations;
use crate::show::out::{say, say_part};
use crate::show::{json, list, proof, times, view};

/// What stands behind a completed loop; nothing where that cannot be told, which `windlass prove` explains.
pub fn behind(place: &OpenProject, stored: &StoredLoop, view: &View) -> String {
    let is_completed = view.outcome.as_ref().is_some_and(|outcome| outcome.kind == OutcomeKind::Completed);
    if !is_completed {
        return String::new();
    }
    match place.grades(stored) {
        Ok(grades) if !grades.is_empty() => proof::behind(&grades),
        Ok(_) | Err(_) => String::new(),
    }
}

pub fn status(locations: &Locations, asked: &LoopArgs) -> Result<Exit, Failure> {
    let place = locations.open_project()?;
    if asked.name.is_none() && !asked.json {
        let views = place.loops()?.iter().map(StoredLoop::view).collect::<Result<Vec<_>, _>>()?;
        if views.len() > 1 {
            say!("{}\nnext: windlass status LOOP   (how one of them stands)", list::loops(&views).trim_end());
            return Ok(Exit::Done);
        }
    }
    let stored = place.find(asked.name.as_deref())?;
    let seen = stored.view()?;
    if asked.json {
        json::print(&seen);
    } else {
        say_part!("{}", view::status(&seen, &behind(&place, &stored, &seen)));
        say_part!("{}", waits_for_plan(&place, &seen.name));
    }
    Ok(Exit::Done)
}

/// What a process of `run --continuous` does between two runs, which no record tells.
fn waits_for_plan(place: &OpenProject, name: &LoopName) -> String {
    let Some(PlanWait { process, until }) = place.plan_wait(name) else { return String::new() };
    let until = times::local(until);
    format!(
        "\nprocess {process} waits for changes of the plan; it reads it again at {until}.\n      \
         windlass cancel {name}   (ends that)\n"
    )
}
