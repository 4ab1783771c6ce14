//! What a proposed plan would write, and everything that speaks against it. It is all looked at in a copy of the
//! files that matter; the project is changed only by [`PlanFiles::write`].

use std::fs;
use std::path::Path;

use windlass_config::{PROJECT_FILE, PolicyAddition, checks_of_text, extend_policy_text};
use windlass_core::policy::{CheckPolicy, Policy};
use windlass_driver::ask_for_plan::{bad_globs, reaching};
use windlass_plan::{FrontMatter, PlanProposal, Planned, ProposedCheck, file_words};
use windlass_plan::{read_front_matter, tasks_dir};

use crate::error::Classify as _;
use crate::init::{PLACEHOLDER_TASK, write};
use crate::{AppError, Caller, PolicyArguments};

/// Where the record of loops can be read.
const TRAIL_DIR: &str = ".windlass";

/// The project's files that a plan adds to.
#[derive(Clone, Debug, Default)]
pub struct PlanGround {
    /// windlass.toml as it is, or as it would be written.
    pub policy_text: String,
    /// Whether that text is still to be written.
    pub policy_is_new: bool,
    /// The directory of the task files, as seen from the project.
    pub tasks_dir: String,
    pub tasks: Vec<TaskFile>,
    /// Whether the tasks that are there may change.
    pub revises: bool,
    /// Whether a document of the operator's says what is wanted.
    pub has_spec: bool,
    /// The number of the next document below `spec/` and `plan/`.
    pub next_number: u32,
}

#[derive(Clone, Debug)]
pub struct TaskFile {
    pub name: String,
    pub text: String,
}

impl TaskFile {
    pub fn id(&self) -> &str {
        self.name.strip_suffix(".md").unwrap_or(&self.name)
    }

    fn is_placeholder(&self) -> bool {
        self.text == PLACEHOLDER_TASK
    }
}

/// The files of a plan that can be run.
#[derive(Debug)]
pub struct PlanFiles {
    pub files: Vec<PlannedFile>,
    pub planned: Planned,
    /// The checks that are new.
    pub checks: Vec<ProposedCheck>,
    pub policy: Policy,
}

/// A file of the project, by its path from there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedFile {
    pub path: String,
    pub before: Option<String>,
    /// None is a file that goes.
    pub after: Option<String>,
}

/// What only those know who know the repository.
pub struct PlanJudge<'a> {
    /// What checks name and the repository does not have.
    pub in_head: &'a dyn Fn(&Policy) -> Vec<String>,
    /// What is wrong with a plan under a policy.
    pub under: &'a dyn Fn(&Policy, &Planned) -> Vec<AppError>,
}

