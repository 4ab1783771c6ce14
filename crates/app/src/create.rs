//! What a request to run means: a loop that is there, or one to be created. All
//! that a new loop needs is looked at before anything is written.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use unicode_normalization::UnicodeNormalization as _;
use windlass_config::Resolved;
use windlass_core::event::{Event, LoopEvent};
use windlass_core::id::{LoopName, Seq};
use windlass_core::input::Asked;
use windlass_core::nearest::nearest;
use windlass_core::outcome::OutcomeKind;
use windlass_core::plain::shell_word;
use windlass_core::policy::{PlanPolicy, Policy, Role};
use windlass_core::task::Task;
use windlass_core::view::View;
use windlass_driver::loop_branch;
use windlass_driver::setup::{self, NewLoop, PlantedTerm, Proposed};
use windlass_plan::goal::GOAL_TASK;
use windlass_plan::{BadPlan, PlanError, PlanFormat, Planned, PlannedTask};
use windlass_store::Holder;

use crate::error::Classify as _;
use crate::init::{PLACEHOLDER_TASK, best_agent};
use crate::project::{joined, loop_name};
use crate::revise::of_setup;
use crate::{AppError, ErrorKind, OpenProject, PolicyArguments, StoredLoop, asked_tasks};

/// The longest goal that is compared; arguments are shorter.
const GOAL_LIMIT: u64 = 4 << 20;

/// Which loop is meant, what it would be made of, and what one drive of it is to do.
#[derive(Clone, Debug, Default)]
pub struct RunRequest {
    pub target: RunTarget,
    /// The name of a loop that may be created. With it, a single word is a goal as well.
    pub name: Option<String>,
    /// Where the plan is, instead of where the policy says.
    pub plan: Option<String>,
    pub policy: PolicyArguments,
    /// A revision to start from; HEAD when none is given.
    pub base: Option<String>,
    pub asked: Asked,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RunTarget {
    /// The only loop there is, or one named after the project.
    #[default]
    Only,
    /// A loop that is there.
    Named(String),
    /// The loop of exactly this text, or a new one with a name of its own.
    Goal(String),
}

impl RunRequest {
    /// What a new loop is to do instead of a plan.
    fn goal(&self) -> Option<&str> {
        match (&self.target, &self.name) {
            (RunTarget::Goal(goal), _) => Some(goal),
            (RunTarget::Named(word), Some(name)) if word != name => Some(word),
            (RunTarget::Named(_) | RunTarget::Only, _) => None,
        }
    }
}

impl RunTarget {
    /// A bare word is a loop's name, a sentence is a goal.
    pub fn of_words(words: Option<&str>) -> Self {
        match words {
            Some(words) if words.trim().contains(char::is_whitespace) => Self::Goal(words.to_owned()),
            Some(word) => Self::Named(word.to_owned()),
            None => Self::Only,
        }
    }
}

/// A loop that is on record.
pub struct CreatedLoop {
    pub name: LoopName,
    pub warnings: Vec<String>,
}

/// What running would mean. Nothing is written yet.
pub enum RunProposal {
    /// The loop ended or is paused: it is not driven until the operator acts.
    Resting(Box<View>),
    Existing(Box<View>),
    New(Box<Proposed>),
}

impl OpenProject {
    pub fn propose(&self, request: &RunRequest) -> Result<RunProposal, AppError> {
        self.refuse_inside_attempt()?;
        self.state.check().or_refused()?;
        let name = self.name_of(request)?;
        if let (Some(goal), Some(plan)) = (request.goal(), &request.plan) {
            return Err(goal_and_plan(goal, plan));
        }
        match self.view(&name)? {
            Some(view) => {
                self.refuse_removed(&view)?;
                self.refuse_other_repository(&view)?;
                asked_tasks::check_known(&request.asked, &view)?;
                Ok(match view.rests() {
                    true => RunProposal::Resting(Box::new(view)),
                    false => RunProposal::Existing(Box::new(view)),
                })
            }
            None => {
                self.refuse_branch(&name)?;
                let mut proposed = self.propose_new(request, name)?;
                asked_tasks::check_planned(request, &proposed.planned)?;
                if let (None, RunTarget::Goal(goal)) = (&request.name, &request.target) {
                    proposed.notes.extend(self.loops_of_goal(goal)?.first().map(|earlier| {
                        let name = &earlier.name;
                        format!(
                            "note: {name} completed this goal, but not with the commits that came since: this is \
                             a new loop"
                        )
                    }));
                }
                let open = proposed.planned.tasks.iter().filter(|task| !task.done && !task.blocked);
                let open = open.filter_map(|task| Some((&task.id, task.mode.as_ref()?.value.clone().into())));
                asked_tasks::check_explorers(&request.asked, &proposed.policy, open)?;
                asked_tasks::unprovable_of_plan(&request.asked, &proposed.policy, &proposed.planned)?;
                Ok(RunProposal::New(Box::new(proposed)))
            }
        }
    }

