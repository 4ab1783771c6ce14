//! Which of the proposed ways to test a project works on this machine: each is tried as a gate would run it,
//! until one is green.

use std::collections::BTreeSet;
use std::path::Path;

use windlass_config::{ChosenCheck, ChosenChecks, Proposal, StackProposal, TestWay, install_command};
use windlass_core::policy::Policy;
use windlass_core::time::Millis;
use windlass_driver::agents::Probe;
use windlass_driver::ask_for_checks::ask_for_checks;
use windlass_driver::try_checks::{TriedCheck, TriedCommands, TryError, TryPlace, try_checks};

use crate::{AppError, CheckTries, OpenProject};

/// Who is told how it goes.
pub trait TryObserver {
    fn asking(&mut self, agent: &str);
    fn trying(&mut self, stack: &str, way: &TestWay);
    fn tried(&mut self, result: &TriedWay);
}

/// What came of one way.
pub enum TriedWay {
    Green {
        duration: Millis,
    },
    Red {
        ending: String,
        excerpt: String,
    },
    /// A command of the set-up failed.
    NotSetUp {
        ending: String,
        excerpt: String,
    },
    /// It could not be tried on this machine.
    NotRun {
        why: String,
    },
}

/// What is known of a stack once its ways were tried.
pub struct StackReport {
    pub name: &'static str,
    pub check: String,
    /// It is green on the head of the repository.
    pub green: bool,
    /// Programs that better ways need and this machine lacks, each with its install command.
    pub missing: Vec<String>,
}

pub struct TryReport {
    pub stacks: Vec<StackReport>,
    pub chosen: ChosenChecks,
}

/// More ways than these are not tried: each may take minutes.
const MOST_TRIED: usize = 8;

/// How often an agent is asked.
const MOST_ASKED: usize = 3;

/// An agent that may propose, where no way of windlass's own is green.
pub struct AskedAgent<'a> {
    pub policy: &'a Policy,
    pub scratch: &'a Path,
}

/// Tries until each stack has a green way. One that has none keeps its likeliest that can be run.
pub fn try_ways(
    place: &OpenProject,
    proposal: &Proposal,
    tries: CheckTries<'_>,
    asked: Option<&AskedAgent<'_>>,
) -> Result<TryReport, AppError> {
    place.state.create_checked().map_err(AppError::refused)?;
    let surroundings = place.surroundings();
    let CheckTries { interrupts, observer } = tries;
    let place =
        TryPlace { project: &place.project, vault: &place.vault, surroundings: &surroundings, interrupts };
    let mut report = TryReport { stacks: Vec::new(), chosen: ChosenChecks::default() };
    let mut chosen: Vec<(&StackProposal, &TestWay)> = Vec::new();
    for stack in &proposal.stacks {
        let Chosen { way, green, has_run } = Trial { place: &place, proposal }.choose(stack, observer)?;
        // What could be fetched instead, and was, is not missing.
        let wanted = stack.ways.iter().filter(|_| !has_run).flat_map(|way| way.needs.iter().copied());
        let missing: BTreeSet<&str> = wanted.filter(|program| !surroundings.finds(program)).collect();
        let missing = missing.into_iter();
        let missing = missing.map(|program| match install_command(program) {
            Some(command) => format!("{program} ({command})"),
            None => program.to_owned(),
        });
        report.stacks.push(StackReport {
            name: stack.name,
            check: stack.check.clone(),
            green,
            missing: missing.collect(),
        });
        chosen.push((stack, way));
    }
    // Beside one that is green, a check that fails on the head would only stand in the way.
    let any_green = report.stacks.iter().any(|stack| stack.green);
    let kept = chosen.into_iter().zip(&report.stacks).filter(|(_, stack)| stack.green || !any_green);
    report.chosen = ChosenChecks::of(kept.map(|(chosen, _)| chosen));
    if let Some(asked) = asked.filter(|_| !any_green)
        && let Some(way) = (Trial { place: &place, proposal }.ask(asked, observer)?)
    {
        let check = "test".to_owned();
        let chosen = ChosenCheck { name: check.clone(), run: way.run, ..ChosenCheck::default() };
        report.chosen = ChosenChecks { checks: vec![chosen], setup: way.setup };
        report.stacks = vec![StackReport { name: ASKED, check, green: true, missing: Vec::new() }];
    }
    Ok(report)
}

/// Stands for a stack where an agent proposes.
const ASKED: &str = "the agent's proposal";

struct Chosen<'s> {
    way: &'s TestWay,
    green: bool,
    /// Some way came as far as its check.
    has_run: bool,
}

struct Trial<'a> {
    place: &'a TryPlace<'a>,
    proposal: &'a Proposal,
}

