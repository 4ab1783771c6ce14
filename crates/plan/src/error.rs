//! Why a plan was refused: what is wrong, where, and what to do about it.

use std::io;
use std::path::PathBuf;

use windlass_core::graph::arrows;
use windlass_core::id::TaskId;

use crate::checklist::ChecklistFault;
use crate::codescribe::ChatFault;
use crate::fault::SyntaxFault;
use crate::format::PlanFormat;
use crate::json::JsonFault;
use crate::link::MAX_TASKS;
use crate::milestones::SectionFault;
use crate::place::FilePosition;
use crate::shared_text::MAX_TEXT_BYTES;
use crate::source::is_json;

#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    #[error("there is no plan: no source is named")]
    NoSource,
    #[error("{}: there is no such directory", dir.display())]
    DirectoryMissing { dir: PathBuf, nearest: Option<String> },
    #[error("{}: there is no such file", file.display())]
    FileMissing { file: PathBuf, nearest: Option<String> },
    #[error("{}: the directory cannot be read: {cause}", dir.display())]
    DirectoryUnreadable { dir: PathBuf, cause: io::Error },
    #[error("{}: this file is not a plan windlass can read", file.display())]
    UnknownFormat { file: PathBuf },
    #[error("{}: this can be read as `{first}` and as `{second}`", file.display())]
    TwoFormats { file: PathBuf, first: PlanFormat, second: PlanFormat },
    #[error("{}: is a directory, and a plan of format `{format}` is a file", dir.display())]
    IsDirectory { dir: PathBuf, format: PlanFormat },
    #[error("{}: is a file, and a plan of format `tasks` is a directory", file.display())]
    IsFile { file: PathBuf },
    #[error("{}: lies outside of the project {}", file.display(), project.display())]
    OutsideProject { file: PathBuf, project: PathBuf },
    #[error("{}: there is no task file (*.md) in this directory", dir.display())]
    NoTasks { dir: PathBuf },
    #[error("{}: the name of a task file ends in `.md`, and this one would be left out", file.display())]
    OtherEnding { file: PathBuf },
    #[error("{}: has task files (*.md), and only those of the directory above are read", dir.display())]
    TasksBelow { dir: PathBuf },
    #[error("{}: there is no task in this file", file.display())]
    NoTasksInFile { file: PathBuf, format: PlanFormat },
    #[error("{}: {count} task files are more than the {MAX_TASKS} a plan may have", dir.display())]
    TooManyTasks { dir: PathBuf, count: usize },
    #[error("{}: {count} tasks are more than the {MAX_TASKS} a plan may have", file.display())]
    TooManyInFile { file: PathBuf, count: usize },
    #[error("{}: what is said about all {count} tasks makes more than {} MiB", file.display(), MAX_TEXT_BYTES / 1024 / 1024)]
    TooMuchContext { file: PathBuf, count: usize },
    #[error("{}: the file cannot be read: {cause}", file.display())]
    Unreadable { file: PathBuf, cause: io::Error },
    #[error("{}: is not a regular file", file.display())]
    NotAFile { file: PathBuf },
    #[error("{}: the file is larger than {} KiB", file.display(), limit / 1024)]
    TooLarge { file: PathBuf, limit: u64 },
    #[error("{place}: the text is not UTF-8")]
    NotUtf8 { place: FilePosition },
    #[error("{place}: the text has a NUL byte")]
    NulByte { place: FilePosition },
    #[error("{}: the file name gives no usable task id: {why}", file.display())]
    BadId { file: PathBuf, why: &'static str },
    #[error("{} and {} give two tasks with one id", first.display(), second.display())]
    DuplicateId { first: PathBuf, second: PathBuf },
    #[error("{place}: two tasks have the id {id}, the first on line {first}")]
    SameId { place: FilePosition, id: TaskId, first: usize },
    #[error("{place}: {fault}")]
    Syntax { place: FilePosition, fault: SyntaxFault },
    #[error("{place}: {fault}")]
    Json { place: FilePosition, fault: JsonFault },
    #[error("{place}: {fault}")]
    Chat { place: FilePosition, fault: ChatFault },
    #[error("{place}: {fault}")]
    Section { place: FilePosition, fault: SectionFault },
    #[error("{place}: {fault}")]
    Checklist { place: FilePosition, fault: ChecklistFault },
    #[error("{place}: the task says nothing")]
    SaysNothing { place: FilePosition },
    #[error("{place}: task {task} depends on {dependency}, which is not in the plan")]
    MissingDependency {
        place: FilePosition,
        task: TaskId,
        dependency: String,
        nearest: Option<TaskId>,
        format: PlanFormat,
    },
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
            Self::NoSource
            | Self::DirectoryMissing { .. }
            | Self::FileMissing { .. }
            | Self::DirectoryUnreadable { .. }
            | Self::UnknownFormat { .. }
            | Self::TwoFormats { .. }
            | Self::IsDirectory { .. }
            | Self::IsFile { .. }
            | Self::OutsideProject { .. }
            | Self::Unreadable { .. }
            | Self::NotAFile { .. }
            | Self::TooLarge { .. }
            | Self::NotUtf8 { .. }
            | Self::NulByte { .. } => self.remedy_of_source(),
            Self::NoTasks { dir } => {
                let file = dir.join("001-first.md");
                format!(
                    "write the first task to {}, or: windlass task add \"TITLE\"; without a file: windlass run \"GOAL\"",
                    file.display()
                )
            }
            Self::OtherEnding { file } => {
                format!("rename it to {}, or move it elsewhere", file.with_extension("md").display())
            }
            Self::TasksBelow { .. } => {
                "move the task files up; to leave them out, give the directory a name that starts with a dot"
                    .to_owned()
            }
            Self::NoTasksInFile { format, .. } => no_tasks(*format).to_owned(),
            Self::TooManyTasks { .. } | Self::TooManyInFile { .. } => {
                "split the plan over several loops".to_owned()
            }
            Self::TooMuchContext { .. } => {
                "shorten the text outside of the tasks, and let it name the files that hold the rest"
                    .to_owned()
            }
            Self::BadId { .. } => "rename it: the id of a task is its file name without `.md`".to_owned(),
            Self::DuplicateId { second, .. } => format!(
                "rename {}: names that differ only in case are one file on some systems",
                second.display()
            ),
            Self::SameId { .. } => {
                "give one of them another name; upper and lower case are the same".to_owned()
            }
            Self::Syntax { fault, .. } => fault.kind.remedy(),
            Self::Json { fault, .. } => fault.remedy(),
            Self::Chat { fault, .. } => fault.remedy(),
            Self::Section { fault, .. } => fault.remedy(),
            Self::Checklist { fault, .. } => fault.remedy(),
            Self::SaysNothing { place } if is_json(&place.file) => {
                format!("write there what is to be done, or take it out of {}", place.file.display())
            }
            Self::SaysNothing { place } => {
                format!("write in {} what is to be done, or delete it", place.file.display())
            }
            Self::MissingDependency { nearest: Some(id), .. } => format!("did you mean `{id}`?"),
            Self::MissingDependency { dependency, nearest: None, format, .. } => {
                missing_dependency(dependency, *format)
            }
            Self::UnknownCheck { nearest: Some(name), .. } => format!("did you mean `{name}`?"),
            Self::UnknownCheck { nearest: None, .. } => {
                "name a [[gate.check]] of windlass.toml, or leave `checks` out to run every one".to_owned()
            }
            Self::DependsOnItself { task, .. } => format!("remove {task} from its own dependencies"),
            Self::Cycle { .. } => "remove one of these dependencies".to_owned(),
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "the caller has all that is not about the source")]
    fn remedy_of_source(&self) -> String {
        match self {
            Self::DirectoryMissing { nearest: Some(name), .. }
            | Self::FileMissing { nearest: Some(name), .. } => format!("did you mean `{name}`?"),
            Self::DirectoryMissing { dir, nearest: None } => format!(
                "create {} with one .md file for each task, or set plan.source to where they are",
                dir.display()
            ),
            Self::FileMissing { nearest: None, .. } => {
                "set plan.source to where the plan is; a goal is given as windlass run \"what is to be done\""
                    .to_owned()
            }
            Self::DirectoryUnreadable { dir, .. } => {
                format!("make {} readable for this user", dir.display())
            }
            Self::UnknownFormat { .. } => {
                "name a directory of task files, a .md, .json or .toml file, or a goal sentence; \
                 or say what it is: plan.format = \"task\""
                    .to_owned()
            }
            Self::TwoFormats { first, second, .. } => {
                format!("say which it is: plan.format = \"{first}\" or plan.format = \"{second}\"")
            }
            Self::IsDirectory { .. } => "name a file, or set plan.format = \"tasks\"".to_owned(),
            Self::IsFile { .. } => {
                "name the directory of the task files, or set plan.format to another format".to_owned()
            }
            Self::OutsideProject { .. } => "move it into the project; links are followed".to_owned(),
            Self::Unreadable { file, cause } if cause.kind() == io::ErrorKind::NotFound => {
                format!("{} is a link that leads nowhere: correct it, or remove it", file.display())
            }
            Self::Unreadable { file, .. } => {
                format!("make {} readable for this user, or move it out of the plan", file.display())
            }
            Self::NotAFile { file } => format!("rename {} or move it out of the plan", file.display()),
            Self::TooLarge { .. } => {
                "keep the task short and let it name the files that hold the rest".to_owned()
            }
            Self::NotUtf8 { .. } => "save the file as UTF-8".to_owned(),
            Self::NulByte { .. } => "take it out: no program can be told what stands behind it".to_owned(),
            _ => "give a goal sentence, or set `source` under [plan] in windlass.toml to a directory of task files"
                .to_owned(),
        }
    }
}

fn no_tasks(format: PlanFormat) -> &'static str {
    match format {
        PlanFormat::Tasks | PlanFormat::Task | PlanFormat::Codescribe => "write what is to be done",
        PlanFormat::Milestones => "put a line `<!-- windlass-task -->` before each section that is a task",
        PlanFormat::Checklist => "write one item `- [ ] what is to be done` for each task",
        PlanFormat::Prd => "write the stories into the list `userStories`",
        PlanFormat::GithubIssues => {
            "export them: gh issue list --state all --json number,title,body,labels,state"
        }
    }
}

fn missing_dependency(dependency: &str, format: PlanFormat) -> String {
    match format {
        PlanFormat::Tasks => format!(
            "add {dependency}.md to the plan, or remove the dependency; a task is named by its file name"
        ),
        PlanFormat::Task => "remove the dependency; one file is one task".to_owned(),
        PlanFormat::GithubIssues => {
            "export closed issues too, with `gh issue list --state all --limit 10000`, or remove the line"
                .to_owned()
        }
        PlanFormat::Milestones | PlanFormat::Prd | PlanFormat::Codescribe | PlanFormat::Checklist => {
            format!("add a task with the id {dependency}, or remove the dependency")
        }
    }
}
