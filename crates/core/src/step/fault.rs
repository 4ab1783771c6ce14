//! A step of windlass's own that could not be done. What a person can mend
//! pauses the loop with the step still to do; anything else ends the run, or
//! Finish alone.

use super::{Draft, attempt, last, run};
use crate::effect::Effect;
use crate::event::{IterationResult, Phase};
use crate::input::Input;
use crate::outcome::{Fault, OutcomeKind, Reason};

pub(super) fn failed(draft: &mut Draft, effect: Effect, fault: &Fault) {
    if let Effect::CallAgent { attempt, role, .. } = effect {
        return attempt::faulted(draft, attempt, role, fault);
    }
    if draft.state.cancelling && may_be_left(&effect, fault) {
        return run::end_cancelled(draft);
    }
    if !fault.pauses() && draft.state.phase == Some(Phase::Finish) {
        return last::drop_finish(draft, &fault.detail);
    }
    if !fault.pauses() {
        run::close_iteration(draft, IterationResult::Ended);
        return draft.end(OutcomeKind::Failed, fault.reason, fault.detail.clone());
    }
    draft.pause(fault.reason, fault.detail.clone());
    draft.perform(effect);
}

/// A cancelled run ends without the step, unless that would lose a tree or
/// forget a landing which a later try can still find.
fn may_be_left(effect: &Effect, fault: &Fault) -> bool {
    effect.may_be_dropped() || !fault.pauses() || fault.reason == Reason::BranchMoved
}

pub(super) fn store_full(draft: &mut Draft, detail: &str) {
    let detail = detail.to_owned();
    match draft.state.outcome() {
        None => draft.pause(Reason::DiskFull, detail),
        Some(_) => draft.refuse(&Input::StoreFull { detail }, "the run has ended"),
    }
}