    /// Writes the first record of a loop that was proposed.
    pub fn create(&self, proposed: Proposed, request: &RunRequest) -> Result<CreatedLoop, AppError> {
        let name = proposed.name.clone();
        self.state.create_checked().or_refused()?;
        let source = request.plan.as_ref().unwrap_or(&proposed.policy.plan.source);
        let plan = request.goal().is_none().then_some((source.as_str(), &proposed.planned));
        // Before the loop: one whose reading is not known would pass over edits without a word.
        self.keep_reading(&name, &self.read_files(plan)?)?;
        match setup::create(&self.store()?, proposed) {
            Ok(planted) => Ok(CreatedLoop { name, warnings: words_of(&planted) }),
            Err(error) if error.is_taken() => self.create_beside(&name, request),
            Err(error) => {
                let kind = if error.is_of_the_base() { ErrorKind::Refused } else { ErrorKind::Broken };
                Err(AppError::new(kind, &error).with_hints(error.hints()))
            }
        }
    }

    /// A name that was chosen for a goal is as good as the next one. The same goal is not begun twice.
    fn create_beside(&self, taken: &LoopName, request: &RunRequest) -> Result<CreatedLoop, AppError> {
        let is_chosen = request.name.is_none() && matches!(request.target, RunTarget::Goal(_));
        if !is_chosen {
            return Err(self.taken(taken));
        }
        match self.propose(request)? {
            RunProposal::New(proposed) => self.create(*proposed, request),
            RunProposal::Existing(view) | RunProposal::Resting(view) => Err(self.taken(&view.name)),
        }
    }

    /// Somebody else created the loop while this process was about to.
    fn taken(&self, name: &LoopName) -> AppError {
        let holder = self.reader().ok().flatten().and_then(|reader| reader.holder(name).ok());
        let drives = match holder {
            Some(Holder::Somebody(Some(owner))) => format!(", and drives it (process {})", owner.pid),
            Some(Holder::Somebody(None)) => ", and drives it".to_owned(),
            Some(Holder::Nobody) | None => String::new(),
        };
        AppError::new(ErrorKind::NeedsOperator, format!("another process has just created {name}{drives}"))
            .hint(format!("`windlass status {name}` shows how it stands"))
    }

    fn name_of(&self, request: &RunRequest) -> Result<LoopName, AppError> {
        let legal = |name: &String| loop_name(name).or_refused();
        match (&request.name, &request.target) {
            (Some(name), RunTarget::Named(word)) if self.find_exactly(word)?.is_some() && name != word => {
                Err(AppError::refused(format!("two names: {name} and {word}")).hint("give one"))
            }
            (Some(name), RunTarget::Goal(goal)) => self.check_goal(legal(name)?, goal, request),
            (Some(name), RunTarget::Named(goal)) if name != goal => {
                self.check_goal(legal(name)?, goal, request)
            }
            (Some(name), RunTarget::Named(_) | RunTarget::Only) => legal(name),
            (None, RunTarget::Named(word)) => {
                self.find_exactly(word)?.map_or_else(|| Err(self.no_such_loop(word)), Ok)
            }
            (None, RunTarget::Goal(goal)) => self.loop_of_goal(goal, request),
            (None, RunTarget::Only) => self.only_or_default(request),
        }
    }

