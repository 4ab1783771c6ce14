//! What a proof says of all that was judged: tests that were counted, controls,
//! second tries, and what the operator waived. Each is held against the log.

use serde_json::Value;

use crate::case::{Case, LOOP, Setup};
use crate::prove::{broken, database, fits, forget, holds, rewrite_log};

const HONEST: &str = "echo 42 >answer.txt\ncomplete";

/// Writes a report of the tests in cases.txt.
const RUNNER: &str = r#"mkdir -p out
{ echo '<testsuite name="s">'
  while read -r name; do echo "<testcase classname='s' name='$name'/>"; done <cases.txt
  echo '</testsuite>'; } >out/junit.xml
test "$(cat answer.txt)" = 42
"#;

fn counting(agent: &str) -> Setup {
    Setup::new(agent)
        .file("test.sh", RUNNER)
        .file("cases.txt", "adds\ndivides\nrounds\n")
        .checks("[[gate.check]]\nname = \"test\"\nrun = \"sh ./test.sh\"\njunit = \"out/*.xml\"\n")
}

/// The page, in one line.
fn page(case: &Case) -> String {
    let text = case.windlass(&["prove", LOOP]).expect_code(0).stdout;
    fits(&text);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn step<'p>(proof: &'p Value, name: &str) -> &'p str {
    let steps = proof["steps"].as_array().unwrap();
    steps.iter().find(|step| step["step"] == name).unwrap()["detail"].as_str().unwrap()
}

#[track_caller]
fn says(page: &str, words: &[&str]) {
    for word in words {
        assert!(page.contains(word), "{word}: {page}");
    }
}

/// A forger changes what the final gate saw, with every hash made anew.
fn forge_final(case: &Case, from: &str, to: &str) {
    let mut changed = 0;
    let count = std::cell::RefCell::new(&mut changed);
    rewrite_log(case, &|text: &str| {
        if text.contains("\"gate_passed\"") && text.contains("\"purpose\":\"final\"") && text.contains(from) {
            **count.borrow_mut() += 1;
            return text.replace(from, to);
        }
        text.to_owned()
    });
    assert_eq!(changed, 1, "one record holds the final gate");
    // And has the View made anew: what was kept would give it away first.
    database(case).execute("UPDATE loops SET fold_version = 0", []).unwrap();
    forget(case);
}

#[test]
fn the_tests_that_were_counted() {
    let case = counting("echo 42 >answer.txt\necho new >>cases.txt\ncomplete").ready();
    case.run().completed();
    let proof = holds(&case);
    let (whole, task) =
        (&proof["record"]["checks"][0]["tally"], &proof["record"]["tasks"][0]["checks"][0]["tally"]);
    assert_eq!((&whole["tests"], &whole["compared"]["with"]), (&4.into(), &"accepted".into()), "{proof:#}");
    assert_eq!((&task["tests"], &task["compared"]["tests"]), (&4.into(), &3.into()), "{proof:#}");
    assert_eq!(task["compared"]["vanished"]["count"], 0);
    says(step(&proof, "gate"), &["1 check green on exactly the landed tree", "4 tests counted"]);
    says(&page(&case), &["4 tests; of the 4 of what landed before, 0 gone, 0 newly skipped"]);
    forge_final(&case, "\"failures\":0", "\"failures\":2");
    broken(&case, "gate", &["is on record as green, but its results are red"]);
}

#[test]
fn tests_that_the_vault_lost() {
    let case = counting(HONEST).ready();
    case.run().completed();
    let names = holds(&case)["record"]["checks"][0]["tally"]["names"].as_str().unwrap().to_owned();
    assert_eq!(database(&case).execute("DELETE FROM blobs WHERE hash = unhex(?1)", [&names]).unwrap(), 1);
    broken(&case, "outputs", &["the tests of check test", &names, "is not in the vault"]);
}

#[test]
fn a_control_that_failed_as_it_must() {
    let case = Setup::new(HONEST)
        .file("control.sh", "echo under control\ntest \"$(cat answer.txt)\" = 7\n")
        .checks("[[gate.check]]\nname = \"test\"\nrun = \"sh ./test.sh\"\ncontrol = \"sh ./control.sh\"\n")
        .ready();
    case.run().completed();
    let proof = holds(&case);
    let control = &proof["record"]["checks"][0]["control"];
    assert_eq!(control["exit_code"], 1, "{proof:#}");
    says(step(&proof, "gate"), &["1 control failed as it must"]);
    says(&page(&case), &["its control failed as it must (exit 1)"]);
    let output = control["output"].as_str().unwrap();
    let rows = "SELECT bytes FROM blobs WHERE hash = unhex(?1)";
    let bytes: Vec<u8> = database(&case).query_row(rows, [output], |row| row.get(0)).unwrap();
    database(&case).execute("DELETE FROM blobs WHERE hash = unhex(?1)", [output]).unwrap();
    broken(&case, "outputs", &["the output of the control of check test"]);
    database(&case)
        .execute("INSERT INTO blobs (hash, bytes) VALUES (unhex(?1), ?2)", (output, bytes))
        .unwrap();
    forge_final(&case, "\"control\":{\"exit_code\":1", "\"control\":{\"exit_code\":0");
    broken(&case, "gate", &["is on record as green, but its results are red"]);
}

