//! Where things are: the project, the state directory, the vault, the loops.
#![allow(clippy::disallowed_methods, reason = "the edge reads the environment")]

use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use windlass_core::id::LoopName;
use windlass_core::view::{Owner, View};
use windlass_driver::drive_loop::LoopSite;
use windlass_driver::project::{self, Project, ProjectError};
use windlass_driver::remains::Remains;
use windlass_driver::surroundings::Surroundings;
use windlass_driver::trail;
use windlass_store::{LogHead, LoopRow, ReadStore, StateDir, Store, VaultDir};

use crate::failure::{Failure, OrFail};
use crate::show::out::complain;

/// The operator's project and windlass's records of it.
pub struct ProjectStore {
    pub project: Project,
    pub state: StateDir,
    pub vault: VaultDir,
}

/// A loop that is on record.
pub struct StoredLoop {
    pub name: LoopName,
    pub head: LogHead,
    pub reader: Arc<dyn ReadStore>,
}

/// What the command line says about places.
#[derive(Clone, Debug, Default)]
pub struct Locations {
    pub project: Option<PathBuf>,
    pub state_dir: Option<PathBuf>,
}

impl Locations {
    pub fn directory(&self) -> Result<PathBuf, Failure> {
        match &self.project {
            Some(dir) => Ok(dir.clone()),
            None => std::env::current_dir()
                .map_err(|error| Failure::usage(format!("the current directory: {error}"))),
        }
    }

    pub fn project_store(&self) -> Result<ProjectStore, Failure> {
        let project = project::locate(&self.directory()?).map_err(not_a_project)?;
        let state = self.state()?;
        let vault = state.vault(&repository_name(&project), &project.common_dir);
        Ok(ProjectStore { project, state, vault })
    }

    fn state(&self) -> Result<StateDir, Failure> {
        if let Some(dir) = &self.state_dir {
            return Ok(StateDir::new(without_parents(std::path::absolute(dir).or_usage()?)));
        }
        match base_directory(variable("XDG_STATE_HOME"), variable("HOME"), ".local/state") {
            Some(base) => Ok(StateDir::new(base.join("windlass"))),
            None => {
                Err(Failure::usage("no place for windlass's records: neither HOME nor XDG_STATE_HOME is set")
                    .hint("give one with --state-dir or WINDLASS_STATE_DIR"))
            }
        }
    }
}

/// The same directory, spelt without `..`, which is no way to a place inside of a sandbox.
fn without_parents(dir: PathBuf) -> PathBuf {
    if !dir.components().any(|part| part == Component::ParentDir) {
        return dir;
    }
    let real = dir.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    let rest = |above: &Path| dir.strip_prefix(above).map(Path::to_owned).unwrap_or_default();
    real.map_or_else(|| dir.clone(), |(above, real)| real.join(rest(above)).components().collect())
}

impl ProjectStore {
    /// The records, for changing a loop.
    pub fn store(&self) -> Result<Arc<dyn Store>, Failure> {
        windlass_store::open(&self.vault).or_error()
    }

    /// A loop with everything the driver needs to find it.
    pub fn site(&self, name: &LoopName) -> LoopSite {
        LoopSite {
            name: name.clone(),
            project: self.project.clone(),
            vault: self.vault.clone(),
            surroundings: surroundings(&self.project.top),
        }
    }

    /// The records, for reading; none if windlass was never used here. A loop
    /// that left something and is not on record is a loss, and is told as one.
    pub fn reader(&self) -> Result<Option<Arc<dyn ReadStore>>, Failure> {
        let remains = Remains::look(&self.project.top, &self.vault);
        let reader = windlass_store::open_read(&self.vault).or_error()?;
        let known = match &reader {
            Some(reader) => reader.loops().or_error()?.into_iter().map(|row| row.name).collect(),
            None => Vec::new(),
        };
        match remains.unrecorded(&known) {
            Some(refusal) => Err(Failure::error(refusal)),
            None => Ok(reader),
        }
    }

    /// Loops whose names a reading command may mean.
    pub fn find(&self, name: Option<&str>) -> Result<(Arc<dyn ReadStore>, StoredLoop), Failure> {
        let Some(reader) = self.reader()? else { return Err(no_loops()) };
        if let Some(name) = name.and_then(|name| LoopName::new(name).ok())
            && let Some(head) = reader.head(&name).or_error()?
        {
            return Ok((Arc::clone(&reader), StoredLoop { name, head, reader }));
        }
        let mut rows = self.known(&reader)?;
        let all: Vec<String> = rows.iter().map(|row| row.name.to_string()).collect();
        rows.retain(|row| name.is_none_or(|part| row.name.as_str().contains(part)));
        let one = rows.pop();
        match (one, rows.as_slice()) {
            (Some(row), []) => Ok((reader, row)),
            (Some(last), others) => {
                let names: Vec<&str> = others.iter().chain([&last]).map(|row| row.name.as_str()).collect();
                Err(Failure::usage("more than one loop matches")
                    .hint(format!("name one of: {}", names.join(", "))))
            }
            (None, _) if all.is_empty() => Err(no_loops()),
            (None, _) => {
                let message = format!("there is no loop named {}", name.unwrap_or_default());
                Err(Failure::usage(message).hint(format!("the loops here: {}", all.join(", "))))
            }
        }
    }

