//! Remembers. The log of decisions, the operator's commands, the blobs, the
//! lock of a loop and the readable trail.
//!
//! A record is opaque text here: the driver serialises the core's decisions,
//! and this crate gives them order (compare-and-swap on the last sequence
//! number), durability (an answer means the bytes are flushed) and a hash chain.
//!
//! It deliberately does not fold, decide, run git, read the environment or ask
//! the time, and it never repairs or replaces a database that is not right: it
//! refuses, with the path, the reason and a remedy.
//!
//! Neighbours: `core` for ids and time; `driver` appends and replays; `cli`
//! opens a `Reader` for everything that only shows.
#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "tests start processes and count")
)]

pub mod blob;
pub mod chain;
pub mod commands;
pub mod layout;
pub mod lock;
pub mod log;
mod mount;
mod receipts;
pub mod refusal;
pub mod sqlite;
pub mod trail;
pub mod upcast;

pub use blob::{Blob, BlobError};
pub use commands::{Ask, AskError, Command, Taken};
pub use layout::{StateDir, StateDirError, VaultDir};
pub use lock::{Holder, LockError, LoopLock, holder};
pub use log::{Append, AppendError, Appended, Fault, Head, Log, LoopRow, Record, Take, replay};
pub use refusal::Refusal;
pub use sqlite::{FreshView, OpenError, Reader, Store};
pub use trail::{Growth, Trail, TrailError};
