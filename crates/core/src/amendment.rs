//! A change of single tasks of a plan: what it makes of the plan, or why it makes no sense. Whoever wants it, the
//! operator or an agent, is held to the same rules.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::graph::{self, GraphError};
use crate::id::{BlobId, TaskId};
use crate::nearest::nearest;
use crate::proposal::ProposedPart;
use crate::task::{Plan, Task, usable_task_id};

/// The most parts that one task is split into.
pub const MAX_PARTS: usize = 20;
/// The longest title, in characters: it is the subject of a commit.
pub const MAX_TITLE: usize = 120;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum Amendment {
    Add {
        task: Box<Task>,
        place: Option<TaskPlace>,
    },
    /// What is none stays as it is.
    Edit {
        task: TaskId,
        title: Option<String>,
        text: Option<BlobId>,
        depends_on: Option<Vec<TaskId>>,
        priority: Option<i64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        allow: Option<Vec<String>>,
    },
    /// With `force` the tasks that depend on it do so no longer.
    Drop {
        task: TaskId,
        force: bool,
    },
    /// The parts follow one another, and who depended on the task depends on the last of them.
    Split {
        task: TaskId,
        parts: Vec<TaskPart>,
    },
    Move {
        task: TaskId,
        place: TaskPlace,
    },
}

