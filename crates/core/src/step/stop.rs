//! An open-ended loop: the task of its plan lands step by step, and after each
//! step windlass looks at the stop checks. Nothing that an agent says ends the
//! loop or keeps it going.

use super::{Draft, last, run};
use crate::effect::Effect;
use crate::event::TaskEvent;
use crate::gate::FailingCheck;
use crate::id::TreeId;
use crate::outcome::Reason;
use crate::state::{State, TaskState, TaskStatus, Work};
use crate::stop::StopResult;

/// Whether the next step waits for a look at the branch's head. Before the first
/// step that is the base: a loop whose end is reached makes no step.
pub(super) fn is_due(state: &State) -> bool {
    let unsettled = |task: &TaskState| matches!(task.status, TaskStatus::Pending | TaskStatus::Active);
    state.repeating_task().is_some_and(unsettled) && !is_known(state)
}

/// Whether something landed after the task was done: a fix, or a finisher's change.
pub(super) fn is_due_at_the_end(state: &State) -> bool {
    state.repeating_task().is_some_and(|task| task.status == TaskStatus::Done) && !is_known(state)
}

fn is_known(state: &State) -> bool {
    state.stop.as_ref().is_some_and(|stop| stop.tree == state.head.tree)
}

pub(super) fn check(draft: &mut Draft) {
    let tree = draft.state.head.tree.clone();
    draft.perform(Effect::CheckStop { tree });
}

pub(super) fn checked(draft: &mut Draft, tree: TreeId, results: &[StopResult]) {
    let Some(task) = draft.state.repeating_task().cloned() else { return run::choose(draft) };
    let holds = draft.state.policy().stop.holds(results);
    let id = task.task.id.clone();
    draft.emit(TaskEvent::StopChecked { task: id.clone(), tree, holds, results: results.to_vec() });
    if draft.state.cancelling {
        return run::end_cancelled(draft);
    }
    match (task.status, holds) {
        (TaskStatus::Done, true) => return last::complete(draft),
        (TaskStatus::Done, false) => draft.emit(TaskEvent::Reopened { task: id }),
        (TaskStatus::Pending | TaskStatus::Active, true) => settle(draft, &task),
        (TaskStatus::Pending | TaskStatus::Active, false) | (TaskStatus::Blocked | TaskStatus::Waived, _) => {
        }
    }
    run::choose(draft);
}

/// The end is reached: by steps that landed, or before there was any.
fn settle(draft: &mut Draft, task: &TaskState) {
    let (id, reviewed, checked) = (task.task.id.clone(), task.reviewed, task.checked);
    draft.emit(match task.commit.clone() {
        Some(commit) => TaskEvent::Done { task: id, commit, reviewed, checked },
        None => TaskEvent::Blocked {
            task: id,
            reason: Reason::NothingChanged,
            words: "every stop check holds already: there is no step to make".to_owned(),
        },
    });
}

/// Whether the last look at this work found that it is not one step.
pub(super) fn is_no_step(state: &State, work: &Work) -> bool {
    let gate = &state.policy().gate;
    let of_step = |failing: &FailingCheck| gate.is_step_check(&failing.check);
    work.gate.as_ref().is_some_and(|last| last.failing.iter().any(of_step))
}
