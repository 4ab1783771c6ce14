//! A directory of task files: every `*.md` in it is a task, in the order of
//! the file names' bytes. Hidden files are left alone, as a shell's `*.md`
//! leaves them: editors keep their locks there.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use windlass_core::graph::{self, GraphError};
use windlass_core::id::TaskId;

use crate::error::{FilePosition, PlanError};
use crate::front_matter::{FrontMatter, read_front_matter};
use crate::markdown::{Outline, outline};
use crate::value::{Placed, SyntaxFault};
use crate::{Planned, PlannedTask, title_line};

pub const MAX_TASKS: usize = 10_000;
pub const MAX_FILE_BYTES: u64 = 1024 * 1024;

pub fn read(dir: &Path) -> Result<Planned, PlanError> {
    let files = list(dir)?;
    refuse_equal_ids(&files)?;
    let written = files.iter().map(TaskFile::read).collect::<Result<Vec<_>, _>>()?;
    let links = link(&files, &written);
    check_graph(&files, &links)?;
    let tasks: Vec<PlannedTask> = files
        .into_iter()
        .zip(written)
        .zip(links)
        .map(|((file, written), links)| task(file, written, links))
        .collect();
    let goal = match &tasks[..] {
        [only] => only.title.clone(),
        [first, others @ ..] => {
            let last = others.last().unwrap_or(first);
            format!("{} tasks, from “{}” to “{}”", tasks.len(), first.title, last.title)
        }
        [] => return Err(PlanError::NoTasks { dir: dir.to_owned() }),
    };
    Ok(Planned { tasks, goal })
}

struct TaskFile {
    id: TaskId,
    path: PathBuf,
}

/// What one file says.
struct Written {
    text: String,
    front: FrontMatter,
    body: Outline,
}

/// One dependency of a task, by the id it names and as it was written.
struct Link {
    on: TaskId,
    written: Placed<String>,
}

fn list(dir: &Path) -> Result<Vec<TaskFile>, PlanError> {
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
    names.iter().map(|name| TaskFile::named(dir, name)).collect()
}

fn is_task_name(name: &OsStr) -> bool {
    let bytes = name.as_encoded_bytes();
    bytes.ends_with(b".md") && (!bytes.starts_with(b".") || bytes == b".md")
}

fn refuse_equal_ids(files: &[TaskFile]) -> Result<(), PlanError> {
    let mut seen: BTreeMap<String, &PathBuf> = BTreeMap::new();
    for file in files {
        if let Some(first) = seen.insert(file.id.as_str().to_lowercase(), &file.path) {
            return Err(PlanError::DuplicateId { first: first.clone(), second: file.path.clone() });
        }
    }
    Ok(())
}

impl TaskFile {
    fn named(dir: &Path, name: &OsStr) -> Result<Self, PlanError> {
        let path = dir.join(name);
        let bad = |why| PlanError::BadId { file: path.clone(), why };
        let name = name.to_str().ok_or_else(|| bad("it is not UTF-8"))?;
        let id = name.strip_suffix(".md").unwrap_or(name);
        if id.is_empty() {
            return Err(bad("nothing stands before `.md`"));
        }
        if id.contains(char::is_control) {
            return Err(bad("it has a control character in it"));
        }
        if id.trim() != id {
            return Err(bad("it starts or ends with a blank"));
        }
        Ok(Self { id: TaskId::new(id), path })
    }

    fn read(&self) -> Result<Written, PlanError> {
        let text = self.text()?;
        let front = read_front_matter(&text).map_err(|fault| self.syntax(fault))?;
        let body = outline(&text, front.lines).map_err(|fault| self.syntax(fault))?;
        Ok(Written { text, front, body })
    }

