//! Verify: the gate judges the recorded tree, and the measure of progress and
//! the result together decide what the iteration was.

use std::sync::Arc;

use super::{Draft, approval, execute, finding, last, review, run};
use crate::event::{GateEvent, IterationResult, Novelty, Phase, TaskEvent, TreeRecorded};
use crate::finding::{Finding, Origin};
use crate::gate::{
    CheckResult, CheckRun, FailingCheck, GateKey, GateReport, GateSummary, Judgement, Purpose, Trial, Trials,
};
use crate::id::TreeId;
use crate::limit::{self, LimitCheck, LimitReached};
use crate::outcome::Reason;
use crate::policy::{Policy, TermsRule};
use crate::regression::RegressionReport;
use crate::state::State;

pub(super) struct Ran {
    pub purpose: Purpose,
    pub trials: Trials,
    pub checks: Vec<String>,
}

/// The same bytes under the same checks are not judged twice.
pub(super) fn begin(draft: &mut Draft) {
    let task = draft.state.current_task().cloned();
    if task.is_none() {
        return last::verify_fix(draft);
    }
    let Some(recorded) = draft.state.recorded.clone() else { return };
    let checks = draft.state.checks_for(task.as_ref());
    if checks.is_empty() {
        return judge(draft, None);
    }
    draft.enter(Phase::Verify);
    let trials = draft.state.recorded_trials(&recorded);
    let key = GateKey { trials: trials.clone(), checks: checks.clone() };
    match draft.state.gates.get(&key).cloned() {
        Some(summary) => {
            let passed = summary.passed;
            let Trials { landing: tree, trusted, regression } = trials;
            draft.emit(GateEvent::Reused { tree, trusted, regression, checks, passed });
            finding::gated(draft, &summary);
            judge(draft, Some(summary));
        }
        None => draft.run_gate(Purpose::Task, trials, checks),
    }
}

pub(super) fn reported(draft: &mut Draft, ran: Ran, report: &GateReport) {
    let policy = draft.state.judging_policy();
    let by = Judgement { gate: &policy.gate, purpose: ran.purpose, checks: &ran.checks };
    let summary = GateSummary::of_report(&by, &ran.trials, report);
    let purpose = ran.purpose;
    let landing = ran.trials.landing.clone();
    check_runs(draft, &CheckedTree { purpose, trial: Trial::Landing, tree: landing }, &report.landing);
    if let Some(tree) = ran.trials.trusted.clone() {
        check_runs(draft, &CheckedTree { purpose, trial: Trial::TrustedTerms, tree }, &report.trusted);
    }
    if let Some(asked) = ran.trials.regression.clone() {
        let RegressionReport { with_tests, base } = &report.regression;
        let tree = asked.with_tests;
        check_runs(draft, &CheckedTree { purpose, trial: Trial::AddedTests, tree }, with_tests);
        check_runs(draft, &CheckedTree { purpose, trial: Trial::Base, tree: asked.base }, base);
    }
    draft.emit(conclusion(ran, &summary));
    if draft.state.cancelling {
        return run::end_cancelled(draft);
    }
    match purpose {
        Purpose::Baseline => run::choose(draft),
        Purpose::Task if execute::waived(&draft.state) => run::give_up(draft),
        Purpose::Task => {
            finding::gated(draft, &summary);
            judge(draft, Some(Arc::new(summary)));
        }
        Purpose::Final => {
            finding::gated(draft, &summary);
            last::verified(draft, &summary);
        }
    }
}

struct CheckedTree {
    purpose: Purpose,
    trial: Trial,
    tree: TreeId,
}

fn check_runs(draft: &mut Draft, on: &CheckedTree, results: &[CheckResult]) {
    for result in results {
        let CheckedTree { purpose, trial, tree } = on;
        let run = CheckRun { purpose: *purpose, trial: *trial, tree: tree.clone(), result: result.clone() };
        draft.emit(GateEvent::CheckFinished(Box::new(run)));
    }
}

