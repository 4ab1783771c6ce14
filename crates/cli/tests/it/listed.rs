//! `windlass list`, `usage` and `help`: everything at one glance.

use crate::case::{Case, LOOP, Setup};

fn two_loops() -> Case {
    let agent = "echo 42 >answer.txt\n\
        say '\"status\":\"complete\",\"summary\":\"s\",\"blockers\":[],\"next\":[],\"usage\":{\"input_tokens\":70,\"output_tokens\":7,\"cost_usd\":0.5}'";
    let case = Setup::new(agent).ready();
    case.run().completed();
    case.windlass(&["run", "--name", "a-much-longer-name"]).expect_code(0);
    case
}

#[test]
fn loops_are_listed_in_columns() {
    let case = two_loops();
    let list = case.windlass(&["list"]).expect_code(0).stdout;
    let lines: Vec<&str> = list.lines().collect();
    assert_eq!(lines.len(), 2, "{list}");
    for column in ["completed (proven)", "1/1 tasks", " ago", "windlass/"] {
        let places: Vec<_> = lines.iter().map(|line| line.find(column)).collect();
        assert!(places[0].is_some(), "{column}: {list}");
        if column != " ago" {
            assert_eq!(places[0], places[1], "{column} begins at one place:\n{list}");
        }
    }
    let sized = case.windlass(&["list", "--size"]).expect_code(0).stdout;
    assert!(sized.contains(LOOP) && sized.contains("(total)") && sized.contains("KiB"), "{sized}");
    let json = case.windlass(&["list", "--size", "--json"]).expect_code(0).json();
    assert!(
        json["loops"][0]["bytes"].as_u64() > Some(0) && json["records_bytes"].as_u64() > Some(0),
        "{json}"
    );
}

#[test]
fn a_branch_that_is_gone_is_told_with_the_command_that_brings_it_back() {
    let case = two_loops();
    let branch = format!("windlass/{LOOP}");
    case.repo.git(["pack-refs", "--all"]);
    assert_eq!(case.status()["branch_gone"], false, "packed");
    case.repo.git(["branch", "-D", &branch]);
    let commit = case.status()["commit"].as_str().unwrap().to_owned();
    let back = format!("git branch {branch} {commit}   (brings it back)");
    let list = case.windlass(&["list"]).expect_code(0).stdout;
    assert!(list.contains(&format!("{branch} (gone)")) && list.contains(&back), "{list}");
    let status = case.windlass(&["status", LOOP]).expect_code(0).stdout;
    assert!(status.contains(&format!("{branch} is gone; it was at ")), "{status}");
    assert!(status.contains(&format!("next: {back}")) && !status.contains("windlass take"), "{status}");
    case.repo.git(["branch", &branch, &commit]);
    let status = case.windlass(&["status", LOOP]).expect_code(0).stdout;
    assert!(status.contains("next: windlass take") && !status.contains("gone"), "{status}");
}

#[test]
fn usage_is_summed_over_all_loops() {
    let case = two_loops();
    let told = case.windlass(&["usage"]).expect_code(0).stdout;
    assert_eq!(told.lines().count(), 3, "{told}");
    let total = told.lines().last().unwrap_or_default();
    assert!(total.starts_with("(total)") && total.contains("154 tokens, 1.0000 USD in 2 attempts"), "{told}");
    let json = case.windlass(&["usage", "--json"]).expect_code(0).json();
    assert_eq!(json["total"]["input_tokens"], 140, "{json:#}");
}

#[test]
fn help_is_one_screen_and_knows_every_command() {
    let case = Setup::new("complete").ready();
    let overview = case.windlass(&["help"]).expect_code(0).stdout;
    assert!(overview.trim_end().lines().count() <= 24, "{overview}");
    assert!(overview.lines().all(|line| line.chars().count() <= 80), "{overview}");
    assert_eq!(case.windlass(&["--help"]).expect_code(0).stdout, overview);
    let bare = case.windlass(&[]).expect_code(2);
    assert_eq!(bare.stderr, overview, "{bare}");
    for verb in ["run", "rm", "log", "unblock", "config"] {
        let told = case.windlass(&["help", verb]).expect_code(0).stdout;
        assert_eq!(told, case.windlass(&[verb, "--help"]).expect_code(0).stdout);
        assert!(told.contains("Usage: windlass"), "{told}");
    }
    case.windlass(&["help", "nope"]).expect_code(2);
}

#[test]
fn the_usage_of_a_long_loop_is_a_page_of_its_last_attempts() {
    let limits = "max_iterations = 14\nmax_task_failures = 0";
    let case = Setup::new("echo $n >answer.txt\ncomplete").limits(limits).ready();
    case.run().ended(4, "limit", "max_iterations");
    let told = case.windlass(&["usage", LOOP]).expect_code(0).stdout;
    assert!(told.contains("by attempt\n  (2 earlier: --json has all)\n  3    author"), "{told}");
    assert!(told.trim_end().ends_with("14   author    unknown"), "{told}");
    let json = case.windlass(&["usage", LOOP, "--json"]).expect_code(0).json();
    assert_eq!(json["attempts"].as_array().map(Vec::len), Some(14), "{json}");
}
