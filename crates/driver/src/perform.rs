//! Performs effects: each has a file below. A performer never decides; it
//! returns what happened, and what it could not do, as an input.

mod background_removal;
mod call;
mod gate;
mod inject;
mod land;
mod merge;
mod populate;
mod prepare;
mod scope;
mod snapshot;
mod stop;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use windlass_core::brief::BriefSpec;
use windlass_core::effect::Effect;
use windlass_core::gate::{Purpose, Trial};
use windlass_core::id::{BlobId, CommitId, LoopName, TreeId};
use windlass_core::input::{Creation, Input};
use windlass_core::live::Live;
use windlass_core::outcome::{Fault, Reason};
use windlass_core::policy::{AgentPolicy, Policy, ProvenSandbox};
use windlass_core::state::State;
use windlass_core::tally::Earlier;
use windlass_core::task::Task;
use windlass_core::time::Millis;
use windlass_core::usage::{Session, Usage};
use windlass_gate::{PathRules, TreeRoles};
use windlass_process::{Canceller, Spawner};
use windlass_redact::Redactor;
use windlass_store::{BlobError, Store, StoreError, VaultDir};
use windlass_workspace::{Checkout, Git, Repository, Space, Vault};

use crate::confine;
use crate::drive_loop::DriveLoopError;
use crate::safeguards::{Machine, Safeguards};
use crate::surroundings::Surroundings;
use crate::weaken::Defence;
pub use background_removal::BackgroundRemoval;
pub use call::last_activity;
pub use stop::look as look_at_stop_check;

/// Everything an effect may need, shared with the thread that performs it.
pub struct EffectResources {
    pub name: LoopName,
    pub store: Arc<dyn Store>,
    pub dirs: VaultDir,
    pub trail: PathBuf,
    pub git: Git,
    pub repository: Repository,
    pub vault: Vault,
    pub blobs: BlobStage,
    pub spawner: Spawner,
    pub surroundings: Surroundings,
    pub safeguards: Safeguards,
    /// What reads the commands of the gate.
    pub shell: PathBuf,
    pub workspace: Mutex<WorkspaceState>,
    pub checkout: Mutex<Checkout>,
    pub rules: Mutex<Option<CachedRules>>,
    pub stop: Mutex<Stop>,
    pub removal: BackgroundRemoval,
    /// Where what is heard of a step goes, while it runs.
    pub live: SyncSender<Live>,
}

/// What paths were to the gate last: the patterns take longer to compile than to use.
pub struct CachedRules {
    pub allow: Vec<String>,
    /// The policy may change while a loop is driven.
    pub policy: Arc<Policy>,
    /// The blobs of what the base showed to be no product.
    pub base_terms: Vec<BlobId>,
    pub rules: PathRules,
    /// Whether this tree has a test, where that was asked.
    pub has_tests: Option<(TreeId, bool)>,
    /// What the files of the tree are that was judged last, on the loop's base.
    pub roles: Option<(TreeId, Arc<TreeRoles>)>,
}

/// The only way a performer's bytes are kept.
pub struct BlobStage {
    blobs: Arc<dyn Store>,
    redactor: Redactor,
}

impl BlobStage {
    pub fn new(blobs: Arc<dyn Store>, redactor: Redactor) -> Self {
        Self { blobs, redactor }
    }

    pub fn put(&self, bytes: Vec<u8>) -> Result<BlobId, Fault> {
        let clean = match self.redactor.bytes(&bytes) {
            Cow::Borrowed(_) => None,
            Cow::Owned(clean) => Some(clean),
        };
        self.blobs.put(clean.unwrap_or(bytes)).map_err(|error| fault(&error))
    }

