//! What the core asks the driver to do. An effect is stored before it is
//! performed and closed by exactly one input.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::gate::Purpose;
use crate::id::{AttemptId, CommitId, EffectId, Nonce, TaskId, TreeId};
use crate::policy::Role;
use crate::regression::RegressionTrial;

/// An effect with the id that its closing input names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Issued {
    pub id: EffectId,
    pub effect: Effect,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Effect {
    /// Put what changed from `base` to `work` on top of `head`, for the next
    /// iteration of this task, or of the whole.
    MergeWork { task: Option<TaskId>, base: TreeId, work: TreeId, head: TreeId },
    /// Bring the author's workspace to exactly this tree.
    PrepareWorkspace { tree: TreeId },
    /// Run one attempt. The brief is drawn from the state when it starts.
    CallAgent { attempt: AttemptId, role: Role, nonce: Nonce },
    /// Record the workspace's tree as a commit in the vault.
    Snapshot(Snapshot),
    /// Run checks on a clean checkout of this tree, and where that is another
    /// one, on its product with trusted terms. For a fix, also without the fix.
    RunGate {
        purpose: Purpose,
        tree: TreeId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trusted: Option<TreeId>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        regression: Option<RegressionTrial>,
        checks: Vec<String>,
    },
    /// Put a commit on the loop's branch, which must be at `expected`.
    Land { commit: CommitId, expected: Option<CommitId>, title: String },
    /// Look at every stop check, once, on this tree.
    CheckStop { tree: TreeId },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Snapshot {
    pub attempt: AttemptId,
    pub task: Option<TaskId>,
    /// The commit's parent: the head the task stands on.
    pub parent: CommitId,
    /// The tree this iteration started from, for measuring its change.
    pub from: TreeId,
    /// The tree the task started from: protected paths are restored from the
    /// base, changes are counted against this.
    pub base: TreeId,
    /// The tree whose terms are trusted, where it is not `base`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trusted: Option<TreeId>,
    pub title: String,
    /// Seconds since 1970: the same commit comes out however often it is made.
    pub date: i64,
}

impl Effect {
    pub fn name(&self) -> &'static str {
        match self {
            Self::MergeWork { .. } => "merge_work",
            Self::PrepareWorkspace { .. } => "prepare_workspace",
            Self::CallAgent { .. } => "call_agent",
            Self::Snapshot(_) => "snapshot",
            Self::RunGate { .. } => "run_gate",
            Self::Land { .. } => "land",
            Self::CheckStop { .. } => "check_stop",
        }
    }

    /// Whether a run that is being cancelled may leave it undone. What an author
    /// left must be recorded, and a landing that may have happened must be known.
    pub fn may_be_dropped(&self) -> bool {
        match self {
            Self::MergeWork { .. }
            | Self::PrepareWorkspace { .. }
            | Self::CallAgent { .. }
            | Self::RunGate { .. }
            | Self::CheckStop { .. } => true,
            Self::Snapshot(_) | Self::Land { .. } => false,
        }
    }

    /// Whether it cannot be done again once its driver died: an attempt that
    /// was running is never adopted and never repeated under the same id.
    pub fn dies_with_its_driver(&self) -> bool {
        match self {
            Self::CallAgent { .. } => true,
            Self::MergeWork { .. }
            | Self::PrepareWorkspace { .. }
            | Self::Snapshot(_)
            | Self::RunGate { .. }
            | Self::Land { .. }
            | Self::CheckStop { .. } => false,
        }
    }
}
