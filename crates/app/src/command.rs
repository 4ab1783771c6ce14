//! The operator's commands: one way, whoever owns the loop.

use windlass_core::command::{Command, DoneWords, NextStep};
use windlass_core::id::LoopName;
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
}

#[derive(Debug, PartialEq, Eq)]
pub enum CommandResult {
    Done(DoneWords),
    /// It is on record; the process that drives the loop has not looked yet.
    Recorded,
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
        let store = self.store()?;
        let mut unwatched = Unwatched;
        let mut worlds = SiteWorlds::new(self.site(name), interrupts, &mut unwatched);
        let answer = operate::operate(&store, name, command.clone(), &mut worlds)
            .map_err(|error| AppError::broken(&error).with_hints(error.hints()))?;
        let owned = store.holder(name).or_broken()?.is_held();
        let refreshed = if owned { Ok(()) } else { self.refresh_trail(name) };
        let result = match answer {
            Answer::Done => {
                let waits = if *command == Command::Cancel { self.cancel_waits(name)? } else { None };
                CommandResult::Done(waits.unwrap_or_else(|| command.done_words(name)))
            }
            Answer::Recorded => CommandResult::Recorded,
            Answer::Refused { why } => CommandResult::Refused { why },
        };
        Ok(CommandReport { result, warning: refreshed.err().map(|error| error.message) })
    }

    /// A cancelled run ends at once, unless what its author left cannot be recorded,
    /// or a landing not be found out. Why is told with the commands that lead out.
    fn cancel_waits(&self, name: &LoopName) -> Result<Option<DoneWords>, AppError> {
        let Some(view) = self.view(name)?.filter(|view| view.outcome.is_none()) else { return Ok(None) };
        let why = view.paused.map(|paused| format!(": {}", paused.detail)).unwrap_or_default();
        let said = format!("the cancel of {name} is recorded, but it could not end yet{why}.");
        Ok(Some(DoneWords { said, next: Some(NextStep { verb: "status", when: None }) }))
    }
}
