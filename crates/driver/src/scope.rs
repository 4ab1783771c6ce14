//! Whether a change keeps to the scope of its task: measured when its tree is recorded, and again when a proof
//! is looked at.

use std::collections::BTreeMap;

use windlass_core::finding::{Evidence, Rule};
use windlass_core::policy::Policy;
use windlass_core::scope::{MeasuredScope, ScopeLimits, outside};
use windlass_core::task::Task;
use windlass_gate::{BadGlob, Globs};
use windlass_workspace::{ChangeKind, Vault, VaultError};

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

/// Of every file, whatever it holds: what git calls binary is counted here, and so is what a list that was cut
/// does not have.
fn lines_written(vault: &Vault, diff: &TreeDiff<'_>) -> Result<u64, VaultError> {
    let counts = vault.line_counts(diff.base, diff.tree)?;
    let known: BTreeMap<&[u8], u64> =
        counts.iter().filter_map(|file| Some((file.path.as_ref(), file.lines?.added))).collect();
    let mut sum = 0_u64;
    for change in diff.changes {
        let path: &[u8] = change.path.as_ref();
        let added = match (known.get(path), change.kind) {
            (Some(added), _) => *added,
            (None, ChangeKind::Deleted) => 0,
            (None, ChangeKind::Added | ChangeKind::Modified | ChangeKind::TypeChanged) => {
                let text = |tree| Ok::<_, VaultError>(vault.read_blob(tree, path)?.unwrap_or_default());
                added_lines(&text(diff.base)?, &text(diff.tree)?)
            }
        };
        sum = sum.saturating_add(added);
    }
    Ok(sum)
}

/// The lines that are more often in the later text; at least one where it is another.
fn added_lines(before: &[u8], after: &[u8]) -> u64 {
    let mut left: BTreeMap<&[u8], u64> = BTreeMap::new();
    for line in before.split_inclusive(|byte| *byte == b'\n') {
        *left.entry(line).or_default() += 1;
    }
    let mut added = 0;
    for line in after.split_inclusive(|byte| *byte == b'\n') {
        match left.get_mut(line) {
            Some(count) if *count > 0 => *count -= 1,
            Some(_) | None => added += 1,
        }
    }
    if before == after { 0 } else { added.max(1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_what_is_no_text_are_counted() {
        assert_eq!(added_lines(b"", b"\0one\ntwo\nthree"), 3);
        assert_eq!(added_lines(b"", b"\0no end"), 1);
        assert_eq!(added_lines(b"\0one\ntwo\n", b"\0one\nand\ntwo\n"), 1);
        assert_eq!(added_lines(b"\0one\ntwo\n", b"\0one\n"), 1, "it is another");
        assert_eq!(added_lines(b"\0one\n", b"\0one\n"), 0, "only its mode is");
    }
}
