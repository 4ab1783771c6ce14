//! The real world: effects on a thread of their own, wakes from the store,
//! interrupts from the process, time from the clock.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use windlass_core::effect::Effect;
use windlass_core::event::Decision;
use windlass_core::id::EffectId;
use windlass_core::input::Input;
use windlass_core::live::Live;
use windlass_core::outcome::{Fault, Reason};
use windlass_core::policy::ProvenSandbox;
use windlass_core::state::State;
use windlass_core::time::Timestamp;
use windlass_core::view::View;
use windlass_store::{Followed, StoreError, Subscription};

use crate::clock::{self, Clock};
use crate::drive_loop::LEFTOVERS_PATIENCE;
use crate::interrupt::{Interrupts, Listening};
use crate::perform::{EffectRequest, EffectResources};
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
    from: Receiver<Happening>,
    live: Receiver<Live>,
    performer: Option<Performer>,
    _interrupts: Listening,
    _commands: Subscription,
}

/// The thread that performs effects, one after the other: to start one for each would take longer than some effects.
struct Performer {
    requests: Option<SyncSender<(EffectId, EffectRequest)>>,
    thread: Option<JoinHandle<()>>,
    /// Given an effect, and not heard of since.
    busy: bool,
}

impl Performer {
    fn start(resources: Arc<EffectResources>, to: SyncSender<Happening>) -> std::io::Result<Self> {
        let (requests, given) = sync_channel::<(EffectId, EffectRequest)>(1);
        let work = move || {
            for (effect, request) in given {
                let input = contained(&resources, request);
                // The drive may be gone already; then nobody waits for this.
                let _ = to.send(Happening::Closed(Closed { effect, input }));
            }
        };
        let thread = std::thread::Builder::new().name("perform".to_owned()).spawn(work)?;
        Ok(Self { requests: Some(requests), thread: Some(thread), busy: false })
    }

    fn perform(&mut self, id: EffectId, request: EffectRequest) -> bool {
        self.busy = self.requests.as_ref().is_some_and(|requests| requests.send((id, request)).is_ok());
        self.busy
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

impl Drop for Performer {
    /// Without waiting for an effect that nobody wants any more.
    fn drop(&mut self) {
        drop(self.requests.take());
        if let Some(thread) = self.thread.take().filter(|_| !self.busy) {
            let ended = thread.join();
            debug_assert!(ended.is_ok(), "a performer does not panic");
        }
    }
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
            _interrupts: interrupts.listen(interrupted),
            _commands: commands,
        })
    }

    fn perform(&mut self, id: EffectId, request: EffectRequest) -> Result<(), String> {
        let performer = match self.performer.take() {
            Some(performer) => performer,
            None => Performer::start(Arc::clone(&self.resources), self.to.clone())
                .map_err(|error| format!("cannot start a thread: {error}"))?,
        };
        match self.performer.insert(performer).perform(id, request) {
            true => Ok(()),
            false => Err("the thread that performs effects has ended".to_owned()),
        }
    }
}

impl World for LocalWorld<'_> {
    fn stamp(&mut self) -> Stamp {
        self.clock.stamp()
    }

    fn sandbox(&self) -> ProvenSandbox {
        self.resources.proven.clone()
    }

    fn start(&mut self, id: EffectId, effect: &Effect, state: &State) {
        self.resources.begin();
        let request = EffectRequest::new(effect, state);
        if let Err(why) = self.perform(id, request) {
            let _ = self.to.send(Happening::Broken { why });
        }
    }

    fn stop(&mut self) {
        self.resources.stop();
    }

    fn wait(&mut self, deadline: Option<Timestamp>) -> Happening {
        loop {
            if deadline.is_some_and(|deadline| clock::wall() >= deadline) {
                return Happening::DeadlinePassed;
            }
            let happening = self.from.recv_timeout(TICK);
            while let Ok(live) = self.live.try_recv() {
                self.observer.heard(&live);
            }
            match happening {
                Ok(happening) => {
                    if let (Happening::Closed(_), Some(performer)) = (&happening, &mut self.performer) {
                        performer.busy = false;
                    }
                    return happening;
                }
                Err(RecvTimeoutError::Timeout) => self.observer.ticked(),
                Err(RecvTimeoutError::Disconnected) => {
                    return Happening::Broken { why: "every sender is gone".to_owned() };
                }
            }
        }
    }

    fn publish(&mut self, view: &View, decision: &Decision) {
        self.observer.decided(view, decision);
    }
}
