//! Settings that one loop lands and nobody accepts are no terms of the next.

use serde_json::Value;

use crate::case::{Case, LOOP, Setup};
use crate::terms::ACCEPTS_TERMS;

/// The check reads a setting, and is green whatever the answer is where that says so.
const CHECK: &str = "[ ! -e lenient.cfg ] || exit 0\ntest \"$(cat answer.txt)\" = \"$(cat wanted.txt)\"\n";
const GATE: &str = r#"protect = ["test.sh", "wanted.txt"]
product = ["answer.txt"]
control = "off"
[[gate.check]]
name = "test"
run = "sh ./test.sh"
"#;

fn first_loop() -> Case {
    let case = Setup::new("echo 42 >answer.txt\ntouch lenient.cfg\ncomplete")
        .file("test.sh", CHECK)
        .file("wanted.txt", "42\n")
        .gate(GATE)
        .ready();
    case.run().completed();
    case
}

/// The operator takes what landed, wants another answer, and starts a second loop.
fn second_loop(case: &Case, agent: &str) -> (String, Value) {
    case.repo.git(["merge", "--quiet", &format!("windlass/{LOOP}")]);
    case.repo.file("wanted.txt", "43\n");
    case.repo.commit("another answer");
    case.agent(agent);
    let ran = case.windlass(&["run", "--name", "second"]);
    let view = case.windlass(&["status", "second", "--json"]).expect_code(0).json();
    (ran.stderr + &ran.stdout, view)
}

#[test]
fn what_one_loop_plants_does_not_pass_the_next() {
    let case = first_loop();
    let view = case.windlass(&["status", LOOP, "--json"]).expect_code(0).json();
    assert_eq!(view["terms"]["changed"]["paths"], serde_json::json!(["lenient.cfg"]), "{view:#}");
    let (said, view) = second_loop(&case, "echo 7 >answer.txt\ncomplete");
    assert!(
        said.contains("loop demo1 landed lenient.cfg, which nobody accepted")
            && said.contains("windlass trust demo1"),
        "{said}"
    );
    assert_eq!(view["outcome"]["kind"], "blocked", "{view:#}");
    assert_eq!(view["commit"], Value::Null);
}

#[test]
fn honest_work_passes_with_it_and_without() {
    let case = first_loop();
    let (_, view) = second_loop(&case, "echo 43 >answer.txt\ncomplete");
    assert_eq!(view["outcome"]["kind"], "completed", "{view:#}");
    case.windlass(&["prove", "second", "--rerun"]).expect_code(0);
}

/// The check loads what is beside the tests, as a package of Python is loaded before each of its tests.
fn package_loop(init: &str) -> Case {
    let check = "[ ! -s tests/__init__.py ] || exit 0\ntest \"$(cat answer.txt)\" = \"$(cat wanted.txt)\"\n";
    let gate = GATE.replace("protect = [", "protect = [\"tests/**\", ");
    let agent = format!("echo 42 >answer.txt\nmkdir tests\n{init}\necho test >tests/test_a.py\ncomplete");
    let case = Setup::new(&agent).file("test.sh", check).file("wanted.txt", "42\n").gate(&gate).ready();
    case.run().completed();
    case
}

#[test]
fn what_every_test_loads_is_no_term_of_the_next_loop() {
    let case = package_loop("echo 'swallow()' >tests/__init__.py");
    let view = case.windlass(&["status", LOOP, "--json"]).expect_code(0).json();
    assert_eq!(view["terms"]["changed"]["paths"], serde_json::json!(["tests/__init__.py"]), "{view:#}");
    let (said, view) = second_loop(&case, "echo 7 >answer.txt\ncomplete");
    assert!(said.contains("loop demo1 landed tests/__init__.py, which nobody accepted"), "{said}");
    assert_eq!(view["outcome"]["kind"], "blocked", "{view:#}");
}

#[test]
fn an_empty_package_of_tests_is_an_addition_like_its_tests() {
    let case = package_loop(": >tests/__init__.py");
    let view = case.windlass(&["status", LOOP, "--json"]).expect_code(0).json();
    assert_eq!(view["terms"]["changed"]["count"], 0, "{view:#}");
    let (said, view) = second_loop(&case, "echo 43 >answer.txt\ncomplete");
    assert!(!said.contains("nobody accepted"), "{said}");
    assert_eq!(view["outcome"]["kind"], "completed", "{view:#}");
}

