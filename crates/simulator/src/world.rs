//! The world a simulated loop is driven in: effects take their time, an operator
//! may act meanwhile, and the driver may die at any of these moments.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use windlass_core::effect::Effect;
use windlass_core::event::Decision;
use windlass_core::gate::Trials;
use windlass_core::id::{EffectId, Nonce};
use windlass_core::input::{AgentFinished, AttemptEnd, Input};
use windlass_core::policy::ProvenSandbox;
use windlass_core::state::{Deadline, State};
use windlass_core::time::Millis;
use windlass_core::view::View;
use windlass_driver::drive_loop::DriveLoopError;
use windlass_driver::{Closed, Happening, Stamp, World, Worlds};
use windlass_store::{Followed, Store, Subscription};

use crate::agent::{self, Turn};
use crate::operator::Act;
use crate::simulation::{Books, Situation, loop_name};
use crate::storage::locked;

/// What is being performed.
pub(crate) struct Performing {
    id: EffectId,
    effect: Effect,
    /// As it was when the effect was started.
    state: State,
    turn: Option<Turn>,
    stopping: bool,
    /// It was begun because the run is to stop: a tree to record, a landing to know of.
    begun_to_stop: bool,
}

pub(crate) struct SimulatedWorlds {
    pub(crate) books: Arc<Mutex<Books>>,
}

impl Worlds for SimulatedWorlds {
    fn stamp(&mut self) -> Stamp {
        locked(&self.books).stamp()
    }

    /// The wardens of an earlier drive have ended whatever ran.
    fn open(&mut self, store: &Arc<dyn Store>, _: &State) -> Result<Box<dyn World + '_>, DriveLoopError> {
        let woken = Arc::new(AtomicBool::new(false));
        let wake = Arc::clone(&woken);
        let wake = Arc::new(move || wake.store(true, Ordering::Relaxed));
        let commands = store.follow(&loop_name(), Followed::Commands, wake)?;
        let mut books = locked(&self.books);
        books.alive = None;
        books.last_stamp = None;
        books.shown = books.state.seq;
        if books.finds_no_world() {
            let source = std::io::Error::other("no world");
            return Err(DriveLoopError::File { path: "world".to_owned(), source });
        }
        let books = Arc::clone(&self.books);
        Ok(Box::new(SimulatedWorld { books, performing: None, woken, _commands: commands }))
    }
}

struct SimulatedWorld {
    books: Arc<Mutex<Books>>,
    performing: Option<Performing>,
    /// The store called because a command came.
    woken: Arc<AtomicBool>,
    _commands: Subscription,
}

impl World for SimulatedWorld {
    fn stamp(&mut self) -> Stamp {
        locked(&self.books).stamp()
    }

    fn sandbox(&self) -> ProvenSandbox {
        ProvenSandbox::default()
    }

    fn start(&mut self, id: EffectId, effect: &Effect, state: &State) {
        let mut books = locked(&self.books);
        if self.performing.is_some() {
            books.break_with("an effect is started while another is performed");
        }
        if books.is_dead() {
            books.break_with("an effect is started by a driver that is gone");
        }
        if !state.may_perform() {
            books.break_with("an effect is started that is held back");
        }
        let turn = match effect {
            Effect::CallAgent { attempt, role, .. } => {
                if let Some(other) = books.alive.replace(*attempt) {
                    books.break_with(&format!("attempt {attempt} starts beside attempt {other}"));
                }
                Some(books.begin_turn(state, *role))
            }
            Effect::MergeWork { .. }
            | Effect::PrepareWorkspace { .. }
            | Effect::Snapshot(_)
            | Effect::RunGate { .. }
            | Effect::Land { .. }
            | Effect::CheckStop { .. } => None,
        };
        let (effect, state) = (effect.clone(), state.clone());
        let begun_to_stop = books.wants_to_stop();
        self.performing = Some(Performing { id, effect, state, turn, stopping: false, begun_to_stop });
    }

    fn stop(&mut self) {
        let mut books = locked(&self.books);
        if !books.wants_to_stop() {
            books.break_with("an effect is stopped, and nobody wants it");
        }
        match &mut self.performing {
            Some(performing) if !performing.stopping => performing.stopping = true,
            Some(_) => books.break_with("an effect is stopped twice"),
            None => books.break_with("nothing is performed, and it is stopped"),
        }
    }

