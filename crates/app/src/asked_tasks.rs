//! Whether the tasks that a drive is asked for are there, and may be begun. It is
//! looked at before anything is started.

use std::convert::Infallible;

use windlass_core::id::{BlobId, TaskId};
use windlass_core::input::Asked;
use windlass_core::nearest::nearest;
use windlass_core::policy::Policy;
use windlass_core::state::TaskStatus;
use windlass_core::task::{Task, TaskMode};
use windlass_core::view::{TaskView, View};
use windlass_plan::{Planned, PlannedTask};

use crate::AppError;
use crate::create::RunRequest;

/// A task that explores is done by a reviewer's word alone. Who has just switched reviews off is told before an
/// agent is called.
pub fn check_explorers<'a>(
    asked: &Asked,
    policy: &Policy,
    mut open: impl Iterator<Item = (&'a TaskId, TaskMode)>,
) -> Result<(), AppError> {
    if policy.review.tasks && !asked.no_review {
        return Ok(());
    }
    let is_asked = |id: &TaskId| asked.task.as_ref().is_none_or(|only| only == id);
    let Some((id, _)) = open.find(|(id, mode)| *mode == TaskMode::Explore && is_asked(id)) else {
        return Ok(());
    };
    let refused = AppError::refused(format!(
        "task {id} has the mode explore: without a reviewer nobody could say that it is done"
    ));
    Err(refused.hint(reviews_on(asked)).hint("or let the task have another mode"))
}

fn reviews_on(asked: &Asked) -> &'static str {
    match asked.no_review {
        true => "leave out --no-review",
        false => "set `review.tasks = true` in windlass.toml (with --set for this loop)",
    }
}

/// The open tasks that neither a check nor a review could prove. Each costs an attempt before it is blocked: where
/// nothing else is to be done, that is refused.
pub fn unprovable<'a>(
    asked: &Asked,
    policy: &Policy,
    open: impl Iterator<Item = &'a Task>,
) -> Result<Vec<TaskId>, AppError> {
    if policy.review.tasks && !asked.no_review {
        return Ok(Vec::new());
    }
    let is_asked = |task: &&Task| asked.task.as_ref().is_none_or(|only| *only == task.id);
    let (unproven, provable): (Vec<&Task>, Vec<&Task>) =
        open.filter(is_asked).partition(|task| policy.gate.checks_for(Some(task)).is_empty());
    match unproven.first() {
        Some(first) if provable.is_empty() => {
            let tasks = counted_tasks(&first.id, unproven.len());
            Err(AppError::refused(format!("neither a check nor a review can prove {tasks}"))
                .hint("add a [[gate.check]] to windlass.toml: a command that exits 0 when the work is done")
                .hint(format!("or leave it to a reviewer: {}", reviews_on(asked))))
        }
        Some(_) | None => Ok(unproven.into_iter().map(|task| task.id.clone()).collect()),
    }
}

/// So many tasks, by the first of them.
pub fn counted_tasks(first: &TaskId, all: usize) -> String {
    match all.saturating_sub(1) {
        0 => format!("task {first}"),
        more => format!("task {first} and {more} more"),
    }
}

/// The tasks of a plan that no loop has yet.
pub fn unprovable_of_plan(
    asked: &Asked,
    policy: &Policy,
    planned: &Planned,
) -> Result<Vec<TaskId>, AppError> {
    // What a task says decides nothing here.
    let of_core = |task: &PlannedTask| task.clone().into_task(|_| Ok::<_, Infallible>(BlobId::new("")));
    let tasks = planned.tasks.iter().filter(|task| !task.done && !task.blocked).flat_map(of_core);
    unprovable(asked, policy, tasks.collect::<Vec<Task>>().iter())
}

/// Each open task of a plan that no reviewer would look at under this policy, though only a reviewer could.
pub fn unreviewed(policy: &Policy, planned: &Planned) -> Vec<AppError> {
    let refused = |task: &PlannedTask| {
        let mode = task.mode.as_ref()?;
        let open = std::iter::once((&task.id, TaskMode::from(mode.value.clone())));
        let refused = check_explorers(&Asked::default(), policy, open).err()?;
        Some(AppError { message: format!("{}: {}", task.place_of(mode), refused.message), ..refused })
    };
    planned.tasks.iter().filter(|task| !task.done && !task.blocked).filter_map(refused).collect()
}

