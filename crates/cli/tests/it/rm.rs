//! `windlass rm`: what it refuses, what it removes, and a crash at each of its steps.

use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;

use windlass_testkit::{Scratch, capability};

use crate::case::{Case, LONG, LOOP, Setup};

const HONEST: &str = "echo 42 >answer.txt\ncomplete";
const ABORTED: i32 = 6;

/// Everything below the state directory that has the loop's name in its path.
fn traces(case: &Case) -> Vec<PathBuf> {
    fn walk(dir: PathBuf, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            // A lock that others may wait at stays, and so does the mark of the removal.
            let stays = name.ends_with(".lock") || entry.path().to_string_lossy().contains("/removed/");
            if name.contains(LOOP) && !stays {
                found.push(entry.path());
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                walk(entry.path(), found);
            }
        }
    }
    let mut found = Vec::new();
    walk(case.home.state(), &mut found);
    walk(case.repo.path().join(".windlass"), &mut found);
    found
}

/// Nothing of the loop is left, and the other one is whole.
#[track_caller]
fn is_gone(case: &Case, how: &str) {
    let left: Vec<PathBuf> =
        traces(case).into_iter().filter(|path| !path.to_string_lossy().contains("/wakes/")).collect();
    assert!(left.is_empty(), "{how}: {left:#?}");
    assert_eq!(case.repo.git(["for-each-ref", &format!("refs/heads/windlass/{LOOP}")]), "", "{how}");
    let listed = case.windlass(&["list", "--json"]).expect_code(0).json();
    let names: Vec<&str> = listed.as_array().unwrap().iter().filter_map(|of| of["loop"].as_str()).collect();
    assert_eq!(names, ["other"], "{how}");
    case.windlass(&["prove", "other"]).expect_code(0);
    case.windlass(&["show", "other", "attempt:1"]).expect_code(0);
    let registry = std::fs::read_to_string(case.repo.path().join(".windlass/registry.json")).unwrap();
    assert!(registry.contains("other") && !registry.contains(LOOP), "{how}: {registry}");
}

fn two_loops(home: Scratch) -> Case {
    let case = Setup::new(HONEST).home(home).ready();
    case.run().completed();
    case.windlass(&["run", "--name", "other"]).expect_code(0);
    case
}

#[test]
fn a_loop_that_was_taken_goes_without_a_trace() {
    let case = two_loops(Scratch::new(env!("CARGO_BIN_EXE_windlass")));
    let refused = case.windlass(&["rm", LOOP]).expect_code(2).stderr;
    assert!(refused.contains("no other branch has what landed on windlass/demo1"), "{refused}");
    assert!(refused.contains(&format!("`windlass take {LOOP}`")), "{refused}");
    assert!(!traces(&case).is_empty());

    case.windlass(&["take", LOOP]).expect_code(0);
    let told = case.windlass(&["rm", LOOP]).expect_code(0).stdout;
    assert!(told.contains("is removed") && told.contains("branch windlass/demo1 is deleted"), "{told}");
    is_gone(&case, "taken");
    case.windlass(&["rm", LOOP]).expect_code(2);
    assert_eq!(case.repo.git(["show", "HEAD:answer.txt"]).trim(), "42", "what was taken stays");
}

#[test]
fn a_loop_of_the_same_name_begins_anew() {
    let case = two_loops(Scratch::new(env!("CARGO_BIN_EXE_windlass")));
    case.windlass(&["rm", LOOP, "--force"]).expect_code(0);
    is_gone(&case, "forced");
    let seen = case.run();
    seen.completed();
    assert_eq!(seen.view["iteration"], 1);
}

#[test]
fn work_that_did_not_land_is_not_removed() {
    let case = Setup::new("echo 7 >answer.txt\ncomplete").limits("max_no_progress = 1").ready();
    case.run().ended(3, "blocked", "no_progress");
    let refused = case.windlass(&["rm", LOOP]).expect_code(2).stderr;
    assert!(refused.contains("task answer has work that did not land"), "{refused}");
    assert!(refused.contains("--force"), "{refused}");
    case.windlass(&["show", LOOP, "attempt:1"]).expect_code(0);
    case.windlass(&["rm", LOOP, "--force"]).expect_code(0);
    assert_eq!(case.windlass(&["list", "--json"]).expect_code(0).json(), serde_json::json!([]));
}

