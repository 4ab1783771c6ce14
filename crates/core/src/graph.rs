//! Which task waits for which. A plan is refused before its first attempt when
//! its tasks can never all become ready.

use std::collections::{BTreeMap, BTreeSet};

use crate::id::TaskId;
use crate::nearest::nearest;

/// Why a set of tasks is not a plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GraphError {
    /// Each task waits for the next one, and the last for the first; one task
    /// alone waits for itself.
    #[error("tasks depend on one another in a circle: {}", arrows(.0))]
    Cycle(Vec<TaskId>),
    #[error("task {task} depends on {dependency}, which is not in the plan")]
    Missing { task: TaskId, dependency: TaskId, nearest: Option<TaskId> },
    #[error("two tasks have the id {0}")]
    Duplicate(TaskId),
}

/// Whether every task can become ready. The tasks are in plan order, each with
/// what it depends on; the first fault in that order is the one reported.
pub fn check(tasks: &[(TaskId, Vec<TaskId>)]) -> Result<(), GraphError> {
    let mut index: BTreeMap<&TaskId, usize> = BTreeMap::new();
    for (at, (id, _)) in tasks.iter().enumerate() {
        if index.insert(id, at).is_some() {
            return Err(GraphError::Duplicate(id.clone()));
        }
    }
    let mut edges: Vec<Vec<usize>> = Vec::with_capacity(tasks.len());
    for (task, dependencies) in tasks {
        let mut out = Vec::with_capacity(dependencies.len());
        for dependency in dependencies {
            let Some(at) = index.get(dependency) else {
                return Err(missing(task, dependency, tasks));
            };
            out.push(*at);
        }
        edges.push(out);
    }
    match find_cycle(&edges) {
        Some(cycle) => Err(GraphError::Cycle(cycle.into_iter().map(|at| tasks[at].0.clone()).collect())),
        None => Ok(()),
    }
}

/// `a → b → a`, as an operator reads it; the middle of a long one is left out.
pub fn arrows(cycle: &[TaskId]) -> String {
    const SHOWN: usize = 12;
    let mut names: Vec<String> = cycle.iter().take(SHOWN).map(TaskId::to_string).collect();
    if cycle.len() > SHOWN {
        names.push(format!("({} more)", cycle.len() - SHOWN));
    }
    names.extend(cycle.first().map(TaskId::to_string));
    names.join(" → ")
}

fn missing(task: &TaskId, dependency: &TaskId, tasks: &[(TaskId, Vec<TaskId>)]) -> GraphError {
    let others = tasks.iter().map(|(id, _)| id.as_str()).filter(|id| *id != task.as_str());
    let nearest = nearest(dependency.as_str(), others).map(TaskId::new);
    GraphError::Missing { task: task.clone(), dependency: dependency.clone(), nearest }
}

/// Walks depth first with its own stack: a chain may be as long as the plan.
/// The cycle found starts at its member that comes first in the plan.
fn find_cycle(edges: &[Vec<usize>]) -> Option<Vec<usize>> {
    let mut settled = BTreeSet::new();
    for start in 0..edges.len() {
        if settled.contains(&start) {
            continue;
        }
        let mut path: Vec<(usize, usize)> = vec![(start, 0)];
        let mut open = BTreeSet::from([start]);
        while let Some((node, next)) = path.last_mut() {
            let Some(&target) = edges[*node].get(*next) else {
                open.remove(node);
                settled.insert(*node);
                path.pop();
                continue;
            };
            *next += 1;
            if open.contains(&target) {
                let from = path.iter().position(|(at, _)| *at == target);
                let from = from.expect("an open task is on the path");
                return Some(from_its_first(path[from..].iter().map(|(at, _)| *at).collect()));
            }
            if !settled.contains(&target) {
                open.insert(target);
                path.push((target, 0));
            }
        }
    }
    None
}

fn from_its_first(mut cycle: Vec<usize>) -> Vec<usize> {
    let first = cycle.iter().enumerate().min_by_key(|(_, at)| **at).map_or(0, |(place, _)| place);
    cycle.rotate_left(first);
    cycle
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `a: b c` on each line, in plan order.
    fn tasks(text: &str) -> Vec<(TaskId, Vec<TaskId>)> {
        let line = |line: &str| {
            let (id, on) = line.split_once(':').unwrap();
            (TaskId::new(id.trim()), on.split_whitespace().map(TaskId::new).collect())
        };
        text.lines().map(str::trim).filter(|l| !l.is_empty()).map(line).collect()
    }

    fn fault(text: &str) -> String {
        check(&tasks(text)).unwrap_err().to_string()
    }

    #[test]
    fn a_diamond_is_a_plan() {
        assert_eq!(check(&tasks("d: b c\nc: a\nb: a\na:")), Ok(()));
        assert_eq!(check(&[]), Ok(()));
    }

    #[test]
    fn a_cycle_is_named_from_its_first_task_in_the_plan() {
        assert_eq!(fault("x: c\na: b\nb: c\nc: a"), "tasks depend on one another in a circle: a → b → c → a");
        assert_eq!(fault("a: a"), "tasks depend on one another in a circle: a → a");
        assert_eq!(check(&tasks("a: b\nb: c b\nc:")), Err(GraphError::Cycle(vec![TaskId::new("b")])));
    }

    #[test]
    fn a_missing_dependency_names_both_and_the_nearest() {
        assert_eq!(
            check(&tasks("schema:\nparser: shcema")),
            Err(GraphError::Missing {
                task: TaskId::new("parser"),
                dependency: TaskId::new("shcema"),
                nearest: Some(TaskId::new("schema")),
            })
        );
        assert_eq!(
            fault("schema:\nparser: elephant"),
            "task parser depends on elephant, which is not in the plan"
        );
    }

    #[test]
    fn one_id_twice_is_refused() {
        assert_eq!(fault("a:\nb:\na:"), "two tasks have the id a");
    }

    #[test]
    fn a_chain_of_ten_thousand_is_walked_without_recursion() {
        let id = |n: usize| TaskId::new(format!("t{n:05}"));
        let mut chain: Vec<_> = (0..10_000).map(|n| (id(n), vec![id((n + 1).min(9_999))])).collect();
        chain[9_999].1.clear();
        assert_eq!(check(&chain), Ok(()));
        chain[9_999].1.push(id(0));
        let Err(GraphError::Cycle(cycle)) = check(&chain) else { panic!("a cycle") };
        assert_eq!((cycle.len(), &cycle[0]), (10_000, &id(0)));
        assert!(arrows(&cycle).ends_with("t00010 → t00011 → (9988 more) → t00000"));
    }
}
