//! A change of what a loop is made of, after it was created: its plan and its
//! policy. What needs the machine to be checked (agents, files), whoever proposes
//! it has checked as for a new loop; the rest is checked by `step`.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::TaskId;
use crate::policy::Policy;
use crate::state::{State, TaskState};
use crate::task::{Plan, Task};

/// What is to be another from here on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Revision {
    pub plan: Option<Plan>,
    pub policy: Option<PolicyRevision>,
}

impl Revision {
    pub fn is_empty(&self) -> bool {
        self.plan.is_none() && self.policy.is_none()
    }
}

/// Another policy, and how it differs, key by key as the operator writes them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyRevision {
    /// One more than the changes its proposer knew of (`View::policy_changes`):
    /// of two proposals made of the same policy, the second is refused.
    pub number: u32,
    pub keys: Vec<KeyChange>,
    pub policy: Policy,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeyChange {
    pub key: String,
    pub before: String,
    pub after: String,
}

/// How a plan differs from the one before it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanRevision {
    pub added: Vec<Task>,
    pub removed: Vec<TaskId>,
    pub changed: Vec<TaskRevision>,
    /// Every task of the plan, in its order.
    pub order: Vec<TaskId>,
    /// Of those changed, which were done and are to be done again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reopened: Vec<TaskId>,
    /// Of those changed, which were open and are done by the operator's word.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub called_done: Vec<TaskId>,
    /// The programs of the plan, where they changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<ToolsChange>,
}

/// The programs that a plan lets an author of windlass's own run, before and after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolsChange {
    pub before: Vec<String>,
    pub after: Vec<String>,
}

impl ToolsChange {
    /// Both lists in words.
    pub fn words(&self) -> (String, String) {
        let list = |tools: &[String]| if tools.is_empty() { "none".to_owned() } else { tools.join(", ") };
        (list(&self.before), list(&self.after))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskRevision {
    pub before: Task,
    pub after: Task,
}

impl PlanRevision {
    /// How to get from the plan of a loop to that one. What was done or waived stays in the plan although it is no
    /// longer written there; what was done is opened again where it asks for something else.
    pub fn between(state: &State, plan: &Plan) -> Self {
        let tasks = &*state.tasks;
        let old: BTreeMap<&TaskId, &TaskState> = tasks.iter().map(|task| (&task.task.id, task)).collect();
        let mut revision = Self::default();
        for task in &plan.tasks {
            revision.order.push(task.id.clone());
            match old.get(&task.id) {
                None => revision.added.push(task.clone()),
                Some(known) if *known.task != *task => {
                    if !known.stays_settled(task) && known.is_settled() {
                        revision.reopened.push(task.id.clone());
                    }
                    if task.done_before && !known.is_settled() {
                        revision.called_done.push(task.id.clone());
                    }
                    let (before, after) = (known.task.as_ref().clone(), task.clone());
                    revision.changed.push(TaskRevision { before, after });
                }
                Some(_) => {}
            }
        }
        let written: BTreeSet<&TaskId> = plan.tasks.iter().map(|task| &task.id).collect();
        for known in tasks.iter().filter(|known| !written.contains(&known.task.id)) {
            match known.is_settled() {
                true => revision.order.push(known.task.id.clone()),
                false => revision.removed.push(known.task.id.clone()),
            }
        }
        let (before, after) = (&*state.tools, &plan.tools);
        revision.tools =
            (before != after).then(|| ToolsChange { before: before.clone(), after: after.clone() });
        revision
    }

    pub fn is_empty(&self, order: &[TaskId]) -> bool {
        let same_tasks = self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty();
        same_tasks && self.order == order && self.tools.is_none()
    }
}
