//! What happened: the only way anything reaches the core.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::command::Command;
use crate::finding::Evidence;
use crate::gate::GateReport;
use crate::id::{BlobId, CommandId, CommitId, EffectId, LoopName, Nonce, TaskId, TreeId};
use crate::outcome::Fault;
use crate::policy::{Policy, ProvenSandbox};
use crate::stop::StopResult;
use crate::summary::Summary;
use crate::task::Plan;
use crate::time::{Millis, Timestamp};
use crate::usage::{ModelUsage, Session, Usage};
use crate::verdict::{Claim, NoVerdict, Review};

/// An input with what the core may not make itself: times and a fresh random
/// text.
#[derive(Clone, Debug)]
pub struct Stamped<T> {
    pub at: Timestamp,
    /// Monotonic time since the last input of this drive; nothing for its first.
    pub elapsed: Millis,
    pub fresh: Nonce,
    /// The effect this input closes, for inputs that answer one.
    pub closes: Option<EffectId>,
    pub what: T,
}

#[derive(Clone, Debug)]
pub enum Input {
    /// The operator drives the loop: a first time, again, or after a crash.
    RunAsked(Asked),
    WorkMerged(Box<WorkMerge>),
    WorkspaceReady,
    AgentFinished(Box<AgentFinished>),
    Snapshotted(Box<Snapshotted>),
    GateReported(GateReport),
    Landed,
    /// Each stop check of the policy was looked at, in order.
    StopChecked(Vec<StopResult>),
    /// The driver could not perform the effect.
    EffectFailed(Fault),
    /// The effect was never started, and the run is ending.
    EffectDropped,
    Commanded {
        id: CommandId,
        command: Command,
    },
    /// A command that another version sent and this one does not know.
    UnreadableCommand {
        id: CommandId,
        why: String,
    },
    /// The clock reached `State::next_deadline`.
    DeadlinePassed,
    /// A signal asked the driver to stop.
    Interrupted {
        signal: String,
    },
    /// A record found no room; what it would have said is lost, and this one
    /// took the reserve.
    StoreFull {
        detail: String,
    },
}

/// Everything a loop is made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Creation {
    pub name: LoopName,
    pub goal: String,
    pub plan: Plan,
    pub policy: Policy,
    pub base: CommitId,
    pub base_tree: TreeId,
    /// The tree whose terms are trusted at the start. Loops of before windlass
    /// judged on trusted terms have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trusted: Option<TreeId>,
    pub branch: String,
    pub workspace: String,
}

/// What one drive of the loop is to do; the default is all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Asked {
    /// Only this task.
    pub task: Option<TaskId>,
    /// Stop when this task is done.
    pub until: Option<TaskId>,
    /// Stop after this many iterations; 0 is no such wish.
    pub max: u32,
    pub no_review: bool,
    /// One iteration for each task, whatever comes of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub once: bool,
    /// How its programs are confined, as it was proven just before.
    #[serde(default)]
    pub sandbox: ProvenSandbox,
}

/// An attempt ended: the adapter's record of it, and what only a decision needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentFinished {
    pub result: AttemptResult,
    pub report: Report,
    /// Whether the workspace differs from what a reviewer was given.
    pub tree_changed: bool,
    /// How it differs.
    pub left: Vec<Evidence>,
}

/// How a note ends that says that a program's own rules are off. They are in every attempt, so it is told only
/// with the attempt itself.
pub const CONFINED: &str = "off: windlass confines it";

/// How an attempt went, as its adapter saw it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttemptResult {
    pub end: AttemptEnd,
    /// The program and its version, where they are known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub agent: String,
    /// None when the agent did not say.
    pub usage: Option<Usage>,
    /// The same by model, where the agent said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<ModelUsage>,
    /// The conversation that a later attempt may go on with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Session>,
    #[serde(default, skip_serializing_if = "Summary::is_empty")]
    pub summary: Summary,
    /// The agent's last words, bounded.
    pub message: String,
    pub transcript: Option<BlobId>,
    pub brief: Option<BlobId>,
    /// What a reviewer wrote as its report, or another whose report was not taken; bounded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<BlobId>,
    pub duration_ms: Millis,
    /// How many different files it read; none where its stream does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files_read: Option<u64>,
    /// Processes it left behind, ended by windlass.
    pub strays: u32,
    /// What windlass saw of the attempt: limits that were reached, connections that were refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl AgentFinished {
    /// An attempt of which nothing is known but how it ended.
    pub fn ended(end: AttemptEnd) -> Self {
        Self {
            result: AttemptResult::ended(end),
            report: Report::None,
            tree_changed: false,
            left: Vec::new(),
        }
    }
}

