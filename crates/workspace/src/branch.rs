//! The branch of a loop that is to be removed.

use windlass_core::id::CommitId;

use crate::git::GitError;
use crate::land::{LandError, checked_out};
use crate::repository::Repository;

/// What became of a branch that was to be deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BranchRemoval {
    Deleted,
    /// There was none.
    Absent,
    /// It is at another commit: somebody else works with it.
    Kept,
}

/// The names of all refs but this branch from which a commit can be reached.
pub fn holders_of(of: &Repository, branch: &str, commit: &CommitId) -> Result<Vec<String>, GitError> {
    let listed = of.quiet(&["for-each-ref", "--format=%(refname)", "--contains", commit.as_str()]).text()?;
    Ok(listed.lines().filter(|name| *name != branch).map(str::to_owned).collect())
}

/// Whether a branch may go: it is checked out nowhere.
pub fn check_deletable(of: &Repository, branch: &str) -> Result<(), LandError> {
    match checked_out(of, branch)? {
        Some(worktree) => Err(LandError::CheckedOut { branch: branch.to_owned(), worktree }),
        None => Ok(()),
    }
}

/// Deletes a branch that is at this commit and checked out nowhere.
pub fn delete_branch(of: &Repository, branch: &str, expected: &CommitId) -> Result<BranchRemoval, LandError> {
    let found = of.quiet(&["for-each-ref", "--format=%(objectname)", branch]).text()?;
    if found.is_empty() {
        return Ok(BranchRemoval::Absent);
    }
    if found != expected.as_str() {
        return Ok(BranchRemoval::Kept);
    }
    check_deletable(of, branch)?;
    of.quiet(&["update-ref", "-d", branch, expected.as_str()]).run()?;
    Ok(BranchRemoval::Deleted)
}
