//! `windlass status`: how one loop stands, or which loops there are.

use windlass_app::{OpenProject, PlanWait, StoredLoop};
use windlass_core::id::LoopName;
use windlass_core::outcome::OutcomeKind;
use windlass_core::plain::shell_word;
use windlass_core::view::{Status, View};

use crate::args::LoopArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::place::Locations;
use crate::show::out::{say, say_part};
use crate::show::{json, list, proof, text, times, view};

/// What stands behind a completed loop; nothing where that cannot be told, which `windlass prove` explains.
pub fn behind(place: &OpenProject, stored: &StoredLoop, view: &View) -> String {
    if !is_completed(view) {
        return String::new();
    }
    match place.grades(stored) {
        Ok(grades) if !grades.is_empty() => proof::behind(&grades),
        Ok(_) | Err(_) => String::new(),
    }
}

pub fn is_completed(view: &View) -> bool {
    view.outcome.as_ref().is_some_and(|outcome| outcome.kind == OutcomeKind::Completed)
}

/// What to type next. Whether the checkout has the work of a completed loop, only git knows.
pub fn next(place: &OpenProject, view: &View) -> String {
    match is_completed(view) && place.is_taken(view) {
        true => view::after_take(view),
        false => view::next(view),
    }
}

/// A completed loop answers for what it was, not for what the files say since: that is told above all it did. A
/// mistake in the files stops no completed loop from being shown.
pub fn edits_since(place: &OpenProject, view: &View) -> String {
    if !is_completed(view) {
        return String::new();
    }
    let name = &view.name;
    let edits = match place.edited_since(name) {
        Ok(edits) if edits.is_empty() => return String::new(),
        Ok(edits) => edits,
        Err(error) => {
            let told = format!(
                "note: your files have a mistake; {name} is completed and does not read them: {}",
                error.in_one_line()
            );
            return format!("{}\n\n", text::wrap(&told, "  "));
        }
    };
    let named = text::clean(&edits.join(", "));
    if place.plan_wait(name).is_some() {
        let told =
            format!("your files changed since, and are read by the process that waits for it: {named}");
        return format!("{}\n\n", text::wrap(&told, "  "));
    }
    let told = format!("your files changed since; not part of this loop: {named}");
    let mut page = format!("{}\n", text::wrap(&told, "  "));
    if let Some(source) = place.plan_source(name).filter(|_| edits.iter().any(|edit| is_of_plan(edit))) {
        let set = format!("windlass set {name} --plan {}", shell_word(source.trim()));
        page.push_str(&format!("      {set} && windlass run {name}   (does what is new in this loop)\n"));
    }
    if let Ok(other) = place.name_after(name) {
        let plan = place.asked_plan_source(name);
        let plan = plan.map_or_else(String::new, |of| format!(" --plan {}", shell_word(of.trim())));
        page.push_str(&format!(
            "      windlass run --name {other}{plan}   (starts a loop with what they say now)\n"
        ));
    }
    page + "\n"
}

/// As they are named among what was edited.
fn is_of_plan(edit: &str) -> bool {
    edit.starts_with("task ") || edit == "the plan"
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
        say_part!("{}", edits_since(&place, &seen));
        let page = view::page(&seen, &behind(&place, &stored, &seen));
        say_part!("{}", view::ending_with(&page, &next(&place, &seen)));
        say_part!("{}", edits(&place, &seen));
        say_part!("{}", waits_for_plan(&place, &seen.name));
    }
    Ok(Exit::Done)
}

/// What was edited since the loop read its files, and when it counts. A completed loop takes up nothing by itself.
fn edits(place: &OpenProject, view: &View) -> String {
    if is_completed(view) {
        return String::new();
    }
    let name = &view.name;
    let edits = match place.edited_since(name) {
        Ok(edits) if edits.is_empty() => return String::new(),
        Ok(edits) => edits,
        Err(error) => {
            let told = format!("your files cannot be read: {}", error.in_one_line());
            return format!("\n{}\n", text::wrap(&told, "  "));
        }
    };
    let told = format!("your files changed since {name} read them: {}", text::clean(&edits.join(", ")));
    let when = match view.status {
        Status::Running | Status::Waiting => {
            format!("{}\n      or the next windlass run {name} does", reads_now(place, name, &edits))
        }
        Status::Idle | Status::Interrupted | Status::Paused | Status::Ended => {
            format!("      windlass run {name}   (takes them up)")
        }
    };
    format!("\n{}\n{when}\n", text::wrap(&told, "  "))
}

fn reads_now(place: &OpenProject, name: &LoopName, edits: &[String]) -> String {
    let of_plan = edits.iter().filter(|edit| is_of_plan(edit)).count();
    let reload = if of_plan < edits.len() { " --reload" } else { "" };
    let source = place.plan_source(name).filter(|_| of_plan > 0);
    let plan = source.map(|source| format!(" --plan {}", shell_word(source.trim()))).unwrap_or_default();
    format!("      windlass set {name}{reload}{plan}   (takes them up when the iteration has ended)")
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
