//! Changes of single tasks. The plan has one truth: where it is a directory of task files, these are changed and
//! the loop reads them again; else the loop's own plan changes, and the source stays as it is.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use windlass_core::amendment::{
    self, AmendedTask, Amendment, AmendmentError, PlanOrder, TaskPart, TaskPlace, WholeTask, part_text,
    task_body, waits_for,
};
use windlass_core::command::Command;
use windlass_core::id::{AmendmentId, BlobId, LoopName, TaskId};
use windlass_core::proposal::{ProposedAction, ProposedAmendment, ProposedPart};
use windlass_core::revision::{PlanRevision, Revision};
use windlass_core::state::{State, TaskStatus};
use windlass_core::step;
use windlass_core::task::{Plan, Task, task_slug};
use windlass_core::view::View;
use windlass_driver::Interrupts;
use windlass_driver::plan_problems::glob_problem;
use windlass_plan::body_of;
use windlass_store::blobs::id_of;

use crate::create::is_open;
use crate::error::Classify as _;
use crate::task_files::{FileChange, TaskFiles, write};
use crate::{
    AppError, CommandResult, OpenProject, PolicyArguments, ReviseReport, ReviseRequest, ReviseResult,
    StoredLoop,
};

/// The longest text of a task that is carried into its parts.
const TEXT_LIMIT: u64 = windlass_plan::MAX_FILE_BYTES;

/// What an operator asks of a plan's tasks.
#[derive(Clone, Debug)]
pub enum TaskChange {
    Add(NewTask),
    Edit(TaskEdit),
    Drop { task: TaskId, force: bool },
    Split { task: TaskId, parts: Vec<ProposedPart> },
    Move { task: TaskId, place: TaskPlace },
}

#[derive(Clone, Debug, Default)]
pub struct NewTask {
    pub title: String,
    /// None: made of the title.
    pub id: Option<String>,
    pub text: Option<String>,
    pub depends_on: Vec<TaskId>,
    pub priority: i64,
    pub allow: Vec<String>,
    pub place: Option<TaskPlace>,
}

/// What is none stays as it is.
#[derive(Clone, Debug)]
pub struct TaskEdit {
    pub task: TaskId,
    pub title: Option<String>,
    pub text: Option<String>,
    pub depends_on: Option<Vec<TaskId>>,
    pub priority: Option<i64>,
    /// Beside what it may change already.
    pub allow: Vec<String>,
}

#[derive(Debug, Default)]
pub struct TaskReport {
    /// The files that were written, and how, as the operator would name them.
    pub files: Vec<(PathBuf, &'static str)>,
    /// What became of it in the loop; none where there is no loop yet.
    pub revised: Option<ReviseReport>,
    /// What else is worth telling.
    pub notes: Vec<String>,
}

/// A task as `task list` shows it.
#[derive(Clone, Debug, serde::Serialize)]
pub struct ListedTask {
    pub id: TaskId,
    pub title: String,
    pub status: &'static str,
    pub priority: i64,
    pub depends_on: Vec<TaskId>,
}

impl OpenProject {
    /// The loop whose tasks are meant; none where there is only a plan. A goal that is completed is no plan: nobody
    /// who names no loop means that one, as long as there are files that can be meant.
    pub fn task_loop(
        &self,
        name: Option<&str>,
        change: Option<&TaskChange>,
    ) -> Result<Option<LoopName>, AppError> {
        if name.is_some() {
            return self.exact(name).map(|found| Some(found.name));
        }
        let views = self.loops()?.iter().map(StoredLoop::view).collect::<Result<Vec<_>, _>>()?;
        let counts = |view: &&View| is_open(view) || !self.is_of_goal(view);
        let counted: Vec<&View> = views.iter().filter(counts).collect();
        let is_new = matches!(change, Some(TaskChange::Add(_)));
        match counted.as_slice() {
            [only] => Ok(Some(only.name.clone())),
            [] if views.is_empty() || is_new || self.planned_files(false).is_ok() => Ok(None),
            _ => self.exact(None).map(|found| Some(found.name)),
        }
    }

