//! Names of tasks, from file names and from titles.

use std::ffi::OsStr;
use std::path::Path;

use windlass_core::id::TaskId;
use windlass_core::task::usable_task_id;

/// The id that a file's name gives, or why it gives none.
pub(crate) fn id_of_file(file: &Path) -> Result<TaskId, &'static str> {
    let name = file.file_name().and_then(OsStr::to_str).ok_or("it is not UTF-8")?;
    let suffix = [".md", ".markdown", ".toml"].into_iter().find(|suffix| name.ends_with(suffix));
    let id = suffix.and_then(|suffix| name.strip_suffix(suffix)).unwrap_or(name);
    if id.is_empty() {
        return Err("nothing stands before `.md`");
    }
    usable_task_id(id)?;
    Ok(TaskId::new(id))
}
