//! Whether this machine has what a loop needs.

use std::collections::BTreeSet;
use std::path::Path;

use windlass_config::{PROJECT_FILE, Resolved};
use windlass_driver::setup::{self, DoctorRow};

use crate::error::Classify as _;
use crate::revise::of_setup;
use crate::{AppError, Caller, OpenProject, PolicyArguments};

/// What was looked at, in order.
pub struct DoctorReport {
    pub rows: Vec<DoctorRow>,
}

impl DoctorReport {
    /// Everything that a loop cannot run without is there.
    pub fn is_sound(&self) -> bool {
        self.rows.iter().all(|row| row.ok || !row.needed)
    }
}

/// Looks at the machine, the project and the records. What is tried is tried below `scratch`.
pub fn doctor(directory: &Path, caller: &Caller, scratch: &Path) -> DoctorReport {
    let opened = OpenProject::open(directory, caller.clone());
    let top = opened.as_ref().map_or(directory, |place| &place.project.top);
    let resolved = caller.policy(top, &PolicyArguments::default());
    let surroundings = caller.surroundings(directory);
    let sandbox = resolved.as_ref().map(|resolved| resolved.policy.sandbox.clone()).unwrap_or_default();
    let mut rows = setup::doctor(&sandbox, &surroundings, scratch);
    match &opened {
        Ok(place) => {
            rows.extend(of_project(place));
            rows.extend(of_policy(place, resolved));
        }
        Err(error) => rows.push(needed("repository", Err(error.to_string()))),
    }
    DoctorReport { rows }
}

fn of_project(place: &OpenProject) -> [DoctorRow; 3] {
    let state = place.state.check().map(|()| place.state.root().display().to_string());
    [
        needed("repository", Ok(place.project.top.display().to_string())),
        needed("state directory", state.map_err(|error| error.to_string())),
        needed("records", records(place).map_err(|error| error.to_string())),
    ]
}

/// What the policy says, and whether what it names is there.
fn of_policy(place: &OpenProject, resolved: Result<Resolved, AppError>) -> Vec<DoctorRow> {
    let resolved = match resolved {
        Ok(resolved) => resolved,
        Err(error) => return vec![needed(PROJECT_FILE, Err(words(&error)))],
    };
    if !resolved.has_project_file {
        let detail = "none yet: `windlass init` writes one".to_owned();
        return vec![DoctorRow { what: PROJECT_FILE.to_owned(), ok: false, needed: false, detail }];
    }
    let source = &resolved.policy.plan.source;
    let plan = match source.trim().is_empty() {
        true => Ok("none: loops are started with a goal".to_owned()),
        false => place.read_plan(source, &resolved.policy.plan.format).map(|planned| {
            let tasks = planned.tasks.len();
            format!("{source}, {tasks} {}", if tasks == 1 { "task" } else { "tasks" })
        }),
    };
    vec![
        needed(PROJECT_FILE, Ok(place.project.top.join(PROJECT_FILE).display().to_string())),
        needed("agent", agent(place, &resolved).map_err(|error| words(&error))),
        needed("plan", plan.map_err(|error| words(&error))),
    ]
}

fn agent(place: &OpenProject, resolved: &Resolved) -> Result<String, AppError> {
    resolved.require_agents().or_refused()?;
    let policy = &resolved.policy;
    setup::check_agents(policy, &policy.needed_roles(), &place.surroundings())
        .map_err(|error| of_setup(&error, &|key| resolved.origins.get(key).cloned()))?;
    let named: BTreeSet<&str> =
        policy.needed_roles().into_iter().map(|role| policy.agent_for(role).adapter.as_str()).collect();
    Ok(named.into_iter().collect::<Vec<_>>().join(", "))
}

/// With what to do about it.
fn words(error: &AppError) -> String {
    let first = error.message.lines().next().unwrap_or_default().to_owned();
    let hints = error.hints.iter().cloned();
    std::iter::once(first).chain(hints).collect::<Vec<_>>().join("; ")
}

fn records(place: &OpenProject) -> Result<String, AppError> {
    if place.reader()?.is_none() {
        return Ok("none yet".to_owned());
    }
    windlass_store::check(&place.vault).map_err(AppError::broken)?;
    Ok(place.vault.root().display().to_string())
}

fn needed(what: &str, looked: Result<String, String>) -> DoctorRow {
    let ok = looked.is_ok();
    DoctorRow { what: what.to_owned(), ok, needed: true, detail: looked.unwrap_or_else(|why| why) }
}
