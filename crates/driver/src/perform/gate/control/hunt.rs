//! Which broken tests turn red, asked of a check in as few runs as it takes.
//!
//! Most checks tell it in one run. One that stops at its first failure is asked again
//! about the rest. A test that stays green is looked for on the base: green though broken
//! there too, it is one that this check does not run here. What a check does not tell by
//! name is broken alone, a few at random, and told by the exit code.
//!
//! One broken test may end the run before anything is told, as where the runner itself falls over it. It is found by
//! asking about ever smaller parts, and the others are told without it.
//!
//! Tests are broken in two halves, chosen at random: in each run some are as they were, and must be green. A product
//! that lies in some runs only, by the toss of a coin, lies about the broken half or tells the truth about the other.

use std::collections::{BTreeSet, VecDeque};

use windlass_core::outcome::Fault;

/// A test by its file and name; of several with one name, the which.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TestId {
    pub file: String,
    pub name: String,
    pub nth: usize,
}

pub type Tests = BTreeSet<TestId>;

/// Whose tests are broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    Judged,
    Base,
    /// The base without the test files in which something fails there by itself, where it is green so.
    GreenPart,
}

/// One run of the check on a tree with broken tests.
#[derive(Clone, Debug, Default)]
pub struct BrokenRun {
    /// Those seen to fail; none where the check exited with 0.
    pub red: Tests,
    /// Seen to fail though they were not broken.
    pub red_unbroken: Tests,
    pub ending: RunEnding,
    pub excerpt: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunEnding {
    #[default]
    Green,
    /// An exit code of its own.
    Failed,
    /// Ended from outside, or never started: it tells nothing of a single test.
    Unclear,
}

/// It was cancelled, or could not be done.
#[derive(Debug)]
pub enum NoAnswer {
    Cancelled,
    Fault(Fault),
}

impl From<Fault> for NoAnswer {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// What runs the check.
pub trait BrokenRuns {
    /// Every test of the tree that can be broken in the way that is hunted.
    fn breakable(&mut self, whose: Whose) -> Result<Tests, NoAnswer>;
    /// Runs the check with these tests broken.
    fn run(&mut self, whose: Whose, broken: &Tests) -> Result<BrokenRun, NoAnswer>;
    /// Some of them, chosen at random.
    fn sample(&mut self, of: &Tests, most: usize) -> Vec<TestId>;
    /// Looks for the part of the base that is green, and says whether there is one.
    fn find_green_part(&mut self) -> Result<bool, NoAnswer>;
    /// Of these, the ones in files that the failure of the honest base names: what the work is about.
    fn named_by_base(&mut self, of: &Tests) -> Result<Tests, NoAnswer>;
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hunted {
    pub broken: Tests,
    pub red: Tests,
    /// Of those, told by the exit code alone.
    pub by_exit: Tests,
    pub green: Tests,
    pub set_aside: Tests,
    pub added: Tests,
    pub untold: Tests,
    /// Of those, the ones that the base tells by name.
    pub told_on_base: Tests,
    /// Red though not broken, in a run with other tests broken.
    pub red_unbroken: Tests,
    /// Broken, they end a run that tells of others before it tells anything.
    pub ends_run: Tests,
    /// What a run printed that stayed green.
    pub excerpt: String,
}

impl Hunted {
    /// With what another round of the same tests showed: red is what was red in both.
    pub fn join(&mut self, other: Self) {
        let Self { red, ends_run, .. } = self;
        red.retain(|test| other.red.contains(test) || ends_run.contains(test));
        self.by_exit.extend(other.by_exit);
        self.green.extend(other.green);
        self.set_aside.extend(other.set_aside);
        self.added.extend(other.added);
        self.untold.extend(other.untold);
        self.told_on_base.extend(other.told_on_base);
        self.red_unbroken.extend(other.red_unbroken);
        if self.excerpt.is_empty() {
            self.excerpt = other.excerpt;
        }
    }

