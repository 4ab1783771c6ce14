//! For an open-ended loop: the stop checks held on exactly the landed tree, and what windlass can see of them by
//! itself still does.

use windlass_core::stop::{StopCheck, StopPolicy, StopReport};

use super::judged::{Wanted, judge};
use super::steps::{StepResult, counted};
use super::{Point, ProofSources};
use crate::perform::look_at_stop_check;

/// No output is larger: a command's two streams are capped far below.
const OUTPUT_LIMIT: u64 = 64 << 20;

pub(super) fn held(sources: &ProofSources<'_>, landed: &Point) -> StepResult {
    let policy = &sources.history.final_policy().stop;
    let seen = sources.history.state.stop.as_deref().ok_or("the stop checks were never looked at")?;
    if seen.tree != landed.tree {
        return Err(format!("the stop checks were looked at on {}, not on the landed tree", seen.tree));
    }
    on_record(sources, policy, seen)?;
    let steps = green_steps(sources)?;
    let again = policy.checks.iter().map(|check| again(sources, landed, check));
    let again: usize = again.sum::<Result<usize, String>>()?;
    let all = counted(policy.checks.len(), "stop check");
    Ok(format!(
        "{all} held on exactly the landed tree, {again} looked at again; {} green",
        counted(steps, "step")
    ))
}

/// Every step was green on the tree that it landed, compared with the one before it.
fn green_steps(sources: &ProofSources<'_>) -> Result<usize, String> {
    let steps: Vec<_> =
        sources.history.past.landings.iter().filter(|landing| landing.task.is_some()).collect();
    for landing in &steps {
        let checks = sources.history.policy_at(landing.event).gate.checks_for(landing.task.as_ref());
        if !checks.is_empty() {
            judge(sources.history, Wanted::landed(landing, &landing.tree))
                .map_err(|why| format!("the step of commit {}: {why}", landing.commit))?;
        }
    }
    Ok(steps.len())
}

fn on_record(sources: &ProofSources<'_>, policy: &StopPolicy, seen: &StopReport) -> Result<(), String> {
    if let Some(open) = seen.results.iter().find(|result| !result.holds) {
        return Err(format!("stop check {} did not hold: {}", open.check, open.why));
    }
    if !seen.holds || !policy.holds(&seen.results) {
        return Err("not every stop check of the policy was looked at".to_owned());
    }
    for result in &seen.results {
        let Some(output) = &result.output else { continue };
        let read = sources.reader.blob(output, OUTPUT_LIMIT);
        read.map_err(|error| format!("the output of stop check {}: {error}", result.check))?;
    }
    Ok(())
}

/// How many were looked at: a command is not run here.
fn again(sources: &ProofSources<'_>, landed: &Point, check: &StopCheck) -> Result<usize, String> {
    let name = &check.name;
    match look_at_stop_check(sources.vault, &landed.tree, check) {
        None => Ok(0),
        Some(Ok(now)) if now.holds => Ok(1),
        Some(Ok(now)) => Err(format!("stop check {name}, looked at again: {}", now.why)),
        Some(Err(error)) => Err(format!("stop check {name} cannot be looked at again: {error}")),
    }
}
