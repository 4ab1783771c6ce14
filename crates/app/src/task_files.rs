//! The task files of a plan: what each has to say after an amendment, and writing them so that a refusal leaves
//! everything as it was.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use windlass_core::id::{BlobId, TaskId};
use windlass_core::proposal::{AmendmentAnswer, AmendmentState, ProposedAction};
use windlass_core::state::State;
use windlass_core::task::{Plan, Task};
use windlass_plan::{
    FrontValue, PlanError, Planned, body_of, task_of_text, task_text, tasks_dir, with_commented_dependencies,
    with_keys,
};
use windlass_store::blobs::id_of;

use crate::create::bad_plan;
use crate::{AppError, ErrorKind};

/// A directory of task files, as it was read.
pub(crate) struct TaskFiles {
    pub dir: PathBuf,
    /// The directory as messages name it.
    pub source: String,
    pub tasks: Vec<Task>,
    texts: BTreeMap<TaskId, String>,
    /// What the tasks say that the loop added by itself.
    pub applied_texts: BTreeMap<BlobId, String>,
    written: Vec<Task>,
}

/// One file, before and after; none where it is not there.
#[derive(Clone, Debug)]
pub(crate) struct FileChange {
    pub file: PathBuf,
    before: Option<String>,
    after: Option<String>,
}

impl FileChange {
    pub fn what(&self) -> &'static str {
        match (&self.before, &self.after) {
            (None, _) => "written",
            (Some(_), Some(_)) => "changed",
            (Some(_), None) => "removed",
        }
    }
}

impl TaskFiles {
    /// `may_be_new`: a directory without a task is the beginning of a plan.
    pub fn read(dir: PathBuf, source: &str, may_be_new: bool) -> Result<Self, AppError> {
        let planned = match tasks_dir::check(&dir) {
            Ok(planned) => planned.tasks,
            Err(problems) => match problems.into_iter().next() {
                Some(PlanError::NoTasks { .. } | PlanError::DirectoryMissing { .. }) if may_be_new => {
                    Vec::new()
                }
                Some(problem) => return Err(bad_plan(problem)),
                None => Vec::new(),
            },
        };
        let texts = planned.iter().map(|task| (task.id.clone(), task.text.clone())).collect();
        let tasks: Vec<Task> = planned.into_iter().map(stored).collect();
        let written = tasks.clone();
        Ok(Self { dir, source: source.to_owned(), tasks, texts, applied_texts: BTreeMap::new(), written })
    }

    /// What the loop applied of its agents' amendments is in no file: with the next change it comes there, or the
    /// loop would lose it by reading them.
    pub fn bring_applied(
        &mut self,
        state: &State,
        text_of: &dyn Fn(&BlobId) -> Result<String, AppError>,
    ) -> Result<(), AppError> {
        let open = |id: &TaskId| state.task(id).filter(|task| !task.is_settled());
        let applied = |known: &&AmendmentState| known.answer == Some(AmendmentAnswer::Applied);
        for known in state.amendments.iter().filter(applied) {
            let whole = TaskId::new(&known.proposed.task);
            if known.proposed.action == ProposedAction::Split && state.task(&whole).is_none() {
                let last = known.added.last().filter(|last| open(last).is_some());
                self.tasks.retain(|task| task.id != whole);
                self.tasks.iter_mut().for_each(|task| depend_instead(task, &whole, last));
            }
            for added in known.added.iter().filter_map(open) {
                if self.tasks.iter().all(|task| task.id != added.task.id) {
                    let text = &added.task.text;
                    self.applied_texts.insert(text.clone(), body_of(&text_of(text)?).to_owned());
                    self.tasks.push(added.task.as_ref().clone());
                }
            }
        }
        // What is done and in no file is no dependency that a file could name.
        let named: BTreeSet<TaskId> = self.tasks.iter().map(|task| task.id.clone()).collect();
        let texts = &self.applied_texts;
        let brought = self.tasks.iter_mut().filter(|task| texts.contains_key(&task.text));
        brought.for_each(|task| task.depends_on.retain(|on| named.contains(on)));
        self.tasks.sort_by_cached_key(|task| format!("{}.md", task.id).into_bytes());
        Ok(())
    }

    pub fn text_of(&self, id: &TaskId) -> String {
        self.texts.get(id).cloned().unwrap_or_default()
    }

