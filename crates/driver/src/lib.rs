//! Does. The driver takes what happened, asks the core what it means, has the
//! store remember the decision, and performs what was decided; after a crash
//! it does the same from the log alone.
//!
//! `drive` is the loop itself and knows nothing of processes or files: those
//! are behind `World`, of which `LocalWorld` is the real one and the simulator
//! has its own. It deliberately decides nothing: every rule is in `core`.
//!
//! Neighbours: `store` remembers, `workspace`, `agent` and `gate` do the work
//! under `perform/`, `cli` starts a drive and shows what it publishes.

pub mod agents;
pub mod ask_for_checks;
pub mod ask_for_plan;
mod briefs;
pub mod changed_files;
pub mod clock;
pub mod committed;
pub mod confine;
pub mod drive;
pub mod drive_loop;
mod engine;
mod hidden;
mod home;
pub mod interrupt;
pub mod journal;
pub mod kept_trees;
pub mod live_ring;
pub mod local_world;
pub mod look_at_stop;
pub mod loop_branch;
pub mod moved_repository;
pub mod operate;
pub mod orphaned_data;
pub mod perform;
mod performer;
pub mod plan_problems;
mod planted;
pub mod preview;
pub mod project;
pub mod prove;
pub mod remove_loop;
mod repositories;
mod safeguards;
pub mod scope;
pub mod setup;
pub mod signed_out;
pub mod surroundings;
pub mod take;
pub mod terms;
pub mod trail;
pub mod try_checks;
pub mod weaken;
pub mod world;

pub use drive::{Drive, DriveError, Ended};
pub use interrupt::Interrupts;
pub use journal::{Journal, JournalError};
pub use repositories::RepositoriesError;
pub use windlass_agent::registry;
pub use windlass_agent::{ACP_ARG, SCRIPTED_ARG, acp_main, scripted_main};
pub use windlass_process::{DetachedProgram, WARDEN_ARG, start_detached, warden_main};
pub use world::{Closed, Happening, Stamp, World, Worlds};
