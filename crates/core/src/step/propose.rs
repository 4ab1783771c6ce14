//! The amendments that an author proposes: kept, and applied between two iterations where the policy says so.

use std::collections::BTreeSet;

use super::{Draft, revise};
use crate::amendment::Amendment;
use crate::event::LoopEvent;
use crate::id::{AmendmentId, AttemptId, TaskId};
use crate::proposal::{
    AmendmentAnswer, AmendmentRule, MAX_APPLIED, MAX_PROPOSED, MAX_WAITING, ProposedAction, ProposedAmendment,
};
use crate::state::State;
use crate::task::Task;

/// What is proposed again is not heard again.
pub(super) fn recorded(draft: &mut Draft, attempt: AttemptId, proposed: &[ProposedAmendment]) {
    if draft.state.policy().plan.amendments == AmendmentRule::Ignore {
        return;
    }
    let proposed = &proposed[..proposed.len().min(MAX_PROPOSED)];
    let with_it: Vec<TaskId> = proposed.iter().flat_map(ProposedAmendment::would_add).collect();
    for proposed in proposed {
        let known = &draft.state.amendments;
        let is_known = known.iter().any(|known| known.proposed.is_same(proposed));
        let waiting = known.iter().filter(|known| known.answer.is_none()).count();
        if is_known || waiting >= MAX_WAITING {
            continue;
        }
        let amendment = AmendmentId::new(format!("A{}", known.len() + 1));
        let unknown = unknown_task(&draft.state, proposed, &with_it)
            .map(|id| format!("there is no task {id} in the plan"));
        let unusable = unknown.or_else(|| proposed.bad_title().map(|error| error.to_string()));
        let proposed = Box::new(proposed.clone());
        draft.emit(LoopEvent::AmendmentProposed { amendment: amendment.clone(), attempt, proposed });
        if let Some(why) = unusable {
            let answer = AmendmentAnswer::Refused;
            draft.emit(LoopEvent::AmendmentAnswered { amendment, answer, why, added: Vec::new() });
        }
    }
}

/// A task that it names and that is nowhere: neither in the plan nor in what is proposed with it. Nobody could
/// accept it.
fn unknown_task(state: &State, proposed: &ProposedAmendment, with_it: &[TaskId]) -> Option<String> {
    let tasks: BTreeSet<TaskId> = revise::wanted_tasks(state).iter().map(|of| of.task.id.clone()).collect();
    let waiting = state.amendments.iter().filter(|known| known.answer.is_none());
    let would_add: Vec<TaskId> =
        waiting.flat_map(|known| known.proposed.would_add()).chain(with_it.iter().cloned()).collect();
    let is_unknown = |id: &&String| {
        !tasks.contains(&TaskId::new(id.as_str())) && !would_add.iter().any(|new| new.as_str() == **id)
    };
    let about = Some(&proposed.task).filter(|_| proposed.action != ProposedAction::Add);
    about.into_iter().chain(&proposed.depends_on).find(is_unknown).cloned()
}

/// Between two iterations: what may be applied is, in the order in which it was proposed.
pub(super) fn apply(draft: &mut Draft) {
    if draft.state.policy().plan.amendments != AmendmentRule::Apply || draft.state.cancelling {
        return;
    }
    let waiting: Vec<(AmendmentId, _)> = draft
        .state
        .amendments
        .iter()
        .filter(|known| known.answer.is_none())
        .map(|known| (known.id.clone(), known.proposed.clone()))
        .collect();
    for (amendment, proposed) in waiting {
        if applied(&draft.state) >= MAX_APPLIED {
            return;
        }
        let taken: BTreeSet<TaskId> = draft.state.tasks.iter().map(|task| task.task.id.clone()).collect();
        let wanted = proposed.applicable(&taken).filter(|wanted| !passes_a_scope(&draft.state, wanted));
        let Some(wanted) = wanted else { continue };
        let (answer, why, added) = match revise::take_up_amendment(draft, &wanted) {
            Ok(()) => (AmendmentAnswer::Applied, String::new(), wanted.added()),
            Err(why) => (AmendmentAnswer::Refused, why, Vec::new()),
        };
        draft.emit(LoopEvent::AmendmentAnswered { amendment, answer, why, added });
    }
}

/// Whether an agent could do more by it than a scope lets it: each part of a split task has the scope of the
/// whole, and a task that is added has at most the scope of its mode.
fn passes_a_scope(state: &State, wanted: &Amendment) -> bool {
    let is_limited = |task: &Task| !state.policy().scope_of(task).is_off() || !task.scope.within.is_empty();
    let mut tasks = state.tasks.iter().map(|of| &*of.task);
    match wanted {
        Amendment::Split { task: id, .. } => tasks.any(|task| task.id == *id && is_limited(task)),
        Amendment::Add { .. } => tasks.any(is_limited),
        Amendment::Edit { .. } | Amendment::Drop { .. } | Amendment::Move { .. } => false,
    }
}

fn applied(state: &State) -> usize {
    state.amendments.iter().filter(|known| known.answer == Some(AmendmentAnswer::Applied)).count()
}

/// The operator's word. What an accepted amendment makes of the plan is a command of its own.
pub(super) fn answered(
    draft: &mut Draft,
    amendment: &AmendmentId,
    answer: AmendmentAnswer,
    why: &str,
) -> Result<(), String> {
    let known = draft.state.amendments.iter().find(|known| known.id == *amendment);
    let Some(known) = known else {
        return Err(format!("there is no amendment {amendment}; `windlass task list` lists them"));
    };
    if let Some(answer) = known.answer {
        return Err(format!("amendment {amendment} was {} before", answer.name()));
    }
    let (amendment, why) = (amendment.clone(), why.to_owned());
    draft.emit(LoopEvent::AmendmentAnswered { amendment, answer, why, added: Vec::new() });
    Ok(())
}
