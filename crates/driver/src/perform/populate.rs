//! What the operator gives a workspace beyond the tree: files of the checkout,
//! and what the set-up commands make. A mark outside of the workspace says what
//! it was given; one that was given something else, or a part, is made anew.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use windlass_core::id::TreeId;
use windlass_core::live::{Live, LiveStep};
use windlass_core::outcome::{Fault, Reason};
use windlass_core::policy::{CheckPolicy, CheckWhen, Policy, WorkspacePolicy};
use windlass_gate::{Checked, GateRun, copy_into};
use windlass_process::{Alias, Canceller, Inspection};

use super::gate::dirs::SHOWN_AT;
use super::gate::kept_setup::{KeptSetup, SetupPlace};
use super::{EffectRequest, EffectResources, WorkspaceState, fault, file_fault, inject};
use crate::confine::{PrivateDirs, ProgramAccess};

/// What a workspace was given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Given {
    pub copy: Vec<String>,
    setup: Vec<String>,
    /// What it was not given, though the tree has it.
    #[serde(default)]
    hidden: Vec<String>,
    /// It may have been given only a part of it.
    begun: bool,
    /// What the set-up would make was copied from what a baseline kept.
    #[serde(default)]
    kept: Option<KeptCopy>,
}

/// A copy has the path of a judged tree in it, and goes together with layers of packages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct KeptCopy {
    dir: PathBuf,
    /// What the layers lie over.
    package_dirs: Vec<PathBuf>,
}

