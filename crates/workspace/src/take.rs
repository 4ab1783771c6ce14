//! Taking landed work into the operator's own checkout, by hand of the
//! operator: a fast-forward, or the command to do it themselves.

use windlass_core::id::CommitId;

use crate::git::GitError;
use crate::repository::Repository;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TakeResult {
    /// The checkout was moved to the commit.
    FastForwarded { from: CommitId, to: CommitId },
    /// It already holds the commit.
    Already,
    /// Not safe to do unasked: why, and what to type.
    ByHand { why: NotTaken, command: String },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotTaken {
    Dirty { files: usize },
    Diverged,
}

/// `branch` is a full ref name. Changed tracked files or a diverged HEAD leave
/// everything as it is.
pub fn take(repository: &Repository, branch: &str) -> Result<TakeResult, GitError> {
    let ask = |words: &[&str]| repository.git().as_operator(&repository.toplevel).args(words);
    let commit =
        |rev: &str| ask(&["rev-parse", "--verify", "--end-of-options", &format!("{rev}^{{commit}}")]).text();
    let (head, tip) = (commit("HEAD")?, commit(branch)?);
    if is_ancestor(repository, &tip, &head)? {
        return Ok(TakeResult::Already);
    }
    let short = branch.strip_prefix("refs/heads/").unwrap_or(branch);
    let by_hand = |why| Ok(TakeResult::ByHand { why, command: format!("git merge {short}") });
    let changed = ask(&["status", "--porcelain=v1", "-z", "--untracked-files=no"]).run()?.stdout;
    let files = changed.split(|byte| *byte == 0).filter(|field| !field.is_empty()).count();
    if files > 0 {
        return by_hand(NotTaken::Dirty { files });
    }
    if !is_ancestor(repository, &head, &tip)? {
        return by_hand(NotTaken::Diverged);
    }
    ask(&["merge", "--ff-only", "--quiet", "--no-stat", "--end-of-options", branch]).run()?;
    Ok(TakeResult::FastForwarded { from: CommitId::new(head), to: CommitId::new(tip) })
}

fn is_ancestor(repository: &Repository, ancestor: &str, commit: &str) -> Result<bool, GitError> {
    match repository.quiet(&["merge-base", "--is-ancestor", ancestor, commit]).run() {
        Ok(_) => Ok(true),
        Err(GitError::Failed { status, .. }) if status.code() == Some(1) => Ok(false),
        Err(error) => Err(error),
    }
}
