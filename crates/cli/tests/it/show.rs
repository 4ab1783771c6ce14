//! `windlass show`: a loop, a task and an attempt, told in full.

use crate::case::{Case, LOOP, Setup};

/// Red at first, then green and rejected, then accepted; another task waits.
fn storied() -> Case {
    let author = "echo note >>notes.txt\n\
        if [ $n -gt 1 ]; then echo 42 >answer.txt; fi\n\
        echo \"turn $n of the agent\"\ncomplete";
    let reject = "say '\"verdict\":\"reject\",\"summary\":\"the note is unclear\",\"findings\":[{\"file\":\"notes.txt\",\"line\":1,\"severity\":\"bug\",\"description\":\"it says too little\"}],\"resolved\":[],\"pending\":[\"write more\"],\"blocker\":\"\"'";
    Setup::new(author)
        .reviewer(&format!("if [ $n -eq 1 ]; then {reject}; else accept; fi"))
        .review("tasks = true\nfinal = false\n")
        .task("a", "# The first\n\nMake the test pass.\n")
        .task("b", "---\ndepends_on: [a]\n---\n\n# The second\n")
        .checks("[[gate.check]]\nname = \"test\"\nrun = \"sh ./test.sh || { echo the answer is wrong; exit 1; }\"\n")
        .ready()
}

#[test]
fn the_whole_story_of_a_task() {
    let case = storied();
    case.windlass(&["run", "--name", LOOP, "--task", "a"]).expect_code(0);
    let story = case.windlass(&["show", LOOP, "a"]).expect_code(0).stdout;
    for told in [
        "demo1 a  done  The first",
        "checked and reviewed",
        "iteration 1",
        "the gate did not hold",
        "author    ended",
        "(attempt:1)",
        "said: it is done",
        "changed   1 file, +1 -0",
        "notes.txt  +1 -0",
        "check test: exit 1",
        "| the answer is wrong",
        "(check:2)",
        "reject: the note is unclear",
        "asks for: write more",
        "F1",
        "it says too little",
        "Make the test pass.",
        "next: windlass run demo1",
    ] {
        assert!(story.contains(told), "{told:?} is missing:\n{story}");
    }
    assert!(story.lines().all(|line| line.chars().count() <= 80), "{story}");

    let waits = case.windlass(&["show", LOOP, "b"]).expect_code(0).stdout;
    assert!(waits.contains("pending") && waits.contains("after     a (done)"), "{waits}");
    assert!(waits.contains("nothing was tried yet"), "{waits}");
    let only = case.windlass(&["show", "b"]).expect_code(0).stdout;
    assert_eq!(only, waits, "the name of the only loop may be left out");
}

#[test]
fn a_task_is_found_by_how_its_id_begins_and_a_mistyped_one_is_told() {
    let case = Setup::new("echo 42 >answer.txt\ncomplete")
        .task("001-add", "# Add\n")
        .task("002-div", "# Divide\n")
        .ready();
    case.windlass(&["run", "--name", LOOP, "--task", "001-add"]).expect_code(0);
    for word in ["002", "002-di", "002-div"] {
        let shown = case.windlass(&["show", LOOP, word]).expect_code(0).stdout;
        assert!(shown.starts_with("demo1 002-div  pending"), "{shown}");
    }
    let refused = case.windlass(&["show", LOOP, "002-dib"]).expect_code(2);
    assert!(refused.stderr.contains("hint: did you mean 002-div?"), "{refused}");
    let refused = case.windlass(&["show", LOOP, "00"]).expect_code(2);
    assert!(!refused.stderr.contains("did you mean"), "two begin so: {refused}");
}

#[test]
fn numbers_that_are_shown_are_arguments() {
    let case = storied();
    case.windlass(&["run", "--name", LOOP, "--task", "a"]).expect_code(0);
    let all = case.windlass(&["show", LOOP]).expect_code(0).stdout;
    let status = case.windlass(&["status", LOOP]).expect_code(0).stdout;
    assert!(all.len() > status.len() && all.contains("attempt:1"), "{all}");
    let story = case.windlass(&["show", LOOP, "a"]).expect_code(0).stdout;
    let log = case.windlass(&["log", LOOP]).expect_code(0).stdout;
    let mut tried = 0;
    for page in [&all, &story, &log] {
        let words = page.split(|c: char| c.is_whitespace() || "()".contains(c));
        for item in words.filter(|word| word.starts_with("attempt:") || word.starts_with("check:")) {
            let shown = case.windlass(&["show", LOOP, item]).expect_code(0).stdout;
            let number = item.split(':').nth(1).unwrap_or_default();
            let right = format!("attempt {number} ");
            assert!(shown.starts_with("check test") || shown.contains(&right), "{item}:\n{shown}");
            tried += 1;
        }
    }
    assert!(tried > 6, "{log}");
}

#[test]
fn an_attempt_is_readable_and_its_lines_are_kept() {
    let case = storied();
    case.windlass(&["run", "--name", LOOP, "--max", "1"]).expect_code(0);
    let told = case.windlass(&["show", LOOP, "attempt:1"]).expect_code(0).stdout;
    assert!(told.contains("\nended     by itself\n") && !told.contains("\n\n\n"), "{told}");
    for part in
        ["attempt 1  author  task a  iteration 1", "turn 1 of the agent", "notes.txt  +1 -0", "it is done"]
    {
        assert!(told.contains(part), "{part:?} is missing:\n{told}");
    }
    assert!(!told.contains("---- brief ----"), "{told}");
    let raw = case.windlass(&["show", LOOP, "attempt:1", "--raw"]).expect_code(0).stdout;
    assert!(raw.contains("---- brief ----") && raw.contains("iteration 1 of"), "{raw}");
}
