//! `windlass run`: drives a loop to an outcome, creating it if there is none.

use windlass_app::{OpenProject, PolicyArguments};
use windlass_core::event::Event;
use windlass_core::id::{LoopName, Seq, TaskId};
use windlass_core::input::Asked;
use windlass_core::outcome::OutcomeKind;
use windlass_core::view::{Status, View};
use windlass_driver::drive_loop::SiteWorlds;
use windlass_driver::setup::{self, Founding, Proposed};
use windlass_driver::{Ended, drive_loop};
use windlass_plan::goal::GOAL_TASK;
use windlass_plan::{PlanError, Planned};
use windlass_store::ReadStore;

use crate::args::RunArgs;
use crate::exit::Exit;
use crate::failure::{Failure, OrFail};
use crate::place::Locations;
use crate::show::out::{complain, say, say_part};
use crate::show::progress::ProgressPrinter;
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
    if locations.caller()?.is_inside_attempt {
        return Err(Failure::usage("`windlass run` inside an attempt of a loop is refused")
            .hint("an attempt does its task; it starts no loops"));
    }
    let place = locations.open_project()?;
    place.state.check().or_usage()?;
    let target = target(&place, asked)?;
    let mut progress = ProgressPrinter::new(asked.json);
    match place.view(&target.name)? {
        Some(view) if asked.dry_run => say!("{} exists.\n{}", view.name, view::next(&view)),
        Some(view) => {
            if let Some(exit) = resting(&view, asked.json) {
                place.refresh_trail(&target.name).unwrap_or_else(|error| complain!("windlass: {error}"));
                return Ok(exit);
            }
            check_tasks(asked, view.tasks.iter().map(|task| &task.id))?;
        }
        None => {
            let proposed = propose(&place, asked, &target)?;
            check_tasks(asked, proposed.planned.tasks.iter().map(|task| &task.id))?;
            if asked.dry_run {
                say_part!("{}", preview(&proposed));
                return Ok(Exit::Done);
            }
            found(&place, proposed, &mut progress)?;
        }
    }
    if asked.dry_run {
        return Ok(Exit::Done);
    }
    let ended = drive(&place, &target.name, asked, &mut progress)?;
    close(&place, &target.name, if asked.json { Closing::Json } else { closing }, &ended)
}

/// The longest goal that is compared; arguments are shorter.
const GOAL_LIMIT: u64 = 4 << 20;

struct RunTarget {
    name: LoopName,
    goal: Option<String>,
}

/// A bare word is a loop's name, a sentence is a goal. A goal means the loop of
/// exactly that text, or a new one with a name of its own.
fn target(place: &OpenProject, asked: &RunArgs) -> Result<RunTarget, Failure> {
    let sentence = asked.what.as_ref().filter(|what| what.trim().contains(char::is_whitespace));
    let word = asked.what.as_ref().filter(|_| sentence.is_none());
    let named = match (&asked.name, word) {
        (Some(name), Some(word)) if name != word => {
            return Err(Failure::usage(format!("two names: {name} and {word}")).hint("give one"));
        }
        (Some(name), _) | (None, Some(name)) => Some(LoopName::new(name).or_usage()?),
        (None, None) => None,
    };
    let name = match (named, sentence) {
        (Some(name), Some(goal)) => check_goal(place, name, goal)?,
        (Some(name), None) => name,
        (None, Some(goal)) => loop_of_goal(place, goal)?,
        (None, None) => only_or_default(place)?,
    };
    Ok(RunTarget { name, goal: sentence.cloned() })
}

/// A name that is taken by another goal is refused.
fn check_goal(place: &OpenProject, name: LoopName, goal: &str) -> Result<LoopName, Failure> {
    let Some(reader) = place.reader()? else { return Ok(name) };
    if reader.head(&name).or_error()?.is_none() || is_goal_of(&*reader, &name, goal)? {
        return Ok(name);
    }
    Err(Failure::usage(format!("there is a loop named {name} already, and this is not its goal"))
        .hint("choose another --name, or leave it out: the goal gets a name of its own")
        .hint(format!("`windlass run {name}` goes on with the loop that is there")))
}

