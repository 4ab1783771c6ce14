//! The scripted model, over raw sockets: what stands on the wire is what agents get.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "the environment says when golden files are written anew, and a broken request is a failed test"
)]

mod answers;
mod client;
mod endurance;
mod failures;
mod probes;
mod rules;
