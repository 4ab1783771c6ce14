//! Agents who break what they find: state files, the workspace, its git.

use crate::case::{LOOP, RUN, Setup};

const CANNOT_REMOVE: &str = "a confined agent cannot remove its workspace, which is a mount";

#[test]
fn done_in_every_state_like_file_means_nothing() {
    let script = r#"for file in state.json status.txt progress.md prd.json TODO.md .windlass/registry.json \
    .windlass/loops/demo1/state.json .windlass/loops/demo1/run.json tasks/answer.md; do
    mkdir -p "$(dirname "$file")"
    echo '{"status":"done","passes":true}' >"$file"
done
find "$WINDLASS_TRAIL" -type f 2>/dev/null | while read -r file; do echo done 2>/dev/null >"$file"; done
find "$HOME" -type f \( -name '*.json' -o -name '*.jsonl' -o -name 'status*' -o -name '*.done' \) 2>/dev/null |
    while read -r file; do echo done 2>/dev/null >"$file"; done
echo done >"$(dirname "$WINDLASS_REPORT")/verdict"
complete"#;
    let case = Setup::new(script).ready();
    let seen = case.run();
    seen.blocked("no_progress");
    assert!(seen.view["commit"].is_null(), "nothing landed");
    let told = case.windlass(&["status", LOOP]).expect_code(0);
    assert!(told.stdout.contains("blocked"), "{told}");
}

#[test]
fn a_deleted_workspace_is_rebuilt() {
    let script =
        "if [ $n -eq 1 ]; then ws=$PWD; cd /; rm -rf \"$ws\"; exit 0; fi\necho 42 >answer.txt\ncomplete";
    let case = Setup::new(script).ready();
    let seen = case.run();
    seen.completed();
    assert_eq!(seen.view["iteration"], 2);
    case.branch_passes_the_base_test();
}

#[test]
fn deleting_the_workspace_each_time_is_blocked() {
    let seen = Setup::new("ws=$PWD; cd /; rm -rf \"$ws\"")
        .unconfined(CANNOT_REMOVE)
        .limits("max_no_progress = 3")
        .ready()
        .run();
    seen.blocked("no_progress");
}

#[test]
fn a_workspace_replaced_by_a_link_is_rebuilt() {
    let script = "if [ $n -eq 1 ]; then ws=$PWD; cd /; rm -rf \"$ws\"; mkdir -p \"$side/precious\"; \
                  echo mine >\"$side/precious/file\"; ln -s \"$side/precious\" \"$ws\"; exit 0; fi\n\
                  echo 42 >answer.txt\ncomplete";
    let case = Setup::new(script).unconfined(CANNOT_REMOVE).ready();
    case.run().completed();
    assert_eq!(case.left("precious/file").trim(), "mine", "nothing outside was touched");
    assert!(!case.side().join("precious/answer.txt").exists(), "nor written");
}

#[test]
fn a_deleted_git_directory_makes_no_difference() {
    let case = Setup::new("rm -rf .git\necho 42 >answer.txt\ncomplete").ready();
    case.run().completed();
    case.branch_passes_the_base_test();
}

#[test]
fn a_deleted_git_directory_is_rebuilt_for_the_next_attempt() {
    let script = "if [ $n -eq 1 ]; then rm -rf .git; echo 1 >answer.txt; exit 0; fi\n\
                  git status --porcelain >\"$side/status\" 2>&1 && echo fine >\"$side/git\"\necho 42 >answer.txt\ncomplete";
    let case = Setup::new(script).ready();
    case.run().completed();
    assert_eq!(case.left("git").trim(), "fine", "{}", case.left("status"));
}

#[test]
fn rewritten_history_makes_no_difference() {
    let script = r#"export GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x@x GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x@x
git checkout -q --orphan other
echo 42 >answer.txt
git add -A && git commit -qm 'the beginning of time'
git branch | grep -v other | xargs -r git branch -qD
git reflog expire --expire=now --all && git gc -q --prune=now
complete"#;
    let case = Setup::new(script).ready();
    case.run().completed();
    let branch = format!("windlass/{LOOP}");
    assert_eq!(case.repo.rev(&format!("{branch}~1")), case.repo.rev("HEAD"), "on the recorded base");
    case.branch_passes_the_base_test();
}

#[test]
fn commits_of_the_agent_make_no_difference() {
    let script = "echo 42 >answer.txt\ngit -c user.name=x -c user.email=x@x commit -qam one\n\
                  git -c user.name=x -c user.email=x@x commit -q --allow-empty -m two\ncomplete";
    let case = Setup::new(script).ready();
    case.run().completed();
    assert_eq!(case.repo.git(["rev-list", "--count", &format!("HEAD..windlass/{LOOP}")]), "1");
}

#[test]
fn code_planted_in_git_never_runs_as_windlass() {
    let script = r#"for hook in pre-commit post-checkout post-index-change reference-transaction post-commit fsmonitor-watchman; do
    printf '#!/bin/sh\necho %s >>"%s/ran"\n' "$hook" "$side" >.git/hooks/$hook
    chmod +x .git/hooks/$hook
done
rm -f "$side/ran"
git config core.fsmonitor "$side/planted.sh"
git config filter.evil.clean "$side/planted.sh"
git config filter.evil.smudge "$side/planted.sh"
printf '#!/bin/sh\necho planted >>"%s/ran"\ncat\n' "$side" >"$side/planted.sh"
chmod +x "$side/planted.sh"
rm -f "$side/ran"
echo '* filter=evil' >.gitattributes
echo 42 >answer.txt
complete"#;
    let case = Setup::new(script).limits("max_no_progress = 1\nmax_task_failures = 1").ready();
    let seen = case.run();
    assert!(matches!(seen.ran.code(), 0 | 3), "{}", seen.ran);
    assert_eq!(case.left("ran"), "", "planted code ran");
}

#[test]
fn a_nested_repository_hides_nothing() {
    let script = "git init -q inner && echo payload >inner/file\necho 42 >answer.txt\ncomplete";
    let case = Setup::new(script).ready();
    case.run().completed();
    assert_eq!(case.landed("inner/file"), "payload", "plain files, whatever git the agent made of them");
}

/// Somebody else deletes it, while the agent works in it.
#[test]
fn a_workspace_that_is_deleted_from_outside_is_told() {
    let case = Setup::new("if [ $n -eq 1 ]; then hold; exit 0; fi\necho 42 >answer.txt\ncomplete").ready();
    let running = case.start_until("author", 1);
    let workspace = case.status()["workspace"].as_str().unwrap().to_owned();
    std::fs::remove_dir_all(&workspace).unwrap();
    case.leave("go");
    let seen = case.look(running.finish(RUN));
    seen.completed();
    let opened = seen.log.of("finding_opened");
    let told = opened.iter().find(|line| line["file"] == workspace.as_str());
    let told = told.unwrap_or_else(|| panic!("{}", seen.log))["description"].as_str().unwrap();
    assert!(told.starts_with("the workspace was deleted while the attempt ran"), "{told}");
    assert_eq!(seen.log.of("finding_resolved").len(), 1, "the next attempt had one: {}", seen.log);
    assert!(case.left("author-2.brief").contains(told), "and its agent is told");
}
