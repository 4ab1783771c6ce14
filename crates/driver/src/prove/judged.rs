//! Whether a run of the gate holds: by its results on record, judged anew by the
//! policy that was in force then, and not by what was made of them. What is red by findings that the operator
//! waived is said by name.

use std::collections::BTreeSet;

use windlass_core::broken_tests::BrokenTests;
use windlass_core::finding::{Finding, Origin, Rule};
use windlass_core::gate::{
    CheckResult, Control, FailingCheck, GateReport, GateSummary, Judgement, Purpose, Trial, Trials,
};
use windlass_core::history::{CheckRecord, GateRecord, LandingRecord, ReviewRecord};
use windlass_core::id::{TaskId, TreeId};
use windlass_core::regression::RegressionReport;
use windlass_core::tally::Tally;
use windlass_core::task::Task;
use windlass_core::verdict::Verdict;

use super::history::RecordedLoop;
use super::steps::counted;
use super::{Check, RegressionProof, Try, rules};

/// Which run is asked for.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    tree: &'a TreeId,
    /// As the plan had it when it landed; none for the whole.
    task: Option<&'a Task>,
    /// The event by which it was judged.
    by: u64,
}

impl<'a> Wanted<'a> {
    /// Of the whole, on the tree that landed last.
    pub fn whole(history: &RecordedLoop, tree: &'a TreeId) -> Self {
        Self { tree, task: None, by: history.end() }
    }

    /// Of what landed here, with the tree that the vault has for it.
    pub fn landed(landing: &'a LandingRecord, tree: &'a TreeId) -> Self {
        Self { tree, task: landing.task.as_ref(), by: landing.event }
    }
}

/// A run that holds.
pub(super) struct Judged<'h> {
    run: &'h GateRecord,
    /// The event by which the gate had become another, if it had.
    replaced: Option<u64>,
    /// The checks that are red, each with the waived finding it is red by.
    pub waived: Vec<(String, &'h Finding)>,
    /// Where it needs terms of its own: who accepted them.
    terms: Option<String>,
}

pub(super) fn judge<'h>(history: &'h RecordedLoop, wanted: Wanted<'_>) -> Result<Judged<'h>, String> {
    let Wanted { tree, task, by } = wanted;
    let run = find(history, wanted).ok_or_else(|| {
        let checks = history.policy_at(by).gate.checks_for(task);
        format!("no gate is on record for tree {tree} with {}", checks.join(", "))
    })?;
    let summary = summary(run, history, task);
    if (summary.passed, summary.needs_terms, &summary.flaky) != (run.passed, run.needs_terms, &run.flaky) {
        return Err(format!(
            "the gate of event {} is on record as {}, but its results are {}",
            run.event,
            colour(run.passed, &run.flaky),
            colour(summary.passed, &summary.flaky)
        ));
    }
    let task = task.map(|task| &task.id);
    let replaced = rules::gate_replaced(&history.past, run.event, by);
    if summary.needs_terms {
        let accepted_by = accepted_terms(history, tree, task).ok_or_else(|| {
            format!("tree {tree} is green only with changed terms, and nobody accepted those")
        })?;
        return Ok(Judged { run, replaced, waived: Vec::new(), terms: Some(accepted_by) });
    }
    let excused = |failing: &FailingCheck| {
        history
            .state
            .waiver(failing, task)
            .map(|finding| (failing.check.clone(), finding))
            .ok_or_else(|| format!("check {} on tree {tree}: {}", failing.check, failing.reason.words()))
    };
    let waived = summary.failing.iter().map(excused).collect::<Result<Vec<_>, String>>()?;
    Ok(Judged { run, replaced, waived, terms: None })
}

/// Who decided that the work may have the terms that it needs.
fn accepted_terms(history: &RecordedLoop, tree: &TreeId, task: Option<&TaskId>) -> Option<String> {
    let accepts = |of: &&ReviewRecord| {
        of.review.tree == *tree && of.review.verdict == Verdict::Accept && of.review.accepts_terms
    };
    let review = history.past.reviews.iter().rev().find(accepts);
    let by_review =
        review.map(|of| format!("needs changed terms, accepted by attempt {}", of.review.attempt));
    let is_waiver = |finding: &&Finding| {
        finding.origin == Origin::Evidence(Rule::TermsChanged)
            && (finding.task.as_ref() == task || task.is_none())
    };
    let waiver = || history.waived().find(is_waiver);
    by_review.or_else(|| waiver().map(|finding| format!("needs changed terms, waived by {}", finding.id)))
}