impl PlanGround {
    /// The files of the project at `top`, whose policy is there.
    pub fn of_project(top: &Path, tasks_dir: &str) -> Result<Self, AppError> {
        let policy_text = match fs::read_to_string(top.join(PROJECT_FILE)) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(AppError::refused(format!("{PROJECT_FILE}: {error}"))),
        };
        let mut ground = Self {
            policy_text,
            tasks_dir: tasks_dir.trim_end_matches('/').to_owned(),
            next_number: 1,
            ..Self::default()
        };
        ground.tasks = task_files(&top.join(&ground.tasks_dir))?;
        let taken = |number: u32| {
            ["spec", "plan"].into_iter().any(|dir| {
                let prefix = format!("{number:03}-");
                let mut entries = fs::read_dir(top.join(dir)).into_iter().flatten().flatten();
                entries.any(|entry| entry.file_name().to_string_lossy().starts_with(&prefix))
            })
        };
        ground.next_number = (1..).find(|number| !taken(*number)).unwrap_or(1);
        Ok(ground)
    }

    /// What would be written, or everything that is wrong with the proposal.
    pub fn files_of(
        &self,
        proposal: &PlanProposal,
        caller: &Caller,
        judge: &PlanJudge<'_>,
    ) -> Result<Result<PlanFiles, Vec<String>>, AppError> {
        let mut problems = self.misuse_of_ids(proposal);
        let (policy_text, checks) = match self.extended_policy(proposal, &mut problems) {
            Some(extended) => extended,
            None => return Ok(Err(problems)),
        };
        let shadow = tempfile::tempdir().or_broken()?;
        write(&shadow.path().join(PROJECT_FILE), &policy_text)?;
        let tasks = self.task_changes(proposal);
        self.write_shadow(shadow.path(), &tasks)?;
        let policy = match caller.policy(shadow.path(), &PolicyArguments::default()) {
            Ok(resolved) => resolved.policy,
            Err(error) => {
                problems.push(error.message);
                return Ok(Err(problems));
            }
        };
        let mut only_new = Policy::default();
        let is_new = |check: &&CheckPolicy| checks.iter().any(|new| new.name == check.name);
        only_new.gate.checks = policy.gate.checks.iter().filter(is_new).cloned().collect();
        problems.extend((judge.in_head)(&only_new));
        let prefix = format!("{}/", shadow.path().display());
        let planned = match tasks_dir::check(&shadow.path().join(&self.tasks_dir)) {
            Ok(planned) => planned,
            Err(faults) => {
                problems.extend(faults.iter().map(|fault| fault.to_string().replace(&prefix, "")));
                return Ok(Err(problems));
            }
        };
        let known: Vec<&str> = policy.gate.checks.iter().map(|check| check.name.as_str()).collect();
        problems.extend(unknown_checks(&planned, &known));
        let told = |planned: &Planned| -> Vec<String> {
            let problems = (judge.under)(&policy, planned);
            problems.iter().map(|problem| in_words(problem).replace(&prefix, "")).collect()
        };
        let known = told(&without(&planned, proposal));
        problems.extend(told(&planned).into_iter().filter(|problem| !known.contains(problem)));
        let mut files = self.documents(proposal);
        files.extend(tasks);
        problems.extend(self.allowed_too_much(proposal, &files));
        if !problems.is_empty() {
            return Ok(Err(problems));
        }
        files.extend(self.policy_change(policy_text));
        Ok(Ok(PlanFiles { files, planned, checks, policy }))
    }

    /// No task of an agent's plan may change the policy, the record, or the plan itself.
    fn allowed_too_much(&self, proposal: &PlanProposal, files: &[PlannedFile]) -> Vec<String> {
        let mut own = vec![PROJECT_FILE.to_owned(), format!("{TRAIL_DIR}/loops")];
        own.extend(self.tasks.iter().map(|task| format!("{}/{}", self.tasks_dir, task.name)));
        own.extend(files.iter().map(|file| file.path.clone()));
        let mut problems = Vec::new();
        for task in &proposal.tasks {
            for (glob, path) in reaching(&task.allow, &own) {
                problems.push(format!(
                    "task {:?}: `allow` has {glob:?}, which reaches {path}: name the tests that it must change",
                    task.id
                ));
            }
        }
        problems
    }

    fn misuse_of_ids(&self, proposal: &PlanProposal) -> Vec<String> {
        let is_there = |id: &str| self.tasks.iter().any(|task| task.id() == id && !task.is_placeholder());
        let mut problems = Vec::new();
        if !self.revises {
            let taken = proposal.tasks.iter().filter(|task| is_there(&task.id));
            problems
                .extend(taken.map(|task| format!("task {:?}: there is one with this id already", task.id)));
            if !proposal.drop.is_empty() {
                problems.push("`drop` is not empty, and this is a plan of new tasks".to_owned());
            }
        }
        let gone = proposal.drop.iter().filter(|id| self.revises && !is_there(id));
        problems.extend(gone.map(|id| format!("`drop` names {id:?}, which is no task of the plan")));
        let both = proposal.tasks.iter().filter(|task| proposal.drop.contains(&task.id));
        problems.extend(both.map(|task| format!("task {:?} is proposed and dropped", task.id)));
        problems
    }

    /// windlass.toml with what is new in it, and the checks that are new.
    fn extended_policy(
        &self,
        proposal: &PlanProposal,
        problems: &mut Vec<String>,
    ) -> Option<(String, Vec<ProposedCheck>)> {
        let globs = bad_globs("`protect`", &proposal.protect);
        if !globs.is_empty() {
            problems.extend(globs);
            return None;
        }
        let known = checks_of_text(&self.policy_text);
        let mut new = Vec::new();
        for check in &proposal.checks {
            match known.iter().find(|(name, _)| *name == check.name) {
                Some((_, run)) if *run == check.run => {}
                Some(_) => {
                    problems.push(format!("check {:?}: there is another one with this name", check.name));
                }
                None if known.iter().any(|(_, run)| *run == check.run) => {
                    problems.push(format!(
                        "check {:?}: its command is that of a check that is there",
                        check.name
                    ));
                }
                None => new.push(check.clone()),
            }
        }
        let addition = PolicyAddition {
            checks: new.iter().map(|check| (check.name.clone(), check.run.clone())).collect(),
            protect: proposal.protect.clone(),
        };
        match extend_policy_text(&self.policy_text, &addition) {
            Ok(text) => Some((text, new)),
            Err(error) => {
                problems.push(format!(
                    "{PROJECT_FILE} cannot take the checks and protected paths ({error}): propose none"
                ));
                None
            }
        }
    }

    fn task_changes(&self, proposal: &PlanProposal) -> Vec<PlannedFile> {
        let path = |name: &str| format!("{}/{name}", self.tasks_dir);
        let mut changes = Vec::new();
        for task in &proposal.tasks {
            let before = self.tasks.iter().find(|file| file.name == task.file_name());
            changes.push(PlannedFile {
                path: path(&task.file_name()),
                before: before.map(|file| file.text.clone()),
                after: Some(task.render(operators_part(before).as_ref())),
            });
        }
        let goes = |file: &&TaskFile| {
            let replaced = changes.iter().any(|change| change.path == path(&file.name));
            !replaced && (file.is_placeholder() || proposal.drop.iter().any(|id| id == file.id()))
        };
        let gone = self.tasks.iter().filter(goes).map(|file| PlannedFile {
            path: path(&file.name),
            before: Some(file.text.clone()),
            after: None,
        });
        let gone: Vec<PlannedFile> = gone.collect();
        changes.extend(gone);
        changes.retain(|change| change.before != change.after);
        changes
    }

    fn write_shadow(&self, shadow: &Path, changes: &[PlannedFile]) -> Result<(), AppError> {
        let changed = |path: &String| changes.iter().any(|change| change.path == *path);
        for task in &self.tasks {
            let path = format!("{}/{}", self.tasks_dir, task.name);
            if !changed(&path) {
                write(&shadow.join(path), &task.text)?;
            }
        }
        for change in changes {
            if let Some(text) = &change.after {
                write(&shadow.join(&change.path), text)?;
            }
        }
        Ok(())
    }

    fn documents(&self, proposal: &PlanProposal) -> Vec<PlannedFile> {
        let name = format!("{:03}-{}.md", self.next_number, file_words(&proposal.title));
        let document = |dir: &str, text: &str| PlannedFile {
            path: format!("{dir}/{name}"),
            before: None,
            after: Some(format!("{}\n", text.trim())),
        };
        let spec = (!self.has_spec && !self.revises).then(|| document("spec", &proposal.spec));
        spec.into_iter().chain([document("plan", &proposal.plan)]).collect()
    }

    fn policy_change(&self, after: String) -> Option<PlannedFile> {
        let is_other = self.policy_is_new || after != self.policy_text;
        let before = (!self.policy_is_new).then(|| self.policy_text.clone());
        is_other.then(|| PlannedFile { path: PROJECT_FILE.to_owned(), before, after: Some(after) })
    }
}

