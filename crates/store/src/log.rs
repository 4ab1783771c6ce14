//! The log of a loop, as the driver sees it: decisions in order, appended by
//! compare-and-swap, each durable before `append` returns.

use std::path::PathBuf;

use windlass_core::id::{CommandId, LoopName, Seq};
use windlass_core::time::Timestamp;

use crate::blob::Blob;
use crate::chain::ChainHash;
use crate::commands::Command;
use crate::refusal::Refusal;

/// How many records `replay` asks for at a time.
const PAGE: usize = 512;

/// A loop's history and its inbox. The simulator has its own.
pub trait Log: Send {
    /// Stores one record after record `expected`. Durable when it returns.
    fn append(&mut self, append: Append) -> Result<Appended, AppendError>;

    /// Where the loop's log stands; nothing if there is no such loop.
    fn head(&self, name: &LoopName) -> Result<Option<Head>, Fault>;

    /// At most `limit` records after `after`, in order, the hash chain checked.
    fn read(&self, name: &LoopName, after: Seq, limit: usize) -> Result<Vec<Record>, Fault>;

    /// The commands asked after `after` that no record has taken, in order.
    fn untaken(&self, name: &LoopName, after: CommandId) -> Result<Vec<Command>, Fault>;
}

/// One record to store, and what becomes true with it in the same transaction.
#[derive(Clone, Debug)]
pub struct Append {
    pub loop_name: LoopName,
    /// The record this one follows; `Seq(0)` creates the loop.
    pub expected: Seq,
    pub at: Timestamp,
    pub body: String,
    /// How many events the body holds.
    pub events: u64,
    /// The loop's View after this record, as JSON.
    pub view: String,
    /// The version of the fold that made the View.
    pub fold_version: u32,
    pub takes: Option<Take>,
    pub blobs: Vec<Blob>,
}

/// The command a record takes, and what its asker is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Take {
    pub command: CommandId,
    /// Why it was refused, if it was.
    pub answer: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    pub seq: Seq,
    pub hash: ChainHash,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub seq: Seq,
    pub at: Timestamp,
    /// The number of this record's first event in its loop, from 1.
    pub first_event: u64,
    pub events: u64,
    pub body: String,
    pub hash: ChainHash,
}

/// The end of a loop's log, and the View that belongs to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    pub seq: Seq,
    pub hash: ChainHash,
    pub events: u64,
    pub view: String,
    pub fold_version: u32,
}

/// One line of the list of loops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopRow {
    pub name: LoopName,
    pub created_at: Timestamp,
    pub head: Head,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum AppendError {
    /// The fence: someone else appended first.
    #[error("loop {name}: record {expected} is not its last, {found} is: another process has moved it")]
    Conflict { name: LoopName, expected: Seq, found: Seq },
    #[error("command {command} was already taken by record {by}")]
    AlreadyTaken { command: CommandId, by: Seq },
    #[error("loop {name} was not asked command {command}")]
    NoSuchCommand { name: LoopName, command: CommandId },
    #[error(transparent)]
    Store(#[from] Fault),
}

/// What can go wrong with the database whatever was asked of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Nothing of the request is stored, and nothing stored before is lost.
    #[error("{}: no space left on the disk", path.display())]
    Full { path: PathBuf },
    #[error("{}: another process has kept the database locked for {waited_s} s", path.display())]
    Busy { path: PathBuf, waited_s: u64 },
    #[error("{0}")]
    Corrupt(Refusal),
    #[error("{0}")]
    Newer(Refusal),
    #[error("{}: {reason}", path.display())]
    Failed { path: PathBuf, reason: String },
    #[error("{}: the writer has stopped", path.display())]
    Stopped { path: PathBuf },
}

/// Reads a loop's records after `after` to the end, page by page.
pub fn replay<'a, L: Log + ?Sized>(log: &'a L, name: &'a LoopName, after: Seq) -> Replay<'a, L> {
    Replay { log, name, after, page: Vec::new().into_iter(), ended: false }
}

pub struct Replay<'a, L: Log + ?Sized> {
    log: &'a L,
    name: &'a LoopName,
    after: Seq,
    page: std::vec::IntoIter<Record>,
    ended: bool,
}

impl<L: Log + ?Sized> Iterator for Replay<'_, L> {
    type Item = Result<Record, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.page.as_slice().is_empty() && !self.ended {
            match self.log.read(self.name, self.after, PAGE) {
                Ok(page) => {
                    self.ended = page.len() < PAGE;
                    self.page = page.into_iter();
                }
                Err(fault) => {
                    self.ended = true;
                    return Some(Err(fault));
                }
            }
        }
        let record = self.page.next()?;
        self.after = record.seq;
        Some(Ok(record))
    }
}