fn colour(passed: bool, flaky: &[String]) -> String {
    match (passed, flaky) {
        (false, _) => "red".to_owned(),
        (true, []) => "green".to_owned(),
        (true, flaky) => format!("green at the second try ({})", flaky.join(", ")),
    }
}

/// The last run for this purpose; one for the other, where its result was used again. A task that changed nothing is
/// judged by what the baseline showed of that very tree, the whole never.
pub(super) fn find<'h>(history: &'h RecordedLoop, wanted: Wanted<'_>) -> Option<&'h GateRecord> {
    let fits = |run: &&GateRecord| {
        let due = history.policy_at(run.event).gate.checks_for(wanted.task);
        run.tree == *wanted.tree && run.checks.iter().collect::<BTreeSet<_>>() == due.iter().collect()
    };
    let purpose = if wanted.task.is_some() { Purpose::Task } else { Purpose::Final };
    let runs = || history.past.gates.iter().rev().filter(fits);
    let of_work = || runs().filter(|run| run.purpose != Purpose::Baseline);
    let of_base = || runs().find(|run| run.purpose == Purpose::Baseline && run.event <= wanted.by);
    let for_task = || wanted.task.and_then(|_| of_base());
    of_work()
        .find(|run| run.purpose == purpose && run.event <= wanted.by)
        .or_else(|| of_work().next())
        .or_else(for_task)
}

fn summary(run: &GateRecord, history: &RecordedLoop, task: Option<&Task>) -> GateSummary {
    let of = |trial| run.results.iter().filter(move |done| done.trial == trial).map(|of| of.result.clone());
    let report = GateReport {
        landing: of(Trial::Landing).collect(),
        trusted: of(Trial::TrustedTerms).collect(),
        regression: without_fix(run),
    };
    let trials = Trials {
        landing: run.tree.clone(),
        trusted: run.trusted.clone(),
        regression: run.regression.clone(),
    };
    let policy = history.policy_at(run.event).judging(task);
    let by = Judgement { gate: &policy.gate, purpose: run.purpose, checks: &run.checks };
    GateSummary::of_report(&by, &trials, &report)
}

fn without_fix(run: &GateRecord) -> RegressionReport {
    let of = |trial| run.results.iter().filter(move |done| done.trial == trial).map(|of| of.result.clone());
    RegressionReport { with_tests: of(Trial::AddedTests).collect(), base: of(Trial::Base).collect() }
}

/// What was red without the fix and is green with it.
pub(super) fn regression(history: &RecordedLoop, run: &GateRecord) -> Option<RegressionProof> {
    let asked = run.regression.as_ref()?;
    let gate = &history.policy_at(run.event).gate;
    let shown = asked.shown(gate, &without_fix(run))?;
    let of = |trial: Trial| {
        let mut runs = run.results.iter().rev().filter(move |done| done.trial == trial);
        runs.find(|done| done.result.check == shown.check).map(a_try)
    };
    let (red, base) = (of(Trial::AddedTests)?, of(Trial::Base)?);
    let (tree, check, tests) = (asked.with_tests.clone(), shown.check.clone(), shown.tests.clone());
    Some(RegressionProof { check, tests, tree, without_fix: red, without_tests: base })
}

