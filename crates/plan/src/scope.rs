//! How much a task may change.

use crate::place::Placed;

/// The limits a task sets for itself; what is not set is left to its mode.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskScope {
    pub files_changed: Option<Placed<u64>>,
    pub lines_written: Option<Placed<u64>>,
    pub files_read: Option<Placed<u64>>,
    /// Globs of the paths it must stay within; empty means anywhere.
    pub within: Vec<Placed<String>>,
}