    /// No loop lands on a branch that it did not make: it would be known only when the first work is to land.
    fn refuse_branch(&self, name: &LoopName) -> Result<(), AppError> {
        if !self.has_branch(name) {
            return Ok(());
        }
        let branch = branch_of(name);
        Err(AppError::refused(format!("branch {branch} is there already, and no loop made it"))
            .hint(format!("`git branch -m {branch} OTHER-NAME` keeps it under another name"))
            .hint("or give the loop another name: windlass run --name NAME"))
    }

    fn has_branch(&self, name: &LoopName) -> bool {
        loop_branch::is_there(&self.project.common_dir, &self.surroundings(), &branch_of(name))
    }

    fn find_exactly(&self, word: &str) -> Result<Option<LoopName>, AppError> {
        let Ok(name) = loop_name(word) else { return Ok(None) };
        let Some(reader) = self.reader()? else { return Ok(None) };
        Ok(reader.head(&name).or_broken()?.map(|_| name))
    }

    /// A mistyped name starts nothing.
    fn no_such_loop(&self, word: &str) -> AppError {
        let rows = self.loops().unwrap_or_default();
        let names: Vec<LoopName> = rows.iter().map(|row| row.name.clone()).collect();
        let part_of = || names.iter().map(LoopName::as_str).find(|name| name.contains(word));
        let meant = nearest(word, names.iter().map(LoopName::as_str)).or_else(part_of);
        if word.trim().is_empty() {
            return AppError::refused("the name of the loop is empty")
                .hint("say what is to be done: windlass run \"make the tests pass\"");
        }
        let refused = AppError::refused(format!("there is no loop named {word}"));
        if self.project.top.join(word).exists() {
            return refused.hint(format!("is it a plan? `windlass run --plan {}` runs it", shell_word(word)));
        }
        let name = self.free_name(&name_beside(word), &rows);
        let goal = format!("is it a goal? `windlass run --name {name} {}`", shell_word(word));
        let is_goal = has_no_blanks(word);
        let refused = if is_goal { refused.hint(&goal) } else { refused };
        let refused = match (meant, names.is_empty()) {
            (Some(meant), _) => refused.hint(format!("did you mean {meant}? `windlass run {meant}`")),
            (None, false) => refused.hint(format!("the loops here: {}", joined(&names))),
            (None, true) => refused,
        };
        let refused = match loop_name(word) {
            Ok(name) => {
                refused.hint(format!("`windlass run --name {name}` starts a loop of that name from the plan"))
            }
            Err(_) => refused,
        };
        if is_goal { refused } else { refused.hint(goal) }
    }

    /// A name that is taken by another goal is refused.
    fn check_goal(&self, name: LoopName, goal: &str, request: &RunRequest) -> Result<LoopName, AppError> {
        let rows = self.loops()?;
        let Some(row) = rows.iter().find(|row| row.name == name) else { return Ok(name) };
        let refused = if !self.is_goal_of(row, goal)? {
            AppError::refused(format!("there is a loop named {name} already, and this is not its goal"))
        } else if !self.answers(&row.view()?, request) {
            AppError::refused(format!("{name} completed this goal, but not with the commits that came since"))
        } else {
            return Ok(name);
        };
        Err(refused
            .hint("choose another --name, or leave it out: the goal gets a name of its own")
            .hint(format!("`windlass run {name}` goes on with the loop that is there")))
    }

    /// The loop of this very goal, an unfinished one first; else a name nobody has.
    fn loop_of_goal(&self, goal: &str, request: &RunRequest) -> Result<LoopName, AppError> {
        let same = self.loops_of_goal(goal)?;
        let open = same.iter().find(|view| is_open(view));
        match open.or_else(|| same.iter().find(|view| self.answers(view, request))) {
            Some(view) => Ok(view.name.clone()),
            None => Ok(self.free_name(&slug(goal), &self.loops()?)),
        }
    }

