//! The plan or the policy of a loop changes. A change waits while something may
//! be performed by the rules in force: a plan for the end of the open iteration,
//! or for the next attempt if it says something else of the task in hand; a
//! policy for the end of the iteration or for the next drive, so that no pause
//! and no limit is a dead end.

use super::{Draft, run};
use crate::amendment::{self, AmendedTask, Amendment, PlanOrder};
use crate::effect::Effect;
use crate::event::{FindingEvent, IterationResult, LoopEvent, Phase, RunEvent, TaskEvent};
use crate::graph;
use crate::id::{EffectId, FindingId, TaskId};
use crate::outcome::Reason;
use crate::policy::Policy;
use crate::revision::{PlanRevision, PolicyRevision, Revision, TaskRevision};
use crate::state::{State, TaskStatus};
use crate::task::{Plan, Task};

/// The operator's wish: taken up now, or kept until it can be. A plan and a
/// policy that come together are taken up together.
pub(super) fn asked(draft: &mut Draft, revision: &Revision) -> Result<(), String> {
    check(&draft.state, revision)?;
    let plan_waits = revision.plan.is_some() && draft.state.current.is_some();
    if plan_waits || may_be_at_work(&draft.state) {
        draft.emit(LoopEvent::RevisionKept(Box::new(revision.clone())));
        return Ok(());
    }
    if let Some(policy) = &revision.policy {
        take_up_policy(draft, policy);
    }
    if let Some(plan) = &revision.plan {
        take_up_plan(draft, plan);
    }
    Ok(())
}

/// The plan that the loop has, or will have when its iteration has ended, with this amendment.
pub(super) fn amended(state: &State, amendment: &Amendment) -> Result<Revision, String> {
    let plan = amendment::amended(&wanted_tasks(state), amendment, PlanOrder::AsWritten);
    let plan = plan.map_err(|error| format!("{error}; {}", error.remedy()))?;
    let tools = state.revision.plan.as_ref().map_or(&*state.tools, |waiting| &waiting.tools).clone();
    Ok(Revision { plan: Some(Plan { tools, ..plan }), policy: None })
}

/// Between two iterations, without the operator.
pub(super) fn take_up_amendment(draft: &mut Draft, amendment: &Amendment) -> Result<(), String> {
    let revision = amended(&draft.state, amendment)?;
    check(&draft.state, &revision)?;
    if let Some(plan) = &revision.plan {
        take_up_plan(draft, plan);
    }
    Ok(())
}

/// The tasks that an amendment changes.
pub fn wanted_tasks(state: &State) -> Vec<AmendedTask<'_>> {
    let kept = state.revision.plan.as_ref();
    let tasks = kept.map_or_else(|| current_tasks(state), |plan| tasks_of(state, plan));
    let row = |task| AmendedTask { task, is_settled: stays_settled(state, task) };
    tasks.into_iter().map(row).collect()
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

/// A drive begins, and nothing is being performed yet: a policy that was kept is
/// taken up inside the open iteration, unless it fits only the plan that it came
/// with. Whether that ended the iteration.
pub(super) fn take_up_at_start(draft: &mut Draft) -> bool {
    let Some(policy) = draft.state.revision.policy.clone() else { return false };
    let fits = current_tasks(&draft.state)
        .into_iter()
        .all(|task| check_task(&draft.state, &policy.policy, task).is_ok());
    fits && take_up_policy(draft, &policy)
}

/// An author is about to be called, and the plan that waits says something else of
/// its task, or has it no more: nobody works by words that were taken back. Whether
/// that ended the iteration.
pub(super) fn take_up_before_attempt(draft: &mut Draft) -> bool {
    let state = &draft.state;
    let known = state.current_task().and_then(|id| state.task(id));
    let (Some(known), Some(plan)) = (known, &state.revision.plan) else { return false };
    let written = plan.tasks.iter().find(|task| task.id == known.task.id);
    if written.is_some_and(|task| *task == *known.task) {
        return false;
    }
    if state.revision.policy.is_none() && written.is_some_and(|task| task.is_begun_as(&known.task)) {
        take_up(draft);
        return false;
    }
    run::close_iteration(draft, IterationResult::Ended);
    run::choose(draft);
    true
}

/// What is outstanding may be performed at this moment: a pause lets it come to
/// its end. While the loop waits, nothing is.
fn may_be_at_work(state: &State) -> bool {
    state.outstanding().next().is_some() && state.waiting.is_none()
}

fn check(state: &State, revision: &Revision) -> Result<(), String> {
    if revision.is_empty() {
        return Err("nothing is to change".to_owned());
    }
    if revision.policy.as_ref().is_some_and(|new| new.number != state.policy_changes + 1) {
        return Err("the policy has changed meanwhile; look at it and try again".to_owned());
    }
    let plan = revision.plan.as_ref().or(state.revision.plan.as_ref());
    let tasks = plan.map_or_else(|| current_tasks(state), |plan| tasks_of(state, plan));
    if tasks.is_empty() {
        return Err("a plan without a task proves nothing".to_owned());
    }
    let waits = |task: &&Task| {
        let depends_on = if stays_settled(state, task) { Vec::new() } else { task.depends_on.clone() };
        (task.id.clone(), depends_on)
    };
    graph::check(&tasks.iter().map(waits).collect::<Vec<_>>()).map_err(|error| error.to_string())?;
    let kept = revision.policy.as_ref().or(state.revision.policy.as_ref());
    let policy = kept.map_or(state.policy(), |kept| &kept.policy);
    if policy.is_open_ended() && tasks.len() != 1 {
        return Err(format!("with stop checks a plan has exactly one task, and not {}", tasks.len()));
    }
    let is_called_done = |task: &&&Task| task.done_before && !stays_settled(state, task);
    if policy.is_open_ended()
        && let Some(task) = tasks.iter().find(is_called_done)
    {
        return Err(format!(
            "the plan calls task {} done, but in an open-ended loop the stop checks decide that; `windlass waive` \
             ends it by your word",
            task.id
        ));
    }
    tasks.iter().try_for_each(|task| check_task(state, policy, task))
}

