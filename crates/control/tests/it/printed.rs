//! What runners print that are not on every machine, recorded from the broken samples:
//! jest 30.5, vitest 4.1, mocha 12.0, node 20.20, nextest 0.9, pytest 9.2, go 1.27. The
//! numbers of these tests are not those of the recordings, so that names alone are compared.

use std::fs;

use windlass_control::{
    Breakage, BrokenTest, FailedCase, RunEvidence, TestChange, is_red, not_red, sharing_a_name,
};

use crate::project::{Project, is_to_stay_green, samples};

#[test]
fn recorded_runs() {
    for (sample, recording) in [
        ("jest", "jest.txt"),
        ("vitest", "vitest.txt"),
        ("mocha", "mocha.txt"),
        ("mocha", "mocha-dot.txt"),
        ("node", "node-spec.txt"),
        ("node", "node-tap.txt"),
        ("rust", "nextest.txt"),
        ("rust", "cargo-quiet.txt"),
        ("go", "go.txt"),
        ("go", "go-verbose.txt"),
        ("go", "go-json.txt"),
        ("python", "pytest.txt"),
        ("python", "pytest-verbose.txt"),
        ("python", "pytest-short.txt"),
    ] {
        check(sample, recording);
    }
}

#[track_caller]
fn check(sample: &str, recording: &str) {
    let path = samples().with_file_name("printed").join(recording);
    let output = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let tests = Project::sample(sample).break_all(Breakage::FailingStatement, 99);
    let evidence = RunEvidence::read(&output, Vec::new());
    let green: Vec<String> = not_red(&tests, &evidence).iter().map(ToString::to_string).collect();
    assert_eq!(green, [""; 0], "{recording}");
    for test in tests.iter().filter(|test| is_to_stay_green(test)) {
        let test = BrokenTest { change: TestChange::Fails { left: 1, right: 2 }, ..test.clone() };
        assert!(!is_red(&test, &evidence), "{recording}: {test}");
    }
}

#[test]
fn numbers_tell_what_names_cannot() {
    let tests = Project::sample("python").break_all(Breakage::FailingStatement, 99);
    let inherited =
        tests.iter().find(|test| test.to_string().contains("test_inherited")).expect("in the sample");
    let TestChange::Fails { left, right } = inherited.change else { panic!("{inherited:?}") };
    let evidence = |output: &str| RunEvidence::read(output, Vec::new());
    assert!(is_red(inherited, &evidence(&format!("E  AssertionError: {left} != {right}"))));
    assert!(!is_red(inherited, &evidence(&format!("{left}\n{right}"))));
    assert!(!is_red(inherited, &evidence(&format!("{left}1 != {right}"))));
}

#[test]
fn junit_cases_are_read_by_class_and_name() {
    let case = |class: &str, name: &str| FailedCase {
        class: class.to_owned(),
        name: name.to_owned(),
        message: String::new(),
    };
    for (sample, test, red, green) in [
        (
            "python",
            "TestDeep.test_name",
            case("tests.test_functions.TestShape.TestDeep", "test_name"),
            case("tests.test_cases.TestShape.TestDeep", "test_name"),
        ),
        (
            "python",
            "test_table",
            case("tests.test_functions", "test_table[3]"),
            case("tests.other", "test_table[3]"),
        ),
        (
            "jest",
            "names > all > a triangle",
            case("shapes names > all a triangle", "shapes names > all a triangle"),
            case("", "a square"),
        ),
        (
            "vitest",
            "names > all > a triangle",
            case("shapes.test.ts", "shapes > names > all > a triangle"),
            case("other.test.ts", "shapes > names > all > a triangle"),
        ),
        ("node", "a triangle's", case("test", "a triangle's"), case("test", "a triangle")),
        (
            "rust",
            "tests::inner::largest",
            case("shapes", "tests::inner::largest"),
            case("shapes", "tests::largest"),
        ),
        (
            "go",
            "shapes_test.go:5 TestArea",
            case("example.com/forms/shapes", "TestArea"),
            case("example.com/forms", "TestArea"),
        ),
    ] {
        let tests = Project::sample(sample).break_all(Breakage::FailingStatement, 99);
        let test = tests.iter().find(|found| found.to_string().ends_with(test)).expect(test);
        assert!(is_red(test, &RunEvidence::read("", vec![red])), "{test}");
        assert!(!is_red(test, &RunEvidence::read("", vec![green])), "{test}");
    }
}

#[test]
fn two_tests_of_one_name_need_two_failures() {
    let text = "test('same', () => {});\n".to_owned();
    let files = vec![("a.test.js".to_owned(), text.clone()), ("b.test.js".to_owned(), text)];
    let tests = Project::of(files).break_all(Breakage::FailingStatement, 1);
    let once = RunEvidence::read("✖ same (1.5ms)\n", Vec::new());
    assert_eq!(not_red(&tests, &once).len(), 2);
    let twice = RunEvidence::read("✖ same (1.5ms)\n✖ same (1.5ms)\n", Vec::new());
    assert_eq!(not_red(&tests, &twice).len(), 0);
}

#[test]
fn one_failure_is_never_that_of_two_definitions_with_one_name() {
    let text = "def test_a():\n    assert f() == 1\n\ndef test_b():\n    assert f() == 2\n\ndef test_a():\n    assert f() == 1\n";
    let project = Project::of(vec![("test_a.py".to_owned(), text.to_owned())]);
    let failed = "FAILED test_a.py::test_a - assert 1\nFAILED test_a.py::test_b - assert 2\n";
    let tests = project.break_all(Breakage::FailingStatement, 1);
    let shared: Vec<usize> = sharing_a_name(&tests).iter().map(|test| test.line).collect();
    assert_eq!(shared, [1, 7]);
    let lines = |tests: &[BrokenTest], output: &str| -> Vec<usize> {
        not_red(tests, &RunEvidence::read(output, Vec::new())).iter().map(|test| test.line).collect()
    };
    assert_eq!(lines(&tests, failed), [1, 7], "whose failure it was is not printed");
    let TestChange::Fails { left, right } = tests[2].change else { panic!("{tests:?}") };
    assert_eq!(lines(&tests, &format!("{failed}E  assert {left} == {right}\n")), [1]);
    assert_eq!(lines(&tests[1..], failed), [0; 0], "alone its name is enough");
}

#[test]
fn a_test_and_the_one_that_overrides_it_share_a_name() {
    let text = "class Base:\n    def test_a(self): f()\n\nclass TestX(Base):\n    def test_a(self): f()\n    def test_b(self): f()\n";
    let tests = Project::of(vec![("test_a.py".to_owned(), text.to_owned())]);
    let tests = tests.break_all(Breakage::FailingStatement, 1);
    assert_eq!(sharing_a_name(&tests).iter().map(|test| test.line).collect::<Vec<_>>(), [2, 5]);
}
