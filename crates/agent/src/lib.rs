//! Brief in, Report out: calls an agent for one turn and hears what it says.
//!
//! [`brief`] renders what an agent is told, [`adapter`] finds the [`Agent`] that a policy names, its
//! [`Agent::call`] runs one turn under a warden, and [`report`] reads what the turn claims. The end of the
//! turn is put into a class by [`failure`] and says nothing about the work. [`registry`] lists the coding
//! agents that windlass knows; [`cli`] has how each is called, what its lines mean (core's `live`), and
//! when its limits end ([`reset`]).
//!
//! Not here: judging any of it (core), the workspace and its trees (workspace), keeping transcripts (the
//! driver and store), and killing (process). Nothing an agent prints is believed; only its report is read, from
//! its file or from an output [`schema`], and only with the nonce of its own attempt.

mod acp;
mod agent;
mod attempt;
mod bound;
pub mod brief;
mod claim;
pub mod cli;
mod command;
pub mod failure;
mod follow;
mod known;
pub mod registry;
mod relay;
pub mod report;
pub mod reset;
pub mod schema;
mod scripted;
mod transcript;
mod usage;
mod version;

pub use acp::{ACP_ARG, acp_main};
pub use agent::{
    Agent, AttemptNames, TurnRequest, TurnResult, UnknownAdapter, Unusable, Wall, WallSource, adapter,
};
pub use attempt::{INSIDE_VARIABLE, REPORT_PATH};
pub use known::{InstallLookup, Installed, installed};
pub use scripted::{SCRIPTED_ARG, ScriptError, scripted_main};
pub use transcript::{STDERR_MARK, retell};