    /// The files that make this plan of the one there is. What is added comes first and what is removed last, so
    /// that a plan can be read at every moment between.
    pub fn changes(
        &self,
        plan: &Plan,
        bodies: &BTreeMap<BlobId, String>,
    ) -> Result<Vec<FileChange>, AppError> {
        let known = |id: &TaskId| self.written.iter().find(|task| task.id == *id);
        let mut changes = Vec::new();
        for task in &plan.tasks {
            let body = bodies.get(&task.text);
            let after = match known(&task.id) {
                None => task_text(task, body.map_or("", String::as_str)),
                Some(before) if before == task => continue,
                Some(before) => self.changed_text(before, task, body)?,
            };
            changes.push(self.change(&task.id, Some(after)));
        }
        changes.sort_by_key(|change| change.before.is_some());
        let is_gone = |task: &&Task| plan.tasks.iter().all(|kept| kept.id != task.id);
        changes.extend(self.written.iter().filter(is_gone).map(|task| self.change(&task.id, None)));
        changes.iter().try_for_each(check_file)?;
        self.check_reading(plan, &changes, bodies)?;
        Ok(changes)
    }

    fn change(&self, id: &TaskId, after: Option<String>) -> FileChange {
        FileChange { file: self.dir.join(format!("{id}.md")), before: self.texts.get(id).cloned(), after }
    }

    fn changed_text(&self, before: &Task, after: &Task, body: Option<&String>) -> Result<String, AppError> {
        let written = self.text_of(&after.id);
        let mut text = match body {
            Some(body) => with_body(&written, body),
            None => written,
        };
        let mut keys = Vec::new();
        let title = task_of_text(&after.id, &text).map(|read| read.title);
        if title.as_ref() != Some(&after.title) {
            keys.push(("title", FrontValue::Text(after.title.clone())));
        }
        if before.depends_on != after.depends_on {
            match with_commented_dependencies(&text, &after.depends_on) {
                Some(other) => text = other,
                None => {
                    let names = after.depends_on.iter().map(TaskId::to_string).collect();
                    keys.push(("depends_on", FrontValue::List(names)));
                }
            }
        }
        if before.priority != after.priority {
            keys.push(("priority", FrontValue::Number(after.priority)));
        }
        if before.allow != after.allow {
            keys.push(("allow", FrontValue::List(after.allow.clone())));
        }
        if keys.is_empty() {
            return Ok(text);
        }
        with_keys(&text, &keys).map_err(|why| {
            let file = self.dir.join(format!("{}.md", after.id));
            AppError::refused(format!("{}: {why}; nothing was changed", file.display()))
                .hint("edit the file yourself, then `windlass run` takes it up")
        })
    }

    /// What will be read of the files is what was meant.
    fn check_reading(
        &self,
        plan: &Plan,
        changes: &[FileChange],
        bodies: &BTreeMap<BlobId, String>,
    ) -> Result<(), AppError> {
        let read = self.with(changes)?;
        let is_as_meant = |wanted: &Task| {
            let Some(found) = read.tasks.iter().find(|task| task.id == wanted.id) else { return false };
            let mut found = found.clone();
            found.text = wanted.text.clone();
            // A text of the operator's may have criteria of its own.
            if bodies.contains_key(&wanted.text) && found.acceptance != wanted.acceptance {
                found.acceptance.clone_from(&wanted.acceptance);
                found.criterion_checks.clone_from(&wanted.criterion_checks);
            }
            found == *wanted
        };
        let Some(other) = plan.tasks.iter().find(|task| !is_as_meant(task)) else { return Ok(()) };
        let file = self.dir.join(format!("{}.md", other.id));
        Err(AppError::refused(format!(
            "{}: its text says something else of the task than its front matter would; nothing was changed",
            file.display()
        ))
        .hint(
            "edit the file yourself (a comment `depends_on` counts as well), then `windlass run` takes it up",
        ))
    }

