//! What operators ask of a loop: a durable list, in order. A command is never
//! changed and never removed; that it was taken, and with what answer, is a
//! matter of the loop's log alone.

use windlass_core::command::Command;
use windlass_core::id::{CommandId, LoopName};
use windlass_core::time::Timestamp;

use crate::log::StoreError;

pub trait Inbox: Send + Sync {
    /// Stores a command. It survives any crash once this returns. Ids grow in
    /// the order in which commands became durable.
    fn send(&self, command: NewCommand) -> Result<CommandId, SendError>;

    /// The commands of a loop after `after`, in order.
    fn sent(&self, name: &LoopName, after: CommandId) -> Result<Vec<SentCommand>, StoreError>;
}

/// A command to store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewCommand {
    pub loop_name: LoopName,
    pub at: Timestamp,
    pub command: Command,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentCommand {
    pub id: CommandId,
    pub at: Timestamp,
    pub command: Result<Command, UnreadableCommand>,
}

/// A stored command that this program does not know: another version sent it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this windlass cannot read it, another version sent it: {reason}")]
pub struct UnreadableCommand {
    pub reason: String,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    #[error("there is no loop {name}")]
    NoSuchLoop { name: LoopName },
    #[error(transparent)]
    Store(#[from] StoreError),
}
