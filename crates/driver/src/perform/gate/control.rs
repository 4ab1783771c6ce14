//! Shows that a check can fail on the tree it judged: its tests are broken, the same
//! command runs, and each must turn red.

mod hunt;
mod singled;
mod suite;

pub use self::hunt::{TestId, Tests};
pub use self::suite::Suite;

use std::collections::{BTreeMap, BTreeSet};

use windlass_control::{Breakage, BrokenTest, Numbers, Round, RunEvidence, TestChange, is_red, not_red};
use windlass_core::broken_tests::{Breakings, BrokenTests};
use windlass_core::gate::{CheckResult, CheckStart};
use windlass_core::id::BlobId;
use windlass_core::outcome::Fault;
use windlass_core::policy::CheckPolicy;
use windlass_core::tally::Names;
use windlass_core::time::Millis;
use windlass_workspace::Checkout;

use self::hunt::{BrokenRun, BrokenRuns, Division, Hunted, NoAnswer, RunEnding, Whose, hunt};
use self::singled::{Singled, Steadiness, TimedRun, Turn, single_out, turns};
use self::suite::BrokenTree;
use super::runner::{GateRunner, RanBroken};
use super::{GateTarget, JudgedTrial, judged_tree};
use crate::clock;
use crate::perform::{EffectRequest, EffectResources, fault};

/// No output that is read back is larger.
pub const OUTPUT_LIMIT: u64 = 64 << 20;
/// How much longer than the honest run a broken one may take: a runner that prints where each test
/// failed was seen to take ten times as long, and a test that fails may leave others waiting for ever.
const SLOWER: u64 = 20;
const LEAST: Millis = Millis::minutes(1);
/// With fewer, a product that lies in some runs only is too likely to lie in the right ones.
const FEW_TESTS: usize = 8;
/// Of the tests that fail on the base, and of those that failed unbroken, so many each are broken alone; fewer where
/// that takes long.
const ALONE: usize = 12;
/// How often with another value: larger, smaller, and with the assertion turned over.
const LITERAL_RUNS: usize = 3;
/// The other way, in the other half: an object may be equal to all that is larger, or ends alike. Then the assertion
/// itself turned over: a product may have put nothing in its place.
const OTHER_ROUNDS: [u32; 2] = [1, 2];
/// How often a base that is red is run to find the part that is green.
const GREEN_PART_RUNS: usize = 4;
/// How much longer than the check itself may.
const LONGER: u64 = 4;

/// A green check, with those that run before it in its tree.
pub struct Controlled<'a> {
    /// The last of them is the check itself.
    pub chain: &'a [&'a CheckPolicy],
    pub result: &'a CheckResult,
}

/// Breaks the tests of one tree, and of the base where that is needed.
pub struct TestBreaker<'a> {
    resources: &'a EffectResources,
    request: &'a EffectRequest,
    judged_on: JudgedTrial<'a>,
    judged: Suite,
    base: Option<Suite>,
    green_part: Option<Suite>,
}

impl<'a> TestBreaker<'a> {
    pub fn new(
        resources: &'a EffectResources,
        request: &'a EffectRequest,
        judged_on: JudgedTrial<'a>,
    ) -> Result<Self, Fault> {
        let JudgedTrial { target, rules, .. } = judged_on;
        let judged = Suite::of(&resources.vault, rules, target.tree).map_err(|error| fault(&error))?;
        Ok(Self { resources, request, judged_on, judged, base: None, green_part: None })
    }

    /// `None`: it was cancelled.
    pub fn show(
        &mut self,
        checkout: &mut Checkout,
        of: &Controlled<'_>,
    ) -> Result<Option<BrokenTests>, Fault> {
        let tests = self.judged.tests(Breakage::FailingStatement);
        if tests.is_empty() {
            return Ok(Some(BrokenTests::default()));
        }
        let text = self.resources.blobs.text(&of.result.output, OUTPUT_LIMIT)?;
        let honest = RunEvidence::read(&text, Vec::new());
        let mut asking = Asking::new(self, checkout, of);
        let asked = asking.both(&honest).and_then(|mut hunted| {
            let unsteady = asking.single_out(&mut hunted)?;
            Ok((hunted, unsteady))
        });
        let (hunted, unsteady) = match asked {
            Ok(found) => found,
            Err(NoAnswer::Cancelled) => return Ok(None),
            Err(NoAnswer::Fault(fault)) => return Err(fault),
        };
        let Asking { outputs, duration, failing_on_base, .. } = asking;
        let mut report = self.report(&tests, hunted, Spent { outputs, duration })?;
        report.unsteady = names(&unsteady);
        report.failing_on_base = failing_on_base.as_ref().map(names);
        Ok(Some(report))
    }

