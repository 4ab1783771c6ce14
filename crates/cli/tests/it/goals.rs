//! A goal always means that goal.

use crate::case::{Case, Setup};

fn case() -> Case {
    Setup::new("echo $n >>turns.txt\necho 42 >answer.txt\ncomplete").ready()
}

#[track_caller]
fn run(case: &Case, goal: &str, code: i32) -> String {
    let ran = case.windlass(&["run", goal, "--json"]);
    ran.expect_code(code).json()["loop"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn goals_that_begin_alike_are_two_loops() {
    let case = case();
    let one = run(&case, "Make the tests pass on linux", 0);
    let other = run(&case, "Make the tests pass on macOS and also rewrite everything", 0);
    assert_eq!((one.as_str(), other.as_str()), ("make-the-tests-pass-on", "make-the-tests-pass-on-2"));
    assert_eq!(case.turns("author"), 2, "both were worked on");
}

#[test]
fn goals_without_ascii_letters_are_two_loops() {
    let case = case();
    let one = run(&case, "сделай тесты зелёными", 0);
    let other = run(&case, "テストを 直して ください", 0);
    assert_ne!(one, other);
    assert_eq!(case.turns("author"), 2, "both were worked on");
}

#[test]
fn goals_with_the_same_first_line_are_two_loops() {
    let case = case();
    let one = run(&case, "make it work\nquickly", 0);
    let other = run(&case, "make it work\nslowly", 0);
    assert_ne!(one, other);
    assert_eq!(case.turns("author"), 2, "both were worked on");
}

#[test]
fn a_completed_goal_answers_for_its_own_text() {
    let case = case();
    let one = run(&case, "make the tests pass", 0);
    let again = run(&case, " make the tests pass ", 0);
    assert_eq!(one, again);
    assert_eq!(case.turns("author"), 1);
}

#[test]
fn an_unfinished_goal_is_gone_on_with() {
    let case = Setup::new("if [ $n -eq 1 ]; then exit 1; fi\necho 42 >answer.txt\ncomplete")
        .limits("max_agent_failures = 1")
        .ready();
    let one = run(&case, "make the tests pass", 3);
    case.windlass(&["restart", &one]).expect_code(0);
    assert_eq!(run(&case, "make the tests pass", 0), one);
    assert_eq!(case.turns("author"), 2);
}

#[test]
fn a_name_that_another_goal_has_is_refused() {
    let case = case();
    case.windlass(&["run", "--name", "old", "make the tests pass"]).expect_code(0);
    let ran = case.windlass(&["run", "--name", "old", "make everything else"]).expect_code(2);
    assert!(ran.stderr.contains("not its goal"), "{ran}");
    case.windlass(&["run", "--name", "old", "make the tests pass"]).expect_code(0);
    assert_eq!(case.turns("author"), 1);
}
