//! Decides. Everything windlass knows and every rule it follows is here, as
//! plain data and pure functions: no clock, no randomness, no files, no
//! processes, no logging. The driver performs what this crate decides and the
//! store remembers it.

pub mod acceptance;
pub mod amendment;
pub mod brief;
pub mod broken_tests;
pub mod command;
pub mod control;
mod describe;
pub mod effect;
pub mod event;
pub mod finding;
pub mod gate;
pub mod graph;
pub mod hidden;
pub mod history;
pub mod id;
pub mod input;
pub mod limit;
pub mod live;
pub mod nearest;
pub mod outcome;
pub mod plain;
pub mod policy;
pub mod proposal;
pub mod red;
pub mod regression;
pub mod revision;
pub mod scope;
pub mod setback;
pub mod state;
pub mod step;
pub mod stop;
pub mod summary;
pub mod tally;
pub mod task;
pub mod time;
pub mod usage;
pub mod verdict;
pub mod view;
mod words;
pub mod writes;
