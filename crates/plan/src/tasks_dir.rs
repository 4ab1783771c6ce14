//! A directory of task files: every `*.md` in it is a task, in the order of
//! the file names' bytes. Hidden files are left alone, as a shell's `*.md`
//! leaves them: editors keep their locks there.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::error::PlanError;
use crate::format::PlanFormat;
use crate::link::{Frame, MAX_TASKS, Slot, finish};
use crate::slug::id_of_file;
use crate::source::{MAX_FILE_BYTES, first, read_text};
use crate::{Planned, task_file};

/// The first problem is the one reported.
pub fn read(dir: &Path) -> Result<Planned, PlanError> {
    check(dir).map_err(first)
}

/// Reads the directory, with every problem of every file.
pub fn check(dir: &Path) -> Result<Planned, Vec<PlanError>> {
    check_with(dir, &BTreeMap::new())
}

/// The directory as it would be with other files: what each says, or none where it is gone.
pub fn check_with(
    dir: &Path,
    others: &BTreeMap<OsString, Option<String>>,
) -> Result<Planned, Vec<PlanError>> {
    let names = list(dir, others).map_err(|error| vec![error])?;
    let read = |name: &OsString| match others.get(name) {
        Some(Some(text)) => other_slot(dir, name, text),
        Some(None) | None => slot(dir, name),
    };
    finish(names.iter().map(read).collect(), Frame::new(PlanFormat::Tasks))
}

fn list(dir: &Path, others: &BTreeMap<OsString, Option<String>>) -> Result<Vec<OsString>, PlanError> {
    if !dir.is_dir() && others.is_empty() {
        return Err(PlanError::DirectoryMissing { dir: dir.to_owned() });
    }
    let unreadable = |cause| PlanError::DirectoryUnreadable { dir: dir.to_owned(), cause };
    let mut names: Vec<OsString> = others.keys().cloned().collect();
    let there = if dir.is_dir() { Some(dir.read_dir().map_err(unreadable)?) } else { None };
    for entry in there.into_iter().flatten() {
        let name = entry.map_err(unreadable)?.file_name();
        if is_task_name(&name) && !others.contains_key(&name) {
            names.push(name);
        }
    }
    names.retain(|name| others.get(name).is_none_or(Option::is_some));
    if names.is_empty() {
        return Err(PlanError::NoTasks { dir: dir.to_owned() });
    }
    if names.len() > MAX_TASKS {
        return Err(PlanError::TooManyTasks { dir: dir.to_owned(), count: names.len() });
    }
    names.sort_by(|a, b| a.as_encoded_bytes().cmp(b.as_encoded_bytes()));
    Ok(names)
}

fn is_task_name(name: &OsStr) -> bool {
    let bytes = name.as_encoded_bytes();
    bytes.ends_with(b".md") && (!bytes.starts_with(b".") || bytes == b".md")
}

fn slot(dir: &Path, name: &OsStr) -> Slot {
    let file = dir.join(name);
    of_file(&file, read_text(&file, MAX_FILE_BYTES))
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
