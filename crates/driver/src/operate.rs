//! The operator's commands: written down first, then taken by whoever owns the
//! loop. Where no owner lives, they are taken here, under the loop's lock.

use std::time::Duration;

use windlass_core::id::CommandId;
use windlass_core::input::{Command, Input, Stamped};
use windlass_process::LeftoversError;
use windlass_store::{Ask, AskError, Fault, LockError, Log, LoopLock, Store};

use crate::clock::{self, Clock};
use crate::drive_loop::{self, DriveLoopError, LoopSite};
use crate::journal::{Journal, JournalError};

/// How long an owner may take to answer before the asker stops waiting. The
/// command is durable either way.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(20);

/// How long what an old attempt left may take to die.
pub const LEFTOVERS_PATIENCE: Duration = Duration::from_secs(10);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Done,
    Refused {
        why: String,
    },
    /// Written down; the owner has not looked yet.
    Recorded,
}

#[derive(Debug, thiserror::Error)]
pub enum OperateError {
    #[error(transparent)]
    Ask(#[from] AskError),
    #[error(transparent)]
    Store(#[from] Fault),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Lock(LockError),
    #[error(transparent)]
    Leftovers(#[from] LeftoversError),
    #[error("command {id} cannot be read: {why}")]
    Unreadable { id: CommandId, why: String },
    #[error("the cancel is recorded, but what the loop's last driver left is not: {0}")]
    WindDown(Box<DriveLoopError>),
}

impl OperateError {
    pub fn hints(&self) -> Vec<String> {
        if let Self::WindDown(error) = self {
            let mut hints = error.hints();
            hints.push("`windlass cancel` tries again once that is mended".to_owned());
            return hints;
        }
        Vec::new()
    }
}

pub fn operate(store: &mut Store, site: &LoopSite, command: &Command) -> Result<Answer, OperateError> {
    let name = &site.name;
    let body = serde_json::to_string(command).expect("a command is plain data");
    let id = store.ask(Ask { loop_name: name.clone(), at: clock::wall(), body })?;
    let deadline = clock::now() + PATIENCE;
    loop {
        match LoopLock::take(&site.vault.loop_lock(name), clock::wall()) {
            Ok(_lock) => take_all(store, site)?,
            Err(LockError::Held { .. }) => {}
            Err(error) => return Err(OperateError::Lock(error)),
        }
        let taken = store.command(id)?.and_then(|row| row.taken);
        if let Some(taken) = taken {
            return Ok(taken.answer.map_or(Answer::Done, |why| Answer::Refused { why }));
        }
        if clock::now() >= deadline {
            return Ok(Answer::Recorded);
        }
        std::thread::sleep(PAUSE);
    }
}

/// Takes every command that waits. The caller holds the loop's lock.
fn take_all(store: &mut Store, site: &LoopSite) -> Result<(), OperateError> {
    let waiting = store.untaken(&site.name, CommandId(0))?;
    let mut clock = Clock::new();
    let mut journal = Journal::open(store, &site.name)?;
    for row in waiting {
        let command = serde_json::from_str(&row.body)
            .map_err(|error| OperateError::Unreadable { id: row.id, why: error.to_string() })?;
        step(&mut journal, &mut clock, Input::Commanded { id: row.id, command })?;
    }
    if journal.state().cancelling {
        windlass_process::end_leftovers(&site.vault.attempts(&site.name), LEFTOVERS_PATIENCE)?;
        drive_loop::wind_down(store, site).map_err(|error| OperateError::WindDown(Box::new(error)))?;
    }
    Ok(())
}

fn step(journal: &mut Journal<'_>, clock: &mut Clock, what: Input) -> Result<(), JournalError> {
    let stamp = clock.stamp();
    let input = Stamped { at: stamp.at, elapsed: stamp.elapsed, fresh: stamp.fresh, closes: None, what };
    journal.take(&input, Vec::new()).map(|_| ())
}
