//! A project with windlass's records of it, and the loops that are there.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use unicode_normalization::UnicodeNormalization as _;
use windlass_config::Resolved;
use windlass_core::id::{LoopName, LoopNameError};
use windlass_core::nearest::nearest;
use windlass_core::view::{Owner, View};
use windlass_driver::drive_loop::LoopSite;
use windlass_driver::loop_branch::{self, BranchPlace};
use windlass_driver::orphaned_data::OrphanedData;
use windlass_driver::perform::last_activity;
use windlass_driver::project::{self, Project, ProjectError};
use windlass_driver::setup;
use windlass_driver::surroundings::Surroundings;
use windlass_driver::trail;
use windlass_store::{LogHead, LoopRow, ReadStore, StateDir, Store, VaultDir};

use crate::error::Classify as _;
use crate::{AppError, Caller, PolicyArguments};

/// The operator's project and windlass's records of it.
#[derive(Clone)]
pub struct OpenProject {
    pub project: Project,
    pub state: StateDir,
    pub vault: VaultDir,
    pub caller: Arc<Caller>,
    /// Opened when it is first needed: one writer and one watcher a vault, however
    /// many loops of it are driven.
    store: Arc<Mutex<Option<Arc<dyn Store>>>>,
}

/// A loop that is on record.
pub struct StoredLoop {
    pub name: LoopName,
    pub(crate) head: LogHead,
    pub(crate) reader: Arc<dyn ReadStore>,
    pub(crate) vault: VaultDir,
    caller: Arc<Caller>,
    top: PathBuf,
}

impl StoredLoop {
    /// The loop's View, with the truth about its owner and its branch.
    pub fn view(&self) -> Result<View, AppError> {
        let mut view = windlass_store::view(&*self.reader, &self.name, &self.head).or_broken()?;
        self.look_at_branch(&mut view);
        let held = self.reader.holder(&self.name).or_broken()?.is_held();
        let attempt = view.attempt.as_ref().filter(|_| held);
        let last_activity = attempt.and_then(|attempt| last_activity(&self.vault, &self.name, attempt));
        Ok(view.seen_with(if held { Owner::Alive { last_activity } } else { Owner::Gone }))
    }

    fn look_at_branch(&self, view: &mut View) {
        let Some(landed) = &view.commit else { return };
        match loop_branch::place(self.vault.repository(), &view.branch) {
            BranchPlace::Gone => view.branch_gone = true,
            BranchPlace::At(tip) if tip == *landed => {}
            place @ BranchPlace::At(_) => {
                let surroundings = self.caller.surroundings(&self.top);
                view.branch_elsewhere = loop_branch::elsewhere(place, landed, &surroundings, &view.branch);
            }
            BranchPlace::OnlyGitKnows => {}
        }
    }
}

impl OpenProject {
    /// The project that a directory belongs to. Nothing is written.
    pub fn open(directory: &Path, caller: Caller) -> Result<Self, AppError> {
        let project = project::locate(directory).map_err(not_a_project)?;
        let state = caller.state()?;
        let vault = state.vault(&repository_name(&project), &project.common_dir);
        Ok(Self { project, state, vault, caller: Arc::new(caller), store: Arc::default() })
    }

    pub fn surroundings(&self) -> Surroundings {
        self.caller.surroundings(&self.project.top)
    }

    pub fn policy(&self, arguments: &PolicyArguments) -> Result<Resolved, AppError> {
        self.caller.policy(&self.project.top, arguments)
    }

    /// The records, for changing a loop: the same for all who ask.
    pub fn store(&self) -> Result<Arc<dyn Store>, AppError> {
        let mut opened = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(store) = &*opened {
            return Ok(Arc::clone(store));
        }
        let store = windlass_store::open(&self.vault).or_broken()?;
        Ok(Arc::clone(opened.insert(store)))
    }

    /// A loop with everything the driver needs to find it.
    pub fn site(&self, name: &LoopName) -> LoopSite {
        LoopSite {
            name: name.clone(),
            project: self.project.clone(),
            vault: self.vault.clone(),
            surroundings: self.surroundings(),
        }
    }