/// Of a loop that is on record.
pub fn check_known(asked: &Asked, view: &View) -> Result<(), AppError> {
    let tasks: Vec<PlannedState> = view.tasks.iter().map(PlannedState::of).collect();
    check(asked, &tasks, &AskedLoop::Known(view.name.as_str()))
}

/// Of a plan that no loop has yet.
pub fn check_planned(request: &RunRequest, planned: &Planned) -> Result<(), AppError> {
    let tasks = planned.tasks.iter().map(|task| PlannedState {
        id: &task.id,
        depends_on: &task.depends_on,
        status: match (task.done, task.blocked) {
            (true, _) => TaskStatus::Done,
            (false, true) => TaskStatus::Blocked,
            (false, false) => TaskStatus::Pending,
        },
    });
    let tasks: Vec<PlannedState> = tasks.collect();
    let name = request.name.as_ref().map(|name| format!("--name {name}")).unwrap_or_default();
    check(&request.asked, &tasks, &AskedLoop::New(&name))
}

/// Which loop the operator would go on with, as the words after `windlass run`.
enum AskedLoop<'a> {
    Known(&'a str),
    /// No command but `run` knows it yet.
    New(&'a str),
}

impl AskedLoop<'_> {
    fn run(&self) -> String {
        let (Self::Known(words) | Self::New(words)) = self;
        format!("windlass run {words}").trim_end().to_owned()
    }

    /// What lets a task be done that waits for a blocked one.
    fn hints_of_blocked(&self, task: &TaskId, blocked: &TaskId) -> [String; 2] {
        match self {
            Self::Known(name) => [
                format!("`windlass show {name} {blocked}` says why {blocked} is blocked"),
                format!("`windlass unblock {name} {blocked}` lets it be tried again"),
            ],
            Self::New(_) => [
                format!("the plan says that {blocked} is blocked; look there, and take it back if it is not"),
                format!("`{} --retry-blocked --until {task}` tries what is blocked, too", self.run()),
            ],
        }
    }
}

/// What matters of a task here.
struct PlannedState<'a> {
    id: &'a TaskId,
    depends_on: &'a [TaskId],
    status: TaskStatus,
}

impl<'a> PlannedState<'a> {
    fn of(task: &'a TaskView) -> Self {
        Self { id: &task.id, depends_on: &task.depends_on, status: task.status }
    }

    fn is_done(&self) -> bool {
        matches!(self.status, TaskStatus::Done | TaskStatus::Waived)
    }
}

fn check(asked: &Asked, tasks: &[PlannedState], of: &AskedLoop<'_>) -> Result<(), AppError> {
    let find = |id: &TaskId| tasks.iter().find(|task| task.id == id);
    for wanted in asked.task.iter().chain(&asked.until) {
        if find(wanted).is_none() {
            return Err(unknown(wanted, tasks));
        }
    }
    let Some(task) = asked.task.as_ref().and_then(find).filter(|task| !task.is_done()) else { return Ok(()) };
    let run = of.run();
    let undone = |id: &&TaskId| find(id).is_none_or(|needed| !needed.is_done());
    let needed: Vec<&TaskId> = task.depends_on.iter().filter(undone).collect();
    let Some(first) = needed.first() else { return Ok(()) };
    let listed: Vec<&str> = needed.iter().map(|id| id.as_str()).collect();
    let refused =
        AppError::refused(format!("task {} cannot start: it waits for {}", task.id, listed.join(", ")));
    let blocked = needed.iter().find(|id| find(id).is_some_and(|task| task.status == TaskStatus::Blocked));
    Err(match blocked {
        Some(blocked) => refused.with_hints(of.hints_of_blocked(task.id, blocked).to_vec()),
        None => {
            let refused = refused.hint(format!("`{run} --until {}` does those first", task.id));
            let is_ready = find(first).is_some_and(|of| !of.depends_on.iter().any(|id| undone(&id)));
            match is_ready {
                true => refused.hint(format!("`{run} --task {first}` does {first} only")),
                false => refused,
            }
        }
    })
}

fn unknown(wanted: &TaskId, tasks: &[PlannedState]) -> AppError {
    let names: Vec<&str> = tasks.iter().map(|task| task.id.as_str()).collect();
    let refused = AppError::refused(format!("there is no task {wanted}"));
    let refused = match nearest(wanted.as_str(), names.iter().copied()) {
        Some(meant) => refused.hint(format!("did you mean {meant}?")),
        None => refused,
    };
    refused.hint(format!("the tasks are: {}", names.join(", ")))
}
