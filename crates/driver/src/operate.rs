//! The operator's commands: written down first, then taken by whoever owns the
//! loop. Where no owner lives, they are taken here, under the loop's lease.

use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use windlass_core::command::Command;
use windlass_core::event::CommandAnswer;
use windlass_core::id::{CommandId, LoopName, Seq};
use windlass_store::{
    Followed, HistoryError, LeaseError, NewCommand, SendError, Store, StoreError, decisions,
};

use crate::clock;
use crate::drive::Drive;
use crate::drive_loop::DriveLoopError;
use crate::journal::{Journal, JournalError};
use crate::world::Worlds;

/// How long an owner may take to answer before the asker stops waiting. The
/// command is durable either way.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often it is looked whether the owner is still there.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Done,
    Refused {
        why: String,
    },
    /// Written down; the owner has not looked yet.
    Recorded,
    /// The same, and the asker was told to stop waiting.
    Interrupted,
}

#[derive(Debug, thiserror::Error)]
pub enum OperateError {
    #[error(transparent)]
    Send(#[from] SendError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    History(#[from] HistoryError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Lease(LeaseError),
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

pub fn operate(
    store: &Arc<dyn Store>,
    name: &LoopName,
    command: Command,
    worlds: &mut dyn Worlds,
) -> Result<Answer, OperateError> {
    let mut seen = store.head(name)?.map_or(Seq(0), |head| head.seq);
    let (wake, woken) = sync_channel(1);
    let wake = Arc::new(move || {
        let _ = wake.try_send(());
    });
    let _following = store.follow(name, Followed::Records, wake)?;
    let id = store.send(NewCommand { loop_name: name.clone(), at: worlds.stamp().at, command })?;
    tracing::debug!(%name, command = id.0, "command sent");
    let deadline = clock::now() + PATIENCE;
    loop {
        // To ask for a lease that is held takes its time; an owner's answer wakes.
        if !store.holder(name)?.is_held() {
            match store.lease(name, worlds.stamp().at) {
                Ok(_lease) => take_all(store, name, worlds)?,
                Err(LeaseError::Held { .. }) => {}
                Err(error) => return Err(OperateError::Lease(error)),
            }
        }
        if let Some(answer) = answer(&**store, name, &mut seen, id)? {
            return Ok(answer);
        }
        if worlds.is_interrupted() {
            return Ok(Answer::Interrupted);
        }
        if clock::now() >= deadline {
            return Ok(Answer::Recorded);
        }
        let _ = woken.recv_timeout(LOOK_AGAIN);
    }
}

/// What the records after `seen` answer to a command.
fn answer(
    store: &dyn Store,
    name: &LoopName,
    seen: &mut Seq,
    command: CommandId,
) -> Result<Option<Answer>, HistoryError> {
    for read in decisions(store, name, *seen) {
        let (record, decision) = read?;
        *seen = record.seq;
        match decision.answer_to(command) {
            Some(CommandAnswer::Done) => return Ok(Some(Answer::Done)),
            Some(CommandAnswer::Refused { why }) => return Ok(Some(Answer::Refused { why })),
            None => {}
        }
    }
    Ok(None)
}

/// Takes every command that waits. The caller holds the loop's lease.
fn take_all(store: &Arc<dyn Store>, name: &LoopName, worlds: &mut dyn Worlds) -> Result<(), OperateError> {
    let mut journal = Journal::open(Arc::clone(store), name)?;
    for command in journal.waiting_commands()? {
        journal.take(worlds.stamp(), None, command)?;
    }
    if !journal.state().cancelling {
        return Ok(());
    }
    let failed = |error: DriveLoopError| OperateError::WindDown(Box::new(error));
    let mut world = worlds.open(store, journal.state()).map_err(failed)?;
    Drive::new(journal, world.as_mut()).wind_down().map_err(|error| failed(error.into()))
}

#[cfg(test)]
mod tests;
