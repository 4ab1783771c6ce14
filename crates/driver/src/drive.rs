//! The drive loop: select, step, append, apply, perform, publish.

use windlass_core::event::Decision;
use windlass_core::id::EffectId;
use windlass_core::input::{AgentFinished, Asked, AttemptEnd, Input};
use windlass_core::outcome::{Outcome, Reason};
use windlass_core::state::{Duty, Lifecycle, Pause};

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

pub struct Drive<'w> {
    journal: Journal,
    world: &'w mut dyn World,
    /// The effect being performed: one at a time.
    running: Option<Running>,
    /// The last decision, until it is shown: that happens while its effect is
    /// being performed, and before anything else is decided.
    unpublished: Option<Decision>,
    /// The loop took up the request to run. One that was paused before has not.
    under_way: bool,
}

struct Running {
    stopping: bool,
}

impl<'w> Drive<'w> {
    pub fn new(journal: Journal, world: &'w mut dyn World) -> Self {
        Self { journal, world, running: None, unpublished: None, under_way: false }
    }

    /// Drives the loop until it rests. Nothing of an earlier drive may be
    /// alive: whoever calls this has made sure.
    pub fn run(mut self, asked: Asked) -> Result<Ended, DriveError> {
        let ended = self.drive(asked);
        self.publish();
        ended
    }

    /// Ends a run that is being cancelled and that nobody drives: what its last
    /// driver left is recorded, the rest is dropped. The same holds of what is
    /// alive.
    pub fn wind_down(mut self) -> Result<(), DriveError> {
        let ended = self.end_cancelled();
        self.publish();
        ended
    }

    fn drive(&mut self, asked: Asked) -> Result<Ended, DriveError> {
        self.take_commands()?;
        self.take(None, Input::RunAsked(asked))?;
        self.close_lost()?;
        self.under_way = self.journal.state().paused.is_none();
        loop {
            if let Some(ended) = self.at_rest() {
                return Ok(ended);
            }
            self.begin_or_end_effects()?;
            if let Some(ended) = self.at_rest() {
                return Ok(ended);
            }
            self.wait()?;
        }
    }

    fn end_cancelled(&mut self) -> Result<(), DriveError> {
        self.close_lost()?;
        while self.journal.state().cancelling && self.journal.state().may_perform() {
            self.begin_or_end_effects()?;
            if self.running.is_some() {
                self.wait()?;
            }
        }
        Ok(())
    }

    fn wait(&mut self) -> Result<(), DriveError> {
        self.publish();
        if let Some(pause) = self.journal.state().paused.as_ref().filter(|_| self.running.is_none()) {
            self.world.held(pause);
        }
        let deadline = self.journal.state().next_deadline().filter(|_| self.running.is_none());
        match self.world.wait(deadline) {
            Happening::Closed(closed) => self.closed(closed),
            Happening::Woken => self.take_commands(),
            Happening::DeadlinePassed => self.take(None, Input::DeadlinePassed),
            Happening::Signalled { signal } => self.take(None, Input::Interrupted { signal }),
            Happening::Broken { why } => Err(DriveError::World(why)),
        }
    }

    fn take_commands(&mut self) -> Result<(), DriveError> {
        for command in self.journal.waiting_commands()? {
            self.take(None, command)?;
        }
        Ok(())
    }

    fn close_lost(&mut self) -> Result<(), DriveError> {
        for effect in self.journal.state().lost_with_driver() {
            let lost = AgentFinished::ended(AttemptEnd::Lost);
            self.take(Some(effect), Input::AgentFinished(Box::new(lost)))?;
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
            Lifecycle::Idle | Lifecycle::Driving => {
                state.paused.clone().filter(|pause| !self.waits_through(pause)).map(Ended::Paused)
            }
        }
    }

    /// Whoever paused a loop that is driven resumes it, and nothing else is to be
    /// mended: the drive stays. Any other pause ends it.
    fn waits_through(&self, pause: &Pause) -> bool {
        self.under_way && pause.why == Reason::Operator && pause.undone.is_none()
    }

    fn begin_or_end_effects(&mut self) -> Result<(), DriveError> {
        let state = self.journal.state();
        if self.running.is_some() {
            if state.cancelling || state.lifecycle == Lifecycle::Interrupted {
                self.stop_running();
            }
            return Ok(());
        }
        while let Some(Duty::Drop(id)) = self.journal.state().next_duty() {
            self.take(Some(id), Input::EffectDropped)?;
        }
        self.follow_policy()?;
        if let Some(Duty::Perform(id, effect)) = self.journal.state().next_duty() {
            tracing::debug!(effect = id.0, name = effect.name(), "effect begins");
            self.world.start(id, effect, self.journal.state());
            self.running = Some(Running { stopping: false });
        }
        Ok(())
    }

    /// An effect is performed by the policy in force, or fails where the world
    /// cannot follow it. To go on in another way may take up what was kept, so
    /// it is looked again.
    fn follow_policy(&mut self) -> Result<(), DriveError> {
        while let Some(Duty::Perform(effect, _)) = self.journal.state().next_duty() {
            match self.world.follow(self.journal.state().policy()) {
                Ok(None) => return Ok(()),
                Ok(Some(_)) if self.journal.state().lifecycle != Lifecycle::Driving => {}
                Ok(Some(sandbox)) => {
                    let asked = self.journal.state().asked_from_here(sandbox);
                    self.take(None, Input::RunAsked(asked))?;
                }
                Err(fault) => self.take(Some(effect), Input::EffectFailed(fault))?,
            }
        }
        Ok(())
    }

