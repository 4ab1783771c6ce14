//! Every tree that an attempt left can be looked at and brought out.

use crate::case::{Case, LOOP, Setup};

/// The first attempt writes much and stays red; the second adds one line to it.
fn blocked() -> Case {
    let agent = r#"if [ "$n" = 1 ]; then
  printf '\000\001' >binary; echo first >"$(printf 'b\033[2J\nc')"; echo 7 >answer.txt
else echo second >>README.md; fi
complete"#;
    let case = Setup::new(agent).limits("max_task_failures = 2").ready();
    case.run().blocked("failing");
    case
}

#[test]
fn the_change_of_each_attempt_is_shown() {
    let case = blocked();
    let diff = |item: &str| case.windlass(&["show", LOOP, item, "--diff"]).expect_code(0).stdout;
    let first = diff("attempt:1");
    assert!(
        first.contains("-0\n+7\n") && first.contains("Binary files /dev/null and b/binary differ"),
        "{first}"
    );
    assert!(first.contains("+first") && !first.contains('\u{1b}'), "{first:?}");
    assert!(!first.contains("second"));
    let second = diff("attempt:2");
    assert!(second.contains("+second") && !second.contains("binary"), "only its own change: {second}");
    assert!(second.contains(&format!("next: windlass take {LOOP} --attempt 2")), "{second}");
    for (item, said) in [("attempt:9", "no finished attempt 9"), ("answer", "--diff goes with attempt:N")] {
        let refused = case.windlass(&["show", LOOP, item, "--diff"]).expect_code(2).stderr;
        assert!(refused.contains(said) && refused.contains("hint:"), "{refused}");
    }
    let refused = case.windlass(&["show", LOOP, "--diff"]).expect_code(2).stderr;
    assert!(refused.contains("has landed nothing yet") && refused.contains("attempt:1 --diff"), "{refused}");
}

#[test]
fn the_tree_of_an_attempt_is_brought_out_as_a_branch() {
    let case = blocked();
    let head = case.repo.rev("HEAD");
    for _ in 0..2 {
        let said = case.windlass(&["take", LOOP, "--attempt", "1"]).expect_code(0).stdout;
        assert!(said.contains(&format!("next: git merge windlass/{LOOP}-attempt-1")), "{said}");
    }
    let branch = format!("windlass/{LOOP}-attempt-1");
    assert_eq!(case.repo.show(&branch, "answer.txt"), "7");
    assert_eq!(case.repo.rev(&format!("{branch}^")), head, "on what it stands on");
    case.untouched();
    let json = case.windlass(&["take", LOOP, "--attempt", "2", "--json"]).expect_code(0).json();
    assert_eq!(json["branch"], format!("windlass/{LOOP}-attempt-2"));
    assert!(case.repo.show(&format!("windlass/{LOOP}-attempt-2"), "README.md").contains("second"));
    let said = case.windlass(&["take", LOOP, "--attempt", "x"]).expect_code(2).stderr;
    assert!(said.contains("no finished attempt x") && said.contains("windlass log"), "{said}");
    case.repo.git(["branch", "-f", &branch, &head]);
    let said = case.windlass(&["take", LOOP, "--attempt", "1"]).expect_code(2).stderr;
    assert!(said.contains("git branch -m"), "{said}");
    assert_eq!(case.repo.rev(&branch), head, "a branch that somebody moved stays");
    let merged = case.repo.try_git(["merge", "--quiet", "--no-edit", &format!("windlass/{LOOP}-attempt-2")]);
    assert!(merged.status.success());
}

#[test]
fn a_reviewer_leaves_no_tree() {
    let case = Setup::new("echo 42 >answer.txt\ncomplete").review("tasks = true\nfinal = false\n").ready();
    case.run().completed();
    for command in [&["show", LOOP, "attempt:2", "--diff"][..], &["take", LOOP, "--attempt", "2"]] {
        let said = case.windlass(command).expect_code(2).stderr;
        assert!(said.contains("no tree of attempt 2 (reviewer) is on record"), "{said}");
    }
}
