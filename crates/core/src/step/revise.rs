//! The plan or the policy of a loop changes. While the loop is at work, the
//! change waits for the end of the open iteration; a policy changes at once
//! where nothing can be running, so that no pause and no limit is a dead end.

use super::{Draft, run};
use crate::effect::Effect;
use crate::event::{IterationResult, LoopEvent};
use crate::graph;
use crate::id::{EffectId, TaskId};
use crate::policy::Policy;
use crate::revision::{PlanRevision, PolicyRevision, Revision};
use crate::state::{State, TaskStatus};
use crate::task::{Plan, Task};

/// The operator's wish: taken up now, or kept until it can be.
pub(super) fn asked(draft: &mut Draft, revision: &Revision) -> Result<(), String> {
    if let Some(plan) = &revision.plan {
        check(&draft.state, plan)?;
    }
    let mut later = Revision::default();
    match &revision.policy {
        Some(policy) if at_work(&draft.state) => later.policy = Some(policy.clone()),
        Some(policy) => take_up_policy(draft, policy),
        None => {}
    }
    match &revision.plan {
        Some(plan) if draft.state.current.is_some() || at_work(&draft.state) => {
            later.plan = Some(plan.clone())
        }
        Some(plan) => take_up_plan(draft, plan),
        None => {}
    }
    if !later.is_empty() {
        draft.emit(LoopEvent::RevisionKept(Box::new(later)));
    }
    Ok(())
}

/// Between two iterations: what was kept is taken up.
pub(super) fn take_up(draft: &mut Draft) {
    let Revision { plan, policy } = draft.state.revision.as_ref().clone();
    if let Some(policy) = policy {
        take_up_policy(draft, &policy);
    }
    if let Some(plan) = plan {
        take_up_plan(draft, &plan);
    }
}

/// Something may be performed at this moment, by the rules in force.
fn at_work(state: &State) -> bool {
    state.may_perform() && state.outstanding().next().is_some()
}

fn check(state: &State, plan: &Plan) -> Result<(), String> {
    let order = revised(state, plan).order;
    let waits = |id: &TaskId| {
        let written = plan.tasks.iter().find(|task| task.id == *id);
        written.or_else(|| state.task(id).map(|task| &*task.task)).map(|task| task.depends_on.clone())
    };
    let tasks: Vec<_> = order.iter().map(|id| (id.clone(), waits(id).unwrap_or_default())).collect();
    graph::check(&tasks).map_err(|error| error.to_string())
}

/// What was done or waived is history, and stays in the plan.
fn revised(state: &State, plan: &Plan) -> PlanRevision {
    let tasks: Vec<&Task> = state.tasks.iter().map(|task| &*task.task).collect();
    let settled = |id: &TaskId| {
        state.task(id).is_some_and(|task| matches!(task.status, TaskStatus::Done | TaskStatus::Waived))
    };
    PlanRevision::between(&tasks, plan, &settled)
}

fn take_up_plan(draft: &mut Draft, plan: &Plan) {
    let revision = revised(&draft.state, plan);
    draft.emit(LoopEvent::PlanChanged(Box::new(revision)));
}

/// A gate that is due is not run by the rules of before: its iteration ends,
/// and what comes next begins from the same tree.
fn take_up_policy(draft: &mut Draft, policy: &PolicyRevision) {
    let judges = |policy: &Policy| (policy.gate.clone(), policy.workspace.clone());
    let other_gate = judges(draft.state.policy()) != judges(&policy.policy);
    draft.emit(LoopEvent::PolicyChanged(Box::new(policy.clone())));
    let due = draft.state.outstanding().find(|(_, effect)| matches!(effect, Effect::RunGate { .. }));
    let due: Option<EffectId> = due.map(|(id, _)| id);
    if draft.closes.is_none() && other_gate && due.is_some() {
        draft.closes = due;
        run::close_iteration(draft, IterationResult::Ended);
        run::choose(draft);
    }
}