    /// Though it was seen red among others.
    pub fn stays_green(&mut self, test: TestId) {
        self.red.remove(&test);
        self.by_exit.remove(&test);
        self.green.insert(test);
    }
}

/// How often a check is asked about the rest, if it tells more each time.
const ROUNDS: usize = 12;
/// From here on it must tell so much that the rounds suffice.
const SLOW_ROUNDS: usize = 3;
/// How many tests are broken alone.
const ALONE: usize = 5;
/// In how many parts those are broken of which one ends the run: enough to find it among some hundred.
const PARTS: usize = 18;

/// In which parts tests are broken, each in a run of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Division {
    Halves,
    Whole,
    /// A product may run the tests itself, and tell the truth when so many fail that the run must be a broken one. With
    /// one more failure than there are by themselves, it cannot know.
    OneAndRest,
}

/// `forged` are tests that the check calls failed on the honest tree: their names prove nothing.
/// `set_aside` are those known not to run on the base.
pub fn hunt(
    runs: &mut dyn BrokenRuns,
    forged: &Tests,
    set_aside: &Tests,
    division: Division,
) -> Result<Hunted, NoAnswer> {
    let broken: Tests = runs.breakable(Whose::Judged)?.difference(set_aside).cloned().collect();
    let mut hunted = Hunted { broken: broken.clone(), ..Hunted::default() };
    // Not red in a run that told which tests are, and in one that was green as a whole.
    let (mut left, mut in_green) = (Tests::new(), Tests::new());
    let mut silent: Vec<Tests> = Vec::new();
    for mut part in parts(runs, &broken, division) {
        let all = part.len();
        let ran = turn_red(runs, Whose::Judged, &mut part, Patience { rounds: 1, forged })?;
        hunted.red_unbroken.extend(ran.red_unbroken.difference(forged).cloned());
        match ran.ending {
            RunEnding::Green => {
                in_green.extend(part);
                hunted.excerpt = ran.excerpt;
            }
            RunEnding::Failed | RunEnding::Unclear if part.len() == all => silent.push(part),
            RunEnding::Failed | RunEnding::Unclear => left.extend(part),
        }
    }
    let tells_names =
        silent.iter().map(Tests::len).sum::<usize>() + left.len() + in_green.len() < broken.len();
    for part in silent {
        left.extend(if tells_names { tell_apart(runs, part, forged, &mut hunted)? } else { part });
    }
    if !left.is_empty() || !in_green.is_empty() {
        let base = runs.breakable(Whose::Base)?;
        let of_base = |tests: &Tests| -> Tests { tests.intersection(&base).cloned().collect() };
        let required: Tests = of_base(&left).union(&of_base(&in_green)).cloned().collect();
        if !required.is_empty() {
            let OnBase { green, told } = on_base(runs, &base, &required)?;
            (hunted.set_aside, hunted.told_on_base) = (green, told);
            left = left.difference(&hunted.set_aside).cloned().collect();
            in_green = in_green.difference(&hunted.set_aside).cloned().collect();
        }
        // Added ones, too: the check may only have stopped before them.
        if !left.is_empty() {
            let ran = turn_red(runs, Whose::Judged, &mut left, Patience { rounds: ROUNDS, forged })?;
            if ran.ending == RunEnding::Green {
                in_green.append(&mut left);
                hunted.excerpt = ran.excerpt;
            }
        }
        hunted.added = left.union(&in_green).filter(|test| !base.contains(test)).cloned().collect();
        hunted.green = of_base(&in_green);
        alone(runs, of_base(&left), &mut hunted)?;
        hunted.told_on_base = hunted.told_on_base.intersection(&hunted.untold).cloned().collect();
    }
    let not_red = [&hunted.green, &hunted.set_aside, &hunted.added, &hunted.untold];
    let not_red: Tests = not_red.into_iter().flatten().cloned().collect();
    hunted.red = hunted.broken.difference(&not_red).cloned().collect();
    Ok(hunted)
}

/// Of tests about which a run told nothing, the ones that are not told in smaller parts either.
fn tell_apart(
    runs: &mut dyn BrokenRuns,
    silent: Tests,
    forged: &Tests,
    hunted: &mut Hunted,
) -> Result<Tests, NoAnswer> {
    let mut left = Tests::new();
    let mut groups = VecDeque::from([silent]);
    let mut asked = 0;
    while let Some(group) = groups.pop_front() {
        if group.len() < 2 {
            hunted.ends_run.extend(group.iter().cloned());
            left.extend(group);
            continue;
        }
        let first: Tests = group.iter().take(group.len() / 2).cloned().collect();
        let second: Tests = group.difference(&first).cloned().collect();
        for mut half in [first, second] {
            if asked == PARTS {
                left.extend(half);
                continue;
            }
            asked += 1;
            let all = half.len();
            let ran = turn_red(runs, Whose::Judged, &mut half, Patience { rounds: 1, forged })?;
            hunted.red_unbroken.extend(ran.red_unbroken.difference(forged).cloned());
            match ran.ending {
                RunEnding::Failed | RunEnding::Unclear if half.len() == all => groups.push_back(half),
                RunEnding::Green | RunEnding::Failed | RunEnding::Unclear => left.extend(half),
            }
        }
    }
    Ok(left)
}

/// Chosen at random; none is empty.
fn parts(runs: &mut dyn BrokenRuns, tests: &Tests, division: Division) -> Vec<Tests> {
    let first = match division {
        Division::Halves => tests.len().div_ceil(2),
        Division::Whole => tests.len(),
        Division::OneAndRest => 1,
    };
    let mut first: Tests = runs.sample(tests, first).into_iter().collect();
    let mut second: Tests = tests.difference(&first).cloned().collect();
    if division == Division::Halves {
        part_namesakes(&mut first, &mut second);
    }
    [first, second].into_iter().filter(|part| !part.is_empty()).collect()
}

/// Of two tests with one name in one file a runner may run the later only, and its failure has the name of both: never
/// are both broken in one run.
fn part_namesakes(first: &mut Tests, second: &mut Tests) {
    let all: Tests = first.union(second).cloned().collect();
    let of_one = |one: &TestId, other: &TestId| one.file == other.file && one.name == other.name;
    for (one, other) in all.iter().zip(all.iter().skip(1)).filter(|(one, other)| of_one(one, other)) {
        match (first.contains(one), first.contains(other)) {
            (true, true) => {
                first.remove(other);
                second.insert(other.clone());
            }
            (false, false) => {
                second.remove(other);
                first.insert(other.clone());
            }
            (true, false) | (false, true) => {}
        }
    }
}

#[derive(Clone, Copy)]
struct Patience<'a> {
    rounds: usize,
    forged: &'a Tests,
}

/// Takes out of `left` what turns red, and says how the last run ended.
fn turn_red(
    runs: &mut dyn BrokenRuns,
    whose: Whose,
    left: &mut Tests,
    patience: Patience<'_>,
) -> Result<BrokenRun, NoAnswer> {
    let mut last = BrokenRun { ending: RunEnding::Unclear, ..BrokenRun::default() };
    for round in 0..patience.rounds {
        if left.is_empty() {
            break;
        }
        last = runs.run(whose, left)?;
        let before = left.len();
        left.retain(|test| !last.red.contains(test) || patience.forged.contains(test));
        let told = before - left.len();
        let slow = round + 1 >= SLOW_ROUNDS && told * ROUNDS < left.len();
        if last.ending == RunEnding::Green || told == 0 || slow {
            break;
        }
    }
    Ok(last)
}

/// What the base shows of broken tests.
#[derive(Default)]
struct OnBase {
    /// They stay green though broken.
    green: Tests,
    /// Told by name, where one run tells of all: a check that stops early tells of some by chance.
    told: Tests,
}

/// Where the base is red by itself, it is asked without the files in which it fails. Of those files only tests beside
/// which others were seen to fail are called green: the check got as far as that file, and went on.
fn on_base(runs: &mut dyn BrokenRuns, base: &Tests, asked: &Tests) -> Result<OnBase, NoAnswer> {
    let none = Tests::new();
    let patience = |rounds| Patience { rounds, forged: &none };
    let mut left = asked.clone();
    let mut last = turn_red(runs, Whose::Base, &mut left, patience(1))?;
    let told: Tests = asked.difference(&left).cloned().collect();
    let told_at_once = |green: &Tests, left: &Tests| if left == green { told.clone() } else { Tests::new() };
    let after_one = left.clone();
    if !left.is_empty() && !told.is_empty() && last.ending != RunEnding::Green {
        last = turn_red(runs, Whose::Base, &mut left, patience(ROUNDS - 1))?;
    }
    if left.is_empty() || last.ending == RunEnding::Green {
        let told = told_at_once(&left, &after_one);
        return Ok(OnBase { green: left, told });
    }
    let still_telling = !last.red.is_empty();
    if still_telling {
        return Ok(OnBase::default());
    }
    let mut green = in_green_part(runs, &left)?;
    left = left.difference(&green).cloned().collect();
    if left.is_empty() {
        let told = told_at_once(&green, &after_one);
        return Ok(OnBase { green, told });
    }
    let files: BTreeSet<&str> = left.iter().map(|test| test.file.as_str()).collect();
    let beside: Tests = base.iter().filter(|test| files.contains(test.file.as_str())).cloned().collect();
    let red = runs.run(Whose::Base, &beside)?.red;
    let went_on = |file: &str| red.iter().filter(|test| test.file == file).count() > 1;
    green.extend(left.into_iter().filter(|test| !red.contains(test) && went_on(&test.file)));
    let told = told_at_once(&green, &after_one);
    Ok(OnBase { green, told })
}

/// Those that stay green though broken where the base is green: as on a base that is green as a whole, this check does
/// not run them on this machine.
fn in_green_part(runs: &mut dyn BrokenRuns, asked: &Tests) -> Result<Tests, NoAnswer> {
    if !runs.find_green_part()? {
        return Ok(Tests::new());
    }
    let there = runs.breakable(Whose::GreenPart)?;
    let mut left: Tests = asked.intersection(&there).cloned().collect();
    let none = Tests::new();
    let last = turn_red(runs, Whose::GreenPart, &mut left, Patience { rounds: ROUNDS, forged: &none })?;
    Ok(if last.ending == RunEnding::Green { left } else { Tests::new() })
}

/// The check fails and does not say by which test.
fn alone(runs: &mut dyn BrokenRuns, asked: Tests, hunted: &mut Hunted) -> Result<(), NoAnswer> {
    let mut left = asked;
    if left.is_empty() {
        return Ok(());
    }
    let first = runs.named_by_base(&left)?;
    let mut chosen = runs.sample(&first, ALONE);
    chosen.extend(runs.sample(&left.difference(&first).cloned().collect(), ALONE - chosen.len()));
    for test in chosen {
        let one: Tests = [test.clone()].into_iter().collect();
        let ran = runs.run(Whose::Judged, &one)?;
        let on_base = match ran.ending {
            RunEnding::Failed => {
                hunted.by_exit.insert(test.clone());
                left.remove(&test);
                continue;
            }
            RunEnding::Green | RunEnding::Unclear => runs.run(Whose::Base, &one)?,
        };
        match (ran.ending, on_base.ending) {
            // It tells nothing there either.
            (RunEnding::Unclear, RunEnding::Unclear | RunEnding::Green) => continue,
            (_, RunEnding::Green) => hunted.set_aside.insert(test.clone()),
            // The base says that a test failed, where the work makes the check end in another way.
            (_, RunEnding::Failed | RunEnding::Unclear) => {
                hunted.excerpt = ran.excerpt;
                hunted.green.insert(test.clone())
            }
        };
        left.remove(&test);
    }
    hunted.untold = left;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A check as it might behave.
    #[derive(Default)]
    struct Check {
        judged: Vec<&'static str>,
        base: Vec<&'static str>,
        /// They stay green, whatever is done to them.
        lies_about: Vec<&'static str>,
        skipped: Vec<&'static str>,
        names: bool,
        stops_at_first: bool,
        base_is_red: bool,
        /// Fails on the base by itself, so that the part without this file is green.
        red_file: Option<&'static str>,
        /// Red by itself, and told as green in every other run.
        hidden_in_turns: Vec<&'static str>,
        /// With no more failures than this it lies about all of them.
        lies_up_to: usize,
        /// The judged tree names no test.
        silent: bool,
        /// Failures of the judged tree end in a way that tells nothing.
        ends_unclear: bool,
        /// Broken, the runner falls over it, whatever else is broken.
        ends_run: Vec<&'static str>,
        /// Files that do not load on the base.
        named_by_base: Vec<&'static str>,
        runs: usize,
    }

    fn id(name: &str) -> TestId {
        let (file, name) = name.split_once('.').unwrap_or(("t", name));
        TestId { file: file.to_owned(), name: name.to_owned(), nth: 0 }
    }

    fn ids(names: &[&str]) -> Tests {
        names.iter().map(|name| id(name)).collect()
    }

    impl BrokenRuns for Check {
        fn breakable(&mut self, whose: Whose) -> Result<Tests, NoAnswer> {
            Ok(match whose {
                Whose::Judged => ids(&self.judged),
                Whose::Base => ids(&self.base),
                Whose::GreenPart => {
                    ids(&self.base).into_iter().filter(|test| Some(&*test.file) != self.red_file).collect()
                }
            })
        }

        fn find_green_part(&mut self) -> Result<bool, NoAnswer> {
            Ok(self.red_file.is_some())
        }

        fn run(&mut self, whose: Whose, broken: &Tests) -> Result<BrokenRun, NoAnswer> {
            self.runs += 1;
            let mut fails: Tests = broken.difference(&ids(&self.skipped)).cloned().collect();
            if whose == Whose::Judged {
                fails = fails.difference(&ids(&self.lies_about)).cloned().collect();
            }
            if whose == Whose::Judged && fails.len() <= self.lies_up_to {
                fails.clear();
            }
            let mut red_unbroken = Tests::new();
            if whose == Whose::Judged && !self.hidden_in_turns.is_empty() {
                match self.runs % 2 {
                    0 => fails.clear(),
                    _ => red_unbroken = ids(&self.hidden_in_turns).difference(broken).cloned().collect(),
                }
            }
            let red = whose == Whose::Base && self.base_is_red;
            let ending = if fails.is_empty() && !red { RunEnding::Green } else { RunEnding::Failed };
            if self.ends_unclear && whose == Whose::Judged && ending == RunEnding::Failed {
                return Ok(BrokenRun { ending: RunEnding::Unclear, ..BrokenRun::default() });
            }
            if self.stops_at_first {
                fails = fails.into_iter().take(1).collect();
            }
            let falls_over = ids(&self.ends_run).intersection(&fails).next().is_some();
            let tells = self.names && !falls_over && !(self.silent && whose == Whose::Judged);
            let seen = if tells { fails } else { Tests::new() };
            Ok(BrokenRun { red: seen, red_unbroken, ending, excerpt: "all passed".to_owned() })
        }

        fn sample(&mut self, of: &Tests, most: usize) -> Vec<TestId> {
            of.iter().take(most).cloned().collect()
        }

        fn named_by_base(&mut self, of: &Tests) -> Result<Tests, NoAnswer> {
            Ok(of.iter().filter(|test| self.named_by_base.contains(&&*test.file)).cloned().collect())
        }
    }

    const THREE: [&str; 3] = ["a", "b", "c"];

    fn check() -> Check {
        Check { judged: THREE.to_vec(), base: THREE.to_vec(), names: true, ..Check::default() }
    }

    fn hunted(check: &mut Check) -> Hunted {
        hunt(check, &Tests::new(), &Tests::new(), Division::Halves).expect("it answers")
    }

    #[test]
    fn an_honest_check_is_asked_once_about_each_half() {
        let mut check = check();
        let found = hunted(&mut check);
        assert_eq!((found.red, check.runs), (ids(&THREE), 2));
        assert_eq!(found.red_unbroken, Tests::new());
    }

    #[test]
    fn a_lie_in_some_runs_only_is_found_in_one_half_or_the_other() {
        for name in THREE {
            let found = hunted(&mut Check { hidden_in_turns: vec![name], ..check() });
            assert!(!found.green.is_empty() || !found.red_unbroken.is_empty(), "{name}");
        }
    }

    #[test]
    fn a_product_that_tells_the_truth_where_many_fail_is_found_by_one() {
        let all = hunt(&mut check(), &Tests::new(), &Tests::new(), Division::OneAndRest).expect("it answers");
        assert_eq!((all.red, all.green), (ids(&THREE), Tests::new()));
        let mut lying = Check { lies_up_to: 1, ..check() };
        let found = hunt(&mut lying, &Tests::new(), &Tests::new(), Division::OneAndRest);
        assert_eq!(found.expect("it answers").green, ids(&["a"]));
    }

    #[test]
    fn a_lie_about_one_test_is_found() {
        let mut check = Check { lies_about: vec!["b"], ..check() };
        let found = hunted(&mut check);
        assert_eq!((found.green, found.red), (ids(&["b"]), ids(&["a", "c"])));
    }

    #[test]
    fn a_lie_about_all_is_found() {
        let found = hunted(&mut Check { lies_about: THREE.to_vec(), ..check() });
        assert_eq!(found.green, ids(&THREE));
        assert_eq!(found.excerpt, "all passed");
    }

    #[test]
    fn what_does_not_run_on_the_base_is_set_aside() {
        let mut check = Check { skipped: vec!["c"], ..check() };
        let found = hunted(&mut check);
        assert_eq!((found.set_aside, found.red), (ids(&["c"]), ids(&["a", "b"])));
        assert_eq!(check.runs, 3, "two, and one on the base");
    }

    #[test]
    fn a_red_base_sets_aside_only_where_it_got_to() {
        let skipped = Check { skipped: vec!["c"], base_is_red: true, ..check() };
        let found = hunted(&mut { skipped });
        assert_eq!(found.set_aside, ids(&["c"]), "others of its file fail there");
        let mut lies = Check { lies_about: vec!["c"], base_is_red: true, ..check() };
        assert_eq!(hunted(&mut lies).green, ids(&["c"]));
        let mut never_reached = Check {
            judged: vec!["a", "u.b"],
            base: vec!["a", "u.b"],
            skipped: vec!["u.b"],
            base_is_red: true,
            ..check()
        };
        assert_eq!(hunted(&mut never_reached).green, ids(&["u.b"]), "it may be a lie");
    }

    #[test]
    fn a_red_base_is_asked_where_it_is_green() {
        let check = || Check {
            judged: vec!["a", "u.b"],
            base: vec!["a", "u.b"],
            base_is_red: true,
            red_file: Some("t"),
            ..check()
        };
        let found = hunted(&mut Check { skipped: vec!["u.b"], ..check() });
        assert_eq!((found.set_aside, found.red, found.green), (ids(&["u.b"]), ids(&["a"]), Tests::new()));
        let lies = hunted(&mut Check { lies_about: vec!["u.b"], ..check() });
        assert_eq!((lies.set_aside, lies.green), (Tests::new(), ids(&["u.b"])));
        let about_the_failure = hunted(&mut Check { lies_about: vec!["a"], skipped: vec!["a"], ..check() });
        assert_eq!(about_the_failure.green, ids(&["a"]), "its file is not in that part");
    }

    #[test]
    fn of_tests_among_which_one_ends_the_run_the_others_are_told() {
        let many: Vec<&'static str> = (0..64).map(|nth| &*format!("t.{nth:02}").leak()).collect();
        let check =
            |ends_run| Check { judged: many.clone(), base: many.clone(), names: true, ends_run, ..check() };
        let found = hunted(&mut check(vec!["t.40"]));
        assert_eq!((found.red, found.by_exit), (ids(&many), ids(&["t.40"])));
        assert_eq!((found.ends_run, found.untold), (ids(&["t.40"]), Tests::new()));
        let mut lies = Check { lies_about: vec!["t.50"], ..check(vec!["t.40"]) };
        assert_eq!(hunted(&mut lies).green, ids(&["t.50"]), "one that stays green among them is still found");
        let mut silent = Check { names: false, ..check(vec!["t.40"]) };
        let found = hunted(&mut silent);
        assert!(found.ends_run.is_empty() && silent.runs < 2 + PARTS, "{} runs", silent.runs);
    }

    #[test]
    fn one_that_ends_the_run_is_not_asked_again_and_stays_red() {
        let of = |red: &[&str], ends_run: &[&str]| Hunted {
            red: ids(red),
            ends_run: ids(ends_run),
            ..Hunted::default()
        };
        let mut first = of(&["a", "b", "c"], &["b"]);
        first.join(of(&["a"], &[]));
        assert_eq!(first.red, ids(&["a", "b"]));
    }

    #[test]
    fn added_tests_are_told_and_no_finding() {
        let found = hunted(&mut Check { base: vec!["a"], skipped: vec!["b"], ..check() });
        assert_eq!((found.added, found.green), (ids(&["b"]), Tests::new()));
    }

    #[test]
    fn a_check_that_stops_at_the_first_failure_is_asked_again() {
        let mut check = Check { stops_at_first: true, lies_about: vec!["c"], ..check() };
        let found = hunted(&mut check);
        assert_eq!((found.red, found.green), (ids(&["a", "b"]), ids(&["c"])));
        let added = Check { base: vec!["a"], stops_at_first: true, ..self::check() };
        let found = hunt(&mut { added }, &Tests::new(), &Tests::new(), Division::Whole).expect("it answers");
        assert_eq!((found.red, found.added), (ids(&THREE), Tests::new()));
    }

    #[test]
    fn what_the_base_tells_and_the_work_does_not_is_silenced() {
        let names: Vec<&'static str> =
            (0..20).map(|n| &*Box::leak(format!("t{n:02}").into_boxed_str())).collect();
        let check = || Check { judged: names.clone(), base: names.clone(), names: true, ..Check::default() };
        let mut silent = Check { silent: true, ..check() };
        let found = hunted(&mut silent);
        assert_eq!((found.by_exit.len(), found.untold.len()), (ALONE, 15));
        assert_eq!(found.told_on_base, found.untold);
        let mut of_both = Check { names: false, ..check() };
        let found = hunted(&mut of_both);
        assert_eq!((found.untold.len(), found.told_on_base.len()), (15, 0), "the base does not tell either");
        let mut stops = Check { stops_at_first: true, silent: true, ..check() };
        assert_eq!(hunted(&mut stops).told_on_base, Tests::new(), "it tells of some by chance");
    }

    #[test]
    fn two_tests_of_one_name_are_never_broken_in_one_run() {
        let twins: Tests = (0..2).map(|nth| TestId { nth, ..id("a") }).collect();
        for both_in in 0..2 {
            let (mut first, mut second) = (ids(&["b"]), ids(&["c"]));
            [&mut first, &mut second][both_in].extend(twins.iter().cloned());
            part_namesakes(&mut first, &mut second);
            assert_eq!((first.len(), second.len()), (2, 2));
            assert_eq!(first.intersection(&twins).count(), 1);
        }
    }

    #[test]
    fn many_tests_one_by_one_are_sampled() {
        let many: Vec<&'static str> =
            (0..200).map(|n| &*Box::leak(format!("t{n:03}").into_boxed_str())).collect();
        let mut check =
            Check { judged: many.clone(), base: many, stops_at_first: true, names: true, ..Check::default() };
        let found = hunted(&mut check);
        assert!(found.green.is_empty() && found.untold.len() > 150, "{}", found.untold.len());
        assert!(check.runs < 20, "{} runs", check.runs);
    }

    #[test]
    fn of_many_that_are_not_told_apart_those_are_broken_alone_that_the_base_fails_by() {
        let names = (0..20).map(|n| &*Box::leak(format!("t{n:02}").into_boxed_str()));
        let all: Vec<&'static str> = names.chain(["u.answer"]).collect();
        let mut lies = Check {
            judged: all.clone(),
            base: all,
            base_is_red: true,
            named_by_base: vec!["u"],
            lies_about: vec!["u.answer"],
            ..Check::default()
        };
        assert_eq!(hunted(&mut lies).green, ids(&["u.answer"]));
    }

    #[test]
    fn without_names_the_exit_code_tells() {
        let honest = hunted(&mut Check { names: false, ..check() });
        assert_eq!((honest.by_exit, honest.green), (ids(&THREE), Tests::new()));
        let lies = hunted(&mut Check { names: false, lies_about: vec!["b"], ..check() });
        assert_eq!((lies.green, lies.red), (ids(&["b"]), ids(&["a", "c"])));
        let skipped = hunted(&mut Check { names: false, skipped: vec!["b"], ..check() });
        assert_eq!((skipped.set_aside, skipped.green), (ids(&["b"]), Tests::new()));
    }

    #[test]
    fn a_check_that_tells_nothing_where_the_base_does_is_found() {
        let found = hunted(&mut Check { ends_unclear: true, ..check() });
        assert_eq!((found.green, found.untold), (ids(&THREE), Tests::new()));
    }

    #[test]
    fn names_that_are_printed_on_the_honest_tree_prove_nothing() {
        let mut check = Check { lies_about: vec!["b"], ..check() };
        struct Forging<'c>(&'c mut Check);
        impl BrokenRuns for Forging<'_> {
            fn breakable(&mut self, whose: Whose) -> Result<Tests, NoAnswer> {
                self.0.breakable(whose)
            }
            fn run(&mut self, whose: Whose, broken: &Tests) -> Result<BrokenRun, NoAnswer> {
                let mut ran = self.0.run(whose, broken)?;
                ran.red.insert(id("b"));
                Ok(ran)
            }
            fn sample(&mut self, of: &Tests, most: usize) -> Vec<TestId> {
                self.0.sample(of, most)
            }
            fn find_green_part(&mut self) -> Result<bool, NoAnswer> {
                self.0.find_green_part()
            }
            fn named_by_base(&mut self, of: &Tests) -> Result<Tests, NoAnswer> {
                self.0.named_by_base(of)
            }
        }
        let forged = ids(&["b"]);
        let found = hunt(&mut Forging(&mut check), &forged, &Tests::new(), Division::Halves);
        let found = found.expect("it answers");
        assert_eq!(found.green, ids(&["b"]));
    }
}