/// The loop of this very goal, an unfinished one first; else a name nobody has.
fn loop_of_goal(place: &OpenProject, goal: &str) -> Result<LoopName, Failure> {
    let rows = place.loops()?;
    let mut same = Vec::new();
    for row in &rows {
        if is_goal_of(&*row.reader, &row.name, goal)? {
            same.push(row.view()?);
        }
    }
    let is_open = |view: &&View| view.outcome.as_ref().is_none_or(|o| o.kind != OutcomeKind::Completed);
    if let Some(view) = same.iter().find(is_open).or(same.first()) {
        return Ok(view.name.clone());
    }
    let first = slug(goal);
    let numbered = |n: u32| LoopName::new(&format!("{first}-{n}")).expect("a short name and a number");
    let is_free = |name: &LoopName| rows.iter().all(|row| row.name != *name);
    let mut names = std::iter::once(first.clone()).chain((2..).map(numbered));
    Ok(names.find(is_free).expect("there are fewer loops than numbers"))
}

/// Whether the loop was made of exactly this sentence.
fn is_goal_of(reader: &dyn ReadStore, name: &LoopName, goal: &str) -> Result<bool, Failure> {
    let decision = windlass_store::decisions(reader, name, Seq(0)).next().transpose().or_error()?;
    let decision = decision.map(|(_, decision)| decision);
    let created = decision.and_then(|decision| decision.events.into_iter().next());
    let Some(Event::LoopCreated(creation)) = created else { return Ok(false) };
    let [task] = &creation.plan.tasks[..] else { return Ok(false) };
    if task.id.as_str() != GOAL_TASK {
        return Ok(false);
    }
    let text = reader.blob(&task.text, GOAL_LIMIT).or_error()?;
    Ok(String::from_utf8_lossy(&text).trim() == goal.trim())
}

/// The only loop there is, or one named after the project.
fn only_or_default(place: &OpenProject) -> Result<LoopName, Failure> {
    let rows = place.loops()?;
    match rows.as_slice() {
        [] => Ok(slug(&place.project.top.file_name().unwrap_or_default().to_string_lossy())),
        [only] => Ok(only.name.clone()),
        [_, ..] => {
            let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
            Err(Failure::usage("there is more than one loop")
                .hint(format!("name one of: {}", names.join(", "))))
        }
    }
}

/// The first words of a text, as a loop's name.
fn slug(text: &str) -> LoopName {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { ' ' };
    let plain: String = text.chars().map(plain).collect();
    let words: Vec<&str> = plain.split_whitespace().take(5).collect();
    let joined: String = words.join("-").chars().take(40).collect();
    let trimmed = joined.trim_matches('-');
    LoopName::new(trimmed).unwrap_or_else(|_| LoopName::new("loop").expect("a plain word is legal"))
}

/// A loop that ended or is paused is not driven: it says why.
fn resting(view: &View, as_json: bool) -> Option<Exit> {
    let exit = match (view.status, &view.outcome) {
        (Status::Ended, Some(outcome)) if outcome.kind == OutcomeKind::Stopped => return None,
        (Status::Ended, Some(outcome)) => Exit::of_outcome(outcome),
        (Status::Paused, _) => Exit::Paused,
        (Status::Ended | Status::Idle | Status::Running | Status::Waiting | Status::Interrupted, _) => {
            return None;
        }
    };
    if as_json {
        json::print(view);
    } else {
        say_part!("{}", view::status(view));
    }
    Some(exit)
}

fn check_tasks<'a>(asked: &RunArgs, known: impl Iterator<Item = &'a TaskId>) -> Result<(), Failure> {
    let known: Vec<&str> = known.map(TaskId::as_str).collect();
    for wanted in asked.task.iter().chain(&asked.until) {
        if !known.contains(&wanted.as_str()) {
            return Err(Failure::usage(format!("there is no task {wanted}"))
                .hint(format!("the tasks are: {}", known.join(", "))));
        }
    }
    Ok(())
}

