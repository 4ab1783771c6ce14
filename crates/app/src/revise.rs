//! Another policy or plan for a loop that is there. What is written is read and
//! looked at as for a new loop, before anything is sent.

use std::collections::BTreeMap;

use windlass_config::{Resolved, with_edits};
use windlass_core::brief::TaskBrief;
use windlass_core::command::Command;
use windlass_core::id::{BlobId, LoopName, TaskId};
use windlass_core::input::Asked;
use windlass_core::outcome::OutcomeKind;
use windlass_core::policy::Policy;
use windlass_core::revision::{KeyChange, PlanRevision, PolicyRevision, Revision};
use windlass_core::state::State;
use windlass_core::step;
use windlass_core::task::Plan;
use windlass_core::view::View;
use windlass_driver::Interrupts;
use windlass_driver::preview::{self, PreviewedBrief};
use windlass_driver::setup::{self, RevisedLoop, SetupError};
use windlass_plan::{Planned, PlannedTask};
use windlass_store::blobs::id_of;

use crate::command::retry_commands;
use crate::error::Classify as _;
use crate::policy::policy_format;
use crate::read_files::EditedFiles;
use crate::{AppError, CommandResult, ErrorKind, OpenProject, PolicyArguments, RetryChoice};

/// What is to be another.
#[derive(Clone, Debug, Default)]
pub struct ReviseRequest {
    pub policy: PolicyArguments,
    pub below: PolicyBelow,
    /// Where the plan is to be read from.
    pub plan: Option<String>,
    /// A loop keeps its base: this is refused, with the reason.
    pub base: Option<String>,
}

impl ReviseRequest {
    fn asks_nothing(&self) -> bool {
        let PolicyArguments { policy_file, set } = &self.policy;
        self.below != PolicyBelow::Files && policy_file.is_none() && set.is_empty() && self.plan.is_none()
    }
}

/// What the arguments of the policy are set on top of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PolicyBelow {
    /// The policy that the loop has.
    #[default]
    InForce,
    /// The same, with what was edited in the files since the loop read them. So it is with the plan.
    EditedFiles,
    /// windlass.toml and the user's own file, as they are now.
    Files,
}

/// A run of a loop that is there, as it was asked for.
#[derive(Clone, Debug)]
pub struct PlannedRun {
    pub revise: ReviseRequest,
    pub retry: RetryChoice,
    pub asked: Asked,
}

#[derive(Debug, Default)]
pub struct ReviseReport {
    pub keys: Vec<KeyChange>,
    /// How the plan changes, where it does.
    pub plan: Option<PlanRevision>,
    pub result: ReviseResult,
    /// What did not stop it, but is worth telling.
    pub warning: Option<String>,
}

/// What a revision would change.
#[derive(Debug, Default)]
pub struct RevisionPreview {
    pub keys: Vec<KeyChange>,
    pub plan: Option<PlanRevision>,
    /// Why the loop would not take it, where it would not.
    pub refused: Option<String>,
}

/// A change that was checked, before anything is sent.
struct PreparedRevision {
    keys: Vec<KeyChange>,
    plan: Option<PlanRevision>,
    /// What the tasks of that plan say.
    texts: BTreeMap<BlobId, String>,
    command: Command,
}

/// What becomes of the texts that a revision names.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Texts {
    Stored,
    OnlyNamed,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub enum ReviseResult {
    /// It is as it was asked for; nothing was sent.
    #[default]
    Unchanged,
    /// It is in force.
    Now,
    /// It is in force when the open iteration has ended, or the loop is run again.
    AtNextIteration,
    /// It is on record; the process that drives the loop has not looked yet.
    Recorded,
    Interrupted,
    Refused {
        why: String,
    },
}

impl OpenProject {
    pub fn revise(
        &self,
        name: &LoopName,
        request: &ReviseRequest,
        interrupts: Interrupts,
    ) -> Result<ReviseReport, AppError> {
        let edited = self.edited_for(name, request)?;
        if request.asks_nothing() && edited.as_ref().is_none_or(EditedFiles::is_empty) {
            return Ok(ReviseReport::default());
        }
        let report = self.send_revision(name, request, edited.as_ref(), interrupts)?;
        if !matches!(report.result, ReviseResult::Refused { .. }) {
            self.keep_reading_after(name, request, edited)?;
        }
        Ok(report)
    }

