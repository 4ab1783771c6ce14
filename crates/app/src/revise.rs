//! Another policy or plan for a loop that is there. What is written is read and
//! looked at as for a new loop, before anything is sent.

use windlass_config::Resolved;
use windlass_core::command::Command;
use windlass_core::id::{LoopName, TaskId};
use windlass_core::policy::Policy;
use windlass_core::revision::{KeyChange, PlanRevision, PolicyRevision, Revision};
use windlass_core::state::{State, TaskStatus};
use windlass_core::task::{Plan, Task};
use windlass_driver::Interrupts;
use windlass_driver::setup::{self, RevisedLoop, SetupError};
use windlass_plan::Planned;

use crate::create::bad_plan;
use crate::error::Classify as _;
use crate::policy::policy_format;
use crate::{AppError, CommandResult, ErrorKind, OpenProject, PolicyArguments};

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

/// What the arguments of the policy are set on top of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PolicyBelow {
    /// The policy that the loop has.
    #[default]
    InForce,
    /// windlass.toml and the user's own file, as they are now.
    Files,
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
        if request.base.is_some() {
            return Err(AppError::refused(format!("the base of {name} cannot change"))
                .hint("its commits and everything that was proven stand on it")
                .hint("start another loop: windlass run --name NAME --base REF"));
        }
        let state = self.state_of(name)?;
        let planned = request.plan.as_ref().map(|source| self.read_plan(source)).transpose()?;
        let policy = self.revised_policy(&state, request, planned.as_ref())?;
        let wanted = wanted_policy(&state);
        let keys = policy_format().changes(wanted, &policy);
        let plan = planned.map(|planned| self.store_plan(planned)).transpose()?;
        let plan = plan.and_then(|plan| changed_plan(&state, plan));
        if keys.is_empty() && plan.is_none() {
            return Ok(ReviseReport::default());
        }
        let (plan, plan_revision) = plan.unzip();
        let in_all = policy_format().changes(state.policy(), &policy);
        let policy = (!keys.is_empty()).then_some(PolicyRevision {
            number: state.policy_changes + 1,
            keys: in_all,
            policy,
        });
        let command = Command::Revise(Box::new(Revision { plan, policy }));
        let report = self.command(name, &command, interrupts)?;
        let result = match report.result {
            CommandResult::Done(_) if self.state_of(name)?.revision.is_empty() => ReviseResult::Now,
            CommandResult::Done(_) => ReviseResult::AtNextIteration,
            CommandResult::Recorded => ReviseResult::Recorded,
            CommandResult::Interrupted => ReviseResult::Interrupted,
            CommandResult::Refused { why } => ReviseResult::Refused { why },
        };
        Ok(ReviseReport { keys, plan: plan_revision, result, warning: report.warning })
    }

    fn state_of(&self, name: &LoopName) -> Result<State, AppError> {
        let reader = self.reader()?.ok_or_else(|| AppError::broken(format!("{name} is gone")))?;
        windlass_store::fold(&*reader, name).or_broken()
    }

    fn revised_policy(
        &self,
        state: &State,
        request: &ReviseRequest,
        planned: Option<&Planned>,
    ) -> Result<Policy, AppError> {
        let resolved = match request.below {
            PolicyBelow::InForce => self.policy_on_top(wanted_policy(state), &request.policy)?,
            PolicyBelow::Files => self.policy(&request.policy)?,
        };
        resolved.require_agents().or_refused()?;
        let Resolved { policy, origins, .. } = resolved;
        if let Some(planned) = planned {
            let checks: Vec<&str> = policy.gate.checks.iter().map(|check| check.name.as_str()).collect();
            planned.check_names(&checks).map_err(bad_plan)?;
        }
        let revised = RevisedLoop {
            base: &state.creation.base,
            policy,
            planned,
            surroundings: self.surroundings(),
            vault: &self.vault,
        };
        setup::check_revision(revised).map_err(|error| of_setup(&error, &|key| origins.get(key).cloned()))
    }

    /// The texts are stored before the record that names them.
    fn store_plan(&self, planned: Planned) -> Result<Plan, AppError> {
        let store = self.store()?;
        let stored = |task: windlass_plan::PlannedTask| {
            let text = store.put(task.text.clone().into_bytes()).or_broken()?;
            Ok::<Task, AppError>(task.into_task(text))
        };
        Ok(Plan { tasks: planned.tasks.into_iter().map(stored).collect::<Result<_, _>>()? })
    }
}

/// The policy that the loop has, or will have when its iteration has ended.
fn wanted_policy(state: &State) -> &Policy {
    state.revision.policy.as_ref().map_or_else(|| state.policy(), |kept| &kept.policy)
}

/// None where it is the plan that the loop has.
fn changed_plan(state: &State, plan: Plan) -> Option<(Plan, PlanRevision)> {
    let tasks: Vec<&Task> = state.tasks.iter().map(|task| &*task.task).collect();
    let settled = |id: &TaskId| {
        state.task(id).is_some_and(|task| matches!(task.status, TaskStatus::Done | TaskStatus::Waived))
    };
    let revision = PlanRevision::between(&tasks, &plan, &settled);
    let order: Vec<TaskId> = tasks.iter().map(|task| task.id.clone()).collect();
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
