//! The regression test of a fix, as windlass itself saw it: red without the fix because of a test that the
//! work adds, and green with it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::gate::{CheckResult, FailingCheck, GateReport};
use crate::id::TreeId;
use crate::policy::{CheckPolicy, GatePolicy, Policy};
use crate::red::RedReason;
use crate::tally::{Names, Tally};
use crate::task::{Task, TaskMode};

/// What a red gate calls it, as it does a check.
const NAME: &str = "regression test";

/// What a run of the gate looks at to see it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct RegressionTrial {
    /// What the task began with.
    pub base: TreeId,
    /// The same with the tests that the work adds; the same tree where it adds none.
    pub with_tests: TreeId,
    /// The checks that could show it.
    pub checks: Vec<String>,
}

/// What the checks said of these trees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegressionReport {
    pub with_tests: Vec<CheckResult>,
    /// Nothing where the checks are green with the added tests.
    pub base: Vec<CheckResult>,
}

/// The check that showed it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RegressionShown {
    pub check: String,
    /// The tests by name, where these are known.
    pub tests: Names,
}

impl Policy {
    /// A loop of before windlass knew this mode may have one of the operator's of the same name.
    pub fn asks_for_regression_test(&self, task: &Task) -> bool {
        task.mode == TaskMode::Fix && !self.modes.contains_key(task.mode.name())
    }

    /// The checks of the task that run on the base too: not those of its own criteria, nor that of a step.
    pub fn regression_checks(&self, task: &Task) -> Vec<String> {
        let mut checks = self.gate.checks_for(Some(task));
        checks.retain(|name| self.gate.checks.iter().any(|check| check.name == *name));
        checks
    }
}

impl RegressionTrial {
    pub fn adds_tests(&self) -> bool {
        self.base != self.with_tests
    }

    /// What showed it; none where nothing did.
    pub fn shown(&self, gate: &GatePolicy, report: &RegressionReport) -> Option<RegressionShown> {
        self.judged(gate, report).find_map(Result::ok)
    }

    /// Why a gate that is green otherwise is red. Fails closed: what was not run has shown nothing. Of work that
    /// is red itself nothing more is asked than that it adds a test.
    pub fn red(&self, gate: &GatePolicy, report: &GateReport) -> Option<FailingCheck> {
        let how = if !self.adds_tests() {
            "no test was added: add one that fails without the fix, in a file that gate.protect names"
                .to_owned()
        } else if !report.landing_ended_well() {
            return None;
        } else {
            let mut whys = Vec::new();
            for judged in self.judged(gate, &report.regression) {
                match judged {
                    Ok(_) => return None,
                    Err(why) if whys.contains(&why) => {}
                    Err(why) => whys.push(why),
                }
            }
            if whys.is_empty() {
                whys.push(NO_REGRESSION_CHECK.to_owned());
            }
            whys.join("; ")
        };
        let uncounted = report.regression.with_tests.iter().find(|result| result.is_uncounted());
        let excerpt = uncounted.map_or_else(String::new, |result| result.excerpt.clone());
        Some(FailingCheck { check: NAME.to_owned(), reason: RedReason::NoRegressionTest { how }, excerpt })
    }

    fn judged<'a>(
        &'a self,
        gate: &'a GatePolicy,
        report: &'a RegressionReport,
    ) -> impl Iterator<Item = Result<RegressionShown, String>> + 'a {
        self.checks.iter().map(|check| match gate.check(check) {
            Some(asked) => report.shown_by(asked),
            None => Err(format!("{check} is no check of this gate")),
        })
    }
}

impl RegressionReport {
    fn shown_by(&self, asked: &CheckPolicy) -> Result<RegressionShown, String> {
        let check = asked.name.clone();
        let of = |results: &'_ [CheckResult]| {
            results.iter().rev().find(|result| result.check == check && result.has_run()).cloned()
        };
        let not_run = |on: &str| format!("check {check} was not run on the base{on}");
        let with_tests = of(&self.with_tests).ok_or_else(|| not_run(" with the added tests"))?;
        if !asked.junit.is_empty() {
            let base = of(&self.base);
            let tests = caught_by_name(&check, &with_tests, base.as_ref())?;
            return Ok(RegressionShown { check, tests });
        }
        if with_tests.exited_well() {
            return Err(NONE_FAILS.to_owned());
        }
        if !of(&self.base).ok_or_else(|| not_run(""))?.exited_well() {
            return Err(base_is_red(&check));
        }
        match with_tests.caught {
            Some(caught) if caught.count == 0 => Err(not_loaded(&check)),
            caught => Ok(RegressionShown { check, tests: caught.unwrap_or_default() }),
        }
    }
}

/// Why a fix without a check cannot be shown.
pub const NO_REGRESSION_CHECK: &str = "no check runs the tests of this task, so nothing can show its regression test: add a [[gate.check]] that does";

const NONE_FAILS: &str = "no added test fails without the fix";

fn not_loaded(check: &str) -> String {
    format!(
        "check {check} is red with the added tests, but calls none of them failed without the fix: a test that \
         cannot be loaded there shows nothing, so let it use only what the base has"
    )
}

fn caught_by_name(
    check: &str,
    with_tests: &CheckResult,
    base: Option<&CheckResult>,
) -> Result<Names, String> {
    let counts = match &with_tests.tally {
        Some(Tally::Counted(counts)) => counts,
        Some(Tally::Unreadable { why }) => {
            return Err(format!(
                "the tests of check {check} could not be counted without the fix ({why}): the added test must \
                 run there, and fail"
            ));
        }
        None => return Err(format!("the tests of check {check} were not counted without the fix")),
    };
    match (&with_tests.caught, base.and_then(|base| base.tally.as_ref())) {
        _ if counts.failures.saturating_add(counts.errors) == 0 => Err(NONE_FAILS.to_owned()),
        (Some(caught), Some(Tally::Counted(_))) if caught.count > 0 => Ok(caught.clone()),
        (_, Some(Tally::Counted(_))) => Err(format!(
            "{NONE_FAILS}: of the tests of check {check} that fail there, none is new and passes with the fix"
        )),
        (_, Some(Tally::Unreadable { .. }) | None) => Err(format!(
            "the tests of check {check} could not be counted on the base, so nobody can tell which are new"
        )),
    }
}

/// Why such a check can show nothing.
pub fn base_is_red(check: &str) -> String {
    format!(
        "check {check} is red without the work too, and has no junit, so nobody can tell a new test that fails \
         from an old one: set `junit` of the check, or mend the base first, in a task that this one depends on"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{BlobId, TaskId};
    use crate::policy::OwnMode;

    #[test]
    fn a_mode_of_the_operators_of_that_name_stays_his() {
        let task = Task {
            mode: TaskMode::from("fix".to_owned()),
            ..Task::plain(TaskId::new("a"), "A".to_owned(), BlobId::new("text"))
        };
        let mut policy = Policy::default();
        assert!(policy.asks_for_regression_test(&task));
        policy.modes.insert("fix".to_owned(), OwnMode::default());
        assert!(!policy.asks_for_regression_test(&task));
    }
}
