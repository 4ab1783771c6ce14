//! Results of checks that windlass ran itself.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::broken_tests::BrokenTests;
use crate::control::CheckControl;
use crate::finding::{Evidence, Rule};
use crate::id::{BlobId, TaskId, TreeId};
use crate::policy::{CheckPolicy, GatePolicy};
use crate::red::RedReason;
use crate::regression::{RegressionReport, RegressionTrial};
use crate::tally::{Names, Tally};
use crate::time::Millis;
use crate::writes::ObservedWrites;

/// What a run of the gate is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// On the base, before the first iteration: recorded, never judged.
    Baseline,
    Task,
    Final,
}

impl Purpose {
    pub fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Task => "task",
            Self::Final => "final",
        }
    }
}

/// Which tree a run of the gate judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Trial {
    /// What will land.
    #[default]
    Landing,
    /// The same product on trusted terms: those of the base, and those that were accepted since.
    TrustedTerms,
    /// What a fix began with, with the tests that it adds: the fix is what it lacks.
    AddedTests,
    /// What a fix began with.
    Base,
}

impl Trial {
    /// As it follows the name of a check, with a blank; nothing for what will land.
    pub fn after_check(self) -> &'static str {
        match self {
            Self::Landing => "",
            Self::TrustedTerms => " on trusted terms",
            Self::AddedTests => " without the fix, with its tests",
            Self::Base => " without the fix and its tests",
        }
    }

    fn is_landing(&self) -> bool {
        *self == Self::Landing
    }
}

/// What a run of the gate found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GateReport {
    /// On the tree that will land.
    pub landing: Vec<CheckResult>,
    /// On trusted terms; nothing where that is the same tree, or the first was red.
    pub trusted: Vec<CheckResult>,
    /// Without the fix; nothing where none was asked for, or what will land is red.
    pub regression: RegressionReport,
}

impl GateReport {
    /// Whether each command of the landing trial succeeded: what makes the other trial worth a run.
    pub fn landing_exited_well(&self) -> bool {
        self.landing.iter().all(CheckResult::exited_well)
    }

    /// Every result of every trial.
    pub fn each_result_mut(&mut self, visit: impl FnMut(&mut CheckResult)) {
        let Self { landing, trusted, regression: RegressionReport { with_tests, base } } = self;
        landing.iter_mut().chain(trusted).chain(with_tests).chain(base).for_each(visit);
    }

    /// Whether each check of the landing trial succeeded at its last run: what makes it worth a look whether the
    /// work has a regression test.
    pub fn landing_ended_well(&self) -> bool {
        let mut checks = self.landing.iter().map(|result| &result.check);
        let last = |check: &String| self.landing.iter().rev().find(|result| result.check == *check);
        checks.all(|check| last(check).is_some_and(CheckResult::exited_well))
    }
}

impl From<Vec<CheckResult>> for GateReport {
    fn from(landing: Vec<CheckResult>) -> Self {
        Self { landing, ..Self::default() }
    }
}

/// How one run of a check went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckResult {
    pub check: String,
    /// None when it did not exit by itself.
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
    pub timed_out: bool,
    pub duration_ms: Millis,
    pub output: BlobId,
    /// The last useful lines, bounded.
    pub excerpt: String,
    /// What it printed on the tree without hidden files. Set where agents may not see its own output and it
    /// was red: the excerpt is of this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without_hidden: Option<BlobId>,
    #[serde(default, skip_serializing_if = "TellNumbers::is_all")]
    pub tell_numbers: TellNumbers,
    /// Processes it left behind, ended by windlass.
    pub strays: u32,
    /// The second run of a check that was red.
    #[serde(default)]
    pub again: bool,
    /// Set where the policy names the check's junit files.
    #[serde(default)]
    pub tally: Option<Tally>,
    /// Set where it was watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writes: Option<ObservedWrites>,
    /// Set where the policy gives the check a control and the check is green.
    #[serde(default)]
    pub control: Option<Control>,
    /// Set where windlass broke its tests, which it does where the check is green.
    #[serde(default)]
    pub broken_tests: Option<BrokenTests>,
    /// Set on the base with the tests of a fix, where tests are counted or what the check prints can be read: those
    /// that failed there, are not among the base's, and pass in what will land.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caught: Option<Names>,
}

