//! Real checks under real wardens.
#![allow(clippy::unwrap_used, reason = "in a test a panic is a finding")]

mod run;
