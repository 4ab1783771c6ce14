//! What the drive needs of the world, so that the world can be simulated.

use windlass_core::effect::Effect;
use windlass_core::event::Decision;
use windlass_core::id::{CommandId, EffectId, Nonce};
use windlass_core::input::{Command, Input};
use windlass_core::state::State;
use windlass_core::time::{Millis, Timestamp};
use windlass_store::Blob;

pub trait World {
    /// The time, and what else the core may not make itself.
    fn stamp(&mut self) -> Stamp;

    /// Begins to perform an effect. Its end arrives as `Happening::Closed`.
    fn start(&mut self, id: EffectId, effect: &Effect, state: &State);

    /// Asks the effect being performed to end soon; it still arrives as closed.
    fn stop(&mut self);

    /// The next thing that happens, no later than `deadline`.
    fn wait(&mut self, deadline: Option<Timestamp>) -> Happening;

    /// A decision is durable and folded: show it.
    fn publish(&mut self, state: &State, decision: &Decision);
}

#[derive(Clone, Debug)]
pub struct Stamp {
    pub at: Timestamp,
    pub elapsed: Millis,
    pub fresh: Nonce,
}

#[derive(Debug)]
pub enum Happening {
    Closed(Closed),
    Commanded {
        id: CommandId,
        command: Command,
    },
    DeadlinePassed,
    Signalled {
        signal: String,
    },
    /// The world itself broke; nothing more will come from it.
    Broken {
        why: String,
    },
}

/// The end of an effect: what it came to, and the blobs that go with it.
#[derive(Debug)]
pub struct Closed {
    pub effect: EffectId,
    pub input: Input,
    pub blobs: Vec<Blob>,
}
