//! The author's workspace, at exactly the tree its work starts from.

use windlass_core::id::TreeId;
use windlass_core::input::Input;
use windlass_core::outcome::Fault;
use windlass_core::policy::Policy;
use windlass_workspace::{Ensured, Since, SnapshotRules};

use super::populate::{Given, Populated, discard_unlike, forget_one_that_is_gone, populate};
use super::{EffectRequest, EffectResources, Performed, WorkspaceState, fault, lock};

pub(super) fn prepare(resources: &EffectResources, request: &EffectRequest, tree: &TreeId) -> Performed {
    let mut workspace = lock(&resources.workspace);
    discard_unlike(resources, request, &mut workspace)?;
    reset(resources, request, &mut workspace, tree)?;
    if populate(resources, request, &mut workspace)? == Populated::Cancelled {
        return Ok(Input::EffectDropped);
    }
    resources.vault.maintain().map_err(|error| fault(&error))?;
    Ok(Input::WorkspaceReady)
}

/// Whatever an agent did to the workspace, afterwards it is this tree.
pub(super) fn reset(
    resources: &EffectResources,
    request: &EffectRequest,
    workspace: &mut WorkspaceState,
    tree: &TreeId,
) -> Result<(), Fault> {
    forget_one_that_is_gone(resources, workspace)?;
    let ensured = workspace.space.ensure(&resources.vault, &request.head, &resources.repository.identity);
    let since = match (ensured.map_err(|error| fault(&error))?, workspace.touched) {
        (Ensured::Rebuilt, _) | (Ensured::Sound, false) => Since::Untouched,
        (Ensured::GitRebuilt, _) | (Ensured::Sound, true) => Since::Unknown,
    };
    let rules = rules(resources, &request.base_tree, &request.policy);
    workspace.space.reset(&resources.vault, tree, &rules, since).map_err(|error| fault(&error))?;
    workspace.touched = false;
    Ok(())
}

/// No snapshot takes what windlass brings along, also not what it brought by an
/// earlier policy.
pub(super) fn rules(resources: &EffectResources, base: &TreeId, policy: &Policy) -> SnapshotRules {
    let mut rules = SnapshotRules::new(base.clone());
    rules.global_excludes.clone_from(&resources.repository.global_excludes);
    let brought = policy.brought().into_iter().chain(Given::read(resources).copy);
    rules.never = brought.map(|file| file.as_str().into()).collect();
    rules
}
