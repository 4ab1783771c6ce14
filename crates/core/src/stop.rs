//! What ends an open-ended loop: conditions that windlass looks at itself, and
//! what it found on a tree.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::{BlobId, TreeId};

/// What the compiled form of a pattern may take.
pub const MAX_PATTERN_BYTES: usize = 1 << 20;

/// Section `[stop]`: all must hold. Without a check, a loop is not open-ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StopPolicy {
    pub checks: Vec<StopCheck>,
}

/// Section `[[stop.check]]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StopCheck {
    pub name: String,
    pub condition: StopCondition,
}

/// Paths are relative to the root of the tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum StopCondition {
    /// A command exits 0 on a clean checkout.
    Run {
        run: String,
    },
    Exists {
        path: String,
    },
    Contains {
        file: String,
        text: String,
    },
    /// A regular expression matches somewhere in a file.
    Matches {
        file: String,
        pattern: String,
    },
    /// A value inside a JSON file.
    Json {
        file: String,
        /// Keys and places in lists, with dots between them.
        path: String,
        /// As JSON text.
        equals: String,
    },
}

impl StopPolicy {
    pub fn is_off(&self) -> bool {
        self.checks.is_empty()
    }

    /// Whether the work has come to its end. Fails closed: a check that was not
    /// looked at does not hold.
    pub fn holds(&self, results: &[StopResult]) -> bool {
        let held = |check: &StopCheck| {
            let mut of_it = results.iter().filter(|result| result.check == check.name).peekable();
            of_it.peek().is_some() && of_it.all(|result| result.holds)
        };
        !self.is_off() && self.checks.iter().all(held)
    }

    /// The commands among the checks, each with its name.
    pub fn commands(&self) -> impl Iterator<Item = (&str, &str)> {
        self.checks.iter().filter_map(|check| match &check.condition {
            StopCondition::Run { run } => Some((check.name.as_str(), run.as_str())),
            StopCondition::Exists { .. }
            | StopCondition::Contains { .. }
            | StopCondition::Matches { .. }
            | StopCondition::Json { .. } => None,
        })
    }
}

/// What one stop check came to, looked at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StopResult {
    pub check: String,
    pub holds: bool,
    /// What was seen, bounded.
    pub why: String,
    /// What a command printed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<BlobId>,
}

/// What the stop checks said of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StopReport {
    pub tree: TreeId,
    /// Every check of the policy holds.
    pub holds: bool,
    pub results: Vec<StopResult>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(names: &[&str]) -> StopPolicy {
        let check = |name: &&str| StopCheck {
            name: (*name).to_owned(),
            condition: StopCondition::Exists { path: "done".to_owned() },
        };
        StopPolicy { checks: names.iter().map(check).collect() }
    }

    fn result(check: &str, holds: bool) -> StopResult {
        StopResult { check: check.to_owned(), holds, why: String::new(), output: None }
    }

    #[test]
    fn every_check_of_the_policy_must_hold() {
        let two = policy(&["a", "b"]);
        assert!(two.holds(&[result("a", true), result("b", true)]));
        assert!(!two.holds(&[result("a", true), result("b", false)]));
        assert!(!two.holds(&[result("a", true)]), "one was not looked at");
        assert!(!two.holds(&[result("a", true), result("b", true), result("b", false)]));
        assert!(!policy(&[]).holds(&[]), "without a check nothing ends");
    }
}
