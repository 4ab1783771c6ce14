//! The real world: effects on a thread of their own, wakes from the store,
//! interrupts from the process, time from the clock.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use windlass_core::effect::Effect;
use windlass_core::event::Decision;
use windlass_core::id::EffectId;
use windlass_core::input::Input;
use windlass_core::live::Live;
use windlass_core::outcome::{Fault, Reason};
use windlass_core::policy::{Policy, ProvenSandbox};
use windlass_core::state::{Deadline, Pause, State};
use windlass_core::view::View;
use windlass_store::{Followed, StoreError, Subscription};

use crate::clock::Clock;
use crate::drive_loop::LEFTOVERS_PATIENCE;
use crate::interrupt::{Interrupts, Listening};
use crate::perform::{EffectRequest, EffectResources};
use crate::performer::{EndEffect, Performer};
use crate::world::{Closed, Happening, Stamp, World};

/// How often whoever watches is given the chance to show that time passes.
const TICK: Duration = Duration::from_millis(150);

/// Sees every decision, and a tick now and then, to show them.
pub trait Observer {
    /// The View is of the loop after the decision.
    fn decided(&mut self, view: &View, decision: &Decision);
    fn ticked(&mut self) {}
    /// What an agent says or does at this moment. It decides nothing.
    fn heard(&mut self, _live: &Live) {}
    /// Something that does not stop the drive, but that a person should know.
    fn warned(&mut self, _text: &str) {}
}

/// Nobody watches.
pub struct Unwatched;

impl Observer for Unwatched {
    fn decided(&mut self, _: &View, _: &Decision) {}
}

pub struct LocalWorld<'o> {
    resources: Arc<EffectResources>,
    observer: &'o mut dyn Observer,
    clock: Clock,
    to: SyncSender<Happening>,
    /// Before the performer, which may wait for room in it: what is gone has room.
    from: Receiver<Happening>,
    live: Receiver<Live>,
    performer: Option<Performer<Request>>,
    /// Told by the next wait: this thread is the only one that makes room in the channel.
    broken: Option<String>,
    _interrupts: Listening,
    _commands: Subscription,
}

struct Request {
    id: EffectId,
    request: EffectRequest,
}

impl EndEffect for Arc<EffectResources> {
    fn stop(&self) {
        EffectResources::stop(self);
    }

    fn kill(&self) {
        let attempts = self.dirs.attempts(&self.name);
        if let Err(error) = windlass_process::end_leftovers(&attempts, Duration::ZERO) {
            tracing::error!(%error, "an attempt goes on after its drive");
        }
    }
}

/// A panic ends its effect, not the drive: nothing of it is left alive, and the
/// loop pauses with what happened.
fn contained(resources: &EffectResources, request: EffectRequest) -> Input {
    let what = request.effect().name();
    let performed = std::panic::catch_unwind(AssertUnwindSafe(|| resources.perform(request)));
    performed.unwrap_or_else(|panic| {
        tracing::error!(what, "effect panicked");
        let said = panic.downcast_ref::<String>().map(String::as_str);
        let said = said.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without words");
        let left =
            windlass_process::end_leftovers(&resources.dirs.attempts(&resources.name), LEFTOVERS_PATIENCE);
        let left = left.err().map(|error| format!("; {error}")).unwrap_or_default();
        let detail = format!("windlass has a defect, please report it: {what}: {said}{left}");
        Input::EffectFailed(Fault { reason: Reason::InternalError, detail })
    })
}

impl<'o> LocalWorld<'o> {
    pub fn new(
        resources: EffectResources,
        live: Receiver<Live>,
        interrupts: &Interrupts,
        observer: &'o mut dyn Observer,
    ) -> Result<Self, StoreError> {
        let (to, from) = sync_channel(16);
        let signals = to.clone();
        let interrupted = move |signal: &str| {
            drop(signals.send(Happening::Signalled { signal: signal.to_owned() }));
        };
        // The first of all: an interrupt of before is told by this thread, and finds the channel empty.
        let listening = interrupts.listen(interrupted);
        let wakes = to.clone();
        // One that finds no room is one of many: the drive looks again anyway.
        let woken = Arc::new(move || drop(wakes.try_send(Happening::Woken)));
        let commands = resources.store.follow(&resources.name, Followed::Commands, woken)?;
        // What was sent before is waiting.
        drop(to.try_send(Happening::Woken));
        Ok(Self {
            resources: Arc::new(resources),
            observer,
            clock: Clock::new(),
            to,
            from,
            live,
            performer: None,
            broken: None,
            _interrupts: listening,
            _commands: commands,
        })
    }

