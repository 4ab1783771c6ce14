//! The gate once more, on the tree that landed, by the same performer that a
//! drive has. Under the loop's lock; nothing is added to the log.

use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use windlass_core::effect::Effect;
use windlass_core::gate::{GateReport, GateSummary, Judgement, Purpose, Trials};
use windlass_core::input::Input;
use windlass_store::Store;

use super::history::RecordedLoop;
use super::steps::counted;
use super::{CompletionRecord, ProofRequest, RerunCheck, Step, StepName};
use crate::clock;
use crate::drive_loop::{DriveOutputs, LEFTOVERS_PATIENCE, LoopSite, effect_resources};
use crate::interrupt::Interrupts;
use crate::look_at_stop::look_at_stop;
use crate::perform::EffectRequest;

pub(super) fn rerun(
    request: &ProofRequest,
    store: &Arc<dyn Store>,
    history: &RecordedLoop,
    record: &CompletionRecord,
) -> (Step, Vec<RerunCheck>) {
    let compared = run(request, store, history, record).map(|results| {
        let again = compare(history, record, &results);
        let stop = || stop_again(request, store, history);
        (verdict(record, &again).and_then(|words| Ok(words + &stop()?)), again)
    });
    let (result, again) = compared.unwrap_or_else(|why| (Err(why), Vec::new()));
    let holds = result.is_ok();
    (Step { step: StepName::Rerun, holds, detail: result.unwrap_or_else(|why| why) }, again)
}

#[expect(clippy::wildcard_enum_match_arm, reason = "a gate has one answer, and a fault")]
fn run(
    request: &ProofRequest,
    store: &Arc<dyn Store>,
    history: &RecordedLoop,
    record: &CompletionRecord,
) -> Result<GateReport, String> {
    record.landed.as_ref().ok_or("nothing has landed, so there is nothing to judge again")?;
    let checks = record.gate.checks.clone();
    if checks.is_empty() {
        return Ok(GateReport::default());
    }
    let _lease = store
        .lease(&request.name, clock::wall())
        .map_err(|error| format!("the gate cannot run while the loop is driven: {error}"))?;
    windlass_process::end_leftovers(&request.vault.attempts(&request.name), LEFTOVERS_PATIENCE)
        .map_err(|error| error.to_string())?;
    let site = site(request);
    let mut state = history.state.clone();
    state.policy = Arc::new(history.final_policy().clone());
    let trail = request.project.top.join(".windlass/loops").join(request.name.as_str());
    let resources = effect_resources(
        &site,
        store,
        state.policy(),
        DriveOutputs { trail: &trail, live: sync_channel(1).0 },
    )
    .map_err(|error| error.to_string())?;
    let Trials { landing: tree, trusted, regression } = state.head_trials();
    let effect = Effect::RunGate { purpose: Purpose::Final, tree, trusted, regression, checks };
    resources.begin();
    match resources.perform(EffectRequest::new(&effect, &state)) {
        Input::GateReported(report) => Ok(report),
        Input::EffectFailed(fault) => Err(format!("the gate could not be run: {}", fault.detail)),
        other => Err(format!("the gate could not be run: {}", other.name())),
    }
}

/// The stop checks of an open-ended loop, its commands included.
fn stop_again(
    request: &ProofRequest,
    store: &Arc<dyn Store>,
    history: &RecordedLoop,
) -> Result<String, String> {
    let mut state = history.state.clone();
    state.policy = Arc::new(history.final_policy().clone());
    if !state.policy().is_open_ended() {
        return Ok(String::new());
    }
    let now = look_at_stop(&site(request), &**store, &state, &Interrupts::new())
        .map_err(|error| error.to_string())?;
    match now.results.iter().find(|result| !result.holds) {
        Some(open) => Err(format!("stop check {}, looked at again: {}", open.check, open.why)),
        None => Ok(format!("; {} looked at again", counted(now.results.len(), "stop check"))),
    }
}

fn site(request: &ProofRequest) -> LoopSite {
    LoopSite {
        name: request.name.clone(),
        project: request.project.clone(),
        vault: request.vault.clone(),
        surroundings: request.surroundings.clone(),
    }
}

/// Each check's last run now, beside the recorded one, with all that is judged of it.
fn compare(history: &RecordedLoop, record: &CompletionRecord, report: &GateReport) -> Vec<RerunCheck> {
    let (gate, trials) = (&history.final_policy().gate, history.state.head_trials());
    let by = Judgement { gate, purpose: Purpose::Final, checks: &record.gate.checks };
    let summary = GateSummary::of_report(&by, &trials, report);
    let of = |check: &String| {
        let result = report.landing.iter().rev().find(|result| result.check == *check)?;
        let recorded = record.checks.iter().find(|done| done.check == *check);
        let failing = summary.failing.iter().find(|failing| failing.check == *check);
        let red = failing.filter(|failing| history.state.waiver(failing, None).is_none());
        Some(RerunCheck {
            check: check.clone(),
            recorded: recorded.and_then(|done| done.exit_code),
            exit_code: result.exit_code,
            timed_out: result.timed_out,
            duration_ms: result.duration_ms,
            red: red.map_or_else(String::new, |failing| failing.reason.words()),
        })
    };
    record.gate.checks.iter().filter_map(of).collect()
}

fn verdict(record: &CompletionRecord, again: &[RerunCheck]) -> Result<String, String> {
    for check in &record.gate.checks {
        let Some(now) = again.iter().find(|now| now.check == *check) else {
            return Err(format!("check {check} was not run again"));
        };
        let words = |code: Option<i32>| code.map_or("no exit code".to_owned(), |code| format!("exit {code}"));
        if now.timed_out || now.exit_code != now.recorded {
            let ending = if now.timed_out { "timed out".to_owned() } else { words(now.exit_code) };
            return Err(format!("check {check}, run again: {ending}; recorded: {}", words(now.recorded)));
        }
        if !now.red.is_empty() {
            return Err(format!("check {check}, run again: {}", now.red));
        }
    }
    Ok(match again.len() {
        0 => "there is no check to run again".to_owned(),
        1 => "1 check run again, with the recorded exit code".to_owned(),
        count => format!("{count} checks run again, with the recorded exit codes"),
    })
}
