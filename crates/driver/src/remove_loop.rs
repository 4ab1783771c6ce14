//! Removing a loop: what windlass keeps of it, in an order in which a crash at any
//! point leaves a loop that can be removed again. A mark comes first, and from then
//! on the loop is only to be removed; its record goes last. The mark stays, so that
//! a trail in another worktree is not taken for lost history.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_core::id::{CommitId, LoopName, TaskId};
use windlass_core::state::{State, TaskStatus};
use windlass_core::view::View;
use windlass_process::LeftoversError;
use windlass_store::{
    HistoryError, LeaseError, OpenError, ReadStore, Store, StoreError, Trail, TrailError, VaultDir,
};
use windlass_workspace::{LandError, Repository, check_deletable, delete_branch, holders_of};

pub use windlass_workspace::BranchRemoval;

use crate::clock::Clock;
use crate::drive_loop::{LEFTOVERS_PATIENCE, LoopSite};
use crate::orphaned_data::is_of;
use crate::repositories::{Repositories, RepositoriesError};
use crate::trail::registry;

/// Something that is nowhere but in the loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OnlyHere {
    /// An iteration is open.
    OpenIteration,
    /// The last attempts at this task left a tree that did not land.
    Task(TaskId),
    /// The same of the final phases.
    Whole,
    /// No other ref has what landed.
    Branch(String),
    /// Later loops would come to trust what nobody accepted.
    Terms,
}

#[derive(Debug)]
pub struct RemovedLoop {
    pub branch: BranchRemoval,
    /// Where the branch was, if something had landed.
    pub commit: Option<CommitId>,
}

