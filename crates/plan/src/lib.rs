//! Turns what an operator wrote into a plan: tasks, in order, that may depend
//! on one another. One file per format:
//!
//! - `tasks_dir`: a directory of `*.md`, one task a file;
//! - `goal`: one sentence, one task.
//!
//! It reads and never writes, knows nothing of stores, agents or git, and
//! refuses what it does not understand with the place and a remedy, instead of
//! guessing. Texts leave here as text; whoever stores them makes
//! `windlass_core::task::Task` of them.

mod error;
mod front_matter;
pub mod goal;
mod markdown;
pub mod tasks_dir;
mod value;

use std::path::{Path, PathBuf};

use windlass_core::id::{BlobId, TaskId};
use windlass_core::nearest::nearest;
use windlass_core::task::Task;

pub use error::{FilePosition, PlanError};
pub use front_matter::{FrontMatter, KEYS, read_front_matter};
pub use value::{FaultKind, Placed, SyntaxFault};

/// A plan as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    pub tasks: Vec<PlannedTask>,
    /// What the loop is for, in one line.
    pub goal: String,
}

/// One task as it was read, its text not yet stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedTask {
    pub id: TaskId,
    pub title: String,
    /// The whole file, front matter included, as the operator wrote it.
    pub text: String,
    pub depends_on: Vec<TaskId>,
    pub priority: i64,
    pub allow: Vec<Placed<String>>,
    pub checks: Vec<Placed<String>>,
    pub acceptance: Vec<String>,
    /// It was done before windlass came.
    pub done: bool,
    /// Where the task was written; none for a goal sentence.
    pub file: Option<PathBuf>,
}

impl PlannedTask {
    /// The task as core knows it, once its text is stored.
    pub fn into_task(self, text: BlobId) -> Task {
        let plain = |items: Vec<Placed<String>>| items.into_iter().map(|item| item.value).collect();
        Task {
            id: self.id,
            title: self.title,
            text,
            depends_on: self.depends_on,
            priority: self.priority,
            allow: plain(self.allow),
            checks: plain(self.checks),
            acceptance: self.acceptance,
            done_before: self.done,
        }
    }

    /// Where one of its `allow` or `checks` items stands.
    pub fn place_of(&self, item: &Placed<String>) -> FilePosition {
        let file = self.file.clone().unwrap_or_else(|| PathBuf::from(self.id.as_str()));
        FilePosition { file, line: item.line, column: item.column }
    }
}

impl Planned {
    /// Refuses a task that asks to be judged by a check nobody defined.
    pub fn check_names(&self, known: &[&str]) -> Result<(), PlanError> {
        for task in &self.tasks {
            let Some(unknown) = task.checks.iter().find(|check| !known.contains(&check.value.as_str()))
            else {
                continue;
            };
            return Err(PlanError::UnknownCheck {
                place: task.place_of(unknown),
                check: unknown.value.clone(),
                nearest: nearest(&unknown.value, known.iter().copied()).map(str::to_owned),
            });
        }
        Ok(())
    }
}

/// Reads whatever `source` names: a directory under `project` (or an absolute
/// one), or else, when it has a blank in it, a goal sentence.
pub fn read(source: &str, project: &Path) -> Result<Planned, PlanError> {
    let source = source.trim();
    if source.is_empty() {
        return Err(PlanError::NoSource);
    }
    let path = project.join(source);
    if path.is_dir() {
        tasks_dir::read(&path)
    } else if path.is_file() {
        Err(PlanError::UnknownFormat { file: path })
    } else if source.contains(char::is_whitespace) {
        goal::read(source)
    } else {
        Err(PlanError::DirectoryMissing { dir: path })
    }
}

/// A title as surfaces show it: one line, no control characters, bounded.
fn title_line(text: &str) -> String {
    const LONGEST: usize = 120;
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let line = line.trim();
    if line.chars().count() <= LONGEST {
        return line.to_owned();
    }
    let mut short: String = line.chars().take(LONGEST - 1).collect();
    short.truncate(short.trim_end().len());
    short.push('…');
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_a_directory_if_there_is_one_and_else_a_sentence() {
        let project = tempfile::tempdir().unwrap();
        std::fs::create_dir(project.path().join("my tasks")).unwrap();
        std::fs::write(project.path().join("my tasks/a.md"), "# Do a\n").unwrap();
        std::fs::write(project.path().join("PLAN.md"), "## Section\n").unwrap();

        let read = |source| read(source, project.path());
        assert_eq!(read("my tasks").unwrap().tasks[0].title, "Do a");
        assert_eq!(read(" make it fast ").unwrap().goal, "make it fast");
        assert!(matches!(read("PLAN.md"), Err(PlanError::UnknownFormat { .. })));
        assert!(matches!(read("task/"), Err(PlanError::DirectoryMissing { .. })));
        assert!(matches!(read("  "), Err(PlanError::NoSource)));
    }

    #[test]
    fn a_title_is_one_bounded_line() {
        assert_eq!(title_line(" a\tb\u{1b}[31m "), "a b [31m");
        assert_eq!(title_line(&"é".repeat(200)).chars().count(), 120);
    }
}
