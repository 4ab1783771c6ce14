//! The regression test of a fix: the checks without the fix, with the tests that it adds, and where these are red,
//! without them too.

use std::collections::BTreeMap;

use windlass_control::{Breakage, BrokenTest, RunEvidence, is_red};
use windlass_core::gate::{CheckResult, CheckStart, GateReport, Purpose, Trial};
use windlass_core::id::TreeId;
use windlass_core::outcome::Fault;
use windlass_core::policy::CheckPolicy;
use windlass_core::regression::{RegressionReport, RegressionTrial};
use windlass_core::tally::{Names, Tally};

use super::control::{Controlled, OUTPUT_LIMIT, Suite, TestBreaker, TestId, Tests, shown};
use super::runner::GateRunner;
use super::tally::caught;
use super::{GateTarget, JudgedTrial, chains, judged_tree, run_check};
use crate::perform::{EffectRequest, EffectResources, fault, lock};

/// A fix whose work is green.
#[derive(Clone, Copy)]
pub struct Fix<'a> {
    pub asked: &'a RegressionTrial,
    pub report: &'a GateReport,
}

/// None: it was cancelled.
pub(super) fn regression(
    resources: &EffectResources,
    request: &EffectRequest,
    judged: JudgedTrial<'_>,
    fix: Fix<'_>,
) -> Result<Option<RegressionReport>, Fault> {
    let Fix { asked, report } = fix;
    let run = |tree: &TreeId, trial| {
        let tree = judged_tree(resources, request, tree)?;
        let target = GateTarget { purpose: Purpose::Task, trial, tree: &tree, checks: &asked.checks };
        results(resources, request, target)
    };
    let Some(Ran { results: mut with_tests, failed }) = run(&asked.with_tests, Trial::AddedTests)? else {
        return Ok(None);
    };
    if with_tests.iter().all(is_green) {
        return Ok(Some(RegressionReport { with_tests, base: Vec::new() }));
    }
    let Some(Ran { results: base, .. }) = run(&asked.base, Trial::Base)? else { return Ok(None) };
    for result in &mut with_tests {
        let of =
            |results: &[CheckResult]| results.iter().rev().find(|other| other.check == result.check).cloned();
        let failed = failed.get(&result.check).map_or(&[][..], Vec::as_slice);
        let (Some(base), Some(landing)) = (of(&base), of(&report.landing)) else { continue };
        if result.tally.is_some() {
            result.caught = caught(resources, failed, &base, &landing)?;
        } else if !result.exited_well() && base.exited_well() {
            let uncounted = Uncounted { resources, request, judged, asked };
            match uncounted.named(result, &landing)? {
                Some(named) => result.caught = named,
                None => return Ok(None),
            }
        }
    }
    Ok(Some(RegressionReport { with_tests, base }))
}

/// A check that counts no tests, so that only what it prints tells which of them failed.
struct Uncounted<'a> {
    resources: &'a EffectResources,
    request: &'a EffectRequest,
    judged: JudgedTrial<'a>,
    asked: &'a RegressionTrial,
}

impl Uncounted<'_> {
    /// The added tests that it calls failed without the fix. One that cannot be loaded there makes the check red as well,
    /// and is not called so. Nothing inside: nobody can tell, since windlass does not know these tests, or what this
    /// check prints of tests. `None`: it was cancelled.
    fn named(
        &self,
        without_fix: &CheckResult,
        landing: &CheckResult,
    ) -> Result<Option<Option<Names>>, Fault> {
        let resources = self.resources;
        let known = self.tests_of(&self.asked.base)?;
        let known: Tests = known.into_iter().map(|(id, _)| id).collect();
        let mut added = self.tests_of(&self.asked.with_tests)?;
        added.retain(|(id, test)| !known.contains(id) && test.is_changed());
        if added.is_empty() {
            return Ok(Some(None));
        }
        let text = resources.blobs.text(&without_fix.output, OUTPUT_LIMIT)?;
        let evidence = RunEvidence::read(&text, Vec::new());
        let red = added.iter().filter(|(_, test)| is_red(test, &evidence));
        let red: Vec<String> = red.map(|(id, _)| shown(id)).collect();
        if !red.is_empty() {
            return Ok(Some(Some(Names::of(red.iter().map(String::as_str)))));
        }
        let added: Tests = added.into_iter().map(|(id, _)| id).collect();
        let names = self.names_when_broken(landing, &added)?;
        Ok(names.map(|names| names.then(Names::default)))
    }

    fn tests_of(&self, tree: &TreeId) -> Result<Vec<(TestId, BrokenTest)>, Fault> {
        let tree = judged_tree(self.resources, self.request, tree)?;
        let suite = Suite::of(&self.resources.vault, self.judged.rules, &tree);
        Ok(suite.map_err(|error| fault(&error))?.tests(Breakage::FailingStatement))
    }

    /// Whether the check names one of these tests where they can be loaded, and are broken.
    fn names_when_broken(&self, landing: &CheckResult, tests: &Tests) -> Result<Option<bool>, Fault> {
        let (resources, request) = (self.resources, self.request);
        let chains = chains(request.policy.gate.every_check(), &self.asked.checks);
        let upto = |chain: &[&CheckPolicy]| chain.iter().position(|check| check.name == landing.check);
        let Some((chain, last)) = chains.iter().find_map(|chain| Some((chain, upto(chain)?))) else {
            return Ok(Some(false));
        };
        let of = Controlled { chain: &chain[..=last], result: landing };
        let mut breaker = TestBreaker::new(resources, request, self.judged)?;
        breaker.names_when_broken(&mut lock(&resources.checkout), &of, tests)
    }
}

struct Ran {
    results: Vec<CheckResult>,
    /// By check, the names of the tests that failed at its last run.
    failed: BTreeMap<String, Vec<String>>,
}

/// Each check as for a task, but for what would show that it can fail.
fn results(
    resources: &EffectResources,
    request: &EffectRequest,
    target: GateTarget<'_>,
) -> Result<Option<Ran>, Fault> {
    let mut checkout = lock(&resources.checkout);
    let mut results = Vec::new();
    let mut runner = GateRunner::new(resources, request, target, &mut checkout)?;
    for chain in chains(request.policy.gate.every_check(), target.checks) {
        for (index, check) in chain.iter().enumerate() {
            let start = if index == 0 { CheckStart::Clean } else { CheckStart::FromPrevious };
            if !run_check(&mut runner, check, start, &mut results)? {
                return Ok(None);
            }
        }
    }
    runner.finish()?;
    Ok(Some(Ran { results, failed: runner.take_failed() }))
}

fn is_green(result: &CheckResult) -> bool {
    let counted = match &result.tally {
        Some(Tally::Counted(counts)) => counts.failures == 0 && counts.errors == 0,
        Some(Tally::Unreadable { .. }) => false,
        None => true,
    };
    result.exited_well() && counted
}
