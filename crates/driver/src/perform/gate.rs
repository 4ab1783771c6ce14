//! The gate: each check on a clean checkout of the tree, on a layer of its own
//! that is thrown away. A chain of checks shares one layer; a control and a
//! second run have one of their own.

mod control;
pub(super) mod dirs;
pub(super) mod kept_setup;
mod regression;
mod runner;
mod tally;
mod watch;
mod withheld;

use windlass_core::broken_tests::BrokenTests;
use windlass_core::control::CheckControl;
use windlass_core::effect::Effect;
use windlass_core::gate::{CheckResult, CheckStart, GateReport, Purpose, Trial};
use windlass_core::hidden::HiddenOutput;
use windlass_core::id::TreeId;
use windlass_core::input::Input;
use windlass_core::outcome::Fault;
use windlass_core::policy::CheckPolicy;
use windlass_core::regression::RegressionTrial;
use windlass_gate::PathRules;

use self::control::{Controlled, TestBreaker};
use self::regression::{Fix, regression};
use self::runner::GateRunner;
use self::tally::compare_trials;
use self::withheld::Judged;
use super::snapshot::path_rules;
use super::{EffectRequest, EffectResources, Performed, fault, lock};
use crate::hidden;
use crate::weaken::Defence;

#[derive(Clone, Copy)]
pub(super) struct GateTarget<'a> {
    pub purpose: Purpose,
    pub trial: Trial,
    pub tree: &'a TreeId,
    pub checks: &'a [String],
}

/// A tree that was judged, and what its paths are.
#[derive(Clone, Copy)]
struct JudgedTrial<'a> {
    target: GateTarget<'a>,
    rules: &'a PathRules,
    /// Nothing of its terms is other than what is trusted.
    has_trusted_terms: bool,
}

/// What will land is judged first: while that is red, the other trial tells nothing more.
pub(super) fn gate(
    resources: &EffectResources,
    request: &EffectRequest,
    landing: GateTarget<'_>,
    trusted: Option<GateTarget<'_>>,
) -> Performed {
    let rules = path_rules(resources, request, &request.creation.base_tree)?;
    let landing_tree = judged_tree(resources, request, landing.tree)?;
    let landing = GateTarget { tree: &landing_tree, ..landing };
    let trusted_tree = trusted.map(|target| judged_tree(resources, request, target.tree)).transpose()?;
    let trusted = trusted.zip(trusted_tree.as_ref()).map(|(target, tree)| GateTarget { tree, ..target });
    let Some(results_of_landing) = results(resources, request, landing)? else {
        return Ok(Input::EffectDropped);
    };
    let mut report = GateReport::from(results_of_landing);
    if let Some(trusted) = trusted.filter(|_| report.landing_exited_well()) {
        let Some(results) = results(resources, request, trusted)? else { return Ok(Input::EffectDropped) };
        report.trusted = results;
        compare_trials(resources, &mut report)?;
    }
    if let Some(asked) = regression_due(request, &report) {
        let judged = JudgedTrial { target: landing, rules: &rules, has_trusted_terms: trusted.is_none() };
        match regression(resources, request, judged, Fix { asked, report: &report })? {
            Some(ran) => report.regression = ran,
            None => return Ok(Input::EffectDropped),
        }
    }
    let trials = [(Some(landing), &mut report.landing), (trusted, &mut report.trusted)];
    for (target, results) in trials {
        let Some(target) = target.filter(|_| !results.is_empty()) else { continue };
        let has_trusted_terms = trusted.is_none() || target.trial == Trial::TrustedTerms;
        let judged = JudgedTrial { target, rules: &rules, has_trusted_terms };
        if !break_tests(resources, request, judged, results)? {
            return Ok(Input::EffectDropped);
        }
    }
    let hidden = &request.policy.gate.hidden;
    if !hidden.is_off() && hidden.output != HiddenOutput::All && !resources.is_weak(Defence::Hidden) {
        let judged = Judged { resources, request, rules: &rules, output: hidden.output };
        let targets: Vec<GateTarget<'_>> = [landing].into_iter().chain(trusted).collect();
        if !judged.withhold(&mut report, &targets)? {
            return Ok(Input::EffectDropped);
        }
    }
    if resources.is_weak(Defence::Terms) {
        report.trusted.clone_from(&report.landing);
    }
    Ok(Input::GateReported(report))
}

/// What is to be seen without the fix: nothing where the fix adds no test, or is red itself.
fn regression_due<'r>(request: &'r EffectRequest, report: &GateReport) -> Option<&'r RegressionTrial> {
    let Effect::RunGate { regression: Some(asked), .. } = &request.effect else { return None };
    Some(asked).filter(|asked| asked.adds_tests() && report.landing_ended_well())
}

/// With the hidden files that come from outside.
fn judged_tree(resources: &EffectResources, request: &EffectRequest, tree: &TreeId) -> Result<TreeId, Fault> {
    if resources.is_weak(Defence::Hidden) {
        return Ok(tree.clone());
    }
    hidden::judged(&resources.vault, &request.policy, tree).map_err(|error| fault(&error))
}

/// None: it was cancelled.
fn results(
    resources: &EffectResources,
    request: &EffectRequest,
    target: GateTarget<'_>,
) -> Result<Option<Vec<CheckResult>>, Fault> {
    let mut checkout = lock(&resources.checkout);
    let chains = chains(request.policy.gate.every_check(), target.checks);
    let mut results = Vec::new();
    let mut runner = GateRunner::new(resources, request, target, &mut checkout)?;
    for chain in chains {
        if !run_chain(&mut runner, &chain, &mut results)? {
            return Ok(None);
        }
    }
    runner.finish()?;
    Ok(Some(results))
}

