//! What was written while a check ran.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::BlobId;
use crate::red::RedReason;
use crate::tally::Names;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ObservedWrites {
    /// Every path that the base's own check wrote: what other runs may write as well. Set at the baseline,
    /// which is not judged.
    pub all: Option<BlobId>,
    /// What the base showed to be no product: outputs of its check, and modules that it finds outside of the
    /// tree. Set at the baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terms: Option<BlobId>,
    /// What judges and was written, each path with what was done to it.
    pub judging: Names,
    /// Why something may have been missed; empty if nothing was.
    pub missed: String,
}

impl ObservedWrites {
    /// Why a check that exited with 0 is red.
    pub fn red_reason(&self) -> Option<RedReason> {
        let how = match (self.judging.count, self.missed.as_str()) {
            (0, "") => return None,
            (0, why) => format!("what it wrote could not be watched: {why}"),
            (_, _) => format!("what judges it was written while it ran{}", self.judging.told()),
        };
        Some(RedReason::WrittenDuringCheck { how })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(judging: &[&str], missed: &str) -> Option<String> {
        let judging = Names::of(judging.iter().copied());
        let writes = ObservedWrites { judging, missed: missed.to_owned(), ..ObservedWrites::default() };
        writes.red_reason().map(|red| red.words())
    }

    #[test]
    fn a_judge_that_was_written_and_a_watch_that_was_lost_are_red() {
        assert_eq!(words(&[], ""), None);
        assert_eq!(
            words(&["tests/a.sh (edited)", "pytest.ini (added)"], "").unwrap(),
            "exit code 0, but what judges it was written while it ran: tests/a.sh (edited), pytest.ini (added)"
        );
        assert_eq!(
            words(&[], "too much at once").unwrap(),
            "exit code 0, but what it wrote could not be watched: too much at once"
        );
    }
}
