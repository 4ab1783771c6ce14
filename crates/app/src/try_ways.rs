//! Which of the proposed ways to test a project works on this machine: each is tried as a gate would run it,
//! until one is green.

use std::collections::BTreeSet;
use std::path::Path;

use windlass_config::{
    ChosenCheck, ChosenChecks, PROJECT_FILE, Proposal, StackProposal, TestWay, install_command,
};
use windlass_core::gate::CheckResult;
use windlass_core::policy::Policy;
use windlass_core::time::Millis;
use windlass_driver::agents::Probe;
use windlass_driver::ask_for_checks::ask_for_checks;
use windlass_driver::setup::counted_names;
use windlass_driver::try_checks::{TriedCheck, TriedCommands, TryError, TryPlace, try_checks, uncommitted};

use crate::red_output::{
    FewFailures, fetch_failed, missing_modules, missing_program, not_loaded, refuses_tool, shows_tests,
    wanted_go,
};
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
        /// It was stopped at its limit.
        timed_out: bool,
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
    /// Why it is red, as far as the output says so.
    pub causes: Vec<String>,
}

pub struct TryReport {
    pub stacks: Vec<StackReport>,
    pub chosen: ChosenChecks,
    /// Where something is red: files that differ from the last commit, which was tried.
    pub uncommitted: Option<String>,
}

/// More ways than these are not tried: each may take minutes.
const MOST_TRIED: usize = 8;

/// A trial may take longer than a check that says nothing of its time: what builds for long is not wrong.
const LIMIT: Millis = Millis::minutes(15);

/// A check that takes too long takes long each time.
const MOST_TIMED_OUT: usize = 2;

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
    let (stacks, chosen) = (Vec::new(), ChosenChecks::default());
    let mut report = TryReport { stacks, chosen, uncommitted: None };
    let mut chosen: Vec<(&StackProposal, &TestWay)> = Vec::new();
    let mut limits: Vec<(&str, Option<u64>)> = Vec::new();
    for stack in &proposal.stacks {
        let trial = Trial { place: &place, proposal };
        let Chosen { way, green, minutes, seen } = trial.choose(stack, observer)?;
        report.stacks.push(StackReport {
            name: stack.name,
            check: stack.check.clone(),
            green,
            missing: if green { Vec::new() } else { trial.missing(stack, &seen) },
            causes: if green { Vec::new() } else { trial.causes(&seen)? },
        });
        chosen.push((stack, way));
        limits.push((stack.check.as_str(), minutes));
    }
    // Beside one that is green, a check that fails on the head would only stand in the way.
    let any_green = report.stacks.iter().any(|stack| stack.green);
    let kept = chosen.into_iter().zip(&report.stacks).filter(|(_, stack)| stack.green || !any_green);
    report.chosen = ChosenChecks::of(kept.map(|(chosen, _)| chosen));
    for check in &mut report.chosen.checks {
        check.minutes = limits.iter().find(|(name, _)| *name == check.name).and_then(|(_, minutes)| *minutes);
    }
    if let Some(asked) = asked.filter(|_| !any_green)
        && let Some(way) = (Trial { place: &place, proposal }.ask(asked, observer)?)
    {
        let check = "test".to_owned();
        let chosen = ChosenCheck { name: check.clone(), run: way.run, ..ChosenCheck::default() };
        report.chosen = ChosenChecks { checks: vec![chosen], setup: way.setup };
        report.stacks =
            vec![StackReport { name: ASKED, check, green: true, missing: Vec::new(), causes: Vec::new() }];
    }
    if report.stacks.iter().any(|stack| !stack.green) {
        report.uncommitted = left_out(&place);
    }
    Ok(report)
}

/// What `init` writes itself is no part of a test. Where git cannot say, the red output is all that can be told.
fn left_out(place: &TryPlace<'_>) -> Option<String> {
    let files = uncommitted(place).unwrap_or_default();
    let is_own = |file: &str| file == PROJECT_FILE || file.starts_with("tasks/");
    let files: Vec<&str> = files.iter().map(String::as_str).filter(|file| !is_own(file)).collect();
    (!files.is_empty()).then(|| counted_names(&files))
}

