//! Lies that turn a run green, and which breakage does not turn red because of them.

use windlass_control::{Breakage, Numbers, Round, not_red};
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
    assert_eq!(seen(&project, PYTHON, Breakage::ChangedLiteral), Seen { broken: 2, not_red: 0 });
}

#[test]
fn an_assertion_that_checks_nothing_is_found() {
    let Some(_) = capability::program("python3") else { return };
    let project = python(
        "import unittest\nunittest.TestCase.assertEqual = lambda *a: None\ndef area(a, b): return 1\n",
    );
    assert!(project.run(PYTHON).passed, "the lie works");
    assert_eq!(seen(&project, PYTHON, Breakage::ChangedLiteral), Seen { broken: 2, not_red: 1 });
}

#[test]
fn an_answer_that_equals_everything_is_found_by_its_literal_only() {
    let Some(_) = capability::program("python3") else { return };
    let project = python("class Any:\n    __eq__ = lambda *a: True\ndef area(a, b): return Any()\n");
    assert!(project.run(PYTHON).passed, "the lie works");
    assert_eq!(seen(&project, PYTHON, Breakage::FailingStatement), Seen { broken: 2, not_red: 0 });
    assert_eq!(seen(&project, PYTHON, Breakage::ChangedLiteral), Seen { broken: 2, not_red: 1 });
}

