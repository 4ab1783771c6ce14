//! After the tasks: FinalVerify, FinalReview, Fix, Finish, and completion.

use super::{Draft, approval, attempt, execute, limit, run, stop, verify};
use crate::effect::Effect;
use crate::event::{FindingEvent, IterationResult, LandingEvent, Phase};
use crate::finding::{Finding, Origin, Rule};
use crate::gate::{GateSummary, Purpose};
use crate::id::{FindingId, TreeId};
use crate::input::{AgentFinished, AttemptEnd};
use crate::limit::LimitCheck;
use crate::outcome::{OutcomeKind, Reason};
use crate::state::{State, TaskState, TaskStatus};
use crate::verdict::Verdict;

/// Every task is done or waived: the branch head is judged as a whole.
pub(super) fn begin(draft: &mut Draft) {
    draft.enter(Phase::FinalVerify);
    dismiss_measured(draft);
    let trials = draft.state.head_trials();
    let checks = draft.state.checks_for(None);
    if checks.is_empty() {
        return stand_on_branch(draft);
    }
    draft.run_gate(Purpose::Final, trials, checks);
}

/// A fix is judged by the final checks before it lands.
pub(super) fn verify_fix(draft: &mut Draft) {
    let Some(recorded) = draft.state.recorded.clone() else { return };
    if is_known_insensitive(&draft.state, &recorded.tree) {
        run::close_iteration(draft, IterationResult::NoProgress);
        return fix(draft);
    }
    draft.enter(Phase::FinalVerify);
    let checks = draft.state.checks_for(None);
    if checks.is_empty() {
        return judge_fix(draft, Green::Yes);
    }
    let trials = draft.state.recorded_trials(&recorded);
    draft.run_gate(Purpose::Final, trials, checks);
}

/// A product that lies by chance is not asked again until it says the right thing.
fn is_known_insensitive(state: &State, tree: &TreeId) -> bool {
    let told = |bug: &Finding| bug.task.is_none() && bug.origin == Origin::Evidence(Rule::GateNotSensitive);
    state.whole.insensitive.contains(tree) && state.open_bugs().any(told)
}

enum Green {
    Yes,
    No,
}

pub(super) fn verified(draft: &mut Draft, summary: &GateSummary) {
    let green = if verify::holds(&draft.state, summary) { Green::Yes } else { Green::No };
    if draft.state.phase == Some(Phase::Finish) {
        return judge_finish(draft, &green);
    }
    if draft.state.current.is_some() {
        return judge_fix(draft, green);
    }
    match green {
        Green::Yes => stand_on_branch(draft),
        Green::No => fix(draft),
    }
}

fn judge_fix(draft: &mut Draft, green: Green) {
    let sound = matches!(green, Green::Yes) && measured_bugs(&draft.state).next().is_none();
    if !sound {
        run::close_iteration(draft, IterationResult::Failed);
        return fix(draft);
    }
    let changed = draft.state.recorded.as_ref().is_some_and(|r| r.tree != draft.state.head.tree);
    if changed {
        return verify::land(draft);
    }
    run::close_iteration(draft, IterationResult::NoProgress);
    stand_on_branch(draft);
}

/// The branch exists from here on, even if no task changed anything.
fn stand_on_branch(draft: &mut Draft) {
    if draft.state.head.landed {
        return review_whole(draft);
    }
    let commit = draft.state.head.commit.clone();
    draft.perform(Effect::Land { commit, expected: None, title: "Begin".to_owned() });
}

pub(super) fn landed(draft: &mut Draft) {
    if draft.state.cancelling {
        run::close_iteration(draft, IterationResult::Done);
        return run::choose(draft);
    }
    if draft.state.phase == Some(Phase::Finish) {
        return complete(draft);
    }
    run::close_iteration(draft, IterationResult::Done);
    if draft.state.judged_by.is_some() {
        return run::choose(draft);
    }
    review_whole(draft);
}

