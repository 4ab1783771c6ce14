//! Whether what judges is in the commit that a loop begins from: an agent that writes the script judges itself.

use windlass_core::acceptance::check_name;
use windlass_core::id::CommitId;
use windlass_core::policy::{CheckPolicy, GatePolicy, Policy};
use windlass_core::stop::StopPolicy;
use windlass_gate::{MissingFile, missing_files};
use windlass_plan::{Placed, Planned, PlannedTask};
use windlass_workspace::Repository;

use crate::hidden;
use crate::setup::{SetupError, locate_git};
use crate::surroundings::Surroundings;

/// Where a script has to be.
pub(crate) struct Committed<'a> {
    pub surroundings: &'a Surroundings,
    pub repository: &'a Repository,
    pub commit: &'a CommitId,
}

/// The scripts of checks that are not there.
pub(crate) fn missing_of_checks(policy: &Policy, of: &Committed<'_>) -> Vec<MissingFile> {
    let Committed { surroundings, repository, commit } = of;
    let copied = |path: &str| policy.workspace.copy.iter().any(|file| file == path);
    let hidden = hidden::dir(policy, surroundings);
    let is_hidden = |path: &str| hidden.as_ref().is_some_and(|dir| dir.join(path).exists());
    let in_base =
        |path: &str| copied(path) || is_hidden(path) || repository.has_path(commit, path).unwrap_or(false);
    let seen = |missing: MissingFile| {
        let is_there = repository.toplevel.join(&missing.file).exists();
        MissingFile { is_there, ..missing }
    };
    missing_files(policy, &in_base).into_iter().map(seen).collect()
}

/// Those that judge the criteria of tasks, with their places.
pub(crate) fn missing_of_criteria(policy: &Policy, planned: &Planned, of: &Committed<'_>) -> Vec<SetupError> {
    let missing = |task: &PlannedTask, number: u32, run: &Placed<String>| {
        let name = check_name(&task.id, number);
        let check = CheckPolicy { name, run: run.value.clone(), ..CheckPolicy::default() };
        let gate = GatePolicy { checks: vec![check], step: None, ..policy.gate.clone() };
        let only = Policy { gate, stop: StopPolicy::default(), ..policy.clone() };
        let place = task.place_of(run).to_string();
        let missing = missing_of_checks(&only, of).into_iter().next();
        missing.map(|missing| SetupError::CriterionNotInBase { place, missing })
    };
    let of_task = |task: &PlannedTask| {
        let runs = (1..).zip(&task.acceptance).filter_map(|(n, of)| Some((n, of.check.as_ref()?)));
        runs.filter_map(|(number, run)| missing(task, number, run)).collect::<Vec<_>>()
    };
    planned.tasks.iter().filter(|task| !task.done).flat_map(of_task).collect()
}

/// The same in the head; nothing where git cannot be asked, which is told where it matters.
pub fn missing_in_head(policy: &Policy, planned: &Planned, surroundings: &Surroundings) -> Vec<SetupError> {
    let has_any = planned.tasks.iter().any(|task| task.acceptance.iter().any(|of| of.check.is_some()));
    if !has_any {
        return Vec::new();
    }
    let Ok(git) = locate_git(surroundings) else { return Vec::new() };
    let Ok(repository) = Repository::discover(&git, &surroundings.project) else { return Vec::new() };
    let of = Committed { surroundings, repository: &repository, commit: &repository.head };
    missing_of_criteria(policy, planned, &of)
}