    /// The records, for reading; none if windlass was never used here. A loop
    /// that left something and is not on record is a loss, and is told as one.
    pub fn reader(&self) -> Result<Option<Arc<dyn ReadStore>>, AppError> {
        self.refuse_moved()?;
        let orphaned = OrphanedData::scan(&self.project.top, &self.vault);
        let reader = windlass_store::open_read(&self.vault).or_broken()?;
        let known = match &reader {
            Some(reader) => reader.loops().or_broken()?.into_iter().map(|row| row.name).collect(),
            None => Vec::new(),
        };
        let is_tracked = |file: &Path| setup::is_tracked(&self.surroundings(), file);
        match orphaned.unknown_loop(&known, &is_tracked) {
            Some(refusal) => Err(AppError::broken(refusal)),
            None => Ok(reader),
        }
    }

    /// Every loop of the project.
    pub fn loops(&self) -> Result<Vec<StoredLoop>, AppError> {
        self.reader()?.map_or_else(|| Ok(Vec::new()), |reader| self.stored(&reader))
    }

    /// The loop a reading command means: its name, any unique part of it, or
    /// the only one.
    pub fn find(&self, name: Option<&str>) -> Result<StoredLoop, AppError> {
        let Some(reader) = self.reader()? else { return Err(no_loops()) };
        if let Some(name) = name.and_then(|name| loop_name(name).ok())
            && let Some(head) = reader.head(&name).or_broken()?
        {
            return Ok(self.stored_loop(name, head, reader));
        }
        let mut rows = self.stored(&reader)?;
        let everyone = loop_names(&rows);
        rows.retain(|row| name.is_none_or(|part| row.name.as_str().contains(part)));
        match (name, rows.len()) {
            (_, 1) => Ok(rows.remove(0)),
            (Some(name), 0) if !everyone.is_empty() => Err(no_such_loop(name, &everyone)),
            (_, 0) => Err(no_loops()),
            _ => Err(AppError::refused("more than one loop matches")
                .hint(format!("name one of: {}", joined(&loop_names(&rows))))),
        }
    }

    /// The loop a changing command means: its exact name, or the only one.
    pub fn exact(&self, name: Option<&str>) -> Result<StoredLoop, AppError> {
        let mut rows = self.loops()?;
        let everyone = loop_names(&rows);
        match (name, rows.len()) {
            (_, 0) => Err(no_loops()),
            (Some(name), _) => {
                let found = rows.into_iter().find(|row| loop_name(name).is_ok_and(|name| row.name == name));
                found.ok_or_else(|| not_exactly(name, &everyone))
            }
            (None, 1) => Ok(rows.remove(0)),
            (None, _) => Err(AppError::refused("there is more than one loop; nothing was changed")
                .hint(format!("name one of: {}", joined(&everyone)))),
        }
    }

    /// The View of a loop, if there is one of this name.
    pub fn view(&self, name: &LoopName) -> Result<Option<View>, AppError> {
        let Some(reader) = self.reader()? else { return Ok(None) };
        let head = reader.head(name).or_broken()?;
        head.map(|head| self.stored_loop(name.clone(), head, reader).view()).transpose()
    }

    fn stored(&self, reader: &Arc<dyn ReadStore>) -> Result<Vec<StoredLoop>, AppError> {
        let rows = reader.loops().or_broken()?.into_iter();
        Ok(rows.map(|row: LoopRow| self.stored_loop(row.name, row.head, Arc::clone(reader))).collect())
    }

    fn stored_loop(&self, name: LoopName, head: LogHead, reader: Arc<dyn ReadStore>) -> StoredLoop {
        let (caller, top) = (Arc::clone(&self.caller), self.project.top.clone());
        StoredLoop { name, head, reader, vault: self.vault.clone(), caller, top }
    }

    /// Brings the readable trail to where the log is. It is derived: that it
    /// cannot be written is worth a warning, and stops nothing.
    pub fn refresh_trail(&self, name: &LoopName) -> Result<(), AppError> {
        let Ok(Some(reader)) = self.reader() else { return Ok(()) };
        trail::refresh(&*reader, name, &self.project.top)
            .map_err(|error| AppError::broken(format!("the readable trail is not written: {error}")))
    }
}

