//! Results of checks that windlass ran itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::{BlobId, TreeId};
use crate::time::Millis;

/// What a run of the gate is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// On the base, before the first iteration: recorded, never judged.
    Baseline,
    Task,
    Final,
}

impl Purpose {
    pub fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Task => "task",
            Self::Final => "final",
        }
    }
}

/// One check, run once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckResult {
    pub check: String,
    /// None when it did not exit by itself.
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
    pub timed_out: bool,
    pub duration_ms: Millis,
    pub output: BlobId,
    /// The last useful lines, bounded.
    pub excerpt: String,
    /// Processes it left behind, ended by windlass.
    pub strays: u32,
}

impl CheckResult {
    pub fn passed(&self) -> bool {
        self.exit_code == Some(0) && !self.timed_out
    }

    pub fn ending(&self) -> String {
        match (self.timed_out, self.exit_code, self.signal) {
            (true, _, _) => format!("timed out after {}", self.duration_ms),
            (false, Some(code), _) => format!("exit code {code}"),
            (false, None, Some(signal)) => format!("ended by signal {signal}"),
            (false, None, None) => "did not start".to_owned(),
        }
    }
}

/// What is kept of a gate run in the state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateSummary {
    pub passed: bool,
    /// Each check's name and exit code: what "the result did not change" means.
    pub exits: Vec<(String, Option<i32>)>,
    pub failing: Vec<FailingCheck>,
}

/// What the next brief says of a red check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailingCheck {
    pub check: String,
    pub ending: String,
    pub excerpt: String,
}

impl GateSummary {
    /// Fails closed: a check that was asked for and not reported is red, unless
    /// it was left out after a red one.
    pub fn of(checks: &[String], results: &[CheckResult]) -> Self {
        let mut failing: Vec<FailingCheck> = results
            .iter()
            .filter(|result| !result.passed())
            .map(|result| FailingCheck {
                check: result.check.clone(),
                ending: result.ending(),
                excerpt: result.excerpt.clone(),
            })
            .collect();
        if failing.is_empty() {
            let missing = checks.iter().filter(|check| !results.iter().any(|result| result.check == **check));
            failing.extend(missing.map(|check| FailingCheck {
                check: check.clone(),
                ending: "was not run".to_owned(),
                excerpt: String::new(),
            }));
        }
        Self {
            passed: failing.is_empty() && !results.is_empty(),
            exits: results.iter().map(|result| (result.check.clone(), result.exit_code)).collect(),
            failing,
        }
    }
}

/// A result may be used again for an equal key only: the same bytes under the
/// same checks. The gate's definition is fixed for the life of a loop.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GateKey {
    pub tree: TreeId,
    pub checks: Vec<String>,
}