impl PlanFiles {
    /// Each file whole or not at all; windlass.toml last, what goes after that.
    pub fn write(&self, top: &Path) -> Result<(), AppError> {
        for change in &self.files {
            if let Some(text) = &change.after {
                write(&top.join(&change.path), text)?;
            }
        }
        for change in self.files.iter().filter(|change| change.after.is_none()) {
            fs::remove_file(top.join(&change.path)).or_broken()?;
        }
        Ok(())
    }
}

/// What was wrong before is not for the planner to mend.
fn without(planned: &Planned, proposal: &PlanProposal) -> Planned {
    let mut others = planned.clone();
    others.tasks.retain(|task| proposal.tasks.iter().all(|proposed| proposed.id != task.id.as_str()));
    others
}

fn in_words(problem: &AppError) -> String {
    match problem.hints.first() {
        Some(hint) => format!("{} ({hint})", problem.message),
        None => problem.message.clone(),
    }
}

/// What an operator wrote into the file that a proposal does not speak of.
fn operators_part(before: Option<&TaskFile>) -> Option<FrontMatter> {
    before.and_then(|file| read_front_matter(&file.text).ok())
}

fn unknown_checks(planned: &Planned, known: &[&str]) -> Vec<String> {
    let unknown = planned.tasks.iter().flat_map(|task| {
        let missing = task.checks.iter().filter(|check| !known.contains(&check.value.as_str()));
        missing.map(|check| (task.id.clone(), check.value.clone()))
    });
    let known = if known.is_empty() {
        "there are none".to_owned()
    } else {
        format!("there are {}", known.join(", "))
    };
    unknown
        .map(|(task, check)| format!("task {task} names the check {check:?}, which does not exist; {known}"))
        .collect()
}

fn task_files(dir: &Path) -> Result<Vec<TaskFile>, AppError> {
    let Ok(entries) = fs::read_dir(dir) else { return Ok(Vec::new()) };
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry.or_broken()?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.ends_with(".md") && !name.starts_with('.') {
            let text = fs::read_to_string(entry.path())
                .map_err(|error| AppError::refused(format!("{}: {error}", entry.path().display())))?;
            files.push(TaskFile { name, text });
        }
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(files)
}