/// Who is told the exit code of a run, its signal, how long it took, and how many tests it counted. Judged code
/// chooses them, by what it reads in hidden files where there are any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TellNumbers {
    #[default]
    All,
    /// Agents are told red or green.
    Operator,
    /// They were taken out: 0 and 1 stand for green and red.
    Nobody,
}

impl TellNumbers {
    fn is_all(&self) -> bool {
        *self == Self::All
    }
}

/// One check, run once on this tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckRun {
    pub purpose: Purpose,
    #[serde(default, skip_serializing_if = "Trial::is_landing")]
    pub trial: Trial,
    pub tree: TreeId,
    pub result: CheckResult,
}

/// A command that must fail where its check passes, run once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Control {
    /// None when it did not exit by itself.
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
    pub timed_out: bool,
    pub duration_ms: Millis,
    pub output: BlobId,
    pub excerpt: String,
}

/// What a run of a check begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckStart {
    /// The tree, and the cache.
    Clean,
    /// What the command before it left.
    FromPrevious,
}

/// The next run of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextRun {
    pub start: CheckStart,
    /// The second run of a check that was red.
    pub again: bool,
}

impl CheckPolicy {
    /// How often it has to be green.
    pub fn runs(&self) -> u32 {
        self.repeat.max(1)
    }

    /// The run that follows those of this check on one tree; none when they
    /// decide. The first red one does, unless the policy allows a second run:
    /// that needs a tree of its own, and the baseline is not judged.
    pub fn next_run(&self, done: &[CheckResult], purpose: Purpose, start: CheckStart) -> Option<NextRun> {
        let Some(last) = done.last() else { return Some(NextRun { start, again: false }) };
        let red = last.red_without_control(self).is_some();
        let (start, retried) = (CheckStart::Clean, start == CheckStart::Clean && self.retry > 0);
        match (last.again, red) {
            (true, _) => None,
            (false, true) => {
                let due = retried && purpose != Purpose::Baseline;
                due.then_some(NextRun { start, again: true })
            }
            (false, false) => {
                let due = (done.len() as u64) < u64::from(self.runs());
                due.then_some(NextRun { start, again: false })
            }
        }
    }
}

impl CheckResult {
    /// Whether the command itself succeeded.
    pub fn exited_well(&self) -> bool {
        self.exit_code == Some(0) && !self.timed_out
    }

    /// Whether there was a run at all.
    pub fn has_run(&self) -> bool {
        self.exit_code.is_some() || self.signal.is_some() || self.timed_out
    }

    /// Whether its tests were to be counted and could not be.
    pub fn is_uncounted(&self) -> bool {
        matches!(self.tally, Some(Tally::Unreadable { .. }))
    }

    /// Why the check, without its control, is red. Fails closed: what the
    /// policy wants counted and was not is red.
    pub fn red_without_control(&self, asked: &CheckPolicy) -> Option<RedReason> {
        if !self.exited_well() {
            let how = if self.tell_numbers.is_all() { self.ending() } else { "red".to_owned() };
            return Some(RedReason::CommandFailed { how });
        }
        let by_tests = match &self.tally {
            _ if asked.junit.is_empty() => None,
            Some(tally) if !self.tell_numbers.is_all() => tally.red_reason_without_numbers(),
            Some(tally) => tally.red_reason(),
            None => Some(RedReason::TestsFailed { how: "its tests were not counted".to_owned() }),
        };
        by_tests.or_else(|| self.writes.as_ref().and_then(ObservedWrites::red_reason))
    }

    fn red_reason(&self, asked: &CheckPolicy, by: &Judgement<'_>) -> Option<RedReason> {
        let by_control = || match asked.control() {
            CheckControl::Off => None,
            CheckControl::Command(_) => match &self.control {
                Some(control) if !self.tell_numbers.is_all() => control.told().red_reason(),
                Some(control) => control.red_reason(),
                None => Some(RedReason::ControlNotRun),
            },
            CheckControl::Tests if !by.gate.breaks_tests(asked, by.purpose) => None,
            CheckControl::Tests => match &self.broken_tests {
                Some(broken) => broken.red_reason(),
                None => Some(RedReason::ControlNotRun),
            },
        };
        self.red_without_control(asked).or_else(by_control)
    }

