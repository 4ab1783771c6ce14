//! `windlass take`: the loop's branch into the operator's checkout.

use serde_json::json;
use windlass_app::{AttemptBranch, FilterRule, FilterUse, OpenProject, StoredLoop, TakeOutcome};
use windlass_core::view::Status;

use crate::args::TakeArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::place::Locations;
use crate::show::out::say;
use crate::show::{json, text};

/// How many files of a filter are named.
const LISTED: usize = 5;

pub fn take(locations: &Locations, asked: &TakeArgs) -> Result<Exit, Failure> {
    let place = locations.open_project()?;
    let row = place.to_take(asked.of.name.as_deref())?;
    if let Some(number) = &asked.attempt {
        return attempt(&place, &row, number, asked.of.json);
    }
    let (name, view) = (&row.name, row.view()?);
    let filters = if asked.run_filters { FilterRule::Run } else { FilterRule::Tell };
    let taken = place.take(&view, filters)?;
    let is_running = matches!(view.status, Status::Running | Status::Waiting);
    let allowing = format!("windlass take {name} --run-filters");
    if asked.of.json {
        let none = Vec::new();
        let (done, command, filters) = match &taken {
            TakeOutcome::Done { .. } | TakeOutcome::Already { .. } => (true, None, &none),
            TakeOutcome::ByHand { command, .. } => (false, Some(command), &none),
            TakeOutcome::WouldFilter { filters } => (false, Some(&allowing), filters),
        };
        let filter = |of: &FilterUse| json!({ "filter": of.name, "command": of.command, "files": of.paths });
        let filters: Vec<serde_json::Value> = filters.iter().map(filter).collect();
        json::print(&json!({
            "loop": name, "branch": view.branch, "taken": done, "command": command, "filters": filters,
            "running": is_running,
        }));
        return Ok(if done { Exit::Done } else { Exit::Error });
    }
    match taken {
        TakeOutcome::Done { commit } => say!("your checkout is at {} ({})", commit.short(), view.branch),
        TakeOutcome::Already { head } => {
            say!("your checkout has all of {} already (it is at {})", view.branch, head.short());
        }
        TakeOutcome::ByHand { why, command } => return Err(Failure::error(why).hint(command)),
        TakeOutcome::WouldFilter { filters } => {
            let uses: Vec<String> = filters.iter().map(words).collect();
            let why = format!("it would run your git {}; nothing was taken", uses.join(", and "));
            return Err(Failure::error(why).hint(format!("{allowing}   (if it may)")));
        }
    }
    if is_running {
        say!("note: {name} still runs; what landed so far is not proven yet");
    }
    Ok(Exit::Done)
}

fn attempt(place: &OpenProject, row: &StoredLoop, number: &str, as_json: bool) -> Result<Exit, Failure> {
    let AttemptBranch { branch, commit } = place.take_attempt(row, number)?;
    let command = format!("git merge {branch}");
    if as_json {
        let taken = json!({ "loop": row.name, "branch": branch, "commit": commit, "command": command });
        json::print(&taken);
        return Ok(Exit::Done);
    }
    let left = format!("branch {branch} has what attempt {number} left; your checkout is as it was.");
    say!("{}", text::wrap(&left, "  "));
    say!("{}", text::wrap(&format!("next: {command}   (brings it into your checkout)"), "        "));
    Ok(Exit::Done)
}

fn words(FilterUse { name, command, paths }: &FilterUse) -> String {
    let mut listed = paths.iter().take(LISTED).cloned().collect::<Vec<_>>().join(", ");
    if paths.len() > LISTED {
        listed.push_str(&format!(" and {} more", paths.len() - LISTED));
    }
    format!("filter {name} ({command}) on what the work brings: {listed}")
}
