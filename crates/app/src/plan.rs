//! A plan before it runs, and how far a loop has come with it.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use windlass_config::Resolved;
use windlass_core::id::TaskId;
use windlass_core::policy::Policy;
use windlass_core::revision::PlanRevision;
use windlass_core::state::TaskStatus;
use windlass_core::view::View;
use windlass_driver::committed::missing_in_head;
use windlass_driver::plan_problems::plan_problems;
use windlass_plan::{Planned, PlannedTask, TaskGraph, TaskMark, dot, mermaid, tree};
use windlass_store::blobs::id_of;

use crate::create::bad_plan;
use crate::revise::{Texts, of_setup};
use crate::{AppError, OpenProject, PolicyArguments, StoredLoop, asked_tasks};

/// Which plan is meant.
#[derive(Clone, Debug, Default)]
pub struct PlanRequest {
    /// None is the plan of windlass.toml.
    pub source: Option<String>,
    /// Empty where the source itself says what it is, or windlass.toml does.
    pub format: String,
}

/// A plan that can be run, with how each task stands.
pub struct PlanPage {
    pub source: String,
    pub planned: Planned,
    /// The loop that works on it.
    pub of_loop: Option<View>,
    /// What that loop has done, and is to do again by this plan.
    pub reopened: Vec<TaskId>,
    /// What a new loop would be refused for, the plan being one that can be read.
    pub problems: Vec<AppError>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanPicture {
    Tree,
    Dot,
    Mermaid,
}

impl OpenProject {
    /// The plan, or everything that is wrong with it.
    pub fn plan_page(&self, request: &PlanRequest) -> Result<Result<PlanPage, Vec<AppError>>, AppError> {
        let resolved = self.policy(&PolicyArguments::default())?;
        let policy = &resolved.policy.plan;
        let source = request.source.as_ref().unwrap_or(&policy.source).clone();
        let format = if request.format.is_empty() { &policy.format } else { &request.format }.clone();
        if source.trim().is_empty() {
            let with_tasks = "to look at the tasks in tasks/: windlass plan check tasks, or plan show tasks";
            return Ok(Err(vec![self.no_source(with_tasks)]));
        }
        let planned = match self.check_plan(&source, &format)? {
            Ok(planned) => planned,
            Err(mut refused) => {
                refused.problems.extend(self.all_problems_under(&resolved, &refused.readable));
                return Ok(Err(refused.problems));
            }
        };
        let of_loop = self.loop_of(&planned, &source)?;
        let reopened = match &of_loop {
            Some(view) => {
                let plan = self.plan_of(planned.clone(), Texts::OnlyNamed)?;
                PlanRevision::between(&self.state_of(&view.name)?, &plan).reopened
            }
            None => Vec::new(),
        };
        let problems = self.all_problems_under(&resolved, &planned);
        Ok(Ok(PlanPage { source, planned, of_loop, reopened, problems }))
    }

    /// Everything that a policy does not allow of a plan, or does not have for it.
    fn problems_under(&self, resolved: &Resolved, planned: &Planned) -> Vec<AppError> {
        let Resolved { policy, origins, .. } = resolved;
        let checks: Vec<&str> = policy.gate.checks.iter().map(|check| check.name.as_str()).collect();
        let unknown = planned.unknown_checks(&checks).into_iter().map(bad_plan);
        let others = plan_problems(policy, planned, &self.surroundings());
        let others = others.iter().map(|error| of_setup(error, &|key| origins.get(key).cloned()));
        unknown.chain(others).collect()
    }

    /// The same, with what depends on the commit and on the way a loop is run: as for one of the head.
    fn all_problems_under(&self, resolved: &Resolved, planned: &Planned) -> Vec<AppError> {
        let mut problems = self.problems_under(resolved, planned);
        problems.extend(self.head_problems(&resolved.policy, planned));
        problems
    }

    /// All but names of checks that are not there.
    pub(crate) fn problems_of(&self, policy: &Policy, planned: &Planned) -> Vec<AppError> {
        let own = plan_problems(policy, planned, &self.surroundings());
        let own = own.iter().map(|error| of_setup(error, &|_| None));
        own.chain(self.head_problems(policy, planned)).collect()
    }

    fn head_problems(&self, policy: &Policy, planned: &Planned) -> Vec<AppError> {
        let missing = missing_in_head(policy, planned, &self.surroundings());
        let missing = missing.iter().map(|error| of_setup(error, &|_| None));
        missing.chain(asked_tasks::unreviewed(policy, planned)).collect()
    }

    /// What is wrong by the policy itself, as one refusal.
    pub(crate) fn refuse_under(&self, resolved: &Resolved, planned: &Planned) -> Result<(), AppError> {
        let mut problems = self.problems_under(resolved, planned);
        match problems.len() {
            0 => Ok(()),
            1 => Err(problems.remove(0)),
            count => {
                let lines = |problem: &AppError| {
                    let hints: String = problem.hints.iter().map(|hint| format!("\n    {hint}")).collect();
                    format!("\n  {}{hints}", problem.message)
                };
                let told: String = problems.iter().map(lines).collect();
                Err(AppError::refused(format!("{count} problems in the plan{told}")))
            }
        }
    }

