//! Another plan or policy, into state.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::id::TaskId;
use crate::outcome::Reason;
use crate::revision::{PlanRevision, PolicyRevision, Revision};
use crate::state::{State, TaskState, TaskStatus, Work};
use crate::task::Task;

pub(super) fn fresh_task(task: &Task) -> TaskState {
    let blocked = Some(Reason::BlockedBefore).filter(|_| task.blocked_before && !task.done_before);
    let status = match (task.done_before, blocked) {
        (true, _) => TaskStatus::Done,
        (false, Some(_)) => TaskStatus::Blocked,
        (false, None) => TaskStatus::Pending,
    };
    TaskState {
        task: Arc::new(task.clone()),
        status,
        reason: blocked,
        words: blocked.map_or("", Reason::words).to_owned(),
        attempts: 0,
        failures: 0,
        no_progress: 0,
        rejections: task.rejected_before,
        steps: 0,
        commit: None,
        reviewed: false,
        checked: false,
        work: Arc::default(),
    }
}

/// One that was done, and is to be done again: what was before windlass is long past.
fn reopened_task(task: &Task) -> TaskState {
    let begun = Task { blocked_before: false, rejected_before: 0, ..task.clone() };
    TaskState { task: Arc::new(task.clone()), ..fresh_task(&begun) }
}

/// One that was open, and is done by the operator's word. What it has cost stays.
fn done_task(known: &TaskState, task: &Task) -> TaskState {
    TaskState { attempts: known.attempts, ..fresh_task(task) }
}

/// What was done stays done, unless it is opened again.
pub(super) fn plan_changed(state: &mut State, revision: &PlanRevision) {
    Arc::make_mut(&mut state.revision).plan = None;
    forget_criterion_checks(state, revision);
    if let Some(tools) = &revision.tools {
        state.tools = Arc::new(tools.after.clone());
    }
    let tasks = Arc::make_mut(&mut state.tasks);
    tasks.retain(|task| !revision.removed.contains(&task.task.id));
    for changed in &revision.changed {
        if let Some(task) = tasks.iter_mut().find(|task| task.task.id == changed.after.id) {
            let is_in = |list: &[TaskId]| list.contains(&changed.after.id);
            match (is_in(&revision.reopened), is_in(&revision.called_done)) {
                (true, _) => *task = reopened_task(&changed.after),
                (false, true) => *task = done_task(task, &changed.after),
                (false, false) => task.task = Arc::new(changed.after.clone()),
            }
        }
    }
    tasks.extend(revision.added.iter().map(fresh_task));
    let order: BTreeMap<&TaskId, usize> =
        revision.order.iter().enumerate().map(|(place, id)| (id, place)).collect();
    tasks.sort_by_key(|task| order.get(&task.task.id).copied());
    state.places = Arc::new(places(tasks));
}

/// Of two with the same id the first is meant.
pub(super) fn places(tasks: &[TaskState]) -> BTreeMap<TaskId, usize> {
    tasks.iter().enumerate().rev().map(|(place, task)| (task.task.id.clone(), place)).collect()
}

/// Results and counts of another gate say nothing about this one; an agent that
/// was replaced, or spoken with, may be another now.
pub(super) fn policy_changed(state: &mut State, revision: &PolicyRevision) {
    Arc::make_mut(&mut state.revision).policy = None;
    let before = std::mem::replace(&mut state.policy, Arc::new(revision.policy.clone()));
    if !before.has_gate_of(&state.policy) {
        state.gates = Arc::default();
        state.tallies = Arc::default();
        state.baseline_writes = Arc::default();
        state.baseline_terms = Arc::default();
        state.baseline = None;
        forget_gates(Arc::make_mut(&mut state.whole));
        let tasks = Arc::make_mut(&mut state.tasks);
        tasks.iter_mut().for_each(|task| forget_gates(Arc::make_mut(&mut task.work)));
    }
    if before.stop != state.policy.stop {
        state.stop = None;
    }
    if !before.judges_as(&state.policy) {
        state.judged_by.get_or_insert(before);
    }
    state.policy_changes = revision.number;
    state.run.replaced.clear();
    state.run.sessions.clear();
}

fn forget_gates(work: &mut Work) {
    work.gate = None;
    work.previous_gate = None;
    work.insensitive.clear();
}

/// A later wish replaces an earlier one of the same kind.
pub(super) fn revision_kept(state: &mut State, revision: &Revision) {
    let kept = Arc::make_mut(&mut state.revision);
    kept.plan = revision.plan.clone().or(kept.plan.take());
    kept.policy = revision.policy.clone().or(kept.policy.take());
    if let Some(policy) = &revision.policy {
        state.policy_changes = policy.number;
    }
}

/// A check of a criterion has its name of the task, whatever its command is now.
fn forget_criterion_checks(state: &mut State, revision: &PlanRevision) {
    let changed = revision.changed.iter().flat_map(|of| [&of.before, &of.after]);
    let gone = revision.removed.iter().filter_map(|id| state.task(id)).map(|task| &*task.task);
    let stale: Vec<String> = changed.chain(gone).flat_map(Task::criterion_check_names).collect();
    if !stale.is_empty() {
        let gates = Arc::make_mut(&mut state.gates);
        gates.retain(|key, _| !key.checks.iter().any(|check| stale.contains(check)));
    }
}
