//! Real programs under real wardens.
#![allow(clippy::disallowed_methods, reason = "tests start processes and wait for them")]
#![allow(clippy::unwrap_used, clippy::wildcard_enum_match_arm, reason = "in a test a panic is a finding")]

mod capture;
mod ending;
mod leftovers;
mod limits;
mod ordinary_user;
mod stage;
mod starting;
mod throwaway;