    /// A name that no loop has, and no branch leaves without room.
    fn free_name(&self, first: &LoopName, rows: &[StoredLoop]) -> LoopName {
        next_name(first, &|name| rows.iter().any(|row| row.name == *name) || self.has_branch(name))
    }

    /// For another loop like this one.
    pub fn name_after(&self, name: &LoopName) -> Result<LoopName, AppError> {
        Ok(self.free_name(name, &self.loops()?))
    }

    fn loops_of_goal(&self, goal: &str) -> Result<Vec<View>, AppError> {
        let mut same = Vec::new();
        for row in &self.loops()? {
            if self.is_goal_of(row, goal)? {
                same.push(row.view()?);
            }
        }
        Ok(same)
    }

    /// Whether the loop is made of exactly this sentence: of its beginning and of what its plan became.
    fn is_goal_of(&self, row: &StoredLoop, goal: &str) -> Result<bool, AppError> {
        // Most loops are told apart by their first record, which costs no fold.
        let decision = windlass_store::decisions(&*row.reader, &row.name, Seq(0)).next().transpose();
        let created = decision.or_broken()?.and_then(|(_, decision)| decision.events.into_iter().next());
        let Some(Event::Loop(LoopEvent::Created(creation))) = created else { return Ok(false) };
        if !is_goal_task(creation.plan.tasks.iter()) || self.is_of_files(&row.name) {
            return Ok(false);
        }
        let state = windlass_store::fold(&*row.reader, &row.name).or_broken()?;
        let tasks: Vec<&Task> = match &state.revision.plan {
            Some(waiting) => waiting.tasks.iter().collect(),
            None => state.tasks.iter().map(|task| &*task.task).collect(),
        };
        let [task] = &tasks[..] else { return Ok(false) };
        let text = row.reader.blob(&task.text, GOAL_LIMIT).or_broken()?;
        Ok(is_goal_task(tasks.iter().copied()) && String::from_utf8_lossy(&text).trim() == goal.trim())
    }

    /// Whether what the loop did stands for the commit that a new loop would start from. A completed loop
    /// says nothing about commits that it does not have.
    fn answers(&self, view: &View, request: &RunRequest) -> bool {
        is_open(view) || self.has_all_commits_of(view, request.base.as_deref().unwrap_or("HEAD"))
    }

    fn only_or_default(&self, request: &RunRequest) -> Result<LoopName, AppError> {
        let rows = self.loops()?;
        let views = rows.iter().map(StoredLoop::view).collect::<Result<Vec<View>, _>>()?;
        // Goals that are completed say nothing about the plan.
        if views.iter().all(|view| self.is_of_goal(view) && !is_open(view)) {
            let first = slug(&self.project.top.file_name().unwrap_or_default().to_string_lossy());
            return Ok(next_name(&first, &|name| rows.iter().any(|row| row.name == *name)));
        }
        match views.as_slice() {
            [only] => Ok(only.name.clone()),
            _ => {
                // A mistake in windlass.toml is to be mended whichever loop is meant.
                self.policy(&request.policy)?;
                Err(several_loops(&views))
            }
        }
    }

    /// Whether the loop was made of a sentence.
    pub fn is_of_goal(&self, view: &View) -> bool {
        matches!(&view.tasks[..], [task] if task.id.as_str() == GOAL_TASK) && !self.is_of_files(&view.name)
    }

