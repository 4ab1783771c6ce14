//! The operator's commands: one way, whoever owns the loop.

use windlass_core::command::{Command, DoneWords, NextStep};
use windlass_core::id::LoopName;
use windlass_core::outcome::OutcomeKind;
use windlass_core::state::TaskStatus;
use windlass_core::view::{TaskView, View};
use windlass_driver::Interrupts;
use windlass_driver::drive_loop::SiteWorlds;
use windlass_driver::local_world::Unwatched;
use windlass_driver::operate::{self, Answer};

use crate::error::Classify as _;
use crate::{AppError, OpenProject};

/// What came of a command.
#[derive(Debug)]
pub struct CommandReport {
    pub result: CommandResult,
    /// What did not stop it, but is worth telling.
    pub warning: Option<String>,
    /// Whether a process drives the loop.
    pub is_driven: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub enum CommandResult {
    Done(DoneWords),
    /// It is on record; the process that drives the loop has not looked yet.
    Recorded,
    /// The same, and the caller was asked to stop waiting.
    Interrupted,
    Refused {
        why: String,
    },
}

impl OpenProject {
    /// Asks a loop, whether somebody drives it or not.
    pub fn command(
        &self,
        name: &LoopName,
        command: &Command,
        interrupts: Interrupts,
    ) -> Result<CommandReport, AppError> {
        if let Some(view) = self.view(name)? {
            self.refuse_removed(&view)?;
        }
        let command = &self.about_what_waits(name, command)?;
        let store = self.store()?;
        let mut unwatched = Unwatched;
        let mut worlds = SiteWorlds::new(self.site(name), interrupts.clone(), &mut unwatched);
        let answer = operate::operate(&store, name, command.clone(), &mut worlds)
            .map_err(|error| AppError::broken(&error).with_hints(error.hints()))?;
        let owned = store.holder(name).or_broken()?.is_held();
        let refreshed = if owned { Ok(()) } else { self.refresh_trail(name) };
        let result = match answer {
            Answer::Done => {
                let seen = self.view(name)?;
                let is_cancelled = seen.as_ref().is_some_and(is_cancelled);
                let opens = seen.as_ref().and_then(opens_again);
                let unended = seen.filter(|view| view.outcome.is_none());
                match (command, unended) {
                    (Command::Steer { .. }, None) if opens.is_some() => CommandResult::Done(DoneWords {
                        said: format!("the next brief of {name} carries it, but its run has ended."),
                        next: opens,
                    }),
                    (Command::Resume, _) if is_cancelled => {
                        CommandResult::Done(Command::Cancel.done_words(name))
                    }
                    (Command::Cancel, Some(_)) if owned => CommandResult::Done(cancel_goes_on(name)),
                    (Command::Cancel, Some(_)) if interrupts.is_raised() => CommandResult::Interrupted,
                    (Command::Cancel, Some(view)) => CommandResult::Done(cancel_waits(name, &view)),
                    (Command::Resume, _) if owned => CommandResult::Done(goes_on(name)),
                    (command, _) => CommandResult::Done(command.done_words(name)),
                }
            }
            Answer::Recorded => CommandResult::Recorded,
            Answer::Interrupted => CommandResult::Interrupted,
            Answer::Refused { why } => CommandResult::Refused { why },
        };
        Ok(CommandReport { result, warning: refreshed.err().map(|error| error.message), is_driven: owned })
    }
}

/// What is to be tried again of a run that ended short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryChoice {
    Nothing,
    /// The run is opened again, and what is blocked stays so.
    WhatIsOpen,
    BlockedTasks,
}