fn conclusion(ran: Ran, summary: &GateSummary) -> GateEvent {
    let Ran { purpose, trials: Trials { landing: tree, trusted, regression }, checks } = ran;
    let failing = summary.failing.clone();
    match trusted {
        Some(trusted) if summary.needs_terms => {
            GateEvent::NeedsTerms { purpose, tree, trusted, regression, checks, failing }
        }
        trusted if summary.passed => {
            GateEvent::Passed { purpose, tree, trusted, regression, checks, flaky: summary.flaky.clone() }
        }
        trusted => {
            let exits = summary.exits.clone();
            GateEvent::Failed { purpose, tree, trusted, regression, checks, exits, failing }
        }
    }
}

/// An iteration counts against one limit only: an old tree as no progress,
/// otherwise a red gate or a measured bug as a failure.
fn judge(draft: &mut Draft, gate: Option<Arc<GateSummary>>) {
    let Some(recorded) = draft.state.recorded.clone() else { return };
    let task = draft.state.current_task().cloned();
    let green = gate.as_ref().is_none_or(|summary| holds(&draft.state, summary));
    let bug = draft.state.open_bugs().any(|finding| finding.task == task && measured(finding));
    if green && !bug {
        return proceed(draft, &recorded, gate.is_some());
    }
    let result = if idle(&draft.state) { IterationResult::NoProgress } else { IterationResult::Failed };
    fall_short(draft, result);
}

/// Green, or red only by findings that the operator has waived, or by terms that
/// a reviewer will judge.
pub(super) fn holds(state: &State, summary: &GateSummary) -> bool {
    let task = state.current_task();
    let waived = |failing: &FailingCheck| state.waiver(failing, task).is_some();
    summary.passed
        || (!summary.failing.is_empty() && summary.failing.iter().all(waived))
        || (summary.needs_terms && (reviewer_judges_terms(state) || finding::terms_waived(state, summary)))
}

/// Whether a review that decides on changed terms comes before the work is done.
/// Tests without which those that were there are red are no terms: nobody is
/// asked about them.
pub(super) fn reviewer_judges_terms(state: &State) -> bool {
    let Policy { gate, review, .. } = state.policy();
    let comes = match state.current_task() {
        Some(_) => review.tasks,
        None => review.whole && state.phase != Some(Phase::Finish),
    };
    comes
        && !state.terms_under_review().is_empty()
        && gate.terms == TermsRule::Review
        && !state.run.asked.no_review
}

/// Whether the recorded tree is no progress: seen before, or white space alone
/// under the same result of the gate.
pub(super) fn idle(state: &State) -> bool {
    let Some(recorded) = &state.recorded else { return true };
    let now = state.current_work().gate.as_ref();
    let same_result =
        || previous_gate(state).is_none_or(|known| now.is_some_and(|now| now.exits == known.exits));
    recorded.novelty != Some(Novelty::New) || (recorded.whitespace_only && same_result())
}

/// Green, and nothing measured against it: on to the reviewer, or done.
fn proceed(draft: &mut Draft, recorded: &TreeRecorded, checked: bool) {
    let reviews = draft.state.policy().review.tasks && !draft.state.run.asked.no_review;
    // The report is another, though the tree is the same.
    let rejected = draft.state.current_work().rejected.contains(&recorded.tree) && !draft.state.explores();
    if let Some(words) = unsettled(&draft.state).filter(|_| !reviews) {
        return set_aside(draft, Reason::Rejected, words, IterationResult::Unproven);
    }
    if recorded.novelty == Some(Novelty::Unchanged) && draft.state.repeats(draft.state.current_task()) {
        return fall_short(draft, IterationResult::NoProgress);
    }
    match (reviews, recorded.novelty) {
        (true, _) if rejected => fall_short(draft, IterationResult::NoProgress),
        (true, _) => review::begin(draft),
        (false, Some(Novelty::Unchanged)) if checked => {
            let words = Reason::NothingChanged.words().to_owned();
            set_aside(draft, Reason::NothingChanged, words, IterationResult::NoProgress);
        }
        (false, Some(Novelty::Unchanged | Novelty::Seen)) if !checked => {
            fall_short(draft, IterationResult::NoProgress)
        }
        (false, _) if !checked => {
            let words = Reason::Unproven.words().to_owned();
            set_aside(draft, Reason::Unproven, words, IterationResult::Unproven);
        }
        (false, _) => land(draft),
    }
}

