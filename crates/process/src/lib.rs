//! Runs one command: confined, bounded, killable.
//!
//! The long-lived process never forks. [`Spawner::start`] starts a *warden*, a hidden mode of the same
//! binary ([`warden_main`]), and the warden stands over one attempt: it writes down who it is, starts the
//! program, keeps its output in files of bounded size, holds it to its limits, and leaves only when every
//! process of the attempt is dead. When the supervisor dies, its pipe closes and the warden kills the tree.
//! [`end_leftovers`] is the other half: after a crash it makes sure that nothing of an old attempt is alive.
//!
//! A [`Confinement`] says what the program may reach and how it is kept to that; [`Spawner::prove`] finds out by
//! attack whether a [`SandboxLevel`](windlass_core::policy::SandboxLevel) holds on this machine, and [`missed_level`] says what to do where it does not.
//!
//! Not here: what is run and why (agent, gate, workspace), what its output means, retries, and which level is
//! good enough. Nothing is inherited by a program but the environment it is given. Linux only, 5.9 or newer:
//! neither PID namespaces nor subreapers exist elsewhere, and without one of them "nothing is alive" could not
//! be proven.

#![allow(
    clippy::disallowed_methods,
    reason = "this crate spawns, and bounds its own waits on a monotonic clock"
)]

#[cfg(not(target_os = "linux"))]
compile_error!(
    "windlass-process needs Linux: it proves that an attempt is dead by a PID namespace or a subreaper"
);

mod activity;
mod container;
mod detached;
mod finished;
mod orphans;
mod procfs;
mod program;
mod ptrace;
mod record;
mod recover;
mod resources;
mod running;
mod sandbox;
mod spawner;
mod sweep;
mod sys;
mod warden;
mod wire;

pub use activity::Stall;
pub use container::{
    Client, ClientError, CommandLine, Container, ContainerError, Engine, Image,
    command_line as container_command_line,
};
pub use detached::{DetachedProgram, start_detached};
pub use finished::{Capture, Containment, Finished, ProgramExit};
pub use program::{LayeredDir, Program, ProgramLimits, ThrowawayTree, remove_tree};
pub use record::{ATTEMPT_VARIABLE, clear_attempt, last_activity};
pub use recover::{EndedAttempt, LeftoverEnd, Leftovers, LeftoversError, end_leftovers};
pub use resources::{Trip, machine_memory};
pub use running::{Canceller, RunningProgram};
pub use sandbox::{
    Alias, Attempted, Confinement, Inspection, Reach, SandboxProof, missed_level, proxy_environment, remedy,
};
pub use spawner::{Capabilities, Spawner, StartError};
pub use warden::{WARDEN_ARG, warden_main};
