//! Decides. Everything windlass knows and every rule it follows is here, as
//! plain data and pure functions: no clock, no randomness, no files, no
//! processes, no logging. The driver performs what this crate decides and the
//! store remembers it.

pub mod id;
pub mod policy;
pub mod task;
pub mod time;
