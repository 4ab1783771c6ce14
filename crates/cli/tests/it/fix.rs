//! Tasks that fix: done only with a test that windlass saw fail without the fix.

use serde_json::Value;

use crate::broken_tests::python;
use crate::case::{Case, LOOP, Setup};
use crate::prove::{broken, database, forget, holds, rewrite_log};

const TASK: &str = "---\nmode: fix\n---\n# Absolute values\n\n`abs.sh -5` prints -5 and not 5.\n";

const RUNNER: &str = "for test in tests/*.sh; do sh \"$test\" || exit 1; done\n";

/// The same, with a report of each test.
const COUNTING: &str = r#"mkdir -p out
red=0
{ echo '<testsuite name="s">'
  for test in tests/*.sh; do
    echo "<testcase classname='s' name='$test'>"
    sh "$test" || { red=1; echo '<failure message="no"/>'; }
    echo '</testcase>'
  done
  echo '</testsuite>'; } >out/junit.xml
exit $red
"#;

const GATE: &str =
    "protect = [\"run.sh\", \"tests/**\"]\n[[gate.check]]\nname = \"test\"\nrun = \"sh ./run.sh\"\n";

/// What the author's scripts choose from.
const PARTS: &str = r#"mend() { echo 'echo "${1#-}"' >abs.sh; }
regression() { echo 'test "$(sh ./abs.sh -5)" = 5' >tests/negative.sh; }
"#;

fn project(author: &str) -> Setup {
    Setup::new(&format!("{PARTS}{author}"))
        .file("run.sh", RUNNER)
        .file("abs.sh", "echo \"$1\"\n")
        .file("tests/positive.sh", "test \"$(sh ./abs.sh 5)\" = 5\n")
        .gate(GATE)
        .task("answer", TASK)
}

fn findings(seen: &crate::case::Seen) -> Vec<(String, String)> {
    let text = |of: &Value, key: &str| of[key].as_str().unwrap().to_owned();
    let all = seen.findings.as_array().unwrap();
    all.iter().map(|of| (text(of, "description"), text(of, "life"))).collect()
}

fn step(proof: &Value, name: &str) -> String {
    let steps = proof["steps"].as_array().unwrap();
    steps.iter().find(|step| step["step"] == name).unwrap()["detail"].as_str().unwrap().to_owned()
}

#[test]
fn a_fix_with_a_regression_test_lands_and_the_proof_has_it() {
    let case = project("mend; regression\ncomplete").ready();
    let seen = case.run();
    seen.completed();
    assert_eq!(case.turns("author"), 1, "{}", seen.log);
    assert_eq!(case.landed("tests/negative.sh"), "test \"$(sh ./abs.sh -5)\" = 5");
    let brief = case.left("author-1.brief");
    assert!(
        brief.contains("# Fix task answer") && brief.contains("First write a test that fails"),
        "{brief}"
    );

    let proof = holds(&case);
    let shown = &proof["record"]["tasks"][0]["regression"];
    assert_eq!(
        (&shown["check"], &shown["without_fix"]["exit_code"]),
        (&"test".into(), &1.into()),
        "{proof:#}"
    );
    assert_eq!(shown["without_tests"]["exit_code"], 0, "{proof:#}");
    assert_eq!(
        step(&proof, "tasks"),
        "1 task green on the tree that landed, 1 with a regression test that was red without it"
    );
    let page = case.windlass(&["prove", LOOP]).expect_code(0).stdout;
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        page.contains("its regression test was red without the fix: test, exit code 1, event "),
        "{page}"
    );
}

#[test]
fn a_fix_is_refused_until_an_added_test_fails_without_it() {
    let author = r#"case $n in
1) mend ;;
2) echo 'test "$(sh ./abs.sh 7)" = 7' >tests/negative.sh ;;
3) echo 'false' >tests/negative.sh ;;
*) regression ;;
esac
complete"#;
    let case = project(author).ready();
    let seen = case.run();
    seen.completed();
    assert_eq!(case.turns("author"), 4, "{}", seen.log);
    let found = findings(&seen);
    let none_added =
        "no test was added: add one that fails without the fix, in a file that gate.protect names";
    let resolved = |words: &str| (words.to_owned(), "resolved".to_owned());
    assert_eq!(found, [resolved(none_added), resolved("no added test fails without the fix")]);
    let brief = case.left("author-2.brief");
    assert!(brief.contains(none_added), "{brief}");
    let brief = case.left("author-3.brief");
    assert!(brief.contains("no added test fails without the fix"), "{brief}");
    let brief = case.left("author-4.brief");
    assert!(
        brief.contains("exit code 1") && !brief.contains("no added test"),
        "it fails with the fix: {brief}"
    );
}

#[test]
fn a_test_that_always_fails_is_no_regression_test() {
    let case = project("mend; echo false >tests/negative.sh; echo \"$n\" >notes.txt\ncomplete")
        .limits("max_task_failures = 2")
        .ready();
    let seen = case.run();
    seen.blocked("failing");
    assert_eq!(seen.task("answer")["status"], "blocked");
}

const PYTHON_TEST: &str = "import unittest\n\nfrom numbers_of import absolute\n\n\n\
    class Positive(unittest.TestCase):\n    def test_positive(self):\n        \
    self.assertEqual(absolute(5), 5)\n";

/// `named` in the second turn is a test that fails without the fix.
const UNLOADED_THEN_NAMED: &str = r#"printf 'def absolute(n):\n    return abs(n)\n\n\ndef new():\n    return 0\n' >numbers_of.py
[ $n = 1 ] && uses=new || uses=absolute
cat >tests/test_negative.py <<PY
import unittest

from numbers_of import $uses


class Negative(unittest.TestCase):
    def test_negative(self):
        self.assertEqual($uses(-5), 5)
PY
[ $n = 1 ] && sed -i 's/(-5), 5/(), 0/' tests/test_negative.py
complete"#;

/// An import that fails makes the check red without the fix too, whatever the test is about.
#[test]
fn a_test_that_cannot_be_loaded_without_the_fix_shows_nothing() {
    let Some([python, prefix]) = python() else { return };
    let gate = format!(
        "product = [\"**/*.py\"]\nprotect = [\"tests/**\"]\n[[gate.check]]\nname = \"test\"\n\
         run = \"{python} -B -m unittest discover -t . -s tests\"\n"
    );
    let case = Setup::new(UNLOADED_THEN_NAMED)
        .sandbox_keys(&format!("extra_read = [{prefix:?}]\n"))
        .file("numbers_of.py", "def absolute(n):\n    return n\n")
        .file("tests/__init__.py", "")
        .file("tests/test_positive.py", PYTHON_TEST)
        .gate(&gate)
        .task("answer", TASK)
        .ready();
    let seen = case.run();
    seen.completed();
    assert_eq!(case.turns("author"), 2, "{}", seen.log);
    let brief = case.left("author-2.brief");
    assert!(brief.contains("a test that cannot be loaded there shows nothing"), "{brief}");
    let proof = holds(&case);
    let shown = &proof["record"]["tasks"][0]["regression"];
    let named = "tests/test_negative.py Negative > test_negative";
    assert_eq!(shown["tests"]["first"], serde_json::json!([named]), "{proof:#}");
}

