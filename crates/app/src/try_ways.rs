//! Which of the proposed ways to test a project works on this machine: each is tried as a gate would run it,
//! until one is green.

use std::collections::BTreeSet;

use windlass_config::{ChosenChecks, Proposal, StackProposal, TestWay, install_command};
use windlass_core::gate::CheckResult;
use windlass_core::policy::Policy;
use windlass_core::time::Millis;
use windlass_driver::Interrupts;
use windlass_driver::try_checks::{TriedCommands, TryError, TryPlace, try_checks};

use crate::{AppError, OpenProject};

/// Who is told how it goes.
pub trait TryObserver {
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

/// Tries until each stack has a green way. One that has none keeps its likeliest that can be run.
pub fn try_ways(
    place: &OpenProject,
    proposal: &Proposal,
    interrupts: &Interrupts,
    observer: &mut dyn TryObserver,
) -> Result<TryReport, AppError> {
    place.state.create_checked().map_err(AppError::refused)?;
    let surroundings = place.surroundings();
    let place =
        TryPlace { project: &place.project, vault: &place.vault, surroundings: &surroundings, interrupts };
    let mut report = TryReport { stacks: Vec::new(), chosen: ChosenChecks::default() };
    let mut chosen: Vec<(&StackProposal, &TestWay)> = Vec::new();
    for stack in &proposal.stacks {
        let (way, green) = Trial { place: &place, proposal, stack }.choose(observer)?;
        let missing: BTreeSet<&str> = stack.ways.iter().flat_map(|way| way.needs.iter().copied()).collect();
        let missing = missing.into_iter().filter(|program| !surroundings.finds(program));
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
    Ok(report)
}

struct Trial<'a> {
    place: &'a TryPlace<'a>,
    proposal: &'a Proposal,
    stack: &'a StackProposal,
}

impl<'a> Trial<'a> {
    /// The first way that is green, or the likeliest; and whether it is green.
    fn choose(&self, observer: &mut dyn TryObserver) -> Result<(&'a TestWay, bool), AppError> {
        let can_run = |way: &&TestWay| way.needs.iter().all(|program| self.place.surroundings.finds(program));
        let mut failed: BTreeSet<&[String]> = BTreeSet::new();
        let mut tried = 0;
        for way in self.stack.ways.iter().filter(can_run) {
            if failed.contains(way.setup.as_slice()) || tried == MOST_TRIED {
                continue;
            }
            tried += 1;
            observer.trying(self.stack.name, way);
            let result = self.run(way)?;
            observer.tried(&result);
            match result {
                TriedWay::Green { .. } => return Ok((way, true)),
                TriedWay::NotSetUp { .. } => drop(failed.insert(&way.setup)),
                TriedWay::Red { .. } | TriedWay::NotRun { .. } => {}
            }
        }
        let likeliest = self.stack.ways.iter().find(can_run).or(self.stack.ways.first());
        Ok((likeliest.expect("a stack has a way"), false))
    }

    fn run(&self, way: &TestWay) -> Result<TriedWay, AppError> {
        if !way.setup.is_empty() {
            let result = match self.command(way, "true")? {
                Ok(result) => result,
                Err(why) => return Ok(TriedWay::NotRun { why }),
            };
            if result.exit_code != Some(0) {
                return Ok(TriedWay::NotSetUp { ending: ending(&result), excerpt: result.excerpt });
            }
        }
        Ok(match self.command(way, &way.run)? {
            Ok(result) if result.exit_code == Some(0) => TriedWay::Green { duration: result.duration_ms },
            Ok(result) => TriedWay::Red { ending: ending(&result), excerpt: result.excerpt },
            Err(why) => TriedWay::NotRun { why },
        })
    }

    fn command(&self, way: &TestWay, run: &str) -> Result<Result<CheckResult, String>, AppError> {
        let mut policy = Policy::default();
        policy.gate.protect.clone_from(&self.proposal.protect);
        policy.gate.product.clone_from(&self.proposal.product);
        let commands = TriedCommands { policy: &policy, setup: &way.setup, run };
        match try_checks(self.place, &commands) {
            Ok(result) => Ok(Ok(result)),
            Err(TryError::Interrupted) => Err(AppError::refused("interrupted; nothing was written")
                .hint("`windlass init --no-try` writes the likeliest checks without trying them")),
            Err(error) => Ok(Err(error.to_string())),
        }
    }
}

fn ending(result: &CheckResult) -> String {
    match (result.timed_out, result.exit_code, result.signal) {
        (true, ..) => "timed out".to_owned(),
        (false, Some(code), _) => format!("exit {code}"),
        (false, None, Some(signal)) => format!("ended by signal {signal}"),
        (false, None, None) => "did not end by itself".to_owned(),
    }
}