    /// The text of a blob that a record names.
    pub fn text(&self, id: &BlobId, limit: u64) -> Result<String, Fault> {
        let bytes = self.blobs.blob(id, limit).map_err(|error| fault(&error))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// The workspace, and whether anything ran in it since it was last looked at.
pub struct WorkspaceState {
    pub space: Space,
    pub touched: bool,
}

#[derive(Default)]
pub struct Stop {
    asked: bool,
    canceller: Option<Canceller>,
}

/// One effect with what its performer needs of the state.
pub struct EffectRequest {
    effect: Effect,
    creation: Arc<Creation>,
    policy: Arc<Policy>,
    head: CommitId,
    /// What the work in hand stands on.
    base_tree: TreeId,
    brief: Option<BriefSpec>,
    iteration: u32,
    /// How many attempts of this role the task has had, this one included.
    nth: u32,
    wall_left: Option<Millis>,
    /// The agent of the role that is called.
    agent: Option<AgentPolicy>,
    resume: Option<Session>,
    spent: Usage,
    /// The task in hand, and how many files its last attempt read, where that is known.
    task: Option<Arc<Task>>,
    files_read: Option<u64>,
    allow: Vec<String>,
    /// Texts of the paths that checks wrote on the base.
    written_at_baseline: Vec<BlobId>,
    /// Texts of the paths that the base showed to be no product.
    base_terms: Vec<BlobId>,
    /// By check, the names of the tests it is compared with.
    earlier: BTreeMap<String, (Earlier, BlobId)>,
    /// The same on trusted terms, which may lack tests that landed since.
    at_baseline: BTreeMap<String, (Earlier, BlobId)>,
    /// Checks that nothing was wrong with before any work.
    green_on_base: BTreeSet<String>,
}

impl EffectRequest {
    pub fn effect(&self) -> &Effect {
        &self.effect
    }

    /// Whether what earlier loops landed is not among what this one trusts.
    pub fn trusts_less_than_its_base(&self) -> bool {
        self.creation.trusted.as_ref().is_some_and(|trusted| *trusted != self.creation.base_tree)
    }

    /// False also where nobody has looked.
    pub fn was_green_on_base(&self, check: &str) -> bool {
        self.green_on_base.contains(check)
    }

    pub fn new(effect: &Effect, state: &State) -> Self {
        let role = match effect {
            Effect::CallAgent { role, .. } => Some(*role),
            Effect::MergeWork { .. }
            | Effect::PrepareWorkspace { .. }
            | Effect::Snapshot(_)
            | Effect::RunGate { .. }
            | Effect::Land { .. }
            | Effect::CheckStop { .. } => None,
        };
        let brief = role.map(|role| BriefSpec::of(state, role));
        let task = state.current_task();
        let task = task.and_then(|id| state.task(id));
        Self {
            effect: effect.clone(),
            creation: Arc::clone(&state.creation),
            policy: match state.judging_policy() {
                Cow::Borrowed(_) => Arc::clone(&state.policy),
                Cow::Owned(policy) => Arc::new(policy),
            },
            head: state.head.commit.clone(),
            base_tree: state.base().tree.clone(),
            brief,
            iteration: state.iterations,
            nth: task.map_or(state.reviews + 1, |task| task.attempts),
            wall_left: state.wall_left(),
            agent: role.map(|role| state.agent_in_use(role).into_owned()),
            resume: role.and_then(|role| state.session(role)).cloned(),
            spent: state.ledger.total,
            allow: match effect {
                Effect::RunGate { purpose: Purpose::Final, .. } | Effect::CheckStop { .. } => {
                    allowed_to_any(state)
                }
                Effect::RunGate { .. }
                | Effect::CallAgent { .. }
                | Effect::MergeWork { .. }
                | Effect::PrepareWorkspace { .. }
                | Effect::Snapshot(_)
                | Effect::Land { .. } => task.map_or_else(Vec::new, |task| task.task.allow.clone()),
            },
            files_read: task.and_then(|task| task.work.files_read),
            task: task.map(|task| Arc::clone(&task.task)),
            written_at_baseline: state.baseline_writes.iter().cloned().collect(),
            base_terms: state.baseline_terms.iter().cloned().collect(),
            earlier: earlier(effect, |check| state.tallies.earlier(check)),
            at_baseline: earlier(effect, |check| state.tallies.at_baseline(check)),
            green_on_base: state.baseline.iter().flat_map(|summary| summary.green()).collect(),
        }
    }
}

/// What some task may change is protected from none at the end.
fn allowed_to_any(state: &State) -> Vec<String> {
    state.tasks.iter().flat_map(|task| task.task.allow.iter().cloned()).collect()
}

/// The baseline is what others are compared with.
fn earlier<'s>(
    effect: &Effect,
    tests: impl Fn(&str) -> Option<(Earlier, &'s BlobId)>,
) -> BTreeMap<String, (Earlier, BlobId)> {
    let Effect::RunGate { purpose: Purpose::Task | Purpose::Final, checks, .. } = effect else {
        return BTreeMap::new();
    };
    let of = |check: &String| {
        let (with, names) = tests(check)?;
        Some((check.clone(), (with, names.clone())))
    };
    checks.iter().filter_map(of).collect()
}

type Performed = Result<Input, Fault>;

impl EffectResources {
    /// A new effect begins: whatever was asked of the last one is forgotten.
    pub fn begin(&self) {
        *lock(&self.stop) = Stop::default();
    }

    /// Asks what is being performed to end.
    pub fn stop(&self) {
        let mut stop = lock(&self.stop);
        stop.asked = true;
        if let Some(canceller) = &stop.canceller {
            canceller.cancel();
        }
    }

    /// Makes what follows from the policy anew where that has changed. Returns
    /// how programs are confined, where that is another way.
    pub fn follow(&mut self, policy: &Policy) -> Result<Option<ProvenSandbox>, Fault> {
        if self.safeguards.are_of(policy) {
            return Ok(None);
        }
        let machine = Machine {
            spawner: &self.spawner,
            surroundings: &self.surroundings,
            proofs: &self.dirs.proofs(),
            checkout: &self.dirs.checkout(&self.name),
        };
        let fresh = Safeguards::make(policy, &machine).map_err(|error| unavailable(&error))?;
        self.blobs = BlobStage::new(Arc::clone(&self.store), fresh.redactor.clone());
        let before = std::mem::replace(&mut self.safeguards, fresh);
        let proven = &self.safeguards.proven;
        Ok((before.proven != *proven).then(|| proven.clone()))
    }

    /// A program did not come up. That is no fault of it where the machine has changed since the level was
    /// proven: what is not true any more is forgotten, and the operator hears of it.
    fn level_still_holds(&self) -> Result<(), Fault> {
        confine::prove_again(self.safeguards.proven.level, &self.spawner, &self.dirs.proofs())
            .map_err(|detail| Fault { reason: Reason::SandboxUnavailable, detail })
    }

    pub fn perform(&self, request: EffectRequest) -> Input {
        test_point(request.effect.name());
        let performed = match &request.effect {
            Effect::MergeWork { task: _, base, work, head } => {
                merge::merge(self, merge::EarlierWork { base, work, head })
            }
            Effect::PrepareWorkspace { tree } => prepare::prepare(self, &request, tree),
            Effect::CallAgent { attempt, role, nonce } => {
                call::call(self, &request, call::Attempt { id: *attempt, role: *role, nonce })
            }
            Effect::Snapshot(snapshot) => snapshot::snapshot(self, &request, snapshot),
            Effect::RunGate { tree, trusted, regression: _, checks, purpose } => {
                let target = |tree, trial| gate::GateTarget { purpose: *purpose, trial, tree, checks };
                let trusted = trusted.as_ref().map(|tree| target(tree, Trial::TrustedTerms));
                gate::gate(self, &request, target(tree, Trial::Landing), trusted)
            }
            Effect::Land { commit, expected, title } => {
                land::land(self, &request, land::Landing { commit, expected: expected.as_ref(), title })
            }
            Effect::CheckStop { tree } => stop::check_stop(self, &request, tree),
        };
        let mut input = performed.unwrap_or_else(Input::EffectFailed);
        input.each_foreign_text(&mut |text| self.hide(text));
        input
    }

    fn hide(&self, text: &mut String) {
        if let Cow::Owned(clean) = self.safeguards.redactor.text(text) {
            *text = clean;
        }
    }

    /// Always false but in one build for tests.
    fn is_weak(&self, defence: Defence) -> bool {
        self.surroundings.is_weak(defence)
    }

    fn was_stopped(&self) -> bool {
        lock(&self.stop).asked
    }

    /// What nobody takes in time is in the record or in a transcript all the same.
    fn tell(&self, live: Live) {
        drop(self.live.try_send(live));
    }

    /// A process has started: from here on a stop reaches it.
    fn started(&self, canceller: Canceller) {
        let mut stop = lock(&self.stop);
        if stop.asked {
            canceller.cancel();
        }
        stop.canceller = Some(canceller);
    }
}

/// The policy changed into one that this machine cannot hold.
fn unavailable(error: &DriveLoopError) -> Fault {
    let words = std::iter::once(error.to_string()).chain(error.hints());
    Fault { reason: Reason::SandboxUnavailable, detail: words.collect::<Vec<_>>().join("; ") }
}

/// A poisoned lock only says that a performer panicked; what it guards is
/// checked before every use.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where a test may make an effect panic, wait or end this process; nothing
/// without the `failpoints` feature.
fn test_point(_name: &str) {
    fail::fail_point!(&format!("perform::{_name}"), |_| -> () { std::process::abort() });
}

/// A full disk is a pause with its own name; anything else is what it says.
fn fault(error: &(dyn std::error::Error + 'static)) -> Fault {
    let causes = std::iter::successors(Some(error), |cause| cause.source());
    let reason = if causes.into_iter().any(is_disk_full) { Reason::DiskFull } else { Reason::EffectFailed };
    Fault { reason, detail: error.to_string() }
}

fn is_disk_full(error: &(dyn std::error::Error + 'static)) -> bool {
    let io = error.downcast_ref::<io::Error>().is_some_and(|error| {
        matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
    });
    let blob = error.downcast_ref::<BlobError>().is_some_and(|error| {
        matches!(error, BlobError::Full { .. } | BlobError::Store(StoreError::Full { .. }))
    });
    io || blob || matches!(error.downcast_ref(), Some(StoreError::Full { .. }))
}

fn file_fault(path: &std::path::Path, error: &std::io::Error) -> Fault {
    let mut fault = fault(error);
    fault.detail = format!("{}: {error}", path.display());
    fault
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot do it")]
    struct Wrapped(#[source] io::Error);

    #[test]
    fn a_full_disk_is_known_by_the_kind_of_the_error() {
        let path = PathBuf::from("/v");
        let full: [&(dyn std::error::Error + 'static); 5] = [
            &io::Error::from(io::ErrorKind::StorageFull),
            &Wrapped(io::ErrorKind::QuotaExceeded.into()),
            &BlobError::Full { path: path.clone() },
            &BlobError::Store(StoreError::Full { path: path.clone() }),
            &StoreError::Full { path: path.clone() },
        ];
        for error in full {
            assert_eq!(fault(error).reason, Reason::DiskFull, "{error:?}");
        }
        let other: [&(dyn std::error::Error + 'static); 3] = [
            &io::Error::from(io::ErrorKind::NotFound),
            &io::Error::other("a check printed: No space left on device"),
            &StoreError::Stopped { path },
        ];
        for error in other {
            assert_eq!(fault(error).reason, Reason::EffectFailed, "{error:?}");
        }
    }
}
