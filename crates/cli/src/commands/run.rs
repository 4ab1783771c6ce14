//! `windlass run`: drives a loop to an outcome, creating it if there is none.

use windlass_app::{
    Ended, OpenProject, PlannedRun, PolicyArguments, PolicyBelow, PreviewedBrief, Proposed, RetryChoice,
    ReviseRequest, ReviseResult, RunProposal, RunRequest, RunStart, RunTarget, counted_tasks, preview_briefs,
    preview_view,
};
use windlass_core::id::{LoopName, TaskId};
use windlass_core::input::Asked;
use windlass_core::view::{Status, View};

use super::status::{behind, edits_since, is_completed, next};
use super::{continuous, detach, set};
use crate::args::RunArgs;
use crate::exit::Exit;
use crate::failure::{Failure, OrFail as _};
use crate::place::Locations;
use crate::show::out::{complain, say, say_part};
use crate::show::progress::{ProgressPrinter, ProgressStyle};
use crate::show::{banner, counts, json, text, view};
use crate::signals;

pub fn run(locations: &Locations, asked: &RunArgs) -> Result<Exit, Failure> {
    match asked.continuous && !asked.detach {
        true => continuous::run(locations, asked),
        false => go(locations, asked, Closing::WithNext).map(|(_, exit)| exit),
    }
}

/// What a drive prints last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closing {
    /// The loop's status, and what to type next.
    WithNext,
    /// The same of a loop that is driven, and nothing of one that stays at rest.
    WithNews,
    Plain,
    Json,
}

/// One run, of the loop that is named.
pub fn go(locations: &Locations, asked: &RunArgs, closing: Closing) -> Result<(LoopName, Exit), Failure> {
    let place = locations.open_project()?;
    let request = request(asked);
    let mut progress = ProgressPrinter::new(match (asked.json, closing) {
        (true, _) | (_, Closing::Json) => ProgressStyle::Quiet,
        (false, Closing::WithNext | Closing::WithNews) => ProgressStyle::WithBanner,
        (false, Closing::Plain) => ProgressStyle::Plain,
    });
    let name = match place.propose(&request)? {
        RunProposal::Resting(view) | RunProposal::Existing(view) if asked.dry_run => {
            preview_existing(&place, &view, asked)?;
            return Ok((view.name, Exit::Done));
        }
        RunProposal::New(proposed) if asked.dry_run => {
            preview_new(&proposed, &request.asked)?;
            return Ok((proposed.name, Exit::Done));
        }
        RunProposal::Resting(view) => {
            let this = ThisRun { place: &place, asked, closing };
            match woken(&this, &view, &mut progress)? {
                Some(exit) => return Ok((view.name, exit)),
                None => view.name,
            }
        }
        RunProposal::Existing(view) => {
            take_up(&ThisRun { place: &place, asked, closing }, &view, &mut progress)?;
            place.unprovable_tasks(&view.name, &request.asked, retry(asked))?;
            place.retry_blocked(&view.name, retry(asked), signals::interrupts()?)?;
            place.check_signed_in(&view.name, &request.asked)?;
            if let Some(note) = base_is_old(&place, &view) {
                progress.wrapped(&note);
            }
            if matches!(request.target, RunTarget::Goal(_)) {
                let name = &view.name;
                progress
                    .wrapped(&format!("going on with loop {name}, which has this goal and is not finished"));
            }
            view.name
        }
        RunProposal::New(proposed) => {
            proposed.notes.iter().for_each(|note| progress.wrapped(note));
            for warning in &proposed.warnings {
                progress.wrapped(&format!("warning: {warning}"));
            }
            let created = place.create(*proposed, &request)?;
            for warning in &created.warnings {
                progress.wrapped(&format!("warning: {warning}"));
            }
            // The plan may call a task blocked.
            place.retry_blocked(&created.name, retry(asked), signals::interrupts()?)?;
            created.name
        }
    };
    place.check_explorers(&name, &request.asked)?;
    let unprovable = place.unprovable_tasks(&name, &request.asked, RetryChoice::Nothing)?;
    if let Some(warning) = nothing_proves(&unprovable) {
        progress.wrapped(&warning);
    }
    if asked.detach {
        let exit = detach::detach(&place, locations, &name, asked)?;
        return Ok((name, exit));
    }
    let interrupts = signals::interrupts()?;
    let ended = place.run(&name, RunStart { asked: request.asked, observer: &mut progress, interrupts });
    progress.erase();
    let exit = close(&place, &name, if asked.json { Closing::Json } else { closing }, &ended?)?;
    Ok((name, exit))
}

/// What was asked of a loop that is there.
struct ThisRun<'a> {
    place: &'a OpenProject,
    asked: &'a RunArgs,
    closing: Closing,
}

/// A loop at rest takes up what was edited. Whether it can be driven then; if not, what that exits with.
fn woken(this: &ThisRun<'_>, view: &View, progress: &mut ProgressPrinter) -> Result<Option<Exit>, Failure> {
    let ThisRun { place, asked, closing } = *this;
    let changed = take_up(this, view, progress)?;
    let name = &view.name;
    let edited = place.view(name)?.unwrap_or_else(|| view.clone());
    let has_news = changed && (asked.continuous || counts::is_all_done(&edited));
    let is_new = has_news || counts::was_opened_since(&edited);
    let again = if is_new && !asked.retry_blocked { RetryChoice::WhatIsOpen } else { retry(asked) };
    place.unprovable_tasks(name, &request(asked).asked, again)?;
    place.retry_blocked(name, again, signals::interrupts()?)?;
    let view = place.view(name)?.unwrap_or_else(|| view.clone());
    Ok(view.rests().then(|| match closing {
        Closing::WithNews => exit_at_rest(&view),
        Closing::WithNext | Closing::Plain | Closing::Json => rest(place, &view, asked.json),
    }))
}

