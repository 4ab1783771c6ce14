//! An agent is asked for a plan, at most three times, each time with what was wrong before. Nothing is written
//! until an answer makes a plan that can be run; then the operator reads it, and decides.

use std::path::Path;

use windlass_core::id::TaskId;
use windlass_core::live::Live;
use windlass_core::policy::{Policy, Role};
use windlass_driver::Interrupts;
use windlass_driver::agents::Probe;
use windlass_driver::ask_for_plan::brief::{BadAnswer, PlanQuestion, TaskSoFar};
use windlass_driver::ask_for_plan::{AskedPlan, NoPlan, ask_for_plan, missing_in_head};
use windlass_driver::signed_out::signed_out;
use windlass_driver::try_checks::{TriedCheck, TriedCommands, TryError, TryPlace, try_checks};
use windlass_plan::{PlanProposal, Planned, PlannedTask, ProposedCheck, TaskGraph, TaskMark, tree};

use crate::plan::mark_of;
use crate::plan_files::{PlanFiles, PlanGround, PlanJudge, PlannedFile};
use crate::{AppError, OpenProject, PlanRequest, PolicyArguments, TriedWay};

/// How often an agent is asked.
const MOST_ASKED: usize = 3;

/// What is to be planned.
#[derive(Clone, Debug, Default)]
pub struct PlanWish {
    /// What the operator wants, in a sentence or more; may be empty beside a document.
    pub text: String,
    /// A document of the operator's: its name and its text.
    pub spec: Option<(String, String)>,
    /// The plan that is there is to change; otherwise tasks are added to it.
    pub revises: bool,
}

/// Who is told how it goes, and who may end it.
pub struct PlanningTalk<'a> {
    pub interrupts: &'a Interrupts,
    pub observer: &'a mut dyn PlanningObserver,
    /// What the agent says and does meanwhile.
    pub live: &'a (dyn Fn(Live) + Sync),
    /// Agents are called below it.
    pub scratch: &'a Path,
}

pub trait PlanningObserver {
    fn asking(&mut self, agent: &str, nth: usize);
    fn refused(&mut self, problems: &[String]);
    fn trying(&mut self, check: &ProposedCheck);
    fn tried(&mut self, result: &TriedWay);
}

/// A plan that was written.
pub struct PlanningReport {
    pub files: Vec<PlannedFile>,
    /// The tasks and what waits for what, drawn.
    pub picture: String,
    pub tasks: usize,
    /// What tasks may change though it is protected: each id with its globs.
    pub allowed: Vec<(TaskId, Vec<String>)>,
    /// Each new check, with what came of it on the head.
    pub checks: Vec<(ProposedCheck, TriedWay)>,
}

const BY_HAND: &str = "or write the task files yourself: each file tasks/NAME.md has a line `# TITLE`, and below it what is to be done";

fn allowed(planned: &Planned) -> Vec<(TaskId, Vec<String>)> {
    let with_globs = planned.tasks.iter().filter(|task| !task.allow.is_empty());
    let globs = |task: &PlannedTask| task.allow.iter().map(|glob| glob.value.clone()).collect();
    with_globs.map(|task| (task.id.clone(), globs(task))).collect()
}

/// Why nothing was planned.
pub enum NotPlanned {
    /// There is no agent that can be asked.
    NoAgent(String),
    Failed(AppError),
}

impl From<AppError> for NotPlanned {
    fn from(error: AppError) -> Self {
        Self::Failed(error)
    }
}

impl OpenProject {
    /// Plans in a project whose windlass.toml is there.
    pub fn make_plan(
        &self,
        wish: &PlanWish,
        talk: &mut PlanningTalk<'_>,
    ) -> Result<PlanningReport, AppError> {
        self.refuse_inside_attempt()?;
        let policy = self.policy(&PolicyArguments::default())?.policy;
        let source = policy.plan.source.clone();
        let tasks_dir = if source.trim().is_empty() { "tasks/" } else { source.trim() };
        if self.project.top.join(tasks_dir).is_file() || tasks_dir.contains(char::is_whitespace) {
            return Err(AppError::refused(format!(
                "the plan of this project is {source:?}; a planner writes task files"
            ))
            .hint("write source = \"tasks/\" into section [plan] of windlass.toml"));
        }
        let ground = PlanGround::of_project(&self.project.top, tasks_dir)?;
        if wish.revises && ground.tasks.is_empty() {
            return Err(AppError::refused(format!("there is no plan to revise: {tasks_dir} has no task"))
                .hint("`windlass plan \"WHAT YOU WANT\"` makes one"));
        }
        match self.plan_on(ground, &policy, wish, talk) {
            Ok(report) => Ok(report),
            Err(NotPlanned::Failed(error)) => Err(error),
            Err(NotPlanned::NoAgent(why)) => {
                Err(AppError::refused(format!("no agent can be asked for a plan: {why}"))
                    .hint("`windlass agents` lists those that windlass knows")
                    .hint(BY_HAND))
            }
        }
    }