#[test]
fn a_check_that_was_green_at_the_second_try() {
    let case = Setup::new(HONEST)
        .checks("[[gate.check]]\nname = \"test\"\nrun = \"sh ./test.sh\"\nretry = 1\n")
        .ready();
    let flag = case.side().join("flag").display().to_string();
    let flaky = format!(
        "test \"$(cat answer.txt)\" = 42 || exit 1\nif [ -e '{flag}' ]; then rm '{flag}'; else touch '{flag}'; exit 9; fi\n"
    );
    case.repo.file("test.sh", flaky);
    case.repo.commit("a flaky test");
    let case = case.looked_at();
    case.run().completed();
    let proof = holds(&case);
    for check in [&proof["record"]["checks"][0], &proof["record"]["tasks"][0]["checks"][0]] {
        assert_eq!(
            (&check["exit_code"], &check["first_try"]["exit_code"]),
            (&0.into(), &9.into()),
            "{check:#}"
        );
        assert!(check["first_try"]["event"].as_u64() < check["event"].as_u64(), "{check:#}");
    }
    says(step(&proof, "gate"), &["test at the second try"]);
    says(&page(&case), &["this is the second try; the first: exit 9"]);
    let again = case.windlass(&["prove", LOOP, "--rerun", "--json"]).expect_code(0).json();
    assert_eq!(again["rerun"].as_array().map(Vec::len), Some(1), "{again:#}");
    assert_eq!((&again["rerun"][0]["exit_code"], &again["rerun"][0]["red"]), (&0.into(), &"".into()));
    forge_final(&case, "\"flaky\":[\"test\"]", "\"flaky\":[]");
    broken(&case, "gate", &["is on record as green, but its results are green at the second try (test)"]);
}

#[test]
fn a_task_that_was_waived() {
    let case = Setup::new("complete").limits("max_no_progress = 1").file("test.sh", "exit 0\n").ready();
    case.run().blocked("nothing_changed");
    case.windlass(&["waive", LOOP, "answer", "--why", "it was there"]).expect_code(0);
    case.windlass(&["restart", LOOP]).expect_code(0);
    case.run().ended(0, "completed", "waived");
    let proof = holds(&case);
    let task = &proof["record"]["tasks"][0];
    assert_eq!((&task["status"], &task["why"]), (&"waived".into(), &"it was there".into()), "{task:#}");
    says(step(&proof, "outcome"), &["completed (waived)"]);
    says(step(&proof, "tasks"), &["0 tasks green on the tree that landed, 1 waived (answer)"]);
    says(&page(&case), &["waived: it was there"]);
}

#[test]
fn tests_that_vanished_and_were_waived() {
    let case = counting("echo 42 >answer.txt\necho adds >cases.txt\ncomplete")
        .limits("max_task_failures = 1\nmax_no_progress = 1")
        .ready();
    case.run().ended(3, "blocked", "failing");
    case.windlass(&["waive", LOOP, "F1", "--why", "they tested the old shop"]).expect_code(0);
    case.windlass(&["unblock", LOOP, "answer"]).expect_code(0);
    case.windlass(&["restart", LOOP]).expect_code(0);
    case.run().completed();
    let proof = holds(&case);
    let record = &proof["record"];
    let check = &record["tasks"][0]["checks"][0];
    assert_eq!((&check["exit_code"], &check["waived"]), (&0.into(), &"F1".into()), "{check:#}");
    assert_eq!(check["red"], "exit code 0, but tests of the base are gone: s::divides, s::rounds");
    assert_eq!(check["tally"]["compared"]["vanished"]["count"], 2);
    assert_eq!(record["waived"][0]["id"], "F1", "{record:#}");
    assert_eq!(record["waived"][0]["why"], "they tested the old shop");
    assert_eq!(record["findings"].as_array().map(Vec::len), Some(0));
    says(step(&proof, "tasks"), &["0 tasks green on the tree that landed, 1 red and waived (answer by F1)"]);
    says(step(&proof, "findings"), &["no open bugs", "1 waived (F1)"]);
    says(
        &page(&case),
        &["test: red, waived as F1: exit code 0, but tests of the base", "waived: they tested the old shop"],
    );
    // A waiver of something else excuses nothing.
    rewrite_log(&case, &|text: &str| text.replace("s::divides, s::rounds\"", "s::rounds\""));
    forget(&case);
    broken(
        &case,
        "tasks",
        &["task answer: check test on tree", "tests of the base are gone: s::divides, s::rounds"],
    );
}
