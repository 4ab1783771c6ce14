//! An amendment that an agent proposes. It is a claim: it waits for the operator, unless the policy lets it be
//! applied, and an agent alone never takes anything out of a plan.

use std::collections::BTreeSet;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::amendment::{Amendment, AmendmentError, TaskPart, check_title};
use crate::id::{AmendmentId, AttemptId, BlobId, TaskId};
use crate::task::{Task, task_slug};

/// The most that is taken from one report.
pub const MAX_PROPOSED: usize = 5;
/// The most that wait for the operator; more are not heard.
pub const MAX_WAITING: usize = 50;
/// The most that one loop applies by itself: those after it wait for the operator.
pub const MAX_APPLIED: usize = 20;

/// What becomes of the amendments that agents propose: `plan.amendments`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AmendmentRule {
    /// They wait for the operator.
    #[default]
    Ask,
    /// What only adds to the plan is applied; the rest waits.
    Apply,
    Ignore,
}

impl AmendmentRule {
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProposedAction {
    Add,
    Edit,
    Drop,
    Split,
}

impl ProposedAction {
    pub fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Edit => "edit",
            Self::Drop => "drop",
            Self::Split => "split",
        }
    }
}

/// In the agent's words; what it does not say is empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProposedAmendment {
    pub action: ProposedAction,
    /// The task it is about; of one to be added, the id it is to have.
    #[serde(default)]
    pub task: String,
    #[serde(default)]
    pub title: String,
    #[serde(default)]
    pub text: String,
    #[serde(default)]
    pub depends_on: Vec<String>,
    #[serde(default)]
    pub parts: Vec<ProposedPart>,
    pub why: String,
    /// The texts of the tasks that it would add, where they are stored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stored: Vec<BlobId>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProposedPart {
    pub title: String,
    #[serde(default)]
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AmendmentAnswer {
    /// The policy let it.
    Applied,
    /// By the operator.
    Accepted,
    Rejected,
    /// It makes no sense in the plan.
    Refused,
}

impl AmendmentAnswer {
    pub fn name(self) -> &'static str {
        match self {
            Self::Applied => "applied",
            Self::Accepted => "accepted",
            Self::Rejected => "rejected",
            Self::Refused => "refused",
        }
    }
}

/// A proposal and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AmendmentState {
    pub id: AmendmentId,
    pub attempt: AttemptId,
    pub proposed: Arc<ProposedAmendment>,
    /// None while it waits.
    pub answer: Option<AmendmentAnswer>,
    /// The tasks that it added, where the loop applied it.
    pub added: Vec<TaskId>,
}

impl ProposedAmendment {
    /// Whether it says the same, whatever its reason.
    pub fn is_same(&self, other: &Self) -> bool {
        let words = |of: &Self| Self { why: String::new(), stored: Vec::new(), ..of.clone() };
        words(self) == words(other)
    }

    /// What it is about, in a few words.
    pub fn subject(&self) -> String {
        let titles: Vec<&str> = self.parts.iter().map(|part| part.title.as_str()).collect();
        match self.action {
            ProposedAction::Add => self.title.clone(),
            ProposedAction::Edit if self.title.is_empty() => self.task.clone(),
            ProposedAction::Edit => format!("{} (“{}”)", self.task, self.title),
            ProposedAction::Drop => self.task.clone(),
            ProposedAction::Split => format!("{} into {}", self.task, titles.join(", ")),
        }
    }

    /// Of a new title that no task can have. Nobody could accept it.
    pub fn bad_title(&self) -> Option<AmendmentError> {
        let titles: Vec<&str> = match self.action {
            ProposedAction::Add => vec![&self.title],
            ProposedAction::Edit if self.title.is_empty() => Vec::new(),
            ProposedAction::Edit => vec![&self.title],
            ProposedAction::Drop => Vec::new(),
            ProposedAction::Split => self.parts.iter().map(|part| &*part.title).collect(),
        };
        titles.into_iter().find_map(|title| check_title(title).err())
    }

    /// The ids that its tasks would have, unless others have them.
    pub fn would_add(&self) -> Vec<TaskId> {
        match self.action {
            ProposedAction::Add if self.task.is_empty() => task_slug(&self.title).into_iter().collect(),
            ProposedAction::Add => vec![TaskId::new(&self.task)],
            ProposedAction::Split => (1..=self.parts.len()).map(|nth| part_id(&self.task, nth)).collect(),
            ProposedAction::Edit | ProposedAction::Drop => Vec::new(),
        }
    }

    /// The amendment that a loop may apply without the operator: it only adds, and its texts are stored.
    pub fn applicable(&self, taken: &BTreeSet<TaskId>) -> Option<Amendment> {
        match self.action {
            ProposedAction::Add => {
                let [text] = &self.stored[..] else { return None };
                let id =
                    if self.task.is_empty() { free_id(&self.title, taken) } else { TaskId::new(&self.task) };
                let depends_on = self.depends_on.iter().map(TaskId::new).collect();
                let task = Task { depends_on, ..Task::plain(id, self.title.clone(), text.clone()) };
                Some(Amendment::Add { task: Box::new(task), place: None })
            }
            ProposedAction::Split => {
                if self.stored.is_empty() || self.stored.len() != self.parts.len() {
                    return None;
                }
                let part = |(number, (part, text)): (usize, (&ProposedPart, &BlobId))| TaskPart {
                    id: part_id(&self.task, number),
                    title: part.title.clone(),
                    text: text.clone(),
                };
                let parts = (1..).zip(self.parts.iter().zip(&self.stored)).map(part).collect();
                Some(Amendment::Split { task: TaskId::new(&self.task), parts })
            }
            ProposedAction::Edit | ProposedAction::Drop => None,
        }
    }
}

fn part_id(whole: &str, number: usize) -> TaskId {
    TaskId::new(format!("{whole}-{number}"))
}

fn free_id(title: &str, taken: &BTreeSet<TaskId>) -> TaskId {
    let first = task_slug(title).unwrap_or_else(|| TaskId::new("task"));
    let numbered = |n: u32| TaskId::new(format!("{first}-{n}"));
    let mut ids = std::iter::once(first.clone()).chain((2..).map(numbered));
    ids.find(|id| !taken.contains(id)).expect("there are fewer tasks than numbers")
}
