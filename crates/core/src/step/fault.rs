//! A step of windlass's own that could not be done. What a person can mend
//! pauses the loop with the step still to do; anything else ends the run, or
//! Finish alone.

use super::{Draft, attempt, last, run};
use crate::effect::Effect;
use crate::event::{IterationResult, Phase};
use crate::input::Input;
use crate::outcome::{Fault, OutcomeKind, Reason};

pub(super) fn failed(draft: &mut Draft, effect: Effect, fault: &Fault) {
    if let Effect::CallAgent { attempt, role, .. } = &effect {
        attempt::never_started(draft, *attempt, *role);
    }
    if draft.state.cancelling {
        return run::end_cancelled(draft);
    }
    let mendable = matches!(fault.reason, Reason::DiskFull | Reason::BranchMoved);
    if !mendable && draft.state.phase == Some(Phase::Finish) {
        return last::drop_finish(draft, &fault.detail);
    }
    if !mendable {
        run::close_iteration(draft, IterationResult::Ended);
        return draft.end(OutcomeKind::Failed, fault.reason, fault.detail.clone());
    }
    draft.pause(fault.reason, fault.detail.clone());
    match effect {
        Effect::CallAgent { .. } => attempt::again(draft),
        Effect::PrepareWorkspace { .. }
        | Effect::Snapshot(_)
        | Effect::RunGate { .. }
        | Effect::Land { .. } => draft.perform(effect),
    }
}

pub(super) fn store_full(draft: &mut Draft, detail: &str) {
    let detail = detail.to_owned();
    match draft.state.outcome() {
        None => draft.pause(Reason::DiskFull, detail),
        Some(_) => draft.refuse(&Input::StoreFull { detail }, "the run has ended"),
    }
}