    pub fn known(&self, reader: &Arc<dyn ReadStore>) -> Result<Vec<StoredLoop>, Failure> {
        let rows = reader.loops().or_error()?.into_iter();
        let known = |row: LoopRow| StoredLoop { name: row.name, head: row.head, reader: Arc::clone(reader) };
        Ok(rows.map(known).collect())
    }

    /// The loop a changing command means: its exact name, or the only one.
    pub fn exact(&self, name: Option<&str>) -> Result<LoopName, Failure> {
        let Some(reader) = self.reader()? else { return Err(no_loops()) };
        let names: Vec<LoopName> = reader.loops().or_error()?.into_iter().map(|row| row.name).collect();
        let listed = names.iter().map(LoopName::as_str).collect::<Vec<_>>().join(", ");
        match (name, names.as_slice()) {
            (_, []) => Err(no_loops()),
            (Some(name), _) => match names.iter().find(|known| known.as_str() == name) {
                Some(found) => Ok(found.clone()),
                None => Err(Failure::usage(format!("there is no loop named {name}"))
                    .hint(format!("the loops here: {listed}"))),
            },
            (None, [only]) => Ok(only.clone()),
            (None, [_, ..]) => Err(Failure::usage("there is more than one loop; nothing was changed")
                .hint(format!("name one of: {listed}"))),
        }
    }

    /// Brings the readable trail to where the log is. It is derived: that it
    /// cannot be written is told, and stops nothing.
    pub fn refresh_trail(&self, name: &LoopName) {
        let refreshed = self.reader().map(|reader| match &reader {
            Some(reader) => trail::refresh(&**reader, name, &self.project.top),
            None => Ok(()),
        });
        if let Ok(Err(error)) = refreshed {
            complain!("windlass: the readable trail is not written: {error}");
        }
    }

    /// A loop's View, with the truth about its owner.
    pub fn view(&self, row: &StoredLoop) -> Result<View, Failure> {
        let view = windlass_store::view(&*row.reader, &row.name, &row.head).or_error()?;
        let held = row.reader.holder(&row.name).or_error()?.is_held();
        Ok(view.seen_with(if held { Owner::Alive } else { Owner::Gone }))
    }
}

pub fn surroundings(project: &Path) -> Surroundings {
    Surroundings {
        vars: std::env::vars_os().collect(),
        project: project.to_owned(),
        ..Surroundings::default()
    }
}

/// The user's own policy file.
pub fn user_file() -> Option<PathBuf> {
    let base = base_directory(variable("XDG_CONFIG_HOME"), variable("HOME"), ".config")?;
    Some(base.join("windlass/config.toml"))
}

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// A directory as the XDG specification finds it: a relative one is ignored.
fn base_directory(given: Option<PathBuf>, home: Option<PathBuf>, below: &str) -> Option<PathBuf> {
    let given = given.filter(|dir| dir.is_absolute());
    given.or_else(|| home.filter(|home| home.is_absolute()).map(|home| home.join(below)))
}

/// Whether this process was started by an attempt of a loop.
pub fn is_inside_an_attempt() -> bool {
    std::env::var_os("WINDLASS_INSIDE").is_some()
}

/// The same for every worktree of a repository.
fn repository_name(project: &Project) -> OsString {
    let common = &project.common_dir;
    let named =
        if common.file_name() == Some(OsStr::new(".git")) { common.parent() } else { Some(common.as_path()) };
    let name = named.and_then(Path::file_name).unwrap_or(OsStr::new("repository"));
    name.to_owned()
}

fn no_loops() -> Failure {
    Failure::usage("there is no loop in this repository yet").hint("`windlass run` starts one")
}

fn not_a_project(error: ProjectError) -> Failure {
    match error {
        ProjectError::NotARepository(_) => Failure::usage(error)
            .hint("go to your repository, or name it with -C DIR")
            .hint("`windlass init --git` makes one here"),
        ProjectError::Unreadable { .. } => Failure::usage(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_users_directory_is_where_xdg_says() {
        let found = |given: Option<&str>, home: Option<&str>| {
            base_directory(given.map(PathBuf::from), home.map(PathBuf::from), ".config")
        };
        assert_eq!(found(None, Some("/h")), Some("/h/.config".into()));
        assert_eq!(found(Some("relative"), Some("/h")), Some("/h/.config".into()));
        assert_eq!(found(Some("/x"), Some("/h")), Some("/x".into()));
        assert_eq!(found(None, Some("relative")), None);
        assert_eq!(found(None, None), None);
    }
}