    /// As agents may know it.
    pub fn told(&self) -> Self {
        if self.tell_numbers.is_all() {
            return self.clone();
        }
        let tally = self.tally.as_ref().map(Tally::without_numbers);
        let control = self.control.as_ref().map(Control::told);
        let broken_tests = self.broken_tests.clone();
        Self {
            exit_code: self.has_run().then(|| i32::from(!self.exited_well())),
            signal: None,
            timed_out: false,
            duration_ms: Millis(0),
            strays: 0,
            tell_numbers: TellNumbers::Nobody,
            tally,
            control,
            broken_tests: broken_tests.map(|broken| BrokenTests {
                runs: 0,
                duration_ms: Millis(0),
                ..broken
            }),
            ..self.clone()
        }
    }

    pub fn ending(&self) -> String {
        match (self.timed_out, self.exit_code, self.signal) {
            (true, _, _) => format!("timed out after {}", self.duration_ms),
            (false, Some(code), _) => format!("exit code {code}"),
            (false, None, Some(signal)) => format!("ended by signal {signal}"),
            (false, None, None) => "did not start".to_owned(),
        }
    }
}

impl Control {
    /// Only a plain exit of its own other than 0 shows that the check can
    /// fail. A shell says 126 and 127 for what it could not start, and 128 and
    /// a signal for what was killed.
    pub fn is_sensitive(&self) -> bool {
        self.exit_code.is_some_and(|code| code != 0 && !matches!(code, 126 | 127 | 129..=192))
            && !self.timed_out
    }

    /// As agents may know it: that it failed as it must, passed, or proves nothing.
    fn told(&self) -> Self {
        let exit_code = match self.exit_code {
            _ if self.is_sensitive() => Some(1),
            Some(0) if !self.timed_out => Some(0),
            Some(_) | None => None,
        };
        Self { exit_code, signal: None, timed_out: false, duration_ms: Millis(0), ..self.clone() }
    }

    fn red_reason(&self) -> Option<RedReason> {
        let how = match (self.timed_out, self.exit_code, self.signal) {
            _ if self.is_sensitive() => return None,
            (true, _, _) => format!("its control proves nothing: timed out after {}", self.duration_ms),
            (false, Some(0), _) => {
                "its control, which must fail, passed: the check proves nothing".to_owned()
            }
            (false, Some(code), _) => format!("its control proves nothing: exit code {code}"),
            (false, None, Some(signal)) => format!("its control proves nothing: ended by signal {signal}"),
            (false, None, None) => "its control did not run to an end of its own".to_owned(),
        };
        Some(RedReason::NotSensitive { how })
    }
}

/// What is kept of a gate run in the state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateSummary {
    pub passed: bool,
    /// Checks that were red and then green on the same tree.
    pub flaky: Vec<String>,
    /// Each check's name and exit code: what "the result did not change" means.
    pub exits: Vec<(String, Option<i32>)>,
    pub failing: Vec<FailingCheck>,
    /// The checks are green on what will land, and red on trusted terms.
    pub needs_terms: bool,
}

impl GateSummary {
    /// The checks that exited well, and were not red for another reason.
    pub fn green(&self) -> impl Iterator<Item = String> {
        let exited_well = self.exits.iter().filter(|(_, code)| *code == Some(0));
        let is_red = |name: &str| self.failing.iter().any(|failing| failing.check == name);
        exited_well.map(|(name, _)| name.clone()).filter(move |name| !is_red(name))
    }
}

/// A run of the gate, or a result that was used again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastGate {
    pub purpose: Purpose,
    /// None for the whole.
    pub task: Option<TaskId>,
    pub summary: Arc<GateSummary>,
}

/// What the next brief says of a red check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailingCheck {
    pub check: String,
    pub reason: RedReason,
    pub excerpt: String,
}

impl FailingCheck {
    /// Whether the check has not shown that it can fail.
    pub fn is_about_control(&self) -> bool {
        self.reason == RedReason::ControlNotRun || self.reason.rule() == Some(Rule::GateNotSensitive)
    }

    pub fn evidence(&self) -> Option<Evidence> {
        let seen = Evidence::new(self.reason.rule()?, self.check.clone());
        Some(Evidence { detail: self.reason.detail(), diff: self.excerpt.clone(), ..seen })
    }
}

/// By which gate, and for what, results are judged.
#[derive(Clone, Copy, Debug)]
pub struct Judgement<'g> {
    pub gate: &'g GatePolicy,
    pub purpose: Purpose,
    pub checks: &'g [String],
}