    /// Whether the check calls one of these tests failed when all of them are broken. `None`: it was cancelled.
    pub fn names_when_broken(
        &mut self,
        checkout: &mut Checkout,
        of: &Controlled<'_>,
        tests: &Tests,
    ) -> Result<Option<bool>, Fault> {
        match Asking::new(self, checkout, of).run(Whose::Judged, tests) {
            Ok(ran) => Ok(Some(!ran.red.is_empty())),
            Err(NoAnswer::Cancelled) => Ok(None),
            Err(NoAnswer::Fault(fault)) => Err(fault),
        }
    }

    fn report(
        &self,
        tests: &[(TestId, BrokenTest)],
        hunted: [Hunted; 2],
        spent: Spent,
    ) -> Result<BrokenTests, Fault> {
        let [statement, literal] = &hunted;
        let mut list = String::new();
        let mut unbroken = Vec::new();
        for (id, test) in tests {
            let by_statement = outcome(statement, id);
            let by_literal = outcome(literal, id);
            if let TestChange::Unchanged(why) = &test.change {
                unbroken.push(shown(id));
                list.push_str(&format!("not broken: {why}  {test}\n"));
            } else {
                list.push_str(&format!("statement {by_statement}, literal {by_literal}  {test}\n"));
            }
        }
        let excerpt = hunted.iter().map(|one| &one.excerpt).find(|text| !text.is_empty());
        Ok(BrokenTests {
            statement: self.breakings(statement),
            literal: self.breakings(literal),
            unbroken: Names::of(unbroken.iter().map(String::as_str)),
            runs: u32::try_from(spent.outputs.len()).unwrap_or(u32::MAX),
            duration_ms: spent.duration,
            list: Some(self.resources.blobs.put(list.into_bytes())?),
            outputs: spent.outputs,
            excerpt: excerpt.cloned().unwrap_or_default(),
            unsteady: Names::default(),
            failing_on_base: None,
        })
    }

    /// A changed setting may have the runner say less.
    fn breakings(&self, hunted: &Hunted) -> Breakings {
        match self.judged_on.has_trusted_terms {
            true => breakings(hunted, &hunted.told_on_base),
            false => breakings(hunted, &Tests::new()),
        }
    }

    fn suite(&mut self, whose: Whose) -> Result<&Suite, Fault> {
        if self.base.is_none() && whose != Whose::Judged {
            self.base = Some(self.suite_of_base()?);
        }
        let of_base = match whose {
            Whose::Judged => None,
            Whose::Base => self.base.as_ref(),
            Whose::GreenPart => self.green_part.as_ref().or(self.base.as_ref()),
        };
        Ok(of_base.unwrap_or(&self.judged))
    }

    fn suite_of_base(&self) -> Result<Suite, Fault> {
        let tree = judged_tree(self.resources, self.request, &self.request.creation.base_tree)?;
        Suite::of(&self.resources.vault, self.judged_on.rules, &tree).map_err(|error| fault(&error))
    }

    /// The part of the base that is asked about, without these files of it.
    fn leave_out(&mut self, files: &BTreeSet<String>) -> Result<(), Fault> {
        let part = match self.green_part.take() {
            Some(part) => part,
            None => self.suite_of_base()?,
        };
        let part = part.without(&self.resources.vault, files).map_err(|error| fault(&error))?;
        self.green_part = Some(part);
        Ok(())
    }
}

struct Spent {
    outputs: Vec<BlobId>,
    duration: Millis,
}

/// One check being asked.
struct Asking<'b, 'a> {
    breaker: &'b mut TestBreaker<'a>,
    checkout: &'b mut Checkout,
    of: &'b Controlled<'b>,
    breakage: Breakage,
    /// Which way literals change.
    round: Round,
    outputs: Vec<BlobId>,
    duration: Millis,
    /// Those that are broken alone; none where the check is green there.
    failing_on_base: Option<Tests>,
    /// What the check prints on the honest base, where it is red there and somebody asked.
    base_failure: Option<String>,
    /// Whether a part of the base is green to this check, where somebody asked.
    has_green_part: Option<bool>,
}

