//! Remembers. Behind the traits of this crate are the log of decisions, the
//! operator's inbox, the blobs, the lease of a loop, and a way to be woken when
//! something came. The trail's files and every path of the state directory are
//! here too.
//!
//! A record is the only truth: what was taken from the inbox, the View and
//! everything else follows from it, and what it names as blobs is stored before
//! it. So an append is one message to whatever engine stands behind the traits.
//! There are two: SQLite, and one in memory for the simulator. Both pass
//! `tests/conformance`.
//!
//! It deliberately does not decide, run git, read the environment or ask the
//! time, and it never repairs or replaces a database that is not right: it
//! refuses, with the path, the reason and a remedy.
//!
//! Neighbours: `core` for decisions, ids and time; `driver` appends; everyone
//! who only shows opens the read side.
#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "tests start processes and count")
)]

pub mod blobs;
pub mod chain;
pub mod follow;
pub mod history;
pub mod inbox;
pub mod layout;
pub mod lease;
pub mod log;
pub mod memory;
mod mount;
pub mod refusal;
mod sqlite;
pub mod trail;
pub mod upcast;

pub use blobs::{BlobError, Blobs, ReadBlobs};
pub use follow::{Follow, Followed, Subscription, Wake};
pub use history::{HistoryError, decisions, fold, fold_with, history, view};
pub use inbox::{Inbox, NewCommand, SendError, SentCommand, UnreadableCommand};
pub use layout::{StateDir, StateDirError, VaultDir};
pub use lease::{Holder, Lease, LeaseError, LeaseOwner, Leases, ReadLeases};
pub use log::{Append, AppendError, Appended, Log, LogHead, LoopRow, ReadLog, Record, StoreError, replay};
pub use memory::MemoryStore;
pub use refusal::Refusal;
pub use sqlite::{OpenError, check, open, open_read, remove_records};
pub use trail::{Growth, NewTrailFile, Trail, TrailError};

/// Everything a surface that only shows needs of a vault.
pub trait ReadStore: ReadLog + ReadBlobs + ReadLeases + Follow {}

/// Everything whoever owns or commands a loop needs of a vault.
pub trait Store: ReadStore + Log + Blobs + Inbox + Leases {}

impl<T: ReadLog + ReadBlobs + ReadLeases + Follow> ReadStore for T {}
impl<T: ReadStore + Log + Blobs + Inbox + Leases> Store for T {}
