//! The proof of completion: what a loop's log says about how it was completed,
//! held against the vault and the operator's repository as they are now.
//! Reading only, but for a gate that is run again when asked.

mod grades;
mod history;
mod judged;
mod protection;
mod regression;
mod rerun;
mod rules;
mod scope;
mod steps;
mod stop;
mod terms;

use std::path::PathBuf;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use windlass_core::acceptance::CriterionAnswer;
use windlass_core::broken_tests::BrokenTests;
use windlass_core::finding::Severity;
use windlass_core::gate::Control;
use windlass_core::id::{AttemptId, BlobId, CommitId, FindingId, LoopName, TaskId, TreeId};
use windlass_core::outcome::Outcome;
use windlass_core::policy::ProvenSandbox;
use windlass_core::revision::KeyChange;
use windlass_core::state::TaskStatus;
use windlass_core::tally::{Names, Tally};
use windlass_core::time::{Millis, Timestamp};
use windlass_core::verdict::Verdict;
use windlass_store::{ReadStore, Store, VaultDir};
use windlass_workspace::{Repository, Vault};

use crate::project::Project;
use crate::repositories::{Repositories, RepositoriesError};
use crate::surroundings::Surroundings;
pub use grades::{Grade, GradeOf, Strength};
use history::RecordedLoop;

/// The version of this shape. It changes when a field changes its meaning.
pub const SCHEMA: &str = "windlass.proof.v1";

