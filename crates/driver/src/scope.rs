//! Whether a change keeps to the scope of its task: measured when its tree is recorded, and again when a proof
//! is looked at.

use windlass_core::finding::{Evidence, Rule};
use windlass_core::policy::Policy;
use windlass_core::scope::{MeasuredScope, ScopeLimits, outside};
use windlass_core::task::Task;
use windlass_gate::{BadGlob, Globs};
use windlass_workspace::{Vault, VaultError};

use crate::terms::TreeDiff;

/// How many paths outside of a scope are told at once.
pub const TOLD: usize = 10;

#[derive(Debug, thiserror::Error)]
pub enum ScopeError {
    #[error(transparent)]
    Vault(#[from] VaultError),
    #[error(transparent)]
    Glob(#[from] BadGlob),
}

/// Whose scope.
#[derive(Clone, Copy)]
pub struct ScopeOf<'a> {
    pub limits: ScopeLimits,
    pub task: &'a Task,
    /// Different files that the attempt read, where its stream told.
    pub files_read: Option<u64>,
}

impl<'a> ScopeOf<'a> {
    /// As far as two trees show it. None where nothing of that is limited.
    pub fn by_trees(policy: &Policy, task: &'a Task) -> Option<Self> {
        let limits = ScopeLimits { files_read: 0, ..policy.scope_of(task) };
        let is_limited = !limits.is_off() || !task.scope.within.is_empty();
        is_limited.then_some(Self { limits, task, files_read: None })
    }
}

/// What is over a limit, outside of the task's paths, or cannot be measured.
pub fn exceeded(vault: &Vault, of: ScopeOf<'_>, diff: &TreeDiff<'_>) -> Result<Vec<Evidence>, ScopeError> {
    let ScopeOf { limits, task, files_read } = of;
    let mut found = Vec::new();
    if !limits.is_off() {
        let lines_written = if limits.lines_written > 0 { lines_written(vault, diff)? } else { 0 };
        let files_changed = diff.changes.len() as u64;
        let measured = MeasuredScope { files_changed, lines_written, files_read };
        found.extend(limits.exceeded(&measured, task));
    }
    let within = &task.scope.within;
    if !within.is_empty() {
        let globs = Globs::new("scope.within", within)?;
        let strays = diff.changes.iter().filter(|change| !globs.covers(change.path.as_ref()));
        let shown =
            strays.take(TOLD).map(|change| String::from_utf8_lossy(change.path.as_ref()).into_owned());
        found.extend(shown.map(|path| outside(&path, within)));
    }
    Ok(found)
}

/// Whether this is a limit that was passed, and not one that nobody can measure.
pub fn is_over(seen: &Evidence) -> bool {
    seen.rule == Rule::ScopeExceeded
}

fn lines_written(vault: &Vault, diff: &TreeDiff<'_>) -> Result<u64, VaultError> {
    let counts = vault.line_counts(diff.base, diff.tree)?;
    Ok(counts.iter().filter_map(|file| file.lines).map(|lines| lines.added).sum())
}