impl<'b, 'a> Asking<'b, 'a> {
    fn new(breaker: &'b mut TestBreaker<'a>, checkout: &'b mut Checkout, of: &'b Controlled<'b>) -> Self {
        let breakage = Breakage::FailingStatement;
        let round = Round { lot: clock::random(), nth: 0 };
        breaker.green_part = None;
        Self {
            breaker,
            checkout,
            of,
            breakage,
            round,
            outputs: Vec::new(),
            duration: Millis(0),
            failing_on_base: None,
            base_failure: None,
            has_green_part: None,
        }
    }
}

impl Asking<'_, '_> {
    fn both(&mut self, honest: &RunEvidence) -> Result<[Hunted; 2], NoAnswer> {
        let statement = self.hunt(Breakage::FailingStatement, honest, &Tests::new())?;
        // What stays green with a failing statement is told by that already.
        let known = [&statement.set_aside, &statement.green, &statement.added, &statement.untold];
        let known: Tests = known.into_iter().flatten().cloned().collect();
        let mut literal = self.hunt(Breakage::ChangedLiteral, honest, &known)?;
        for nth in OTHER_ROUNDS {
            if literal.broken.is_empty() || !literal.green.is_empty() {
                break;
            }
            self.round.nth = nth;
            let known: Tests = known.union(&literal.ends_run).cloned().collect();
            let other = self.hunt(Breakage::ChangedLiteral, honest, &known)?;
            literal.join(other);
        }
        self.round.nth = 0;
        Ok([statement, literal])
    }

    /// A broken test may make others fail, by a lock that it leaves or a file. If that was all, the check is green on
    /// the honest tree, however often it is run. Returns the tests about which it is not; one that stays green when it
    /// is broken alone is green.
    fn single_out(&mut self, hunted: &mut [Hunted; 2]) -> Result<Tests, NoAnswer> {
        let suspects: Tests =
            hunted.iter_mut().flat_map(|one| std::mem::take(&mut one.red_unbroken)).collect();
        if hunted.iter().any(|one| !one.green.is_empty()) {
            return Ok(Tests::new());
        }
        let [statement, literal] = &*hunted;
        let mut alone = self.failing_on_base(statement)?;
        alone.extend(self.sample(&suspects.intersection(&statement.red).cloned().collect(), ALONE));
        let honest = match (suspects.is_empty(), statement.broken.len() < FEW_TESTS) {
            (false, _) => Steadiness::SUSPECTED,
            (true, true) => Steadiness::FEW_TESTS,
            (true, false) if alone.is_empty() => return Ok(Tests::new()),
            (true, false) => Steadiness::MIXED,
        };
        let mut broken: Vec<(TestId, Breakage)> = Vec::new();
        for test in alone {
            let literals = if literal.red.contains(&test) { LITERAL_RUNS } else { 0 };
            broken.extend(vec![(test.clone(), Breakage::ChangedLiteral); literals]);
            broken.push((test, Breakage::FailingStatement));
        }
        let forgiven = self.of.chain.last().map_or(0, |check| check.retry);
        let mut asked: BTreeMap<TestId, u32> = BTreeMap::new();
        let found = single_out(turns(broken, honest, clock::random), honest, forgiven, |turn| {
            let (tests, breakage) = match turn {
                Turn::Honest => (Tests::new(), Breakage::FailingStatement),
                Turn::Alone(test, breakage) => ([test.clone()].into_iter().collect(), *breakage),
            };
            if let Turn::Alone(test, Breakage::ChangedLiteral) = turn {
                let nth = asked.entry(test.clone()).or_default();
                self.round.nth = *nth;
                *nth += 1;
            }
            self.breakage = breakage;
            let before = self.duration;
            let ran = self.run(Whose::Judged, &tests)?;
            Ok(TimedRun { ending: ran.ending, took: Millis(self.duration.0.saturating_sub(before.0)) })
        })?;
        let Singled { green, unsteady } = found;
        if let Some((test, breakage)) = green {
            let [statement, literal] = hunted;
            match breakage {
                Breakage::FailingStatement => statement.stays_green(test),
                Breakage::ChangedLiteral => literal.stays_green(test),
            }
        }
        let about = if suspects.is_empty() { &hunted[0].broken } else { &suspects };
        Ok(if unsteady { about.clone() } else { Tests::new() })
    }