    /// Asks, tries the checks that are new, and writes.
    pub(crate) fn plan_on(
        &self,
        mut ground: PlanGround,
        policy: &Policy,
        wish: &PlanWish,
        talk: &mut PlanningTalk<'_>,
    ) -> Result<PlanningReport, NotPlanned> {
        ground.revises = wish.revises;
        ground.has_spec = wish.spec.is_some();
        self.state.create_checked().map_err(AppError::refused)?;
        let surroundings = self.surroundings();
        let agent = policy.agent_for(Role::Planner);
        if let Some(out) = signed_out(agent, &surroundings) {
            return Err(NotPlanned::NoAgent(format!("nobody is signed in to {}", out.agent)));
        }
        let place = TryPlace {
            project: &self.project,
            vault: &self.vault,
            surroundings: &surroundings,
            interrupts: talk.interrupts,
        };
        let probe = Probe { agent, policy, surroundings: &surroundings, scratch: talk.scratch };
        let question = self.question(&ground, policy, wish)?;
        let files = Asking { place: &place, probe: &probe, project: self }.ask(&ground, &question, talk)?;
        let checks = try_new_checks(&place, &files, talk)?;
        files.write(&self.project.top)?;
        let graph = TaskGraph::new(&files.planned);
        let mark = TaskMark { symbol: '·', word: "pending", done: false };
        Ok(PlanningReport {
            picture: tree(&graph, |_| mark),
            tasks: files.planned.tasks.len(),
            allowed: allowed(&files.planned),
            files: files.files,
            checks,
        })
    }

    fn question(
        &self,
        ground: &PlanGround,
        policy: &Policy,
        wish: &PlanWish,
    ) -> Result<PlanQuestion, AppError> {
        // A plan with a mistake in it can be revised, too: then nothing is known of its state.
        let page = self.plan_page(&PlanRequest::default())?.ok();
        let status = |id: &str| {
            let view = page.as_ref().and_then(|page| page.of_loop.as_ref())?;
            Some(mark_of(view.tasks.iter().find(|task| task.id.as_str() == id)?.status).word)
        };
        let task = |file: &crate::plan_files::TaskFile| TaskSoFar {
            id: file.id().to_owned(),
            status: status(file.id()).unwrap_or("not begun"),
            text: file.text.clone(),
        };
        let check = |check: &windlass_core::policy::CheckPolicy| format!("{}: {}", check.name, check.run);
        Ok(PlanQuestion {
            wish: match (wish.text.trim(), &wish.spec) {
                ("", Some((name, _))) => format!("Plan the work that `{name}` describes."),
                (text, _) => text.to_owned(),
            },
            spec: wish.spec.clone(),
            revises: wish.revises,
            tasks: ground.tasks.iter().map(task).collect(),
            checks: policy.gate.checks.iter().map(check).collect(),
            protect: policy.gate.protect.clone(),
        })
    }
}

struct Asking<'a> {
    place: &'a TryPlace<'a>,
    probe: &'a Probe<'a>,
    project: &'a OpenProject,
}

impl Asking<'_> {
    fn ask(
        &self,
        ground: &PlanGround,
        question: &PlanQuestion,
        talk: &mut PlanningTalk<'_>,
    ) -> Result<PlanFiles, NotPlanned> {
        let mut before = BadAnswer::default();
        for nth in 1..=MOST_ASKED {
            talk.observer.asking(&self.probe.agent.adapter, nth);
            let asked = AskedPlan { before: &before, live: talk.live };
            let (answer, problems) = match ask_for_plan(self.place, self.probe, question, &asked) {
                Ok(answer) => match self.files_of(ground, &answer)? {
                    Ok(files) => return Ok(files),
                    Err(problems) => (answer.to_string(), problems),
                },
                Err(NoPlan::NoAnswer(why)) => (String::new(), vec![why]),
                Err(NoPlan::Unusable(why)) => return Err(NotPlanned::NoAgent(why)),
                Err(NoPlan::Interrupted) => return Err(AppError::interrupted().into()),
            };
            talk.observer.refused(&problems);
            before = BadAnswer { problems, answer };
        }
        let agent = &self.probe.agent.adapter;
        let failed = AppError::broken(format!(
            "{agent} gave no plan that can be used, {MOST_ASKED} times; nothing was written"
        ));
        let failed = match agent == "command" {
            true => failed
                .hint("name an agent that plans: [role.planner] in windlass.toml, such as use = \"codex\"")
                .hint("your own program writes one JSON object into the file $WINDLASS_REPORT: nonce, title, spec, plan, tasks"),
            false => failed.hint("ask for less at once"),
        };
        Err(failed.hint(BY_HAND).into())
    }

    fn files_of(
        &self,
        ground: &PlanGround,
        answer: &serde_json::Value,
    ) -> Result<Result<PlanFiles, Vec<String>>, AppError> {
        match PlanProposal::read(answer) {
            Ok(proposal) => {
                let in_head = |policy: &Policy| missing_in_head(self.place, policy);
                let under = |policy: &Policy, planned: &Planned| self.project.problems_of(policy, planned);
                let judge = PlanJudge { in_head: &in_head, under: &under };
                ground.files_of(&proposal, &self.project.caller, &judge)
            }
            Err(problems) => Ok(Err(problems)),
        }
    }
}

fn try_new_checks(
    place: &TryPlace<'_>,
    files: &PlanFiles,
    talk: &mut PlanningTalk<'_>,
) -> Result<Vec<(ProposedCheck, TriedWay)>, AppError> {
    let mut tried = Vec::new();
    for check in &files.checks {
        talk.observer.trying(check);
        let commands = TriedCommands {
            policy: &files.policy,
            setup: &files.policy.workspace.setup,
            run: &check.run,
            junit: "",
        };
        let result = match try_checks(place, &commands) {
            Ok(TriedCheck { red: None, result }) => TriedWay::Green { duration: result.duration_ms },
            Ok(TriedCheck { red: Some(red), result }) => {
                let timed_out = result.timed_out;
                TriedWay::Red { ending: red.words(), excerpt: result.excerpt, timed_out }
            }
            Err(TryError::Interrupted) => return Err(AppError::interrupted()),
            Err(error) => TriedWay::NotRun { why: error.to_string() },
        };
        talk.observer.tried(&result);
        tried.push((check.clone(), result));
    }
    Ok(tried)
}