    /// What `revise` would do. Nothing is sent, and nothing is stored.
    pub fn preview_revision(
        &self,
        name: &LoopName,
        request: &ReviseRequest,
    ) -> Result<RevisionPreview, AppError> {
        let edited = self.edited_for(name, request)?;
        if request.asks_nothing() && edited.as_ref().is_none_or(EditedFiles::is_empty) {
            return Ok(RevisionPreview::default());
        }
        let state = self.state_of(name)?;
        let prepared = self.prepare(&state, request, edited.as_ref(), Texts::OnlyNamed)?;
        let Some(PreparedRevision { keys, plan, texts: _, command }) = prepared else {
            return Ok(RevisionPreview::default());
        };
        Ok(RevisionPreview { keys, plan, refused: step::refusal(&state, &command) })
    }

    /// What the agents of the next run would be told first: with what it takes up before, and nothing where only
    /// the run itself can tell.
    pub fn next_briefs(&self, view: &View, next: &PlannedRun) -> Result<Vec<PreviewedBrief>, AppError> {
        let edited = self.edited_for(&view.name, &next.revise)?;
        let state = self.state_of(&view.name)?;
        let stays = next.revise.asks_nothing() && edited.as_ref().is_none_or(EditedFiles::is_empty);
        let prepared = match stays {
            true => None,
            false => self.prepare(&state, &next.revise, edited.as_ref(), Texts::OnlyNamed)?,
        };
        let (revision, texts) = match prepared {
            Some(prepared) => (Some(prepared.command), prepared.texts),
            None => (None, BTreeMap::new()),
        };
        let stored = self.find(Some(view.name.as_str()))?;
        let text = |task: &TaskBrief| match texts.get(&task.text) {
            Some(text) => Ok(text.clone()),
            None => stored.text(&task.text).map_err(|error| error.in_one_line()),
        };
        let commands = revision.into_iter().chain(retry_commands(view, next.retry)).collect();
        preview::next_briefs(state, commands, &next.asked, &text).or_broken()
    }

    /// What of the files counts. A loop keeps its base.
    fn edited_for(&self, name: &LoopName, request: &ReviseRequest) -> Result<Option<EditedFiles>, AppError> {
        if request.base.is_some() {
            return Err(AppError::refused(format!("the base of {name} cannot change"))
                .hint("its commits and everything that was proven stand on it")
                .hint("start another loop: windlass run --name NAME --base REF"));
        }
        match request.below {
            PolicyBelow::EditedFiles => self.edited_files(name),
            PolicyBelow::InForce | PolicyBelow::Files => Ok(None),
        }
    }

    fn send_revision(
        &self,
        name: &LoopName,
        request: &ReviseRequest,
        edited: Option<&EditedFiles>,
        interrupts: Interrupts,
    ) -> Result<ReviseReport, AppError> {
        let state = self.state_of(name)?;
        let Some(prepared) = self.prepare(&state, request, edited, Texts::Stored)? else {
            return Ok(ReviseReport::default());
        };
        let PreparedRevision { keys, plan, texts: _, command } = prepared;
        let has_more = plan.as_ref().is_some_and(|news| !news.added.is_empty() || !news.reopened.is_empty());
        if request.below == PolicyBelow::EditedFiles && is_completed(&state) && !has_more {
            // It would be refused, and each look at the files would be one refusal more on record.
            let why = "only new tasks, or done ones that ask for something else, open a completed loop again";
            let result = ReviseResult::Refused { why: why.to_owned() };
            return Ok(ReviseReport { result, ..ReviseReport::default() });
        }
        let report = self.command(name, &command, interrupts)?;
        let result = self.revise_result(name, report.result)?;
        Ok(ReviseReport { keys, plan, result, warning: report.warning })
    }

