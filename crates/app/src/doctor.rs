//! Whether this machine has what a loop needs.

use std::path::Path;

use windlass_driver::setup::{self, DoctorRow};

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
    // A policy that cannot be read is for `run` to refuse.
    let policy = caller.policy(top, &PolicyArguments::default()).map(|resolved| resolved.policy);
    let surroundings = caller.surroundings(directory);
    let mut rows = setup::doctor(&policy.unwrap_or_default().sandbox, &surroundings, scratch);
    match &opened {
        Ok(place) => rows.extend(of_project(place)),
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
