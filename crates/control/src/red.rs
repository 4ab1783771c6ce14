//! Which broken tests turned red, by what the runner printed or wrote down.
//!
//! A test is red if a failure of its name and file is printed, or if the failure itself is:
//! the numbers that the broken test fails with, or the line of the changed literal. The
//! second finds tests whose name the source does not say: inherited ones, computed titles.

mod go;
mod javascript;
mod places;
mod plain;
mod python;
mod rust;
mod shared;

use std::collections::{BTreeMap, BTreeSet};

pub use shared::sharing_a_name;

use crate::{BrokenTest, Language, TestChange};

/// What a run left behind.
#[derive(Debug)]
pub struct RunEvidence {
    python: Vec<python::Failure>,
    javascript: Vec<javascript::Failure>,
    rust: rust::Failures,
    go: go::Failures,
    cases: Vec<FailedCase>,
    lines: Vec<String>,
    /// The places in files that are printed, by the number of the line.
    places: BTreeMap<usize, BTreeSet<String>>,
    /// The lines on which a number stands that a broken test may fail with.
    numbers: BTreeMap<u32, Vec<usize>>,
}

/// A failed test case of a junit file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedCase {
    pub class: String,
    pub name: String,
    /// Of the failure; empty where it is not known.
    pub message: String,
}

impl RunEvidence {
    /// From everything the runner printed, and the failed cases of its junit files.
    pub fn read(output: &str, cases: Vec<FailedCase>) -> Self {
        let mut lines: Vec<String> = plain::without_colours(output).lines().map(str::to_owned).collect();
        let python = python::read(&lines);
        let javascript = javascript::read(&lines);
        let rust = rust::read(&lines);
        let go = go::read(&lines);
        lines.extend(cases.iter().flat_map(|case| case.message.lines()).map(str::to_owned));
        let mut numbers: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        let mut places: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
        for (at, line) in lines.iter().enumerate() {
            for place in places::printed(line) {
                places.entry(place.line).or_default().insert(place.path.to_owned());
            }
            for number in plain::numbers(line) {
                numbers.entry(number).or_default().push(at);
            }
        }
        Self { python, javascript, rust, go, cases, lines, places, numbers }
    }

    /// Whether the failure of a changed test itself is printed.
    fn has_failure_of(&self, test: &BrokenTest) -> bool {
        match &test.change {
            TestChange::Fails { left, right } => self.has_both(test.language, *left, *right),
            TestChange::Literal { line, .. } => {
                // Go prints where the failure is reported, and only the last name of the path.
                let printed = self.places.get(line).filter(|_| test.language != Language::Go);
                printed.is_some_and(|paths| paths.iter().any(|path| places::same_file(path, &test.file)))
            }
            TestChange::ReturnsEarly { .. } | TestChange::Unchanged(_) => false,
        }
    }

    fn has_both(&self, language: Language, left: u32, right: u32) -> bool {
        let (Some(lefts), Some(rights)) = (self.numbers.get(&left), self.numbers.get(&right)) else {
            return false;
        };
        // `left: 1` and `right: 2` are on two lines.
        let near = |one: usize, other: usize| match language {
            Language::Rust => one.abs_diff(other) <= 1,
            Language::Python | Language::Go => one == other,
            // Runners print the source around a failure, which may be that of the next test.
            Language::JavaScript | Language::TypeScript | Language::Tsx => {
                one == other && !self.lines[one].contains("throw")
            }
        };
        lefts.iter().any(|one| rights.iter().any(|other| near(*one, *other)))
    }
}

/// How sure it is that a failure was of this test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Sureness {
    No,
    /// The name fits; which file it was in is not printed. With the count of such failures.
    ByNameOnly(usize),
    Yes,
}

/// Whether a failure of this test was seen. Two tests of one name whose files are not
/// printed are told apart by [`not_red`] only.
pub fn is_red(test: &BrokenTest, evidence: &RunEvidence) -> bool {
    sureness(test, evidence) != Sureness::No
}

/// The changed tests of which no failure was seen. Of several that share a file and a name, see
/// [`sharing_a_name`], only those whose own failure is printed were seen to fail.
pub fn not_red<'t>(tests: &'t [BrokenTest], evidence: &RunEvidence) -> Vec<&'t BrokenTest> {
    let changed: Vec<&BrokenTest> = tests.iter().filter(|test| test.is_changed()).collect();
    let shared = shared::among(&changed);
    let sureness = |(test, is_shared): (&&BrokenTest, bool)| match sureness(test, evidence) {
        Sureness::Yes | Sureness::ByNameOnly(_) if is_shared && !evidence.has_failure_of(test) => {
            Sureness::No
        }
        sure @ (Sureness::No | Sureness::ByNameOnly(_) | Sureness::Yes) => sure,
    };
    let sure: Vec<Sureness> = changed.iter().zip(shared).map(sureness).collect();
    let mut of_one_name: BTreeMap<String, usize> = BTreeMap::new();
    for (test, sure) in changed.iter().zip(&sure) {
        if matches!(sure, Sureness::ByNameOnly(_)) {
            *of_one_name.entry(full_name(test)).or_default() += 1;
        }
    }
    let all = changed.into_iter().zip(sure);
    all.filter(|(test, sure)| match sure {
        Sureness::Yes => false,
        Sureness::No => true,
        Sureness::ByNameOnly(printed) => {
            of_one_name.get(&full_name(test)).is_some_and(|tests| printed < tests)
        }
    })
    .map(|(test, _)| test)
    .collect()
}

fn full_name(test: &BrokenTest) -> String {
    let parts: Vec<String> = test.name.iter().map(ToString::to_string).collect();
    parts.join("\u{1f}")
}

fn sureness(test: &BrokenTest, evidence: &RunEvidence) -> Sureness {
    if evidence.has_failure_of(test) {
        return Sureness::Yes;
    }
    let printed = match test.language {
        Language::Python => python::sureness(test, &evidence.python),
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            javascript::sureness(test, &evidence.javascript)
        }
        Language::Rust => rust::sureness(test, &evidence.rust),
        Language::Go => go::sureness(test, &evidence.go),
    };
    evidence.cases.iter().map(|case| in_case(test, case)).fold(printed, Ord::max)
}

fn in_case(test: &BrokenTest, case: &FailedCase) -> Sureness {
    match test.language {
        Language::Python => python::in_case(test, case),
        Language::JavaScript | Language::TypeScript | Language::Tsx => javascript::in_case(test, case),
        Language::Rust => rust::in_case(test, case),
        Language::Go => go::in_case(test, case),
    }
}

/// The more failures fit by name only, the more tests of that name they are enough for.
fn add_up(all: impl Iterator<Item = Sureness>) -> Sureness {
    all.fold(Sureness::No, |one, other| match (one, other) {
        (Sureness::ByNameOnly(one), Sureness::ByNameOnly(other)) => Sureness::ByNameOnly(one + other),
        (one, other) => one.max(other),
    })
}
