//! Tests that windlass breaks: honest work turns red with them, a gate that
//! cannot fail does not.

use std::process::Command;

use serde_json::Value;
use windlass_testkit::capability;

use crate::case::{Case, LOOP, Setup};

const TESTS: &str = r#"import unittest
from answer import answer, double


class Answer(unittest.TestCase):
    def test_answer(self):
        self.assertEqual(answer(), 42)

    def test_double(self):
        self.assertEqual(double(4), 8)

    @unittest.skipIf(answer, "never runs here")
    def test_elsewhere(self):
        self.assertEqual(answer(), 1)
"#;
const WRONG: &str = "def answer():\n    return 41\n\n\ndef double(n):\n    return 2 * n\n";
const GATE: &str = r#"product = ["**/*.py"]
protect = ["tests/**"]
[[gate.check]]
name = "test"
run = "PYTHON -B -m unittest discover -t . -s tests"
"#;
const HONEST: &str = "sed -i 's/41/42/' answer.py\ncomplete";
/// Equal to whatever a test expects.
const EQUAL: &str = r#"cat >answer.py <<'PY'
class Any:
    def __eq__(self, other):
        return True


def answer():
    return Any()


def double(n):
    return Any()
PY
complete"#;
/// Ends every run well.
const EXITS: &str =
    "printf 'import atexit, os\\natexit.register(lambda: os._exit(0))\\n' >>answer.py\ncomplete";
/// Lies about one test only.
const SWALLOWS: &str = r#"[ $n -gt 1 ] || cat >>answer.py <<'PY'
import unittest
_run = unittest.TestCase.run


def run(self, result=None):
    if not self.id().endswith('.test_answer'):
        return _run(self, result)


unittest.TestCase.run = run
PY
complete"#;

/// The interpreter itself, wherever it is installed.
pub fn python() -> Option<[String; 2]> {
    let say = "import sys; print(sys.executable); print(sys.base_prefix)";
    let ran = Command::new("/usr/bin/env").args(["python3", "-c", say]).output().ok();
    let Some(ran) = ran.filter(|ran| ran.status.success()) else {
        capability::not_run("python3 is not there");
        return None;
    };
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    let mut lines = said.lines().map(str::to_owned);
    Some([lines.next()?, lines.next()?])
}

fn project(agent: &str) -> Option<Setup> {
    project_with(agent, GATE)
}

fn project_with(agent: &str, gate: &str) -> Option<Setup> {
    let [python, prefix] = python()?;
    let setup = Setup::new(agent)
        .sandbox_keys(&format!("extra_read = [{prefix:?}]\n"))
        .file("answer.py", WRONG)
        .file("tests/__init__.py", "")
        .file("tests/test_answer.py", TESTS)
        .gate(&gate.replace("PYTHON", &python));
    Some(setup)
}

fn proof(case: &Case) -> Value {
    case.windlass(&["prove", LOOP, "--json"]).expect_code(0).json()
}

#[test]
fn honest_work_turns_red_with_its_tests() {
    let Some(setup) = project(HONEST) else { return };
    let case = setup.ready();
    case.run().completed();
    let proof = proof(&case);
    let broken = &proof["record"]["checks"][0]["broken_tests"];
    assert_eq!((&broken["statement"]["broken"], &broken["statement"]["red"]), (&3.into(), &2.into()));
    assert_eq!((&broken["literal"]["broken"], &broken["literal"]["red"]), (&2.into(), &2.into()));
    let aside = &broken["statement"]["set_aside"]["first"][0];
    assert_eq!(aside, "tests/test_answer.py Answer > test_elsewhere", "{broken:#}");
    let gate = proof["steps"].as_array().unwrap().iter().find(|step| step["step"] == "gate").unwrap();
    assert!(gate["detail"].as_str().unwrap().contains("2 broken tests turned red"), "{gate}");
    let grades = proof["grades"].as_array().unwrap().iter().map(graded);
    let grades: Vec<(&str, &str)> =
        grades.filter(|(of, _)| ["trial", "control", "review"].contains(of)).collect();
    assert_eq!(grades, [("trial", "full"), ("control", "weaker"), ("review", "nothing")], "one was skipped");
    case.windlass(&["prove", LOOP, "--rerun"]).expect_code(0);
}

