//! The author's workspace, at exactly the tree its work starts from.

use windlass_core::id::{CommitId, TreeId};
use windlass_core::input::Input;
use windlass_core::outcome::Fault;
use windlass_workspace::{CommitText, Ensured, Since, SnapshotRules};

use super::populate::{Given, Populated, discard_unlike, forget_one_that_is_gone, populate};
use super::snapshot::path_rules;
use super::{EffectRequest, EffectResources, Performed, WorkspaceState, fault, lock};
use crate::hidden;
use crate::weaken::Defence;

pub(super) fn prepare(resources: &EffectResources, request: &EffectRequest, tree: &TreeId) -> Performed {
    let mut workspace = lock(&resources.workspace);
    discard_unlike(resources, request, &mut workspace)?;
    reset(resources, request, &mut workspace, tree)?;
    if populate(resources, request, &mut workspace, tree)? == Populated::Cancelled {
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
    let head = visible_head(resources, request)?;
    let ensured = workspace.space.ensure(&resources.vault, &head, &resources.repository.identity);
    let since = match (ensured.map_err(|error| fault(&error))?, workspace.touched) {
        (Ensured::Rebuilt, _) | (Ensured::Sound, false) => Since::Untouched,
        (Ensured::GitRebuilt, _) | (Ensured::Sound, true) => Since::Unknown,
    };
    let rules = rules(resources, request, &request.base_tree)?;
    let tree = visible(resources, request, tree)?;
    workspace.space.reset(&resources.vault, &tree, &rules, since).map_err(|error| fault(&error))?;
    workspace.touched = false;
    Ok(())
}

/// No snapshot takes what windlass brings along, also not what it brought by an
/// earlier policy.
pub(super) fn rules(
    resources: &EffectResources,
    request: &EffectRequest,
    base: &TreeId,
) -> Result<SnapshotRules, Fault> {
    let mut rules = SnapshotRules::new(visible(resources, request, base)?);
    rules.global_excludes.clone_from(&resources.repository.global_excludes);
    let brought = request.policy.brought().into_iter().chain(Given::read(resources).copy);
    rules.never = brought.map(|file| file.as_str().into()).collect();
    Ok(rules)
}

/// The tree without what no agent sees.
pub(super) fn visible(
    resources: &EffectResources,
    request: &EffectRequest,
    tree: &TreeId,
) -> Result<TreeId, Fault> {
    if !hides_files(resources, request) {
        return Ok(tree.clone());
    }
    let rules = path_rules(resources, request, &request.base_tree)?;
    hidden::visible(&resources.vault, &rules, tree).map_err(|error| fault(&error))
}

/// A tree that was seen in the workspace, with what no agent sees.
pub(super) fn filled(
    resources: &EffectResources,
    request: &EffectRequest,
    left: &TreeId,
) -> Result<TreeId, Fault> {
    if !hides_files(resources, request) {
        return Ok(left.clone());
    }
    let base = &request.creation.base_tree;
    let rules = path_rules(resources, request, base)?;
    hidden::filled(&resources.vault, &rules, left, base).map_err(|error| fault(&error))
}

/// What the workspace's own git begins with: the head with its history, or one commit where there are
/// files that no agent sees.
fn visible_head(resources: &EffectResources, request: &EffectRequest) -> Result<CommitId, Fault> {
    if !hides_files(resources, request) {
        return Ok(request.head.clone());
    }
    let head = resources.vault.tree_of(&request.head).map_err(|error| fault(&error))?;
    let tree = visible(resources, request, &head)?;
    let author = resources.repository.identity.clone();
    let text = CommitText { message: "The project\n".to_owned(), author, date_ms: 0 };
    resources.vault.commit(&tree, &[], &text).map_err(|error| fault(&error))
}

fn hides_files(resources: &EffectResources, request: &EffectRequest) -> bool {
    !request.policy.gate.hidden.globs.is_empty() && !resources.is_weak(Defence::Hidden)
}