/// Commands that judge a tree and are no checks of the gate, each on a clean checkout. None: it was cancelled.
pub(super) fn run_apart(
    resources: &EffectResources,
    request: &EffectRequest,
    tree: &TreeId,
    commands: &[CheckPolicy],
) -> Result<Option<Vec<CheckResult>>, Fault> {
    let mut results = Vec::new();
    if commands.is_empty() {
        return Ok(Some(results));
    }
    let mut checkout = lock(&resources.checkout);
    let target = GateTarget { purpose: Purpose::Task, trial: Trial::Landing, tree, checks: &[] };
    let mut runner = GateRunner::new(resources, request, target, &mut checkout)?;
    for command in commands {
        let Some(result) = runner.check(command, CheckStart::Clean)? else { return Ok(None) };
        results.push(result);
    }
    runner.finish()?;
    Ok(Some(results))
}

/// Shows of each check that it can fail, where the whole gate is green. False: it was cancelled.
fn break_tests(
    resources: &EffectResources,
    request: &EffectRequest,
    judged: JudgedTrial<'_>,
    results: &mut [CheckResult],
) -> Result<bool, Fault> {
    let target = judged.target;
    let gate = &request.policy.gate;
    let green = |result: &CheckResult| {
        gate.check(&result.check).is_some_and(|check| result.red_without_control(check).is_none())
    };
    let is_last = |at: usize| !results[at + 1..].iter().any(|other| other.check == results[at].check);
    let last: Vec<usize> = (0..results.len()).filter(|at| is_last(*at)).collect();
    if !last.iter().all(|at| green(&results[*at])) {
        return Ok(true);
    }
    let mut breaker = None;
    let mut checkout = lock(&resources.checkout);
    for chain in chains(gate.every_check(), target.checks) {
        for (index, check) in
            chain.iter().enumerate().filter(|(_, check)| gate.breaks_tests(check, target.purpose))
        {
            let Some(at) = last.iter().copied().find(|at| results[*at].check == check.name) else { continue };
            if resources.is_weak(Defence::Control) {
                results[at].broken_tests = Some(BrokenTests::default());
                continue;
            }
            let breaker = match &mut breaker {
                Some(breaker) => breaker,
                none => none.insert(TestBreaker::new(resources, request, judged)?),
            };
            let of = Controlled { chain: &chain[..=index], result: &results[at] };
            let Some(shown) = breaker.show(&mut checkout, &of)? else { return Ok(false) };
            results[at].broken_tests = Some(shown);
        }
    }
    Ok(true)
}

/// The checks that are due, each with those that go on in its tree. One whose
/// predecessor is not due begins a chain of its own.
fn chains<'c>(
    checks: impl IntoIterator<Item = &'c CheckPolicy>,
    due: &[String],
) -> Vec<Vec<&'c CheckPolicy>> {
    let mut chains: Vec<Vec<&CheckPolicy>> = Vec::new();
    let mut before_is_due = false;
    for check in checks {
        let is_due = due.contains(&check.name);
        match chains.last_mut().filter(|_| check.chain && before_is_due) {
            Some(chain) if is_due => chain.push(check),
            None if is_due => chains.push(vec![check]),
            Some(_) | None => {}
        }
        before_is_due = is_due;
    }
    chains
}

/// False: it was cancelled. The controls come last, since each begins with a
/// tree of its own and takes the place of the chain's.
fn run_chain(
    runner: &mut GateRunner<'_>,
    chain: &[&CheckPolicy],
    results: &mut Vec<CheckResult>,
) -> Result<bool, Fault> {
    let first = results.len();
    for (index, check) in chain.iter().enumerate() {
        let start = if index == 0 { CheckStart::Clean } else { CheckStart::FromPrevious };
        if !run_check(runner, check, start, results)? {
            return Ok(false);
        }
    }
    runner.keep_cache()?;
    for at in first..results.len() {
        let result = &results[at];
        let replaced = results[at + 1..].iter().any(|other| other.check == result.check);
        let check = chain.iter().find(|check| check.name == result.check);
        let wanted = |check: &&&CheckPolicy| {
            matches!(check.control(), CheckControl::Command(_))
                && !replaced
                && result.red_without_control(check).is_none()
        };
        let Some(check) = check.filter(wanted) else { continue };
        let Some(control) = runner.control(check)? else { return Ok(false) };
        results[at].control = Some(control);
    }
    Ok(true)
}

fn run_check(
    runner: &mut GateRunner<'_>,
    check: &CheckPolicy,
    start: CheckStart,
    results: &mut Vec<CheckResult>,
) -> Result<bool, Fault> {
    let first = results.len();
    while let Some(next) = check.next_run(&results[first..], runner.purpose(), start) {
        let Some(result) = runner.check(check, next.start)? else { return Ok(false) };
        results.push(CheckResult { again: next.again, ..result });
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_goes_on_only_from_the_check_before_it() {
        let check =
            |name: &str, chain| CheckPolicy { name: name.to_owned(), chain, ..CheckPolicy::default() };
        let checks =
            [check("a", false), check("b", true), check("c", true), check("d", false), check("e", true)];
        let shown = |due: &[&str]| {
            let due: Vec<String> = due.iter().map(|name| (*name).to_owned()).collect();
            let names = |chain: &Vec<&CheckPolicy>| chain.iter().map(|c| c.name.as_str()).collect::<String>();
            chains(&checks, &due).iter().map(names).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(shown(&["a", "b", "c", "d", "e"]), "abc de");
        assert_eq!(shown(&["a", "c", "e"]), "a c e", "what comes between is missing");
        assert_eq!(shown(&["b", "c"]), "bc");
        assert_eq!(shown(&[]), "");
    }
}
