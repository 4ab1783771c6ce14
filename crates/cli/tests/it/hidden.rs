//! Tests that no agent sees: in no workspace, history, brief or trail, and in every gate.

use std::fs;

use serde_json::Value;

use crate::broken_tests::python;
use crate::case::{Case, LOOP, Setup};

const SEEN: &str = "import unittest
from answer import double


class Seen(unittest.TestCase):
    def test_double(self):
        self.assertEqual(double(4), 8)
";
/// The word that nobody may read but the gate.
const WORD: &str = "mirabilis-4711";
const HIDDEN: &str = "import unittest
from answer import double


class Hidden(unittest.TestCase):
    def test_other_doubles(self):
        self.assertEqual(double(21), 42, 'mirabilis-4711')
";
const GATE: &str = r#"product = ["**/*.py"]
protect = ["tests/**"]
HIDE
[[gate.check]]
name = "test"
run = "PYTHON -B -m unittest discover -t . -s tests"
"#;
const IN_REPOSITORY: &str = r#"hidden = ["tests/hidden/**"]"#;
/// The first answer is made for the test that it sees, and looks for others; the second is honest.
const KEYED: &str = r#"git log --format=%s >"$side/log"
{ find . -type f -not -path './.git/*'; git rev-list --objects --all; } >"$side/names"
{ grep -r mirabilis . ; git log -p --all; git cat-file --batch-all-objects --batch; } >"$side/texts" 2>&1
find "$WINDLASS_TRAIL" -type f -exec cat {} + >>"$side/texts" 2>&1
if [ $n -eq 1 ]; then
    printf 'def double(n):\n    return 8\n' >answer.py
else
    printf 'def double(n):\n    return 2 * n\n' >answer.py
fi
complete"#;
const HONEST: &str = "printf 'def double(n):\\n    return 2 * n\\n' >answer.py\ncomplete";

fn project(agent: &str, hide: &str) -> Option<Setup> {
    let [python, prefix] = python()?;
    let setup = Setup::new(agent)
        .sandbox_keys(&format!("extra_read = [{prefix:?}]\n"))
        .file("answer.py", "def double(n):\n    return 0\n")
        .file("tests/__init__.py", "")
        .file("tests/test_seen.py", SEEN)
        .gate(&GATE.replace("PYTHON", &python).replace("HIDE", hide));
    Some(setup)
}

fn in_repository(agent: &str) -> Option<Setup> {
    let setup = project(agent, IN_REPOSITORY)?;
    Some(setup.file("tests/hidden/__init__.py", "").file("tests/hidden/test_hidden.py", HIDDEN))
}

/// Nothing that an agent was given has a word of it.
#[track_caller]
fn nobody_saw_it(case: &Case) {
    let names = fs::read_dir(case.side()).unwrap().flatten().map(|entry| entry.file_name());
    for name in names {
        let text = case.left(name.to_str().unwrap());
        assert!(!text.contains(WORD), "{name:?} has it:\n{text}");
    }
    let trail = case.repo.path().join(".windlass");
    let mut waiting = vec![trail];
    while let Some(next) = waiting.pop() {
        match fs::read_dir(&next) {
            Ok(entries) => waiting.extend(entries.flatten().map(|entry| entry.path())),
            Err(_) => assert!(
                !String::from_utf8_lossy(&fs::read(&next).unwrap()).contains(WORD),
                "{} has it",
                next.display()
            ),
        }
    }
}

fn grade<'p>(proof: &'p Value, of: &str) -> (&'p str, &'p str) {
    let grade = proof["grades"].as_array().unwrap().iter().find(|grade| grade["of"] == of).unwrap();
    (grade["strength"].as_str().unwrap(), grade["words"].as_str().unwrap())
}

