//! The crate against real git, in temporary directories.
#![allow(clippy::disallowed_methods, reason = "tests start processes and wait for them")]
#![allow(clippy::unwrap_used, clippy::wildcard_enum_match_arm, reason = "a test fails by panicking")]

mod checkout;
mod discover;
mod fuzz;
mod hostile;
mod kit;
mod land;
mod large;
mod merge;
mod snapshot;
mod space;
mod trees;
