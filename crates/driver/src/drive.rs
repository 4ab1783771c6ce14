//! The loop of the loop: select, step, append, apply, perform, publish.

use windlass_core::effect::Effect;
use windlass_core::event::Decision;
use windlass_core::id::EffectId;
use windlass_core::input::{AgentFinished, Asked, AttemptEnd, Input, Stamped};
use windlass_core::outcome::Outcome;
use windlass_core::state::{Lifecycle, Pause, State};
use windlass_store::Blob;

use crate::journal::{Journal, JournalError};
use crate::world::{Closed, Happening, World};

/// Why a drive came to rest.
#[derive(Clone, Debug, PartialEq)]
pub enum Ended {
    Outcome(Outcome),
    Paused(Pause),
    Interrupted,
}

#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("{0}")]
    World(String),
}

pub struct Drive<'j, 'a, 'w> {
    journal: &'j mut Journal<'a>,
    world: &'w mut dyn World,
    /// The effect being performed: one at a time.
    running: Option<Running>,
    /// The last decision, until it is shown: that happens while its effect is
    /// being performed, and before anything else is decided.
    unpublished: Option<Decision>,
}

struct Running {
    stopping: bool,
}

impl<'j, 'a, 'w> Drive<'j, 'a, 'w> {
    pub fn new(journal: &'j mut Journal<'a>, world: &'w mut dyn World) -> Self {
        Self { journal, world, running: None, unpublished: None }
    }

    /// Drives the loop until it rests. Nothing of an earlier drive may be
    /// alive: whoever calls this has made sure.
    pub fn run(mut self, asked: Asked) -> Result<Ended, DriveError> {
        let ended = self.drive(asked);
        self.publish();
        ended
    }

    fn drive(&mut self, asked: Asked) -> Result<Ended, DriveError> {
        self.take(None, Input::RunAsked(asked), Vec::new())?;
        self.close_lost()?;
        loop {
            if let Some(ended) = self.at_rest() {
                return Ok(ended);
            }
            self.begin_or_end_effects()?;
            if let Some(ended) = self.at_rest() {
                return Ok(ended);
            }
            self.publish();
            let deadline = self.journal.state().next_deadline().filter(|_| self.running.is_none());
            let happening = self.world.wait(deadline);
            self.happened(happening)?;
        }
    }

    /// An attempt that ran when its driver died is never adopted.
    fn close_lost(&mut self) -> Result<(), DriveError> {
        let lost: Vec<EffectId> = outstanding(self.journal.state(), is_call);
        for effect in lost {
            self.take(
                Some(effect),
                Input::AgentFinished(Box::new(AgentFinished::ended(AttemptEnd::Lost))),
                Vec::new(),
            )?;
        }
        Ok(())
    }

    fn at_rest(&self) -> Option<Ended> {
        let state = self.journal.state();
        if self.running.is_some() {
            return None;
        }
        match &state.lifecycle {
            Lifecycle::Ended(outcome) => Some(Ended::Outcome(outcome.clone())),
            Lifecycle::Interrupted => Some(Ended::Interrupted),
            Lifecycle::Idle | Lifecycle::Driving => state.paused.clone().map(Ended::Paused),
        }
    }

    fn begin_or_end_effects(&mut self) -> Result<(), DriveError> {
        let state = self.journal.state();
        if state.cancelling || state.lifecycle == Lifecycle::Interrupted {
            self.stop_running();
        }
        if self.journal.state().cancelling && self.running.is_none() {
            self.drop_what_never_started()?;
        }
        let state = self.journal.state();
        if self.running.is_some() || !state.may_perform() {
            return Ok(());
        }
        if let Some((id, effect)) = state.outstanding().next() {
            self.world.start(id, effect, state);
            self.running = Some(Running { stopping: false });
        }
        Ok(())
    }

    fn stop_running(&mut self) {
        if let Some(running) = self.running.as_mut().filter(|running| !running.stopping) {
            running.stopping = true;
            self.world.stop();
        }
    }

    /// A cancelled run still records the tree its author left, and finds out
    /// about a landing that an earlier drive may have done.
    fn drop_what_never_started(&mut self) -> Result<(), DriveError> {
        let may_be_dropped = |effect: &Effect| !matches!(effect, Effect::Snapshot(_) | Effect::Land { .. });
        for effect in outstanding(self.journal.state(), may_be_dropped) {
            self.take(Some(effect), Input::EffectDropped, Vec::new())?;
        }
        Ok(())
    }

    fn happened(&mut self, happening: Happening) -> Result<(), DriveError> {
        match happening {
            Happening::Closed(closed) => self.closed(closed),
            Happening::Commanded { id, command } => {
                self.take(None, Input::Commanded { id, command }, Vec::new())
            }
            Happening::DeadlinePassed => self.take(None, Input::DeadlinePassed, Vec::new()),
            Happening::Signalled { signal } => self.take(None, Input::Interrupted { signal }, Vec::new()),
            Happening::Broken { why } => Err(DriveError::World(why)),
        }
    }

    /// A step of windlass's own that was cut short stays on the list and is
    /// done again, unless the run is being cancelled.
    fn closed(&mut self, closed: Closed) -> Result<(), DriveError> {
        self.running = None;
        let cut_short = matches!(closed.input, Input::EffectDropped);
        if cut_short && !self.journal.state().cancelling {
            return Ok(());
        }
        self.take(Some(closed.effect), closed.input, closed.blobs)
    }

    fn take(&mut self, closes: Option<EffectId>, what: Input, blobs: Vec<Blob>) -> Result<(), DriveError> {
        self.publish();
        let stamp = self.world.stamp();
        let input = Stamped { at: stamp.at, elapsed: stamp.elapsed, fresh: stamp.fresh, closes, what };
        self.unpublished = Some(self.journal.take(&input, blobs)?);
        Ok(())
    }

    fn publish(&mut self) {
        if let Some(decision) = self.unpublished.take() {
            self.world.publish(self.journal.state(), &decision);
        }
    }
}

fn outstanding(state: &State, which: impl Fn(&Effect) -> bool) -> Vec<EffectId> {
    state.outstanding().filter(|(_, effect)| which(effect)).map(|(id, _)| id).collect()
}

fn is_call(effect: &Effect) -> bool {
    match effect {
        Effect::CallAgent { .. } => true,
        Effect::PrepareWorkspace { .. }
        | Effect::Snapshot(_)
        | Effect::RunGate { .. }
        | Effect::Land { .. } => false,
    }
}
