//! What the operator wants done: a plan is a list of tasks that may depend on
//! one another.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::{BlobId, TaskId};

/// One node of a plan, as the operator wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Task {
    pub id: TaskId,
    pub title: String,
    /// The whole text, kept as a blob: briefs quote it in full.
    pub text: BlobId,
    pub depends_on: Vec<TaskId>,
    /// Lower goes first.
    pub priority: i64,
    /// Globs of paths the operator lets this task change although they are protected.
    pub allow: Vec<String>,
    /// Names of the checks that judge this task; empty means every check.
    pub checks: Vec<String>,
    pub acceptance: Vec<String>,
    /// It was done before windlass came: nothing of it is proven.
    #[serde(default, skip_serializing_if = "is_false")]
    pub done_before: bool,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// The tasks in plan order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    pub tasks: Vec<Task>,
}