    /// In the order in which they would be worked on, those that are settled first.
    pub fn task_list(&self, name: Option<&LoopName>) -> Result<Vec<ListedTask>, AppError> {
        let Some(name) = name else {
            let files = self.planned_files(true)?;
            return Ok(listed(
                &files.tasks.iter().map(|task| (task, status_before(task))).collect::<Vec<_>>(),
            ));
        };
        let state = self.state_of(name)?;
        let status = |task: &AmendedTask<'_>| match state.task(&task.task.id) {
            None => "new",
            Some(known) if known.is_settled() && !task.is_settled => "reopened",
            Some(known) => word_of(known.status),
        };
        let wanted = step::wanted_tasks(&state);
        Ok(listed(&wanted.iter().map(|task| (task.task, status(task))).collect::<Vec<_>>()))
    }

    pub fn change_task(
        &self,
        name: Option<&LoopName>,
        change: &TaskChange,
        interrupts: Interrupts,
    ) -> Result<TaskReport, AppError> {
        self.refuse_inside_attempt()?;
        check_globs(change)?;
        let Some(name) = name else {
            let files = self.planned_files(matches!(change, TaskChange::Add(_)))?;
            return self.change_files(&files, None, change);
        };
        let state = self.state_of(name)?;
        let Some(source) = self.plan_directory(name) else {
            return self.change_loop(name, &state, change, interrupts);
        };
        let mut files = TaskFiles::read(self.project.top.join(&source), &source, false)?;
        files.bring_applied(&state, &|text| self.text_of(text))?;
        let mut in_loop = LoopOfFiles { project: self, name, state: &state, interrupts, revised: None };
        let report = self.change_files(&files, Some(&mut in_loop), change)?;
        Ok(TaskReport { revised: in_loop.revised, ..report })
    }

    /// The operator's word on what an agent proposed. An accepted amendment changes the plan as the operator's own
    /// would, and is marked after that: whatever stops it between, it still waits.
    pub fn accept_amendment(
        &self,
        name: &LoopName,
        id: &AmendmentId,
        interrupts: Interrupts,
    ) -> Result<TaskReport, AppError> {
        self.refuse_inside_attempt()?;
        let mark = Command::AcceptAmendment { amendment: id.clone() };
        let state = self.state_of(name)?;
        if let Some(why) = step::refusal(&state, &mark) {
            return Err(AppError::refused(why));
        }
        let known = state.amendments.iter().find(|known| known.id == *id);
        let proposed = &known.expect("what is not there is refused").proposed;
        let report = self.change_task(Some(name), &change_of(proposed), interrupts.clone())?;
        self.send(name, &mark, interrupts)?;
        Ok(report)
    }

    pub fn reject_amendment(
        &self,
        name: &LoopName,
        id: &AmendmentId,
        why: &str,
        interrupts: Interrupts,
    ) -> Result<(), AppError> {
        self.refuse_inside_attempt()?;
        self.send(name, &Command::RejectAmendment { amendment: id.clone(), why: why.to_owned() }, interrupts)
    }

    fn send(&self, name: &LoopName, command: &Command, interrupts: Interrupts) -> Result<(), AppError> {
        match self.command(name, command, interrupts)?.result {
            CommandResult::Refused { why } => Err(AppError::refused(why)),
            CommandResult::Done(_) | CommandResult::Recorded | CommandResult::Interrupted => Ok(()),
        }
    }