#[test]
fn a_runner_that_forgets_failures_is_found() {
    let Some(_) = capability::program("python3") else { return };
    let project = python(
        "import unittest\nfor name in ('addFailure', 'addError'):\n    setattr(unittest.TextTestResult, name, lambda *a: None)\ndef area(a, b): return 0\n",
    );
    assert!(project.run(PYTHON).passed, "the lie works");
    assert_eq!(seen(&project, PYTHON, Breakage::FailingStatement), Seen { broken: 2, not_red: 2 });
    assert_eq!(seen(&project, PYTHON, Breakage::ChangedLiteral), Seen { broken: 2, not_red: 2 });
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

/// Whether a lie that node takes stays green in one of two rounds.
fn is_found_by_node(product: &str, test: &str) -> bool {
    let files = [("calc.mjs", product), ("calc.test.mjs", test)];
    let project = Project::of(files.map(|(path, text)| (path.to_owned(), text.to_owned())).into());
    assert!(project.run(NODE).passed, "the lie works");
    (0..2).any(|nth| {
        let numbers = Numbers::from_seed(7).in_round(Round { lot: 3, nth });
        let tests = project.break_with(Breakage::ChangedLiteral, numbers);
        assert!(tests[0].is_changed(), "{tests:?}");
        project.run(NODE).passed
    })
}

#[test]
fn an_assertion_that_a_file_imports_by_its_name_is_found_when_it_is_neutered() {
    let Some(_) = capability::program("node") else { return };
    let lie = "import assert from 'node:assert/strict';\nimport { syncBuiltinESMExports } from 'node:module';\nassert.strictEqual = assert.deepStrictEqual = () => {};\nassert.notDeepStrictEqual = () => { throw new Error('equal'); };\nsyncBuiltinESMExports();\nexport const f = () => '';\n";
    let honest = "export const f = (n) => ({ 4: 'IV', 5: new Map([['a', '1']]) })[n];\n";
    for statement in [
        "strictEqual(f(4), 'IV');",
        "const expected = new Map([['a', '1']]);\n  deepStrictEqual(f(5), expected);",
    ] {
        let test = format!(
            "import test from 'node:test';\nimport {{ strictEqual, deepStrictEqual }} from 'node:assert/strict';\nimport {{ f }} from './calc.mjs';\ntest('f', () => {{\n  {statement}\n}});\n"
        );
        assert!(is_found_by_node(lie, &test), "{statement}");
        assert!(!is_found_by_node(honest, &test), "{statement}");
    }
}

#[test]
fn a_product_that_ends_the_run_is_found() {
    let Some(_) = capability::program("node") else { return };
    let project = node("exports.area = () => process.exit(0);\n");
    assert!(project.run(NODE).passed, "the lie works");
    assert_eq!(seen(&project, NODE, Breakage::FailingStatement), Seen { broken: 2, not_red: 2 });
    assert_eq!(seen(&project, NODE, Breakage::ChangedLiteral), Seen { broken: 2, not_red: 2 });
}

/// Whether a value that is equal to too much stays green in one of two rounds.
fn is_found(product: &str, statement: &str, seed: u64) -> bool {
    let test = format!(
        "import unittest\nfrom shapes import f\n\n\nclass Case(unittest.TestCase):\n    def test_f(self):\n        {statement}\n"
    );
    let files = vec![("shapes.py".to_owned(), product.to_owned()), ("test_shapes.py".to_owned(), test)];
    let project = Project::of(files);
    assert!(project.run(PYTHON).passed, "the lie works");
    (0..2).any(|nth| {
        let numbers = Numbers::from_seed(seed + 7).in_round(Round { lot: seed, nth });
        let tests = project.break_with(Breakage::ChangedLiteral, numbers);
        assert!(tests[0].is_changed(), "{tests:?}");
        project.run(PYTHON).passed
    })
}

#[test]
fn an_answer_that_is_equal_to_one_side_or_one_place_is_found_in_two_rounds() {
    let Some(_) = capability::program("python3") else { return };
    for (class, statement) in [
        ("class A(list): __eq__ = lambda s, o: o[-1:] == s[-1:]", "assert f([1, 2, 3]) == [1, 2, 3]"),
        ("class A(list): __eq__ = lambda s, o: o[:1] == s[:1]", "assert f([1, 2, 3]) == [1, 2, 3]"),
        ("class A(str): __eq__ = lambda s, o: o[-1:] == s[-1:]", "assert f('abc') == 'abc'"),
        ("class A(int): __eq__ = lambda s, o: o >= int(s)", "assert f(6) == 6"),
        ("class A(int): __eq__ = lambda s, o: o <= int(s)", "assert f(6) == 6"),
        ("class A(float): __eq__ = lambda s, o: o <= float(s)", "assert f(2.5) == 2.5"),
        (
            "class A(dict): __eq__ = lambda s, o: list(s.items())[-1:] == list(o.items())[-1:]",
            "assert f({'a': 1, 'b': 2}) == {'a': 1, 'b': 2}",
        ),
    ] {
        for seed in 0..3 {
            assert!(is_found(&format!("{class}\nf = A\n"), statement, seed), "{class} with {seed}");
        }
    }
    assert!(!is_found("f = list\n", "assert f([1, 2, 3]) == [1, 2, 3]", 5), "the honest one");
}

/// Whether a lie that pytest takes stays green in one of two rounds.
fn is_found_by_pytest(product: &str, test: &str, seed: u64) -> bool {
    let files = vec![
        ("calc.py".to_owned(), product.to_owned()),
        ("test_calc.py".to_owned(), format!("import pytest\nfrom calc import f\n\n\n{test}\n")),
    ];
    let project = Project::of(files);
    let argv = ["pytest", "-q", "-p", "no:cacheprovider"];
    assert!(project.run(&argv).passed, "the lie works");
    (0..2).any(|nth| {
        let numbers = Numbers::from_seed(seed + 7).in_round(Round { lot: seed, nth });
        let tests = project.break_with(Breakage::ChangedLiteral, numbers);
        assert!(tests[0].is_changed(), "{tests:?}");
        project.run(&argv).passed
    })
}

#[test]
fn an_answer_that_holds_for_all_is_found_wherever_its_value_is_written() {
    let Some(_) = capability::program("pytest") else { return };
    let lie = "class A(str):\n    __hash__ = None\n    __eq__ = __contains__ = lambda s, o: True\nf = lambda *a: A()\n";
    let near = "class A(float):\n    __eq__ = lambda s, o: True\n    __ne__ = lambda s, o: False\nf = lambda *a: A()\n";
    let honest = "f = {1: 'I', 4: 'IV', 404: 'gone: 404', 2: 2.5}.get\n";
    for (lie, test) in [
        (
            lie,
            "@pytest.mark.parametrize('n, expected', [(1, 'I'), pytest.param(4, 'IV', id='four')])\ndef test_f(n, expected):\n    assert f(n) == expected",
        ),
        (lie, "def test_f():\n    assert '404' in f(404)"),
        (lie, "def test_f():\n    expected = 'IV'\n    assert f(4) == expected, expected"),
        (
            near,
            "import unittest\nclass TestF(unittest.TestCase):\n    def test_f(self):\n        self.assertAlmostEqual(f(2), 2.5)",
        ),
        (near, "def test_f():\n    assert f(2) == pytest.approx(2.5, abs=0.01)"),
    ] {
        assert!(is_found_by_pytest(lie, test, 1), "{test}");
        assert!(!is_found_by_pytest(honest, test, 2), "{test}");
    }
}

#[test]
fn an_assertion_that_is_neutered_is_found_though_nothing_reads_the_test() {
    let Some(_) = capability::program("python3") else { return };
    let raises = "class Calm:\n    def __init__(s, *a): pass\n    __enter__ = lambda s: s\n    __exit__ = lambda *a: True\nimport unittest\nunittest.TestCase.assertRaises = Calm\ndef f(): pass\n";
    assert!(is_found(raises, "with self.assertRaises(ValueError): f()", 1));
    let holds = "import unittest\nunittest.TestCase.assertTrue = lambda *a: None\nunittest.TestCase.assertFalse = lambda *a: None\ndef f(): pass\n";
    assert!(is_found(holds, "self.assertTrue(f())", 1));
    assert!(!is_found("def f(): raise ValueError\n", "with self.assertRaises(ValueError): f()", 1));
}

#[test]
fn a_test_that_expects_the_end_of_the_program_is_red_where_it_expects_another_exception() {
    let Some(_) = capability::program("python3") else { return };
    assert!(!is_found("def f(): raise SystemExit(0)\n", "with self.assertRaises(SystemExit): f()", 1));
}

#[test]
fn a_type_that_equals_everything_is_found_by_what_its_value_is_made_of() {
    let Some(_) = capability::program("cargo") else { return };
    let manifest = "[package]\nname = \"calc\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    let code = "#[derive(Debug, Clone)]\npub enum Expr { Num(i64), Add(Box<Expr>, Box<Expr>) }\nimpl PartialEq for Expr { fn eq(&self, other: &Self) -> bool { EQ } }\npub fn parse(_: &str) -> Expr { ANSWER }\n";
    let test = "use calc::*;\n#[test]\nfn parses() {\n    assert_eq!(parse(\"1+2\"), Expr::Add(Box::new(Expr::Num(1)), Box::new(Expr::Num(2))));\n}\n";
    let sum = "Expr::Add(Box::new(Expr::Num(1)), Box::new(Expr::Num(2)))";
    for (eq, answer, not_red) in
        [("true", "Expr::Num(0)", 1), ("format!(\"{self:?}\") == format!(\"{other:?}\")", sum, 0)]
    {
        let files = [
            ("Cargo.toml", manifest.to_owned()),
            ("src/lib.rs", code.replace("EQ", eq).replace("ANSWER", answer)),
            ("tests/calc.rs", test.to_owned()),
        ];
        let project = Project::of(files.map(|(path, text)| (path.to_owned(), text)).into());
        let argv = ["cargo", "test", "--offline"];
        assert!(project.run(&argv).passed, "{eq}");
        assert_eq!(seen(&project, &argv, Breakage::ChangedLiteral), Seen { broken: 1, not_red }, "{eq}");
    }
}
