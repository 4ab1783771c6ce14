//! The texts of briefs: looked at, put out, replaced, and shown before a run.

use std::fs;

use crate::case::{LOOP, Setup};

const TASK: &str = "---\nacceptance: [the answer is 42]\n---\n# Write the answer\n\nMake the test pass.\n";

#[test]
fn prompts_are_listed_shown_put_out_and_used() {
    let case = Setup::new("echo 42 >answer.txt\ncomplete").ready();
    let listed = case.windlass(&["prompts"]).expect_code(0).stdout;
    for name in [
        "rules",
        "implement",
        "explore",
        "fix_task",
        "fix",
        "review_task",
        "review_report",
        "review_whole",
        "finish",
    ] {
        let line = format!("{name:<15} windlass's own");
        assert!(listed.lines().any(|of| of == line), "{line} is not in\n{listed}");
    }
    let shown = case.windlass(&["prompts", "show", "rules"]).expect_code(0).stdout;
    assert!(shown.contains("- Edit for targeted changes, write for new files."), "{shown}");
    let ran = case.windlass(&["prompts", "show", "implment"]);
    assert_eq!(ran.status.code(), Some(2), "{ran}");
    assert!(ran.stderr.contains("did you mean implement?"), "{ran}");

    let said = case.windlass(&["prompts", "eject", "implement"]).expect_code(0).stdout;
    assert!(said.contains("[brief]\nimplement = \"prompts/implement.md\""), "{said}");
    let file = case.repo.path().join("prompts/implement.md");
    assert!(fs::read_to_string(&file).unwrap().contains("Do the whole task"));
    let again = case.windlass(&["prompts", "eject", "implement"]);
    assert_eq!(again.status.code(), Some(2), "it is not written over: {again}");
    assert!(again.stderr.contains("prompts/implement.md is there already"), "{again}");

    fs::write(&file, "Work on {{CURRENT_STORY_ID}} in mode {{MODE}}, {{ITERATION}} of {{MAX_ITERATIONS}}.\n")
        .unwrap();
    let set = "brief.implement=\"prompts/implement.md\"";
    let dry = case.windlass(&["run", "--dry-run", "--set", set]).expect_code(0).stdout;
    assert!(dry.contains("Work on answer in mode implement, 1 of 30."), "{dry}");
    fs::write(&file, "Work on\n{{CURRENT_STORY}}.\n").unwrap();
    let ran = case.windlass(&["run", "--set", set]);
    assert_eq!(ran.status.code(), Some(2), "{ran}");
    assert!(
        ran.stderr.contains("prompts/implement.md:2:1: there is no placeholder `CURRENT_STORY`"),
        "{ran}"
    );
}

#[test]
fn a_dry_run_prints_every_prompt_as_it_would_be_sent() {
    let review = "tasks = true\nfinal = false\n";
    let case = Setup::new("echo 42 >answer.txt\ncomplete").review(review).task("answer", TASK).ready();
    let dry = case.windlass(&["run", "--name", LOOP, "--dry-run"]).expect_code(0).stdout;
    case.nothing_was_made();
    let seen = case.run();
    seen.completed();
    let briefs = dry.split("---- the author's brief for task answer ----\n").nth(1).unwrap();
    let (author, reviewer) = briefs.split_once("---- the reviewer's brief for task answer ----\n").unwrap();
    let sent = case.left("author-1.brief");
    assert_eq!(author.split_once('\n').unwrap().1.trim(), sent.trim(), "all but the nonce");
    assert!(author.starts_with("nonce: 0000"), "{author}");
    let sent = case.left("reviewer-1.brief");
    let rules = |text: &str| {
        text[text.find("## How it is judged").unwrap()..text.find("## Your report").unwrap()].to_owned()
    };
    assert_eq!(rules(reviewer), rules(&sent), "the change is not there yet; the rest is");
}

#[test]
fn a_dry_run_of_a_loop_that_is_there_prints_the_next_prompts() {
    let rejects = r#"if [ $n -eq 1 ]; then say '"verdict":"reject","summary":"not yet","findings":[],"resolved":[],"pending":["go on"],"blocker":""'; else accept; fi"#;
    let case = Setup::new("echo $n >answer.txt\ncomplete")
        .checks("[[gate.check]]\nname = \"test\"\nrun = \"true\"\n")
        .reviewer(rejects)
        .review("tasks = true\nfinal = false\n")
        .task("answer", TASK)
        .task("more", "# More\n\nDo more of it.\n")
        .ready();
    case.windlass(&["run", "--name", LOOP, "--max", "1"]).expect_code(0);
    let next = |sent: &str| {
        let before = case.windlass(&["log", LOOP, "--json"]).stdout;
        let dry = case.windlass(&["run", LOOP, "--dry-run"]).expect_code(0).stdout;
        assert_eq!(case.windlass(&["log", LOOP, "--json"]).stdout, before, "nothing is on record");
        case.windlass(&["run", LOOP, "--max", "1"]).expect_code(0);
        let (_, shown) = dry.split_once("---- the author's brief").unwrap_or_else(|| panic!("{dry}"));
        let shown = shown.split("---- the reviewer's brief").next().unwrap_or_default();
        let body = |text: &str| text.split_once("# Do task").map(|(_, body)| body.trim().to_owned());
        assert_eq!(body(shown), body(&case.left(sent)), "{sent}: all but the nonce");
    };
    next("author-2.brief");
    assert!(case.left("author-2.brief").contains("not yet"));
    case.repo.file("tasks/more.md", "# More\n\nDo all of it.\n");
    next("author-3.brief");
    assert!(case.left("author-3.brief").contains("Do all of it."));
}
