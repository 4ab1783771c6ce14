//! A directory of task files: every `*.md` in it is a task, in the order of
//! the file names' bytes. Hidden files are left alone, as a shell's `*.md`
//! leaves them: editors keep their locks there. What looks like a task file and
//! is none by its name or its place is a fault.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::error::PlanError;
use crate::format::PlanFormat;
use crate::link::{BadPlan, Frame, MAX_TASKS, Slot, finish};
use crate::slug::id_of_file;
use crate::source::{MAX_FILE_BYTES, first, not_led_out, read_text};
use crate::{Planned, task_file};

/// The first problem is the one reported.
pub fn read(dir: &Path) -> Result<Planned, PlanError> {
    check(dir).map_err(first)
}

/// Reads the directory, with every problem of every file.
pub fn check(dir: &Path) -> Result<Planned, Vec<PlanError>> {
    check_with(dir, &BTreeMap::new())
}

/// The same as a part of a project, with what could be read of a plan that is refused.
pub fn look_in(dir: &Path, project: &Path) -> Result<Planned, BadPlan> {
    look_with(&TasksDir { dir, project: Some(project) }, &BTreeMap::new())
}

/// Where task files are, and what no link among them may lead out of.
struct TasksDir<'a> {
    dir: &'a Path,
    project: Option<&'a Path>,
}

/// The directory as it would be with other files: what each says, or none where it is gone.
pub fn check_with(
    dir: &Path,
    others: &BTreeMap<OsString, Option<String>>,
) -> Result<Planned, Vec<PlanError>> {
    look_with(&TasksDir { dir, project: None }, others).map_err(|bad| bad.problems)
}

fn look_with(of: &TasksDir<'_>, others: &BTreeMap<OsString, Option<String>>) -> Result<Planned, BadPlan> {
    let dir = of.dir;
    let Listed { names, strays } = list(dir, others).map_err(|error| vec![error])?;
    if names.is_empty() && strays.is_empty() {
        return Err(vec![PlanError::NoTasks { dir: dir.to_owned() }].into());
    }
    let read = |name: &OsString| match others.get(name) {
        Some(Some(text)) => other_slot(dir, name, text),
        Some(None) | None => of.slot(name),
    };
    finish(names.iter().map(read).collect(), Frame { problems: strays, ..Frame::new(PlanFormat::Tasks) })
}

struct Listed {
    names: Vec<OsString>,
    /// What was meant as a task file and is not read as one.
    strays: Vec<PlanError>,
}

fn list(dir: &Path, others: &BTreeMap<OsString, Option<String>>) -> Result<Listed, PlanError> {
    if !dir.is_dir() && others.is_empty() {
        return Err(PlanError::DirectoryMissing { dir: dir.to_owned(), nearest: None });
    }
    let unreadable = |cause| PlanError::DirectoryUnreadable { dir: dir.to_owned(), cause };
    let mut names: Vec<OsString> = others.keys().cloned().collect();
    let there = if dir.is_dir() { Some(dir.read_dir().map_err(unreadable)?) } else { None };
    let mut passed_over = Vec::new();
    for entry in there.into_iter().flatten() {
        let name = entry.map_err(unreadable)?.file_name();
        if !is_task_name(&name) {
            passed_over.push(name);
        } else if !others.contains_key(&name) {
            names.push(name);
        }
    }
    names.retain(|name| others.get(name).is_none_or(Option::is_some));
    if names.len() > MAX_TASKS {
        return Err(PlanError::TooManyTasks { dir: dir.to_owned(), count: names.len() });
    }
    names.sort_by(|a, b| a.as_encoded_bytes().cmp(b.as_encoded_bytes()));
    passed_over.sort();
    Ok(Listed { names, strays: passed_over.iter().filter_map(|name| stray(dir, name)).collect() })
}

/// The fault of a name that gives no task, where one was meant.
fn stray(dir: &Path, name: &OsStr) -> Option<PlanError> {
    if name.as_encoded_bytes().starts_with(b".") {
        return None;
    }
    let path = dir.join(name);
    if path.is_dir() {
        let mut inner = path.read_dir().ok()?.flatten().map(|entry| entry.file_name());
        return inner.any(|name| is_task_name(&name)).then_some(PlanError::TasksBelow { dir: path });
    }
    let ending = path.extension()?.to_str()?.to_lowercase();
    matches!(ending.as_str(), "md" | "markdown" | "mdown" | "mkd")
        .then_some(PlanError::OtherEnding { file: path })
}

fn is_task_name(name: &OsStr) -> bool {
    let bytes = name.as_encoded_bytes();
    bytes.ends_with(b".md") && (!bytes.starts_with(b".") || bytes == b".md")
}

impl TasksDir<'_> {
    fn slot(&self, name: &OsStr) -> Slot {
        let file = self.dir.join(name);
        let led_out = self.project.map_or(Ok(()), |project| not_led_out(&file, project));
        of_file(&file, led_out.and_then(|()| read_text(&file, MAX_FILE_BYTES)))
    }
}

fn other_slot(dir: &Path, name: &OsStr, text: &str) -> Slot {
    let file = dir.join(name);
    let is_large = text.len() as u64 > MAX_FILE_BYTES;
    let too_large = || PlanError::TooLarge { file: file.clone(), limit: MAX_FILE_BYTES };
    of_file(&file, if is_large { Err(too_large()) } else { Ok(text.to_owned()) })
}

fn of_file(file: &Path, text: Result<String, PlanError>) -> Slot {
    let file = file.to_owned();
    let id = match id_of_file(&file) {
        Ok(id) => id,
        Err(why) => return Slot::unread(None, file.clone(), vec![PlanError::BadId { file, why }]),
    };
    match text {
        Ok(text) => task_file::slot(id, &file, text),
        Err(error) => Slot::unread(Some(id), file, vec![error]),
    }
}
