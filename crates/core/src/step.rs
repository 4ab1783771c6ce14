//! The rules of the loop: what happens next, given everything known and one
//! more thing that happened. The arms below are single calls; each phase has
//! its own file.

use crate::command::Command;
use crate::effect::Effect;
use crate::event::{
    AttemptEvent, CommandAnswer, Decision, Event, IterationEvent, LoopEvent, OperatorEvent, PauseEvent,
    Phase, RunEvent,
};
use crate::gate::{Purpose, Trials};
use crate::id::{CommandId, EffectId, Nonce};
use crate::input::{Creation, Input, Stamped};
use crate::outcome::{Outcome, OutcomeKind, Reason};
use crate::policy::Role;
use crate::state::State;
use crate::time::{Millis, Timestamp};

mod approval;
mod attempt;
mod command;
mod execute;
mod fault;
mod finding;
mod last;
mod limit;
mod propose;
mod review;
mod revise;
mod run;
mod stop;
mod verify;

pub use revise::wanted_tasks;

/// The decision that begins a loop's log.
pub fn create(at: Timestamp, creation: Creation) -> Decision {
    let events = vec![Event::Loop(LoopEvent::Created(Box::new(creation)))];
    Decision { at, elapsed: Millis(0), closes: None, events, effects: Vec::new() }
}

/// What happens next. Pure: the same state and input give the same decision.
pub fn step(state: &State, input: &Stamped<Input>) -> Decision {
    let mut draft = Draft::new(state, input);
    match &input.what {
        Input::RunAsked(asked) => run::asked(&mut draft, asked),
        Input::Commanded { id, command } => command::taken(&mut draft, *id, command),
        Input::UnreadableCommand { id, why } => command::unreadable(&mut draft, *id, why),
        Input::DeadlinePassed => run::deadline_passed(&mut draft),
        Input::Interrupted { signal } => run::interrupted(&mut draft, signal),
        Input::StoreFull { detail } => fault::store_full(&mut draft, detail),
        Input::WorkMerged(_)
        | Input::WorkspaceReady
        | Input::AgentFinished(_)
        | Input::Snapshotted(_)
        | Input::GateReported(_)
        | Input::Landed
        | Input::StopChecked(_)
        | Input::EffectFailed(_)
        | Input::EffectDropped => closed(&mut draft, input),
    }
    draft.decide()
}

/// Why a command would be refused as things are. Nothing is decided.
pub fn refusal(state: &State, command: &Command) -> Option<String> {
    let id = CommandId(state.last_command.0 + 1);
    let input = Stamped {
        at: state.updated_at,
        elapsed: Millis(0),
        fresh: Nonce::new(""),
        closes: None,
        what: Input::Commanded { id, command: command.clone() },
    };
    match step(state, &input).answer_to(id) {
        Some(CommandAnswer::Refused { why }) => Some(why),
        Some(CommandAnswer::Done) | None => None,
    }
}

/// An input that closes an effect must answer the very effect it names.
fn closed(draft: &mut Draft, input: &Stamped<Input>) {
    let effect = input.closes.and_then(|id| draft.state.effect(id)).cloned();
    let Some(effect) = effect else {
        return draft.refuse(&input.what, "it closes no outstanding effect");
    };
    draft.closes = input.closes;
    match (effect, &input.what) {
        (Effect::MergeWork { task, head, .. }, Input::WorkMerged(merge)) => {
            run::work_merged(draft, task, head, merge)
        }
        (Effect::PrepareWorkspace { .. }, Input::WorkspaceReady) => execute::workspace_ready(draft),
        (Effect::CallAgent { attempt, role, .. }, Input::AgentFinished(finished)) => {
            attempt::finished(draft, attempt, role, finished)
        }
        (Effect::Snapshot(_), Input::Snapshotted(taken)) => execute::snapshotted(draft, taken),
        (Effect::RunGate { purpose, tree, trusted, regression, checks }, Input::GateReported(report)) => {
            let trials = Trials { landing: tree, trusted, regression };
            verify::reported(draft, verify::Ran { purpose, trials, checks }, report)
        }
        (Effect::Land { commit, .. }, Input::Landed) => run::landed(draft, &commit),
        (Effect::CheckStop { tree }, Input::StopChecked(results)) => stop::checked(draft, tree, results),
        (effect, Input::EffectFailed(fault)) => fault::failed(draft, effect, fault),
        (effect, Input::EffectDropped) => run::dropped(draft, &effect),
        (effect, _) => {
            draft.closes = None;
            draft.refuse(&input.what, &format!("it does not answer {}", effect.name()));
        }
    }
}

/// A decision in the making: events are folded into a copy of the state as
/// they are emitted, so that each rule sees what the ones before it decided.
struct Draft {
    state: State,
    at: Timestamp,
    elapsed: Millis,
    fresh: Nonce,
    closes: Option<EffectId>,
    events: Vec<Event>,
    effects: Vec<crate::effect::Issued>,
}

impl Draft {
    fn new(state: &State, input: &Stamped<Input>) -> Self {
        let mut state = state.clone();
        state.spend(input.elapsed);
        Self {
            state,
            at: input.at,
            elapsed: input.elapsed,
            fresh: input.fresh.clone(),
            closes: None,
            events: Vec::new(),
            effects: Vec::new(),
        }
    }

    fn emit(&mut self, event: impl Into<Event>) {
        let event = event.into();
        self.state.note(self.at, &event);
        self.events.push(event);
    }

    fn enter(&mut self, phase: Phase) {
        self.emit(IterationEvent::PhaseEntered { phase });
    }

    fn perform(&mut self, effect: Effect) {
        let issued = self.state.issue(self.effects.len(), effect);
        self.effects.push(issued);
    }

    fn run_gate(&mut self, purpose: Purpose, trials: Trials, checks: Vec<String>) {
        let Trials { landing: tree, trusted, regression } = trials;
        self.perform(Effect::RunGate { purpose, tree, trusted, regression, checks });
    }

    fn refuse(&mut self, input: &Input, why: &str) {
        self.emit(OperatorEvent::InputRefused { input: input.name().to_owned(), why: why.to_owned() });
    }

    fn call(&mut self, role: Role) {
        let attempt = self.state.next_attempt;
        let iteration = self.state.current.as_ref().map_or(self.state.iterations, |c| c.iteration);
        let task = self.state.current_task().cloned();
        self.emit(AttemptEvent::Started { attempt, role, iteration, task });
        self.perform(Effect::CallAgent { attempt, role, nonce: self.fresh.clone() });
    }

    fn end(&mut self, kind: OutcomeKind, reason: Reason, detail: String) {
        let detail = if detail.is_empty() { reason.words().to_owned() } else { detail };
        self.emit(RunEvent::Ended { outcome: Outcome { kind, reason, detail } });
    }

    fn pause(&mut self, why: Reason, detail: String) {
        self.emit(PauseEvent::Paused { why, detail, undone: None });
    }

    fn decide(self) -> Decision {
        Decision {
            at: self.at,
            elapsed: self.elapsed,
            closes: self.closes,
            events: self.events,
            effects: self.effects,
        }
    }
}