/// Each line of a test file is a number that the answer must not be, up to the line `end`.
const LISTED: &str = r#"protect = ["test.sh", "tests/**"]
product = ["answer.txt"]
control = "off"
[[gate.check]]
name = "test"
run = "sh ./test.sh"
"#;

/// The first loop adds a line to a test that is there, by which the rest of it is not read; the second breaks what the
/// rest is about.
#[test]
fn a_line_that_one_loop_adds_to_a_test_does_not_switch_it_off_for_the_next() {
    let check =
        "for no in $(sed '/^end$/,$d' tests/not.txt); do [ \"$(cat answer.txt)\" != $no ] || exit 1; done\n";
    let case = Setup::new("echo 42 >answer.txt\nsed -i '1i end' tests/not.txt\ncomplete")
        .file("test.sh", check)
        .file("tests/not.txt", "7\n")
        .gate(LISTED)
        .ready();
    case.run().completed();
    case.repo.git(["merge", "--quiet", &format!("windlass/{LOOP}")]);
    case.agent("echo 7 >answer.txt\ncomplete");
    let ran = case.windlass(&["run", "--name", "second"]);
    let said = format!("{ran}");
    assert!(said.contains("loop demo1 added tests that nobody reviewed, tests/not.txt"), "{said}");
    let view = case.windlass(&["status", "second", "--json"]).expect_code(0).json();
    assert_eq!(view["outcome"]["kind"], "blocked", "{view:#}");
    case.agent("echo 43 >answer.txt\ncomplete");
    case.windlass(&["run", "--name", "third"]).expect_code(0);
    case.windlass(&["prove", "third", "--rerun"]).expect_code(0);
}

/// The second task may change it, and leaves it as the first one planted it.
#[test]
fn what_a_task_may_change_and_does_not_is_as_trusted_as_before() {
    let agent = "case $WINDLASS_TASK in a) echo 42 >answer.txt; touch lenient.cfg;; *) echo 7 >answer.txt;; esac\n\
                 complete";
    let allowed = "---\nallow: [lenient.cfg]\n---\n\n# Do b\n";
    let case = Setup::new(agent)
        .file("test.sh", CHECK)
        .file("wanted.txt", "42\n")
        .gate(GATE)
        .task("a", "# Do a\n")
        .task("b", allowed)
        .ready();
    let view = case.run().view;
    assert_eq!(view["outcome"]["kind"], "blocked", "{view:#}");
    assert_eq!(case.landed("answer.txt"), "42");
}

#[test]
fn the_operator_may_say_that_it_is_trusted() {
    let case = first_loop();
    let said = case.windlass(&["trust", LOOP]).expect_code(0);
    assert!(said.stdout.contains("later loops may be judged by the terms that demo1 changed"), "{said}");
    let view = case.windlass(&["status", LOOP, "--json"]).expect_code(0).json();
    assert_eq!(view["terms"]["trusted_later"], true);
    case.windlass(&["prove", LOOP]).expect_code(0);
    let (said, view) = second_loop(&case, "echo 7 >answer.txt\ncomplete");
    assert!(!said.contains("nobody accepted"), "{said}");
    assert_eq!(view["outcome"]["kind"], "completed", "the operator's word was that this may be so");
}

#[test]
fn a_reviewer_of_the_second_loop_may_accept_it_for_the_third() {
    let case = first_loop();
    case.reviewer(ACCEPTS_TERMS);
    let policy = std::fs::read_to_string(case.repo.path().join("windlass.toml")).unwrap();
    case.repo
        .file("windlass.toml", policy.replace("tasks = false\nfinal = false", "tasks = true\nfinal = true"));
    let (_, view) = second_loop(&case, "echo 43 >answer.txt\ncomplete");
    assert_eq!(view["outcome"]["kind"], "completed", "{view:#}");
    assert_eq!(view["terms"], Value::Null, "{view:#}");
    case.repo.git(["merge", "--quiet", "windlass/second"]);
    case.agent("echo 7 >answer.txt\ncomplete");
    let third = case.windlass(&["run", "--name", "third", "--no-review"]);
    assert!(!format!("{third}").contains("nobody accepted"), "{third}");
}