/// Whether and how a loop was proven complete. `windlass prove --json` prints it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Proof {
    pub schema: String,
    #[serde(rename = "loop")]
    pub name: LoopName,
    /// Every step holds.
    pub holds: bool,
    /// What was looked at, in order; a step that does not hold says why.
    pub steps: Vec<Step>,
    /// What stands behind the completion. Empty when the log cannot be read.
    pub grades: Vec<Grade>,
    /// What the log says. None when the log cannot be read.
    pub record: Option<CompletionRecord>,
    /// The gate's results now, when it was run again.
    pub rerun: Option<Vec<RerunCheck>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Step {
    pub step: StepName,
    pub holds: bool,
    /// What was found, or what does not hold.
    pub detail: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepName {
    /// The hash chain of the log, from its first record to its last.
    Log,
    /// The run ended completed.
    Outcome,
    /// By which policy it was judged, and since when. It always holds: a change is told, not a fault.
    Policy,
    /// The base is in the vault and in the repository, with its tree.
    Base,
    /// The landed commit is whole in the vault and leads back to the base.
    Commits,
    /// The loop's branch in the repository is the landed commit.
    Branch,
    /// The checks were green on exactly the landed tree.
    Gate,
    /// What the checks printed is what was recorded.
    Outputs,
    /// Every task was green on the tree it landed, but for those that were done before.
    Tasks,
    /// What landed was judged on trusted terms as well, wherever it changed any.
    Terms,
    /// Nothing that landed changed a path that was protected then.
    Protected,
    /// Where tasks have a scope: what each landed is within it.
    Scope,
    /// No bug is open.
    Findings,
    /// Reviewers accepted what landed.
    Reviews,
    /// For an open-ended loop: every stop check held on exactly the landed tree.
    Stop,
    /// The gate, run again, says the same.
    Rerun,
}

impl StepName {
    pub fn name(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Outcome => "outcome",
            Self::Policy => "policy",
            Self::Base => "base",
            Self::Commits => "commits",
            Self::Branch => "branch",
            Self::Gate => "gate",
            Self::Outputs => "outputs",
            Self::Tasks => "tasks",
            Self::Terms => "terms",
            Self::Protected => "protected",
            Self::Scope => "scope",
            Self::Findings => "findings",
            Self::Reviews => "reviews",
            Self::Stop => "stop",
            Self::Rerun => "rerun",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CompletionRecord {
    pub records: u64,
    pub events: u64,
    /// The hash of the last record, which covers all before it.
    pub head: String,
    pub outcome: Option<Outcome>,
    pub base: Point,
    /// None until something landed.
    pub landed: Option<Point>,
    pub branch: String,
    /// The policies of the loop, in order: that of its creation, and each that took its place.
    pub policies: Vec<PolicyProof>,
    /// The gate that judged the landed tree.
    pub gate: Gate,
    /// The last results of the final checks, on the landed tree.
    pub checks: Vec<Check>,
    pub tasks: Vec<TaskProof>,
    pub protected: Protected,
    /// The least that agents and checks were confined by, and what its self-test by attack showed.
    pub sandbox: ProvenSandbox,
    /// Every review on record, in order.
    pub reviews: Vec<ReviewProof>,
    /// Those still open.
    pub findings: Vec<OpenFinding>,
    /// Those that the operator decided to do without.
    pub waived: Vec<WaivedFinding>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Point {
    pub commit: CommitId,
    pub tree: TreeId,
}

/// A policy, and since when it was in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PolicyProof {
    /// The number of its event in `windlass log`.
    pub event: u64,
    pub at: Timestamp,
    /// What the operator changed.
    pub keys: Vec<KeyChange>,
    /// What judged before and does so no longer, in words.
    pub dropped: Vec<String>,
    pub gate: Gate,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Gate {
    /// The whole definition, as it is hashed.
    pub definition: String,
    /// BLAKE3 of the definition.
    pub hash: String,
    /// The checks of the final gate.
    pub checks: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Check {
    pub check: String,
    pub tree: TreeId,
    /// The number of its event in `windlass log`.
    pub event: u64,
    pub exit_code: Option<i32>,
    pub timed_out: bool,
    pub duration_ms: Millis,
    /// BLAKE3 of what it printed.
    pub output: BlobId,
    /// The run before it, where that was red and the policy allows another.
    pub first_try: Option<Try>,
    /// The same on trusted terms, where the work changed any.
    pub on_trusted_terms: Option<Try>,
    /// Its tests, where the policy names its junit files.
    pub tally: Option<Tally>,
    /// The command that must fail where it passes, where the policy gives one.
    pub control: Option<Control>,
    /// Its tests, where windlass broke them to see them turn red.
    pub broken_tests: Option<BrokenTests>,
    /// The same on trusted terms.
    pub broken_on_trusted_terms: Option<BrokenTests>,
    /// Whether it was watched for writes to what judges it.
    pub watched: bool,
    /// Why it is red, by its exit code, its tests or its control; empty when it is green.
    pub red: String,
    /// The waived finding that it is red by.
    pub waived: Option<FindingId>,
}

/// Another run of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Try {
    pub event: u64,
    pub exit_code: Option<i32>,
    pub timed_out: bool,
    pub output: BlobId,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TaskProof {
    pub id: TaskId,
    pub title: String,
    pub status: TaskStatus,
    /// It entered the loop as done: nothing of it is proven.
    pub done_before: bool,
    /// The operator's reason, where it was waived.
    pub why: String,
    pub commit: Option<CommitId>,
    pub tree: Option<TreeId>,
    pub checked: bool,
    pub reviewed: bool,
    /// Of a fix: its regression test, as windlass saw it; none where the operator waived that.
    pub regression: Option<RegressionProof>,
    /// What is known of each of its criteria: what the reviewer that accepted it answered, and which check
    /// of the criterion's own was green.
    pub acceptance: Vec<CriterionAnswer>,
    /// The hash of the gate that judged it; none where nothing did.
    pub gate: Option<String>,
    pub checks: Vec<Check>,
}

/// A check that was red without a fix because of a test that the fix adds, and green with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RegressionProof {
    pub check: String,
    /// The tests, where the policy names the check's junit files.
    pub tests: Names,
    /// What the fix began with, with the tests that it adds.
    pub tree: TreeId,
    /// The check on that tree.
    pub without_fix: Try,
    /// The same without the added tests.
    pub without_tests: Try,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Protected {
    /// BLAKE3 over the lines `<mode> <blob> <path>` of `files`.
    pub hash: String,
    /// The base's files that were protected to the end, and are in the landed tree as they were.
    pub files: Vec<ProtectedFile>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ProtectedFile {
    pub path: String,
    pub mode: String,
    pub blob: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReviewProof {
    pub attempt: AttemptId,
    pub iteration: u32,
    pub tree: TreeId,
    pub verdict: Verdict,
    /// Why there was no verdict to act on; empty when there was one.
    pub failure: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OpenFinding {
    pub id: FindingId,
    pub severity: Severity,
    pub description: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WaivedFinding {
    pub id: FindingId,
    /// None for one of the whole loop.
    pub task: Option<TaskId>,
    pub severity: Severity,
    pub description: String,
    /// The operator's reason.
    pub why: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RerunCheck {
    pub check: String,
    pub recorded: Option<i32>,
    pub exit_code: Option<i32>,
    pub timed_out: bool,
    pub duration_ms: Millis,
    /// Why it is red now; empty when it is green, or red by what was waived.
    pub red: String,
}

/// Whose proof, and where everything is.
pub struct ProofRequest {
    pub name: LoopName,
    pub project: Project,
    pub vault: VaultDir,
    pub surroundings: Surroundings,
    /// The gate runs once more, under the loop's lease of this store.
    pub rerun: Option<Arc<dyn Store>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rerun {
    Yes,
    No,
}

#[derive(Debug, thiserror::Error)]
pub enum ProveError {
    #[error(transparent)]
    Repositories(#[from] RepositoriesError),
    #[error("{} is gone: the loop's commits can no longer be looked at", path.display())]
    NoVault { path: PathBuf },
}

/// What the steps look at.
struct ProofSources<'a> {
    history: &'a RecordedLoop,
    reader: &'a dyn ReadStore,
    vault: &'a Vault,
    repository: &'a Repository,
}

/// What stands behind a completion, by the record alone; nothing is looked at anew.
pub fn grades_on_record(reader: &dyn ReadStore, request: &ProofRequest) -> Result<Vec<Grade>, ProveError> {
    let Ok(history) = RecordedLoop::read(reader, &request.name) else { return Ok(Vec::new()) };
    let Repositories { vault, .. } =
        Repositories::open(&request.surroundings, &request.project, &request.vault)?;
    Ok(grades::grades(&history, &history.record(&vault, Protected::default())))
}

/// Fails only where nothing could be looked at; what does not hold is in the proof.
pub fn prove(reader: &dyn ReadStore, request: &ProofRequest) -> Result<Proof, ProveError> {
    let history = match RecordedLoop::read(reader, &request.name) {
        Ok(history) => history,
        Err(why) => return Ok(unreadable(request.name.clone(), why)),
    };
    let path = request.vault.vault_git();
    if !path.join("HEAD").is_file() {
        return Err(ProveError::NoVault { path });
    }
    let Repositories { repository, vault, .. } =
        Repositories::open(&request.surroundings, &request.project, &request.vault)?;
    let sources = ProofSources { history: &history, reader, vault: &vault, repository: &repository };
    let protected = protection::protected_files(&sources);
    let mut steps = steps::check_all(&sources, protected.as_ref().map_err(String::as_str));
    let record = history.record(&vault, protected.unwrap_or_default());
    let rerun = match &request.rerun {
        Some(store) => {
            let (step, again) = rerun::rerun(request, store, &history, &record);
            steps.push(step);
            Some(again)
        }
        None => None,
    };
    Ok(Proof {
        schema: SCHEMA.to_owned(),
        name: request.name.clone(),
        holds: steps.iter().all(|step| step.holds),
        steps,
        grades: grades::grades(&history, &record),
        record: Some(record),
        rerun,
    })
}

fn unreadable(name: LoopName, why: String) -> Proof {
    let step = Step { step: StepName::Log, holds: false, detail: why };
    Proof {
        schema: SCHEMA.to_owned(),
        name,
        holds: false,
        steps: vec![step],
        grades: Vec::new(),
        record: None,
        rerun: None,
    }
}
