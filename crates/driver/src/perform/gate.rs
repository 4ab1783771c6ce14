//! The gate: each check on a clean checkout of the tree, on a layer of its own
//! that is thrown away. A chain of checks shares one layer; a control and a
//! second run have one of their own.

mod bench;
mod place;
mod tally;

use windlass_core::gate::{CheckResult, Purpose};
use windlass_core::id::TreeId;
use windlass_core::input::Input;
use windlass_core::outcome::Fault;
use windlass_core::policy::CheckPolicy;
use windlass_store::Blob;

use self::bench::{Begin, Bench};
use super::{Job, Performed, Workshop, lock};

pub(super) struct On<'a> {
    pub purpose: Purpose,
    pub tree: &'a TreeId,
    pub checks: &'a [String],
}

pub(super) fn gate(shop: &Workshop, job: &Job, on: On<'_>) -> Performed {
    let mut checkout = lock(&shop.checkout);
    let due = job.creation.policy.gate.checks.iter().filter(|check| on.checks.contains(&check.name));
    let due: Vec<&CheckPolicy> = due.collect();
    let mut told = Told::default();
    let mut bench = Bench::new(shop, job, on, &mut checkout)?;
    for chain in chains(&due) {
        if !run_chain(&mut bench, chain, &mut told)? {
            return Ok((Input::EffectDropped, Vec::new()));
        }
    }
    bench.finish()?;
    Ok((Input::GateReported(told.results), told.blobs))
}

/// What goes back to the core.
#[derive(Default)]
struct Told {
    results: Vec<CheckResult>,
    blobs: Vec<Blob>,
}

/// Each check with the checks that go on in its tree.
fn chains<'d, 'c>(due: &'d [&'c CheckPolicy]) -> impl Iterator<Item = &'d [&'c CheckPolicy]> {
    due.chunk_by(|_, next| next.chain)
}

/// False: it was cancelled. The controls come last, since each begins with a
/// tree of its own and takes the place of the chain's.
fn run_chain(bench: &mut Bench<'_>, chain: &[&CheckPolicy], told: &mut Told) -> Result<bool, Fault> {
    let first = told.results.len();
    for (index, check) in chain.iter().enumerate() {
        let begin = if index == 0 { Begin::Clean } else { Begin::Left };
        if !run_check(bench, check, begin, told)? {
            return Ok(false);
        }
    }
    bench.keep_cache()?;
    for at in first..told.results.len() {
        let result = &told.results[at];
        let replaced = told.results[at + 1..].iter().any(|other| other.check == result.check);
        let check = chain.iter().find(|check| check.name == result.check);
        let wanted = |check: &&&CheckPolicy| {
            !check.control.is_empty() && !replaced && result.shortfall(check).is_none()
        };
        let Some(check) = check.filter(wanted) else { continue };
        let Some((control, blob)) = bench.control(check)? else { return Ok(false) };
        told.results[at].control = Some(control);
        told.blobs.push(blob);
    }
    Ok(true)
}

fn run_check(
    bench: &mut Bench<'_>,
    check: &CheckPolicy,
    begin: Begin,
    told: &mut Told,
) -> Result<bool, Fault> {
    let Some((result, blobs)) = bench.check(check, begin)? else { return Ok(false) };
    let again = bench.may_retry(check, begin) && result.shortfall(check).is_some();
    told.results.push(result);
    told.blobs.extend(blobs);
    if again {
        let Some((result, blobs)) = bench.check(check, Begin::Clean)? else { return Ok(false) };
        told.results.push(CheckResult { again: true, ..result });
        told.blobs.extend(blobs);
    }
    Ok(true)
}