/// Stands for a stack where an agent proposes.
const ASKED: &str = "the agent's proposal";

struct Chosen<'s> {
    way: &'s TestWay,
    green: bool,
    /// How long its check is to have, where that is not what any check has.
    minutes: Option<u64>,
    seen: Seen<'s>,
}

/// What the ways that were tried have shown of a stack.
#[derive(Default)]
struct Seen<'s> {
    tried: usize,
    /// Set-ups that failed.
    failed: BTreeSet<&'s [String]>,
    /// Set-ups that were tried after one whose few failures have names.
    further: BTreeSet<&'s [String]>,
    ran_tests: Option<&'s TestWay>,
    /// Ways whose check was stopped at its limit.
    timed_out: Vec<&'s TestWay>,
    /// Ways whose tests could not be loaded, with the files.
    not_loaded: Vec<(&'s TestWay, Vec<String>)>,
    /// Modules that the last of them lacked.
    missing_modules: Vec<String>,
    few_failures: Vec<(&'s TestWay, FewFailures)>,
    /// Ways whose install came so far that the tool which it fetches was there.
    fetched: Vec<&'s TestWay>,
    /// A program that the first way without it did not find.
    not_found: Option<String>,
    wanted_go: Option<String>,
    refuses_tool: bool,
}

impl<'s> Seen<'s> {
    /// Whether this way may still show what the others did not.
    fn leaves_worth(&self, way: &TestWay) -> bool {
        let stands_in = !way.instead_of.is_empty();
        if stands_in && !self.failed.contains(way.instead_of.as_slice()) {
            return false;
        }
        let is_enough = self.tried == MOST_TRIED || self.timed_out.len() == MOST_TIMED_OUT;
        if is_enough || self.failed.contains(way.setup.as_slice()) || self.is_part_of_a_loss(way) {
            return false;
        }
        // The same runner with fewer files fails on the same tests, and so it does after a third set-up.
        let is_part = |(whole, _): &(&TestWay, FewFailures)| {
            whole.setup == way.setup && way.run.starts_with(&whole.run)
        };
        let is_other = |(first, _): &(&TestWay, FewFailures)| first.setup != way.setup;
        let is_third = self.few_failures.first().is_some_and(is_other)
            && !self.further.is_empty()
            && !self.further.contains(way.setup.as_slice());
        !self.few_failures.iter().any(is_part) && !is_third
    }

    /// The same runner with fewer files, which has a file that could not be loaded, or takes as long.
    fn is_part_of_a_loss(&self, way: &TestWay) -> bool {
        let within = |whole: &TestWay| {
            let rest = way.run.strip_prefix(&whole.run).filter(|_| whole.setup == way.setup)?;
            Some(format!("{}/", rest.trim()))
        };
        let fails_there = |(whole, files): &(&TestWay, Vec<String>)| {
            within(whole).is_some_and(|directory| files.iter().any(|file| file.starts_with(&directory)))
        };
        self.not_loaded.iter().any(fails_there) || self.timed_out.iter().any(|whole| within(whole).is_some())
    }

    fn take(&mut self, way: &'s TestWay, result: &TriedWay) {
        self.tried += 1;
        if self.few_failures.first().is_some_and(|(first, _)| first.setup != way.setup) {
            self.further.insert(&way.setup);
        }
        let excerpt = match result {
            TriedWay::Green { .. } | TriedWay::NotRun { .. } => return,
            TriedWay::NotSetUp { excerpt, .. } => {
                self.failed.insert(&way.setup);
                if !fetch_failed(excerpt) {
                    self.fetched.push(way);
                }
                excerpt
            }
            TriedWay::Red { excerpt, timed_out, .. } => {
                self.fetched.push(way);
                self.timed_out.extend(timed_out.then_some(way));
                let files: Vec<String> = not_loaded(excerpt).map(str::to_owned).collect();
                self.not_loaded.extend((!files.is_empty()).then_some((way, files)));
                self.missing_modules = missing_modules(excerpt).into_iter().map(str::to_owned).collect();
                if shows_tests(excerpt) {
                    self.ran_tests.get_or_insert(way);
                }
                self.few_failures.extend(FewFailures::of(excerpt).map(|few| (way, few)));
                excerpt
            }
        };
        self.refuses_tool |= refuses_tool(excerpt);
        if self.not_found.is_none() {
            self.not_found = missing_program(excerpt).map(str::to_owned);
        }
        if self.wanted_go.is_none() {
            self.wanted_go = wanted_go(excerpt).map(str::to_owned);
        }
    }

    /// Whether a way came so far that what others lack makes no difference.
    fn has_run_tests(&self) -> bool {
        self.ran_tests.is_some() || !self.timed_out.is_empty() || !self.not_loaded.is_empty()
    }

    /// Whether a way that does without this program of the machine had it all the same.
    fn has_fetched(&self, program: &str) -> bool {
        let names = |text: &String| {
            let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
            text.split(|c: char| !is_part(c)).any(|word| word == program)
        };
        let brings =
            |way: &&TestWay| !way.needs.contains(&program) && way.setup.iter().chain([&way.run]).any(names);
        self.fetched.iter().any(brings)
    }
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
        let finds = |program: &&str| self.place.surroundings.finds(program);
        let can_run = |way: &&TestWay| way.needs.iter().all(finds);
        let mut seen = Seen::default();
        for way in stack.ways.iter().filter(can_run) {
            // What a tool did that is here, the same tool from elsewhere does too.
            let is_repeated = way.fetches.as_ref().is_some_and(finds) && !seen.refuses_tool;
            if is_repeated || !seen.leaves_worth(way) {
                continue;
            }
            observer.trying(stack.name, way);
            let result = self.run(way).map_err(|error| match seen.ran_tests {
                Some(way) => error.hint(format!("the likeliest so far, which ran tests: {}", way.run)),
                None => error,
            })?;
            observer.tried(&result);
            seen.take(way, &result);
            if let TriedWay::Green { duration } = result {
                return Ok(Chosen { way, green: true, minutes: minutes_for(duration), seen });
            }
        }
        let ran = seen.ran_tests.or(seen.timed_out.last().copied());
        let likeliest = ran.or(stack.ways.iter().find(can_run)).or(stack.ways.first());
        Ok(Chosen { way: likeliest.expect("a stack has a way"), green: false, minutes: None, seen })
    }

    /// What could be fetched instead, and was, is not missing.
    fn missing(&self, stack: &StackProposal, seen: &Seen<'_>) -> Vec<String> {
        let ways = stack.ways.iter().filter(|_| !seen.has_run_tests());
        let needed = ways.flat_map(|way| way.needs.iter().copied());
        let needed = needed.filter(|program| !seen.has_fetched(program));
        // What a script of package.json does not find is a package, and not the machine's.
        let not_found = seen.not_found.as_deref().filter(|_| stack.name != "Node.js");
        let lacks = |program: &&str| !self.place.surroundings.finds(program);
        let missing: BTreeSet<&str> = needed.chain(not_found).filter(lacks).collect();
        let missing = missing.into_iter().map(|program| match install_command(program) {
            Some(command) => format!("{program} ({command})"),
            None => program.to_owned(),
        });
        missing.collect()
    }

    fn causes(&self, seen: &Seen<'_>) -> Result<Vec<String>, AppError> {
        let mut causes = Vec::new();
        causes.extend(seen.few_failures.first().map(|(_, few)| few.words()));
        if !seen.timed_out.is_empty() {
            causes.push(format!("takes longer than {LIMIT}: `timeout` below the check gives it more time"));
        }
        if !seen.missing_modules.is_empty() {
            causes
                .push(format!("no set-up brings what its tests import: {}", seen.missing_modules.join(", ")));
        }
        let modules = std::fs::read_to_string(self.place.project.top.join(".gitmodules")).unwrap_or_default();
        let empty: Vec<&str> = submodules(&modules).collect();
        if !empty.is_empty() {
            causes.push(format!("submodules are left empty in the sandbox: {}", empty.join(", ")));
        }
        if let Some(wanted) = &seen.wanted_go {
            let here = match self.command(&TestWay { run: "go version".to_owned(), ..TestWay::default() })? {
                Ok(tried) => go_version(&tried.result.excerpt),
                Err(_) => None,
            };
            let here = here.unwrap_or_else(|| "an older one".to_owned());
            causes.push(format!("needs Go {wanted}, this machine has {here}"));
        }
        Ok(causes)
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
                TriedWay::Red { ending, excerpt, .. } => format!("`run` failed: {ending}\n{excerpt}"),
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
                let CheckResult { excerpt, timed_out, .. } = result;
                TriedWay::Red { ending: red.words(), excerpt, timed_out }
            }
            Err(why) => TriedWay::NotRun { why },
        })
    }

    fn command(&self, way: &TestWay) -> Result<Result<TriedCheck, String>, AppError> {
        let mut policy = Policy::default();
        policy.gate.timeout = LIMIT;
        policy.gate.protect.clone_from(&self.proposal.protect);
        policy.gate.product.clone_from(&self.proposal.product);
        let junit = way.junit.as_deref().unwrap_or_default();
        let commands = TriedCommands { policy: &policy, setup: &way.setup, run: &way.run, junit };
        match try_checks(self.place, &commands) {
            Ok(tried) => Ok(Ok(tried)),
            Err(TryError::Interrupted) => Err(AppError::interrupted()
                .hint("`windlass init --no-try` writes the likeliest checks without trying them")),
            Err(error) => Ok(Err(error.to_string())),
        }
    }
}

