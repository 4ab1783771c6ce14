//! Taking landed work into the operator's own checkout, by hand of the
//! operator: a fast-forward, or the command to do it themselves.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use windlass_core::id::CommitId;

use crate::git::{Git, GitError};
use crate::repository::Repository;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TakeResult {
    /// The checkout was moved to the commit.
    FastForwarded { from: CommitId, to: CommitId },
    /// It already holds the commit.
    Already,
    /// Not safe to do unasked: why, and what to type.
    ByHand { why: NotTaken, command: String },
    /// It would run programs on what the work brings. Nothing was done.
    WouldFilter { filters: Vec<FilterUse> },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotTaken {
    Dirty {
        files: Vec<String>,
    },
    Diverged {
        /// What both sides changed since they parted.
        both: Vec<String>,
    },
    /// Files of the checkout that git does not know, where the branch has its own.
    InTheWay {
        files: Vec<String>,
    },
    /// It changes what windlass itself writes into the project.
    Trail,
}

/// A filter of the operator's git configuration that a checkout would run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterUse {
    pub name: String,
    /// As it is configured.
    pub command: String,
    /// Files that the work changed or added, as text.
    pub paths: Vec<String>,
}

/// Whether filters may run on what the work brings: the work chose its paths and contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterRule {
    Tell,
    Run,
}

const TRAIL: &[u8] = b".windlass";

/// `branch` is a full ref name. Files that the branch changes and that are changed in the checkout, too, or a
/// diverged HEAD leave everything as it is.
pub fn take(repository: &Repository, branch: &str, filters: FilterRule) -> Result<TakeResult, GitError> {
    let ask = |words: &[&str]| repository.git().as_operator(&repository.toplevel).args(words);
    let commit =
        |rev: &str| ask(&["rev-parse", "--verify", "--end-of-options", &format!("{rev}^{{commit}}")]).text();
    let (head, tip) = (commit("HEAD")?, commit(branch)?);
    if is_ancestor(repository, &tip, &head)? {
        return Ok(TakeResult::Already);
    }
    let brought = brought(repository, &head, &tip)?;
    if filters == FilterRule::Tell {
        let filters = filters_used(repository, &brought)?;
        if !filters.is_empty() {
            return Ok(TakeResult::WouldFilter { filters });
        }
    }
    let short = branch.strip_prefix("refs/heads/").unwrap_or(branch);
    let by_hand = |why| Ok(TakeResult::ByHand { why, command: format!("git merge {short}") });
    let after_stash = || format!("git stash && git merge {short} && git stash pop");
    let changed = ask(&["status", "--porcelain=v1", "-z", "--untracked-files=no", "--", ":/"])
        .arg(":(top,exclude).windlass")
        .run()?;
    let is_brought = |file: &String| brought.iter().any(|path| text(path) == *file);
    let files: Vec<String> = changed_files(&changed.stdout).into_iter().filter(is_brought).collect();
    if !files.is_empty() {
        return Ok(TakeResult::ByHand { why: NotTaken::Dirty { files }, command: after_stash() });
    }
    if !is_ancestor(repository, &head, &tip)? {
        return by_hand(NotTaken::Diverged { both: changed_by_both(repository, &head, &tip)? });
    }
    let is_trail = |path: &Vec<u8>| path.split(|byte| *byte == b'/').next() == Some(TRAIL);
    if brought.iter().any(is_trail) {
        return by_hand(NotTaken::Trail);
    }
    let untracked = untracked_of(repository, &brought)?;
    if !untracked.is_empty() {
        let why = NotTaken::InTheWay { files: untracked };
        return Ok(TakeResult::ByHand { why, command: format!("git stash -u && git merge {short}") });
    }
    ask(&["merge", "--ff-only", "--quiet", "--no-stat", "--end-of-options", branch]).run()?;
    Ok(TakeResult::FastForwarded { from: CommitId::new(head), to: CommitId::new(tip) })
}

/// Of the files that a checkout would write, those that are there and not under version control.
fn untracked_of(repository: &Repository, brought: &[Vec<u8>]) -> Result<Vec<String>, GitError> {
    let listed = repository.git().as_operator(&repository.toplevel).args(["ls-files", "-z"]).run()?.stdout;
    let tracked: HashSet<&[u8]> = listed.split(|byte| *byte == 0).collect();
    let is_there = |path: &[u8]| {
        let file = repository.toplevel.join(OsStr::from_bytes(path));
        file.symlink_metadata().is_ok_and(|found| !found.is_dir())
    };
    let in_the_way = brought.iter().filter(|path| !tracked.contains(path.as_slice()) && is_there(path));
    Ok(in_the_way.map(|path| text(path)).collect())
}

/// How many commits a revision has that others do not have.
pub fn count_commits(git: &Git, toplevel: &Path, of: &str, without: &[&CommitId]) -> Result<usize, GitError> {
    let ask = git.as_operator(toplevel).args(["rev-list", "--count", "--end-of-options", of]);
    let counted = without.iter().fold(ask, |ask, commit| ask.arg(format!("^{commit}"))).text()?;
    Ok(counted.trim().parse().unwrap_or(0))
}