    fn text(&self) -> Result<String, PlanError> {
        let unreadable = |cause| PlanError::Unreadable { file: self.path.clone(), cause };
        // Looked at before it is opened: opening a named pipe would wait for ever.
        if !self.path.metadata().map_err(unreadable)?.is_file() {
            return Err(PlanError::NotAFile { file: self.path.clone() });
        }
        let mut bytes = Vec::new();
        let file = File::open(&self.path).map_err(unreadable)?;
        file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(PlanError::TooLarge { file: self.path.clone() });
        }
        String::from_utf8(bytes).map_err(|error| {
            let valid = String::from_utf8_lossy(&error.as_bytes()[..error.utf8_error().valid_up_to()]);
            let last = valid.rsplit('\n').next().unwrap_or_default();
            let line = valid.matches('\n').count() + 1;
            PlanError::NotUtf8 { place: self.place(line, last.chars().count() + 1) }
        })
    }

    fn place(&self, line: usize, column: usize) -> FilePosition {
        FilePosition { file: self.path.clone(), line, column }
    }

    fn syntax(&self, fault: SyntaxFault) -> PlanError {
        PlanError::Syntax { place: self.place(fault.line, fault.column), fault }
    }
}

/// Finds what each written dependency names: an id, with or without `.md`.
fn link(files: &[TaskFile], written: &[Written]) -> Vec<Vec<Link>> {
    let ids: BTreeMap<&str, &TaskId> = files.iter().map(|file| (file.id.as_str(), &file.id)).collect();
    let resolve = |name: &str| {
        let bare = name.strip_suffix(".md").unwrap_or(name);
        let known = ids.get(name).or_else(|| ids.get(bare));
        known.map_or_else(|| TaskId::new(bare), |id| (*id).clone())
    };
    let links_of = |written: &Written| {
        let mut links: Vec<Link> = Vec::new();
        for dependency in written.front.depends_on.iter().chain(&written.body.depends_on) {
            let on = resolve(&dependency.value);
            if links.iter().all(|link| link.on != on) {
                links.push(Link { on, written: dependency.clone() });
            }
        }
        links
    };
    written.iter().map(links_of).collect()
}

fn check_graph(files: &[TaskFile], links: &[Vec<Link>]) -> Result<(), PlanError> {
    let graph: Vec<(TaskId, Vec<TaskId>)> = files
        .iter()
        .zip(links)
        .map(|(file, links)| (file.id.clone(), links.iter().map(|link| link.on.clone()).collect()))
        .collect();
    let place = |task: &TaskId, on: &TaskId| {
        let at =
            files.iter().position(|file| file.id == *task).expect("the graph has the tasks of the files");
        let link =
            links[at].iter().find(|link| link.on == *on).expect("the graph has the links of the tasks");
        files[at].place(link.written.line, link.written.column)
    };
    match graph::check(&graph) {
        Ok(()) => Ok(()),
        Err(GraphError::Missing { task, dependency, nearest }) => {
            let place = place(&task, &dependency);
            Err(PlanError::MissingDependency { place, task, dependency: dependency.to_string(), nearest })
        }
        Err(GraphError::Cycle(cycle)) => match &cycle[..] {
            [task] => Err(PlanError::DependsOnItself { place: place(task, task), task: task.clone() }),
            [first, second, ..] => Err(PlanError::Cycle { place: place(first, second), cycle }),
            [] => Ok(()),
        },
        Err(GraphError::Duplicate(id)) => {
            let mut paths = files.iter().filter(|file| file.id == id).map(|file| file.path.clone());
            let first = paths.next().unwrap_or_default();
            Err(PlanError::DuplicateId { second: paths.next().unwrap_or_else(|| first.clone()), first })
        }
    }
}

fn task(file: TaskFile, written: Written, links: Vec<Link>) -> PlannedTask {
    let Written { text, front, body } = written;
    let title = front.title.or(body.title).map(|title| title_line(&title)).filter(|title| !title.is_empty());
    PlannedTask {
        title: title.unwrap_or_else(|| file.id.to_string()),
        id: file.id,
        text,
        depends_on: links.into_iter().map(|link| link.on).collect(),
        priority: front.priority,
        allow: front.allow,
        checks: front.checks,
        acceptance: if front.acceptance.is_empty() { body.acceptance } else { front.acceptance },
        done: front.done,
        file: Some(file.path),
    }
}
