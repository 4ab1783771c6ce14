//! The real world: effects on a thread of their own, commands from the store,
//! signals from the kernel, time from the clock.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use windlass_agent::live::Live;
use windlass_core::effect::Effect;
use windlass_core::event::Decision;
use windlass_core::id::{CommandId, EffectId, LoopName};
use windlass_core::state::State;
use windlass_core::time::Timestamp;
use windlass_store::Reader;

use crate::clock::{self, Clock};
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
    worker: Option<JoinHandle<()>>,
    _signals: Watch,
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
            worker: None,
            _signals: signals,
        })
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
        if let Some(done) = self.worker.take() {
            let ended = done.join();
            debug_assert!(ended.is_ok(), "a performer does not panic");
        }
        self.workshop.begin();
        let job = Job::new(effect, state);
        let (workshop, to) = (Arc::clone(&self.workshop), self.to.clone());
        let work = move || {
            let (input, blobs) = workshop.perform(job);
            // The drive may be gone already; then nobody waits for this.
            let _ = to.send(Happening::Closed(Closed { effect: id, input, blobs }));
        };
        match std::thread::Builder::new().name("perform".to_owned()).spawn(work) {
            Ok(worker) => self.worker = Some(worker),
            Err(error) => {
                let why = format!("cannot start a thread: {error}");
                let _ = self.to.send(Happening::Broken { why });
            }
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
                Ok(happening) => return happening,
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