    fn propose_new(&self, request: &RunRequest, name: LoopName) -> Result<Proposed, AppError> {
        let mut resolved = self.policy(&request.policy)?;
        let picked = self.pick_agent(request, &mut resolved)?;
        resolved.require_agents().map_err(|error| {
            let refused = AppError::refused(error);
            if resolved.has_project_file {
                refused
            } else {
                refused.hint("`windlass init` writes a windlass.toml")
            }
        })?;
        let planned = self.plan(request, &resolved.policy.plan)?;
        self.refuse_under(&resolved, &planned)?;
        let (mut policy, written) = (resolved.policy, resolved.origins);
        if request.goal().is_none() {
            self.name_plan(&mut policy, request.plan.as_deref());
        }
        let not_applied = tools_not_applied(&planned, &policy.agent.adapter);
        let too_few = too_few_iterations(&planned, &policy);
        let new_loop = NewLoop {
            name,
            base: request.base.clone(),
            policy,
            planned,
            surroundings: self.surroundings(),
            vault: self.vault.clone(),
            asked: request.asked.clone(),
        };
        let mut proposed =
            setup::propose(new_loop).map_err(|error| of_setup(&error, &|key| written.get(key).cloned()))?;
        proposed.warnings.extend(picked.into_iter().chain(not_applied).chain(too_few));
        proposed.notes.extend(reviews_too(&proposed.policy, &request.asked));
        Ok(proposed)
    }

    /// The policy of a loop names the plan that it really reads, by its path in the project: no task may change it.
    pub(crate) fn name_plan(&self, policy: &mut Policy, asked: Option<&str>) {
        let source = asked.unwrap_or(&policy.plan.source).to_owned();
        let is_plain = Path::new(&source).components().all(|part| matches!(part, Component::Normal(_)));
        let inside = if is_plain { None } else { self.inside(&source) };
        policy.plan.source = inside.unwrap_or(source);
        // A directory with blanks in its name is no sentence.
        let source = &policy.plan.source;
        if source.contains(char::is_whitespace)
            && !source.contains('/')
            && self.project.top.join(source).is_dir()
        {
            policy.plan.source.push('/');
        }
    }

    /// The path from the top of the project, whatever way to it was typed. A link keeps its own name.
    fn inside(&self, path: &str) -> Option<String> {
        let typed = self.project.top.join(path);
        let dir = typed.parent()?.canonicalize().ok()?;
        let real =
            if typed.ends_with("..") { typed.canonicalize().ok()? } else { dir.join(typed.file_name()?) };
        let top = self.project.top.canonicalize().ok()?;
        real.strip_prefix(top).ok()?.to_str().map(str::to_owned)
    }

    /// A goal needs no windlass.toml: the best agent that is installed works on it.
    /// Returns what is to be said of that.
    fn pick_agent(&self, request: &RunRequest, resolved: &mut Resolved) -> Result<Option<String>, AppError> {
        let is_unset = resolved.require_agents().is_err();
        if request.goal().is_none() || resolved.has_project_file || !is_unset {
            return Ok(None);
        }
        let scratch = tempfile::tempdir().or_broken()?;
        let Some(agent) = best_agent(&self.surroundings(), scratch.path()) else { return Ok(None) };
        agent.name.clone_into(&mut resolved.policy.agent.adapter);
        Ok(Some(format!(
            "there is no windlass.toml: the agent is {}, and there is no check \
             (`windlass init` writes one with your checks)",
            agent.name
        )))
    }

    fn plan(&self, request: &RunRequest, plan: &PlanPolicy) -> Result<Planned, AppError> {
        if let Some(goal) = request.goal() {
            return windlass_plan::goal::read(goal).map_err(bad_plan);
        }
        let source = request.plan.as_deref().unwrap_or(&plan.source);
        if source.trim().is_empty() {
            return Err(self.no_source("to do the tasks in tasks/: windlass run --plan tasks"));
        }
        self.read_plan(source, &plan.format)
    }

    /// Nothing says where the plan is; the directory of tasks that is there is not taken for it unasked.
    pub(crate) fn no_source(&self, with_tasks: &str) -> AppError {
        let refused = AppError::refused("there is no plan: `plan.source` is not set in windlass.toml");
        if self.project.top.join("tasks").is_dir() {
            return refused
                .hint(with_tasks)
                .hint("to do so always, in windlass.toml: [plan] with source = \"tasks\"");
        }
        refused
            .hint("`windlass init` writes a windlass.toml and a first task")
            .hint("or give a goal: windlass run \"make the tests pass\"")
    }