    /// The loop that works on this plan; of several the one that was at work last. Ids alone tell nothing: every
    /// list of stories begins with the same ones.
    fn loop_of(&self, planned: &Planned, source: &str) -> Result<Option<View>, AppError> {
        let views = self.loops()?.iter().map(StoredLoop::view).collect::<Result<Vec<View>, _>>()?;
        let found = |task: &PlannedTask, view: &View| {
            view.tasks
                .iter()
                .find(|known| known.id == task.id)
                .map(|known| known.text == id_of(task.text.as_bytes()))
        };
        let is_of_plan = |view: &View| {
            let same: Vec<Option<bool>> = planned.tasks.iter().map(|task| found(task, view)).collect();
            let is_its_source = || self.plan_source(&view.name).is_some_and(|of| of.trim() == source.trim());
            let has_all_of_it = same.contains(&Some(true)) && same.iter().all(Option::is_some);
            // What was added since is read by that loop when it is run again.
            has_all_of_it || same.iter().any(Option::is_some) && is_its_source()
        };
        Ok(views.into_iter().filter(is_of_plan).max_by_key(|view| view.updated_at))
    }
}

/// What stands before the sign of a line in a tree.
const FRAME: [char; 5] = ['├', '└', '│', '─', ' '];

impl PlanPage {
    pub fn picture(&self, kind: PlanPicture) -> String {
        let (graph, marks) = (TaskGraph::new(&self.planned), self.marks());
        let mark = |id: &TaskId| marks[id];
        match kind {
            PlanPicture::Tree => tree(&graph, mark),
            PlanPicture::Dot => dot(&graph, mark),
            PlanPicture::Mermaid => mermaid(&graph, mark),
        }
    }

    /// What the signs of the tree mean, as far as it has them.
    pub fn legend(&self) -> String {
        let tree = self.picture(PlanPicture::Tree);
        let statuses = [
            TaskStatus::Pending,
            TaskStatus::Active,
            TaskStatus::Done,
            TaskStatus::Blocked,
            TaskStatus::Waived,
        ];
        let marks = self.marks();
        let marks = statuses.map(mark_of).into_iter().filter(|mark| marks.values().any(|of| of == mark));
        let marks = marks.map(|mark| format!("{} {}", mark.symbol, mark.word));
        let begins = |sign: &str| tree.lines().any(|line| line.trim_start_matches(FRAME).starts_with(sign));
        let arrows =
            [("↓ ", "↓ after the one above"), ("↑ ", "↑ stands further up"), ("… ", "… stands further down")];
        let arrows = arrows.into_iter().filter(|(sign, _)| begins(sign)).map(|(_, words)| words.to_owned());
        marks.chain(arrows).collect::<Vec<_>>().join("   ")
    }

    pub fn as_json(&self) -> Value {
        let (graph, marks) = (TaskGraph::new(&self.planned), self.marks());
        let levels = graph.levels();
        let critical = graph.critical_path(|id| marks[id].done);
        let row = |(at, task): (usize, &PlannedTask)| {
            let plain = |items: &[windlass_plan::Placed<String>]| {
                items.iter().map(|item| item.value.clone()).collect::<Vec<String>>()
            };
            json!({
                "id": task.id, "title": task.title, "depends_on": task.depends_on, "priority": task.priority,
                "allow": plain(&task.allow), "checks": plain(&task.checks),
                "acceptance": task.acceptance.iter().map(|of| &of.text).collect::<Vec<_>>(),
                "files": task.files, "edits": task.edits, "verification": task.verification,
                "file": task.file, "line": task.line, "status": marks[&task.id].word,
                "level": levels[at], "critical": critical.contains(&at),
            })
        };
        let tasks: Vec<Value> = self.planned.tasks.iter().enumerate().map(row).collect();
        json!({
            "source": self.source, "format": self.planned.format.map(|format| format.name()),
            "goal": self.planned.goal, "loop": self.of_loop.as_ref().map(|view| &view.name), "tasks": tasks,
        })
    }

    fn marks(&self) -> BTreeMap<TaskId, TaskMark> {
        let known = |planned: &PlannedTask| {
            let task = self.of_loop.as_ref()?.tasks.iter().find(|task| task.id == planned.id)?;
            (!self.reopened.contains(&task.id)).then(|| mark_of(task.status))
        };
        let own = |task: &PlannedTask| {
            mark_of(match (task.done, task.blocked) {
                (true, _) => TaskStatus::Done,
                (false, true) => TaskStatus::Blocked,
                (false, false) => TaskStatus::Pending,
            })
        };
        let tasks = self.planned.tasks.iter();
        tasks.map(|task| (task.id.clone(), known(task).unwrap_or_else(|| own(task)))).collect()
    }
}

pub(crate) fn mark_of(status: TaskStatus) -> TaskMark {
    let (symbol, word, done) = match status {
        TaskStatus::Pending => ('·', "pending", false),
        TaskStatus::Active => ('▶', "active", false),
        TaskStatus::Done => ('✓', "done", true),
        TaskStatus::Blocked => ('✗', "blocked", false),
        TaskStatus::Waived => ('–', "waived", true),
    };
    TaskMark { symbol, word, done }
}
