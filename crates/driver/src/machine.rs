//! The real world: effects on a thread of their own, commands from the store,
//! signals from the kernel, time from the clock.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use windlass_core::effect::Effect;
use windlass_core::event::Decision;
use windlass_core::id::{CommandId, EffectId, LoopName};
use windlass_core::input::Input;
use windlass_core::live::Live;
use windlass_core::outcome::{Fault, Reason};
use windlass_core::state::State;
use windlass_core::time::Timestamp;
use windlass_store::{Blob, Reader};

use crate::clock::{self, Clock};
use crate::operate::LEFTOVERS_PATIENCE;
use crate::perform::{Job, Workshop};
use crate::signal::{self, Watch};
use crate::world::{Closed, Happening, Stamp, World};

/// How long a command may lie unread.
const LOOK_AROUND: Duration = Duration::from_millis(150);

/// Sees every decision, and a tick now and then, to show them.
pub trait Observer {
    fn decided(&mut self, state: &State, decision: &Decision);
    fn ticked(&mut self) {}
    /// What an agent says or does at this moment. It decides nothing.
    fn heard(&mut self, _live: &Live) {}
    /// Something that does not stop the drive, but that a person should know.
    fn warned(&mut self, _text: &str) {}
}

pub struct Machine<'o> {
    workshop: Arc<Workshop>,
    observer: &'o mut dyn Observer,
    name: LoopName,
    commands: Reader,
    last_command: CommandId,
    clock: Clock,
    to: SyncSender<Happening>,
    from: Receiver<Happening>,
    live: Receiver<Live>,
    performer: Option<Performer>,
    _signals: Watch,
}

/// The thread that performs effects, one after the other: to start one for each would take longer than some effects.
struct Performer {
    jobs: Option<SyncSender<(EffectId, Job)>>,
    thread: Option<JoinHandle<()>>,
    /// Given an effect, and not heard of since.
    busy: bool,
}

impl Performer {
    fn start(workshop: Arc<Workshop>, to: SyncSender<Happening>) -> std::io::Result<Self> {
        let (jobs, given) = sync_channel::<(EffectId, Job)>(1);
        let work = move || {
            for (effect, job) in given {
                let (input, blobs) = contained(&workshop, job);
                // The drive may be gone already; then nobody waits for this.
                let _ = to.send(Happening::Closed(Closed { effect, input, blobs }));
            }
        };
        let thread = std::thread::Builder::new().name("perform".to_owned()).spawn(work)?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread), busy: false })
    }

    fn perform(&mut self, id: EffectId, job: Job) -> bool {
        self.busy = self.jobs.as_ref().is_some_and(|jobs| jobs.send((id, job)).is_ok());
        self.busy
    }
}

/// A panic ends its effect, not the drive: nothing of it is left alive, and the
/// loop pauses with what happened.
fn contained(workshop: &Workshop, job: Job) -> (Input, Vec<Blob>) {
    let (what, name) = (job.effect().name(), job.loop_name().clone());
    let performed = std::panic::catch_unwind(AssertUnwindSafe(|| workshop.perform(job)));
    performed.unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<String>().map(String::as_str);
        let said = said.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without words");
        let left = windlass_process::end_leftovers(&workshop.dirs.attempts(&name), LEFTOVERS_PATIENCE);
        let left = left.err().map(|error| format!("; {error}")).unwrap_or_default();
        let detail = format!("windlass has a defect, please report it: {what}: {said}{left}");
        (Input::EffectFailed(Fault { reason: Reason::InternalError, detail }), Vec::new())
    })
}

impl Drop for Performer {
    /// Without waiting for an effect that nobody wants any more.
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take().filter(|_| !self.busy) {
            let ended = thread.join();
            debug_assert!(ended.is_ok(), "a performer does not panic");
        }
    }
}

impl<'o> Machine<'o> {
    pub fn new(
        workshop: Workshop,
        name: LoopName,
        (commands, live): (Reader, Receiver<Live>),
        observer: &'o mut dyn Observer,
    ) -> std::io::Result<Self> {
        let (to, from) = sync_channel(16);
        let signals = signal::watch(to.clone())?;
        Ok(Self {
            workshop: Arc::new(workshop),
            observer,
            name,
            commands,
            last_command: CommandId(0),
            clock: Clock::new(),
            to,
            from,
            live,
            performer: None,
            _signals: signals,
        })
    }

    fn perform(&mut self, id: EffectId, job: Job) -> Result<(), String> {
        let performer = match self.performer.take() {
            Some(performer) => performer,
            None => Performer::start(Arc::clone(&self.workshop), self.to.clone())
                .map_err(|error| format!("cannot start a thread: {error}"))?,
        };
        match self.performer.insert(performer).perform(id, job) {
            true => Ok(()),
            false => Err("the thread that performs effects has ended".to_owned()),
        }
    }

    fn next_command(&mut self) -> Option<Happening> {
        let waiting = match self.commands.untaken(&self.name, self.last_command) {
            Ok(waiting) => waiting,
            Err(fault) => return Some(Happening::Broken { why: fault.to_string() }),
        };
        let row = waiting.into_iter().next()?;
        self.last_command = row.id;
        match serde_json::from_str(&row.body) {
            Ok(command) => Some(Happening::Commanded { id: row.id, command }),
            Err(error) => Some(Happening::Broken { why: format!("command {}: {error}", row.id) }),
        }
    }
}

impl World for Machine<'_> {
    fn stamp(&mut self) -> Stamp {
        self.clock.stamp()
    }

    fn start(&mut self, id: EffectId, effect: &Effect, state: &State) {
        self.workshop.begin();
        let job = Job::new(effect, state);
        if let Err(why) = self.perform(id, job) {
            let _ = self.to.send(Happening::Broken { why });
        }
    }

    fn stop(&mut self) {
        self.workshop.stop();
    }

    fn wait(&mut self, deadline: Option<Timestamp>) -> Happening {
        loop {
            if let Some(command) = self.next_command() {
                return command;
            }
            if deadline.is_some_and(|deadline| clock::wall() >= deadline) {
                return Happening::DeadlinePassed;
            }
            let happening = self.from.recv_timeout(LOOK_AROUND);
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

    fn publish(&mut self, state: &State, decision: &Decision) {
        self.observer.decided(state, decision);
    }
}