impl KeptCopy {
    fn still_stands(&self, resources: &EffectResources) -> bool {
        let confine = &resources.safeguards.confine;
        confine.may_alias(Path::new(SHOWN_AT))
            && self.package_dirs == confine.package_dirs()
            && self.dir.is_dir()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Populated {
    Done,
    Cancelled,
}

impl Given {
    fn of(policy: &Policy) -> Self {
        let WorkspacePolicy { copy, setup, .. } = policy.workspace.clone();
        Self { copy, setup, hidden: policy.gate.hidden.globs.clone(), begun: false, kept: None }
    }

    /// The same, wherever it came from, as long as programs can use it.
    fn is(&self, wanted: &Self, resources: &EffectResources) -> bool {
        let is_wanted = Self { kept: None, ..self.clone() } == *wanted;
        is_wanted && self.kept.as_ref().is_none_or(|kept| kept.still_stands(resources))
    }

    /// A workspace without a mark was given nothing; a mark that cannot be read
    /// says nothing about its workspace.
    pub fn read(resources: &EffectResources) -> Self {
        match fs::read(mark(resources)) {
            Ok(text) => serde_json::from_slice(&text).unwrap_or(Self { begun: true, ..Self::default() }),
            Err(_) => Self::default(),
        }
    }

    /// Whole or not at all: a torn one could be read as another.
    fn write(&self, resources: &EffectResources) -> Result<(), Fault> {
        let (mark, text) = (mark(resources), serde_json::to_vec(self).expect("lists of texts are JSON"));
        let fresh = mark.with_extension("fresh");
        let written = fs::write(&fresh, text).and_then(|()| fs::rename(&fresh, &mark));
        written.map_err(|error| file_fault(&mark, &error))
    }
}

fn mark(resources: &EffectResources) -> PathBuf {
    resources.dirs.cache_file(&resources.name, "given")
}

/// Removes a workspace that was not given what the policy says.
pub(super) fn discard_unlike(
    resources: &EffectResources,
    request: &EffectRequest,
    workspace: &mut WorkspaceState,
) -> Result<(), Fault> {
    match Given::read(resources).is(&Given::of(&request.policy), resources) {
        true => Ok(()),
        false => workspace.space.remove().map_err(|error| fault(&error)),
    }
}

/// Before a workspace is made: a crash must not leave one with the mark of another.
pub(super) fn forget_one_that_is_gone(
    resources: &EffectResources,
    workspace: &WorkspaceState,
) -> Result<(), Fault> {
    if fs::symlink_metadata(workspace.space.root()).is_ok_and(|found| found.is_dir()) {
        return Ok(());
    }
    match fs::remove_file(mark(resources)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(file_fault(&mark(resources), &error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Gives a workspace, which is at this tree, what it has not been given yet.
pub(super) fn populate(
    resources: &EffectResources,
    request: &EffectRequest,
    workspace: &mut WorkspaceState,
    tree: &TreeId,
) -> Result<Populated, Fault> {
    let mut wanted = Given::of(&request.policy);
    if Given::read(resources).is(&wanted, resources) {
        return Ok(Populated::Done);
    }
    Given { begun: true, ..wanted.clone() }.write(resources)?;
    for file in &wanted.copy {
        let from = resources.surroundings.project.join(file);
        inject::put_file(workspace.space.root(), &from, file).map_err(|error| file_fault(&from, &error))?;
    }
    if !wanted.setup.is_empty() {
        workspace.touched = true;
        super::test_point("setup");
        wanted.kept = copy_kept_setup(resources, request, workspace, tree)?;
        if wanted.kept.is_none() && set_up(resources, request, workspace)? == Populated::Cancelled {
            return Ok(Populated::Cancelled);
        }
    }
    wanted.write(resources)?;
    Ok(Populated::Done)
}

/// What a baseline installed for the same manifests. None where the set-up has to be done.
fn copy_kept_setup(
    resources: &EffectResources,
    request: &EffectRequest,
    workspace: &WorkspaceState,
    tree: &TreeId,
) -> Result<Option<KeptCopy>, Fault> {
    let confine = &resources.safeguards.confine;
    if !confine.may_alias(Path::new(SHOWN_AT)) {
        return Ok(None);
    }
    let place = SetupPlace::of(resources, request, tree)?;
    let Some(kept) = place.and_then(|place| place.find_packages(resources)) else { return Ok(None) };
    let command = request.policy.workspace.setup.join("; ");
    resources.tell(Live::StepStarted(LiveStep::SetUp { command }));
    let root = workspace.space.root();
    copy_into(&kept.tree, root).map_err(|error| file_fault(root, &error))?;
    Ok(Some(KeptCopy { dir: kept.dir, package_dirs: confine.package_dirs().to_vec() }))
}

/// Lets a program of the workspace use what was installed for a judged tree: a virtual environment has the path of
/// that tree in it, and directories of packages have more than the operator's.
pub(super) fn lend_kept_setup(resources: &EffectResources, root: PathBuf, private: &mut PrivateDirs) {
    let Some(copy) = Given::read(resources).kept else { return };
    private.alias = Some(Alias { name: SHOWN_AT.into(), of: root });
    if let Some(kept) = KeptSetup::at(&copy.dir, resources) {
        private.packages = kept.packages;
    }
}

fn set_up(
    resources: &EffectResources,
    request: &EffectRequest,
    workspace: &WorkspaceState,
) -> Result<Populated, Fault> {
    let root = workspace.space.root().to_owned();
    let step = |(index, run): (usize, &String)| CheckPolicy {
        name: format!("setup {}", index + 1),
        run: run.clone(),
        when: CheckWhen::Both,
        timeout: request.policy.gate.timeout,
        ..CheckPolicy::default()
    };
    let steps: Vec<CheckPolicy> = request.policy.workspace.setup.iter().enumerate().map(step).collect();
    let attempts = resources.dirs.attempts(&request.creation.name);
    let place = attempts.join("own-setup");
    let mut private = PrivateDirs::empty_if_confined(&resources.safeguards.confine, place.clone())
        .map_err(|error| file_fault(&place, &error))?;
    private.write.push(root.clone());
    let network = &request.policy.agent.network;
    let marker = crate::clock::marker();
    let run = GateRun {
        checks: &steps,
        cwd: &root,
        env: &resources.safeguards.confine.environment(
            &resources.surroundings,
            &ProgramAccess { variables: &[], network, private: &private },
        ),
        confinement: &resources.safeguards.confine.confinement(network, &private, Inspection::Refused),
        resources: resources.safeguards.confine.resources,
        attempts: &attempts,
        name: "setup",
        marker: &marker,
        spawner: &resources.spawner,
        redactor: &resources.safeguards.redactor,
        shell: &resources.shell,
    };
    let mut commands = steps.iter().map(|step| step.run.clone());
    let begun = &mut |canceller: Canceller| {
        if let Some(mut command) = commands.next() {
            resources.hide(&mut command);
            resources.tell(Live::StepStarted(LiveStep::SetUp { command }));
        }
        resources.started(canceller);
    };
    let Some(done) = windlass_gate::run(&run, begun) else {
        return Ok(Populated::Cancelled);
    };
    if done.iter().any(Checked::never_ran) {
        resources.level_still_holds()?;
    }
    match done.iter().find(|step| step.exit_code != Some(0)) {
        Some(step) => Err(Fault {
            reason: Reason::EffectFailed,
            detail: format!("workspace.setup failed in the workspace: {}", step.excerpt),
        }),
        None => Ok(Populated::Done),
    }
}