    /// Tests that fail on the base: what the work has to mend, and what a lie would be about. Where the check of the base
    /// names none, any that the base has.
    fn failing_on_base(&mut self, statement: &Hunted) -> Result<BTreeSet<TestId>, NoAnswer> {
        if self.breaker.request.was_green_on_base(&self.of.result.check) {
            return Ok(BTreeSet::new());
        }
        self.breakage = Breakage::FailingStatement;
        let red = self.run(Whose::Base, &Tests::new())?.red_unbroken;
        // One that the work silences was not seen red.
        let judged: Tests = statement.broken.difference(&statement.set_aside).cloned().collect();
        let named: Tests = red.intersection(&judged).cloned().collect();
        self.failing_on_base = Some(named.clone());
        let of_base = match named.is_empty() {
            true => self.breakable(Whose::Base)?.intersection(&statement.red).cloned().collect(),
            false => named,
        };
        Ok(self.sample(&of_base, ALONE).into_iter().collect())
    }

    fn hunt(&mut self, breakage: Breakage, honest: &RunEvidence, known: &Tests) -> Result<Hunted, NoAnswer> {
        self.breakage = breakage;
        let tests = self.breaker.suite(Whose::Judged)?.tests(breakage);
        let called_failed = tests.iter().filter(|(_, test)| test.is_changed() && is_red(test, honest));
        let forged: Tests = called_failed.map(|(id, _)| id.clone()).collect();
        let division = match (breakage, self.round.nth) {
            (Breakage::FailingStatement, _) => Division::Halves,
            (Breakage::ChangedLiteral, 0) => Division::OneAndRest,
            (Breakage::ChangedLiteral, _) => Division::Whole,
        };
        hunt(self, &forged, known, division)
    }

    /// Leaves out the files in which tests fail, and those that the failure names where it names no test.
    fn look_for_green_part(&mut self) -> Result<bool, NoAnswer> {
        let mut whose = Whose::Base;
        for _ in 0..GREEN_PART_RUNS {
            let ran = self.run(whose, &Tests::new())?;
            if ran.ending == RunEnding::Green {
                return Ok(whose == Whose::GreenPart);
            }
            let mut files: BTreeSet<String> = ran.red_unbroken.into_iter().map(|test| test.file).collect();
            if files.is_empty() {
                let printed = self.last_printed()?;
                let tests = self.breakable(whose)?.into_iter();
                files.extend(tests.map(|test| test.file).filter(|file| printed.contains(file)));
            }
            if files.is_empty() {
                return Ok(false);
            }
            self.breaker.leave_out(&files)?;
            whose = Whose::GreenPart;
        }
        Ok(false)
    }

    fn last_printed(&self) -> Result<String, NoAnswer> {
        let blobs = &self.breaker.resources.blobs;
        let printed = self.outputs.last().map(|output| blobs.text(output, OUTPUT_LIMIT));
        Ok(printed.transpose()?.unwrap_or_default())
    }

    fn check_once(&mut self, tree: &BrokenTree) -> Result<RanBroken, NoAnswer> {
        let TestBreaker { resources, request, judged_on, .. } = &*self.breaker;
        let target = GateTarget { tree: &tree.tree, ..judged_on.target };
        let mut runner = GateRunner::new(resources, request, target, self.checkout)?;
        let limit = Millis(self.of.result.duration_ms.0.saturating_mul(SLOWER).saturating_add(LEAST.0));
        let mut last = None;
        for (index, check) in self.of.chain.iter().enumerate() {
            let start = if index == 0 { CheckStart::Clean } else { CheckStart::FromPrevious };
            let most = Millis(check.timeout.0.saturating_mul(LONGER));
            let check = CheckPolicy { timeout: most.min(limit), ..(*check).clone() };
            last = Some(runner.broken(&check, start)?.ok_or(NoAnswer::Cancelled)?);
        }
        runner.finish()?;
        last.ok_or(NoAnswer::Cancelled)
    }
}

impl BrokenRuns for Asking<'_, '_> {
    fn breakable(&mut self, whose: Whose) -> Result<Tests, NoAnswer> {
        let breakage = self.breakage;
        let tests = self.breaker.suite(whose)?.tests(breakage);
        Ok(tests.into_iter().filter(|(_, test)| test.is_changed()).map(|(id, _)| id).collect())
    }