    /// The plan that the changed files say.
    pub fn with(&self, changes: &[FileChange]) -> Result<Plan, AppError> {
        let name = |change: &FileChange| change.file.file_name().map(OsString::from).unwrap_or_default();
        let others = changes.iter().map(|change| (name(change), change.after.clone())).collect();
        let planned: Result<Planned, Vec<PlanError>> = tasks_dir::check_with(&self.dir, &others);
        let planned = planned.map_err(|problems| {
            let problem = problems.into_iter().next().expect("a refusal has a reason");
            let refused = bad_plan(problem);
            AppError { message: format!("{}; nothing was changed", refused.message), ..refused }
        })?;
        let tools = planned.tools.into_iter().map(|tool| tool.value).collect();
        Ok(Plan { tasks: planned.tasks.into_iter().map(stored).collect(), tools })
    }
}

fn depend_instead(task: &mut Task, whole: &TaskId, last: Option<&TaskId>) {
    match last {
        Some(last) => task.depends_on.iter_mut().filter(|on| *on == whole).for_each(|on| *on = last.clone()),
        None => task.depends_on.retain(|on| on != whole),
    }
}

fn stored(task: windlass_plan::PlannedTask) -> Task {
    let Ok(task) = task.into_task(|text| Ok::<_, Infallible>(id_of(text.as_bytes())));
    task
}

fn with_body(text: &str, body: &str) -> String {
    let front = &text[..text.len() - body_of(text).len()];
    let gap = if front.trim_start_matches('\u{feff}').is_empty() { "" } else { "\n" };
    format!("{front}{gap}{}\n", body.trim())
}

/// A link is left alone: what it leads to may belong to somebody else.
fn check_file(change: &FileChange) -> Result<(), AppError> {
    let FileChange { file, before, .. } = change;
    match (file.symlink_metadata(), before) {
        (Ok(_), None) => {
            Err(AppError::refused(format!("{} is there already; nothing was changed", file.display()))
                .hint("choose another id with --id"))
        }
        (Ok(found), Some(_)) if found.is_symlink() => {
            Err(AppError::refused(format!("{} is a symbolic link; nothing was changed", file.display()))
                .hint("edit the file that it leads to, then `windlass run` takes it up"))
        }
        (Ok(_) | Err(_), _) => Ok(()),
    }
}

/// Files that are written, until it is known that they stay.
#[must_use = "what is refused is undone"]
pub(crate) struct WrittenFiles {
    done: Vec<FileChange>,
}

/// Writes every change, or none.
pub(crate) fn write(changes: &[FileChange]) -> Result<WrittenFiles, AppError> {
    let mut written = WrittenFiles { done: Vec::new() };
    for change in changes {
        match replace(&change.file, change.before.as_deref(), change.after.as_deref()) {
            Ok(()) => written.done.push(change.clone()),
            Err(error) => return Err(written.undo(error)),
        }
    }
    Ok(written)
}

impl WrittenFiles {
    /// Everything as it was; what could not be undone is told with the reason.
    pub fn undo(self, mut why: AppError) -> AppError {
        for change in self.done.into_iter().rev() {
            if let Err(error) = replace(&change.file, change.after.as_deref(), change.before.as_deref()) {
                why = why.hint(format!("{} could not be put back: {error}", change.file.display()));
            }
        }
        why
    }
}

/// Never half a file, and never over what somebody else wrote meanwhile.
fn replace(file: &Path, before: Option<&str>, after: Option<&str>) -> Result<(), AppError> {
    let failed = |error: std::io::Error| AppError::broken(format!("{}: {error}", file.display()));
    let meanwhile = || {
        AppError::new(
            ErrorKind::Refused,
            format!("{} was changed meanwhile; nothing was changed", file.display()),
        )
        .hint("look at it, and try again")
    };
    let now = match fs::read_to_string(file) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(failed(error)),
    };
    if now.as_deref() != before {
        return Err(meanwhile());
    }
    let Some(text) = after else { return fs::remove_file(file).map_err(failed) };
    let dir = file.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(dir).map_err(failed)?;
    let mut temporary = tempfile::Builder::new().prefix(".windlass-").tempfile_in(dir).map_err(failed)?;
    temporary.write_all(text.as_bytes()).map_err(failed)?;
    let readable = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    let mode = fs::metadata(file).map_or(readable, |found| found.permissions());
    temporary.as_file().set_permissions(mode).map_err(failed)?;
    temporary.as_file().sync_all().map_err(failed)?;
    match before {
        None => temporary.persist_noclobber(file).map(drop).map_err(|_| meanwhile()),
        Some(_) => temporary.persist(file).map(drop).map_err(|error| failed(error.error)),
    }
}