#[test]
fn a_loop_that_left_nothing_goes_at_once() {
    let case = Setup::new("complete").limits("max_no_progress = 1").ready();
    case.run().ended(3, "blocked", "no_progress");
    case.windlass(&["rm", LOOP]).expect_code(0);
    assert_eq!(case.windlass(&["list", "--json"]).expect_code(0).json(), serde_json::json!([]));
}

#[test]
fn a_loop_that_somebody_drives_is_not_removed() {
    let case = Setup::new(&format!("hold\n{HONEST}")).ready();
    let running = case.start_until("author", 1);
    let refused = case.windlass(&["rm", LOOP, "--force"]).expect_code(6).stderr;
    assert!(refused.contains("is driven by process"), "{refused}");
    case.leave("go");
    case.look(running.finish(LONG)).completed();
}

#[test]
fn a_branch_that_is_checked_out_stops_it_before_anything_is_gone() {
    let case = two_loops(Scratch::new(env!("CARGO_BIN_EXE_windlass")));
    let beside = case.repo.beside("worktree").display().to_string();
    case.repo.git(["worktree", "add", "--quiet", &beside, &format!("windlass/{LOOP}")]);
    let refused = case.windlass(&["rm", LOOP, "--force"]).expect_code(1).stderr;
    assert!(refused.contains("is checked out in"), "{refused}");
    case.windlass(&["prove", LOOP]).expect_code(0);
    case.repo.git(["worktree", "remove", "--force", &beside]);
    case.windlass(&["rm", LOOP, "--force"]).expect_code(0);
    is_gone(&case, "after the worktree");
}

#[test]
fn a_trail_in_another_worktree_is_no_lost_history() {
    let case = two_loops(Scratch::new(env!("CARGO_BIN_EXE_windlass")));
    let beside = case.repo.beside("worktree");
    let named = beside.display().to_string();
    case.repo.git(["worktree", "add", "--quiet", "--detach", &named]);
    case.windlass(&["export", LOOP, "--to", &named]).expect_code(0);
    case.windlass(&["rm", LOOP, "--force"]).expect_code(0);
    let told = case.windlass(&["-C", &named, "list"]).expect_code(0);
    assert!(told.stdout.contains("other"), "{told}");
}

/// A crash at each step: the loop is there and only to be removed, or it is gone.
#[test]
fn a_crash_at_each_step_is_finished_by_the_next_removal() {
    let Some(binary) = capability::failpoints_binary() else { return };
    let steps = [
        "remove::marked",
        "remove::directory",
        "remove::trail",
        "remove::snapshots",
        "remove::branch",
        "store::blobs_removed",
        "store::receipt_cleared",
        "store::before_removal",
        "store::after_removal",
        "remove::records",
    ];
    for step in steps {
        let case = two_loops(Scratch::exactly(&binary));
        let mut command = case.command(&["rm", LOOP, "--force"]);
        command.env("FAILPOINTS", format!("{step}=return"));
        let ran = case.home.start(command).finish(LONG);
        assert_eq!(ran.status.signal(), Some(ABORTED), "{step}: {ran}");
        let listed = case.windlass(&["list", "--json"]).expect_code(0).json();
        let is_there = listed.as_array().unwrap().iter().any(|of| of["loop"] == LOOP);
        if is_there {
            let refused = case.windlass(&["run", LOOP]).expect_code(6).stderr;
            assert!(refused.contains(&format!("`windlass rm {LOOP}`")), "{step}: {refused}");
            case.windlass(&["unblock", LOOP, "answer"]).expect_code(6);
            case.windlass(&["rm", LOOP]).expect_code(0);
        }
        is_gone(&case, step);
        case.run().completed();
    }
}

#[test]
fn without_a_name_nothing_is_removed_and_the_loop_is_named() {
    let case = Setup::new(HONEST).ready();
    case.run().completed();
    let refused = case.windlass(&["rm"]).expect_code(2);
    assert!(
        refused.stderr.contains("rm wants the loop's name: what it removes does not come back"),
        "{refused}"
    );
    assert!(refused.stderr.contains(&format!("hint: windlass rm {LOOP}")), "{refused}");
    case.windlass(&["status", LOOP]).expect_code(0);
}