    /// `format` is empty where the source itself says what it is.
    pub(crate) fn read_plan(&self, source: &str, format: &str) -> Result<Planned, AppError> {
        self.check_plan(source, format)?.map_err(|mut refused| refused.problems.remove(0))
    }

    /// The plan, or everything that is wrong with it.
    pub(crate) fn check_plan(
        &self,
        source: &str,
        format: &str,
    ) -> Result<Result<Planned, RefusedPlan>, AppError> {
        // A directory is one of task files, whatever the format of another source is.
        let is_dir = self.project.top.join(source.trim()).is_dir();
        let format = match format.trim() {
            "" => None,
            name => Some(name.parse::<PlanFormat>().map_err(|unknown| {
                AppError::refused(format!("plan.format: {unknown}")).hint(unknown.remedy())
            })?),
        };
        let format = format.filter(|format| !is_dir || *format == PlanFormat::Tasks);
        let (planned, problems) = match windlass_plan::look(source, &self.project.top, format) {
            Ok(planned) => (planned, Vec::new()),
            Err(BadPlan { problems, readable }) => (readable, problems),
        };
        let mut problems: Vec<AppError> = problems.into_iter().map(bad_plan).collect();
        problems.extend(planned.tasks.iter().filter_map(|task| check_text(task).err()));
        Ok(if problems.is_empty() { Ok(planned) } else { Err(RefusedPlan { problems, readable: planned }) })
    }
}

/// A plan with problems, and what could be read of it nevertheless.
pub(crate) struct RefusedPlan {
    pub problems: Vec<AppError>,
    pub readable: Planned,
}

/// The list is for an agent that asks windlass before it runs a program; others have rules of their own.
/// A program of the operator's that was written for an author hears of its second role before it is called.
fn reviews_too(policy: &Policy, asked: &Asked) -> Option<String> {
    let is_called = policy.needed_roles().contains(&Role::Reviewer) && !asked.no_review;
    let is_shared = !policy.roles.contains_key(&Role::Reviewer) && policy.agent.adapter == "command";
    (is_called && is_shared).then(|| {
        "note: your command is called as reviewer too (WINDLASS_ROLE=reviewer) and must write a verdict; \
         --no-review, or [role.reviewer]"
            .to_owned()
    })
}

fn tools_not_applied(planned: &Planned, agent: &str) -> Option<String> {
    let tools: Vec<&str> = planned.tools.iter().map(|tool| tool.value.as_str()).collect();
    (!tools.is_empty()).then(|| {
        format!(
            "`[tools] bash` of the plan is not applicable to the agent {agent}: what it may run is its own \
             rule and that of the sandbox (the list is kept with the loop: {})",
            tools.join(", ")
        )
    })
}

/// Each task takes an iteration at least, and another whenever one does not end well.
fn too_few_iterations(planned: &Planned, policy: &Policy) -> Option<String> {
    let most = policy.limits.max_iterations;
    let tasks = planned.tasks.iter().filter(|task| !task.done && !task.blocked).count();
    let is_few = most > 0 && !policy.is_open_ended() && u64::from(most) < tasks as u64;
    is_few.then(|| {
        let enough = tasks * 2;
        format!(
            "the plan has {tasks} tasks to do, and the loop stops after {most} iterations, of which each task takes \
             at least one: `--set loop.max_iterations={enough}` leaves room for all of them"
        )
    })
}

/// A placeholder would only cost attempts.
fn check_text(task: &PlannedTask) -> Result<(), AppError> {
    let file = task.file.as_ref().map_or_else(|| task.id.to_string(), |file| file.display().to_string());
    let text = task.text.replace("\r\n", "\n");
    if without_front_matter(&text).trim() == PLACEHOLDER_TASK.trim() {
        return Err(AppError::refused(format!(
            "{file}: the task is still the placeholder of `windlass init`"
        ))
        .hint(format!("write in {file} what is to be done, then run again"))
        .hint("or give a goal: windlass run \"make the tests pass\""));
    }
    Ok(())
}

fn without_front_matter(text: &str) -> &str {
    let Some(rest) = text.trim_start_matches('\u{feff}').strip_prefix("---\n") else { return text };
    rest.split_once("\n---").map_or(text, |(_, body)| body.split_once('\n').map_or("", |(_, body)| body))
}

/// The name, with a number where it is taken.
fn next_name(first: &LoopName, is_taken: &dyn Fn(&LoopName) -> bool) -> LoopName {
    let numbered = |n: u32| LoopName::new(&format!("{first}-{n}")).expect("a short name and a number");
    let mut names = std::iter::once(first.clone()).chain((2..).map(numbered));
    names.find(|name| !is_taken(name)).expect("there are fewer loops than numbers")
}

fn branch_of(name: &LoopName) -> String {
    format!("windlass/{name}")
}

/// The one task that a sentence becomes. A task file can have the same name.
fn is_goal_task<'a>(tasks: impl ExactSizeIterator<Item = &'a Task>) -> bool {
    tasks.len() == 1 && tasks.into_iter().all(|task| task.id.as_str() == GOAL_TASK)
}

