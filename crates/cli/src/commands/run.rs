//! `windlass run`: drives a loop to an outcome, creating it if there is none.

use windlass_app::{
    Ended, OpenProject, PolicyArguments, Proposed, RunProposal, RunRequest, RunStart, RunTarget,
};
use windlass_core::id::{LoopName, TaskId};
use windlass_core::input::Asked;
use windlass_core::view::{Status, View};

use super::detach;
use super::status::behind;
use crate::args::RunArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::place::Locations;
use crate::show::out::{complain, say, say_part};
use crate::show::progress::{ProgressPrinter, ProgressStyle};
use crate::show::{json, text, view};
use crate::signals;

pub fn run(locations: &Locations, asked: &RunArgs) -> Result<Exit, Failure> {
    go(locations, asked, Closing::WithNext)
}

/// What a drive prints last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closing {
    /// The loop's status, and what to type next.
    WithNext,
    Plain,
    Json,
}

pub fn go(locations: &Locations, asked: &RunArgs, closing: Closing) -> Result<Exit, Failure> {
    let place = locations.open_project()?;
    let request = request(asked);
    let mut progress = ProgressPrinter::new(match (asked.json, closing) {
        (true, _) | (_, Closing::Json) => ProgressStyle::Quiet,
        (false, Closing::WithNext) => ProgressStyle::WithBanner,
        (false, Closing::Plain) => ProgressStyle::Plain,
    });
    let name = match place.propose(&request)? {
        RunProposal::Resting(view) | RunProposal::Existing(view) if asked.dry_run => {
            say!("{} exists.\n{}", view.name, view::next(&view));
            return Ok(Exit::Done);
        }
        RunProposal::New(proposed) if asked.dry_run => {
            say_part!("{}", preview(&proposed));
            return Ok(Exit::Done);
        }
        RunProposal::Resting(view) => return Ok(rest(&place, &view, asked.json)),
        RunProposal::Existing(view) => {
            if matches!(request.target, RunTarget::Goal(_)) {
                let name = &view.name;
                progress.line(&format!("going on with loop {name}, which has this goal and is not finished"));
            }
            view.name
        }
        RunProposal::New(proposed) => {
            for warning in &proposed.warnings {
                progress.line(&format!("warning: {}", text::clean(warning)));
            }
            let created = place.create(*proposed)?;
            for warning in &created.warnings {
                progress.line(&format!("warning: {}", text::clean(warning)));
            }
            created.name
        }
    };
    if asked.detach {
        return detach::detach(&place, locations, &name, asked);
    }
    let interrupts = signals::interrupts()?;
    let ended = place.run(&name, RunStart { asked: request.asked, observer: &mut progress, interrupts });
    progress.erase();
    close(&place, &name, if asked.json { Closing::Json } else { closing }, &ended?)
}

fn request(asked: &RunArgs) -> RunRequest {
    RunRequest {
        target: RunTarget::of_words(asked.what.as_deref()),
        name: asked.name.clone(),
        plan: asked.plan.clone(),
        policy: PolicyArguments { policy_file: asked.policy.clone(), set: asked.set.clone() },
        base: asked.base.clone(),
        asked: Asked {
            task: asked.task.as_ref().map(TaskId::new),
            until: asked.until.as_ref().map(TaskId::new),
            max: asked.max.unwrap_or(0),
            no_review: asked.no_review,
            ..Asked::default()
        },
    }
}

/// Shows why a loop is not driven.
pub fn rest(place: &OpenProject, view: &View, as_json: bool) -> Exit {
    if as_json {
        json::print(view);
    } else {
        let behind = place.find(Some(view.name.as_str())).map(|stored| behind(place, &stored, view));
        say_part!("{}", view::status(view, &behind.unwrap_or_default()));
    }
    place.refresh_trail(&view.name).unwrap_or_else(|error| complain!("windlass: {error}"));
    match (view.status, &view.outcome) {
        (Status::Paused, _) | (_, None) => Exit::Paused,
        (_, Some(outcome)) => Exit::of_outcome(outcome),
    }
}

fn preview(proposed: &Proposed) -> String {
    let mut page = format!("would start from {}\n", proposed.base);
    for task in &proposed.planned.tasks {
        let after = task.depends_on.iter().map(TaskId::as_str).collect::<Vec<_>>().join(", ");
        let after = if after.is_empty() { String::new() } else { format!("  (after {after})") };
        page.push_str(&format!("  task   {}  {}{after}\n", task.id, text::clean(&task.title)));
    }
    for check in &proposed.policy.gate.checks {
        page.push_str(&format!("  check  {}  {}\n", check.name, text::clean(&check.run)));
    }
    for warning in proposed.warnings.iter().chain(&proposed.sandbox.warnings()) {
        page.push_str(&format!("  warning: {}\n", text::clean_lines(warning, "           ")));
    }
    page
}

fn close(place: &OpenProject, name: &LoopName, closing: Closing, ended: &Ended) -> Result<Exit, Failure> {
    let view = place.view(name)?.ok_or_else(|| Failure::error(format!("{name} is gone")))?;
    let behind = behind(place, &place.find(Some(name.as_str()))?, &view);
    match closing {
        Closing::Json => json::print(&view),
        Closing::Plain => say_part!("\n{}", view::page(&view, &behind)),
        Closing::WithNext => say_part!("\n{}", view::status(&view, &behind)),
    }
    if *ended == Ended::Interrupted && closing != Closing::Json {
        say!("interrupted; everything is saved.");
    }
    Ok(Exit::of(ended))
}