/// No further attempt could help: the task is blocked at once.
pub(super) fn set_aside(draft: &mut Draft, reason: Reason, words: String, result: IterationResult) {
    run::block_task(draft, reason, words);
    run::close_iteration(draft, result);
    run::choose(draft);
}

/// A bug that a reviewer found stays open until a review says otherwise. One of the
/// operator's stays open until the landing is approved.
fn unsettled(state: &State) -> Option<String> {
    let task = state.current_task();
    let of_task = |finding: &&Finding| finding.task.as_ref() == task && finding.origin != Origin::Operator;
    let bug = state.open_bugs().find(of_task)?;
    Some(bug.needs_review())
}

pub(super) fn land(draft: &mut Draft) {
    let Some(recorded) = draft.state.recorded.clone() else { return };
    if recorded.tree != recorded.gate_tree {
        return fall_short(draft, IterationResult::Failed);
    }
    draft.enter(Phase::Land);
    let head = &draft.state.head;
    let commit = if recorded.tree == head.tree { &head.commit } else { &recorded.commit };
    let commit = commit.clone();
    approval::land(draft, commit, recorded.tree.clone());
}

/// Closes the iteration, and the task with it when a limit of its own trips.
pub(super) fn fall_short(draft: &mut Draft, result: IterationResult) {
    let task = draft.state.current_task().cloned();
    run::close_iteration(draft, result);
    let spent = task.as_ref().and_then(|id| draft.state.task(id)).and_then(|task| spent(&draft.state, task));
    if let (Some(task), Some((reason, words))) = (task, spent) {
        draft.emit(TaskEvent::Blocked { task, reason, words });
    }
    run::choose(draft);
}

fn spent(state: &State, task: &crate::state::TaskState) -> Option<(Reason, String)> {
    let LimitReached { reason, words, .. } = limit::reached(state, LimitCheck::TaskUnsettled, Some(task))?;
    let failing = task.work.gate.as_ref().and_then(|gate| gate.failing.first());
    let red =
        failing.map(|failing| format!("; {}: {}", failing.check, failing.reason.words())).unwrap_or_default();
    let bug = state.open_bugs().find(|finding| finding.task.as_ref() == Some(&task.task.id));
    let named = |bug: &Finding| match bug.file.as_str() {
        "" => format!("; {}", bug.description),
        file => format!("; {file}: {}", bug.description),
    };
    let bug = bug.map(named).unwrap_or_default();
    Some((reason, words + &red + &bug))
}

/// What the gate said before this iteration, for "the result did not change".
fn previous_gate(state: &State) -> Option<Arc<GateSummary>> {
    let work = state.current_work();
    if work.previous_gate.is_some() {
        return work.previous_gate.clone();
    }
    let base = work.base.as_ref().map(|base| base.tree.clone())?;
    let task = state.current_task();
    let checks = state.checks_for(task);
    let on_base = base == state.creation.base_tree;
    let key = GateKey { trials: Trials::only(base), checks: checks.clone() };
    if let Some(known) = state.gates.get(&key) {
        return Some(known.clone());
    }
    let mut baseline = state.baseline.clone().filter(|_| on_base)?;
    Arc::make_mut(&mut baseline).exits.retain(|(check, _)| checks.contains(check));
    Some(baseline)
}

fn measured(finding: &Finding) -> bool {
    match finding.origin {
        Origin::Evidence(_) => true,
        Origin::Reviewer | Origin::Operator => false,
    }
}
