//! The author's workspace, at exactly the tree its work starts from.

use windlass_core::id::TreeId;
use windlass_core::input::Input;
use windlass_core::outcome::{Fault, Reason};
use windlass_core::policy::{CheckPolicy, CheckWhen};
use windlass_gate::GateRun;
use windlass_workspace::{Ensured, Since, SnapshotRules};

use super::{Job, Performed, SpaceDesk, Workshop, fault, file_fault, lock};
use crate::confine::Own;

pub(super) fn prepare(shop: &Workshop, job: &Job, tree: &TreeId) -> Performed {
    let mut desk = lock(&shop.space);
    ready(shop, job, &mut desk, tree)?;
    shop.vault.maintain().map_err(|error| fault(&error))?;
    Ok(Input::WorkspaceReady)
}

/// Whatever an agent did to the workspace, afterwards it is this tree.
pub(super) fn ready(shop: &Workshop, job: &Job, desk: &mut SpaceDesk, tree: &TreeId) -> Result<(), Fault> {
    let ensured = desk.space.ensure(&shop.vault, &job.head, &shop.repository.identity);
    let ensured = ensured.map_err(|error| fault(&error))?;
    let since = match (ensured, desk.touched) {
        (Ensured::Rebuilt, _) | (Ensured::Sound, false) => Since::Untouched,
        (Ensured::GitRebuilt, _) | (Ensured::Sound, true) => Since::Unknown,
    };
    let rules = rules(shop, &job.base_tree, &job.policy.brought());
    desk.space.reset(&shop.vault, tree, &rules, since).map_err(|error| fault(&error))?;
    desk.touched = false;
    if ensured == Ensured::Rebuilt {
        furnish(shop, job, desk)?;
    }
    Ok(())
}

/// What the operator gives a fresh workspace beyond the tree. No agent has
/// touched it yet, so nothing in it can lead elsewhere.
fn furnish(shop: &Workshop, job: &Job, desk: &mut SpaceDesk) -> Result<(), Fault> {
    let policy = &job.policy.workspace;
    let root = desk.space.root().to_owned();
    for file in &policy.copy {
        let (from, to) = (shop.surroundings.project.join(file), root.join(file));
        let dir = to.parent().unwrap_or(&root);
        std::fs::create_dir_all(dir)
            .and_then(|()| std::fs::copy(&from, &to).map(|_| ()))
            .map_err(|error| file_fault(&from, &error))?;
    }
    if policy.setup.is_empty() {
        return Ok(());
    }
    desk.touched = true;
    let step = |(index, run): (usize, &String)| CheckPolicy {
        name: format!("setup {}", index + 1),
        run: run.clone(),
        when: CheckWhen::Both,
        timeout: job.policy.gate.timeout,
        ..CheckPolicy::default()
    };
    let steps: Vec<CheckPolicy> = policy.setup.iter().enumerate().map(step).collect();
    let attempts = shop.dirs.attempts(&job.creation.name);
    let place = attempts.join("own-setup");
    let mut own = Own::fresh(&shop.confine, place.clone()).map_err(|error| file_fault(&place, &error))?;
    own.write.push(root.clone());
    let network = &job.policy.agent.network;
    let run = GateRun {
        checks: &steps,
        cwd: &root,
        env: &shop.confine.lend(&shop.surroundings, (&[], network), &own),
        confinement: &shop.confine.confinement(network, &own),
        resources: shop.confine.resources,
        attempts: &attempts,
        name: "setup",
        spawner: &shop.spawner,
        redactor: &shop.redactor,
        shell: &shop.shell,
    };
    let done = windlass_gate::run(&run, &mut |canceller| shop.started(canceller)).unwrap_or_default();
    match done.iter().find(|step| step.exit_code != Some(0)) {
        Some(step) => Err(Fault {
            reason: Reason::EffectFailed,
            detail: format!("workspace.setup failed in the workspace: {}", step.excerpt),
        }),
        None => Ok(()),
    }
}

/// `copied` is what windlass brings along and no snapshot takes.
pub(super) fn rules(shop: &Workshop, base: &TreeId, copied: &[String]) -> SnapshotRules {
    let mut rules = SnapshotRules::new(base.clone());
    rules.global_excludes.clone_from(&shop.repository.global_excludes);
    rules.never = copied.iter().map(|file| file.as_str().into()).collect();
    rules
}