impl AttemptResult {
    /// Of an attempt of which nothing else is known.
    pub fn ended(end: AttemptEnd) -> Self {
        Self {
            end,
            agent: String::new(),
            usage: None,
            models: Vec::new(),
            session: None,
            summary: Summary::default(),
            message: String::new(),
            transcript: None,
            brief: None,
            report: None,
            duration_ms: Millis(0),
            files_read: None,
            strays: 0,
            notes: Vec::new(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    None,
    Author(Claim),
    Review(Result<Review, NoVerdict>),
}

/// The class of an attempt's end, decided by its adapter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AttemptEnd {
    Normal,
    RateLimited {
        retry_at: Option<Timestamp>,
    },
    UsageLimit {
        reset_at: Timestamp,
    },
    Overloaded,
    Network,
    Killed,
    Auth {
        what: String,
    },
    ModelNotFound {
        what: String,
    },
    ContextOverflow,
    Refused {
        what: String,
    },
    Crashed {
        what: String,
    },
    TimedOut,
    Stalled,
    Protocol {
        what: String,
    },
    Budget,
    /// The driver stopped it: a signal or a cancel.
    Interrupted,
    /// The driver died while it ran.
    Lost,
    /// windlass itself failed at it; the fault says how.
    Faulted(Fault),
}

impl AttemptEnd {
    /// A failure of the provider that does not carry the provider's own words.
    pub fn is_wordless(&self) -> bool {
        match self {
            Self::RateLimited { .. } | Self::UsageLimit { .. } | Self::Overloaded | Self::Network => true,
            Self::Normal
            | Self::Killed
            | Self::Auth { .. }
            | Self::ModelNotFound { .. }
            | Self::ContextOverflow
            | Self::Refused { .. }
            | Self::Crashed { .. }
            | Self::TimedOut
            | Self::Stalled
            | Self::Protocol { .. }
            | Self::Budget
            | Self::Interrupted
            | Self::Lost
            | Self::Faulted(_) => false,
        }
    }
}

/// The workspace after an attempt, every process of which is dead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshotted {
    pub commit: CommitId,
    pub tree: TreeId,
    /// The tree with protected paths as in the base: what the gate judges and
    /// the next iteration starts from.
    pub gate_tree: TreeId,
    /// Its product on trusted terms, where that is another tree.
    pub trusted_tree: Option<TreeId>,
    /// The terms that it changes.
    pub changed_terms: PathList,
    /// The protected files that it adds, or adds lines to.
    pub added_tests: PathList,
    /// Of a fix: what it began with, with the tests that it adds; none where it adds none.
    pub with_tests: Option<TreeId>,
    /// Whether the trusted tree has a protected file of the project's own: a
    /// test, or what runs one.
    pub has_tests: bool,
    pub change: Change,
    /// Only white space differs from the tree this iteration started from.
    pub whitespace_only: bool,
    pub evidence: Vec<Evidence>,
}

impl Snapshotted {
    /// A tree of which nothing else is told: all of it is product.
    pub fn of(commit: CommitId, tree: TreeId) -> Self {
        Self {
            commit,
            gate_tree: tree.clone(),
            tree,
            trusted_tree: None,
            changed_terms: PathList::default(),
            added_tests: PathList::default(),
            with_tests: None,
            has_tests: true,
            change: Change::default(),
            whitespace_only: false,
            evidence: Vec::new(),
        }
    }
}

/// What became of earlier work that was to come onto another head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkMerge {
    Clean {
        tree: TreeId,
        /// Against that head.
        change: Change,
    },
    NotMerged(UnmergedWork),
}

/// Earlier work that does not go together with what landed since.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnmergedWork {
    /// What it changed is all that is between these two.
    pub base: TreeId,
    pub work: TreeId,
    /// The files in conflict; none where git could not merge at all.
    pub conflicts: PathList,
    /// Why git could not merge at all; empty otherwise.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub failure: String,
    /// How many files the work changes.
    pub files: u64,
}

impl UnmergedWork {
    pub fn words(&self) -> String {
        match self.failure.is_empty() {
            true => format!("conflicts in {}", self.conflicts.words()),
            false => format!("cannot be merged: {}", self.failure),
        }
    }
}

/// What a task changed so far, bounded lists with the true counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    pub files: u64,
    pub created: Vec<String>,
    pub edited: Vec<String>,
    pub deleted: Vec<String>,
}

/// Paths of a change, a bounded list with the true count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PathList {
    pub count: u64,
    pub paths: Vec<String>,
}

impl PathList {
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The first few, and how many more there are.
    pub fn words(&self) -> String {
        const SHOWN: usize = 5;
        let shown = self.paths.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
        match self.count.saturating_sub(SHOWN as u64) {
            0 => shown,
            more => format!("{shown} and {more} more"),
        }
    }
}

impl Input {
    pub fn name(&self) -> &'static str {
        match self {
            Self::RunAsked(_) => "run_asked",
            Self::WorkMerged(_) => "work_merged",
            Self::WorkspaceReady => "workspace_ready",
            Self::AgentFinished(_) => "agent_finished",
            Self::Snapshotted(_) => "snapshotted",
            Self::GateReported(_) => "gate_reported",
            Self::Landed => "landed",
            Self::StopChecked(_) => "stop_checked",
            Self::EffectFailed(_) => "effect_failed",
            Self::EffectDropped => "effect_dropped",
            Self::Commanded { .. } => "commanded",
            Self::UnreadableCommand { .. } => "unreadable_command",
            Self::DeadlinePassed => "deadline_passed",
            Self::Interrupted { .. } => "interrupted",
            Self::StoreFull { .. } => "store_full",
        }
    }
}