    /// The command that changes the loop; none where it has all of it already.
    fn prepare(
        &self,
        state: &State,
        request: &ReviseRequest,
        edited: Option<&EditedFiles>,
        texts: Texts,
    ) -> Result<Option<PreparedRevision>, AppError> {
        let mut resolved = self.resolved(state, request, edited)?;
        // Also where windlass.toml is read again: it is this plan that the loop goes on to read.
        let asked = request.plan.clone().or_else(|| self.asked_plan_source(&state.creation.name));
        if let Some(source) = &asked {
            self.name_plan(&mut resolved.policy, Some(source));
        }
        let planned = match &request.plan {
            Some(source) => Some(self.read_plan(source, &resolved.policy.plan.format)?),
            None => edited.and_then(|edited| edited.planned.clone()),
        };
        let policy = self.checked_policy(state, resolved, planned.as_ref(), texts)?;
        let wanted = wanted_policy(state);
        let keys = policy_format().changes(wanted, &policy);
        let said = planned.iter().flat_map(|planned| &planned.tasks).map(|task| &task.text);
        let said = said.map(|text| (id_of(text.as_bytes()), text.clone())).collect();
        let plan = planned.map(|planned| self.plan_of(planned, texts)).transpose()?;
        let plan = plan.and_then(|plan| changed_plan(state, plan));
        if keys.is_empty() && plan.is_none() {
            return Ok(None);
        }
        let (plan, plan_revision) = plan.unzip();
        let in_all = policy_format().changes(state.policy(), &policy);
        let policy = (!keys.is_empty()).then_some(PolicyRevision {
            number: state.policy_changes + 1,
            keys: in_all,
            policy,
        });
        let command = Command::Revise(Box::new(Revision { plan, policy }));
        Ok(Some(PreparedRevision { keys, plan: plan_revision, texts: said, command }))
    }

    /// What became of a command that changes the plan or the policy.
    pub(crate) fn revise_result(
        &self,
        name: &LoopName,
        result: CommandResult,
    ) -> Result<ReviseResult, AppError> {
        Ok(match result {
            CommandResult::Done(_) if self.state_of(name)?.revision.is_empty() => ReviseResult::Now,
            CommandResult::Done(_) => ReviseResult::AtNextIteration,
            CommandResult::Recorded => ReviseResult::Recorded,
            CommandResult::Interrupted => ReviseResult::Interrupted,
            CommandResult::Refused { why } => ReviseResult::Refused { why },
        })
    }

    /// What was edited in the files since the loop read them, by the names of keys and tasks.
    pub fn edited_since(&self, name: &LoopName) -> Result<Vec<String>, AppError> {
        let Some(edited) = self.edited_files(name)? else { return Ok(Vec::new()) };
        let mut names: Vec<String> = policy_format()
            .changes(&edited.before, &edited.after)
            .into_iter()
            .map(|change| change.key)
            .collect();
        if let Some(planned) = edited.planned {
            let state = self.state_of(name)?;
            let is_new = |task: &&PlannedTask| state.task(&task.id).is_none();
            let new: Vec<String> =
                planned.tasks.iter().filter(is_new).map(|task| format!("task {}", task.id)).collect();
            names.extend(if new.is_empty() { vec!["the plan".to_owned()] } else { new });
        }
        Ok(names)
    }

    pub(crate) fn state_of(&self, name: &LoopName) -> Result<State, AppError> {
        let reader = self.reader()?.ok_or_else(|| AppError::broken(format!("{name} is gone")))?;
        windlass_store::fold(&*reader, name).or_broken()
    }

    /// What the next revision's files are compared with.
    fn keep_reading_after(
        &self,
        name: &LoopName,
        request: &ReviseRequest,
        edited: Option<EditedFiles>,
    ) -> Result<(), AppError> {
        let Some(mut read) = edited.map(|edited| edited.now).or_else(|| self.earlier_reading(name)) else {
            return Ok(());
        };
        if request.below == PolicyBelow::Files {
            read = read.with_policy(&self.policy(&PolicyArguments::default())?);
        }
        if let Some(source) = &request.plan {
            let state = self.state_of(name)?;
            read = read.with_plan(source, &self.read_plan(source, &wanted_policy(&state).plan.format)?);
        }
        self.keep_reading(name, &read)
    }