pub(crate) fn is_open(view: &View) -> bool {
    view.outcome.as_ref().is_none_or(|outcome| outcome.kind != OutcomeKind::Completed)
}

/// Which commands would choose.
fn several_loops(views: &[View]) -> AppError {
    const SHOWN: usize = 6;
    let (open, done): (Vec<&View>, Vec<&View>) = views.iter().partition(|view| is_open(view));
    let mut refused = AppError::refused("there is more than one loop");
    for view in open.iter().take(SHOWN) {
        refused = refused.hint(format!("`windlass run {}` goes on with: {}", view.name, view.goal));
    }
    if open.len() > SHOWN {
        refused = refused.hint(format!("`windlass list` shows {} more", open.len() - SHOWN));
    }
    if open.is_empty() {
        refused = refused.hint(format!("all {} are completed; `windlass list` shows them", done.len()));
    }
    refused.hint("`windlass run --name NAME` starts another loop from the plan")
}

/// Which of the two is meant, only the operator knows.
fn goal_and_plan(goal: &str, plan: &str) -> AppError {
    AppError::refused("a goal and --plan are two plans: give one of them")
        .hint(format!("windlass run --name NAME --plan {}   (does the plan)", shell_word(plan)))
        .hint(format!("windlass run {}   (does the goal)", shell_word(goal)))
}

/// How many paths of a loop are named.
const LISTED: usize = 5;

