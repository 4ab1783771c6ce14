//! The work of a task that was blocked, when it is tried again after others landed.

use std::os::unix::process::ExitStatusExt as _;

use windlass_testkit::{Scratch, capability};

use crate::case::{Case, LOOP, RUN, Seen, Setup};

/// Task 001 writes this and stays red; 002 writes the answer, which is green.
fn two_tasks(first: &str) -> Setup {
    let first =
        format!("if [ \"$WINDLASS_TASK\" = 002 ]; then echo 42 >answer.txt\nelse\n{first}\nfi\ncomplete");
    Setup::new(&first)
        .limits("max_task_failures = 1")
        .task("001", "# First\n\nDo it.\n")
        .task("002", "# Second\n\nDo it.\n")
}

/// 001 is blocked and 002 has landed; 001 may be tried again.
fn unblocked(case: &Case) {
    case.run().ended(3, "blocked", "failing").task_is("002", "done", None);
    case.windlass(&["unblock", LOOP, "001"]).expect_code(0);
    case.windlass(&["restart", LOOP]).expect_code(0);
}

/// What 001 left beside its red answer is strange on purpose, and one of it is protected.
const DRAFT: &str = r#"mkdir -p "dir ä/x"
echo kept >"dir ä/x/$(printf 'a\nb')"
printf '\000\377' >binary
ln -s README.md link
printf 'exit 0\n' >test.sh"#;

const LOOKS: &str = r#"cp -R . "$side/given"
complete"#;

#[track_caller]
fn has_the_draft_on_what_landed(case: &Case) {
    let given = |file: &str| case.left(&format!("given/{file}"));
    assert_eq!(given("dir ä/x/a\nb"), "kept\n");
    assert_eq!(given("binary"), "\0\u{fffd}");
    assert_eq!(given("link"), "# A question\n");
    assert_eq!(given("answer.txt"), "42\n", "what landed since");
    assert_eq!(given("test.sh"), crate::case::TEST, "a protected path is as it landed");
}

#[track_caller]
fn completed(seen: &Seen) {
    seen.completed().task_is("001", "done", None);
    assert_eq!(seen.log.count("work_merged") + seen.log.count("work_not_merged"), 1);
}

#[test]
fn is_merged_onto_what_landed_since() {
    let case = two_tasks(DRAFT).ready();
    unblocked(&case);
    case.agent(LOOKS);
    let seen = case.run();
    completed(&seen);
    has_the_draft_on_what_landed(&case);
    let said = "001: earlier work merged onto what landed since";
    assert!(seen.ran.to_string().contains(said), "{}", seen.ran);
    let brief = case.left("author-3.brief");
    assert!(brief.contains("Files changed so far: 3") && brief.contains("`binary`"), "{brief}");
    assert!(case.landed("dir ä/x/a\nb").contains("kept"));
    case.branch_passes_the_base_test();
}

#[test]
fn is_shown_as_a_patch_where_it_conflicts() {
    let case = two_tasks("echo 7 >answer.txt\nprintf '\\000\\001' >binary\necho more >more.txt").ready();
    unblocked(&case);
    case.agent(
        r#"cp answer.txt "$side/given"
patch=$(sed -n 's/.*in the file `\(.*change.patch\)`.*/\1/p' "$side/author-$n.brief")
git apply --exclude=answer.txt "$patch"
cp binary more.txt "$side/"
(echo x >>"$patch") 2>/dev/null && touch "$side/patch-was-writable"
echo 42 >answer.txt
complete"#,
    );
    let seen = case.run();
    completed(&seen);
    assert_eq!(case.left("given"), "42\n", "it starts from what landed");
    let said = "001: earlier work conflicts in answer.txt; it starts from what landed";
    assert!(seen.ran.to_string().replace("\n  ", " ").contains(said), "{}", seen.ran);
    let brief = case.left("author-3.brief");
    assert!(brief.contains("-0\n+7\n") && brief.contains("Binary files"), "{brief}");
    assert_eq!((case.left("binary").len(), case.left("more.txt").as_str()), (2, "more\n"), "{brief}");
    if seen.view["sandbox"] != "none" {
        assert!(!case.side().join("patch-was-writable").exists());
    }
}

#[test]
fn is_merged_after_a_crash_in_the_merge() {
    let Some(binary) = capability::failpoints_binary() else { return };
    let case = two_tasks(DRAFT).home(Scratch::exactly(&binary)).ready();
    unblocked(&case);
    case.agent(LOOKS);
    let mut command = case.command(&["run", "--name", LOOP]);
    command.env("FAILPOINTS", "perform::merge_work=return");
    let ran = case.home.start(command).finish(RUN);
    assert_eq!(ran.status.signal(), Some(6), "{ran}");
    completed(&case.run());
    has_the_draft_on_what_landed(&case);
}

#[test]
fn is_still_there_when_the_merge_was_cancelled() {
    let Some(binary) = capability::failpoints_binary() else { return };
    let case = two_tasks(DRAFT).home(Scratch::exactly(&binary)).ready();
    unblocked(&case);
    case.agent(LOOKS);
    let mut command = case.command(&["run", "--name", LOOP]);
    command.env("FAILPOINTS", "perform::merge_work=return");
    case.home.start(command).finish(RUN);
    case.windlass(&["cancel", LOOP]).expect_code(0);
    case.windlass(&["restart", LOOP]).expect_code(0);
    completed(&case.run());
    has_the_draft_on_what_landed(&case);
}