/// A name that a person typed: an accent may come as a character of its own.
pub(crate) fn loop_name(typed: &str) -> Result<LoopName, LoopNameError> {
    LoopName::new(&typed.nfc().collect::<String>())
}

fn loop_names(rows: &[StoredLoop]) -> Vec<LoopName> {
    rows.iter().map(|row| row.name.clone()).collect()
}

pub(crate) fn joined(names: &[LoopName]) -> String {
    names.iter().map(LoopName::as_str).collect::<Vec<_>>().join(", ")
}

/// The same for every worktree of a repository.
fn repository_name(project: &Project) -> OsString {
    let common = &project.common_dir;
    let named =
        if common.file_name() == Some(OsStr::new(".git")) { common.parent() } else { Some(common.as_path()) };
    let name = named.and_then(Path::file_name).unwrap_or(OsStr::new("repository"));
    name.to_owned()
}

fn no_loops() -> AppError {
    AppError::refused("there is no loop in this repository yet").hint("`windlass run` starts one")
}

fn no_such_loop(name: &str, all: &[LoopName]) -> AppError {
    let refused = AppError::refused(format!("there is no loop named {name}"));
    match nearest(name, all.iter().map(LoopName::as_str)) {
        Some(meant) => refused.hint(format!("did you mean {meant}?")),
        None => refused.hint(format!("the loops here: {}", joined(all))),
    }
}

/// A part of a name is enough to read, and not to change anything.
fn not_exactly(name: &str, all: &[LoopName]) -> AppError {
    let meant: Vec<LoopName> = all.iter().filter(|whole| whole.as_str().contains(name)).cloned().collect();
    if name.is_empty() || meant.is_empty() {
        return no_such_loop(name, all);
    }
    AppError::refused(format!("there is no loop named {name}; the whole name is needed"))
        .hint(format!("is it {}?", joined(&meant)))
}

fn not_a_project(error: ProjectError) -> AppError {
    match error {
        ProjectError::NotARepository(_) => AppError::refused(error)
            .hint("go to your repository, or name it with -C DIR")
            .hint("`windlass init --git` makes one here"),
        ProjectError::Unreadable { .. } => AppError::refused(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn a_directory_without_a_repository_is_refused_with_the_remedy() {
        let temp = tempfile::tempdir().unwrap();
        let refused = OpenProject::open(temp.path(), Caller::default()).err().unwrap();
        assert_eq!(refused.kind, ErrorKind::Refused);
        assert!(refused.message.contains("not a git repository"), "{refused}");
        assert!(refused.hints.iter().any(|hint| hint.contains("windlass init --git")), "{:?}", refused.hints);
    }

    #[test]
    fn all_who_change_loops_of_a_project_share_its_store() {
        let temp = tempfile::tempdir().unwrap();
        let git = temp.path().join("project/.git");
        std::fs::create_dir_all(&git).unwrap();
        std::fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        let caller = Caller { state_dir: Some(temp.path().join("state")), ..Caller::default() };
        let project = OpenProject::open(&temp.path().join("project"), caller).unwrap();
        let another = project.clone();
        assert!(Arc::ptr_eq(&project.store().unwrap(), &another.store().unwrap()));
    }

    #[test]
    fn a_project_where_windlass_was_never_used_has_no_loops() {
        let temp = tempfile::tempdir().unwrap();
        let git = temp.path().join("project/.git");
        std::fs::create_dir_all(&git).unwrap();
        std::fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        let homeless = OpenProject::open(&git, Caller::default()).err().unwrap();
        assert!(homeless.message.starts_with("no place for windlass's records"), "{homeless}");
        let caller = Caller { state_dir: Some(temp.path().join("state")), ..Caller::default() };
        let project = OpenProject::open(&temp.path().join("project"), caller).unwrap();
        assert!(project.loops().unwrap().is_empty());
        for refused in [project.find(None).err(), project.exact(Some("demo")).err()] {
            assert_eq!(refused.unwrap().message, "there is no loop in this repository yet");
        }
        assert!(!temp.path().join("state").exists(), "reading writes nothing");
    }
}