/// Whether the operator's repository has this file under version control.
pub fn is_tracked(git: &Git, toplevel: &Path, file: &Path) -> bool {
    let asked = git.as_operator(toplevel).args(["ls-files", "-z", "--"]).arg(file).run();
    asked.is_ok_and(|printed| !printed.stdout.is_empty())
}

/// The paths of `git status -z`; the old name of a renamed file follows it.
fn changed_files(status: &[u8]) -> Vec<String> {
    let mut fields = status.split(|byte| *byte == 0).filter(|field| !field.is_empty());
    let mut files = Vec::new();
    while let Some(field) = fields.next() {
        if field.first().is_some_and(|kind| matches!(kind, b'R' | b'C')) {
            fields.next();
        }
        files.push(text(field.get(3..).unwrap_or_default()));
    }
    files
}

/// What differs on both sides from where they parted; nothing of sides that never met.
fn changed_by_both(repository: &Repository, head: &str, tip: &str) -> Result<Vec<String>, GitError> {
    let parted = match repository.quiet(&["merge-base", head, tip]).text() {
        Ok(parted) => parted,
        Err(GitError::Failed { status, .. }) if status.code() == Some(1) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let names = |side: &str| -> Result<Vec<String>, GitError> {
        let diff = ["diff-tree", "-r", "-z", "--no-renames", "--name-only", &parted, side];
        let printed = repository.git().as_operator(&repository.toplevel).args(diff).run()?.stdout;
        Ok(printed.split(|byte| *byte == 0).filter(|path| !path.is_empty()).map(text).collect())
    };
    let ours = names(head)?;
    Ok(names(tip)?.into_iter().filter(|path| ours.contains(path)).collect())
}

/// The files that a checkout would write.
fn brought(repository: &Repository, head: &str, tip: &str) -> Result<Vec<Vec<u8>>, GitError> {
    let diff = ["diff-tree", "-r", "-z", "--no-renames", "--name-only", "--diff-filter=d", head, tip];
    let printed = repository.git().as_operator(&repository.toplevel).args(diff).run()?.stdout;
    Ok(printed.split(|byte| *byte == 0).filter(|path| !path.is_empty()).map(<[u8]>::to_vec).collect())
}

/// Attributes are asked of the checkout as it is. Work that brings others could give any path any filter.
fn filters_used(repository: &Repository, brought: &[Vec<u8>]) -> Result<Vec<FilterUse>, GitError> {
    let mut configured: Vec<FilterUse> = Vec::new();
    for (name, command) in configured_filters(repository)? {
        match configured.iter_mut().find(|filter| filter.name == name) {
            // It runs in the place of the other.
            Some(filter) => filter.command = command,
            None => configured.push(FilterUse { name, command, paths: Vec::new() }),
        }
    }
    if configured.is_empty() {
        return Ok(configured);
    }
    let is_attributes = |path: &&Vec<u8>| path.ends_with(b".gitattributes");
    let other: Vec<String> = brought.iter().filter(is_attributes).map(|path| text(path)).collect();
    configured.iter_mut().for_each(|filter| filter.paths.clone_from(&other));
    for paths in brought.chunks(PATHS_AT_ONCE) {
        let words = paths.iter().map(|path| OsStr::from_bytes(path));
        let asked =
            repository.git().as_operator(&repository.toplevel).args(["check-attr", "-z", "filter", "--"]);
        let printed = asked.args(words).run()?.stdout;
        let fields: Vec<&[u8]> = printed.split(|byte| *byte == 0).collect();
        for entry in fields.chunks_exact(3) {
            let filter = configured.iter_mut().find(|filter| filter.name.as_bytes() == entry[2]);
            filter.into_iter().for_each(|filter| filter.paths.push(text(entry[0])));
        }
    }
    configured.retain(|filter| !filter.paths.is_empty());
    Ok(configured)
}

/// Below the least that an argument list may hold, at the longest paths.
const PATHS_AT_ONCE: usize = 200;

/// What writes a file of a checkout: each name with its command, one that serves many files last.
fn configured_filters(repository: &Repository) -> Result<Vec<(String, String)>, GitError> {
    let mut found = Vec::new();
    for kind in ["smudge", "process"] {
        let pattern = format!(r"^filter\..*\.{kind}$");
        let asked = repository.git().as_operator(&repository.toplevel);
        let printed = match asked.args(["config", "-z", "--get-regexp", &pattern]).run() {
            Ok(printed) => printed.stdout,
            Err(GitError::Failed { status, .. }) if status.code() == Some(1) => continue,
            Err(error) => return Err(error),
        };
        for entry in printed.split(|byte| *byte == 0) {
            let entry = text(entry);
            let Some((key, command)) = entry.split_once('\n') else { continue };
            let name = key.strip_prefix("filter.").and_then(|key| key.strip_suffix(&format!(".{kind}")));
            found.extend(
                name.filter(|_| !command.is_empty()).map(|name| (name.to_owned(), command.to_owned())),
            );
        }
    }
    Ok(found)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn is_ancestor(repository: &Repository, ancestor: &str, commit: &str) -> Result<bool, GitError> {
    match repository.quiet(&["merge-base", "--is-ancestor", ancestor, commit]).run() {
        Ok(_) => Ok(true),
        Err(GitError::Failed { status, .. }) if status.code() == Some(1) => Ok(false),
        Err(error) => Err(error),
    }
}
