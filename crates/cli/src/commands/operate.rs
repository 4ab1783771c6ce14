//! The operator's commands: one shape, whoever owns the loop.

use windlass_app::OpenProject;
use windlass_core::id::{FindingId, LoopName, TaskId};
use windlass_core::input::Command;
use windlass_driver::drive_loop::SiteWorlds;
use windlass_driver::machine::Unwatched;
use windlass_driver::operate::{self, Answer};

use crate::args::{ExactLoopArgs, TaskArgs, TextArgs, WaiveArgs};
use crate::exit::Exit;
use crate::failure::{Failure, OrFail};
use crate::place::Locations;
use crate::show::json;
use crate::show::out::{complain, say};
use crate::signals;

pub fn pause(locations: &Locations, named: &ExactLoopArgs) -> Result<Exit, Failure> {
    ask(locations, named.into(), Command::Pause, |name| {
        format!("{name} is paused; what runs now finishes first.\nnext: windlass resume {name}")
    })
}

pub fn resume(locations: &Locations, named: &ExactLoopArgs) -> Result<Exit, Failure> {
    ask(locations, named.into(), Command::Resume, |name| {
        format!("{name} may go on.\nnext: windlass run {name}   (unless it is running)")
    })
}

pub fn cancel(locations: &Locations, named: &ExactLoopArgs) -> Result<Exit, Failure> {
    ask(locations, named.into(), Command::Cancel, |name| {
        format!("{name} is cancelled; its commits and workspace stay.\nnext: windlass status {name}")
    })
}

pub fn restart(locations: &Locations, named: &ExactLoopArgs) -> Result<Exit, Failure> {
    ask(locations, named.into(), Command::Restart, |name| {
        format!("a new run of {name} is open.\nnext: windlass run {name}")
    })
}

pub fn unblock(locations: &Locations, asked: &TaskArgs) -> Result<Exit, Failure> {
    let (name, task) = split(&asked.words);
    let task = TaskId::new(task);
    let said = task.clone();
    ask(locations, CommandTarget { name, json: asked.json }, Command::Unblock { task }, move |name| {
        format!(
            "task {said} of {name} may be tried again.\nnext: windlass restart {name}   (if the run has ended)"
        )
    })
}

/// `F` and a number is a finding; anything else a task.
pub fn waive(locations: &Locations, asked: &WaiveArgs) -> Result<Exit, Failure> {
    let (name, what) = split(&asked.words);
    let is_finding =
        what.strip_prefix('F').is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
    let why = asked.why.clone();
    let command = if is_finding {
        Command::WaiveFinding { finding: FindingId::new(&what), why }
    } else {
        Command::WaiveTask { task: TaskId::new(&what), why }
    };
    ask(locations, CommandTarget { name, json: asked.json }, command, move |name| {
        format!("{what} of {name} is waived, on the record.")
    })
}

pub fn steer(locations: &Locations, asked: &TextArgs) -> Result<Exit, Failure> {
    let (name, text) = split(&asked.words);
    ask(locations, CommandTarget { name, json: asked.json }, Command::Steer { text }, |name| {
        format!("the next brief of {name} carries it.")
    })
}

pub fn note(locations: &Locations, asked: &TextArgs) -> Result<Exit, Failure> {
    let (name, text) = split(&asked.words);
    ask(locations, CommandTarget { name, json: asked.json }, Command::Note { text }, |name| {
        format!("noted in {name}.")
    })
}

struct CommandTarget {
    name: Option<String>,
    json: bool,
}

impl From<&ExactLoopArgs> for CommandTarget {
    fn from(named: &ExactLoopArgs) -> Self {
        Self { name: named.name.clone(), json: named.json }
    }
}

fn ask(
    locations: &Locations,
    target: CommandTarget,
    command: Command,
    done: impl Fn(&LoopName) -> String,
) -> Result<Exit, Failure> {
    let place = locations.open_project()?;
    let name = place.exact(target.name.as_deref())?.name;
    let store = place.store()?;
    let mut unwatched = Unwatched;
    let mut worlds = SiteWorlds::new(place.site(&name), signals::interrupts()?, &mut unwatched);
    let answer = operate::operate(&store, &name, command.clone(), &mut worlds)
        .map_err(|error| Failure { hints: error.hints(), ..Failure::error(error) })?;
    let owned = store.holder(&name).or_error()?.is_held();
    drop(store);
    if !owned {
        place.refresh_trail(&name).unwrap_or_else(|error| complain!("windlass: {error}"));
    }
    let (said, refused) = match &answer {
        Answer::Done if command == Command::Cancel && !has_ended(&place, &name)? => (
            format!(
                "the cancel of {name} is recorded, but it could not end yet.\nnext: windlass status {name}"
            ),
            None,
        ),
        Answer::Done => (done(&name), None),
        Answer::Recorded => (format!("recorded; the process that drives {name} will take it."), None),
        Answer::Refused { why } => (String::new(), Some(why.clone())),
    };
    if target.json {
        let taken = answer != Answer::Recorded;
        json::print(&serde_json::json!({
            "loop": name, "command": command.name(), "done": refused.is_none(), "taken": taken, "refused": refused,
        }));
    }
    match refused {
        Some(why) => Err(Failure::usage(format!("{} {name}: {why}", command.name()))),
        None => {
            if !target.json {
                say!("{said}");
            }
            Ok(Exit::Done)
        }
    }
}

/// A cancelled run ends at once, unless what its author left cannot be recorded.
fn has_ended(place: &OpenProject, name: &LoopName) -> Result<bool, Failure> {
    Ok(place.view(name)?.is_some_and(|view| view.outcome.is_some()))
}

/// The last word is what the command is about; one before it names the loop.
fn split(words: &[String]) -> (Option<String>, String) {
    match words {
        [name, rest, ..] => (Some(name.clone()), rest.clone()),
        [rest] => (None, rest.clone()),
        [] => (None, String::new()),
    }
}