#[track_caller]
fn found_out_then_honest(case: &Case) {
    case.run().completed();
    assert!(case.turns("author") == 2, "the first answer was made for the test it saw");
    nobody_saw_it(case);
    assert!(!case.left("names").contains("hidden"), "{}", case.left("names"));
    let brief = case.left("author-2.brief");
    assert!(brief.contains("test_other_doubles"), "{brief}");
    assert!(brief.contains("Without the hidden tests this check is green."), "{brief}");
    let proof = case.windlass(&["prove", LOOP, "--json", "--rerun"]).expect_code(0).json();
    let broken = &proof["record"]["checks"][0]["broken_tests"]["statement"];
    assert_eq!((&broken["broken"], &broken["red"]), (&2.into(), &2.into()), "hidden ones are broken too");
    let (strength, words) = grade(&proof, "hidden");
    assert!(words.contains("hidden"), "{strength} {words}");
}

#[test]
fn hidden_tests_of_the_repository_find_an_answer_made_for_the_others() {
    let Some(setup) = in_repository(KEYED) else { return };
    let case = setup.ready();
    found_out_then_honest(&case);
    assert_eq!(case.left("log").trim(), "The project", "the history has the hidden tests in it");
    let landed = case.repo.git(["show", &format!("windlass/{LOOP}:tests/hidden/test_hidden.py")]);
    assert_eq!(landed.trim(), HIDDEN.trim());
}

#[test]
fn hidden_tests_of_a_directory_outside_find_it_too() {
    let outside = tempfile::tempdir().unwrap();
    fs::create_dir_all(outside.path().join("tests/hidden")).unwrap();
    fs::write(outside.path().join("tests/hidden/__init__.py"), "").unwrap();
    fs::write(outside.path().join("tests/hidden/test_hidden.py"), HIDDEN).unwrap();
    let Some(setup) = project(KEYED, &format!("hidden_dir = {:?}", outside.path())) else { return };
    let case = setup.ready();
    found_out_then_honest(&case);
    let landed = case.repo.git(["ls-tree", "-r", "--name-only", &format!("windlass/{LOOP}")]);
    assert!(!landed.contains("hidden"), "{landed}");
}

#[test]
fn how_much_agents_are_told_is_a_setting() {
    for (output, tells_name, tells_word) in [("nothing", false, false), ("all", true, true)] {
        let hide = format!("{IN_REPOSITORY}\nhidden_output = {output:?}");
        let Some(setup) = project(KEYED, &hide) else { return };
        let case =
            setup.file("tests/hidden/__init__.py", "").file("tests/hidden/test_hidden.py", HIDDEN).ready();
        case.run().completed();
        let brief = case.left("author-2.brief");
        assert_eq!(brief.contains("test_other_doubles"), tells_name, "{output}: {brief}");
        assert_eq!(brief.contains(WORD), tells_word, "{output}: {brief}");
    }
}

/// The product leaves with what it finds: by its exit code, by how many processes it leaves, by the time it takes.
const BY_NUMBERS: &str = r#"find "$WINDLASS_TRAIL" -type f -exec cat {} + >"$side/trail-$n" 2>&1
if [ $n -eq 1 ]; then
    cat >answer.py <<'PY'
import glob, os, re


def double(n):
    for file in glob.glob('tests/hidden/test_*.py'):
        os._exit(int(re.search(r'double.21., (\d+)', open(file).read()).group(1)))
    return 8
PY
else
    printf 'def double(n):\n    return 2 * n\n' >answer.py
fi
complete"#;

#[test]
fn agents_learn_no_number_of_a_check_that_sees_hidden_files() {
    for output in ["names", "nothing"] {
        let hide = format!("{IN_REPOSITORY}\nhidden_output = {output:?}");
        let Some(setup) = project(BY_NUMBERS, &hide) else { return };
        let case =
            setup.file("tests/hidden/__init__.py", "").file("tests/hidden/test_hidden.py", HIDDEN).ready();
        case.run().completed();
        let brief = case.left("author-2.brief");
        assert!(brief.contains("red") && !brief.contains("exit code") && !brief.contains("42"), "{brief}");
        let trail = case.left("trail-2");
        assert!(trail.contains("\"tell_numbers\":\"nobody\""), "{trail}");
        assert!(!trail.contains("\"exit_code\":42") && !trail.contains("exit 42"), "{trail}");
        for line in trail.lines().filter(|line| line.contains("\"kind\":\"check_finished\"")) {
            assert!(line.contains("\"duration_ms\":0,"), "{line}");
        }
        let log = case.windlass(&["log", LOOP]).expect_code(0).stdout;
        assert!(log.contains("exit 42"), "the operator's log has it:\n{log}");
    }
}