impl GateSummary {
    /// Fails closed: a check that was asked for and not reported is red, unless
    /// it was left out after a red one.
    pub fn of(by: &Judgement<'_>, results: &[CheckResult]) -> Self {
        let Judgement { gate, checks, .. } = *by;
        let mut failing: Vec<FailingCheck> = counted(gate, results)
            .filter_map(|result| {
                let reason = match gate.check(&result.check) {
                    Some(asked) => reason_among(results, result, asked, by)?,
                    None => RedReason::NotInGate,
                };
                let excerpt = excerpt(result, &reason);
                Some(FailingCheck { check: result.check.clone(), reason, excerpt })
            })
            .collect();
        // Nobody asks whether a gate that is red can fail.
        if failing.iter().any(|failing| failing.reason != RedReason::ControlNotRun) {
            failing.retain(|failing| failing.reason != RedReason::ControlNotRun);
        }
        if failing.is_empty() {
            let missing = checks.iter().filter_map(|check| {
                let runs = results.iter().filter(|result| result.check == *check).count() as u32;
                let of = gate.check(check).map_or(1, CheckPolicy::runs);
                let reason = RedReason::NotRun { runs, of };
                (runs < of).then(|| FailingCheck { check: check.clone(), reason, excerpt: String::new() })
            });
            failing.extend(missing);
        }
        let red = |check: &String| failing.iter().any(|failing| failing.check == *check);
        let flaky = results.iter().filter(|result| result.again).map(|result| result.check.clone());
        Self {
            passed: failing.is_empty() && !results.is_empty(),
            flaky: flaky.filter(|check| !red(check)).collect(),
            exits: counted(gate, results).map(|result| (result.check.clone(), result.exit_code)).collect(),
            failing,
            needs_terms: false,
        }
    }

    /// Of all trials: what will land must be green, its product on trusted terms as well, and a fix has a
    /// regression test.
    pub fn of_report(by: &Judgement<'_>, asked: &Trials, report: &GateReport) -> Self {
        let judged = Self::of_trials(by, asked, report);
        let regression = asked.regression.as_ref();
        match regression.and_then(|asked| asked.red(by.gate, report)) {
            None => judged,
            // No reviewer is asked to do without it.
            Some(red) => {
                let failing = judged.failing.iter().cloned().chain([red]).collect();
                Self { passed: false, needs_terms: false, failing, ..judged }
            }
        }
    }

    /// Of both trials of the work: what will land must be green, and its product on trusted terms as well.
    fn of_trials(by: &Judgement<'_>, asked: &Trials, report: &GateReport) -> Self {
        let landing = Self::of(by, &report.landing);
        if asked.trusted.is_none() || !report.landing_exited_well() {
            return landing;
        }
        let trusted = Self::of(by, &report.trusted);
        match (landing.passed, trusted.passed) {
            (_, true) => landing,
            (true, false) => {
                // A gate that cannot fail needs no terms: it is a lie that no reviewer is asked about.
                let needs_terms = trusted.failing.iter().all(|failing| !failing.is_about_control());
                Self { passed: false, needs_terms, failing: trusted.failing, ..landing }
            }
            // What the operator may waive of the first, he has waived of the second: the rest is red.
            (false, false) => {
                let plain = trusted.failing.into_iter().filter(|failing| failing.reason.rule().is_none());
                let failing = landing.failing.iter().cloned().chain(plain).collect();
                Self { failing, ..landing }
            }
        }
    }

    /// What of it is a finding.
    pub fn evidence(&self) -> Vec<Evidence> {
        let red = self.failing.iter().filter_map(FailingCheck::evidence);
        let flaky = self.flaky.iter().map(|check| Evidence::new(Rule::FlakyCheck, check.clone()));
        red.chain(flaky).collect()
    }
}

/// Why one run of a check is red. Of a check that is repeated only the last run
/// has a control, and red after green is a check that cannot be relied on.
fn reason_among(
    results: &[CheckResult],
    result: &CheckResult,
    asked: &CheckPolicy,
    by: &Judgement<'_>,
) -> Option<RedReason> {
    if asked.runs() < 2 {
        return result.red_reason(asked, by);
    }
    let runs: Vec<&CheckResult> = results.iter().filter(|other| other.check == result.check).collect();
    let at = runs.iter().position(|run| std::ptr::eq(*run, result))?;
    let is_last = at + 1 == runs.len();
    let reason = if is_last { result.red_reason(asked, by) } else { result.red_without_control(asked) }?;
    if !runs[..at].iter().any(|run| run.red_without_control(asked).is_none()) || reason.rule().is_some() {
        return Some(reason);
    }
    Some(RedReason::Flaky { red: Box::new(reason), run: at as u32 + 1, of: asked.runs() })
}

