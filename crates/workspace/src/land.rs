//! Landing: accepted work becomes a branch of the operator's repository. New
//! objects are written into its object store, then one ref moves by
//! compare-and-swap. Nothing else there changes.

use std::fs;
use std::path::{Path, PathBuf};

use gix_hash::ObjectId;
use gix_object::tree::EntryKind;
use windlass_core::id::CommitId;
use windlass_core::plain::shell_word;

use crate::fault::{FileFault, abort_point};
use crate::git::GitError;
use crate::id::{BadId, commit_id, commit_oid, parse};
use crate::loose;
use crate::objects::{ObjectError, ObjectStore, Reader};
use crate::pack::{NewObject, PackWriter, Packer};
use crate::repository::{Identity, Repository};
use crate::vault::Vault;

/// From this many objects on one pack is written instead of loose files.
const MANY_OBJECTS: usize = 100;

pub struct LandRequest<'a> {
    /// The full name: `refs/heads/windlass/<loop>`.
    pub branch: &'a str,
    pub commit: &'a CommitId,
    /// Where the branch must be now; `None` when it must not exist.
    pub expected: Option<&'a CommitId>,
    pub reflog: &'a str,
    pub identity: &'a Identity,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Landed {
    Moved,
    /// The branch was at the commit already.
    Already,
}