    fn resolved(
        &self,
        state: &State,
        request: &ReviseRequest,
        edited: Option<&EditedFiles>,
    ) -> Result<Resolved, AppError> {
        let in_force = wanted_policy(state);
        match (request.below, edited) {
            (PolicyBelow::Files, _) => self.policy(&request.policy),
            (PolicyBelow::InForce, _) | (PolicyBelow::EditedFiles, None) => {
                self.policy_on_top(in_force, &request.policy)
            }
            (PolicyBelow::EditedFiles, Some(edited)) => {
                self.policy_on_top(&with_edits(in_force, &edited.before, &edited.after), &request.policy)
            }
        }
    }

    fn checked_policy(
        &self,
        state: &State,
        resolved: Resolved,
        planned: Option<&Planned>,
        texts: Texts,
    ) -> Result<Policy, AppError> {
        resolved.require_agents().or_refused()?;
        if let Some(planned) = planned {
            self.refuse_under(&resolved, planned)?;
        }
        let Resolved { policy, origins, .. } = resolved;
        let revised = RevisedLoop {
            base: &state.creation.base,
            policy,
            planned,
            surroundings: self.surroundings(),
            vault: &self.vault,
        };
        let checked = match texts {
            Texts::Stored => setup::check_revision(revised),
            // What is in a directory of hidden files is known only when it is stored.
            Texts::OnlyNamed => setup::look_at_revision(&revised).map(|mut policy| {
                let known = &wanted_policy(state).gate.hidden;
                if policy.gate.hidden.files.is_none() && policy.gate.hidden.dir == known.dir {
                    policy.gate.hidden.files.clone_from(&known.files);
                }
                policy
            }),
        };
        checked.map_err(|error| of_setup(&error, &|key| origins.get(key).cloned()))
    }

    /// The texts are stored before the record that names them.
    pub(crate) fn plan_of(&self, planned: Planned, texts: Texts) -> Result<Plan, AppError> {
        let name = |text: &str| {
            let bytes = text.as_bytes().to_vec();
            match texts {
                Texts::Stored => self.store()?.put(bytes).or_broken(),
                Texts::OnlyNamed => Ok(id_of(&bytes)),
            }
        };
        let task_of = |task: PlannedTask| task.into_task(name);
        let tools = planned.tools.into_iter().map(|tool| tool.value).collect();
        Ok(Plan { tasks: planned.tasks.into_iter().map(task_of).collect::<Result<_, _>>()?, tools })
    }
}

fn is_completed(state: &State) -> bool {
    state.outcome().is_some_and(|outcome| outcome.kind == OutcomeKind::Completed)
}

/// The policy that the loop has, or will have when its iteration has ended.
pub(crate) fn wanted_policy(state: &State) -> &Policy {
    state.revision.policy.as_ref().map_or_else(|| state.policy(), |kept| &kept.policy)
}

/// None where it is the plan that the loop has.
fn changed_plan(state: &State, plan: Plan) -> Option<(Plan, PlanRevision)> {
    let revision = PlanRevision::between(state, &plan);
    let order: Vec<TaskId> = state.tasks.iter().map(|task| task.task.id.clone()).collect();
    (!revision.is_empty(&order)).then_some((plan, revision))
}

/// What a loop needs and does not have, with the place in a file that says so.
pub(crate) fn of_setup(
    error: &SetupError,
    written: &dyn Fn(&str) -> Option<windlass_config::ValueOrigin>,
) -> AppError {
    let kind = if error.is_of_the_machine() { ErrorKind::Broken } else { ErrorKind::Refused };
    let at = error.key().and_then(written);
    let place = at.map(|at| format!("{}:{}:{}: ", at.layer.name, at.line, at.column)).unwrap_or_default();
    AppError::new(kind, format!("{place}{error}")).with_hints(error.hints())
}
