//! A step of windlass's own that could not be done. What may not be left out, and
//! what a person can mend, pauses the loop with the step still to do; anything
//! else ends the run, or Finish alone.

use super::{Draft, attempt, last, run};
use crate::effect::Effect;
use crate::event::{IterationResult, PauseEvent, Phase};
use crate::input::Input;
use crate::outcome::{Fault, OutcomeKind, Reason};

pub(super) fn failed(draft: &mut Draft, effect: Effect, fault: &Fault) {
    if let Effect::CallAgent { attempt, role, .. } = effect {
        return attempt::faulted(draft, attempt, role, fault);
    }
    if let Some(undone) = undone(&effect, fault) {
        return hold(draft, effect, fault.reason, undone);
    }
    if draft.state.cancelling {
        return run::end_cancelled(draft);
    }
    // Without a look at the stop checks nothing is complete, with or without a finisher.
    let is_finish = draft.state.phase == Some(Phase::Finish) && !matches!(effect, Effect::CheckStop { .. });
    if !fault.pauses() && is_finish {
        return last::drop_finish(draft, &fault.detail);
    }
    if !fault.pauses() {
        run::close_iteration(draft, IterationResult::Ended);
        return draft.end(OutcomeKind::Failed, fault.reason, fault.detail.clone());
    }
    draft.pause(fault.reason, fault.detail.clone());
    draft.perform(effect);
}

/// What is missing without the step, when the step may not be left out.
fn undone(effect: &Effect, fault: &Fault) -> Option<String> {
    match effect {
        Effect::Snapshot(snapshot) => {
            Some(format!("what attempt {} left could not be recorded: {}", snapshot.attempt, fault.detail))
        }
        Effect::Land { commit, .. } => Some(format!("commit {commit} could not be landed: {}", fault.detail)),
        Effect::MergeWork { .. }
        | Effect::PrepareWorkspace { .. }
        | Effect::CallAgent { .. }
        | Effect::RunGate { .. }
        | Effect::CheckStop { .. } => None,
    }
}

/// Whatever the reason, the step is tried again: a tree would be lost without it,
/// or a landing that may have happened forgotten.
fn hold(draft: &mut Draft, effect: Effect, why: Reason, undone: String) {
    let way_out = match draft.state.cancelling {
        false => "`windlass resume` and then `windlass run` try again",
        true => "`windlass resume` tries again, another `windlass cancel` ends the run without it",
    };
    let detail = format!("{undone}; {way_out}");
    draft.emit(PauseEvent::Paused { why, detail, undone: Some(undone) });
    draft.perform(effect);
}

/// The operator cancels again: the run ends, and its outcome says without what.
pub(super) fn give_up(draft: &mut Draft, undone: &str) {
    let given_up = draft.state.outstanding().next().map(|(id, _)| id);
    draft.closes = given_up;
    let tree = run::start_tree(&draft.state, draft.state.current_task());
    run::close_iteration(draft, IterationResult::Ended);
    let detail = format!("ended by a second cancel; {undone}; a restart begins from tree {tree}");
    draft.end(OutcomeKind::Cancelled, Reason::Operator, detail);
}

pub(super) fn store_full(draft: &mut Draft, detail: &str) {
    let detail = detail.to_owned();
    match draft.state.outcome() {
        None => draft.pause(Reason::DiskFull, detail),
        Some(_) => draft.refuse(&Input::StoreFull { detail }, "the run has ended"),
    }
}
