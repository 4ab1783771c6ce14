//! What the operator wants done: a plan is a list of tasks that may depend on
//! one another.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::acceptance::CriterionCheck;
use crate::id::{BlobId, LoopName, TaskId};
use crate::plain::shell_word;
use crate::scope::OwnScope;

/// The id of the only task of a loop whose plan is one sentence.
pub const GOAL_TASK: &str = "goal";

/// How the operator lets a task change protected paths: a line of its file, or a command where it has none.
pub fn how_to_allow(name: &LoopName, task: Option<&TaskId>, paths: &[String]) -> String {
    if task.is_some_and(|task| task.as_str() == GOAL_TASK) {
        let options: String = paths.iter().map(|path| format!(" --allow {}", shell_word(path))).collect();
        return format!("allow it: `windlass task edit {name} {GOAL_TASK}{options}`");
    }
    format!("let the task file say: allow: {paths:?}")
}

/// One node of a plan, as the operator wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Task {
    pub id: TaskId,
    pub title: String,
    /// The whole text, kept as a blob: briefs quote it in full.
    pub text: BlobId,
    /// The part of the text that is the task's own, where the rest is said of all tasks of the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_text: Option<BlobId>,
    pub depends_on: Vec<TaskId>,
    /// Lower goes first.
    pub priority: i64,
    /// Globs of paths the operator lets this task change although they are protected.
    pub allow: Vec<String>,
    /// Names of the checks that judge this task; empty means every check.
    pub checks: Vec<String>,
    pub acceptance: Vec<String>,
    /// Of the criteria that bring a command which shows whether they hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub criterion_checks: Vec<CriterionCheck>,
    #[serde(default, skip_serializing_if = "TaskMode::is_default")]
    pub mode: TaskMode,
    #[serde(default, skip_serializing_if = "OwnScope::is_default")]
    pub scope: OwnScope,
    /// It was done before windlass came: nothing of it is proven.
    #[serde(default, skip_serializing_if = "is_false")]
    pub done_before: bool,
    /// It was blocked before windlass came: a person is to look at it first.
    #[serde(default, skip_serializing_if = "is_false")]
    pub blocked_before: bool,
    /// How often it was rejected before windlass came.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rejected_before: u32,
}

impl Task {
    /// Whether somebody who has done this task has not done that one. What is said of the whole plan asks
    /// nothing of a task that is done.
    pub fn asks_otherwise(&self, other: &Self) -> bool {
        let own = |task: &Self| task.own_text.as_ref().unwrap_or(&task.text).clone();
        let same_text = self.text == other.text || own(self) == own(other);
        !same_text || self.acceptance != other.acceptance
    }

    /// Whether somebody who has read this task has not read that one.
    pub fn reads_otherwise(&self, other: &Self) -> bool {
        self.text != other.text || self.acceptance != other.acceptance
    }

    /// Whether it may be begun when the other may, and is worked on in the same way.
    pub fn is_begun_as(&self, other: &Self) -> bool {
        let begin = |task: &Self| (task.blocked_before, task.done_before, task.mode.clone());
        self.depends_on == other.depends_on && begin(self) == begin(other)
    }

    /// A task of which nothing else is said.
    pub fn plain(id: TaskId, title: String, text: BlobId) -> Self {
        Self {
            id,
            title,
            text,
            own_text: None,
            depends_on: Vec::new(),
            priority: 0,
            allow: Vec::new(),
            checks: Vec::new(),
            acceptance: Vec::new(),
            criterion_checks: Vec::new(),
            mode: TaskMode::Implement,
            scope: OwnScope::default(),
            done_before: false,
            blocked_before: false,
            rejected_before: 0,
        }
    }
}

/// What kind of work a task is: which words its agents are given, and which limits hold for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "String", into = "String")]
#[schemars(with = "String")]
pub enum TaskMode {
    #[default]
    Implement,
    /// It changes nothing: its product is a report.
    Explore,
    /// It mends a defect, and is done only with a test that fails without it.
    Fix,
    /// One of the operator's.
    Own(String),
}

impl TaskMode {
    pub fn name(&self) -> &str {
        match self {
            Self::Implement => "implement",
            Self::Explore => "explore",
            Self::Fix => "fix",
            Self::Own(name) => name,
        }
    }

    fn is_default(&self) -> bool {
        *self == Self::Implement
    }
}

impl From<String> for TaskMode {
    fn from(name: String) -> Self {
        match name.as_str() {
            "" | "implement" => Self::Implement,
            "explore" => Self::Explore,
            "fix" => Self::Fix,
            _ => Self::Own(name),
        }
    }
}

impl From<TaskMode> for String {
    fn from(mode: TaskMode) -> Self {
        mode.name().to_owned()
    }
}

fn is_false(flag: &bool) -> bool {
    !flag
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// Why a text cannot be the id of a task. It names files and branches too.
pub fn usable_task_id(id: &str) -> Result<(), &'static str> {
    const LONGEST: usize = 250;
    if id.is_empty() {
        Err("it is empty")
    } else if id.contains(char::is_control) {
        Err("it has a control character in it")
    } else if id.trim() != id {
        Err("it starts or ends with a blank")
    } else if id.contains('/') {
        Err("it has a slash in it")
    } else if id.len() > LONGEST {
        Err("it is longer than 250 bytes")
    } else {
        Ok(())
    }
}

/// The words of a title as an id: `Parse durations!` is `parse-durations`.
/// None where it has no letter and no digit.
pub fn task_slug(title: &str) -> Option<TaskId> {
    const LONGEST: usize = 60;
    let mut id = String::new();
    let words = title.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    for word in words.map(str::to_lowercase) {
        if !id.is_empty() && id.chars().count() + 1 + word.chars().count() > LONGEST {
            break;
        }
        if !id.is_empty() {
            id.push('-');
        }
        id.extend(word.chars().take(LONGEST));
    }
    (!id.is_empty()).then(|| TaskId::new(id))
}

/// What a plan is for that does not say so itself.
pub fn goal_of_titles<'a>(titles: impl Iterator<Item = &'a str>) -> String {
    match &titles.collect::<Vec<_>>()[..] {
        [] => String::new(),
        [only] => (*only).to_owned(),
        all @ [first, .., last] => format!("{} tasks, from “{first}” to “{last}”", all.len()),
    }
}

/// The tasks in plan order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    pub tasks: Vec<Task>,
    /// The programs that the plan lets an author of windlass's own run. Another agent has its own rules.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_gives_an_id() {
        let shown = |title: &str| task_slug(title).map(|id| id.to_string());
        assert_eq!(shown("Phase 1: Parse `durations`!").as_deref(), Some("phase-1-parse-durations"));
        assert_eq!(shown("Größe — テスト").as_deref(), Some("größe-テスト"));
        assert_eq!(shown("…!").as_deref(), None);
        assert!(shown(&"word ".repeat(40)).is_some_and(|id| id.len() <= 60 && !id.ends_with('-')));
        assert_eq!(shown(&"x".repeat(99)).map(|id| id.len()), Some(60));
    }
}
