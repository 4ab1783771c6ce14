//! A loop in a simulated world: virtual time, agents, gates and reviewers as
//! seeded models over abstract trees, a driver that may die at every boundary,
//! and an operator at work. After every decision the invariants are checked;
//! the same seed gives the same loop.
//!
//! The core is the real one. The driver's part is played by `drive`: select,
//! step, append, apply, perform.

pub mod agent;
pub mod audit;
pub mod chance;
mod drive;
mod operator;
pub mod options;
mod speed;
pub mod tree;
pub mod world;

pub use audit::Audit;
pub use drive::{Broken, End, Loop, Trace};
pub use options::{Agents, Crash, Operator, Options};
pub use speed::throughput;
