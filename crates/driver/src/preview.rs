//! The briefs that a loop would begin with, rendered by the rules that will
//! render them, before anything is written.

use windlass_agent::adapter;
use windlass_agent::brief::{BriefError, BriefTexts, render};
use windlass_core::brief::BriefSpec;
use windlass_core::effect::Effect;
use windlass_core::event::{Decision, IterationEvent, Phase};
use windlass_core::gate::{CheckResult, TellNumbers};
use windlass_core::id::{BlobId, Nonce, TaskId};
use windlass_core::input::{Asked, Creation, Input, Stamped};
use windlass_core::policy::Role;
use windlass_core::state::State;
use windlass_core::step::{create, step};
use windlass_core::task::Plan;
use windlass_core::time::{Millis, Timestamp};
use windlass_core::view::View;
use windlass_workspace::DiscoverError;

use crate::setup::Proposed;

/// In the place of the nonce, which every attempt gets anew, and as long.
const NONCE: &str = "00000000000000000000000000000000";
/// Of the steps up to the first brief: the baseline, the workspace, the call.
const STEPS: usize = 8;

pub struct PreviewedBrief {
    pub role: Role,
    pub task: TaskId,
    pub text: String,
}

#[derive(Debug, thiserror::Error)]
pub enum PreviewError {
    #[error(transparent)]
    Base(#[from] DiscoverError),
    #[error(transparent)]
    Brief(#[from] BriefError),
}

/// Of the first task that is ready: what its author is told, and its reviewer, but for what the author will
/// have changed. Nothing where no task is ready.
pub fn briefs(proposed: &Proposed, asked: &Asked) -> Result<Vec<PreviewedBrief>, PreviewError> {
    let mut state = begun(proposed, asked)?;
    let mut previewed = Vec::new();
    let Some(task) = state.current_task().cloned() else { return Ok(previewed) };
    previewed.push(brief(proposed, &state, Role::Author, &task)?);
    if state.policy().review.tasks && !asked.no_review {
        let event = IterationEvent::PhaseEntered { phase: Phase::Review }.into();
        let (at, elapsed, closes, effects) = (Timestamp::default(), Millis(0), None, Vec::new());
        let decision = Decision { at, elapsed, closes, events: vec![event], effects };
        let seq = state.seq.next();
        state.apply(seq, &decision);
        previewed.push(brief(proposed, &state, Role::Reviewer, &task)?);
    }
    Ok(previewed)
}

/// How the loop will stand when its first author is called, confined as this machine can.
pub fn view(proposed: &Proposed, asked: &Asked) -> Result<View, PreviewError> {
    Ok(View { sandbox: proposed.sandbox.level, ..View::of(&begun(proposed, asked)?) })
}

/// The loop as it will be when its first author is called.
fn begun(proposed: &Proposed, asked: &Asked) -> Result<State, PreviewError> {
    let named = |_: &str| Ok::<_, PreviewError>(BlobId::new("preview"));
    let tasks = proposed.planned.tasks.iter().map(|task| task.clone().into_task(named));
    let tasks = tasks.collect::<Result<_, _>>()?;
    let creation = Creation {
        name: proposed.name.clone(),
        goal: proposed.planned.goal.clone(),
        plan: Plan { tasks, tools: Vec::new() },
        policy: proposed.policy.clone(),
        base: proposed.base.clone(),
        base_tree: proposed.base_tree()?,
        trusted: None,
        branch: String::new(),
        workspace: String::new(),
    };
    let created = create(Timestamp::default(), creation);
    let mut state = State::created_by(&created).expect("a creation creates a loop");
    let mut next = Some((None, Input::RunAsked(asked.clone())));
    for _ in 0..STEPS {
        let Some((closes, what)) = next.take() else { break };
        let (at, elapsed, fresh) = (Timestamp::default(), Millis(0), Nonce::new(NONCE));
        let decision = step(&state, &Stamped { at, elapsed, fresh, closes, what });
        let seq = state.seq.next();
        state.apply(seq, &decision);
        next = state.outstanding().next().and_then(|(id, effect)| Some((Some(id), answer(effect)?)));
    }
    Ok(state)
}

/// What a driver would say to an effect, as far as the first call of an agent.
fn answer(effect: &Effect) -> Option<Input> {
    match effect {
        // Nothing is known of the base: no task is to look blocked for what a run may well find green.
        Effect::RunGate { checks, .. } => {
            let green: Vec<CheckResult> = checks.iter().map(|check| green(check)).collect();
            Some(Input::GateReported(green.into()))
        }
        Effect::PrepareWorkspace { .. } => Some(Input::WorkspaceReady),
        // Nothing was looked at, so that nothing holds.
        Effect::CheckStop { .. } => Some(Input::StopChecked(Vec::new())),
        Effect::MergeWork { .. } | Effect::CallAgent { .. } | Effect::Snapshot(_) | Effect::Land { .. } => {
            None
        }
    }
}

fn green(check: &str) -> CheckResult {
    CheckResult {
        check: check.to_owned(),
        exit_code: Some(0),
        signal: None,
        timed_out: false,
        duration_ms: Millis(0),
        output: BlobId::new("preview"),
        excerpt: String::new(),
        without_hidden: None,
        tell_numbers: TellNumbers::All,
        strays: 0,
        again: false,
        tally: None,
        writes: None,
        control: None,
        broken_tests: None,
        caught: None,
    }
}

fn brief(
    proposed: &Proposed,
    state: &State,
    role: Role,
    task: &TaskId,
) -> Result<PreviewedBrief, PreviewError> {
    let spec = BriefSpec::of(state, role);
    let written = proposed.planned.tasks.iter().find(|of| of.id == *task);
    let answers = adapter(state.policy().agent_for(role)).is_ok_and(|agent| agent.answers());
    let text = render(
        &spec,
        &BriefTexts {
            nonce: &Nonce::new(NONCE),
            task: written.map_or("", |task| &task.text),
            diff: "",
            unmerged: "",
            unmerged_file: "",
            answers,
            own: &state.policy().brief,
        },
    )?;
    Ok(PreviewedBrief { role, task: task.clone(), text })
}
