//! What is wrong with a plan under a policy: whatever of it would be refused when a loop is created, all at once.

use std::collections::BTreeSet;

use windlass_core::policy::{CheckPolicy, CheckWhen, Policy};
use windlass_core::scope::ScopeLimits;
use windlass_core::task::TaskMode;
use windlass_gate::Globs;
use windlass_plan::{Placed, Planned, PlannedTask};

use crate::briefs;
use crate::setup::SetupError;
use crate::surroundings::Surroundings;

/// In the order of the tasks, what is about the whole plan last.
pub fn plan_problems(policy: &Policy, planned: &Planned, surroundings: &Surroundings) -> Vec<SetupError> {
    let mut problems = Vec::new();
    let mut unreadable = BTreeSet::new();
    for task in &planned.tasks {
        problems.extend(bad_globs(task, "allow", &task.allow));
        problems.extend(bad_globs(task, "scope.within", &task.scope.within));
        if let Some(mode) = &task.mode {
            let problem = bad_mode(task, mode, policy, surroundings);
            // A template of several tasks is told once.
            let is_new = match &problem {
                Some(SetupError::Brief(bad)) => unreadable.insert(bad.to_string()),
                Some(_) | None => true,
            };
            problems.extend(problem.filter(|_| is_new));
        }
        problems.extend(bad_fix(policy, task));
    }
    problems.extend(scopes_of_no_mode(policy, surroundings));
    // Only one task can repeat until the stop checks hold.
    if policy.is_open_ended() && planned.tasks.len() != 1 {
        problems.push(SetupError::SeveralTasks { tasks: planned.tasks.len() });
    }
    problems
}

/// The modes that tasks name.
pub(crate) fn modes_of(planned: &Planned) -> Vec<String> {
    planned.tasks.iter().filter_map(|task| task.mode.as_ref().map(|mode| mode.value.clone())).collect()
}

fn bad_globs(task: &PlannedTask, key: &'static str, globs: &[Placed<String>]) -> Vec<SetupError> {
    let problem =
        |glob: &Placed<String>| glob_problem(&task.place_of(glob).to_string(), key, glob.value.as_str());
    globs.iter().filter_map(problem).collect()
}

/// Why a glob of this key, which stands at this place, cannot be one of a task.
pub fn glob_problem(place: &str, key: &'static str, glob: &str) -> Option<SetupError> {
    let place = place.to_owned();
    if glob.starts_with('/') || glob.split('/').any(|part| part == "..") {
        return Some(SetupError::GlobOutside { place, key, glob: glob.to_owned() });
    }
    let bad = Globs::new(key, &[glob.to_owned()]).err()?;
    Some(SetupError::TaskGlob { place, glob: bad })
}

fn bad_mode(
    task: &PlannedTask,
    mode: &Placed<String>,
    policy: &Policy,
    surroundings: &Surroundings,
) -> Option<SetupError> {
    let mut policy = policy.clone();
    match briefs::read_modes(&mut policy, std::slice::from_ref(&mode.value), surroundings) {
        Ok(None) => None,
        Ok(Some(unknown)) => {
            Some(SetupError::UnknownMode { place: task.place_of(mode).to_string(), mode: unknown })
        }
        Err(bad) => Some(SetupError::Brief(bad)),
    }
}

/// A limit of a mistyped mode would hold for no task.
fn scopes_of_no_mode(policy: &Policy, surroundings: &Surroundings) -> Vec<SetupError> {
    let is_mode = |mode: &str| policy.modes.contains_key(mode) || briefs::is_mode(surroundings, mode);
    let limited = policy.scope.iter().filter(|(_, limits)| **limits != ScopeLimits::default());
    let unknown = limited.map(|(mode, _)| mode).filter(|mode| !is_mode(mode));
    unknown.map(|mode| SetupError::ScopeOfNoMode { mode: mode.clone() }).collect()
}

/// Only a check of the gate can show a regression test.
fn bad_fix(policy: &Policy, task: &PlannedTask) -> Option<SetupError> {
    let is_fix = |mode: &&Placed<String>| TaskMode::from(mode.value.clone()) == TaskMode::Fix;
    let mode = task.mode.as_ref().filter(is_fix).filter(|_| !task.done)?;
    let is_named = |check: &CheckPolicy| {
        task.checks.is_empty() || task.checks.iter().any(|named| named.value == check.name)
    };
    let due = |check: &CheckPolicy| check.when != CheckWhen::Final && is_named(check);
    let has_check = policy.gate.checks.iter().any(due);
    (!has_check).then(|| SetupError::FixWithoutCheck { place: task.place_of(mode).to_string() })
}
