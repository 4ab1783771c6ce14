//! Names of tasks, from file names and from titles.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::Path;

use windlass_core::id::TaskId;
use windlass_core::task::{task_slug, usable_task_id};

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

/// A part of a document: the id that its title gives, and what it says.
pub(crate) struct Titled {
    pub id: Option<TaskId>,
    pub text: String,
}

/// The ids of parts in their order. Where a title gives none, the first words below it do, so that a line more
/// above makes no other task of it; those that begin alike are counted.
pub(crate) fn ids_of_parts(parts: &[Titled], otherwise: &str) -> Vec<TaskId> {
    let mut taken: BTreeSet<TaskId> = parts.iter().filter_map(|part| part.id.clone()).collect();
    let mut counts: BTreeMap<TaskId, usize> = BTreeMap::new();
    let mut by_words = |text: &str| {
        let words = text.lines().find_map(task_slug).unwrap_or_else(|| TaskId::new(otherwise));
        let count = counts.entry(words.clone()).or_default();
        loop {
            *count += 1;
            let id = if *count == 1 { words.clone() } else { TaskId::new(format!("{words}-{count}")) };
            if taken.insert(id.clone()) {
                return id;
            }
        }
    };
    parts.iter().map(|part| part.id.clone().unwrap_or_else(|| by_words(&part.text))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_words_are_an_id_where_a_title_gives_none() {
        let part = |title: &str, text: &str| Titled { id: task_slug(title), text: text.to_owned() };
        let parts = [
            part("", "\n- Build it,\nall of it"),
            part("Build it 2", "More."),
            part("!!!", "build it"),
            part("", "Build it 3"),
            part("", "…"),
            part("", ""),
        ];
        let ids = ids_of_parts(&parts, "section");
        let ids: Vec<&str> = ids.iter().map(TaskId::as_str).collect();
        assert_eq!(ids, ["build-it", "build-it-2", "build-it-3", "build-it-3-2", "section", "section-2"]);
    }
}
