//! Brief in, Report out: calls an agent for one turn and hears what it says.

mod bound;
pub mod brief;
mod plain;
pub mod report;
mod usage;
