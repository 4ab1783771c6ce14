//! Whether what an attempt left keeps to the scope of its task.

use windlass_core::finding::{Evidence, Rule};
use windlass_core::outcome::Fault;
use windlass_core::task::TaskMode;

use super::snapshot::{shown, touch};
use super::{EffectRequest, EffectResources, fault};
use crate::scope::{ScopeOf, TOLD};
use crate::terms::TreeDiff;

pub(super) fn exceeded(
    resources: &EffectResources,
    request: &EffectRequest,
    diff: &TreeDiff<'_>,
) -> Result<Vec<Evidence>, Fault> {
    let Some(task) = &request.task else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    if task.mode == TaskMode::Explore {
        let changed = diff.changes.iter().take(TOLD);
        found.extend(changed.map(|change| Evidence {
            touch: Some(touch(change)),
            ..Evidence::new(Rule::ReadOnlyTask, shown(&change.path))
        }));
    }
    let of = ScopeOf { limits: request.policy.scope_of(task), task, files_read: request.files_read };
    found.extend(crate::scope::exceeded(&resources.vault, of, diff).map_err(|error| fault(&error))?);
    Ok(found)
}