#[test]
fn a_reviewer_does_not_see_them_either() {
    let Some(setup) = in_repository(HONEST) else { return };
    let look =
        "{ find . -type f; grep -r mirabilis .; git log -p --all; } >\"$side/reviewed\" 2>&1\naccept\n";
    let case = setup.review("tasks = true\nfinal = true\n").reviewer(look).ready();
    case.run().completed();
    nobody_saw_it(&case);
    assert!(!case.left("reviewed").contains("test_hidden.py"), "{}", case.left("reviewed"));
}

#[test]
fn a_file_in_the_place_of_a_hidden_one_is_a_finding_that_shows_nothing() {
    let agent = format!("mkdir -p tests/hidden && echo >tests/hidden/test_hidden.py\n{HONEST}");
    let Some(setup) = in_repository(&agent) else { return };
    let case = setup.limits("max_task_failures = 1").ready();
    let seen = case.run();
    seen.ended(3, "blocked", "failing");
    assert_eq!(seen.findings_in("tests/hidden/test_hidden.py").len(), 1);
    nobody_saw_it(&case);
}

#[test]
fn what_cannot_be_hidden_is_refused_before_anything_is_made() {
    let outside = tempfile::tempdir().unwrap();
    let empty = outside.path().join("empty");
    fs::create_dir_all(&empty).unwrap();
    fs::create_dir_all(outside.path().join("twice/tests")).unwrap();
    fs::write(outside.path().join("twice/tests/test_seen.py"), "").unwrap();
    for (hide, said) in [
        ("hidden = [\"nowhere/**\"]".to_owned(), "the base has no file of nowhere/**"),
        ("hidden = [\"**\"]".to_owned(), "** hides all the product"),
        ("hidden_dir = \"tests\"".to_owned(), "tests is inside the repository"),
        (format!("hidden_dir = {empty:?}"), "there is no file in it"),
        (format!("hidden_dir = {:?}", outside.path().join("none")), "No such file or directory"),
        (
            format!("hidden_dir = {:?}", outside.path().join("twice")),
            "has tests/test_seen.py, and so has the base",
        ),
    ] {
        let Some(setup) = project(HONEST, &hide) else { return };
        let case = setup.ready();
        let ran = case.windlass(&["run", "--name", LOOP]).expect_code(2);
        assert!(ran.stderr.contains(said) && ran.stderr.contains("windlass.toml:"), "{hide}\n{ran}");
        case.nothing_was_made();
    }
}

#[test]
fn agents_are_lent_no_place_with_hidden_files() {
    for lent in ["extra_read = [\"tests\"]", "extra_read = [\"tests/hidden/test_hidden.py\"]"] {
        let Some(setup) = in_repository(HONEST) else { return };
        let policy = setup.ready();
        let toml = fs::read_to_string(policy.repo.path().join("windlass.toml")).unwrap();
        let toml: String =
            toml.lines().filter(|line| !line.starts_with("extra_read")).collect::<Vec<_>>().join("\n");
        policy.repo.file("windlass.toml", toml.replace("[sandbox]", &format!("[sandbox]\n{lent}")));
        policy.repo.commit("lent");
        let ran = policy.windlass(&["run", "--name", LOOP]).expect_code(2);
        assert!(ran.stderr.contains("agents could reach hidden files through \"tests"), "{ran}");
    }
}