/// A tree that was rejected is fixed, not shown again.
fn review_whole(draft: &mut Draft) {
    if !reviews(&draft.state) || already_accepted(&draft.state) {
        return finish(draft);
    }
    if draft.state.whole.rejected.contains(&draft.state.head.tree) {
        return fix(draft);
    }
    draft.enter(Phase::FinalReview);
    let tree = draft.state.head.tree.clone();
    draft.perform(Effect::PrepareWorkspace { tree });
}

fn reviews(state: &State) -> bool {
    state.policy().review.whole && !state.run.asked.no_review
}

/// One task that covered the whole plan, accepted on this very tree, has been
/// reviewed as a whole, unless that was the last of several steps.
fn already_accepted(state: &State) -> bool {
    let last = state.last_review.as_ref();
    let needs_terms = state.whole.gate.as_ref().is_some_and(|gate| gate.needs_terms);
    state.tasks.len() == 1
        && state.tasks.iter().all(|task| task.steps < 2)
        && last.is_some_and(|review| {
            review.tree == state.head.tree
                && review.verdict == Verdict::Accept
                && review.failure.is_none()
                && (review.accepts_terms || !needs_terms)
        })
}

pub(super) fn accepted(draft: &mut Draft) {
    let judged = draft.state.last_review.as_ref().is_some_and(|review| review.accepts_terms);
    let unsettled = draft.state.trusted != draft.state.head.tree;
    if unsettled && (judged || draft.state.changed_terms.is_empty()) {
        let tree = draft.state.head.tree.clone();
        draft.emit(LandingEvent::TermsAccepted { tree });
    }
    finish(draft);
}

/// Another attempt at the whole, on the evidence, without rewinding a task.
pub(super) fn fix(draft: &mut Draft) {
    if !draft.state.revision.is_empty() {
        return run::choose(draft);
    }
    if !limit::allows(draft, LimitCheck::Choosing) {
        return;
    }
    if let Some(done) = run::enough(&draft.state) {
        return draft.end(OutcomeKind::Stopped, Reason::Asked, done);
    }
    if limit::allows(draft, LimitCheck::BeforeFix) {
        run::open_iteration(draft, None);
    }
}

fn finish(draft: &mut Draft) {
    let bug = draft.state.open_bugs().next().cloned();
    if let Some(bug) = bug {
        return unsettled(draft, &bug);
    }
    let wanted = draft.state.policy().finish.is_wanted() && draft.state.completion_summary.is_none();
    if !wanted {
        return complete(draft);
    }
    draft.enter(Phase::Finish);
    let tree = draft.state.head.tree.clone();
    draft.perform(Effect::PrepareWorkspace { tree });
}

pub(super) fn finisher_finished(draft: &mut Draft, told: &AgentFinished) {
    if told.result.end == AttemptEnd::Normal {
        draft.emit(LandingEvent::FinishRecorded { summary: told.result.message.clone() });
    }
    execute::record_tree(draft);
}

pub(super) fn finish_recorded(draft: &mut Draft, end: &AttemptEnd) {
    match end {
        AttemptEnd::Normal => judge_change(draft),
        AttemptEnd::Lost | AttemptEnd::Interrupted => attempt::again(draft),
        AttemptEnd::Faulted(fault) if fault.pauses() => attempt::again(draft),
        AttemptEnd::Faulted(fault) => drop_finish(draft, &fault.detail),
        AttemptEnd::RateLimited { .. }
        | AttemptEnd::UsageLimit { .. }
        | AttemptEnd::Overloaded
        | AttemptEnd::Network
        | AttemptEnd::Killed
        | AttemptEnd::Auth { .. }
        | AttemptEnd::ModelNotFound { .. }
        | AttemptEnd::ContextOverflow
        | AttemptEnd::Refused { .. }
        | AttemptEnd::Crashed { .. }
        | AttemptEnd::TimedOut
        | AttemptEnd::Stalled
        | AttemptEnd::Protocol { .. }
        | AttemptEnd::Budget => drop_finish(draft, &format!("the finisher: {end}")),
    }
}

