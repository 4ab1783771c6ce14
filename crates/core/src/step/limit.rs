//! What forbids to go on, and what then becomes of the run.

use super::{Draft, run};
use crate::event::{AttemptEvent, IterationResult};
use crate::id::AttemptId;
use crate::limit::{self, Limit, LimitCheck, LimitOutcome, LimitReached};
use crate::outcome::{OutcomeKind, Reason};
use crate::state::State;

/// Whether the limits that are looked at here allow to go on; what else follows
/// is done.
pub(super) fn allows(draft: &mut Draft, when: LimitCheck) -> bool {
    match limit::reached(&draft.state, when, None) {
        Some(reached) => {
            enforce(draft, reached);
            false
        }
        None => true,
    }
}

/// Counts the attempt that ended towards a limit, and looks at that limit.
pub(super) fn count(draft: &mut Draft, limit: Limit) -> Option<LimitReached> {
    let attempt = draft.state.attempt.as_ref().map_or(AttemptId(0), |attempt| attempt.id);
    draft.emit(AttemptEvent::FailureCounted { limit, attempt });
    limit::reached_by(&draft.state, limit)
}

pub(super) fn enforce(draft: &mut Draft, reached: LimitReached) {
    let LimitReached { outcome, reason, words } = reached;
    match outcome {
        LimitOutcome::TaskBlocked => run::block_task(draft, reason, words),
        LimitOutcome::RunBlocked => {
            run::block_task(draft, reason, words.clone());
            run::close_iteration(draft, IterationResult::AgentFailed);
            match run::only_asked_is_blocked(&draft.state) {
                Some(detail) => draft.end(OutcomeKind::Stopped, reason, detail),
                None => draft.end(OutcomeKind::Blocked, reason, words),
            }
        }
        LimitOutcome::RunLimited => draft.end(OutcomeKind::Limit, reason, words),
        LimitOutcome::Paused => draft.pause(reason, words),
    }
}

/// What forbids another attempt: checked before it is launched.
pub(super) fn budget_spent(state: &State) -> Option<(Reason, String)> {
    let budget = &state.policy().budget;
    if !budget.wall.is_zero() && state.worked >= budget.wall {
        return Some((Reason::Wall, format!("{} of {} worked", state.worked, budget.wall)));
    }
    budget.spent(&state.ledger.total)
}
