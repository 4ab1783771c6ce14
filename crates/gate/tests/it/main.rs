//! Real checks under real wardens.
#![allow(clippy::unwrap_used, reason = "in a test a panic is a finding")]
#![allow(clippy::disallowed_methods, reason = "a test bounds what it waits for")]

mod cache;
mod run;
mod tally;
