//! Whether a change keeps to the scope of its task.

use windlass_core::finding::{Evidence, Rule};
use windlass_core::outcome::Fault;
use windlass_core::scope::{MeasuredScope, outside};
use windlass_core::task::TaskMode;
use windlass_gate::Globs;

use super::snapshot::{shown, touch};
use super::{EffectRequest, EffectResources, fault};
use crate::terms::TreeDiff;

/// How many paths outside of a scope are told at once.
const TOLD: usize = 10;

pub(super) fn exceeded(
    resources: &EffectResources,
    request: &EffectRequest,
    diff: &TreeDiff<'_>,
) -> Result<Vec<Evidence>, Fault> {
    let Some(task) = &request.task else { return Ok(Vec::new()) };
    let limits = request.policy.scope_of(task);
    let mut found = Vec::new();
    if task.mode == TaskMode::Explore {
        let changed = diff.changes.iter().take(TOLD);
        found.extend(changed.map(|change| Evidence {
            touch: Some(touch(change)),
            ..Evidence::new(Rule::ReadOnlyTask, shown(&change.path))
        }));
    }
    if !limits.is_off() {
        let lines_written = if limits.lines_written > 0 { lines_written(resources, diff)? } else { 0 };
        let files_changed = diff.changes.len() as u64;
        let measured = MeasuredScope { files_changed, lines_written, files_read: request.files_read };
        found.extend(limits.exceeded(&measured, task));
    }
    let within = &task.scope.within;
    if !within.is_empty() {
        let globs = Globs::new("scope.within", within).map_err(|error| fault(&error))?;
        let strays = diff.changes.iter().filter(|change| !globs.covers(change.path.as_ref()));
        found.extend(strays.take(TOLD).map(|change| outside(&shown(&change.path), within)));
    }
    Ok(found)
}

fn lines_written(resources: &EffectResources, diff: &TreeDiff<'_>) -> Result<u64, Fault> {
    let counts = resources.vault.line_counts(diff.base, diff.tree).map_err(|error| fault(&error))?;
    Ok(counts.iter().filter_map(|file| file.lines).map(|lines| lines.added).sum())
}
