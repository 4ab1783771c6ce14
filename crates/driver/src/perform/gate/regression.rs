//! The regression test of a fix: the checks without the fix, with the tests that it adds, and where these are red,
//! without them too.

use std::collections::BTreeMap;

use windlass_core::gate::{CheckResult, CheckStart, GateReport, Purpose, Trial};
use windlass_core::id::TreeId;
use windlass_core::outcome::Fault;
use windlass_core::regression::{RegressionReport, RegressionTrial};
use windlass_core::tally::Tally;

use super::runner::GateRunner;
use super::tally::caught;
use super::{GateTarget, chains, judged_tree, run_check};
use crate::perform::{EffectRequest, EffectResources, lock};

/// None: it was cancelled.
pub fn regression(
    resources: &EffectResources,
    request: &EffectRequest,
    asked: &RegressionTrial,
    report: &GateReport,
) -> Result<Option<RegressionReport>, Fault> {
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
        if let (Some(base), Some(landing), Some(_)) = (of(&base), of(&report.landing), &result.tally) {
            result.caught = caught(resources, failed, &base, &landing)?;
        }
    }
    Ok(Some(RegressionReport { with_tests, base }))
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
