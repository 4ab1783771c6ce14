//! Git and files: the only place that runs git, and that writes the vault's
//! repository, the authors' workspaces and the gate's checkouts.
//!
//! - [`Git`]: the git program, found and checked once.
//! - [`Repository`]: the operator's project, read only.
//! - [`Vault`]: vault.git; imports, refs, diffs, merges, grafts, upkeep.
//! - [`Space`]: an author's workspace; create, repair, snapshot, reset.
//! - [`Checkout`]: the gate's clean tree.
//! - [`land`], [`take`]: the two ways anything reaches the operator's
//!   repository.
//!
//! An agent's git is hostile, so git is never run in a directory an agent
//! could write: a snapshot is a walk of files in Rust. Paths are bytes.
//!
//! It does not know the store, the gate, agents or the core's state; it keeps
//! no clock and reads no environment. Blocking code throughout.
#![allow(clippy::disallowed_types, reason = "looked up, never iterated where order shows")]

mod attributes;
mod base;
mod branch;
mod cache;
mod checkout;
mod commit;
mod contents;
mod crew;
mod dir;
mod evidence;
mod excludes;
mod fault;
mod git;
mod gitdir;
mod id;
mod land;
mod line_counts;
mod loose;
mod materialise;
mod merge;
mod model;
mod objects;
mod pack;
mod place;
mod remove;
mod repository;
mod seal;
mod sink;
mod snapshot;
mod space;
mod take;
mod trees;
mod vault;
mod verify;
mod walk;

pub use gix_hash::ObjectId;
pub use gix_object::bstr::BString;

pub use branch::{BranchRemoval, check_deletable, delete_branch, holders_of};
pub use checkout::{Brought, Checkout, CheckoutError};
pub use commit::CommitText;
pub use contents::{DiffText, PlainFile, TreePlace};
pub use evidence::WorkspaceEvidence;
pub use fault::FileFault;
pub use git::{Git, GitError, OperatorEnv};
pub use id::BadId;
pub use land::{LandError, LandRequest, Landed, land};
pub use line_counts::{ChangedLines, LineCounts};
pub use merge::TreeMerge;
pub use objects::ObjectError;
pub use repository::{
    DiscoverError, Identity, IdentitySource, Repository, make_first_commit, make_repository,
};
pub use snapshot::{SnapshotRequest, StoredSnapshot};
pub use space::{Ensured, ReadFiles, Since, SnapshotRules, Space, SpaceError};
pub use take::{FilterRule, FilterUse, NotTaken, TakeResult, count_commits, is_tracked, take};
pub use trees::{ChangeKind, Item, ItemKind, TreeChange};
pub use vault::{Depth, Vault, VaultError};
pub use walk::{SnapshotLimits, WalkError};