impl Trial<'_> {
    /// The first way that is green; else one that ran tests, or the likeliest.
    fn choose<'s>(
        &self,
        stack: &'s StackProposal,
        observer: &mut dyn TryObserver,
    ) -> Result<Chosen<'s>, AppError> {
        let can_run = |way: &&TestWay| way.needs.iter().all(|program| self.place.surroundings.finds(program));
        let mut failed: BTreeSet<&[String]> = BTreeSet::new();
        let mut ran_tests: Option<&TestWay> = None;
        let (mut tried, mut has_run) = (0, false);
        for way in stack.ways.iter().filter(can_run) {
            let stands_in = !way.instead_of.is_empty();
            let is_needed = !stands_in || failed.contains(way.instead_of.as_slice());
            if !is_needed || failed.contains(way.setup.as_slice()) || tried == MOST_TRIED {
                continue;
            }
            tried += 1;
            observer.trying(stack.name, way);
            let result = self.run(way)?;
            observer.tried(&result);
            match result {
                TriedWay::Green { .. } => return Ok(Chosen { way, green: true, has_run: true }),
                TriedWay::NotSetUp { .. } => drop(failed.insert(&way.setup)),
                TriedWay::Red { excerpt, .. } => {
                    has_run = true;
                    if shows_tests(&excerpt) {
                        ran_tests.get_or_insert(way);
                    }
                }
                TriedWay::NotRun { .. } => {}
            }
        }
        let likeliest = ran_tests.or(stack.ways.iter().find(can_run)).or(stack.ways.first());
        Ok(Chosen { way: likeliest.expect("a stack has a way"), green: false, has_run })
    }

    /// A way that an agent proposed and that is green; each time it is told what came of its last one.
    fn ask(
        &self,
        asked: &AskedAgent<'_>,
        observer: &mut dyn TryObserver,
    ) -> Result<Option<TestWay>, AppError> {
        let AskedAgent { policy, scratch } = *asked;
        let surroundings = self.place.surroundings;
        let probe = Probe { agent: &policy.agent, policy, surroundings, scratch };
        let mut before = String::new();
        for _ in 0..MOST_ASKED {
            observer.asking(&policy.agent.adapter);
            let way = match ask_for_checks(self.place, &probe, &before) {
                Ok(proposed) => TestWay { setup: proposed.setup, run: proposed.run, ..TestWay::default() },
                Err(why) => {
                    before = format!("{before}- {why}\n");
                    observer.tried(&TriedWay::NotRun { why });
                    continue;
                }
            };
            observer.trying(ASKED, &way);
            let result = self.run(&way)?;
            observer.tried(&result);
            let failed = match result {
                TriedWay::Green { .. } => return Ok(Some(way)),
                TriedWay::Red { ending, excerpt } => format!("`run` failed: {ending}\n{excerpt}"),
                TriedWay::NotSetUp { ending, excerpt } => format!("`setup` failed: {ending}\n{excerpt}"),
                TriedWay::NotRun { why } => why,
            };
            before = format!("{before}- setup {:?}, run {:?}: {failed}\n", way.setup, way.run);
        }
        Ok(None)
    }

    fn run(&self, way: &TestWay) -> Result<TriedWay, AppError> {
        if !way.setup.is_empty() {
            match self.command(&TestWay { run: "true".to_owned(), junit: None, ..way.clone() })? {
                Ok(TriedCheck { red: None, .. }) => {}
                Ok(TriedCheck { red: Some(red), result }) => {
                    return Ok(TriedWay::NotSetUp { ending: red.words(), excerpt: result.excerpt });
                }
                Err(why) => return Ok(TriedWay::NotRun { why }),
            }
        }
        Ok(match self.command(way)? {
            Ok(TriedCheck { red: None, result }) => TriedWay::Green { duration: result.duration_ms },
            Ok(TriedCheck { red: Some(red), result }) => {
                TriedWay::Red { ending: red.words(), excerpt: result.excerpt }
            }
            Err(why) => TriedWay::NotRun { why },
        })
    }

    fn command(&self, way: &TestWay) -> Result<Result<TriedCheck, String>, AppError> {
        let mut policy = Policy::default();
        policy.gate.protect.clone_from(&self.proposal.protect);
        policy.gate.product.clone_from(&self.proposal.product);
        let junit = way.junit.as_deref().unwrap_or_default();
        let commands = TriedCommands { policy: &policy, setup: &way.setup, run: &way.run, junit };
        match try_checks(self.place, &commands) {
            Ok(tried) => Ok(Ok(tried)),
            Err(TryError::Interrupted) => Err(AppError::refused("interrupted; nothing was written")
                .hint("`windlass init --no-try` writes the likeliest checks without trying them")),
            Err(error) => Ok(Err(error.to_string())),
        }
    }
}

/// Whether a runner came as far as running tests: then the tests are red, and not the way to run them.
fn shows_tests(excerpt: &str) -> bool {
    let lower = excerpt.to_lowercase();
    let is_counted = |line: &str| {
        let has_number = line.chars().any(|c| c.is_ascii_digit() && c != '0');
        let words = ["passed", "passing", "failed", "failing", "# pass ", "tests:", "test in ", "tests in "];
        has_number && words.iter().any(|word| line.contains(word))
    };
    lower.lines().any(is_counted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runner_that_is_missing_ran_no_tests() {
        for red in [
            "Ran 5 tests in 0.001s\n\nFAILED (failures=1)",
            "1 failed, 1400 passed, 10 skipped in 25.21s",
            "# pass 3\n# fail 1",
            "test result: FAILED. 1 passed; 1 failed; 0 ignored",
        ] {
            assert!(shows_tests(red), "{red}");
        }
        for red in ["/usr/bin/python3: No module named pytest", "sh: 1: xo: not found", "error: 2 problems"] {
            assert!(!shows_tests(red), "{red}");
        }
    }
}
