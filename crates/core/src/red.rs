//! Why a check is red.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::finding::Rule;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum RedReason {
    /// The command did not exit with 0.
    CommandFailed { how: String },
    /// It exited with 0, but tests failed or could not be counted.
    TestsFailed { how: String },
    /// It exited with 0, but tests of an earlier tree are gone or skipped.
    TestsVanished { how: String },
    /// It exited with 0, but what judges it was written while it ran, or that could not be watched.
    WrittenDuringCheck { how: String },
    /// It exited with 0, but its control did not show that it can fail.
    NotSensitive { how: String },
    /// It exited with 0, but its control was not run.
    ControlNotRun,
    /// Red for this reason at one run, green before on the same tree.
    Flaky { red: Box<RedReason>, run: u32, of: u32 },
    /// No test was seen that fails without the fix and passes with it.
    NoRegressionTest { how: String },
    /// It was run less often than the policy asks for.
    NotRun { runs: u32, of: u32 },
    /// The policy has no check of this name.
    NotInGate,
}

impl RedReason {
    /// For people and briefs.
    pub fn words(&self) -> String {
        match self {
            Self::TestsFailed { how } | Self::TestsVanished { how } | Self::WrittenDuringCheck { how } => {
                format!("exit code 0, but {how}")
            }
            Self::Flaky { red, run, of } => flaky(&red.words(), *run, *of),
            Self::CommandFailed { .. }
            | Self::NotSensitive { .. }
            | Self::ControlNotRun
            | Self::NoRegressionTest { .. }
            | Self::NotRun { .. }
            | Self::NotInGate => self.detail(),
        }
    }

    /// The same, without what is said of the exit code.
    pub fn detail(&self) -> String {
        match self {
            Self::CommandFailed { how }
            | Self::TestsFailed { how }
            | Self::TestsVanished { how }
            | Self::WrittenDuringCheck { how }
            | Self::NotSensitive { how }
            | Self::NoRegressionTest { how } => how.clone(),
            Self::ControlNotRun => "its control was not run".to_owned(),
            Self::Flaky { red, run, of } => flaky(&red.detail(), *run, *of),
            Self::NotRun { runs: 0, .. } => "was not run".to_owned(),
            Self::NotRun { runs, of } => format!("was run {runs} of {of} times"),
            Self::NotInGate => "is no check of this gate".to_owned(),
        }
    }

    /// The finding it is, where it is one.
    pub fn rule(&self) -> Option<Rule> {
        match self {
            Self::TestsVanished { .. } => Some(Rule::TestsVanished),
            Self::WrittenDuringCheck { .. } => Some(Rule::WrittenDuringCheck),
            Self::NotSensitive { .. } => Some(Rule::GateNotSensitive),
            Self::Flaky { .. } => Some(Rule::FlakyCheck),
            Self::NoRegressionTest { .. } => Some(Rule::NoRegressionTest),
            Self::CommandFailed { .. }
            | Self::TestsFailed { .. }
            | Self::ControlNotRun
            | Self::NotRun { .. }
            | Self::NotInGate => None,
        }
    }

    /// Whether some run of the check exited with 0, so that its exit code does
    /// not tell why it is red.
    pub fn is_despite_exit_code(&self) -> bool {
        match self {
            Self::TestsFailed { .. }
            | Self::TestsVanished { .. }
            | Self::WrittenDuringCheck { .. }
            | Self::NotSensitive { .. }
            | Self::ControlNotRun
            | Self::NoRegressionTest { .. }
            | Self::Flaky { .. } => true,
            Self::CommandFailed { .. } | Self::NotRun { .. } | Self::NotInGate => false,
        }
    }
}

fn flaky(red: &str, run: u32, of: u32) -> String {
    format!("{red} at run {run} of {of}, green before on the same tree")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_is_in_the_words_and_not_in_the_detail() {
        let failed = RedReason::TestsFailed { how: "its report has no test".to_owned() };
        assert_eq!(failed.words(), "exit code 0, but its report has no test");
        assert_eq!(failed.detail(), "its report has no test");
        let flaky = RedReason::Flaky { red: Box::new(failed), run: 2, of: 3 };
        let after = "at run 2 of 3, green before on the same tree";
        assert_eq!(flaky.words(), format!("exit code 0, but its report has no test {after}"));
        assert_eq!(flaky.detail(), format!("its report has no test {after}"));
    }

    #[test]
    fn words_that_look_like_an_exit_code_change_nothing() {
        let failed = RedReason::CommandFailed { how: "exit code 0, but it is not".to_owned() };
        assert!(!failed.is_despite_exit_code());
        assert_eq!(failed.detail(), "exit code 0, but it is not");
    }
}