    fn wait(&mut self, deadline: Option<Deadline>) -> Happening {
        let mut books = locked(&self.books);
        books.all_is_shown();
        let goes_on = |performing: &Performing| !performing.stopping && !performing.begun_to_stop;
        if books.wants_to_stop() && self.performing.as_ref().is_some_and(goes_on) {
            books.break_with("a run is cancelled or interrupted, and what is performed goes on");
        }
        if books.is_broken() || books.dies() {
            return died();
        }
        let acted = books.operator_acts();
        if self.woken.swap(false, Ordering::Relaxed) {
            if !books.dies() {
                return Happening::Woken;
            }
            books.reached.insert(Situation::DiedBeforeTaking);
            return died();
        }
        match acted {
            Some(Act::Sent) => books.break_with("a command was sent, and it wakes nobody"),
            Some(Act::Signalled) => return Happening::Signalled { signal: "SIGTERM".to_owned() },
            None => {}
        }
        let Some(performing) = self.performing.take() else {
            return match deadline {
                None if books.state.paused.is_some() => match books.operator_ends_pause() {
                    Act::Sent => {
                        self.woken.store(false, Ordering::Relaxed);
                        Happening::Woken
                    }
                    Act::Signalled => Happening::Signalled { signal: "SIGTERM".to_owned() },
                },
                Some(deadline) => {
                    books.sleep(deadline);
                    Happening::DeadlinePassed
                }
                None => {
                    books.break_with("a drive waits, and there is nothing to wait for");
                    died()
                }
            };
        };
        let effect = performing.id;
        let input = perform(&mut books, &performing);
        if books.is_broken() || books.dies() {
            return died();
        }
        books.alive = None;
        Happening::Closed(Closed { effect, input })
    }

    /// What is shown is what the stored records fold to.
    fn publish(&mut self, view: &View, _: &Decision) {
        let mut books = locked(&self.books);
        if !books.is_dead() && *view != View::of(&books.state) {
            books.break_with("what is published is not the fold of the log");
        }
        books.shown = books.state.seq;
    }
}

fn died() -> Happening {
    Happening::Broken { why: "the driver died".to_owned() }
}

fn perform(books: &mut Books, performing: &Performing) -> Input {
    let Performing { effect, state, turn, .. } = performing;
    // What is told to stop may have been done a moment before.
    let in_time = performing.stopping && books.chance.one_in(4);
    let cut_short = performing.stopping && !in_time;
    if in_time {
        books.reached.insert(Situation::DoneDespiteStop);
    }
    if let Some(turn) = turn {
        books.facts.pass(turn.took);
    } else {
        books.facts.pass(Millis::seconds(2));
    }
    if let Some(fault) = books.fault(effect) {
        return Input::EffectFailed(fault);
    }
    let performed = match (effect, turn) {
        (Effect::CallAgent { .. }, Some(_)) if cut_short => {
            Ok(Input::AgentFinished(Box::new(AgentFinished::ended(AttemptEnd::Interrupted))))
        }
        (Effect::CallAgent { .. }, Some(turn)) => {
            let told = agent::report(turn, &books.facts, state, &mut books.agents);
            Ok(Input::AgentFinished(Box::new(told)))
        }
        (Effect::CallAgent { .. }, None) => Err("an attempt without a turn".to_owned()),
        (Effect::MergeWork { base, work, head, .. }, _) => books.facts.merge(base, work, head),
        (Effect::PrepareWorkspace { tree }, _) => books.facts.prepare(tree),
        (Effect::Snapshot(snapshot), _) => books.facts.snapshot(snapshot),
        (Effect::RunGate { .. } | Effect::CheckStop { .. }, _) if cut_short => Ok(Input::EffectDropped),
        (Effect::RunGate { tree, trusted, regression, checks, .. }, _) => {
            let (trusted, regression) = (trusted.clone(), regression.clone());
            let trials = Trials { landing: tree.clone(), trusted, regression };
            books.facts.gate(&trials, checks, &state.base().tree)
        }
        (Effect::CheckStop { tree }, _) => books.facts.stop(tree, &state.policy().stop),
        (Effect::Land { commit, expected, .. }, _) => Ok(books.facts.land(commit, expected.as_ref())),
    };
    performed.unwrap_or_else(|why| {
        books.break_with(&why);
        Input::EffectDropped
    })
}

/// Fresh text that the seed repeats.
pub(crate) fn nonce(draw: u64) -> Nonce {
    Nonce::new(format!("{draw:016x}"))
}
