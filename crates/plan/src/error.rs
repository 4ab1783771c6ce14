//! Why a plan was refused: what is wrong, where, and what to do about it.

use std::fmt;
use std::io;
use std::path::PathBuf;

use windlass_core::graph::arrows;
use windlass_core::id::TaskId;

use crate::tasks_dir::{MAX_FILE_BYTES, MAX_TASKS};
use crate::value::SyntaxFault;

/// A character in a file; lines and columns count from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePosition {
    pub file: PathBuf,
    pub line: usize,
    pub column: usize,
}

impl fmt::Display for FilePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file.display(), self.line, self.column)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    #[error("there is no plan: no source is named")]
    NoSource,
    #[error("{}: there is no such directory", dir.display())]
    DirectoryMissing { dir: PathBuf },
    #[error("{}: the directory cannot be read: {cause}", dir.display())]
    DirectoryUnreadable { dir: PathBuf, cause: io::Error },
    #[error("{}: this file is not a plan windlass can read", file.display())]
    UnknownFormat { file: PathBuf },
    #[error("{}: there is no task file (*.md) in this directory", dir.display())]
    NoTasks { dir: PathBuf },
    #[error("{}: {count} task files are more than the {MAX_TASKS} a plan may have", dir.display())]
    TooManyTasks { dir: PathBuf, count: usize },
    #[error("{}: the task file cannot be read: {cause}", file.display())]
    Unreadable { file: PathBuf, cause: io::Error },
    #[error("{}: is not a regular file", file.display())]
    NotAFile { file: PathBuf },
    #[error("{}: the task file is larger than {} KiB", file.display(), MAX_FILE_BYTES / 1024)]
    TooLarge { file: PathBuf },
    #[error("{place}: the text is not UTF-8")]
    NotUtf8 { place: FilePosition },
    #[error("{}: the file name gives no usable task id: {why}", file.display())]
    BadId { file: PathBuf, why: &'static str },
    #[error("{} and {} give two tasks with one id", first.display(), second.display())]
    DuplicateId { first: PathBuf, second: PathBuf },
    #[error("{place}: {fault}")]
    Syntax { place: FilePosition, fault: SyntaxFault },
    #[error("{place}: task {task} depends on {dependency}, which is not in the plan")]
    MissingDependency { place: FilePosition, task: TaskId, dependency: String, nearest: Option<TaskId> },
    #[error("{place}: there is no check named {check:?}")]
    UnknownCheck { place: FilePosition, check: String, nearest: Option<String> },
    #[error("{place}: task {task} depends on itself")]
    DependsOnItself { place: FilePosition, task: TaskId },
    #[error("{place}: tasks depend on one another in a circle: {}", arrows(cycle))]
    Cycle { place: FilePosition, cycle: Vec<TaskId> },
}

impl PlanError {
    /// What the operator can do about it.
    pub fn remedy(&self) -> String {
        match self {
            Self::NoSource => {
                "give a goal sentence, or set `source` under [plan] in windlass.toml to a directory of task files"
                    .to_owned()
            }
            Self::DirectoryMissing { dir } => format!(
                "create {} with one .md file for each task, or set plan.source to where they are",
                dir.display()
            ),
            Self::DirectoryUnreadable { dir, .. } => {
                format!("make {} readable for this user", dir.display())
            }
            Self::UnknownFormat { .. } => {
                "set plan.source to a directory of task files (*.md), or to a goal sentence".to_owned()
            }
            Self::NoTasks { dir } => {
                format!("write the first task to {}", dir.join("01-first.md").display())
            }
            Self::TooManyTasks { .. } => "split the plan over several loops".to_owned(),
            Self::Unreadable { file, .. } => {
                format!("make {} readable for this user, or move it out of the plan", file.display())
            }
            Self::NotAFile { file } => format!("rename {} or move it out of the plan", file.display()),
            Self::TooLarge { .. } => {
                "keep the task short and let it name the files that hold the rest".to_owned()
            }
            Self::NotUtf8 { .. } => "save the file as UTF-8".to_owned(),
            Self::BadId { .. } => {
                "rename it: the id of a task is its file name without `.md`".to_owned()
            }
            Self::DuplicateId { second, .. } => format!(
                "rename {}: names that differ only in case are one file on some systems",
                second.display()
            ),
            Self::Syntax { fault, .. } => fault.kind.remedy(),
            Self::MissingDependency { nearest: Some(id), .. } => format!("did you mean `{id}`?"),
            Self::MissingDependency { dependency, nearest: None, .. } => format!(
                "add {dependency}.md to the plan, or remove the dependency; a task is named by its file name"
            ),
            Self::UnknownCheck { nearest: Some(name), .. } => format!("did you mean `{name}`?"),
            Self::UnknownCheck { nearest: None, .. } => {
                "name a [[gate.check]] of windlass.toml, or leave `checks` out to run every one".to_owned()
            }
            Self::DependsOnItself { task, .. } => format!("remove {task} from its own dependencies"),
            Self::Cycle { .. } => "remove one of these dependencies".to_owned(),
        }
    }
}
