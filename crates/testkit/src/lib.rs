//! For tests only: real repositories, a scratch home, polling with a deadline,
//! honest reports of what could not be run, and the house rules as a test.
//!
//! Nothing here is mocked and nothing here ships: other crates may name this
//! one under `[dev-dependencies]` only. Calls panic, with the path or argv in
//! the message, instead of returning errors: a broken fixture is a failed test.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests start real programs, read the clock for deadlines and the environment for switches"
)]

pub mod alive;
pub mod capability;
pub mod denial;
pub mod fingerprint;
pub mod model;
pub mod package_index;
pub mod poll;
pub mod repo;
pub mod scratch;
pub mod stand_in;
pub mod tidy;

pub use fingerprint::{Fingerprint, fingerprint};
pub use repo::Repo;
pub use scratch::{Ran, Running, Scratch};
