//! What a drive needs of the world, so that the world can be simulated.

use std::sync::Arc;

use windlass_core::effect::Effect;
use windlass_core::event::Decision;
use windlass_core::id::{EffectId, Nonce};
use windlass_core::input::Input;
use windlass_core::outcome::Fault;
use windlass_core::policy::{Policy, ProvenSandbox};
use windlass_core::state::{Deadline, Pause, State};
use windlass_core::time::{Millis, Timestamp};
use windlass_core::view::View;
use windlass_store::Store;

use crate::drive_loop::DriveLoopError;

pub trait World {
    /// The time, and what else the core may not make itself.
    fn stamp(&mut self) -> Stamp;

    /// How programs are confined in it, as it was proven.
    fn sandbox(&self) -> ProvenSandbox;

    /// The policy that the next effect is performed by: whatever follows from
    /// it is made anew if it has changed. Returns how programs are confined
    /// from here on, where that is another way.
    fn follow(&mut self, _policy: &Policy) -> Result<Option<ProvenSandbox>, Fault> {
        Ok(None)
    }

    /// Begins to perform an effect. Its end arrives as `Happening::Closed`.
    fn start(&mut self, id: EffectId, effect: &Effect, state: &State);

    /// Asks the effect being performed to end soon; it still arrives as closed.
    fn stop(&mut self);

    /// The next thing that happens, no later than `deadline`.
    fn wait(&mut self, deadline: Option<Deadline>) -> Happening;

    /// Nothing is performed, and a pause holds back what is next: say so.
    fn held(&mut self, _pause: &Pause) {}

    /// A decision is durable and folded: show it.
    fn publish(&mut self, view: &View, decision: &Decision);
}

/// Where a loop's world is made, once its lease is held.
pub trait Worlds {
    fn stamp(&mut self) -> Stamp;

    /// Whether this process is asked to stop.
    fn is_interrupted(&self) -> bool {
        false
    }

    /// Makes sure that nothing of an earlier drive is alive, then opens the
    /// loop's world.
    fn open(&mut self, store: &Arc<dyn Store>, state: &State) -> Result<Box<dyn World + '_>, DriveLoopError>;
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
    /// There may be a new command in the inbox.
    Woken,
    DeadlinePassed,
    Signalled {
        signal: String,
    },
    /// The world itself broke; nothing more will come from it.
    Broken {
        why: String,
    },
}

/// The end of an effect, and what it came to.
#[derive(Debug)]
pub struct Closed {
    pub effect: EffectId,
    pub input: Input,
}
