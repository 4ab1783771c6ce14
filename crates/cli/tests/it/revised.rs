//! The policy changes between two tasks: each is proven by the rules it landed
//! under, and the proof says since when they are others.

use serde_json::Value;
use windlass_core::command::Command;
use windlass_core::id::LoopName;
use windlass_core::policy::{CheckPolicy, Policy};
use windlass_core::revision::{KeyChange, PolicyRevision, Revision};
use windlass_core::time::{Millis, Timestamp};
use windlass_store::{NewCommand, StateDir, fold, open};

use crate::case::{Case, LOOP, Setup};
use crate::prove::{broken, database, fits, forget, holds, rewrite_log};

/// Two tasks, of which the first has landed.
fn half_done(agent: &str) -> Case {
    let case =
        Setup::new(agent).task("first", "# Write the answer\n").task("second", "# Write the rest\n").ready();
    case.windlass(&["run", "--name", LOOP, "--max", "1"]).expect_code(0);
    assert_eq!(case.status()["tasks"][0]["status"], "done");
    case
}

/// As a surface will do it: the command goes to the loop's inbox, and is taken with the next one.
fn revise(case: &Case, change: impl FnOnce(&mut Policy)) {
    let top = case.repo.path().canonicalize().unwrap();
    let state = StateDir::new(case.home.state().join("windlass"));
    let store = open(&state.vault(top.file_name().unwrap(), &top.join(".git"))).unwrap();
    let loop_name = LoopName::new(LOOP).unwrap();
    let mut policy = fold(&*store, &loop_name).unwrap().policy().clone();
    change(&mut policy);
    let (key, before, after) = ("gate".to_owned(), "one".to_owned(), "other".to_owned());
    let policy = Some(PolicyRevision { number: 1, keys: vec![KeyChange { key, before, after }], policy });
    let command = Command::Revise(Box::new(Revision { plan: None, policy }));
    store.send(NewCommand { loop_name, at: Timestamp(0), command }).unwrap();
    drop(store);
    case.windlass(&["note", LOOP, "the rules are others"]).expect_code(0);
}

fn check(name: &str, run: &str) -> CheckPolicy {
    let timeout = Millis::minutes(5);
    CheckPolicy { name: name.to_owned(), run: run.to_owned(), timeout, ..CheckPolicy::default() }
}

fn page(case: &Case) -> String {
    let text = case.windlass(&["prove", LOOP]).expect_code(0).stdout;
    fits(&text);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn step<'p>(proof: &'p Value, name: &str) -> &'p str {
    let steps = proof["steps"].as_array().unwrap();
    steps.iter().find(|step| step["step"] == name).unwrap()["detail"].as_str().unwrap()
}

#[test]
fn a_stricter_gate_does_not_break_the_proof_of_what_landed_before() {
    let case =
        half_done("if [ $n -eq 1 ]; then echo 42 >answer.txt; echo x >>README.md; fi\necho $n >n\ncomplete");
    revise(&case, |policy| {
        policy.gate.checks.push(check("more", "test -s n"));
        policy.gate.protect.push("README.md".to_owned());
    });
    case.run().completed();
    let proof = holds(&case);
    let [first, second] = proof["record"]["tasks"].as_array().unwrap().as_slice() else {
        panic!("{proof:#}")
    };
    let names = |of: &Value| {
        let checks = of["checks"].as_array().unwrap().iter();
        checks.map(|check| check["check"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(
        (names(first), names(second)),
        (vec!["test".to_owned()], vec!["test".to_owned(), "more".to_owned()])
    );
    assert_eq!(second["gate"], proof["record"]["gate"]["hash"]);
    assert_ne!(first["gate"], proof["record"]["gate"]["hash"]);
    assert!(step(&proof, "policy").starts_with("its gate changed at event "), "{proof:#}");
    assert!(step(&proof, "protected").ends_with("as in the base; 1 added or changed"), "{proof:#}");
    assert!(page(&case).contains("judged by another gate"));
    case.windlass(&["prove", LOOP, "--rerun"]).expect_code(0);
}

#[test]
fn a_weaker_gate_is_told_and_what_it_judged_is_held_against_it_alone() {
    let case =
        half_done("echo 42 >answer.txt\nif [ $n -eq 2 ]; then echo true >test.sh; fi\necho $n >n\ncomplete");
    revise(&case, |policy| {
        policy.gate.checks = vec![check("weak", "true")];
        policy.gate.protect = Vec::new();
    });
    case.run().completed();
    let proof = holds(&case);
    let changed = &proof["record"]["policies"][1];
    assert_eq!(changed["dropped"], serde_json::json!(["check test is gone", "test.sh is not protected"]));
    let told = format!("policy its gate changed at event {}", changed["event"]);
    for words in [told.as_str(), "check test is gone", "test.sh is not protected", "gate: one to other"] {
        assert!(page(&case).contains(words), "{words}: {}", page(&case));
    }
    assert!(!page(&case).contains("Z  gate "), "the time is local: {}", page(&case));
    let first = |text: &str| {
        let red = text.contains("\"gate_passed\"") && text.contains("\"check\":\"test\"");
        if red { text.replace("\"exit_code\":0", "\"exit_code\":1") } else { text.to_owned() }
    };
    rewrite_log(&case, &first);
    database(&case).execute("UPDATE loops SET fold_version = 0", []).unwrap();
    forget(&case);
    broken(
        &case,
        "tasks",
        &["task first: the gate of event", "is on record as green, but its results are red"],
    );
}

#[test]
fn a_completed_loop_is_shown_with_a_mistake_in_the_files_noted_above_it() {
    let case = Setup::new("echo 42 >answer.txt\ncomplete").ready();
    case.run().completed();
    let file = case.repo.path().join("windlass.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{text}\n[broken\n")).unwrap();
    let ran = case.windlass(&["run", LOOP]).expect_code(0);
    let note = format!("note: your files have a mistake; {LOOP} is completed and does not read them: ");
    assert!(ran.stdout.starts_with(&note), "{ran}");
    assert!(ran.stdout.contains("windlass.toml:") && ran.stderr.is_empty(), "{ran}");
    assert!(ran.stdout.contains("next: windlass take"), "{ran}");
}
