//! Real programs under real wardens.
#![allow(clippy::disallowed_methods, reason = "tests start processes and wait for them")]
#![allow(clippy::unwrap_used, clippy::wildcard_enum_match_arm, reason = "in a test a panic is a finding")]

mod apart;
mod capture;
mod confined;
mod ending;
mod housed;
mod leftovers;
mod levels;
mod limits;
mod ordinary_user;
mod proving;
mod refused_calls;
mod resources;
mod silence;
mod stage;
mod starting;
mod throwaway;
#[cfg(feature = "weaken")]
mod weakened;
mod world;