    fn run(&mut self, whose: Whose, broken: &Tests) -> Result<BrokenRun, NoAnswer> {
        let (resources, breakage) = (self.breaker.resources, self.breakage);
        let suite = self.breaker.suite(whose)?;
        let numbers = Numbers::from_seed(clock::random()).in_round(self.round);
        let tree = suite.break_some(&resources.vault, breakage, broken, numbers);
        let tree = tree.map_err(|error| fault(&error))?;
        let ran = self.check_once(&tree)?;
        self.outputs.push(ran.output.clone());
        self.duration = Millis(self.duration.0.saturating_add(ran.result.duration_ms.0));
        let ending = match (ran.result.exited_well(), ran.result.exit_code) {
            (true, _) => RunEnding::Green,
            (false, Some(1..=125)) if !ran.result.timed_out => RunEnding::Failed,
            (false, _) => RunEnding::Unclear,
        };
        let (red, red_unbroken) = match ending {
            RunEnding::Green => (Tests::new(), Tests::new()),
            RunEnding::Failed | RunEnding::Unclear => {
                let text = resources.blobs.text(&ran.output, OUTPUT_LIMIT)?;
                let evidence = RunEvidence::read(&text, ran.failed);
                let all = self.breaker.suite(whose)?.tests(breakage);
                (red_in(&tree.tests, &evidence), red_beside(&all, broken, &evidence))
            }
        };
        Ok(BrokenRun { red, red_unbroken, ending, excerpt: ran.result.excerpt })
    }

    fn sample(&mut self, of: &Tests, most: usize) -> Vec<TestId> {
        let mut drawn: Vec<(u64, &TestId)> = of.iter().map(|test| (clock::random(), test)).collect();
        drawn.sort();
        drawn.into_iter().take(most).map(|(_, test)| test.clone()).collect()
    }

    fn find_green_part(&mut self) -> Result<bool, NoAnswer> {
        if let Some(known) = self.has_green_part {
            return Ok(known);
        }
        // More tests have a name by which they are seen to fail than have a literal.
        let hunted = std::mem::replace(&mut self.breakage, Breakage::FailingStatement);
        let found = self.look_for_green_part()?;
        self.breakage = hunted;
        self.has_green_part = Some(found);
        Ok(found)
    }

    fn named_by_base(&mut self, of: &Tests) -> Result<Tests, NoAnswer> {
        if self.breaker.request.was_green_on_base(&self.of.result.check) {
            return Ok(Tests::new());
        }
        if self.base_failure.is_none() {
            self.run(Whose::Base, &Tests::new())?;
            self.base_failure = Some(self.last_printed()?);
        }
        let failure = self.base_failure.as_deref().unwrap_or_default();
        Ok(of.iter().filter(|test| failure.contains(&test.file)).cloned().collect())
    }
}

fn red_in(tests: &[(TestId, BrokenTest)], evidence: &RunEvidence) -> Tests {
    let plain: Vec<BrokenTest> = tests.iter().map(|(_, test)| test.clone()).collect();
    let green: BTreeSet<*const BrokenTest> =
        not_red(&plain, evidence).into_iter().map(std::ptr::from_ref).collect();
    let red = plain
        .iter()
        .zip(tests)
        .filter(|(test, _)| test.is_changed() && !green.contains(&std::ptr::from_ref(*test)));
    red.map(|(_, (id, _))| id.clone()).collect()
}

/// Tests that failed and were not broken. One with the name of a broken test may be taken for it.
fn red_beside(tests: &[(TestId, BrokenTest)], broken: &Tests, evidence: &RunEvidence) -> Tests {
    let names: BTreeSet<&str> = broken.iter().map(|test| test.name.as_str()).collect();
    let beside = tests.iter().filter(|(id, test)| test.is_changed() && !names.contains(id.name.as_str()));
    beside.filter(|(_, test)| is_red(test, evidence)).map(|(id, _)| id.clone()).collect()
}

fn names(tests: &Tests) -> Names {
    let shown: Vec<String> = tests.iter().map(shown).collect();
    Names::of(shown.iter().map(String::as_str))
}

fn breakings(hunted: &Hunted, silenced: &Tests) -> Breakings {
    let count = |tests: &Tests| u32::try_from(tests.len()).unwrap_or(u32::MAX);
    Breakings {
        broken: count(&hunted.broken),
        red: count(&hunted.red),
        red_by_exit: count(&hunted.by_exit),
        green: names(&hunted.green),
        set_aside: names(&hunted.set_aside),
        added: names(&hunted.added),
        untold: names(&hunted.untold),
        silenced: names(silenced),
    }
}

pub fn shown(id: &TestId) -> String {
    format!("{} {}", id.file, id.name)
}

fn outcome(hunted: &Hunted, id: &TestId) -> &'static str {
    let words = [
        ("red by exit code", &hunted.by_exit),
        ("red", &hunted.red),
        ("green", &hunted.green),
        ("green, on the base too", &hunted.set_aside),
        ("not seen red, added", &hunted.added),
        ("not told", &hunted.untold),
    ];
    words.into_iter().find(|(_, tests)| tests.contains(id)).map_or("unchanged", |(word, _)| word)
}
