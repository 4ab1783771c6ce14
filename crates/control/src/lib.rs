//! Breaks the tests of a source file, and reads in what a runner printed which of
//! the broken tests turned red. A gate that stays green on broken tests proves
//! nothing.
//!
//! [`break_tests`] gives every test of a file a failing statement at the end of its
//! body. [`change_literals`] changes the literal that an assertion expects, or turns
//! the assertion over, one in each test that has a sure one: the failure then goes
//! through the test's own assertion. Both return the whole text and name every test they found, also those
//! that they could not break, with the reason. [`not_red`] compares the broken tests
//! with a [`RunEvidence`].
//!
//! What is put in looks like ordinary test code with numbers drawn from the caller's
//! seed, so that code under test cannot tell a broken test by a fixed mark.
//!
//! It reads and writes no file and starts no program: the driver chooses the files,
//! runs the check on the broken tree and compares with the run on the honest one.
//! A test that a runner skips on this machine cannot be known from its source: the
//! caller breaks the tests of the base, too, and sets aside those that stay green.
//!
//! Neighbours: none. `driver` calls it.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests start the runners of each language"))]

mod broken;
mod edit;
mod go;
mod javascript;
mod language;
mod literal;
mod local;
mod numbers;
mod python;
mod red;
mod rust;
mod syntax;
mod turned;

pub use broken::{BrokenFile, BrokenTest, Obstacle, SourceFile, TestChange, TitlePart, Unparsed};
pub use language::Language;
pub use numbers::{Numbers, Round};
pub use red::{FailedCase, RunEvidence, is_red, not_red, sharing_a_name};

use broken::Plan;
use edit::Edits;
use syntax::parse;

/// What is done to the tests of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Breakage {
    FailingStatement,
    ChangedLiteral,
}

/// Gives every test of the file a failing statement at the end of its body.
pub fn break_tests(file: &SourceFile<'_>, numbers: &mut Numbers) -> Result<BrokenFile, Unparsed> {
    break_chosen(Breakage::FailingStatement, file, numbers, &|_| true)
}

/// Changes the literal that an assertion expects, in every test that has one which is
/// surely reached.
pub fn change_literals(file: &SourceFile<'_>, numbers: &mut Numbers) -> Result<BrokenFile, Unparsed> {
    break_chosen(Breakage::ChangedLiteral, file, numbers, &|_| true)
}

/// Breaks some of the tests: a runner that stops at the first failure shows no more of them
/// in one run. The others are returned with [`Obstacle::NotChosen`]. The numbers drawn do not
/// depend on the choice.
pub fn break_chosen(
    breakage: Breakage,
    file: &SourceFile<'_>,
    numbers: &mut Numbers,
    choose: &dyn Fn(&BrokenTest) -> bool,
) -> Result<BrokenFile, Unparsed> {
    let tree = parse(file.language, file.text)?;
    let root = tree.root_node();
    let plan = match (breakage, file.language) {
        (Breakage::FailingStatement, Language::Python) => python::break_tests,
        (Breakage::ChangedLiteral, Language::Python) => python::change_literals,
        (Breakage::FailingStatement, Language::JavaScript | Language::TypeScript | Language::Tsx) => {
            javascript::break_tests
        }
        (Breakage::ChangedLiteral, Language::JavaScript | Language::TypeScript | Language::Tsx) => {
            javascript::change_literals
        }
        (Breakage::FailingStatement, Language::Rust) => rust::break_tests,
        (Breakage::ChangedLiteral, Language::Rust) => rust::change_literals,
        (Breakage::FailingStatement, Language::Go) => go::break_tests,
        (Breakage::ChangedLiteral, Language::Go) => go::change_literals,
    };
    let mut plans = plan(root, file.text, numbers);
    for plan in &mut plans {
        let test = plan.as_test(file);
        if test.is_changed() && !choose(&test) {
            plan.give_up(Obstacle::NotChosen);
        }
    }
    apply(file, plans, root.has_error())
}

/// The text with all plans carried out. One that would leave a text which does not parse
/// is left out, and its test is reported.
fn apply(file: &SourceFile<'_>, mut plans: Vec<Plan>, had_error: bool) -> Result<BrokenFile, Unparsed> {
    let mut text = Edits::of(&plans).apply(file.text);
    if !had_error && parse(file.language, &text)?.root_node().has_error() {
        for plan in plans.iter_mut().filter(|plan| !plan.edits.is_empty()) {
            let alone = Edits::of(std::slice::from_ref(plan)).apply(file.text);
            if parse(file.language, &alone)?.root_node().has_error() {
                plan.give_up(Obstacle::Syntax);
            }
        }
        text = Edits::of(&plans).apply(file.text);
    }
    let tests = plans.iter().map(|plan| plan.as_test(file)).collect();
    Ok(BrokenFile { text, tests })
}
