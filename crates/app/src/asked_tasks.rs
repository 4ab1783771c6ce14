//! Whether the tasks that a drive is asked for are there, and may be begun. It is
//! looked at before anything is started.

use windlass_core::id::TaskId;
use windlass_core::input::Asked;
use windlass_core::nearest::nearest;
use windlass_core::state::TaskStatus;
use windlass_core::view::{TaskView, View};
use windlass_plan::Planned;

use crate::AppError;
use crate::create::RunRequest;

/// Of a loop that is on record.
pub fn check_known(asked: &Asked, view: &View) -> Result<(), AppError> {
    let tasks: Vec<PlannedState> = view.tasks.iter().map(PlannedState::of).collect();
    check(asked, &tasks, view.name.as_str())
}

/// Of a plan that no loop has yet.
pub fn check_planned(request: &RunRequest, planned: &Planned) -> Result<(), AppError> {
    let tasks = planned.tasks.iter().map(|task| PlannedState {
        id: &task.id,
        depends_on: &task.depends_on,
        status: if task.done { TaskStatus::Done } else { TaskStatus::Pending },
    });
    let tasks: Vec<PlannedState> = tasks.collect();
    let name = request.name.as_ref().map(|name| format!("--name {name}")).unwrap_or_default();
    check(&request.asked, &tasks, &name)
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

/// `words` name the loop after `windlass run`.
fn check(asked: &Asked, tasks: &[PlannedState], words: &str) -> Result<(), AppError> {
    let find = |id: &TaskId| tasks.iter().find(|task| task.id == id);
    for wanted in asked.task.iter().chain(&asked.until) {
        if find(wanted).is_none() {
            return Err(unknown(wanted, tasks));
        }
    }
    let Some(task) = asked.task.as_ref().and_then(find).filter(|task| !task.is_done()) else { return Ok(()) };
    let run = format!("windlass run {words}");
    let run = run.trim_end();
    let undone = |id: &&TaskId| find(id).is_none_or(|needed| !needed.is_done());
    let needed: Vec<&TaskId> = task.depends_on.iter().filter(undone).collect();
    let Some(first) = needed.first() else { return Ok(()) };
    let listed: Vec<&str> = needed.iter().map(|id| id.as_str()).collect();
    let refused =
        AppError::refused(format!("task {} cannot start: it waits for {}", task.id, listed.join(", ")));
    let blocked = needed.iter().find(|id| find(id).is_some_and(|task| task.status == TaskStatus::Blocked));
    Err(match blocked {
        Some(blocked) => refused
            .hint(format!("`windlass show {words} {blocked}` says why {blocked} is blocked"))
            .hint(format!("`windlass unblock {words} {blocked}` lets it be tried again")),
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
