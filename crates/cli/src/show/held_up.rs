//! Which tasks nobody can try, because one before them is blocked.

use std::collections::BTreeMap;

use windlass_core::id::TaskId;
use windlass_core::state::TaskStatus;
use windlass_core::view::TaskView;

/// The open tasks that wait for a blocked one, however many are between them, and for which. Each task is looked
/// at once: a plan may have thousands.
pub fn held_up(tasks: &[TaskView]) -> BTreeMap<&TaskId, &TaskId> {
    let mut found = BTreeMap::new();
    let blocked = tasks.iter().filter(|task| task.status == TaskStatus::Blocked).map(|task| &task.id);
    let mut reached: Vec<(&TaskId, &TaskId)> = blocked.map(|id| (id, id)).collect();
    if reached.is_empty() {
        return found;
    }
    let mut after: BTreeMap<&TaskId, Vec<&TaskId>> = BTreeMap::new();
    for task in tasks.iter().filter(|task| task.status.is_open()) {
        task.depends_on.iter().for_each(|id| after.entry(id).or_default().push(&task.id));
    }
    while let Some((id, blocked)) = reached.pop() {
        for task in after.get(id).into_iter().flatten() {
            if !found.contains_key(task) {
                found.insert(*task, blocked);
                reached.push((task, blocked));
            }
        }
    }
    found
}
