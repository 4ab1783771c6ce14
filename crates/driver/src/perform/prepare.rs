//! The author's workspace, at exactly the tree its work starts from.

use windlass_core::id::TreeId;
use windlass_core::input::Input;
use windlass_core::outcome::{Fault, Reason};
use windlass_core::policy::{CheckPolicy, CheckWhen};
use windlass_gate::GateRun;
use windlass_workspace::{Ensured, Since, SnapshotRules};

use super::{EffectRequest, EffectResources, Performed, WorkspaceState, fault, file_fault, lock};
use crate::confine::{PrivateDirs, ProgramAccess};

pub(super) fn prepare(resources: &EffectResources, request: &EffectRequest, tree: &TreeId) -> Performed {
    let mut workspace = lock(&resources.workspace);
    ready(resources, request, &mut workspace, tree)?;
    resources.vault.maintain().map_err(|error| fault(&error))?;
    Ok(Input::WorkspaceReady)
}

/// Whatever an agent did to the workspace, afterwards it is this tree.
pub(super) fn ready(
    resources: &EffectResources,
    request: &EffectRequest,
    workspace: &mut WorkspaceState,
    tree: &TreeId,
) -> Result<(), Fault> {
    let ensured = workspace.space.ensure(&resources.vault, &request.head, &resources.repository.identity);
    let ensured = ensured.map_err(|error| fault(&error))?;
    let since = match (ensured, workspace.touched) {
        (Ensured::Rebuilt, _) | (Ensured::Sound, false) => Since::Untouched,
        (Ensured::GitRebuilt, _) | (Ensured::Sound, true) => Since::Unknown,
    };
    let rules = rules(resources, &request.base_tree, &request.policy.brought());
    workspace.space.reset(&resources.vault, tree, &rules, since).map_err(|error| fault(&error))?;
    workspace.touched = false;
    if ensured == Ensured::Rebuilt {
        populate(resources, request, workspace)?;
    }
    Ok(())
}

/// What the operator gives a fresh workspace beyond the tree. No agent has
/// touched it yet, so nothing in it can lead elsewhere.
fn populate(
    resources: &EffectResources,
    request: &EffectRequest,
    workspace: &mut WorkspaceState,
) -> Result<(), Fault> {
    let policy = &request.policy.workspace;
    let root = workspace.space.root().to_owned();
    for file in &policy.copy {
        let (from, to) = (resources.surroundings.project.join(file), root.join(file));
        let dir = to.parent().unwrap_or(&root);
        std::fs::create_dir_all(dir)
            .and_then(|()| std::fs::copy(&from, &to).map(|_| ()))
            .map_err(|error| file_fault(&from, &error))?;
    }
    if policy.setup.is_empty() {
        return Ok(());
    }
    workspace.touched = true;
    let step = |(index, run): (usize, &String)| CheckPolicy {
        name: format!("setup {}", index + 1),
        run: run.clone(),
        when: CheckWhen::Both,
        timeout: request.policy.gate.timeout,
        ..CheckPolicy::default()
    };
    let steps: Vec<CheckPolicy> = policy.setup.iter().enumerate().map(step).collect();
    let attempts = resources.dirs.attempts(&request.creation.name);
    let place = attempts.join("own-setup");
    let mut private = PrivateDirs::empty_if_confined(&resources.confine, place.clone())
        .map_err(|error| file_fault(&place, &error))?;
    private.write.push(root.clone());
    let network = &request.policy.agent.network;
    let run = GateRun {
        checks: &steps,
        cwd: &root,
        env: &resources.confine.environment(
            &resources.surroundings,
            &ProgramAccess { variables: &[], network, private: &private },
        ),
        confinement: &resources.confine.confinement(network, &private),
        resources: resources.confine.resources,
        attempts: &attempts,
        name: "setup",
        spawner: &resources.spawner,
        redactor: &resources.redactor,
        shell: &resources.shell,
    };
    let done = windlass_gate::run(&run, &mut |canceller| resources.started(canceller)).unwrap_or_default();
    match done.iter().find(|step| step.exit_code != Some(0)) {
        Some(step) => Err(Fault {
            reason: Reason::EffectFailed,
            detail: format!("workspace.setup failed in the workspace: {}", step.excerpt),
        }),
        None => Ok(()),
    }
}

/// `copied` is what windlass brings along and no snapshot takes.
pub(super) fn rules(resources: &EffectResources, base: &TreeId, copied: &[String]) -> SnapshotRules {
    let mut rules = SnapshotRules::new(base.clone());
    rules.global_excludes.clone_from(&resources.repository.global_excludes);
    rules.never = copied.iter().map(|file| file.as_str().into()).collect();
    rules
}