/// A second run speaks for its check only where the policy allows one.
fn counted<'r>(gate: &'r GatePolicy, results: &'r [CheckResult]) -> impl Iterator<Item = &'r CheckResult> {
    results.iter().filter(|result| {
        let retried = gate.check(&result.check).is_some_and(|asked| asked.retry > 0);
        let replaced = results.iter().any(|other| other.again && other.check == result.check);
        result.again || !(retried && replaced)
    })
}

/// Of a check that is not sensitive, what its control said.
fn excerpt(result: &CheckResult, reason: &RedReason) -> String {
    let by_control = reason.rule() == Some(Rule::GateNotSensitive);
    match (&result.control, &result.broken_tests) {
        (Some(control), _) if by_control => control.excerpt.clone(),
        (None, Some(broken)) if by_control => broken.excerpt.clone(),
        (_, _) => result.excerpt.clone(),
    }
}

/// The trees that a run of the gate judges.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Trials {
    /// What will land.
    pub landing: TreeId,
    /// Its product on trusted terms; none where that is the same tree.
    pub trusted: Option<TreeId>,
    /// Of a fix: what it began with, and that with its tests.
    pub regression: Option<RegressionTrial>,
}

impl Trials {
    /// One tree and no other.
    pub fn only(landing: TreeId) -> Self {
        Self { landing, trusted: None, regression: None }
    }
}

/// A result may be used again for an equal key only: the same bytes under the
/// same checks. Results of another gate are forgotten when the policy changes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GateKey {
    pub trials: Trials,
    pub checks: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(exit: i32, again: bool) -> CheckResult {
        CheckResult {
            check: "test".to_owned(),
            exit_code: Some(exit),
            signal: None,
            timed_out: false,
            duration_ms: Millis(1),
            output: BlobId::new("output"),
            excerpt: String::new(),
            without_hidden: None,
            tell_numbers: TellNumbers::All,
            strays: 0,
            again,
            tally: None,
            writes: None,
            control: None,
            broken_tests: None,
            caught: None,
        }
    }

    /// Each run in a letter: `g`reen, `r`ed, `a` for red again.
    fn next(check: &CheckPolicy, done: &str, purpose: Purpose, start: CheckStart) -> Option<NextRun> {
        let done: Vec<_> = done.chars().map(|run| result(i32::from(run != 'g'), run == 'a')).collect();
        check.next_run(&done, purpose, start)
    }

    const ONCE_MORE: Option<NextRun> = Some(NextRun { start: CheckStart::Clean, again: false });
    const RETRY: Option<NextRun> = Some(NextRun { start: CheckStart::Clean, again: true });

    #[test]
    fn a_check_is_repeated_until_it_is_red() {
        let check = CheckPolicy { repeat: 3, ..CheckPolicy::default() };
        let next = |done| next(&check, done, Purpose::Task, CheckStart::FromPrevious);
        assert_eq!(next(""), Some(NextRun { start: CheckStart::FromPrevious, again: false }));
        assert_eq!((next("g"), next("gg"), next("ggg")), (ONCE_MORE, ONCE_MORE, None));
        assert_eq!((next("r"), next("gr")), (None, None));
    }

    #[test]
    fn a_red_check_is_run_again_where_that_is_allowed() {
        let check = CheckPolicy { retry: 1, ..CheckPolicy::default() };
        assert_eq!(next(&check, "g", Purpose::Task, CheckStart::Clean), None);
        assert_eq!(next(&check, "r", Purpose::Task, CheckStart::Clean), RETRY);
        assert_eq!(next(&check, "r", Purpose::Final, CheckStart::Clean), RETRY);
        assert_eq!(next(&check, "ra", Purpose::Task, CheckStart::Clean), None);
        assert_eq!(next(&check, "r", Purpose::Baseline, CheckStart::Clean), None, "it is not judged");
        assert_eq!(
            next(&check, "r", Purpose::Task, CheckStart::FromPrevious),
            None,
            "it has no tree of its own"
        );
        let never = CheckPolicy { retry: 0, ..CheckPolicy::default() };
        assert_eq!(next(&never, "r", Purpose::Task, CheckStart::Clean), None);
    }
}