#[test]
fn lines_added_to_a_test_count_and_so_does_what_the_task_may_change() {
    let author = "mend; echo 'test \"$(sh ./abs.sh -5)\" = 5' >>tests/positive.sh\ncomplete";
    let case = project(author).ready();
    case.run().completed();
    assert_eq!(case.turns("author"), 1);

    let task = TASK.replace("mode: fix", "mode: fix\nallow: [run.sh]");
    let author = "mend; echo 'test \"$(sh ./abs.sh -5)\" = 5' >>run.sh\ncomplete";
    let case = project(author).task("answer", &task).ready();
    case.run().completed();
    assert_eq!(case.turns("author"), 1);
    holds(&case);
}

#[test]
fn a_second_fix_is_judged_without_itself_alone() {
    let author = r#"case $n in
1) mend; regression ;;
2) echo 'v=${1#-}; echo "${v:-0}"' >abs.sh; echo 'test "$(sh ./abs.sh -7)" = 7' >tests/zero.sh ;;
*) echo 'test "$(sh ./abs.sh "")" = 0' >tests/zero.sh ;;
esac
complete"#;
    let task = "---\nmode: fix\ndepends_on: [answer]\n---\n# Nothing is 0\n\n`abs.sh ''` prints nothing.\n";
    let case = project(author).task("zero", task).ready();
    let seen = case.run();
    seen.completed();
    assert_eq!(case.turns("author"), 3, "-7 was mended by the first: {}", seen.log);
    let proof = holds(&case);
    let words = step(&proof, "tasks");
    assert!(words.ends_with(", 2 with regression tests that were red without them"), "{words}");
}