#[derive(Debug, thiserror::Error)]
pub enum RemovalError {
    #[error("something of it is nowhere else")]
    OnlyHere(Vec<OnlyHere>),
    #[error(transparent)]
    Lease(#[from] LeaseError),
    #[error(transparent)]
    History(#[from] HistoryError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Repositories(#[from] RepositoriesError),
    #[error(transparent)]
    Branch(#[from] LandError),
    #[error(transparent)]
    Leftovers(#[from] LeftoversError),
    #[error(transparent)]
    Trail(#[from] TrailError),
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
}

/// Whether work that is nowhere else may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemovalRule {
    OnlyWhatIsElsewhere,
    Everything,
}

/// Whether a removal of this loop has begun.
pub fn is_being_removed(vault: &VaultDir, view: &View) -> bool {
    vault.removal_mark(&view.name, view.created_at).exists()
}

pub fn remove(
    store: &Arc<dyn Store>,
    site: &LoopSite,
    view: &View,
    rule: RemovalRule,
) -> Result<RemovedLoop, RemovalError> {
    let (name, vault) = (&site.name, &site.vault);
    let _lease = store.lease(name, Clock::new().stamp().at)?;
    let repositories = Repositories::open(&site.surroundings, &site.project, vault)?;
    let full_branch = format!("refs/heads/{}", view.branch);
    if !is_being_removed(vault, view) {
        let only_here = only_here(&**store, view, &repositories.repository)?;
        if rule == RemovalRule::OnlyWhatIsElsewhere && !only_here.is_empty() {
            return Err(RemovalError::OnlyHere(only_here));
        }
        check_deletable(&repositories.repository, &full_branch)?;
        mark(&vault.removal_mark(name, view.created_at))?;
    }
    point("marked");
    windlass_process::end_leftovers(&vault.attempts(name), LEFTOVERS_PATIENCE)?;
    for dir in
        [vault.attempts(name), vault.space(name), vault.checkout(name), vault.homes(name), vault.caches(name)]
    {
        windlass_process::remove_tree(&dir).map_err(|source| RemovalError::File { path: dir, source })?;
        point("directory");
    }
    for what in ["stat", "git", "given", "live", "live-older", "detached.log", "files.json"] {
        remove_file(&vault.cache_file(name, what))?;
    }
    remove_trail(&**store, site)?;
    point("trail");
    remove_snapshots(vault, name)?;
    point("snapshots");
    let branch = match &view.commit {
        Some(commit) => delete_branch(&repositories.repository, &full_branch, commit)?,
        None => BranchRemoval::Absent,
    };
    point("branch");
    windlass_store::remove_records(vault, name)?;
    point("records");
    Ok(RemovedLoop { branch, commit: view.commit.clone() })
}

fn only_here(store: &dyn Store, view: &View, repository: &Repository) -> Result<Vec<OnlyHere>, RemovalError> {
    let mut found = unlanded(&windlass_store::fold(store, &view.name)?);
    if let Some(commit) = &view.commit {
        let branch = format!("refs/heads/{}", view.branch);
        // A commit that is not there any more is in no other branch either.
        let holders = holders_of(repository, &branch, commit).unwrap_or_default();
        found.extend(holders.is_empty().then(|| OnlyHere::Branch(view.branch.clone())));
    }
    let unaccepted = view.terms.as_ref().filter(|terms| !terms.trusted_later);
    found.extend(unaccepted.map(|_| OnlyHere::Terms));
    Ok(found)
}

/// Work on record that did not land, and that nobody gave up on.
fn unlanded(state: &State) -> Vec<OnlyHere> {
    let mut found = Vec::new();
    if state.current.is_some() {
        found.push(OnlyHere::OpenIteration);
    }
    for task in state.tasks.iter() {
        let open = match task.status {
            TaskStatus::Pending | TaskStatus::Active | TaskStatus::Blocked => true,
            TaskStatus::Done | TaskStatus::Waived => false,
        };
        if open && task.work.change.files > 0 {
            found.push(OnlyHere::Task(task.task.id.clone()));
        }
    }
    if state.whole.change.files > 0 && state.whole.tree.as_ref().is_some_and(|tree| *tree != state.head.tree)
    {
        found.push(OnlyHere::Whole);
    }
    found
}

/// Durable when it returns.
fn mark(path: &Path) -> Result<(), RemovalError> {
    let dir = path.parent().unwrap_or(path);
    let made = fs::create_dir_all(dir)
        .and_then(|()| File::create(path)?.sync_all())
        .and_then(|()| File::open(dir)?.sync_all())
        .and_then(|()| dir.parent().map_or(Ok(()), |root| File::open(root)?.sync_all()));
    made.map_err(|source| RemovalError::File { path: path.to_owned(), source })
}

/// One that was written from other records is not ours.
fn remove_trail(store: &dyn ReadStore, site: &LoopSite) -> Result<(), RemovalError> {
    let name = &site.name;
    let trail = site.project.top.join(".windlass/loops").join(name.as_str());
    let aside = site.project.top.join(".windlass/loops").join(format!(".removed-{name}"));
    if is_of(&trail, &site.vault, name) || aside.exists() {
        let names: Vec<LoopName> =
            store.loops()?.into_iter().map(|row| row.name).filter(|of| of != name).collect();
        Trail::remove(&site.project.top, name, registry(&names).as_bytes())?;
    }
    Ok(())
}

/// Snapshots are named by numbers. A base beside them is named by its hash, and
/// may be another loop's as well.
fn remove_snapshots(vault: &VaultDir, name: &LoopName) -> Result<(), RemovalError> {
    let dir = vault.vault_git().join("refs/windlass").join(name.as_str());
    let entries = fs::read_dir(&dir).into_iter().flatten().flatten();
    let is_number = |text: &str| text.len() < 40 && text.bytes().all(|byte| byte.is_ascii_digit());
    for entry in entries.filter(|entry| entry.file_name().to_str().is_some_and(is_number)) {
        remove_file(&entry.path())?;
    }
    // A directory with something else in it stays.
    let _ = fs::remove_dir(&dir);
    Ok(())
}

fn remove_file(path: &Path) -> Result<(), RemovalError> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(RemovalError::File { path: path.to_owned(), source })
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Where a test may end this process; nothing without the `failpoints` feature.
fn point(_name: &str) {
    fail::fail_point!(&format!("remove::{_name}"), |_| -> () { std::process::abort() });
}