#[derive(Debug, thiserror::Error)]
pub enum LandError {
    #[error("{branch:?} is not a branch name under refs/heads/")]
    BadBranch { branch: String },
    #[error(
        "{branch} is checked out in {worktree}; switch that checkout to another branch first, or let go of the \
         branch with `git -C {} switch --detach`",
        shell_word(&.worktree.to_string_lossy())
    )]
    CheckedOut { branch: String, worktree: PathBuf },
    #[error("{}; {}", not_as_expected(.branch, .expected, .found), way_back(.branch, .expected, .found))]
    Moved { branch: String, expected: Option<CommitId>, found: Option<CommitId> },
    #[error(
        "{branch} cannot be made because {existing} exists; rename or delete that branch first: `git branch -m \
         {} OTHER-NAME`",
        short(.existing)
    )]
    NameConflict { branch: String, existing: String },
    #[error(
        "{branch} is locked by {lock}; if no git command is at work there, one that was killed left it: `rm {}`",
        shell_word(&.lock.to_string_lossy())
    )]
    Locked { branch: String, lock: PathBuf },
    #[error("{repository} no longer has commit {commit}, which the work stands on")]
    BaseGone { repository: PathBuf, commit: CommitId },
    #[error(transparent)]
    Id(#[from] BadId),
    #[error(transparent)]
    Object(#[from] ObjectError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    File(#[from] FileFault),
}

pub fn land(to: &Repository, vault: &Vault, request: &LandRequest<'_>) -> Result<Landed, LandError> {
    let valid = request.branch.starts_with("refs/heads/")
        && gix_validate::reference::name(request.branch.as_bytes().into()).is_ok();
    if !valid {
        return Err(LandError::BadBranch { branch: request.branch.to_owned() });
    }
    if let Some(worktree) = checked_out(to, request.branch)? {
        return Err(LandError::CheckedOut { branch: request.branch.to_owned(), worktree });
    }
    let objects_dir = to.common_dir.join("objects");
    let theirs = ObjectStore::open(&objects_dir)?;
    let mut transfer = Transfer { ours: vault.reader(), theirs: theirs.reader(), missing: Vec::new() };
    transfer.history(to, commit_oid(request.commit)?)?;
    write_objects(&objects_dir, &mut transfer)?;
    abort_point("workspace::before_ref");
    let moved = move_ref(to, request);
    abort_point("workspace::after_ref");
    match moved {
        Ok(()) => Ok(Landed::Moved),
        Err(error) => explain(to, request, error),
    }
}

/// From where it must be, or from nowhere.
fn move_ref(to: &Repository, request: &LandRequest<'_>) -> Result<(), GitError> {
    let old = request.expected.map_or_else(|| "0".repeat(40), |commit| commit.to_string());
    let update = format!("update {}\0{}\0{old}\0", request.branch, request.commit);
    to.quiet(&["update-ref", "--create-reflog", "-m", request.reflog, "--stdin", "-z"])
        .env("GIT_COMMITTER_NAME", &request.identity.name)
        .env("GIT_COMMITTER_EMAIL", &request.identity.email)
        .stdin(update.into_bytes())
        .run()
        .map(|_| ())
}

/// Why the ref did not move, asked only then: the usual case is one process.
fn explain(to: &Repository, request: &LandRequest<'_>, error: GitError) -> Result<Landed, LandError> {
    let branch = request.branch.to_owned();
    let listed = to.quiet(&["for-each-ref", "--format=%(refname) %(objectname)"]).text()?;
    let refs: Vec<(&str, &str)> = listed.lines().filter_map(|line| line.split_once(' ')).collect();
    let found = refs.iter().find(|(name, _)| *name == branch).map(|(_, oid)| *oid);
    if found == Some(request.commit.as_str()) {
        return Ok(Landed::Already);
    }
    let in_the_way = |name: &str| {
        branch.strip_prefix(name).is_some_and(|rest| rest.starts_with('/'))
            || name.strip_prefix(branch.as_str()).is_some_and(|rest| rest.starts_with('/'))
    };
    if let Some((existing, _)) = refs.iter().find(|(name, _)| in_the_way(name)) {
        return Err(LandError::NameConflict { branch, existing: (*existing).to_owned() });
    }
    let found = found.map(parse).transpose()?.map(commit_id);
    if found.as_ref() != request.expected {
        return Err(LandError::Moved { branch, expected: request.expected.cloned(), found });
    }
    match locked_by(to, &branch) {
        Some(lock) => Err(LandError::Locked { branch, lock }),
        None => Err(error.into()),
    }
}

/// The file that keeps others from changing the branch, if there is one.
fn locked_by(to: &Repository, branch: &str) -> Option<PathBuf> {
    let locks =
        [format!("{branch}.lock"), "packed-refs.lock".to_owned(), "reftable/tables.list.lock".to_owned()];
    locks.into_iter().map(|lock| to.common_dir.join(lock)).find(|lock| lock.symlink_metadata().is_ok())
}

/// What the operator's repository lacks, children before parents' needs: a
/// commit there implies everything below it, so commits come last.
struct Transfer {
    ours: Reader,
    theirs: Reader,
    missing: Vec<ObjectId>,
}

impl Transfer {
    fn history(&mut self, to: &Repository, tip: ObjectId) -> Result<(), LandError> {
        let mut commits = Vec::new();
        let mut waiting = vec![tip];
        while let Some(oid) = waiting.pop() {
            if self.theirs.has(&oid) || commits.contains(&oid) {
                continue;
            }
            match self.ours.commit(oid) {
                Ok((_, parents)) => waiting.extend(parents),
                Err(ObjectError::Missing { .. }) => {
                    return Err(LandError::BaseGone {
                        repository: to.toplevel.clone(),
                        commit: commit_id(oid),
                    });
                }
                Err(error) => return Err(error.into()),
            }
            commits.push(oid);
        }
        commits.reverse();
        for oid in commits {
            let (tree, parents) = self.ours.commit(oid)?;
            let beside = match parents.first() {
                Some(parent) => Some(self.tree_of(*parent)?),
                None => None,
            };
            self.tree(tree, beside)?;
            self.missing.push(oid);
        }
        Ok(())
    }

    /// Below the border of a shallow vault only the operator has the parent.
    fn tree_of(&mut self, commit: ObjectId) -> Result<ObjectId, ObjectError> {
        match self.ours.commit(commit) {
            Ok((tree, _)) => Ok(tree),
            Err(ObjectError::Missing { .. }) => Ok(self.theirs.commit(commit)?.0),
            Err(error) => Err(error),
        }
    }

    /// Everything of a tree that the tree beside it, which the operator has,
    /// does not hold in the same place.
    fn tree(&mut self, tree: ObjectId, beside: Option<ObjectId>) -> Result<(), ObjectError> {
        if Some(tree) == beside {
            return Ok(());
        }
        let known = match beside {
            Some(oid) if self.ours.has(&oid) || oid.is_empty_tree() => self.ours.tree(oid)?,
            Some(oid) => self.theirs.tree(oid)?,
            None => Vec::new(),
        };
        for entry in self.ours.tree(tree)? {
            let before = known.iter().find(|known| known.name == entry.name);
            if before.is_some_and(|before| before.oid == entry.oid) || entry.kind == EntryKind::Commit {
                continue;
            }
            if entry.kind == EntryKind::Tree {
                let beside = before.filter(|before| before.kind == EntryKind::Tree).map(|before| before.oid);
                self.tree(entry.oid, beside)?;
            } else if !self.theirs.has(&entry.oid) {
                self.missing.push(entry.oid);
            }
        }
        self.missing.push(tree);
        Ok(())
    }
}

fn write_objects(objects: &Path, transfer: &mut Transfer) -> Result<(), LandError> {
    let mut packer = Packer::new();
    let missing = std::mem::take(&mut transfer.missing);
    if missing.len() < MANY_OBJECTS {
        for oid in missing {
            let (kind, content) = transfer.ours.raw(oid)?;
            loose::write(objects, &mut packer, &NewObject { oid, kind, content })?;
        }
        return Ok(());
    }
    let mut pack = PackWriter::create(&objects.join("pack"))?;
    for oid in missing {
        if !pack.has(&oid) {
            let (kind, content) = transfer.ours.raw(oid)?;
            let packed = packer.pack(oid, kind, content);
            pack.add(&packed)?;
        }
    }
    Ok(pack.finish()?)
}

/// The worktree whose HEAD, or whose running rebase, is on the branch. Read
/// from files, since each git process costs as much as the landing itself.
pub(crate) fn checked_out(to: &Repository, branch: &str) -> Result<Option<PathBuf>, GitError> {
    if to.common_dir.join("reftable").is_dir() {
        let path = to.quiet(&["for-each-ref", "--format=%(worktreepath)", branch]).text()?;
        return Ok((!path.is_empty()).then(|| PathBuf::from(path)));
    }
    let linked = fs::read_dir(to.common_dir.join("worktrees")).into_iter().flatten().filter_map(Result::ok);
    let mut git_dirs = std::iter::once(to.common_dir.clone()).chain(linked.map(|entry| entry.path()));
    Ok(git_dirs.find(|dir| is_on(dir, branch)).map(|dir| worktree_of(&dir)))
}

fn is_on(git_dir: &Path, branch: &str) -> bool {
    let says = |name: &str| fs::read_to_string(git_dir.join(name)).unwrap_or_default();
    let head = says("HEAD");
    head.trim_end().strip_prefix("ref: ") == Some(branch)
        || ["rebase-merge/head-name", "rebase-apply/head-name"]
            .iter()
            .any(|name| says(name).trim_end() == branch)
}

fn worktree_of(git_dir: &Path) -> PathBuf {
    let place = match fs::read_to_string(git_dir.join("gitdir")) {
        Ok(text) => PathBuf::from(text.trim_end()),
        Err(_) => git_dir.to_owned(),
    };
    place.parent().unwrap_or(&place).to_owned()
}

/// The commit that was expected is there by now: objects are written before the branch is looked at.
fn way_back(branch: &str, expected: &Option<CommitId>, found: &Option<CommitId>) -> String {
    let short = short(branch);
    match (expected, found) {
        (Some(expected), None) => format!("`git branch {short} {expected}` brings it back"),
        (Some(expected), Some(_)) => {
            format!(
                "`git branch {short}-kept {short} && git branch -f {short} {expected}` keeps what it has now and \
                 puts it back"
            )
        }
        (None, _) => format!("rename or delete it: `git branch -m {short} OTHER-NAME`"),
    }
}

fn short(branch: &str) -> &str {
    branch.strip_prefix("refs/heads/").unwrap_or(branch)
}

fn not_as_expected(branch: &str, expected: &Option<CommitId>, found: &Option<CommitId>) -> String {
    let branch = short(branch);
    match (expected, found) {
        (None, _) => format!("{branch} exists, and this loop did not make it"),
        (Some(expected), None) => format!("{branch} is gone; it was at {}", expected.short()),
        (Some(expected), Some(found)) => {
            format!("{branch} moved: expected {}, found {}", expected.short(), found.short())
        }
    }
}
