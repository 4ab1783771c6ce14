//! What agents are told of a gate that has files which they never see. All that a report says in words
//! reaches them, by the next brief or the trail; what checks printed is kept for the operator.

use std::collections::BTreeSet;

use windlass_control::{Breakage, BrokenTest, RunEvidence, is_red};
use windlass_core::gate::{CheckResult, CheckStart, GateReport, Purpose, TellNumbers};
use windlass_core::hidden::HiddenOutput;
use windlass_core::input::Input;
use windlass_core::outcome::Fault;
use windlass_core::policy::CheckPolicy;
use windlass_gate::PathRules;

use super::control::{OUTPUT_LIMIT, Suite, TestId, shown};
use super::runner::GateRunner;
use super::{GateTarget, chains};
use crate::hidden::{is_hidden, visible};
use crate::perform::{EffectRequest, EffectResources, fault, lock};

/// Where a name could be one that the judged code made up.
const NOT_TOLD: &str = "a name that is not told, since there are hidden files";
/// How many tests are named.
const NAMED: usize = 20;

/// The trials of one gate, each with its results.
pub struct Judged<'a> {
    pub resources: &'a EffectResources,
    pub request: &'a EffectRequest,
    pub rules: &'a PathRules,
    pub output: HiddenOutput,
}

impl Judged<'_> {
    /// Takes out of the report whatever could tell what the hidden files say. Where a check is red, it is
    /// run again on the tree without them: of that its author sees everything. False: it was cancelled.
    pub fn withhold(&self, report: &mut GateReport, targets: &[GateTarget<'_>]) -> Result<bool, Fault> {
        let mut told = Told::default();
        for target in targets {
            told.add(self, target)?;
        }
        report.each_result_mut(|result| {
            clear_printed(result);
            result.tell_numbers = TellNumbers::Operator;
        });
        let mut input = Input::GateReported(std::mem::take(report));
        input.each_foreign_text(&mut |text| *text = told.of(text, self.output));
        let Input::GateReported(clean) = input else { unreachable!("it is what was put in") };
        *report = clean;
        let trials = [&mut report.landing, &mut report.trusted];
        for (target, results) in targets.iter().zip(trials) {
            if !self.explain(target, &told, results)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn explain(
        &self,
        target: &GateTarget<'_>,
        told: &Told,
        results: &mut [CheckResult],
    ) -> Result<bool, Fault> {
        let gate = &self.request.policy.gate;
        for chain in chains(gate.every_check(), target.checks) {
            for (index, check) in chain.iter().enumerate() {
                let last = results.iter_mut().rev().find(|result| result.check == check.name);
                let Some(result) = last.filter(|result| !result.exited_well()) else { continue };
                let Some(seen) = self.without_hidden(target, &chain[..=index])? else { return Ok(false) };
                let mut words = match self.output {
                    HiddenOutput::Names => self.failed(told, result)?,
                    HiddenOutput::Nothing | HiddenOutput::All => String::new(),
                };
                words.push_str(&match seen.exited_well() {
                    true => "Without the hidden tests this check is green.".to_owned(),
                    false => format!("Without the hidden tests it prints:\n{}", seen.excerpt),
                });
                result.excerpt = words;
                result.without_hidden = Some(seen.output);
            }
        }
        Ok(true)
    }

    /// The same checks on what the author has. No cache: there could be something of the hidden files in it.
    fn without_hidden(
        &self,
        target: &GateTarget<'_>,
        chain: &[&CheckPolicy],
    ) -> Result<Option<CheckResult>, Fault> {
        let Self { resources, request, rules, .. } = self;
        let files = visible(&resources.vault, rules, target.tree).map_err(|error| fault(&error))?;
        let mut checkout = lock(&resources.checkout);
        // It is no baseline and no last look: those begin and end more than a run.
        let target = GateTarget { tree: &files, purpose: Purpose::Task, ..*target };
        let mut runner = GateRunner::without_cache(resources, request, target, &mut checkout)?;
        let mut last = None;
        for (index, check) in chain.iter().enumerate() {
            let start = if index == 0 { CheckStart::Clean } else { CheckStart::FromPrevious };
            let Some(ran) = runner.broken(check, start)? else { return Ok(None) };
            last = Some(ran.result);
        }
        runner.finish()?;
        Ok(last)
    }

    /// The hidden tests that the check calls failed.
    fn failed(&self, told: &Told, result: &CheckResult) -> Result<String, Fault> {
        let text = self.resources.blobs.text(&result.output, OUTPUT_LIMIT)?;
        let evidence = RunEvidence::read(&text, Vec::new());
        let red = told.hidden.iter().filter(|(_, test)| is_red(test, &evidence));
        let mut names: Vec<String> = red.map(|(id, _)| shown(id)).collect();
        names.dedup();
        let more = names.len().saturating_sub(NAMED);
        names.truncate(NAMED);
        Ok(match (names.as_slice(), more) {
            ([], _) => String::new(),
            (names, 0) => format!("Hidden tests that failed: {}\n", names.join(", ")),
            (names, more) => format!("Hidden tests that failed: {}, and {more} more\n", names.join(", ")),
        })
    }
}

fn clear_printed(result: &mut CheckResult) {
    result.excerpt.clear();
    if let Some(control) = &mut result.control {
        control.excerpt.clear();
    }
    if let Some(broken) = &mut result.broken_tests {
        broken.excerpt.clear();
    }
}

/// The names that may be told: of files and tests of the judged trees, and no other.
#[derive(Default)]
struct Told {
    paths: BTreeSet<String>,
    tests: BTreeSet<String>,
    /// The last part of a test's name alone.
    short: BTreeSet<String>,
    hidden: Vec<(TestId, BrokenTest)>,
}

impl Told {
    fn add(&mut self, judged: &Judged<'_>, target: &GateTarget<'_>) -> Result<(), Fault> {
        let Judged { resources, rules, .. } = judged;
        let paths = resources.vault.list_paths(target.tree).map_err(|error| fault(&error))?;
        self.paths.extend(paths.iter().map(|(path, _)| String::from_utf8_lossy(path.as_ref()).into_owned()));
        let suite = Suite::of(&resources.vault, rules, target.tree).map_err(|error| fault(&error))?;
        for (id, test) in suite.tests(Breakage::FailingStatement) {
            self.tests.insert(shown(&id));
            self.short.extend(test.name.last().map(ToString::to_string));
            if is_hidden(rules, id.file.as_bytes()) {
                self.hidden.push((id, test));
            }
        }
        self.hidden.sort_by(|(one, _), (other, _)| one.cmp(other));
        self.hidden.dedup_by(|(one, _), (other, _)| one == other);
        Ok(())
    }

    /// A text of the report, as agents may read it.
    fn of(&self, text: &str, output: HiddenOutput) -> String {
        if text.is_empty() || output == HiddenOutput::Nothing {
            return String::new();
        }
        let path = text.rsplit_once(" (").map_or(text, |(path, _)| path);
        if self.tests.contains(text) || self.paths.contains(path) {
            return text.to_owned();
        }
        let bare = text.split('[').next().unwrap_or(text);
        let last = bare.rsplit([' ', '.', ':', '/', '>']).next().unwrap_or(bare);
        let known = [bare, last].into_iter().find(|name| self.short.contains(*name));
        known.unwrap_or(NOT_TOLD).to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_the_tree_are_told() {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        let told = Told {
            paths: set(&["tests/test_a.py"]),
            tests: set(&["tests/test_a.py test_add"]),
            short: set(&["test_add", "adds two numbers"]),
            hidden: Vec::new(),
        };
        let of = |text: &str| told.of(text, HiddenOutput::Names);
        assert_eq!(of("tests/test_a.py test_add"), "tests/test_a.py test_add");
        assert_eq!(of("tests/test_a.py (edited)"), "tests/test_a.py (edited)");
        assert_eq!(of("tests.test_a test_add[the answer is 7]"), "test_add");
        assert_eq!(of("adds two numbers"), "adds two numbers");
        assert_eq!(of("assert answer() == 7"), NOT_TOLD);
        assert_eq!(of("tests/assert-7 (added)"), NOT_TOLD);
        assert_eq!(of(""), "");
        assert_eq!(told.of("tests/test_a.py test_add", HiddenOutput::Nothing), "");
    }
}
