//! The briefs that a loop would begin or go on with, rendered by the rules that
//! will render them, before anything is written.

use windlass_agent::brief::{BriefError, BriefTexts, render};
use windlass_agent::{adapter, registry};
use windlass_core::brief::{BriefSpec, TaskBrief};
use windlass_core::command::Command;
use windlass_core::effect::Effect;
use windlass_core::event::{Decision, IterationEvent, Phase};
use windlass_core::gate::{CheckResult, TellNumbers};
use windlass_core::id::{BlobId, EffectId, Nonce, TaskId};
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
    #[error("the text of a task cannot be read: {0}")]
    Text(String),
}

/// The text of a task, as its brief has it.
type TextOf<'a> = &'a dyn Fn(&TaskBrief) -> Result<String, String>;

/// Of the first task that is ready: what its author is told, and its reviewer, but for what the author will
/// have changed. Nothing where no task is ready.
pub fn briefs(proposed: &Proposed, asked: &Asked) -> Result<Vec<PreviewedBrief>, PreviewError> {
    let written = |task: &TaskBrief| {
        let planned = proposed.planned.tasks.iter().find(|of| of.id == task.id);
        Ok(planned.map_or_else(String::new, |planned| planned.text.clone()))
    };
    pair(begun(proposed, asked)?, asked, &written)
}

/// The same of a loop that is there, after these commands. Nothing where an attempt of it is open, or where only
/// the run itself can tell what comes before the next one.
pub fn next_briefs(
    mut state: State,
    commands: Vec<Command>,
    asked: &Asked,
    text: TextOf<'_>,
) -> Result<Vec<PreviewedBrief>, PreviewError> {
    if state.outstanding().next().is_some() {
        return Ok(Vec::new());
    }
    for command in commands {
        let id = state.last_command.next();
        take(&mut state, None, Input::Commanded { id, command });
    }
    go_on(&mut state, asked);
    let is_author =
        |effect: &Effect| matches!(effect, Effect::CallAgent { role, .. } if *role == Role::Author);
    let calls_author = state.outstanding().any(|(_, effect)| is_author(effect));
    if calls_author { pair(state, asked, text) } else { Ok(Vec::new()) }
}

/// Of a loop whose author is called next.
fn pair(mut state: State, asked: &Asked, text: TextOf<'_>) -> Result<Vec<PreviewedBrief>, PreviewError> {
    let mut previewed = Vec::new();
    let Some(task) = state.current_task().cloned() else { return Ok(previewed) };
    previewed.push(brief(&state, Role::Author, &task, text)?);
    if state.policy().review.tasks && !asked.no_review {
        let event = IterationEvent::PhaseEntered { phase: Phase::Review }.into();
        let (at, elapsed, closes, effects) = (Timestamp::default(), Millis(0), None, Vec::new());
        let decision = Decision { at, elapsed, closes, events: vec![event], effects };
        let seq = state.seq.next();
        state.apply(seq, &decision);
        previewed.push(brief(&state, Role::Reviewer, &task, text)?);
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
    go_on(&mut state, asked);
    Ok(state)
}

/// A run as far as the first call of an agent.
fn go_on(state: &mut State, asked: &Asked) {
    let mut next = Some((None, Input::RunAsked(asked.clone())));
    for _ in 0..STEPS {
        let Some((closes, what)) = next.take() else { break };
        take(state, closes, what);
        next = state.outstanding().next().and_then(|(id, effect)| Some((Some(id), answer(effect)?)));
    }
}

fn take(state: &mut State, closes: Option<EffectId>, what: Input) {
    let (at, elapsed, fresh) = (Timestamp::default(), Millis(0), Nonce::new(NONCE));
    let decision = step(state, &Stamped { at, elapsed, fresh, closes, what });
    let seq = state.seq.next();
    state.apply(seq, &decision);
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

fn brief(state: &State, role: Role, task: &TaskId, text: TextOf<'_>) -> Result<PreviewedBrief, PreviewError> {
    let agent = state.policy().agent_for(role);
    let mut spec = BriefSpec::of(state, role);
    spec.resumed &= state.session(role).is_some() && registry::named(&agent.adapter).is_some();
    let answers = adapter(agent).is_ok_and(|agent| agent.answers());
    let said = spec.task.as_ref().map(text).transpose().map_err(PreviewError::Text)?;
    let text = render(
        &spec,
        &BriefTexts {
            nonce: &Nonce::new(NONCE),
            task: &said.unwrap_or_default(),
            diff: "",
            unmerged: "",
            unmerged_file: "",
            answers,
            own: &state.policy().brief,
        },
    )?;
    Ok(PreviewedBrief { role, task: task.clone(), text })
}
