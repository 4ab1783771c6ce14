//! Review: a fresh reader judges exactly the tree the gate was green on.

use super::{Draft, execute, finding, last, verify};
use crate::acceptance::{self, CriterionAnswer};
use crate::event::{AttemptEvent, IterationResult, Phase, ReviewRecorded};
use crate::id::AttemptId;
use crate::input::{AgentFinished, Report};
use crate::policy::Role;
use crate::state::State;
use crate::verdict::{NoVerdict, Review, Verdict};

pub(super) fn begin(draft: &mut Draft) {
    draft.enter(Phase::Review);
    execute::launch(draft, Role::Reviewer);
}

pub(super) fn finished(draft: &mut Draft, attempt: AttemptId, told: &AgentFinished) {
    let Some(tree) = draft.state.tree_under_review().cloned() else { return };
    let iteration = draft.state.iterations;
    finding::left_by_reviewer(draft, &told.left);
    let needs_terms = needs_terms(&draft.state);
    let criteria = criteria(&draft.state, told);
    let review = match usable(told, needs_terms) {
        Ok(review) => review,
        Err(failure) => {
            let record = ReviewRecorded {
                attempt,
                iteration,
                tree,
                verdict: Verdict::Reject,
                summary: failure.words(),
                pending: draft.state.current_work().pending.clone(),
                criteria,
                accepts_terms: false,
                failure: Some(failure),
            };
            draft.emit(AttemptEvent::ReviewRecorded(Box::new(record)));
            return reject(draft, IterationResult::ReviewFailed);
        }
    };
    let record = ReviewRecorded {
        attempt,
        iteration,
        tree,
        verdict: review.verdict,
        summary: review.summary.clone(),
        pending: pending(review),
        criteria,
        accepts_terms: review.accepts_terms(),
        failure: None,
    };
    draft.emit(AttemptEvent::ReviewRecorded(Box::new(record)));
    finding::reviewed(draft, review);
    match review.verdict {
        Verdict::Accept => accept(draft),
        Verdict::Reject => reject(draft, IterationResult::Rejected),
    }
}

fn accept(draft: &mut Draft) {
    if draft.state.current.is_none() {
        return last::accepted(draft);
    }
    verify::land(draft);
}

fn reject(draft: &mut Draft, result: IterationResult) {
    if draft.state.current.is_none() {
        return last::fix(draft);
    }
    let idle = result == IterationResult::Rejected && verify::idle(&draft.state) && !draft.state.explores();
    verify::fall_short(draft, if idle { IterationResult::NoProgress } else { result });
}

/// Whether the accept of this review is all that speaks for changed terms.
enum NeedsTerms {
    Yes,
    No,
}

fn needs_terms(state: &State) -> NeedsTerms {
    let gate = match state.current_task() {
        Some(_) => state.current_work().gate.as_ref(),
        None => state.whole.gate.as_ref(),
    };
    let asked = gate.is_some_and(|gate| gate.needs_terms && !finding::terms_waived(state, gate));
    if asked { NeedsTerms::Yes } else { NeedsTerms::No }
}

/// A verdict to act on, or why there is none.
fn usable(told: &AgentFinished, needs_terms: NeedsTerms) -> Result<&Review, NoVerdict> {
    if told.tree_changed {
        return Err(NoVerdict::TreeChanged);
    }
    let review = match &told.report {
        Report::Review(Ok(review)) => review,
        Report::Review(Err(failure)) => return Err(failure.clone()),
        Report::None | Report::Author(_) => return Err(NoVerdict::NoReport),
    };
    let silent = matches!(needs_terms, NeedsTerms::Yes)
        && review.verdict == Verdict::Accept
        && !review.accepts_terms();
    match review.contradiction() {
        Some(what) => Err(NoVerdict::Contradiction { what }),
        None if silent => Err(NoVerdict::TermsNotJudged),
        None => Ok(review),
    }
}

/// Whatever becomes of the verdict, what was said of a criterion is kept.
fn criteria(state: &State, told: &AgentFinished) -> Vec<CriterionAnswer> {
    let said = match &told.report {
        Report::Review(Ok(review)) => &review.criteria[..],
        Report::Review(Err(_)) | Report::None | Report::Author(_) => &[],
    };
    let task = state.current_task().and_then(|id| state.task(id));
    let gate = task.and_then(|task| task.work.gate.as_deref());
    acceptance::answers(task.map(|task| &*task.task), said, gate)
}

fn pending(review: &Review) -> Vec<String> {
    let blocker = review.blocker.trim();
    let blocker = (!blocker.is_empty()).then(|| format!("blocker: {blocker}"));
    blocker.into_iter().chain(review.pending.iter().cloned()).collect()
}
