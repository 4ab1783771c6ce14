//! Results of checks that windlass ran itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::finding::{Evidence, Rule};
use crate::id::{BlobId, TreeId};
use crate::policy::{CheckPolicy, GatePolicy};
use crate::tally::{Shortfall, Tally};
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
    /// The second run of a check that was red.
    #[serde(default)]
    pub again: bool,
    /// Set where the policy names the check's junit files.
    #[serde(default)]
    pub tally: Option<Tally>,
    /// Set where the policy gives the check a control and the check is green.
    #[serde(default)]
    pub control: Option<Control>,
}

/// A command that must fail where its check passes, run once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Control {
    /// None when it did not exit by itself.
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
    pub timed_out: bool,
    pub duration_ms: Millis,
    pub output: BlobId,
    pub excerpt: String,
}

impl CheckResult {
    /// Whether the command itself succeeded.
    pub fn exited_well(&self) -> bool {
        self.exit_code == Some(0) && !self.timed_out
    }

    /// Why the check, without its control, is red. Fails closed: what the
    /// policy wants counted and was not is red.
    pub fn shortfall(&self, asked: &CheckPolicy) -> Option<Shortfall> {
        if !self.exited_well() {
            return Some(Shortfall { words: self.ending(), rule: None });
        }
        match &self.tally {
            _ if asked.junit.is_empty() => None,
            Some(tally) => tally.shortfall(),
            None => Some(Shortfall {
                words: format!("{}its tests were not counted", Shortfall::AFTER),
                rule: None,
            }),
        }
    }

    fn whole_shortfall(&self, asked: &CheckPolicy) -> Option<Shortfall> {
        let insensitive = || match &self.control {
            _ if asked.control.is_empty() => None,
            Some(control) => control.shortfall(),
            None => Some(Shortfall { words: "its control was not run".to_owned(), rule: None }),
        };
        self.shortfall(asked).or_else(insensitive)
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

impl Control {
    /// Only a plain exit of its own other than 0 shows that the check can
    /// fail. A shell says 126 and 127 for what it could not start, and 128 and
    /// a signal for what was killed.
    pub fn is_sensitive(&self) -> bool {
        self.exit_code.is_some_and(|code| code != 0 && !matches!(code, 126 | 127 | 129..=192))
            && !self.timed_out
    }

    fn shortfall(&self) -> Option<Shortfall> {
        let words = match (self.timed_out, self.exit_code, self.signal) {
            _ if self.is_sensitive() => return None,
            (true, _, _) => format!("its control proves nothing: timed out after {}", self.duration_ms),
            (false, Some(0), _) => {
                "its control, which must fail, passed: the check proves nothing".to_owned()
            }
            (false, Some(code), _) => format!("its control proves nothing: exit code {code}"),
            (false, None, Some(signal)) => format!("its control proves nothing: ended by signal {signal}"),
            (false, None, None) => "its control did not start".to_owned(),
        };
        Some(Shortfall { words, rule: Some(Rule::GateNotSensitive) })
    }
}

/// What is kept of a gate run in the state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateSummary {
    pub passed: bool,
    /// Checks that were red and then green on the same tree.
    pub flaky: Vec<String>,
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
    /// The finding it is, where the check itself exited with 0.
    #[serde(default)]
    pub rule: Option<Rule>,
}

impl FailingCheck {
    /// Whether its exit code alone would have made it green.
    pub fn is_red_all_the_same(&self) -> bool {
        self.rule.is_some() || self.ending.starts_with(Shortfall::AFTER)
    }

