//! Execute: the workspace is ready, the author works, its tree is recorded.

use super::{Draft, attempt, finding, last, limit, revise, run, verify};
use crate::effect::{Effect, Snapshot};
use crate::event::{AttemptEvent, IterationResult, Novelty, OperatorEvent, Phase, TreeRecorded};
use crate::input::{AttemptEnd, Snapshotted};
use crate::outcome::{OutcomeKind, Reason};
use crate::policy::Role;
use crate::state::State;
use crate::verdict::ClaimStatus;

pub(super) fn workspace_ready(draft: &mut Draft) {
    if draft.state.cancelling {
        return run::end_cancelled(draft);
    }
    if waived(&draft.state) {
        return run::give_up(draft);
    }
    if run::unasked(&draft.state) {
        run::close_iteration(draft, IterationResult::Ended);
        return run::choose(draft);
    }
    if draft.state.phase == Some(Phase::Execute) && revise::take_up_before_attempt(draft) {
        return;
    }
    let judged = matches!(draft.state.phase, Some(Phase::Review | Phase::FinalReview | Phase::Finish));
    if judged && draft.state.judged_by.is_some() {
        return revise::abandon(draft);
    }
    match draft.state.phase {
        Some(Phase::Review | Phase::FinalReview) => launch(draft, Role::Reviewer),
        Some(Phase::Finish) => launch(draft, Role::Finisher),
        Some(_) | None => launch(draft, Role::Author),
    }
}

/// The budget is checked before every launch. A proof does not fall with it.
pub(super) fn launch(draft: &mut Draft, role: Role) {
    match limit::budget_spent(&draft.state) {
        None => draft.call(role),
        Some((_, detail)) if role == Role::Finisher => last::drop_finish(draft, &detail),
        Some((reason, detail)) => {
            run::close_iteration(draft, IterationResult::Ended);
            draft.end(OutcomeKind::Limit, reason, detail);
        }
    }
}

/// Whatever an author left behind is recorded before anything else happens.
pub(super) fn record_tree(draft: &mut Draft) {
    let state = &draft.state;
    let Some(attempt) = &state.attempt else { return };
    let current = state.current.as_ref();
    let base = state.base().clone();
    let trusted = Some(state.trusted.clone()).filter(|trusted| *trusted != base.tree);
    let (task, title) = (state.current_task().cloned(), commit_title(state));
    draft.perform(Effect::Snapshot(Snapshot {
        attempt: attempt.id,
        task,
        parent: base.commit,
        from: current.map_or(base.tree.clone(), |current| current.start_tree.clone()),
        base: base.tree,
        trusted,
        title,
        date: draft.at.0.div_euclid(1000),
    }));
}

/// The title of the commit that the work in hand becomes.
pub(super) fn commit_title(state: &State) -> String {
    match state.current_task() {
        Some(id) => state.task(id).map_or_else(String::new, |task| match state.repeats(Some(id)) {
            true => format!("{} (step {})", task.task.title, task.steps + 1),
            false => task.task.title.clone(),
        }),
        None if state.current.is_some() => "Fix what the final phases found".to_owned(),
        None => "Finish".to_owned(),
    }
}

pub(super) fn snapshotted(draft: &mut Draft, taken: &Snapshotted) {
    let Some(done) = draft.state.attempt.clone() else {
        return draft.emit(OperatorEvent::InputRefused {
            input: "snapshotted".to_owned(),
            why: "no attempt has run".to_owned(),
        });
    };
    let judged = done.end == Some(AttemptEnd::Normal) && !draft.state.cancelling;
    let novelty = judged.then(|| novelty(&draft.state, taken));
    draft.emit(AttemptEvent::TreeRecorded(Box::new(TreeRecorded {
        attempt: done.id,
        commit: taken.commit.clone(),
        tree: taken.tree.clone(),
        gate_tree: taken.gate_tree.clone(),
        trusted_tree: taken.trusted_tree.clone(),
        changed_terms: taken.changed_terms.clone(),
        added_tests: taken.added_tests.clone(),
        with_tests: taken.with_tests.clone(),
        has_tests: taken.has_tests,
        change: taken.change.clone(),
        whitespace_only: taken.whitespace_only,
        novelty,
    })));
    let waived = waived(&draft.state);
    if !waived {
        finding::measured(draft, &taken.evidence);
    }
    if draft.state.cancelling {
        return run::end_cancelled(draft);
    }
    if waived {
        return run::give_up(draft);
    }
    let end = done.end.clone().unwrap_or(AttemptEnd::Lost);
    if done.role == Role::Finisher {
        return last::finish_recorded(draft, &end);
    }
    if !judged {
        return attempt::go_on(draft, &end);
    }
    match done.claim.as_ref().filter(|claim| claim.status == ClaimStatus::Blocked) {
        Some(claim) if draft.state.current.as_ref().is_some_and(|c| c.task.is_some()) => {
            let said =
                if claim.blockers.is_empty() { claim.summary.clone() } else { claim.blockers.join("; ") };
            let said = if said.trim().is_empty() { Reason::AgentBlocked.words().to_owned() } else { said };
            verify::set_aside(draft, Reason::AgentBlocked, said, IterationResult::AgentBlocked);
        }
        Some(_) | None => verify::begin(draft),
    }
}

/// Whether the operator waived the task while it was being worked on.
pub(super) fn waived(state: &State) -> bool {
    let task = state.current_task();
    task.and_then(|id| state.task(id)).is_some_and(|task| task.status == crate::state::TaskStatus::Waived)
}

/// Against its base: committed, uncommitted or untracked makes no difference.
fn novelty(state: &State, taken: &Snapshotted) -> Novelty {
    if state.base().tree == taken.tree {
        Novelty::Unchanged
    } else if state.current_work().seen.contains(&taken.tree) {
        Novelty::Seen
    } else {
        Novelty::New
    }
}
