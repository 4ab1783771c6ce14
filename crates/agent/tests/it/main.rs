//! Briefs and reports as text, and real programs under real wardens.
#![allow(clippy::unwrap_used, reason = "in a test a panic is a finding")]
#![allow(clippy::disallowed_methods, reason = "tests measure time and ask whether to write briefs anew")]

mod acp;
mod acp_recordings;
mod brief;
mod command;
mod disturbed;
mod invocations;
mod limits;
mod others;
mod recorded;
mod recordings;
mod report;
mod scripted;
mod stage;
mod tools;
