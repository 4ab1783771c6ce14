//! Every broken test is red by name, and no honest one is.

use windlass_control::{Breakage, BrokenTest, Numbers, Round, TestChange, is_red, not_red};
use windlass_testkit::capability;

use crate::project::{Project, Run, is_to_stay_green};

struct Counts {
    failing: usize,
    literals: usize,
}

#[test]
fn unittest() {
    let Some(_) = capability::program("python3") else { return };
    let project = Project::of(
        Project::sample_files("python")
            .into_iter()
            .filter(|(path, _)| !path.ends_with("test_functions.py"))
            .collect(),
    );
    check(&project, &["python3", "-m", "unittest"], &Counts { failing: 7, literals: 5 });
}

#[test]
fn pytest() {
    let Some(_) = capability::program("pytest") else { return };
    for options in [&["-q"][..], &["-v", "--tb=short"], &["-q", "--tb=line"]] {
        let argv = [&["pytest", "-p", "no:cacheprovider"], options].concat();
        check(&Project::sample("python"), &argv, &Counts { failing: 18, literals: 15 });
    }
}

#[test]
fn node() {
    let Some(_) = capability::program("node") else { return };
    for reporter in ["tap", "spec"] {
        let reporter = format!("--test-reporter={reporter}");
        check(
            &Project::sample("node"),
            &["node", "--test", &reporter],
            &Counts { failing: 16, literals: 10 },
        );
    }
}

#[test]
fn cargo() {
    let Some(_) = capability::program("cargo") else { return };
    let argv = ["cargo", "test", "--offline", "--no-fail-fast"];
    check(&Project::sample("rust"), &argv, &Counts { failing: 15, literals: 9 });
}

#[test]
fn go() {
    let Some(_) = capability::program("go") else { return };
    for option in [&[][..], &["-v"], &["-json"]] {
        let argv = [&["go", "test"], option, &["./..."]].concat();
        check(&Project::sample("go"), &argv, &Counts { failing: 9, literals: 3 });
    }
}

#[test]
fn an_example_of_go() {
    let Some(_) = capability::program("go") else { return };
    let test = "package a\n\nimport (\n\t\"fmt\"\n\t\"testing\"\n)\n\nfunc TestStaysGreen(t *testing.T) {}\n\nfunc ExampleF() {\n\tfmt.Println(\"a b\")\n\t// Output:\n\t// a b\n}\n";
    let project = Project::of(vec![
        ("go.mod".to_owned(), "module example.com/a\n\ngo 1.20\n".to_owned()),
        ("a_test.go".to_owned(), test.to_owned()),
    ]);
    check(&project, &["go", "test", "./..."], &Counts { failing: 1, literals: 1 });
}

#[track_caller]
fn check(project: &Project, argv: &[&str], counts: &Counts) {
    project.restore();
    let honest = project.run(argv);
    assert!(honest.passed, "{}", honest.output);
    let rounds = (0..3).map(|nth| (Breakage::ChangedLiteral, counts.literals, nth));
    for (breakage, count, nth) in [(Breakage::FailingStatement, counts.failing, 0)].into_iter().chain(rounds)
    {
        let numbers = Numbers::from_seed(3).in_round(Round { lot: 5, nth });
        let tests = project.break_with(breakage, numbers);
        let run = project.run(argv);
        assert!(!run.passed, "{}", run.output);
        let changed: Vec<&BrokenTest> = tests.iter().filter(|test| test.is_changed()).collect();
        assert_eq!(changed.len(), count, "{breakage:?}: {changed:#?}");
        let green: Vec<String> = not_red(&tests, &run.evidence()).iter().map(ToString::to_string).collect();
        assert_eq!(green, [""; 0], "{breakage:?}\n{}", run.output);
        untouched_stay_green(&tests, &run);
        let evidence = honest.evidence();
        let red: Vec<String> =
            changed.iter().filter(|test| is_red(test, &evidence)).map(ToString::to_string).collect();
        assert_eq!(red, [""; 0], "{}", honest.output);
    }
}

/// What was not broken is not called red because of what was.
#[track_caller]
fn untouched_stay_green(tests: &[BrokenTest], run: &Run) {
    let green: Vec<&BrokenTest> = tests.iter().filter(|test| is_to_stay_green(test)).collect();
    assert_ne!(green.len(), 0);
    for test in green {
        let test = BrokenTest { change: TestChange::Fails { left: 1, right: 2 }, ..test.clone() };
        assert!(!is_red(&test, &run.evidence()), "{test}\n{}", run.output);
    }
}