/// What a proof says of each check: its last result, and all that was judged of it.
pub(super) fn proofs(history: &RecordedLoop, run: &GateRecord, task: Option<&Task>) -> Vec<Check> {
    let summary = summary(run, history, task);
    let task = task.map(|task| &task.id);
    let of = |name: &String| {
        let of = |trial: Trial| {
            run.results.iter().rev().filter(move |done| done.result.check == *name && done.trial == trial)
        };
        let mut runs = of(Trial::Landing);
        let last = runs.next()?;
        let first = runs.next().filter(|_| last.result.again);
        // Red on trusted terms alone is told by that trial.
        let failing = summary.failing.iter().find(|failing| failing.check == *name && !summary.needs_terms);
        let waived = failing.and_then(|failing| history.state.waiver(failing, task));
        Some(Check {
            check: name.clone(),
            tree: run.tree.clone(),
            event: last.event,
            exit_code: last.result.exit_code,
            timed_out: last.result.timed_out,
            duration_ms: last.result.duration_ms,
            output: last.result.output.clone(),
            first_try: first.map(a_try),
            on_trusted_terms: of(Trial::TrustedTerms).next().map(a_try),
            tally: last.result.tally.clone(),
            control: last.result.control.clone(),
            broken_tests: last.result.broken_tests.clone(),
            broken_on_trusted_terms: of(Trial::TrustedTerms)
                .next()
                .and_then(|run| run.result.broken_tests.clone()),
            watched: last.result.writes.is_some(),
            red: failing.map_or_else(String::new, |failing| failing.reason.words()),
            waived: waived.map(|finding| finding.id.clone()),
        })
    };
    run.checks.iter().filter_map(of).collect()
}

fn a_try(of: &CheckRecord) -> Try {
    Try {
        event: of.event,
        exit_code: of.result.exit_code,
        timed_out: of.result.timed_out,
        output: of.result.output.clone(),
    }
}

impl Judged<'_> {
    /// Whether its tests were seen to turn red.
    fn broken_tests(&self) -> String {
        let broken = |trial| {
            let results = self.run.results.iter().filter(move |done| done.trial == trial);
            results.filter_map(|done| done.result.broken_tests.as_ref())
        };
        let red = |trial| broken(trial).map(|tests| tests.statement.red).sum::<u32>();
        let shown = |trial| broken(trial).any(BrokenTests::shows_failure);
        match (shown(Trial::Landing), self.run.trusted.is_some(), shown(Trial::TrustedTerms)) {
            (true, true, true) => format!(
                "{} broken tests turned red, {} on trusted terms",
                red(Trial::Landing),
                red(Trial::TrustedTerms)
            ),
            (true, _, _) => format!("{} broken tests turned red", red(Trial::Landing)),
            (false, _, _) => "no test was broken to see it fail".to_owned(),
        }
    }

    pub fn green(&self) -> usize {
        self.run.checks.len() - self.waived.len()
    }

    /// What else was judged than exit codes, for the line of a step.
    pub fn words(&self) -> Vec<String> {
        let landing = || self.run.results.iter().filter(|done| done.trial == Trial::Landing);
        let results = || landing().map(|done| &done.result);
        let tests: u32 = results().filter(|result| !replaced(self.run, result)).map(tests).sum();
        let sensitive = |result: &&CheckResult| result.control.as_ref().is_some_and(Control::is_sensitive);
        let controls = results().filter(sensitive).count();
        let mut words: Vec<String> = Vec::new();
        match (&self.terms, &self.run.trusted) {
            (Some(accepted), _) => words.push(accepted.clone()),
            (None, Some(_)) => words.push("and without what it changed of its terms".to_owned()),
            (None, None) => {}
        }
        if tests > 0 {
            words.push(format!("{} counted", counted(tests, "test")));
        }
        match controls {
            0 => {}
            1 => words.push("1 control failed as it must".to_owned()),
            count => words.push(format!("{count} controls failed as they must")),
        }
        words.push(self.broken_tests());
        words.extend(self.run.flaky.iter().map(|check| format!("{check} at the second try")));
        words.extend(self.replaced.map(|event| format!("by the gate before event {event}")));
        words.extend(
            self.waived.iter().map(|(check, finding)| format!("{check} red by {}, waived", finding.id)),
        );
        words
    }
}

fn replaced(run: &GateRecord, result: &CheckResult) -> bool {
    !result.again && run.results.iter().any(|done| done.result.again && done.result.check == result.check)
}

fn tests(result: &CheckResult) -> u32 {
    match &result.tally {
        Some(Tally::Counted(counts)) => counts.tests,
        Some(Tally::Unreadable { .. }) | None => 0,
    }
}
