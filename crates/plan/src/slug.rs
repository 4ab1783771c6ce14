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

/// The words of a title as an id: `Parse durations!` is `parse-durations`.
/// None where it has no letter and no digit.
pub fn slug(title: &str) -> Option<TaskId> {
    const LONGEST: usize = 60;
    let mut id = String::new();
    let words = title.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    for word in words.map(str::to_lowercase) {
        if !id.is_empty() && id.chars().count() + 1 + word.chars().count() > LONGEST {
            break;
        }
        if !id.is_empty() {
            id.push('-');
        }
        id.extend(word.chars().take(LONGEST));
    }
    (!id.is_empty()).then(|| TaskId::new(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_gives_an_id() {
        let shown = |title: &str| slug(title).map(|id| id.to_string());
        assert_eq!(shown("Phase 1: Parse `durations`!").as_deref(), Some("phase-1-parse-durations"));
        assert_eq!(shown("Größe — テスト").as_deref(), Some("größe-テスト"));
        assert_eq!(shown("…!").as_deref(), None);
        assert!(shown(&"word ".repeat(40)).is_some_and(|id| id.len() <= 60 && !id.ends_with('-')));
        assert_eq!(shown(&"x".repeat(99)).map(|id| id.len()), Some(60));
    }
}