const ELSEWHERE: &str = r#"import unittest
from answer import double


@unittest.skipIf(double, "never runs here")
class Elsewhere(unittest.TestCase):
    def test_on_another_system(self):
        self.assertEqual(double(3), 6)
"#;

#[test]
fn a_red_base_does_not_accuse_a_file_whose_tests_are_skipped() {
    let Some(setup) = project(HONEST) else { return };
    let case = setup.file("tests/test_elsewhere.py", ELSEWHERE).ready();
    case.run().completed();
    let broken = &proof(&case)["record"]["checks"][0]["broken_tests"];
    let aside = broken["statement"]["set_aside"]["first"].to_string();
    assert!(aside.contains("test_on_another_system"), "{broken:#}");
    assert_eq!(broken["statement"]["green"]["count"], 0, "{broken:#}");
}

/// Breaks what the base can do, and hides that.
const SWALLOWS_ANOTHER: &str = r#"[ $n -gt 1 ] || { sed -i 's/41/42/; s/2 \* n/3 * n/' answer.py; cat >>answer.py <<'PY'
import unittest
_run = unittest.TestCase.run


def run(self, result=None):
    if not self.id().endswith('.test_on_another_system'):
        return _run(self, result)


unittest.TestCase.run = run
PY
}
complete"#;

#[test]
fn a_lie_about_a_test_that_is_green_on_a_red_base_is_found_out() {
    let Some(setup) = project(SWALLOWS_ANOTHER) else { return };
    let runs_here = ELSEWHERE.replace("skipIf(double", "skipIf(not double");
    let tests = TESTS.replace("double(4), 8", "double(0), 0");
    let case = setup.file("tests/test_elsewhere.py", runs_here).file("tests/test_answer.py", tests).ready();
    case.run();
    let findings = case.windlass(&["findings", LOOP, "--all", "--json"]).json();
    let told = findings.to_string();
    assert!(told.contains("gate_not_sensitive") && told.contains("test_on_another_system"), "{told}");
}

fn graded(grade: &Value) -> (&str, &str) {
    (grade["of"].as_str().unwrap(), grade["strength"].as_str().unwrap())
}

#[track_caller]
fn found_out(agent: &str, names: &[&str]) {
    let Some(setup) = project(agent) else { return };
    let seen = setup.ready().run();
    seen.ended(3, "blocked", "final_fixes");
    let found = seen.findings_in("test");
    let said = found[0]["description"].as_str().unwrap();
    assert!(said.starts_with("the gate cannot fail on this tree: "), "{said}");
    assert!(names.iter().all(|name| said.contains(name)), "{said}");
}

#[test]
fn an_answer_that_equals_everything_is_found_out() {
    found_out(EQUAL, &["test_answer", "test_double"]);
}

#[test]
fn a_product_that_ends_every_run_well_is_found_out() {
    found_out(EXITS, &["test_answer", "test_double"]);
}

#[test]
fn a_lie_about_one_test_is_found_out() {
    found_out(SWALLOWS, &["a test stays green though broken: tests/test_answer.py Answer > test_answer"]);
}

#[test]
fn where_it_is_switched_off_the_proof_says_so() {
    let Some(setup) = project_with(EXITS, &format!("control = \"off\"\n{GATE}")) else { return };
    let case = setup.ready();
    case.run().completed();
    let gate = proof(&case)["steps"].as_array().unwrap().iter().find(|step| step["step"] == "gate").cloned();
    assert!(gate.unwrap()["detail"].as_str().unwrap().contains("no test was broken to see it fail"));
}

#[test]
fn a_check_cannot_tell_who_runs_it() {
    let case = Setup::new("complete")
        .file(
            "test.sh",
            "env | grep -i windlass | grep -v '^PWD=\\|^HOME=\\|^TMPDIR=\\|^OLDPWD=' && exit 1\nexit 0\n",
        )
        .ready();
    let seen = case.run();
    let exits = seen.log.of("check_finished");
    assert!(exits.iter().all(|check| check["result"]["exit_code"] == 0), "{}", seen.log);
}
