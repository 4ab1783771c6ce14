//! What must hold for a task to be accepted.

use crate::place::Placed;

/// One criterion as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedCriterion {
    pub text: String,
    /// A command that shows by its exit code whether it holds.
    pub check: Option<Placed<String>>,
}

impl PlannedCriterion {
    pub fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), check: None }
    }
}