/// What is said of a task once the loop exists must be possible.
fn check_task(state: &State, policy: &Policy, task: &Task) -> Result<(), String> {
    if stays_settled(state, task) {
        return Ok(());
    }
    if let Some(unknown) = task.checks.iter().find(|name| policy.gate.check(name).is_none()) {
        return Err(format!("task {} selects the check {unknown}, which the policy does not have", task.id));
    }
    Ok(())
}

fn current_tasks(state: &State) -> Vec<&Task> {
    state.tasks.iter().map(|task| &*task.task).collect()
}

/// Every task that a plan leads to.
fn tasks_of<'a>(state: &'a State, plan: &'a Plan) -> Vec<&'a Task> {
    let written = |id: &TaskId| plan.tasks.iter().find(|task| task.id == *id);
    let known = |id: &TaskId| state.task(id).map(|task| &*task.task);
    revised(state, plan).order.iter().filter_map(|id| written(id).or_else(|| known(id))).collect()
}

fn revised(state: &State, plan: &Plan) -> PlanRevision {
    PlanRevision::between(state, plan)
}

/// A completed loop is opened again by tasks that it has not done.
pub(super) fn reopen(draft: &mut Draft, revision: &Revision) -> Result<(), String> {
    let plan = revision.plan.as_ref().map(|plan| revised(&draft.state, plan));
    let has_more = plan.is_some_and(|plan| !plan.added.is_empty() || !plan.reopened.is_empty());
    if !has_more {
        return Err(
            "the loop is completed: only new tasks, or done ones that ask for something else, open it \
                    again"
                .to_owned(),
        );
    }
    asked(draft, revision)?;
    let run = draft.state.run.number + 1;
    draft.emit(RunEvent::Restarted { run });
    Ok(())
}

fn stays_settled(state: &State, task: &Task) -> bool {
    state.task(&task.id).is_some_and(|known| known.stays_settled(task))
}

/// With a task that goes, or that the operator calls done, goes what was found in it.
fn take_up_plan(draft: &mut Draft, plan: &Plan) {
    let revision = revised(&draft.state, plan);
    let why = |task: &TaskId| match (revision.removed.contains(task), revision.called_done.contains(task)) {
        (true, _) => Some(format!("task {task} was taken out of the plan")),
        (false, true) => Some(format!("the plan calls task {task} done")),
        (false, false) => None,
    };
    let findings = draft.state.findings.values().filter(|finding| finding.is_open());
    let open: Vec<(FindingId, String)> =
        findings.filter_map(|finding| Some((finding.id.clone(), why(finding.task.as_ref()?)?))).collect();
    for (finding, why) in open {
        draft.emit(FindingEvent::Waived { finding, why });
    }
    let changed = revision.changed.clone();
    draft.emit(LoopEvent::PlanChanged(Box::new(revision)));
    for TaskRevision { before, after } in changed {
        follow_block(draft, &before, &after);
    }
}

/// Whoever writes that a task is blocked, or is so no longer, is heard.
fn follow_block(draft: &mut Draft, before: &Task, after: &Task) {
    let Some(known) = draft.state.task(&after.id) else { return };
    let by_plan = known.reason == Some(Reason::BlockedBefore);
    let (task, open) = (after.id.clone(), known.status == TaskStatus::Pending);
    match (before.blocked_before, after.blocked_before) {
        (true, false) if by_plan => draft.emit(TaskEvent::Unblocked { task }),
        (false, true) if open => {
            let reason = Reason::BlockedBefore;
            draft.emit(TaskEvent::Blocked { task, reason, words: reason.words().to_owned() });
        }
        (true | false, true | false) => {}
    }
}

/// A gate that is due is not run by the rules of before: its iteration ends,
/// and what comes next begins from the same tree. Whether it did so.
fn take_up_policy(draft: &mut Draft, policy: &PolicyRevision) -> bool {
    let other_gate = !draft.state.policy().has_gate_of(&policy.policy);
    draft.emit(LoopEvent::PolicyChanged(Box::new(policy.clone())));
    let due = draft.state.outstanding().find(|(_, effect)| matches!(effect, Effect::RunGate { .. }));
    let due: Option<EffectId> = due.map(|(id, _)| id);
    let ends = draft.closes.is_none() && other_gate && due.is_some();
    if ends {
        draft.closes = due;
        abandon(draft);
    }
    ends
}

/// What is in hand was judged by other rules than those in force: the iteration
/// ends, and what comes next begins from the same tree; the whole is verified anew.
pub(super) fn abandon(draft: &mut Draft) {
    match (&draft.state.current, draft.state.phase) {
        (Some(_), _) => run::close_iteration(draft, IterationResult::Ended),
        (None, Some(_)) => draft.enter(Phase::FinalVerify),
        (None, None) => {}
    }
    run::choose(draft);
}