impl OpenProject {
    /// Opens a run that ended short again, and with it the tasks that are to be tried again. A completed loop,
    /// and one that a person paused, stays as it is.
    pub fn retry_blocked(
        &self,
        name: &LoopName,
        retry: RetryChoice,
        interrupts: Interrupts,
    ) -> Result<(), AppError> {
        let Some(view) = self.view(name)?.filter(|_| retry != RetryChoice::Nothing) else { return Ok(()) };
        let ask = |command: Command| match self.command(name, &command, interrupts.clone())?.result {
            CommandResult::Refused { why } => Err(AppError::refused(why)),
            CommandResult::Done(_) | CommandResult::Recorded | CommandResult::Interrupted => Ok(()),
        };
        retry_commands(&view, retry).into_iter().try_for_each(ask)
    }
}

/// What opens a run that ended short again.
pub(crate) fn retry_commands(view: &View, retry: RetryChoice) -> Vec<Command> {
    let is_blocked = |task: &&TaskView| task.status == TaskStatus::Blocked;
    let blocked = view.tasks.iter().filter(is_blocked).filter(|_| retry == RetryChoice::BlockedTasks);
    let ended_short = view.outcome.as_ref().is_some_and(|outcome| outcome.kind == OutcomeKind::Blocked);
    let opens = (retry != RetryChoice::Nothing && ended_short).then_some(Command::Restart);
    blocked.map(|task| Command::Unblock { task: task.id.clone() }).chain(opens).collect()
}

/// What comes before the next brief of a loop whose run has ended.
fn opens_again(view: &View) -> Option<NextStep> {
    let outcome = view.outcome.as_ref().filter(|_| view.rests())?;
    let is_blocked = view.tasks.iter().any(|task| task.status == TaskStatus::Blocked);
    Some(match outcome.kind == OutcomeKind::Blocked && is_blocked {
        true => NextStep { verb: "run --retry-blocked", when: None },
        false => NextStep { verb: "restart", when: Some("then run it") },
    })
}

/// The process that drives it has waited.
fn goes_on(name: &LoopName) -> DoneWords {
    DoneWords {
        said: format!("{name} goes on; it is still running."),
        next: Some(NextStep { verb: "attach", when: Some("watch it") }),
    }
}

impl OpenProject {
    /// Who approves without naming a tree means the one that waits at this moment.
    fn about_what_waits(&self, name: &LoopName, command: &Command) -> Result<Command, AppError> {
        match command {
            Command::Approve { tree } if tree.as_str().is_empty() => {
                let waits = self.view(name)?.and_then(|view| view.approval);
                Ok(Command::Approve { tree: waits.map_or_else(|| tree.clone(), |asked| asked.tree) })
            }
            Command::Approve { .. }
            | Command::Reject { .. }
            | Command::Pause
            | Command::Resume
            | Command::Cancel
            | Command::Restart
            | Command::Unblock { .. }
            | Command::WaiveTask { .. }
            | Command::WaiveFinding { .. }
            | Command::Steer { .. }
            | Command::Note { .. }
            | Command::Trust
            | Command::Revise(_)
            | Command::Amend(_)
            | Command::AcceptAmendment { .. }
            | Command::RejectAmendment { .. } => Ok(command.clone()),
        }
    }
}

/// Whoever drives it ends what runs first.
fn cancel_goes_on(name: &LoopName) -> DoneWords {
    DoneWords {
        said: format!("{name} is being cancelled; its commits and workspace stay."),
        next: Some(NextStep { verb: "status", when: None }),
    }
}

fn is_cancelled(view: &View) -> bool {
    view.outcome.as_ref().is_some_and(|outcome| outcome.kind == OutcomeKind::Cancelled)
}

/// A cancelled run ends at once, unless what its author left cannot be recorded,
/// or a landing not be found out. Why is told with the commands that lead out.
fn cancel_waits(name: &LoopName, view: &View) -> DoneWords {
    let why = view.paused.as_ref().map(|paused| format!(": {}", paused.detail)).unwrap_or_default();
    DoneWords {
        said: format!("the cancel of {name} is recorded, but it could not end yet{why}."),
        next: Some(NextStep { verb: "status", when: None }),
    }
}