    fn stop_running(&mut self) {
        if let Some(running) = self.running.as_mut().filter(|running| !running.stopping) {
            running.stopping = true;
            tracing::debug!("effect is asked to stop");
            self.world.stop();
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
        self.take(Some(closed.effect), closed.input)
    }

    fn take(&mut self, closes: Option<EffectId>, what: Input) -> Result<(), DriveError> {
        self.publish();
        let stamp = self.world.stamp();
        let input = what.name();
        let decision = self.journal.take(stamp, closes, what)?;
        tracing::debug!(
            seq = self.journal.state().seq.0,
            input,
            closes = closes.map(|effect| effect.0),
            events = decision.events.len(),
            "decided"
        );
        self.unpublished = Some(decision);
        Ok(())
    }

    fn publish(&mut self) {
        if let Some(decision) = self.unpublished.take() {
            self.world.publish(self.journal.view(), &decision);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use windlass_core::effect::Effect;
    use windlass_core::id::{BlobId, CommitId, LoopName, Nonce, TaskId, TreeId};
    use windlass_core::input::Creation;
    use windlass_core::outcome::Fault;
    use windlass_core::policy::{Policy, ProvenSandbox, SandboxLevel};
    use windlass_core::state::{Deadline, State};
    use windlass_core::step;
    use windlass_core::task::{Plan, Task};
    use windlass_core::time::{Millis, Timestamp};
    use windlass_core::view::View;
    use windlass_store::{MemoryStore, Store};

    use super::*;
    use crate::world::Stamp;

    type Followed = Result<Option<ProvenSandbox>, Fault>;

    /// Answers to a changed policy like this, and is interrupted in its first effect.
    struct OtherPolicy {
        follows: std::vec::IntoIter<Followed>,
        running: Option<EffectId>,
        started: Vec<&'static str>,
    }

    impl World for OtherPolicy {
        fn stamp(&mut self) -> Stamp {
            Stamp { at: Timestamp(1), elapsed: Millis(0), fresh: Nonce::new("fresh") }
        }

        fn sandbox(&self) -> ProvenSandbox {
            ProvenSandbox::default()
        }

        fn follow(&mut self, _: &Policy) -> Result<Option<ProvenSandbox>, Fault> {
            self.follows.next().unwrap_or(Ok(None))
        }

        fn start(&mut self, id: EffectId, effect: &Effect, _: &State) {
            self.running = Some(id);
            self.started.push(effect.name());
        }

        fn stop(&mut self) {}

        fn wait(&mut self, _: Option<Deadline>) -> Happening {
            match self.running.take() {
                Some(effect) if self.started.len() > 1 => {
                    Happening::Closed(Closed { effect, input: Input::EffectDropped })
                }
                running => {
                    self.running = running;
                    self.started.push("signal");
                    Happening::Signalled { signal: "SIGINT".to_owned() }
                }
            }
        }

        fn publish(&mut self, _: &View, _: &Decision) {}
    }

    fn driven(follows: Vec<Followed>) -> (Ended, View, Vec<&'static str>) {
        let task = Task::plain(TaskId::new("a"), "a".to_owned(), BlobId::new("text"));
        let creation = Creation {
            name: LoopName::new("demo").unwrap(),
            goal: String::new(),
            plan: Plan { tasks: vec![task], tools: Vec::new() },
            policy: Policy::default(),
            base: CommitId::new("base"),
            base_tree: TreeId::new("tree"),
            trusted: None,
            branch: "windlass/demo".to_owned(),
            workspace: String::new(),
        };
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let name = creation.name.clone();
        Journal::create(Arc::clone(&store), &step::create(Timestamp(0), creation)).unwrap();
        let mut world = OtherPolicy { follows: follows.into_iter(), running: None, started: Vec::new() };
        let journal = Journal::open(Arc::clone(&store), &name).unwrap();
        let ended = Drive::new(journal, &mut world).run(Asked { max: 3, ..Asked::default() }).unwrap();
        let journal = Journal::open(store, &name).unwrap();
        assert_eq!(journal.state().run.asked.max, 3);
        (ended, journal.view().clone(), world.started)
    }

    #[test]
    fn another_way_to_confine_is_on_record_before_a_program_runs() {
        let proven = ProvenSandbox { level: SandboxLevel::Landlock, ..ProvenSandbox::default() };
        let (ended, view, started) = driven(vec![Ok(Some(proven))]);
        assert_eq!((ended, started), (Ended::Interrupted, vec!["prepare_workspace", "signal"]));
        assert_eq!(view.sandbox, SandboxLevel::Landlock);
    }

    #[test]
    fn a_policy_that_the_world_cannot_follow_pauses_before_the_effect() {
        let fault = Fault { reason: Reason::SandboxUnavailable, detail: "no such level".to_owned() };
        let changed = Ok(Some(ProvenSandbox { level: SandboxLevel::Landlock, ..ProvenSandbox::default() }));
        for follows in [vec![Err(fault.clone())], vec![changed, Err(fault)]] {
            let (ended, view, started) = driven(follows);
            let Ended::Paused(pause) = ended else { panic!("{ended:?}") };
            assert_eq!((pause.why, pause.detail.as_str()), (Reason::SandboxUnavailable, "no such level"));
            assert_eq!(started, Vec::<&str>::new(), "nothing was performed");
            assert_eq!(view.outcome, None);
        }
    }
}