    /// The task files of the plan that windlass.toml names.
    fn planned_files(&self, may_be_new: bool) -> Result<TaskFiles, AppError> {
        let source = self.policy(&PolicyArguments::default())?.policy.plan.source;
        let dir = self.project.top.join(source.trim());
        let is_new = may_be_new && !source.trim().is_empty() && !dir.exists() && dir.extension().is_none();
        if dir.is_dir() || is_new {
            return TaskFiles::read(dir, source.trim(), may_be_new);
        }
        let refused =
            AppError::refused("no loop has tasks to change, and the plan is no directory of task files");
        Err(match source.trim() {
            "" => refused.hint("`windlass init` writes a windlass.toml and a first task"),
            source => refused.hint(format!("edit {source} itself; `windlass run` starts a loop from it")),
        })
    }

    fn change_files(
        &self,
        files: &TaskFiles,
        in_loop: Option<&mut LoopOfFiles<'_>>,
        change: &TaskChange,
    ) -> Result<TaskReport, AppError> {
        let state = in_loop.as_ref().map(|in_loop| in_loop.state);
        let settled = |task: &Task| match state.and_then(|state| state.task(&task.id)) {
            Some(known) => known.stays_settled(task),
            None => task.done_before,
        };
        let rows: Vec<AmendedTask<'_>> =
            files.tasks.iter().map(|task| AmendedTask { task, is_settled: settled(task) }).collect();
        let of_loop: BTreeSet<TaskId> =
            state.iter().flat_map(|state| state.tasks.iter()).map(|task| task.task.id.clone()).collect();
        let mut drafted = Drafted::new(change, &rows, &of_loop, &|id| Ok(files.text_of(id)))?;
        let plan = drafted.applied(&rows, PlanOrder::ByFileName)?;
        drafted.texts.extend(files.applied_texts.clone());
        let changes = files.changes(&plan, &drafted.texts)?;
        if let Some(in_loop) = &in_loop {
            in_loop.check(files.with(&changes)?)?;
        }
        let written = write(&changes)?;
        if let Some(in_loop) = in_loop
            && let Err(refused) = in_loop.read_again(&files.source)
        {
            return Err(written.undo(refused));
        }
        let shown = |change: &FileChange| {
            let file = change.file.strip_prefix(&self.project.top).unwrap_or(&change.file);
            (file.to_owned(), change.what())
        };
        let notes = notes(&drafted.amendment, &plan.tasks, &rows);
        Ok(TaskReport { files: changes.iter().map(shown).collect(), revised: None, notes })
    }

    /// Of a plan that windlass does not write: core applies it, so that two who amend at once both do.
    fn change_loop(
        &self,
        name: &LoopName,
        state: &State,
        change: &TaskChange,
        interrupts: Interrupts,
    ) -> Result<TaskReport, AppError> {
        let rows = step::wanted_tasks(state);
        let store = self.store()?;
        let text_of = |id: &TaskId| {
            let task = rows.iter().find(|row| row.task.id == *id);
            task.map_or_else(|| Ok(String::new()), |row| self.text_of(&row.task.text))
        };
        let drafted = Drafted::new(change, &rows, &BTreeSet::new(), &text_of)?;
        let plan = drafted.applied(&rows, PlanOrder::AsWritten)?;
        let command = Command::Amend(Box::new(drafted.amendment.clone()));
        if let Some(why) = step::refusal(state, &command) {
            return Err(AppError::refused(why));
        }
        // The texts are stored before the record that names them.
        for text in drafted.texts.values() {
            store.put(text.clone().into_bytes()).or_broken()?;
        }
        let report = self.command(name, &command, interrupts)?;
        let result = self.revise_result(name, report.result)?;
        if let ReviseResult::Refused { why } = result {
            return Err(AppError::refused(why));
        }
        let plan = Plan { tools: (*state.tools).clone(), ..plan };
        let revision = PlanRevision::between(state, &plan);
        let mut notes = notes(&drafted.amendment, &plan.tasks, &rows);
        notes.push(self.unchanged_source(name));
        let revised =
            ReviseReport { plan: Some(revision), result, warning: report.warning, ..ReviseReport::default() };
        Ok(TaskReport { files: Vec::new(), revised: Some(revised), notes })
    }

