//! What must hold for a task to be accepted.

use crate::place::Placed;

/// One criterion as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedCriterion {
    pub text: String,
    /// A command that shows by its exit code whether it holds.
    pub check: Option<Placed<String>>,
}

/// What the front matter says, and below it what only the body does.
pub(crate) fn merged(front: Vec<PlannedCriterion>, body: Vec<String>) -> Vec<PlannedCriterion> {
    let mut all = front;
    for text in body {
        if all.iter().all(|known| known.text.trim() != text) {
            all.push(PlannedCriterion::plain(text));
        }
    }
    all
}

impl PlannedCriterion {
    pub fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), check: None }
    }
}
