//! The operator's commands: what was typed becomes a command, its answer words.

use windlass_app::{CommandResult, OpenProject};
use windlass_core::command::{ArgumentKind, Command, DoneWords};
use windlass_core::id::LoopName;
use windlass_core::outcome::OutcomeKind;
use windlass_core::view::View;

use super::status;
use crate::exit::Exit;
use crate::failure::{Failure, OrFail};
use crate::operator::OperatorArgs;
use crate::place::Locations;
use crate::show::out::{complain, say};
use crate::show::{json, view};
use crate::signals;

pub fn operate(locations: &Locations, asked: &OperatorArgs) -> Result<Exit, Failure> {
    let command = Command::from_arguments(&asked.command, &asked.arguments).or_usage()?;
    let place = locations.open_project()?;
    let name = place.exact(asked.loop_name.as_deref())?.name;
    if asked.loop_name.is_none() && is_text(asked, name.as_str()) {
        let why = format!("{} {name}: the text is missing", command.name());
        return Err(Failure::usage(why).hint(format!("windlass {} {name} \"…\"", command.name())));
    }
    if matches!(command, Command::Cancel) && ends_wait(&place, &name, asked)? {
        return Ok(Exit::Done);
    }
    let report = place.command(&name, &command, signals::interrupts()?)?;
    if let Some(warning) = &report.warning {
        complain!("windlass: {warning}");
    }
    let refused = match &report.result {
        CommandResult::Refused { why } => Some(why),
        CommandResult::Done(_) | CommandResult::Recorded | CommandResult::Interrupted => None,
    };
    if asked.json {
        let taken = !matches!(report.result, CommandResult::Recorded | CommandResult::Interrupted);
        json::print(&serde_json::json!({
            "loop": name, "command": command.name(), "done": refused.is_none(), "taken": taken, "refused": refused,
        }));
    }
    match report.result {
        CommandResult::Refused { why } => {
            let refused = Failure::usage(format!("{} {name}: {why}", command.name()));
            // What has ended cannot be cancelled; what came of it is to be seen.
            let is_cancel = matches!(command, Command::Cancel);
            let waits = place.plan_wait(&name).is_some() && matches!(command, Command::Pause);
            return Err(match (is_cancel, waits) {
                (true, _) => refused.hint(format!("windlass status {name}")),
                (false, true) => refused.hint(format!(
                    "it waits for changes of its plan: windlass cancel {name} ends that, and what it did stays"
                )),
                (false, false) => match place.view(&name)?.and_then(|view| leads_on(&place, &view, &command)) {
                    Some(hint) => refused.hint(hint),
                    None => refused,
                },
            });
        }
        CommandResult::Interrupted if asked.json => return Ok(Exit::Interrupted),
        CommandResult::Interrupted => {
            say!(
                "interrupted; the {} of {name} is recorded, and is taken by whoever drives it.",
                command.name()
            );
            return Ok(Exit::Interrupted);
        }
        CommandResult::Done(_) | CommandResult::Recorded if asked.json => {}
        CommandResult::Done(_) if !report.is_driven && leads_elsewhere(&command) => {
            say!("{}", done_at_rest(&place, &name, &command)?);
        }
        CommandResult::Done(words) => say!("{}", done(&words, &name)),
        CommandResult::Recorded => say!("recorded; the process that drives {name} will take it."),
    }
    Ok(Exit::Done)
}

/// How the loop stands that refused, and what to type instead. The other commands say it themselves.
fn leads_on(place: &OpenProject, view: &View, command: &Command) -> Option<String> {
    let name = &view.name;
    let subject = match command {
        Command::Resume | Command::Approve { .. } | Command::Reject { .. } => String::new(),
        Command::Unblock { task } => {
            let found = view.tasks.iter().find(|known| known.id == *task)?;
            format!("task {task} is {}; ", view::status_word(found.status))
        }
        Command::Pause
        | Command::Cancel
        | Command::Restart
        | Command::WaiveTask { .. }
        | Command::WaiveFinding { .. }
        | Command::Steer { .. }
        | Command::Note { .. }
        | Command::Trust
        | Command::Revise(_)
        | Command::Amend(_)
        | Command::AcceptAmendment { .. }
        | Command::RejectAmendment { .. } => return None,
    };
    let next = status::next(place, view);
    let next = next.lines().next().unwrap_or_default();
    let is_limit = view.outcome.as_ref().is_some_and(|outcome| outcome.kind == OutcomeKind::Limit);
    let at = if is_limit { "at a " } else { "" };
    Some(format!("{subject}{name} is {at}{}; {next}", view::outcome_words(view)))
}

/// Of a completed loop that waits for changes of its plan, the wait is all that can be cancelled.
fn ends_wait(place: &OpenProject, name: &LoopName, asked: &OperatorArgs) -> Result<bool, Failure> {
    if !place.end_plan_wait(name)? {
        return Ok(false);
    }
    let view = place.view(name)?;
    let outcome = view.and_then(|view| view.outcome).map(|outcome| outcome.kind);
    let is_all = outcome == Some(OutcomeKind::Completed);
    if is_all && asked.json {
        json::print(&serde_json::json!({
            "loop": name, "command": "cancel", "done": true, "taken": true, "refused": null,
        }));
    } else if !asked.json {
        say!("{name} does not wait for its plan any more; what it did stays.");
    }
    Ok(is_all)
}

/// Whether this is all that was said, where a sentence is due.
fn is_text(asked: &OperatorArgs, word: &str) -> bool {
    let spec = Command::SPECS.iter().find(|spec| spec.name == asked.command);
    let first = spec.and_then(|spec| spec.arguments.first());
    let text = first.filter(|first| first.kind == ArgumentKind::Text);
    text.is_some_and(|text| asked.arguments.get(text.name).is_some_and(|said| said == word))
}

/// Whether what leads on after it depends on how a loop stands that nobody drives.
fn leads_elsewhere(command: &Command) -> bool {
    matches!(command, Command::Pause | Command::WaiveTask { .. } | Command::WaiveFinding { .. })
}

fn done_at_rest(place: &OpenProject, name: &LoopName, command: &Command) -> Result<String, Failure> {
    let said = match matches!(command, Command::Pause) {
        true => format!("{name} is paused; nothing runs."),
        false => command.done_words(name).said,
    };
    let next = place.view(name)?.map(|view| status::next(place, &view)).unwrap_or_default();
    Ok(view::ending_with(&said, &next).trim_end().to_owned())
}

fn done(words: &DoneWords, name: &LoopName) -> String {
    let next = words.next.map(|next| {
        let when = next.when.map(|when| format!("   ({when})")).unwrap_or_default();
        format!("\nnext: windlass {} {name}{when}", next.verb)
    });
    format!("{}{}", words.said, next.unwrap_or_default())
}
