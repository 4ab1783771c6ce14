//! `land.approve`: nothing lands before the operator has seen it and said so.

use serde_json::Value;

use crate::case::{Case, LOOP, Setup};

/// Writes 42, and after a rejection what the operator asked for.
const AUTHOR: &str = r#"echo 42 >answer.txt
printf 'attempt %s\r\033[8mhidden\n' "$n" >note.txt
if grep -q 'say it in English' "$side/author-$n.brief"; then echo English >>note.txt; fi
complete"#;

fn waiting() -> Case {
    let case = Setup::new(AUTHOR).more("[land]\napprove = true\n").ready();
    waits(&case);
    case
}

/// Runs the loop until it waits for approval.
#[track_caller]
fn waits(case: &Case) -> Value {
    let ran = case.windlass(&["run", "--name", LOOP]);
    let status = case.status();
    assert_eq!(ran.status.code(), Some(6), "{ran}");
    assert_eq!(
        (&status["status"], &status["paused"]["why"]),
        (&"paused".into(), &"approval".into()),
        "{ran}"
    );
    let tree = status["approval"]["tree"].as_str().expect("a tree waits");
    for line in [
        format!("windlass show {LOOP} --diff"),
        format!("windlass approve {LOOP} --tree {}", &tree[..10]),
        format!("windlass reject {LOOP} \"why\""),
    ] {
        assert!(ran.stdout.contains(&line), "{line}: {ran}");
    }
    status
}

#[track_caller]
fn nothing_landed(case: &Case) {
    assert_eq!(case.repo.git(["for-each-ref", "refs/heads/windlass"]), "");
    assert_eq!(case.status()["commit"], Value::Null);
}

#[test]
fn what_is_approved_lands_and_is_what_was_shown() {
    let case = waiting();
    nothing_landed(&case);
    let shown = case.windlass(&["show", LOOP, "--diff"]).expect_code(0).stdout;
    assert!(shown.contains("-0\n+42\n") && shown.contains("+++ b/note.txt"), "{shown}");
    assert!(
        shown.contains("attempt 1\\u{d}\\u{1b}[8mhidden"),
        "what a terminal would hide is spelled: {shown:?}"
    );
    let json = case.windlass(&["show", LOOP, "--diff", "--json"]).expect_code(0).json();
    let tree = case.status()["approval"]["tree"].clone();
    assert_eq!(json["to"], tree);
    case.windlass(&["run", "--name", LOOP]).expect_code(6);
    let said = case.windlass(&["resume", LOOP]).expect_code(2).stderr;
    assert!(said.contains("windlass approve") && said.contains("windlass reject"), "{said}");
    nothing_landed(&case);
    case.windlass(&["approve", LOOP]).expect_code(0);
    let seen = case.run();
    seen.completed();
    assert_eq!(seen.view["tree"], tree, "exactly the tree that was shown");
    assert_eq!((seen.log.count("approval_asked"), seen.log.count("landing_approved")), (1, 1));
    let landed = case.windlass(&["show", LOOP, "--diff"]).expect_code(0).stdout;
    assert!(landed.starts_with("what demo1 landed") && landed.contains("-0\n+42\n"), "{landed}");
}

#[test]
fn what_is_rejected_is_a_bug_for_the_author() {
    let case = waiting();
    let first = case.status()["approval"]["tree"].as_str().unwrap().to_owned();
    let said = case.windlass(&["reject", LOOP]).expect_code(2).stderr;
    assert!(said.contains("the text is missing"), "{said}");
    case.windlass(&["reject", LOOP, "say it in English"]).expect_code(0);
    nothing_landed(&case);
    let second = waits(&case);
    assert_ne!(second["approval"]["tree"], first.as_str());
    assert_eq!(second["open_findings"][0]["description"], "say it in English");
    let brief = case.left("author-2.brief");
    assert!(brief.contains("## Open findings") && brief.contains("say it in English"), "{brief}");

    let said = case.windlass(&["approve", LOOP, "--tree", &first[..10]]).expect_code(2).stderr;
    assert!(said.contains("waits for your approval, and not"), "an approval is of one tree: {said}");
    nothing_landed(&case);
    let tree = second["approval"]["tree"].as_str().unwrap();
    case.windlass(&["approve", LOOP, "--tree", &tree[..10]]).expect_code(0);
    case.run().completed();
    assert!(case.landed("note.txt").contains("English"));
    let said = case.windlass(&["approve", LOOP]).expect_code(2).stderr;
    assert!(said.contains("nothing waits for approval"), "{said}");
}

#[test]
fn a_rejected_tree_that_comes_back_as_it_was_is_told_as_such() {
    let agent = "echo 42 >answer.txt\ncomplete";
    let case = Setup::new(agent).more("[land]\napprove = true\n").ready();
    let first = waits(&case);
    let said = "the author changed nothing since you rejected it";
    assert!(!first["paused"]["detail"].as_str().unwrap().contains(said), "{first}");
    case.windlass(&["reject", LOOP, "say it in English"]).expect_code(0);
    let second = waits(&case);
    assert_eq!(second["approval"]["tree"], first["approval"]["tree"]);
    assert!(second["paused"]["detail"].as_str().unwrap().ends_with(said), "{second}");
    nothing_landed(&case);
}

#[test]
fn a_cancelled_loop_lands_nothing_that_waits() {
    let case = waiting();
    case.windlass(&["cancel", LOOP]).expect_code(0);
    nothing_landed(&case);
    assert_eq!(case.status()["outcome"]["kind"], "cancelled");
    assert_eq!(case.status()["approval"], Value::Null);
    case.windlass(&["approve", LOOP]).expect_code(2);
    case.windlass(&["restart", LOOP]).expect_code(0);
    waits(&case);
    case.windlass(&["approve", LOOP]).expect_code(0);
    case.run().completed();
}