    fn perform(&mut self, id: EffectId, request: EffectRequest) -> Result<(), String> {
        let performer = match self.performer.take() {
            Some(performer) => performer,
            None => self.performer().map_err(|error| format!("cannot start a thread: {error}"))?,
        };
        match self.performer.insert(performer).perform(Request { id, request }) {
            true => Ok(()),
            false => Err("the thread that performs effects has ended".to_owned()),
        }
    }

    fn performer(&self) -> std::io::Result<Performer<Request>> {
        let (resources, to) = (Arc::clone(&self.resources), self.to.clone());
        let perform = move |Request { id, request }| {
            fail::fail_point!("perform::thread");
            let input = contained(&resources, request);
            // The drive may be gone already; then nobody waits for this.
            let _ = to.send(Happening::Closed(Closed { effect: id, input }));
        };
        Performer::start(perform, Box::new(Arc::clone(&self.resources)), LEFTOVERS_PATIENCE)
    }

    /// What happened, if anything did within a tick.
    fn next(&mut self) -> Option<Happening> {
        if let Some(why) = self.broken.take() {
            return Some(Happening::Broken { why });
        }
        let lost = self.performer.as_ref().is_some_and(Performer::has_lost_its_effect);
        match self.from.recv_timeout(TICK) {
            Ok(happening) => Some(happening),
            // Looked at before: what was sent last has been received.
            Err(RecvTimeoutError::Timeout) if !lost => None,
            Err(RecvTimeoutError::Timeout) => {
                let why = "windlass has a defect, please report it: the thread that performs effects is gone";
                Some(Happening::Broken { why: why.to_owned() })
            }
            Err(RecvTimeoutError::Disconnected) => {
                Some(Happening::Broken { why: "every sender is gone".to_owned() })
            }
        }
    }
}

impl World for LocalWorld<'_> {
    fn stamp(&mut self) -> Stamp {
        self.clock.stamp()
    }

    fn sandbox(&self) -> ProvenSandbox {
        self.resources.safeguards.proven.clone()
    }

    fn follow(&mut self, policy: &Policy) -> Result<Option<ProvenSandbox>, Fault> {
        if self.resources.safeguards.are_of(policy) {
            return Ok(None);
        }
        tracing::debug!("the policy changed: safeguards are made anew");
        // Between two effects only an idle performer has them too.
        drop(self.performer.take());
        let detail = "the policy changed while an effect was performed".to_owned();
        let resources = Arc::get_mut(&mut self.resources);
        resources.ok_or(Fault { reason: Reason::InternalError, detail })?.follow(policy)
    }

    fn start(&mut self, id: EffectId, effect: &Effect, state: &State) {
        self.resources.begin();
        let request = EffectRequest::new(effect, state);
        self.broken = self.perform(id, request).err();
    }

    fn stop(&mut self) {
        self.resources.stop();
    }

    fn wait(&mut self, deadline: Option<Deadline>) -> Happening {
        loop {
            if deadline.is_some_and(|deadline| self.clock.has_passed(deadline)) {
                return Happening::DeadlinePassed;
            }
            let happening = self.next();
            while let Ok(live) = self.live.try_recv() {
                self.observer.heard(&live);
            }
            let Some(happening) = happening else {
                self.observer.ticked();
                continue;
            };
            if let (Happening::Closed(_), Some(performer)) = (&happening, &mut self.performer) {
                performer.closed();
            }
            return happening;
        }
    }

    fn held(&mut self, _: &Pause) {
        self.observer.heard(&Live::Held);
    }

    fn publish(&mut self, view: &View, decision: &Decision) {
        self.observer.decided(view, decision);
    }
}
