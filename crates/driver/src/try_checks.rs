//! Commands that may become a project's checks, run once on its head as the baseline of a loop would run them.
//! No loop is made and nothing is recorded.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use windlass_core::effect::Effect;
use windlass_core::gate::{CheckResult, Purpose};
use windlass_core::id::LoopName;
use windlass_core::input::{Creation, Input};
use windlass_core::policy::{CheckPolicy, Policy};
use windlass_core::red::RedReason;
use windlass_core::step;
use windlass_core::task::Plan;
use windlass_store::{MemoryStore, Store, VaultDir};
use windlass_workspace::{Depth, Vault};

use crate::clock;
use crate::drive_loop::{DriveLoopError, DriveOutputs, LoopSite, effect_resources};
use crate::interrupt::Interrupts;
use crate::journal::{Journal, JournalError};
use crate::perform::{EffectRequest, EffectResources};
use crate::project::Project;
use crate::repositories::{Repositories, RepositoriesError};
use crate::surroundings::Surroundings;

/// Where commands are tried.
pub struct TryPlace<'a> {
    pub project: &'a Project,
    pub vault: &'a VaultDir,
    pub surroundings: &'a Surroundings,
    pub interrupts: &'a Interrupts,
}

/// Set-up commands, and one that tests.
pub struct TriedCommands<'a> {
    pub policy: &'a Policy,
    pub setup: &'a [String],
    pub run: &'a str,
    /// The files in which it reports its tests; empty where it does not.
    pub junit: &'a str,
}

/// What came of it.
pub struct TriedCheck {
    pub result: CheckResult,
    /// None where it is green.
    pub red: Option<RedReason>,
}

impl TriedCommands<'_> {
    fn check(&self) -> CheckPolicy {
        CheckPolicy {
            name: CHECK.to_owned(),
            run: self.run.to_owned(),
            timeout: self.policy.gate.timeout,
            junit: self.junit.to_owned(),
            control: "off".to_owned(),
            ..CheckPolicy::default()
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum TryError {
    #[error(transparent)]
    Repositories(#[from] RepositoriesError),
    #[error(transparent)]
    Vault(#[from] windlass_workspace::VaultError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Resources(#[from] DriveLoopError),
    #[error("it could not be run: {0}")]
    NotRun(String),
    #[error("interrupted")]
    Interrupted,
}

/// Runs the commands once on the head of the repository.
#[expect(clippy::wildcard_enum_match_arm, reason = "a gate has one answer, and a fault")]
pub fn try_checks(place: &TryPlace<'_>, commands: &TriedCommands<'_>) -> Result<TriedCheck, TryError> {
    let surroundings = Surroundings { state: place.vault.state().to_owned(), ..place.surroundings.clone() };
    let Repositories { repository, vault, .. } =
        Repositories::open(&surroundings, place.project, place.vault)?;
    let depth = Depth::Commits(commands.policy.workspace.history);
    vault.import(&repository, &repository.head, depth)?;
    let name = unused_name();
    let site = LoopSite {
        name: name.clone(),
        project: place.project.clone(),
        vault: place.vault.clone(),
        surroundings: place.surroundings.clone(),
    };
    let creation = creation(&site, &vault, &repository.head, commands)?;
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let tree = creation.base_tree.clone();
    let journal = Journal::create(Arc::clone(&store), &step::create(clock::wall(), creation))?;
    let outputs = DriveOutputs { trail: Path::new("/nonexistent"), live: sync_channel(1).0 };
    let resources = Arc::new(effect_resources(&site, &store, journal.state().policy(), outputs)?);
    resources.begin();
    let stopped = Arc::clone(&resources);
    let listening = place.interrupts.listen(move |_| EffectResources::stop(&stopped));
    let checks = vec![CHECK.to_owned()];
    let effect =
        Effect::RunGate { purpose: Purpose::Baseline, tree, trusted: None, regression: None, checks };
    let performed = resources.perform(EffectRequest::new(&effect, journal.state()));
    drop(listening);
    drop(resources);
    remove_traces(&site);
    match performed {
        Input::GateReported(mut report) => {
            let result = report.landing.pop();
            let result = result.ok_or_else(|| TryError::NotRun("it gave no result".to_owned()))?;
            Ok(TriedCheck { red: result.red_without_control(&commands.check()), result })
        }
        Input::EffectDropped => Err(TryError::Interrupted),
        Input::EffectFailed(fault) => Err(TryError::NotRun(fault.detail)),
        other => Err(TryError::NotRun(other.name().to_owned())),
    }
}

/// Files that differ from the head, and so are not part of what is tried.
pub fn uncommitted(place: &TryPlace<'_>) -> Result<Vec<String>, TryError> {
    let surroundings = Surroundings { state: place.vault.state().to_owned(), ..place.surroundings.clone() };
    Ok(Repositories::open(&surroundings, place.project, place.vault)?.repository.dirty_files)
}

const CHECK: &str = "test";

/// No loop has it: whoever tries at the same time has another.
pub(crate) fn unused_name() -> LoopName {
    let marker: String = clock::marker().chars().filter(char::is_ascii_alphanumeric).take(24).collect();
    LoopName::new(&format!("try-{marker}")).expect("letters, digits and a hyphen")
}

fn creation(
    site: &LoopSite,
    vault: &Vault,
    head: &windlass_core::id::CommitId,
    commands: &TriedCommands<'_>,
) -> Result<Creation, TryError> {
    let mut policy = commands.policy.clone();
    policy.workspace.setup = commands.setup.to_vec();
    policy.gate.checks = vec![commands.check()];
    Ok(Creation {
        name: site.name.clone(),
        goal: String::new(),
        plan: Plan::default(),
        policy,
        base: head.clone(),
        base_tree: vault.tree_of(head)?,
        trusted: None,
        branch: format!("windlass/{}", site.name),
        workspace: String::new(),
    })
}

/// What cannot be removed lies where the next `windlass` looks for leftovers, and hurts nobody.
pub(crate) fn remove_traces(site: &LoopSite) {
    let (vault, name) = (&site.vault, &site.name);
    for dir in [vault.attempts(name), vault.checkout(name), vault.caches(name), vault.homes(name)] {
        if let Err(error) = windlass_process::remove_tree(&dir) {
            tracing::warn!(%error, dir = %dir.display(), "what a trial left is not removed");
        }
    }
}