/// Everything is checked before anything is written.
fn propose(place: &OpenProject, asked: &RunArgs, target: &RunTarget) -> Result<Proposed, Failure> {
    let resolved =
        place.policy(&PolicyArguments { policy_file: asked.policy.clone(), set: asked.set.clone() })?;
    resolved.require_agents().map_err(|error| {
        let failure = Failure::usage(error);
        if resolved.has_project_file {
            failure
        } else {
            failure.hint("`windlass init` writes a windlass.toml")
        }
    })?;
    let (policy, written) = (resolved.policy, resolved.origins);
    let planned = plan(place, asked, target, &policy.plan.source)?;
    let checks: Vec<&str> = policy.gate.checks.iter().map(|check| check.name.as_str()).collect();
    planned.check_names(&checks).map_err(bad_plan)?;
    let founding = Founding {
        name: target.name.clone(),
        base: asked.base.clone(),
        policy,
        planned,
        surroundings: place.surroundings(),
        vault: place.vault.clone(),
    };
    setup::propose(founding).map_err(|error| {
        let exit = if error.is_of_the_machine() { Exit::Error } else { Exit::Usage };
        let at = error.key().and_then(|key| written.get(key));
        let place = at.map(|at| format!("{}:{}:{}: ", at.layer.name, at.line, at.column)).unwrap_or_default();
        Failure { exit, hints: error.hints(), message: format!("{place}{error}") }
    })
}

fn plan(place: &OpenProject, asked: &RunArgs, target: &RunTarget, source: &str) -> Result<Planned, Failure> {
    if let Some(goal) = &target.goal {
        return windlass_plan::goal::read(goal).map_err(bad_plan);
    }
    let source = asked.plan.as_deref().unwrap_or(source);
    if source.trim().is_empty() {
        return Err(Failure::usage("there is no plan: `plan.source` is not set in windlass.toml")
            .hint("`windlass init` writes a windlass.toml and a first task")
            .hint("or give a goal: windlass run \"make the tests pass\""));
    }
    windlass_plan::read(source, &place.project.top).map_err(bad_plan)
}

fn bad_plan(error: PlanError) -> Failure {
    let remedy = error.remedy();
    Failure::usage(error).hint(remedy)
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

fn found(place: &OpenProject, proposed: Proposed, progress: &mut ProgressPrinter) -> Result<(), Failure> {
    place.state.create_checked().or_usage()?;
    for warning in &proposed.warnings {
        progress.line(&format!("warning: {}", text::clean(warning)));
    }
    setup::found(&place.store()?, proposed).map_err(|error| {
        let exit = if error.is_of_the_base() { Exit::Usage } else { Exit::Error };
        Failure { exit, hints: error.hints(), message: error.to_string() }
    })
}

fn drive(
    place: &OpenProject,
    name: &LoopName,
    asked: &RunArgs,
    progress: &mut ProgressPrinter,
) -> Result<Ended, Failure> {
    let wanted = Asked {
        task: asked.task.as_ref().map(TaskId::new),
        until: asked.until.as_ref().map(TaskId::new),
        max: asked.max.unwrap_or(0),
        no_review: asked.no_review,
        ..Asked::default()
    };
    let ended = {
        let mut worlds = SiteWorlds::new(place.site(name), signals::interrupts()?, progress);
        drive_loop::drive(&place.store()?, name, wanted, &mut worlds)
    };
    progress.erase();
    ended.map_err(|error| {
        let exit = if error.is_disk_full() { Exit::Paused } else { Exit::Error };
        Failure { exit, message: error.to_string(), hints: error.hints() }
    })
}

fn close(place: &OpenProject, name: &LoopName, closing: Closing, ended: &Ended) -> Result<Exit, Failure> {
    let view = place.view(name)?.ok_or_else(|| Failure::error(format!("{name} is gone")))?;
    match closing {
        Closing::Json => json::print(&view),
        Closing::Plain => say_part!("\n{}", view::page(&view)),
        Closing::WithNext => say_part!("\n{}", view::status(&view)),
    }
    if *ended == Ended::Interrupted && closing != Closing::Json {
        say!("interrupted; everything is saved.");
    }
    Ok(Exit::of(ended))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_becomes_a_plain_name() {
        assert_eq!(slug("Make the tests pass, please and more").as_str(), "make-the-tests-pass-please");
        assert_eq!(slug("…").as_str(), "loop");
        assert_eq!(slug("my repo").as_str(), "my-repo");
    }
}
