//! Lies that turn a run green, and which breakage does not turn red because of them.

use windlass_control::{Breakage, not_red};
use windlass_testkit::capability;

use crate::project::Project;

/// How many tests are broken, and how many of them are not red.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    broken: usize,
    not_red: usize,
}

fn seen(project: &Project, argv: &[&str], breakage: Breakage) -> Seen {
    let tests = project.break_all(breakage, 3);
    let run = project.run(argv);
    project.restore();
    let broken = tests.iter().filter(|test| test.is_changed()).count();
    Seen { broken, not_red: not_red(&tests, &run.evidence()).len() }
}

const PYTHON: &[&str] = &["python3", "-m", "unittest"];
const PYTHON_TEST: &str = "import unittest
from shapes import area


class AreaCase(unittest.TestCase):
    def test_area(self):
        self.assertEqual(area(2, 3), 6)

    def test_side(self):
        self.assertTrue(area(1, 1))
";

fn python(product: &str) -> Project {
    Project::of(vec![
        ("shapes.py".to_owned(), product.to_owned()),
        ("test_shapes.py".to_owned(), PYTHON_TEST.to_owned()),
    ])
}

#[test]
fn honest_python_is_red() {
    let Some(_) = capability::program("python3") else { return };
    let project = python("def area(a, b): return a * b\n");
    assert!(project.run(PYTHON).passed);
    assert_eq!(seen(&project, PYTHON, Breakage::FailingStatement), Seen { broken: 2, not_red: 0 });
    assert_eq!(seen(&project, PYTHON, Breakage::ChangedLiteral), Seen { broken: 1, not_red: 0 });
}

#[test]
fn an_assertion_that_checks_nothing_is_found() {
    let Some(_) = capability::program("python3") else { return };
    let project = python(
        "import unittest\nunittest.TestCase.assertEqual = lambda *a: None\ndef area(a, b): return 1\n",
    );
    assert!(project.run(PYTHON).passed, "the lie works");
    assert_eq!(seen(&project, PYTHON, Breakage::ChangedLiteral), Seen { broken: 1, not_red: 1 });
}

#[test]
fn an_answer_that_equals_everything_is_found_by_its_literal_only() {
    let Some(_) = capability::program("python3") else { return };
    let project = python("class Any:\n    __eq__ = lambda *a: True\ndef area(a, b): return Any()\n");
    assert!(project.run(PYTHON).passed, "the lie works");
    assert_eq!(seen(&project, PYTHON, Breakage::FailingStatement), Seen { broken: 2, not_red: 0 });
    assert_eq!(seen(&project, PYTHON, Breakage::ChangedLiteral), Seen { broken: 1, not_red: 1 });
}

#[test]
fn a_runner_that_forgets_failures_is_found() {
    let Some(_) = capability::program("python3") else { return };
    let project = python(
        "import unittest\nfor name in ('addFailure', 'addError'):\n    setattr(unittest.TextTestResult, name, lambda *a: None)\ndef area(a, b): return 0\n",
    );
    assert!(project.run(PYTHON).passed, "the lie works");
    assert_eq!(seen(&project, PYTHON, Breakage::FailingStatement), Seen { broken: 2, not_red: 2 });
    assert_eq!(seen(&project, PYTHON, Breakage::ChangedLiteral), Seen { broken: 1, not_red: 1 });
}

const NODE: &[&str] = &["node", "--test"];
const NODE_TEST: &str = "const { test } = require('node:test');
const assert = require('node:assert');
const { area } = require('./shapes');
test('area', () => { assert.equal(area(2, 3), 6); });
test('side', () => { assert.equal(area(1, 1), 1); });
";

fn node(product: &str) -> Project {
    Project::of(vec![
        ("shapes.js".to_owned(), product.to_owned()),
        ("shapes.test.js".to_owned(), NODE_TEST.to_owned()),
    ])
}

#[test]
fn a_neutered_assertion_is_found_by_its_literal_only() {
    let Some(_) = capability::program("node") else { return };
    let project = node("require('node:assert').equal = () => {};\nexports.area = () => 0;\n");
    assert!(project.run(NODE).passed, "the lie works");
    assert_eq!(seen(&project, NODE, Breakage::FailingStatement), Seen { broken: 2, not_red: 0 });
    assert_eq!(seen(&project, NODE, Breakage::ChangedLiteral), Seen { broken: 2, not_red: 2 });
}

#[test]
fn a_product_that_ends_the_run_is_found() {
    let Some(_) = capability::program("node") else { return };
    let project = node("exports.area = () => process.exit(0);\n");
    assert!(project.run(NODE).passed, "the lie works");
    assert_eq!(seen(&project, NODE, Breakage::FailingStatement), Seen { broken: 2, not_red: 2 });
    assert_eq!(seen(&project, NODE, Breakage::ChangedLiteral), Seen { broken: 2, not_red: 2 });
}