fn judge_change(draft: &mut Draft) {
    let Some(recorded) = draft.state.recorded.clone() else { return };
    if measured_bugs(&draft.state).next().is_some() {
        return drop_finish(draft, "it breaks a rule that is measured on every tree");
    }
    if recorded.tree == draft.state.head.tree {
        return complete(draft);
    }
    let checks = draft.state.checks_for(None);
    if checks.is_empty() {
        return drop_finish(draft, "there is no check to prove it");
    }
    let trials = draft.state.recorded_trials(&recorded);
    draft.run_gate(Purpose::Final, trials, checks);
}

fn judge_finish(draft: &mut Draft, green: &Green) {
    let Some(recorded) = draft.state.recorded.clone() else { return };
    if matches!(green, Green::No) {
        return drop_finish(draft, "the gate is red on it");
    }
    if recorded.tree != recorded.gate_tree {
        return drop_finish(draft, "the gate judged another tree");
    }
    approval::land(draft, recorded.commit.clone(), recorded.tree.clone());
}

pub(super) fn drop_finish(draft: &mut Draft, why: &str) {
    draft.emit(LandingEvent::FinishDropped { why: why.to_owned() });
    dismiss_measured(draft);
    complete(draft);
}

/// What was measured on a tree that did not land does not hold for the head.
fn dismiss_measured(draft: &mut Draft) {
    let gone: Vec<FindingId> = measured_bugs(&draft.state).map(|finding| finding.id.clone()).collect();
    for finding in gone {
        draft.emit(FindingEvent::Resolved { finding });
    }
}

/// No fix settles what only a review can.
fn unsettled(draft: &mut Draft, bug: &Finding) {
    if bug.origin == Origin::Reviewer && !reviews(&draft.state) {
        return draft.end(OutcomeKind::Blocked, Reason::FinalFixes, bug.needs_review());
    }
    fix(draft);
}

/// The last look: nothing is complete while a bug is open, while a change of what
/// is to be done waits, or by the word of rules that are no longer in force.
pub(super) fn complete(draft: &mut Draft) {
    if !draft.state.revision.is_empty() || draft.state.judged_by.is_some() {
        return run::choose(draft);
    }
    let bug = draft.state.open_bugs().next().cloned();
    if let Some(bug) = bug {
        let detail = format!("finding {} is open: {}", bug.id, bug.description);
        return draft.end(OutcomeKind::Blocked, Reason::FinalFixes, detail);
    }
    if stop::is_due_at_the_end(&draft.state) {
        return stop::check(draft);
    }
    let stopped = draft.state.stop.as_ref().is_some_and(|stop| stop.holds);
    let no_check = draft.state.checks_for(None).is_empty();
    let tasks = || draft.state.tasks.iter();
    let waived = tasks().any(|task| task.status == TaskStatus::Waived);
    let imported = tasks().any(TaskState::was_done_before);
    let by_word = no_check && !stopped && tasks().any(|task| !task.checked);
    let reason = match (waived, imported, by_word) {
        (true, _, _) => Reason::Waived,
        (false, true, _) => Reason::DoneBefore,
        (false, false, true) => Reason::Reviewed,
        (false, false, false) => Reason::Proven,
    };
    let detail = match (no_check, stopped) {
        (false, _) => "",
        (true, true) => "every task is done and every stop check holds",
        (true, false) => "no final check exists: only reviews and waivers speak for it",
    };
    draft.end(OutcomeKind::Completed, reason, detail.to_owned());
}

fn measured_bugs(state: &State) -> impl Iterator<Item = &Finding> {
    state.open_bugs().filter(|finding| {
        finding.task.is_none()
            && match finding.origin {
                Origin::Evidence(_) => true,
                Origin::Reviewer | Origin::Operator => false,
            }
    })
}