/// What a loop that is there is to have otherwise: what was typed, and what was edited in the files. Whether
/// anything is.
fn take_up(this: &ThisRun<'_>, view: &View, progress: &mut ProgressPrinter) -> Result<bool, Failure> {
    let ThisRun { place, asked, closing } = *this;
    let name = &view.name;
    let report = place.revise(name, &revision(view, asked), signals::interrupts()?)?;
    if let ReviseResult::Refused { why } = &report.result {
        if is_completed(view) && asked.continuous {
            if closing != Closing::WithNews {
                progress.wrapped(&format!("nothing is taken up: {why}"));
            }
            return Ok(false);
        }
        return Err(not_taken(name, why));
    }
    let changes = set::changes(&report);
    changes.lines().for_each(|line| progress.line(line));
    Ok(!changes.is_empty())
}

/// What was typed, and from which files the rest comes.
fn revision(view: &View, asked: &RunArgs) -> ReviseRequest {
    let RunRequest { policy, plan, base, .. } = request(asked);
    let stays = is_completed(view) && !asked.continuous;
    // A loop that is completed stays what it was, unless it is to go on with what is new.
    let below = if stays { PolicyBelow::InForce } else { PolicyBelow::EditedFiles };
    ReviseRequest { policy, below, plan, base }
}

fn not_taken(name: &LoopName, why: &str) -> Failure {
    Failure::usage(format!("{name} cannot be changed so: {why}"))
}

/// What a loop that is there would take up, and what a person would do next.
fn preview_existing(place: &OpenProject, view: &View, asked: &RunArgs) -> Result<(), Failure> {
    let name = &view.name;
    let preview = place.preview_revision(name, &revision(view, asked))?;
    say_part!("{}", edits_since(place, view));
    say!("{name} exists.");
    match &preview.refused {
        Some(why) if is_completed(view) && asked.continuous => say!("nothing would be taken up: {why}"),
        Some(why) => return Err(not_taken(name, why)),
        None => {
            set::lines(&preview.keys, preview.plan.as_ref())
                .lines()
                .for_each(|line| say!("would change: {line}"));
        }
    }
    if !view.rests() {
        place.check_signed_in(name, &request(asked).asked)?;
    }
    say!("{}", next(place, view));
    let revise = revision(view, asked);
    let run = PlannedRun { revise, retry: retry(asked), asked: request(asked).asked };
    place.next_briefs(view, &run)?.iter().for_each(say_brief);
    Ok(())
}

fn say_brief(brief: &PreviewedBrief) {
    say!("\n---- the {}'s brief for task {} ----", brief.role, brief.task);
    for line in brief.text.lines() {
        say!("{}", text::spelled(line));
    }
}

/// A loop keeps its base: what was committed since is not part of it.
fn base_is_old(place: &OpenProject, view: &View) -> Option<String> {
    let (name, base) = (&view.name, view.base.as_str().get(..10).unwrap_or_default());
    let what = match place.commits_it_lacks(view) {
        0 => return None,
        1 => "a commit".to_owned(),
        commits => format!("{commits} commits"),
    };
    let goal = if place.is_of_goal(view) { " \"GOAL\"" } else { "" };
    Some(format!(
        "note: your checkout has {what} that {name} does not have: it goes on from {base}. A loop from your \
         checkout: windlass run --name NAME{goal}"
    ))
}

fn nothing_proves(tasks: &[TaskId]) -> Option<String> {
    let tasks = counted_tasks(tasks.first()?, tasks.len());
    Some(format!(
        "warning: neither a check nor a review can prove {tasks}: after an attempt it will be blocked \
         (unproven). Add a [[gate.check]] to windlass.toml, or leave reviews on"
    ))
}

/// What the options ask for.
fn retry(asked: &RunArgs) -> RetryChoice {
    if asked.retry_blocked { RetryChoice::BlockedTasks } else { RetryChoice::Nothing }
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
            once: asked.once,
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
        say_part!("{}", edits_since(place, view));
        let page = view::page(view, &behind.unwrap_or_default());
        say_part!("{}", view::ending_with(&page, &next(place, view)));
        if let Some(note) = base_is_old(place, view).filter(|_| !is_completed(view)) {
            say!("{}", text::wrap(&note, "  "));
        }
    }
    place.refresh_trail(&view.name).unwrap_or_else(|error| complain!("windlass: {error}"));
    exit_at_rest(view)
}

fn exit_at_rest(view: &View) -> Exit {
    match (view.status, &view.outcome) {
        (Status::Paused, _) | (_, None) => Exit::Paused,
        (_, Some(outcome)) => Exit::of_outcome(outcome),
    }
}

/// What a run would begin with: which loop, from where, and what its agents would be told.
fn preview_new(proposed: &Proposed, asked: &Asked) -> Result<(), Failure> {
    let seen = preview_view(proposed, asked).or_error()?;
    banner::outline(&seen).iter().for_each(|line| say!("{line}"));
    say_part!("{}", preview(proposed));
    preview_briefs(proposed, asked).or_error()?.iter().for_each(say_brief);
    Ok(())
}

fn preview(proposed: &Proposed) -> String {
    let mut page = format!("would start from {}\n", proposed.base);
    proposed.notes.iter().for_each(|note| page.push_str(&format!("  {note}\n")));
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
        Closing::WithNext | Closing::WithNews => {
            say_part!("\n{}", view::ending_with(&view::page(&view, &behind), &next(place, &view)));
        }
    }
    if *ended == Ended::Interrupted && closing != Closing::Json {
        say!("interrupted; everything is saved.");
    }
    Ok(Exit::of(ended))
}
