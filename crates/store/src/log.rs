//! The log of a loop: decisions in order, appended by compare-and-swap, each
//! durable before `append` returns.

use std::path::PathBuf;

use windlass_core::id::{LoopName, Seq};
use windlass_core::time::Timestamp;

use crate::chain::ChainHash;
use crate::refusal::Refusal;

/// How many records `replay` asks for at a time.
const PAGE: usize = 512;

/// The log as everyone may read it.
pub trait ReadLog: Send + Sync {
    /// Where the loop's log ends; nothing if there is no such loop.
    fn head(&self, name: &LoopName) -> Result<Option<LogHead>, StoreError>;

    /// Every loop, by name.
    fn loops(&self) -> Result<Vec<LoopRow>, StoreError>;

    /// At most `limit` records after `after`, in order, checked as far as the
    /// engine can check them.
    fn read(&self, name: &LoopName, after: Seq, limit: usize) -> Result<Vec<Record>, StoreError>;
}

/// The log as a loop's owner writes it.
pub trait Log: ReadLog {
    /// Stores one record after record `expected`. Durable when it returns, with
    /// every blob that was put before. That another record has come first is
    /// the fence against a second owner.
    fn append(&self, append: Append) -> Result<Appended, AppendError>;
}

/// One record to store.
#[derive(Clone, Debug)]
pub struct Append {
    pub loop_name: LoopName,
    /// The record this one follows; `Seq(0)` creates the loop.
    pub expected: Seq,
    pub at: Timestamp,
    pub body: String,
    /// How many events the body holds.
    pub events: u64,
    /// What the log folds to with it, as JSON: kept for those who only look,
    /// and made anew from the records whenever it is of another fold.
    pub view: String,
    /// The version of the fold that made the View.
    pub fold_version: u32,
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

/// The end of a loop's log, and the View that was kept with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogHead {
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
    pub head: LogHead,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum AppendError {
    /// The fence: someone else appended first.
    #[error("loop {name}: record {expected} is not its last, {found} is: another process has moved it")]
    Conflict { name: LoopName, expected: Seq, found: Seq },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What can go wrong with a store whatever was asked of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
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
pub fn replay<'a, L: ReadLog + ?Sized>(log: &'a L, name: &'a LoopName, after: Seq) -> Replay<'a, L> {
    Replay { log, name, after, page: Vec::new().into_iter(), ended: false }
}

pub struct Replay<'a, L: ReadLog + ?Sized> {
    log: &'a L,
    name: &'a LoopName,
    after: Seq,
    page: std::vec::IntoIter<Record>,
    ended: bool,
}

impl<L: ReadLog + ?Sized> Iterator for Replay<'_, L> {
    type Item = Result<Record, StoreError>;

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