    fn text_of(&self, text: &BlobId) -> Result<String, AppError> {
        let bytes = self.store()?.blob(text, TEXT_LIMIT).or_broken()?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn unchanged_source(&self, name: &LoopName) -> String {
        match self.plan_source(name) {
            Some(source) => format!(
                "only the plan of {name} changed: {source} was not, and decides again when it is edited and read"
            ),
            None => format!("only the plan of {name} changed; there is no file of it"),
        }
    }
}

/// A loop that reads its plan from task files.
struct LoopOfFiles<'a> {
    project: &'a OpenProject,
    name: &'a LoopName,
    state: &'a State,
    interrupts: Interrupts,
    revised: Option<ReviseReport>,
}

impl LoopOfFiles<'_> {
    /// Whether the loop would take such a plan.
    fn check(&self, plan: Plan) -> Result<(), AppError> {
        let command = Command::Revise(Box::new(Revision { plan: Some(plan), policy: None }));
        step::refusal(self.state, &command).map_or(Ok(()), |why| Err(AppError::refused(why)))
    }

    fn read_again(&mut self, source: &str) -> Result<(), AppError> {
        let request = ReviseRequest { plan: Some(source.to_owned()), ..ReviseRequest::default() };
        let report = self.project.revise(self.name, &request, self.interrupts.clone())?;
        if let ReviseResult::Refused { why } = report.result {
            return Err(AppError::refused(why));
        }
        self.revised = Some(report);
        Ok(())
    }
}

/// A change in the words of core, and the texts that it names.
struct Drafted {
    amendment: Amendment,
    texts: BTreeMap<BlobId, String>,
}