/// Where no agent sees some tests, what they print without the fix stays hidden too.
#[test]
fn what_hidden_tests_print_without_the_fix_reaches_no_brief() {
    let author = "mend; touch other.txt\n[ $n = 1 ] && echo true >tests/again.sh || regression\ncomplete";
    let gate = GATE.replacen('\n', "\nhidden = [\"tests/other.sh\"]\n", 1) + "junit = \"out/*.xml\"\n";
    let case = on_a_red_base(author, COUNTING)
        .file("tests/other.sh", "test -e other.txt || { echo SECRET-TEXT; exit 1; }\n")
        .gate(&gate)
        .ready();
    let seen = case.run();
    seen.completed();
    assert_eq!(case.turns("author"), 2, "{}", seen.log);
    let brief = case.left("author-2.brief");
    assert!(brief.contains("no added test fails without the fix"), "{brief}");
    assert!(!brief.contains("SECRET-TEXT"), "{brief}");
}

/// A test that has nothing to do with the defect is red before any work.
fn on_a_red_base(author: &str, runner: &str) -> Setup {
    project(author).file("run.sh", runner).file("tests/other.sh", "test -e other.txt\n")
}

#[test]
fn on_a_red_base_tests_that_are_counted_tell_which_is_new() {
    let author = r#"touch other.txt
mend
if [ $n = 1 ]; then echo true >tests/again.sh; else regression; fi
complete"#;
    let gate = format!("{GATE}junit = \"out/*.xml\"\n");
    let case = on_a_red_base(author, COUNTING).gate(&gate).ready();
    let seen = case.run();
    seen.completed();
    assert_eq!(case.turns("author"), 2, "{}", seen.log);
    let words = "no added test fails without the fix: of the tests of check test that fail there, none is new \
                 and passes with the fix";
    assert_eq!(findings(&seen), [(words.to_owned(), "resolved".to_owned())]);
    let proof = holds(&case);
    let shown = &proof["record"]["tasks"][0]["regression"];
    assert_eq!(shown["tests"]["first"], serde_json::json!(["s::tests/negative.sh"]), "{proof:#}");
    assert_eq!(shown["without_tests"]["exit_code"], 1, "the base is red: {proof:#}");
}

#[test]
fn on_a_red_base_without_counted_tests_nobody_begins() {
    let case = on_a_red_base("mend; regression; touch other.txt\ncomplete", COUNTING).ready();
    let seen = case.run();
    seen.blocked("base_red");
    assert_eq!(case.turns("author"), 0, "{}", seen.log);
    let words = seen.task("answer")["detail"].as_str().unwrap().to_owned();
    assert!(words.contains("set `junit` of the check, or mend the base first"), "{words}");

    let again = case.look(case.windlass(&["run", LOOP, "--retry-blocked"]));
    again.blocked("base_red");
    let policy = std::fs::read_to_string(case.repo.path().join("windlass.toml")).unwrap();
    let counted = policy.replace("run = \"sh ./run.sh\"\n", "run = \"sh ./run.sh\"\njunit = \"out/*.xml\"\n");
    case.repo.file("windlass.toml", counted);
    let ran = case.windlass(&["run", LOOP, "--retry-blocked"]);
    assert_eq!(ran.status.code(), Some(0), "{ran}");
    assert_eq!(case.turns("author"), 1);
}

#[test]
fn a_fix_without_a_check_is_refused_with_its_place() {
    let case = project("complete").gate("protect = [\"tests/**\"]\n").ready();
    let ran = case.windlass(&["run"]);
    assert_eq!(ran.status.code(), Some(2), "{ran}");
    assert!(ran.stderr.contains("tasks/answer.md:2:7: a task of the mode fix needs a check"), "{ran}");
    assert!(ran.stderr.contains("[[gate.check]]"), "{ran}");
    case.nothing_was_made();
}

/// A forger changes what was seen without the fix, with every hash made anew.
fn forge(case: &Case, from: &str, to: &str) {
    rewrite_log(case, &|text: &str| match text.contains("\"trial\":\"added_tests\"") {
        true => text.replace(from, to),
        false => text.to_owned(),
    });
    database(case).execute("UPDATE loops SET fold_version = 0", []).unwrap();
    forget(case);
}

#[test]
fn a_record_that_claims_another_regression_test_does_not_hold() {
    let case = project("mend; regression\ncomplete").ready();
    case.run().completed();
    forge(&case, "\"exit_code\":1", "\"exit_code\":0");
    broken(&case, "tasks", &["is on record as green, but its results are red"]);
}
