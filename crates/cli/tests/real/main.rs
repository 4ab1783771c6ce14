//! The real coding agents, as npm installs them, against a scripted model on loopback: confined as well as this
//! machine can, with nothing of the operator's home or environment.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    reason = "tests start real programs, read the clock for deadlines and the environment for switches"
)]

#[allow(dead_code, reason = "shared with the other end-to-end tests, which use more of it")]
#[path = "../it/case.rs"]
mod case;
#[allow(dead_code, reason = "shared with the other end-to-end tests, which use more of it")]
#[path = "../it/history.rs"]
mod history;
#[path = "../it/shape.rs"]
mod shape;

mod play;

mod acp;
mod asked;
mod failures;
mod first_task;
mod lies;
mod loops;
mod planning;
mod resumed;
mod waits;
