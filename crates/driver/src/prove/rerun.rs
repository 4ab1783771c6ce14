//! The gate once more, on the tree that landed, by the same performer that a
//! drive has. Under the loop's lock; nothing is added to the log.

use std::collections::BTreeMap;

use windlass_core::effect::Effect;
use windlass_core::gate::{CheckResult, Purpose};
use windlass_core::input::{Asked as Wanted, Input};
use windlass_store::LoopLock;

use super::history::History;
use super::{Again, Asked, Record, Step, StepName};
use crate::clock;
use crate::drive_loop::{Order, workshop};
use crate::operate::LEFTOVERS_PATIENCE;
use crate::perform::Job;

pub(super) fn rerun(asked: &Asked, history: &History, record: &Record) -> (Step, Vec<Again>) {
    let looked = run(asked, history, record).map(|results| {
        let again: Vec<Again> = results.iter().map(|result| compared(record, result)).collect();
        (verdict(record, &again), again)
    });
    let (told, again) = looked.unwrap_or_else(|why| (Err(why), Vec::new()));
    let holds = told.is_ok();
    (Step { step: StepName::Rerun, holds, detail: told.unwrap_or_else(|why| why) }, again)
}

#[expect(clippy::wildcard_enum_match_arm, reason = "a gate has one answer, and a fault")]
fn run(asked: &Asked, history: &History, record: &Record) -> Result<Vec<CheckResult>, String> {
    let landed = record.landed.as_ref().ok_or("nothing has landed, so there is nothing to judge again")?;
    let checks = record.gate.checks.clone();
    if checks.is_empty() {
        return Ok(Vec::new());
    }
    let _lock = LoopLock::take(&asked.vault.loop_lock(&asked.name), clock::wall())
        .map_err(|error| format!("the gate cannot run while the loop is driven: {error}"))?;
    windlass_process::end_leftovers(&asked.vault.attempts(&asked.name), LEFTOVERS_PATIENCE)
        .map_err(|error| error.to_string())?;
    let order = Order {
        name: asked.name.clone(),
        asked: Wanted::default(),
        project: asked.project.clone(),
        vault: asked.vault.clone(),
        surroundings: asked.surroundings.clone(),
    };
    let state = &history.state;
    let trail = asked.project.top.join(".windlass/loops").join(asked.name.as_str());
    let shop =
        workshop(&order, state.policy(), BTreeMap::new(), &trail).map_err(|error| error.to_string())?;
    let effect = Effect::RunGate { purpose: Purpose::Final, tree: landed.tree.clone(), checks };
    shop.begin();
    match shop.perform(Job::new(&effect, state)).0 {
        Input::GateReported(results) => Ok(results),
        Input::EffectFailed(fault) => Err(format!("the gate could not be run: {}", fault.detail)),
        other => Err(format!("the gate could not be run: {}", other.name())),
    }
}

fn compared(record: &Record, result: &CheckResult) -> Again {
    let recorded = record.checks.iter().find(|check| check.check == result.check);
    Again {
        check: result.check.clone(),
        recorded: recorded.and_then(|check| check.exit_code),
        exit_code: result.exit_code,
        timed_out: result.timed_out,
        duration_ms: result.duration_ms,
    }
}

fn verdict(record: &Record, again: &[Again]) -> Result<String, String> {
    for check in &record.gate.checks {
        let mut runs = again.iter().filter(|now| now.check == *check).peekable();
        if runs.peek().is_none() {
            return Err(format!("check {check} was not run again"));
        }
        let words = |code: Option<i32>| code.map_or("no exit code".to_owned(), |code| format!("exit {code}"));
        if let Some(now) = runs.find(|now| now.timed_out || now.exit_code != now.recorded) {
            let ending = if now.timed_out { "timed out".to_owned() } else { words(now.exit_code) };
            return Err(format!("check {check}, run again: {ending}; recorded: {}", words(now.recorded)));
        }
    }
    Ok(match again.len() {
        0 => "there is no check to run again".to_owned(),
        1 => "1 check run again, with the recorded exit code".to_owned(),
        count => format!("{count} checks run again, with the recorded exit codes"),
    })
}