impl Drafted {
    fn new(
        change: &TaskChange,
        rows: &[AmendedTask<'_>],
        elsewhere: &BTreeSet<TaskId>,
        text_of: &dyn Fn(&TaskId) -> Result<String, AppError>,
    ) -> Result<Self, AppError> {
        let mut texts = BTreeMap::new();
        let mut keep = |text: String| {
            let id = id_of(text.as_bytes());
            texts.insert(id.clone(), text);
            id
        };
        let find = |id: &TaskId| rows.iter().find(|row| row.task.id == *id).map(|row| row.task);
        let mut taken = elsewhere.clone();
        taken.extend(rows.iter().map(|row| row.task.id.clone()));
        let free = |id: &TaskId| match elsewhere.contains(id) && find(id).is_none() {
            true => Err(refused(&AmendmentError::TaskExists(id.clone()))),
            false => Ok(()),
        };
        let amendment = match change {
            TaskChange::Add(new) => {
                let title = new.title.trim().to_owned();
                let id = new.id.as_ref().map_or_else(|| new_id(&title, rows, &taken), TaskId::new);
                free(&id)?;
                let text = keep(task_body(&title, new.text.as_deref().unwrap_or_default()));
                let task = Task {
                    depends_on: unique(&new.depends_on),
                    priority: new.priority,
                    allow: new.allow.clone(),
                    ..Task::plain(id, title, text)
                };
                Amendment::Add { task: Box::new(task), place: new.place.clone() }
            }
            TaskChange::Edit(edit) => {
                let title = edit.title.as_ref().map(|title| title.trim().to_owned());
                let named = title.clone().or_else(|| find(&edit.task).map(|task| task.title.clone()));
                let text = edit.text.as_ref();
                if text.is_some_and(|text| text.trim().is_empty()) {
                    return Err(AppError::refused("the text is empty; nothing was changed")
                        .hint("say what is to be done"));
                }
                let text = text.map(|text| keep(task_body(&named.unwrap_or_default(), text)));
                let depends_on = edit.depends_on.as_deref().map(unique);
                let allowed = find(&edit.task).map(|task| task.allow.clone()).unwrap_or_default();
                let new = edit.allow.iter().filter(|glob| !allowed.contains(glob)).cloned();
                let allow = (!edit.allow.is_empty()).then(|| allowed.iter().cloned().chain(new).collect());
                let (task, priority) = (edit.task.clone(), edit.priority);
                Amendment::Edit { task, title, text, depends_on, priority, allow }
            }
            TaskChange::Drop { task, force } => Amendment::Drop { task: task.clone(), force: *force },
            TaskChange::Split { task, parts } => {
                let (title, text) = (find(task).map(|task| task.title.as_str()), text_of(task)?);
                let whole = WholeTask { title: title.unwrap_or_default(), text: body_of(&text), parts };
                let part = |nth: usize| TaskPart {
                    id: TaskId::new(format!("{task}-{}", nth + 1)),
                    title: parts[nth].title.trim().to_owned(),
                    text: keep(part_text(&whole, nth)),
                };
                let parts: Vec<TaskPart> = (0..parts.len()).map(part).collect();
                parts.iter().try_for_each(|part| free(&part.id))?;
                Amendment::Split { task: task.clone(), parts }
            }
            TaskChange::Move { task, place } => Amendment::Move { task: task.clone(), place: place.clone() },
        };
        Ok(Self { amendment, texts })
    }

    fn applied(&self, rows: &[AmendedTask<'_>], order: PlanOrder) -> Result<Plan, AppError> {
        amendment::amended(rows, &self.amendment, order).map_err(|error| refused(&error))
    }
}

fn check_globs(change: &TaskChange) -> Result<(), AppError> {
    let globs = match change {
        TaskChange::Add(new) => &new.allow[..],
        TaskChange::Edit(edit) => &edit.allow[..],
        TaskChange::Drop { .. } | TaskChange::Split { .. } | TaskChange::Move { .. } => &[],
    };
    let problem = globs.iter().find_map(|glob| glob_problem("--allow", "allow", glob));
    problem.map_or(Ok(()), |problem| Err(AppError::refused(&problem).with_hints(problem.hints())))
}

/// What an agent proposed, as an operator would ask for it.
fn change_of(proposed: &ProposedAmendment) -> TaskChange {
    let said = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    let task = TaskId::new(&proposed.task);
    let depends_on: Vec<TaskId> = proposed.depends_on.iter().map(TaskId::new).collect();
    match proposed.action {
        ProposedAction::Add => TaskChange::Add(NewTask {
            title: proposed.title.clone(),
            id: said(&proposed.task),
            text: said(&proposed.text),
            depends_on,
            ..NewTask::default()
        }),
        ProposedAction::Edit => TaskChange::Edit(TaskEdit {
            task,
            title: said(&proposed.title),
            text: said(&proposed.text),
            depends_on: Some(depends_on).filter(|on| !on.is_empty()),
            priority: None,
            allow: Vec::new(),
        }),
        ProposedAction::Drop => TaskChange::Drop { task, force: false },
        ProposedAction::Split => TaskChange::Split { task, parts: proposed.parts.clone() },
    }
}

fn refused(error: &AmendmentError) -> AppError {
    AppError::refused(format!("{error}; nothing was changed")).hint(error.remedy())
}

fn unique(ids: &[TaskId]) -> Vec<TaskId> {
    let mut seen = BTreeSet::new();
    ids.iter().filter(|id| seen.insert((*id).clone())).cloned().collect()
}

/// The words of the title; where all tasks have a number before their name, the next one.
fn new_id(title: &str, rows: &[AmendedTask<'_>], taken: &BTreeSet<TaskId>) -> TaskId {
    let words = task_slug(title).unwrap_or_else(|| TaskId::new("task"));
    let number = |row: &AmendedTask<'_>| {
        let (digits, _) = row.task.id.as_str().split_once('-')?;
        let number: u32 = digits.parse().ok()?;
        Some((number, digits.len()))
    };
    let numbers: Option<Vec<(u32, usize)>> = rows.iter().map(number).collect();
    let last = numbers.and_then(|numbers| numbers.into_iter().max());
    let first = match last.and_then(|(number, width)| Some((number.checked_add(1)?, width))) {
        Some((number, width)) => format!("{number:0width$}-{words}"),
        None => words.to_string(),
    };
    let numbered = |n: u32| TaskId::new(format!("{first}-{n}"));
    let mut ids = std::iter::once(TaskId::new(&first)).chain((2..).map(numbered));
    ids.find(|id| !taken.contains(id)).expect("there are fewer tasks than numbers")
}

/// What the operator may not expect.
fn notes(amendment: &Amendment, tasks: &[Task], rows: &[AmendedTask<'_>]) -> Vec<String> {
    let is_open = |id: &TaskId| rows.iter().all(|row| row.task.id != *id || !row.is_settled);
    let (id, place) = match amendment {
        Amendment::Move { task, place } => (task, place),
        Amendment::Add { task, place: Some(place) } => (&task.id, place),
        Amendment::Add { place: None, .. }
        | Amendment::Edit { .. }
        | Amendment::Drop { .. }
        | Amendment::Split { .. } => return Vec::new(),
    };
    let waits = |task: &TaskId, on: &TaskId| waits_for(tasks, task).contains(on);
    let held: Vec<TaskId> = match place {
        TaskPlace::First => waits_for(tasks, id).into_iter().filter(is_open).collect(),
        TaskPlace::Before(beside) if waits(id, beside) => vec![beside.clone()],
        TaskPlace::After(beside) if waits(beside, id) => {
            return vec![format!(
                "{beside} depends on {id} and still waits for it: dependencies decide first"
            )];
        }
        TaskPlace::Before(_) | TaskPlace::After(_) => Vec::new(),
    };
    if held.is_empty() {
        return Vec::new();
    }
    let names: Vec<&str> = held.iter().map(TaskId::as_str).collect();
    vec![format!("{id} depends on {} and still waits for it: dependencies decide first", names.join(", "))]
}

fn listed(tasks: &[(&Task, &'static str)]) -> Vec<ListedTask> {
    let is_open = |status: &str| !matches!(status, "done" | "waived");
    let mut rows: Vec<&(&Task, &'static str)> = tasks.iter().collect();
    rows.sort_by_key(|(task, status)| (is_open(status), if is_open(status) { task.priority } else { 0 }));
    let row = |(task, status): &(&Task, &'static str)| ListedTask {
        id: task.id.clone(),
        title: task.title.clone(),
        status,
        priority: task.priority,
        depends_on: task.depends_on.clone(),
    };
    rows.into_iter().map(row).collect()
}

fn status_before(task: &Task) -> &'static str {
    word_of(if task.done_before { TaskStatus::Done } else { TaskStatus::Pending })
}

fn word_of(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::Pending => "pending",
        TaskStatus::Active => "active",
        TaskStatus::Done => "done",
        TaskStatus::Blocked => "blocked",
        TaskStatus::Waived => "waived",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(id: &str) -> Task {
        Task::plain(TaskId::new(id), id.to_owned(), BlobId::new(id))
    }

    fn id_among(title: &str, ids: &[&str]) -> String {
        let tasks: Vec<Task> = ids.iter().map(|id| task(id)).collect();
        let rows: Vec<_> = tasks.iter().map(|task| AmendedTask { task, is_settled: false }).collect();
        new_id(title, &rows, &tasks.iter().map(|task| task.id.clone()).collect()).to_string()
    }

    #[test]
    fn an_id_is_made_of_the_title_and_follows_the_numbers() {
        assert_eq!(id_among("Parse durations!", &["first"]), "parse-durations");
        assert_eq!(id_among("Parse durations", &["001-a", "009-b"]), "010-parse-durations");
        assert_eq!(id_among("Parse durations", &["001-a", "b"]), "parse-durations");
        assert_eq!(id_among("First", &["first", "first-2"]), "first-3");
        assert_eq!(id_among("…", &[]), "task");
    }
}