impl Amendment {
    /// The tasks that it brings into the plan.
    pub fn added(&self) -> Vec<TaskId> {
        match self {
            Self::Add { task, .. } => vec![task.id.clone()],
            Self::Split { parts, .. } => parts.iter().map(|part| part.id.clone()).collect(),
            Self::Edit { .. } | Self::Drop { .. } | Self::Move { .. } => Vec::new(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskPart {
    pub id: TaskId,
    pub title: String,
    pub text: BlobId,
}

/// Among the tasks that are not done. It decides about tasks that could be done at the same time: one never comes
/// before what it depends on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskPlace {
    First,
    Before(TaskId),
    After(TaskId),
}

/// A task of the plan that is to change.
#[derive(Clone, Copy, Debug)]
pub struct AmendedTask<'a> {
    pub task: &'a Task,
    /// It is done or waived.
    pub is_settled: bool,
}

/// What decides about tasks of the same priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanOrder {
    /// The order in which the plan has them.
    AsWritten,
    /// The names of their files.
    ByFileName,
}

/// Why a plan cannot be amended so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AmendmentError {
    #[error("there is no task {task}")]
    UnknownTask { task: TaskId, nearest: Option<TaskId> },
    #[error("there is a task {0} already")]
    TaskExists(TaskId),
    #[error("{id:?} cannot be the id of a task: {why}")]
    BadId { id: String, why: &'static str },
    #[error("the title {why}")]
    BadTitle { why: &'static str },
    #[error("task {task} is done or waived, and stays on record")]
    Settled { task: TaskId },
    #[error("task {task} is done or waived: only another text opens it again")]
    SettledOrder { task: TaskId },
    #[error("{} on task {task}", waiting(.dependents))]
    HasDependents { task: TaskId, dependents: Vec<TaskId> },
    #[error("task {task} is the only one: a plan without a task proves nothing")]
    OnlyTask { task: TaskId },
    #[error("a task is split into 2 to {MAX_PARTS} parts, and not into {parts}")]
    BadParts { parts: usize },
    #[error("task {task} cannot come before or after itself")]
    BesideItself { task: TaskId },
    #[error("task {task} has all of this already")]
    NothingChanges { task: TaskId },
    #[error("there is no priority left for that place")]
    NoRoom,
    #[error(transparent)]
    Graph(#[from] GraphError),
}

impl AmendmentError {
    /// What the operator can do about it.
    pub fn remedy(&self) -> String {
        match self {
            Self::UnknownTask { nearest: Some(id), .. }
            | Self::Graph(GraphError::Missing { nearest: Some(id), .. }) => format!("did you mean {id}?"),
            Self::UnknownTask { nearest: None, .. }
            | Self::Graph(GraphError::Missing { nearest: None, .. }) => {
                "`windlass task list` lists the tasks".to_owned()
            }
            Self::TaskExists(id) => {
                format!("choose another with --id, or change it: `windlass task edit {id}`")
            }
            Self::BadId { .. } => "an id is a plain name, such as `parse-durations`".to_owned(),
            Self::BadTitle { .. } => {
                "a title is one line, such as \"Parse durations\"; the rest goes into --text".to_owned()
            }
            Self::Settled { .. } => {
                "add another task for what is still to do: `windlass task add \"TITLE\"`".to_owned()
            }
            Self::SettledOrder { task } => format!("`windlass task edit {task} --text TEXT` opens it again"),
            Self::HasDependents { task, .. } => {
                format!("`windlass task drop {task} --force` takes the dependency out of them as well")
            }
            Self::OnlyTask { .. } => "add another first: `windlass task add \"TITLE\"`".to_owned(),
            Self::BadParts { .. } => "give the title of each part, in their order".to_owned(),
            Self::BesideItself { .. } => "name another task, or --first".to_owned(),
            Self::NothingChanges { .. } => "`windlass task list` shows the tasks as they are".to_owned(),
            Self::NoRoom => "set the priorities yourself: `windlass task edit ID --priority N`".to_owned(),
            Self::Graph(GraphError::Cycle(_)) => "leave out one of these dependencies".to_owned(),
            Self::Graph(GraphError::Duplicate(_)) => "give each task an id of its own".to_owned(),
        }
    }
}

fn waiting(dependents: &[TaskId]) -> String {
    let names: Vec<&str> = dependents.iter().map(TaskId::as_str).collect();
    match names.as_slice() {
        [only] => format!("task {only} depends"),
        all => format!("tasks {} depend", all.join(", ")),
    }
}

/// The tasks as they are after the amendment; what else a plan has is the caller's.
pub fn amended(
    tasks: &[AmendedTask<'_>],
    amendment: &Amendment,
    order: PlanOrder,
) -> Result<Plan, AmendmentError> {
    let settled = tasks.iter().filter(|task| task.is_settled).map(|task| task.task.id.clone()).collect();
    let tasks = tasks.iter().map(|task| task.task.clone()).collect();
    let mut draft = Draft { tasks, settled, order };
    match amendment {
        Amendment::Add { task, place } => draft.add(task, place.as_ref())?,
        Amendment::Edit { task, title, text, depends_on, priority, allow } => {
            let mut after = draft.known(task)?.clone();
            after.title = title.clone().unwrap_or(after.title);
            if let Some(text) = text {
                (after.text, after.own_text) = (text.clone(), None);
            }
            after.depends_on = depends_on.clone().unwrap_or(after.depends_on);
            after.priority = priority.unwrap_or(after.priority);
            after.allow = allow.clone().unwrap_or(after.allow);
            draft.edit(after)?;
        }
        Amendment::Drop { task, force } => draft.drop_task(task, *force)?,
        Amendment::Split { task, parts } => draft.split(task, parts)?,
        Amendment::Move { task, place } => {
            let before = draft.tasks.clone();
            draft.open(task)?;
            draft.put(task, place)?;
            if draft.tasks == before {
                return Err(AmendmentError::NothingChanges { task: task.clone() });
            }
        }
    }
    draft.check()?;
    Ok(Plan { tasks: draft.tasks, ..Plan::default() })
}

struct Draft {
    /// In the order that decides about equal priorities.
    tasks: Vec<Task>,
    settled: BTreeSet<TaskId>,
    order: PlanOrder,
}

impl Draft {
    fn at(&self, id: &TaskId) -> Result<usize, AmendmentError> {
        let unknown = || AmendmentError::UnknownTask {
            task: id.clone(),
            nearest: nearest(id.as_str(), self.tasks.iter().map(|task| task.id.as_str())).map(TaskId::new),
        };
        self.tasks.iter().position(|task| task.id == *id).ok_or_else(unknown)
    }

    fn known(&self, id: &TaskId) -> Result<&Task, AmendmentError> {
        self.at(id).map(|at| &self.tasks[at])
    }

    /// A task that is still to be done.
    fn open(&self, id: &TaskId) -> Result<usize, AmendmentError> {
        let at = self.at(id)?;
        match self.settled.contains(id) {
            true => Err(AmendmentError::Settled { task: id.clone() }),
            false => Ok(at),
        }
    }

    fn add(&mut self, task: &Task, place: Option<&TaskPlace>) -> Result<(), AmendmentError> {
        self.insert(self.tasks.len(), task.clone())?;
        place.map_or(Ok(()), |place| self.put(&task.id, place))
    }

    fn insert(&mut self, at: usize, task: Task) -> Result<(), AmendmentError> {
        let bad_id = |why| AmendmentError::BadId { id: task.id.to_string(), why };
        usable_new_id(task.id.as_str()).map_err(bad_id)?;
        check_title(&task.title)?;
        if self.tasks.iter().any(|known| known.id == task.id) {
            return Err(AmendmentError::TaskExists(task.id));
        }
        self.tasks.insert(at, task);
        if self.order == PlanOrder::ByFileName {
            self.tasks.sort_by_cached_key(|task| format!("{}.md", task.id).into_bytes());
        }
        Ok(())
    }

    fn edit(&mut self, after: Task) -> Result<(), AmendmentError> {
        check_title(&after.title)?;
        let at = self.at(&after.id)?;
        let before = std::mem::replace(&mut self.tasks[at], after);
        let after = &self.tasks[at];
        if before == *after {
            return Err(AmendmentError::NothingChanges { task: before.id });
        }
        if before.text == after.text && self.settled.contains(&before.id) {
            return Err(AmendmentError::SettledOrder { task: before.id });
        }
        self.settled.remove(&before.id);
        Ok(())
    }

    fn drop_task(&mut self, id: &TaskId, force: bool) -> Result<(), AmendmentError> {
        let at = self.open(id)?;
        let waits = |task: &&Task| task.depends_on.contains(id) && task.id != *id;
        let dependents: Vec<TaskId> = self.tasks.iter().filter(waits).map(|task| task.id.clone()).collect();
        if !dependents.is_empty() && !force {
            return Err(AmendmentError::HasDependents { task: id.clone(), dependents });
        }
        if self.tasks.len() == 1 {
            return Err(AmendmentError::OnlyTask { task: id.clone() });
        }
        self.tasks.remove(at);
        self.tasks.iter_mut().for_each(|task| task.depends_on.retain(|on| on != id));
        Ok(())
    }

    /// What must hold for the whole is asked of the last part.
    fn split(&mut self, id: &TaskId, parts: &[TaskPart]) -> Result<(), AmendmentError> {
        let at = self.open(id)?;
        let [.., last] = parts else { return Err(AmendmentError::BadParts { parts: 0 }) };
        if !(2..=MAX_PARTS).contains(&parts.len()) {
            return Err(AmendmentError::BadParts { parts: parts.len() });
        }
        let whole = self.tasks.remove(at);
        for task in &mut self.tasks {
            task.depends_on.iter_mut().filter(|on| *on == id).for_each(|on| *on = last.id.clone());
        }
        let mut follows = whole.depends_on.clone();
        for (nth, part) in parts.iter().enumerate() {
            let mut task = Task {
                id: part.id.clone(),
                title: part.title.clone(),
                text: part.text.clone(),
                own_text: None,
                depends_on: std::mem::replace(&mut follows, vec![part.id.clone()]),
                ..whole.clone()
            };
            if part.id != last.id {
                task.acceptance.clear();
                task.criterion_checks.clear();
            }
            self.insert(at + nth, task)?;
        }
        Ok(())
    }

    /// Gives a task the priority of that place; of the tasks after it, those that would come before it then get a
    /// higher number.
    fn put(&mut self, id: &TaskId, place: &TaskPlace) -> Result<(), AmendmentError> {
        let own = self.at(id)?;
        let mut line: Vec<usize> = (0..self.tasks.len())
            .filter(|at| *at != own && !self.settled.contains(&self.tasks[*at].id))
            .collect();
        line.sort_by_key(|at| (self.tasks[*at].priority, *at));
        let nth = |beside: &TaskId| {
            if beside == id {
                return Err(AmendmentError::BesideItself { task: id.clone() });
            }
            let at = self.open(beside)?;
            Ok(line.iter().position(|other| *other == at).unwrap_or(line.len()))
        };
        let nth = match place {
            TaskPlace::First => 0,
            TaskPlace::Before(beside) => nth(beside)?,
            TaskPlace::After(beside) => nth(beside)? + 1,
        };
        let key = |at: usize| (self.tasks[at].priority, at);
        let fits = nth.checked_sub(1).is_none_or(|before| key(line[before]) < key(own))
            && line.get(nth).is_none_or(|next| key(own) < key(*next));
        if fits {
            return Ok(());
        }
        match nth.checked_sub(1) {
            None => {
                let next = line[0];
                let least = self.tasks[next].priority;
                let below = if own < next { Some(least) } else { least.checked_sub(1) };
                self.tasks[own].priority = below.ok_or(AmendmentError::NoRoom)?;
                Ok(())
            }
            Some(before) => {
                let mut last = line[before];
                self.follow(&mut last, own)?;
                for at in line.into_iter().skip(nth) {
                    if (self.tasks[at].priority, at) > (self.tasks[last].priority, last) {
                        break;
                    }
                    self.follow(&mut last, at)?;
                }
                Ok(())
            }
        }
    }

    /// The lowest priority with which a task comes after the last one.
    fn follow(&mut self, last: &mut usize, at: usize) -> Result<(), AmendmentError> {
        let least = self.tasks[*last].priority;
        let next = if at > *last { Some(least) } else { least.checked_add(1) };
        self.tasks[at].priority = next.ok_or(AmendmentError::NoRoom)?;
        *last = at;
        Ok(())
    }

    fn check(&self) -> Result<(), AmendmentError> {
        let waits = |task: &Task| {
            let depends_on =
                if self.settled.contains(&task.id) { Vec::new() } else { task.depends_on.clone() };
            (task.id.clone(), depends_on)
        };
        Ok(graph::check(&self.tasks.iter().map(waits).collect::<Vec<_>>())?)
    }
}

/// A file whose name starts with a dot is hidden, a word that starts with a dash is an option.
fn usable_new_id(id: &str) -> Result<(), &'static str> {
    usable_task_id(id)?;
    if id.starts_with(['.', '-']) { Err("it starts with a dot or a dash") } else { Ok(()) }
}

pub(crate) fn check_title(title: &str) -> Result<(), AmendmentError> {
    let bad = |why| Err(AmendmentError::BadTitle { why });
    if title.trim().is_empty() {
        bad("is empty")
    } else if title.contains(char::is_control) {
        bad("has a line break or another control character in it")
    } else if title.chars().count() > MAX_TITLE {
        bad("is longer than 120 characters")
    } else {
        Ok(())
    }
}

/// The text of a task; one with a heading of its own stays as it is.
pub fn task_body(title: &str, text: &str) -> String {
    let text = text.trim();
    match text.starts_with('#') {
        true => format!("{text}\n"),
        false => format!("# {title}\n\n{text}").trim_end().to_owned() + "\n",
    }
}

/// A task that is split.
#[derive(Clone, Copy, Debug)]
pub struct WholeTask<'a> {
    pub title: &'a str,
    pub text: &'a str,
    pub parts: &'a [ProposedPart],
}

/// What the author of one part is told. What is said of the whole stands between fences: no heading and no mark in
/// it is the part's own. The last part answers for all of it, so that nothing is lost by a split.
pub fn part_text(whole: &WholeTask<'_>, nth: usize) -> String {
    let WholeTask { title, text, parts } = *whole;
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    let row = |(number, part): (usize, &ProposedPart)| {
        let this = if number == nth + 1 { " (this part)" } else { "" };
        format!("{number}. {}{this}\n", part.title.trim())
    };
    let list: String = (1..).zip(parts).map(row).collect();
    let own = match parts[nth].text.trim() {
        "" => String::new(),
        text => format!("{text}\n\n"),
    };
    let asked = match nth + 1 == parts.len() {
        true => "It is the last: after it, everything that the whole task asks for must hold.",
        false => "Do this part only.",
    };
    format!(
        "# {}\n\n{own}This is part {} of {} of “{title}”. {asked}\n\n{list}\nThe whole task, as context:\n\n\
         {fence}markdown\n{}\n{fence}\n",
        parts[nth].title.trim(),
        nth + 1,
        parts.len(),
        text.trim()
    )
}

/// The tasks that one waits for although its place is before them: dependencies decide first.
pub fn waits_for(tasks: &[Task], id: &TaskId) -> BTreeSet<TaskId> {
    let on: BTreeMap<&TaskId, &[TaskId]> =
        tasks.iter().map(|task| (&task.id, &task.depends_on[..])).collect();
    let mut found = BTreeSet::new();
    let mut due: Vec<&TaskId> = vec![id];
    while let Some(next) = due.pop() {
        for dependency in on.get(next).copied().unwrap_or_default() {
            if found.insert(dependency.clone()) {
                due.push(dependency);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests;
