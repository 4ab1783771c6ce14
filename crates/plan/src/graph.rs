//! Which task waits for which: the order of a plan, how deep a task lies in
//! it, and the longest chain of work that is left. All in linear time, but for
//! the order, which sorts.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use windlass_core::id::TaskId;

use crate::link::Edge;
use crate::{Planned, PlannedTask};

/// The tasks of a plan as numbers, with their arrows in both directions.
pub struct TaskGraph<'a> {
    pub tasks: &'a [PlannedTask],
    /// For each task what it waits for, as positions in `tasks`.
    pub depends_on: Vec<Vec<usize>>,
    /// For each task what waits for it.
    pub dependants: Vec<Vec<usize>>,
}

impl<'a> TaskGraph<'a> {
    pub fn new(planned: &'a Planned) -> Self {
        let tasks = &planned.tasks[..];
        let index: BTreeMap<&TaskId, usize> =
            tasks.iter().enumerate().map(|(at, task)| (&task.id, at)).collect();
        let mut dependants = vec![Vec::new(); tasks.len()];
        let mut depends_on = Vec::with_capacity(tasks.len());
        for (at, task) in tasks.iter().enumerate() {
            let on: Vec<usize> = task.depends_on.iter().filter_map(|id| index.get(id).copied()).collect();
            on.iter().for_each(|on| dependants[*on].push(at));
            depends_on.push(on);
        }
        Self { tasks, depends_on, dependants }
    }

    /// The order in which tasks are taken when each is done at its first
    /// attempt: of those that are ready the lowest priority number, then plan
    /// order.
    pub fn order(&self) -> Vec<usize> {
        let mut waits: Vec<usize> = self.depends_on.iter().map(Vec::len).collect();
        let key = |at: usize| Reverse((self.tasks[at].priority, at));
        let mut ready: BinaryHeap<_> = (0..self.tasks.len()).filter(|at| waits[*at] == 0).map(key).collect();
        let mut order = Vec::with_capacity(self.tasks.len());
        while let Some(Reverse((_, at))) = ready.pop() {
            order.push(at);
            for next in &self.dependants[at] {
                waits[*next] -= 1;
                if waits[*next] == 0 {
                    ready.push(key(*next));
                }
            }
        }
        order
    }

    /// How many tasks must come before each one, one after the other: 0 for a
    /// task that depends on nothing.
    pub fn levels(&self) -> Vec<usize> {
        let mut levels = vec![0; self.tasks.len()];
        for at in self.order() {
            levels[at] = self.depends_on[at].iter().map(|on| levels[*on] + 1).max().unwrap_or(0);
        }
        levels
    }

    /// The longest chain of tasks that are not done, each waiting for the one
    /// before: no number of hands is faster. Of equals the first in the order.
    pub fn critical_path(&self, is_done: impl Fn(&TaskId) -> bool) -> Vec<usize> {
        let mut length = vec![0; self.tasks.len()];
        let mut before: Vec<Option<usize>> = vec![None; self.tasks.len()];
        let mut last: Option<usize> = None;
        for at in self.order() {
            if is_done(&self.tasks[at].id) {
                continue;
            }
            for on in &self.depends_on[at] {
                if length[*on] > 0 && before[at].is_none_or(|best| length[*on] > length[best]) {
                    before[at] = Some(*on);
                }
            }
            length[at] = before[at].map_or(1, |on| length[on] + 1);
            if last.is_none_or(|last| length[at] > length[last]) {
                last = Some(at);
            }
        }
        let mut path: Vec<usize> = std::iter::successors(last, |at| before[*at]).collect();
        path.reverse();
        path
    }
}

/// The circles among dependencies, each from its first task on; one task is in
/// at most one of them. Walks depth first with its own stack: a chain may be as
/// long as the plan.
pub(crate) fn circles(edges: &[Vec<Edge>]) -> Vec<Vec<usize>> {
    const NOT_OPEN: usize = usize::MAX;
    let mut found: Vec<Vec<usize>> = Vec::new();
    let mut seen = vec![false; edges.len()];
    let mut told = vec![false; edges.len()];
    let mut open_at = vec![NOT_OPEN; edges.len()];
    for start in 0..edges.len() {
        if seen[start] {
            continue;
        }
        let mut path: Vec<(usize, usize)> = vec![(start, 0)];
        seen[start] = true;
        open_at[start] = 0;
        while let Some((node, next)) = path.last_mut() {
            let Some(target) = edges[*node].get(*next).map(|edge| edge.on) else {
                open_at[*node] = NOT_OPEN;
                path.pop();
                continue;
            };
            *next += 1;
            if !seen[target] {
                seen[target] = true;
                open_at[target] = path.len();
                path.push((target, 0));
            } else if open_at[target] != NOT_OPEN && !path[open_at[target]..].iter().any(|(at, _)| told[*at])
            {
                let mut circle: Vec<usize> = path[open_at[target]..].iter().map(|(at, _)| *at).collect();
                circle.iter().for_each(|at| told[*at] = true);
                let first =
                    circle.iter().enumerate().min_by_key(|(_, at)| **at).map_or(0, |(place, _)| place);
                circle.rotate_left(first);
                found.push(circle);
            }
        }
    }
    found
}
