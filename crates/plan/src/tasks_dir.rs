//! A directory of task files: every `*.md` in it is a task, in the order of
//! the file names' bytes. Hidden files are left alone, as a shell's `*.md`
//! leaves them: editors keep their locks there.

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
    let names = list(dir).map_err(|error| vec![error])?;
    let slots = names.iter().map(|name| slot(dir, name)).collect();
    finish(slots, Frame::new(PlanFormat::Tasks))
}

fn list(dir: &Path) -> Result<Vec<OsString>, PlanError> {
    if !dir.is_dir() {
        return Err(PlanError::DirectoryMissing { dir: dir.to_owned() });
    }
    let unreadable = |cause| PlanError::DirectoryUnreadable { dir: dir.to_owned(), cause };
    let mut names: Vec<OsString> = Vec::new();
    for entry in dir.read_dir().map_err(unreadable)? {
        let name = entry.map_err(unreadable)?.file_name();
        if is_task_name(&name) {
            names.push(name);
        }
    }
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
    let id = match id_of_file(&file) {
        Ok(id) => id,
        Err(why) => return Slot::unread(None, file.clone(), vec![PlanError::BadId { file, why }]),
    };
    match read_text(&file, MAX_FILE_BYTES) {
        Ok(text) => task_file::slot(id, &file, text),
        Err(error) => Slot::unread(Some(id), file, vec![error]),
    }
}