/// What earlier loops landed and nobody accepted, with the way out.
fn words_of(planted: &[PlantedTerm]) -> Vec<String> {
    let mut by_loop: BTreeMap<(&LoopName, bool), Vec<&str>> = BTreeMap::new();
    for PlantedTerm { path, by, is_test } in planted {
        by_loop.entry((by, *is_test)).or_default().push(path);
    }
    let words = |((name, are_tests), paths): ((&LoopName, bool), Vec<&str>)| {
        let listed = paths.iter().take(LISTED).copied().collect::<Vec<_>>().join(", ");
        let more = match paths.len().saturating_sub(LISTED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let (what, it) = match are_tests {
            true => (format!("added tests that nobody reviewed, {listed}{more}"), "them"),
            false => (format!("landed {listed}{more}, which nobody accepted"), "that"),
        };
        format!(
            "loop {name} {what}: this loop is judged without {it}, too (`windlass trust {name}` ends it for \
             later loops)"
        )
    };
    by_loop.into_iter().map(words).collect()
}

/// The first words of a text, as a loop's name.
fn slug(text: &str) -> LoopName {
    const MOST: usize = 40;
    let text: String = text.nfc().collect();
    let words: Vec<String> = text
        .split(|c: char| !LoopName::is_of_word(c))
        .filter(|word| !word.is_empty())
        .take(5)
        .map(str::to_lowercase)
        .collect();
    let joined: String = words.join("-").chars().take(MOST).collect();
    let trimmed = joined.trim_matches('-');
    LoopName::new(trimmed).unwrap_or_else(|_| LoopName::new("loop").expect("a plain word is legal"))
}

/// A name for a goal of one word: a loop that has the word itself as its name would be one of the plan.
fn name_beside(word: &str) -> LoopName {
    const MOST: usize = 8;
    let (whole, start) = (slug(word), slug(&word.chars().take(MOST).collect::<String>()));
    let is_other = start != whole && start.as_str() != word;
    if is_other { start } else { LoopName::new("goal").expect("a plain word is legal") }
}

/// Whether it has letters of a script that writes sentences without blanks.
fn has_no_blanks(text: &str) -> bool {
    text.chars().any(|c| {
        matches!(c,
            // Thai, Lao, Tibetan; Burmese; Khmer.
            '\u{0e00}'..='\u{0fff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
            // Kana, Bopomofo and Han, with their extensions.
            | '\u{2e80}'..='\u{2fdf}' | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{312f}'
            | '\u{31a0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
            | '\u{f900}'..='\u{faff}' | '\u{ff66}'..='\u{ff9f}' | '\u{20000}'..='\u{3ffff}')
    })
}

pub(crate) fn bad_plan(error: PlanError) -> AppError {
    let remedy = error.remedy();
    AppError::refused(error).hint(remedy)
}

#[cfg(test)]
mod tests {
    use windlass_core::id::TaskId;

    use super::*;

    #[test]
    fn a_goal_becomes_a_plain_name() {
        assert_eq!(slug("Make the tests pass, please and more").as_str(), "make-the-tests-pass-please");
        assert_eq!(slug("…").as_str(), "loop");
        assert_eq!(slug("Сделай тесты зелёными!").as_str(), "сделай-тесты-зелёными");
        assert_eq!(slug("テストを、直して").as_str(), "テストを-直して");
        assert_eq!(slug("it's café au lait").as_str(), "it-s-café-au-lait");
        assert_eq!(slug("cafe\u{301}"), slug("café"), "one name, however it is written");
        assert_eq!(slug("my repo").as_str(), "my-repo");
    }

    #[test]
    fn a_plan_with_more_tasks_than_iterations_is_told() {
        let task = |n: usize| PlannedTask::new(TaskId::new(format!("t{n}")), "A task", "Do it.\n");
        let plan = |count| Planned {
            tasks: (0..count).map(task).collect(),
            goal: String::new(),
            format: None,
            tools: Vec::new(),
        };
        let mut policy = Policy::default();
        policy.limits.max_iterations = 30;
        assert_eq!(too_few_iterations(&plan(30), &policy), None);
        let told = too_few_iterations(&plan(40), &policy).unwrap();
        assert!(told.contains("40 tasks") && told.contains("`--set loop.max_iterations=80`"), "{told}");
        let mut mostly_done = plan(40);
        mostly_done.tasks.iter_mut().take(10).for_each(|task| task.done = true);
        assert_eq!(too_few_iterations(&mostly_done, &policy), None);
        policy.limits.max_iterations = 0;
        assert_eq!(too_few_iterations(&plan(40), &policy), None, "0 is no limit");
    }

    #[test]
    fn a_script_without_blanks_is_told_from_one_with_them() {
        for text in ["添加一个统计单词的函数", "テスト", "ทดสอบ", "fix修正"] {
            assert!(has_no_blanks(text), "{text}");
        }
        for text in ["parser", "тесты", "테스트", "café", ""] {
            assert!(!has_no_blanks(text), "{text}");
        }
    }

    #[test]
    fn a_word_is_a_name_and_a_sentence_a_goal() {
        assert_eq!(RunTarget::of_words(None), RunTarget::Only);
        assert_eq!(RunTarget::of_words(Some("demo")), RunTarget::Named("demo".to_owned()));
        assert_eq!(RunTarget::of_words(Some("fix it")), RunTarget::Goal("fix it".to_owned()));
    }
}
