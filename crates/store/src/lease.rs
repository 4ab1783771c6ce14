//! Who drives a loop. A lease keeps a second driver out as long as its holder
//! lives; the fence that holds even without it is the log's compare-and-swap.

use std::io;
use std::path::PathBuf;

use windlass_core::id::LoopName;
use windlass_core::time::Timestamp;

use crate::log::StoreError;

pub trait ReadLeases: Send + Sync {
    fn holder(&self, name: &LoopName) -> Result<Holder, StoreError>;
}

pub trait Leases: ReadLeases {
    /// Takes the lease of a loop. `now` is kept for messages.
    fn lease(&self, name: &LoopName, now: Timestamp) -> Result<Box<dyn Lease>, LeaseError>;
}

/// Held as long as this value lives.
pub trait Lease: Send {}

/// Who holds a lease, for messages only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseOwner {
    pub pid: u32,
    pub since: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    Nobody,
    /// Its owner, unless it was caught before it had said who it is.
    Somebody(Option<LeaseOwner>),
}

impl Holder {
    pub fn is_held(&self) -> bool {
        match self {
            Self::Nobody => false,
            Self::Somebody(_) => true,
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum LeaseError {
    #[error("loop {name} is driven by {}", describe(owner.as_ref(), *now))]
    Held { name: LoopName, owner: Option<LeaseOwner>, now: Timestamp },
    #[error("{}: cannot be locked: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

fn describe(owner: Option<&LeaseOwner>, now: Timestamp) -> String {
    match owner {
        Some(LeaseOwner { pid, since }) => format!("process {pid}, for {} now", now.since(*since)),
        None => "another process".to_owned(),
    }
}