    pub fn evidence(&self) -> Option<Evidence> {
        let detail = self.ending.strip_prefix(Shortfall::AFTER).unwrap_or(&self.ending).to_owned();
        Some(Evidence { detail, diff: self.excerpt.clone(), ..Evidence::new(self.rule?, self.check.clone()) })
    }
}

impl GateSummary {
    /// Fails closed: a check that was asked for and not reported is red, unless
    /// it was left out after a red one.
    pub fn of(gate: &GatePolicy, checks: &[String], results: &[CheckResult]) -> Self {
        let mut failing: Vec<FailingCheck> = counted(gate, results)
            .filter_map(|result| {
                let short = match gate.check(&result.check) {
                    Some(asked) => shortfall_among(results, result, asked)?,
                    None => Shortfall { words: "is no check of this gate".to_owned(), rule: None },
                };
                Some(FailingCheck {
                    check: result.check.clone(),
                    ending: short.words,
                    excerpt: excerpt(result, short.rule),
                    rule: short.rule,
                })
            })
            .collect();
        if failing.is_empty() {
            let missing = checks.iter().filter_map(|check| {
                let ran = results.iter().filter(|result| result.check == *check).count();
                let wanted = gate.check(check).map_or(1, |asked| asked.repeat.max(1) as usize);
                let ending = match ran {
                    0 => "was not run".to_owned(),
                    ran if ran < wanted => format!("was run {ran} of {wanted} times"),
                    _ => return None,
                };
                Some(FailingCheck { check: check.clone(), ending, excerpt: String::new(), rule: None })
            });
            failing.extend(missing);
        }
        let red = |check: &String| failing.iter().any(|failing| failing.check == *check);
        let flaky = results.iter().filter(|result| result.again).map(|result| result.check.clone());
        Self {
            passed: failing.is_empty() && !results.is_empty(),
            flaky: flaky.filter(|check| !red(check)).collect(),
            exits: counted(gate, results).map(|result| (result.check.clone(), result.exit_code)).collect(),
            failing,
        }
    }

    /// What of it is a finding.
    pub fn evidence(&self) -> Vec<Evidence> {
        let red = self.failing.iter().filter_map(FailingCheck::evidence);
        let flaky = self.flaky.iter().map(|check| Evidence::new(Rule::FlakyCheck, check.clone()));
        red.chain(flaky).collect()
    }
}

/// Why one run of a check is red. Of a check that is repeated only the last run
/// has a control, and red after green is a check that cannot be relied on.
fn shortfall_among(results: &[CheckResult], result: &CheckResult, asked: &CheckPolicy) -> Option<Shortfall> {
    if asked.repeat < 2 {
        return result.whole_shortfall(asked);
    }
    let runs: Vec<&CheckResult> = results.iter().filter(|other| other.check == result.check).collect();
    let at = runs.iter().position(|run| std::ptr::eq(*run, result))?;
    let is_last = at + 1 == runs.len();
    let short = if is_last { result.whole_shortfall(asked) } else { result.shortfall(asked) }?;
    if !runs[..at].iter().any(|run| run.shortfall(asked).is_none()) || short.rule.is_some() {
        return Some(short);
    }
    let words =
        format!("{} at run {} of {}, green before on the same tree", short.words, at + 1, asked.repeat);
    Some(Shortfall { words, rule: Some(Rule::FlakyCheck) })
}

/// A second run speaks for its check only where the policy allows one.
fn counted<'r>(gate: &'r GatePolicy, results: &'r [CheckResult]) -> impl Iterator<Item = &'r CheckResult> {
    results.iter().filter(|result| {
        let retried = gate.check(&result.check).is_some_and(|asked| asked.retry > 0);
        let replaced = results.iter().any(|other| other.again && other.check == result.check);
        result.again || !(retried && replaced)
    })
}

/// Of a check that is not sensitive, what its control said.
fn excerpt(result: &CheckResult, rule: Option<Rule>) -> String {
    match (&result.control, rule) {
        (Some(control), Some(Rule::GateNotSensitive)) => control.excerpt.clone(),
        (_, _) => result.excerpt.clone(),
    }
}

/// A result may be used again for an equal key only: the same bytes under the
/// same checks. The gate's definition is fixed for the life of a loop.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GateKey {
    pub tree: TreeId,
    pub checks: Vec<String>,
}
