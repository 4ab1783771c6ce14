//! Loops in a simulated world, driven by the real driver: `Drive`, `Journal`,
//! `operate` and the step from a lease to an outcome are those of the binary.
//! Simulated are the store's engine (in memory), time, and the world with its
//! workspace, vault, branch, agents and gates, as seeded models over abstract
//! trees.
//!
//! The driver may die at every boundary: before and after each record, while an
//! effect is performed, and between a command and its taking. Faults befall it:
//! of an effect, of the store, of its world, and a second owner that takes the
//! loop from it. An operator is at work, while a loop is driven and while nobody
//! drives it. After every record the
//! invariants are checked by `Audit`, which keeps books of its own. The same
//! seed gives the same loop.

pub mod agent;
pub mod audit;
mod backoff;
pub mod chance;
mod facts;
mod operator;
pub mod options;
mod simulation;
mod speed;
mod storage;
pub mod tree;
mod world;

pub use audit::Audit;
pub use options::{Agents, Crash, Operator, Options, PlanEnd, WallClock};
pub use simulation::{Broken, LoopEnd, Situation, Trace, simulate};
pub use speed::throughput;