/// Three times what it took, where the usual limit is less: a machine is not always as free as now.
fn minutes_for(duration: Millis) -> Option<u64> {
    let wanted = Millis(duration.0.saturating_mul(3));
    (wanted > Policy::default().gate.timeout).then(|| wanted.0.div_ceil(Millis::minutes(1).0))
}

/// The directories that a `.gitmodules` names.
fn submodules(text: &str) -> impl Iterator<Item = &str> {
    let entries = text.lines().filter_map(|line| line.split_once('='));
    entries.filter(|(key, _)| key.trim() == "path").map(|(_, path)| path.trim())
}

/// The number in what `go version` says.
fn go_version(text: &str) -> Option<String> {
    let mut words = text.split_whitespace();
    words.find_map(|word| word.strip_prefix("go1.")).map(|rest| format!("1.{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(setup: &str, run: &str) -> TestWay {
        TestWay { setup: vec![setup.to_owned()], run: run.to_owned(), ..TestWay::default() }
    }

    fn red(excerpt: &str) -> TriedWay {
        not_green(excerpt, false)
    }

    fn not_green(excerpt: &str, timed_out: bool) -> TriedWay {
        TriedWay::Red { ending: "exit code 1".to_owned(), excerpt: excerpt.to_owned(), timed_out }
    }

    fn not_set_up(excerpt: &str) -> TriedWay {
        TriedWay::NotSetUp { ending: "exit code 1".to_owned(), excerpt: excerpt.to_owned() }
    }

    #[test]
    fn where_few_of_many_tests_fail_one_further_set_up_is_tried() {
        let [whole, part, other] = [way("uv", "pytest"), way("uv", "pytest tests"), way("uv", "unittest")];
        let [second, third] = [way("pip", "pytest"), way("tox", "pytest")];
        let few = red("FAILED a.py::b\n1 failed, 1400 passed in 42.72s");
        let mut seen = Seen::default();
        seen.take(&whole, &few);
        assert!(!seen.leaves_worth(&part) && seen.leaves_worth(&other));
        assert!(seen.leaves_worth(&second) && seen.leaves_worth(&third));
        seen.take(&second, &few);
        assert!(!seen.leaves_worth(&third) && !seen.leaves_worth(&way("pip", "pytest tests")));
        assert!(seen.leaves_worth(&way("pip", "unittest")));
        let mut seen = Seen::default();
        seen.take(&whole, &red("FAILED a.py::b\n900 failed, 1400 passed in 42.72s"));
        assert!(seen.leaves_worth(&part));
    }

    #[test]
    fn a_part_of_what_could_not_be_loaded_or_took_too_long_is_not_tried() {
        let [whole, tests, bench] =
            [way("uv", "pytest"), way("uv", "pytest tests"), way("uv", "pytest bench")];
        let other = way("uv more", "pytest tests");
        let mut seen = Seen::default();
        let red = "ModuleNotFoundError: No module named 'bson'\nERROR tests/test_a.py\n";
        seen.take(&whole, &not_green(red, false));
        assert!(!seen.leaves_worth(&tests) && seen.leaves_worth(&bench) && seen.leaves_worth(&other));
        assert_eq!(seen.missing_modules, ["bson"]);
        let mut seen = Seen::default();
        seen.take(&whole, &not_green("....", true));
        assert!(!seen.leaves_worth(&tests) && seen.leaves_worth(&other));
        seen.take(&other, &not_green("....", true));
        assert!(!seen.leaves_worth(&way("pip", "pytest")));
    }

    #[test]
    fn a_set_up_that_stands_in_is_tried_only_where_the_other_failed() {
        let exact = way("npm ci", "npm test");
        let lesser =
            TestWay { instead_of: exact.setup.clone(), ..way("npm ci --ignore-scripts", "npm test") };
        let mut seen = Seen::default();
        seen.take(&exact, &red("12 problems"));
        assert!(!seen.leaves_worth(&lesser));
        let mut seen = Seen::default();
        seen.take(&exact, &not_set_up("npm error code 1"));
        assert!(seen.leaves_worth(&lesser) && !seen.leaves_worth(&way("npm ci", "npm run unit")));
    }

    #[test]
    fn a_tool_that_was_fetched_and_ran_is_not_missing() {
        let fetched =
            way("npx -y -p pnpm@10 -c 'pnpm install --frozen-lockfile'", "npx -y -p pnpm@10 -c 'pnpm test'");
        let fetched = TestWay { needs: vec!["npx"], ..fetched };
        let mut seen = Seen::default();
        seen.take(
            &fetched,
            &not_set_up("ERR_PNPM_FETCH_404  GET https://registry.npmjs.org/a: Not Found - 404"),
        );
        assert!(seen.has_fetched("pnpm") && !seen.has_fetched("npx") && !seen.has_fetched("yarn"));
        let mut seen = Seen::default();
        seen.take(&fetched, &not_set_up("npm error code ENOTFOUND"));
        assert!(!seen.has_fetched("pnpm"));
    }

    #[test]
    fn what_others_lack_is_told_until_a_way_ran_tests() {
        let cmake = way("cmake", "ctest");
        let mut seen = Seen::default();
        seen.take(&cmake, &red("No tests were found!!!"));
        assert!(!seen.has_run_tests() && seen.has_fetched("ctest"));
        seen.take(&cmake, &red("50% tests passed, 1 tests failed out of 2"));
        assert!(seen.has_run_tests());
    }

    #[test]
    fn a_check_that_took_long_gets_more_time() {
        for (took, minutes) in [(1, None), (100, None), (101, Some(6)), (600, Some(30))] {
            assert_eq!(minutes_for(Millis::seconds(took)), minutes, "{took} s");
        }
    }

    #[test]
    fn submodules_are_read() {
        let text = "[submodule \"a\"]\n\tpath = tests/a b\n\turl = https://host.example/a?path=c\n";
        assert_eq!(submodules(text).collect::<Vec<_>>(), ["tests/a b"]);
    }

    #[test]
    fn the_version_of_go_is_read() {
        assert_eq!(go_version("go version go1.19.8 linux/amd64").as_deref(), Some("1.19.8"));
    }
}
