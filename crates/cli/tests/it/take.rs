//! Taking work into the operator's checkout: no program of the operator's runs on what the work chose before that
//! was said, and a trail that somebody planted neither stands for the real one nor blocks a command.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use serde_json::Value;

use crate::case::{Case, LOOP, Setup};

const HONEST: &str = "echo 42 >answer.txt\ncomplete";

/// A filter that tells what it was run on.
fn filtering(case: &Case, kind: &str) -> PathBuf {
    let told = case.side().join("filtered");
    let command = format!("sh -c 'echo \"$1\" >>{}; cat' sh %f", told.display());
    case.repo.git(["config", &format!("filter.told.{kind}"), &command]);
    told
}

fn attributes(case: &Case, lines: &str) {
    let info = case.repo.path().join(".git/info");
    fs::create_dir_all(&info).unwrap();
    fs::write(info.join("attributes"), lines).unwrap();
}

#[test]
fn a_filter_of_the_operator_runs_on_the_work_only_if_it_may() {
    let case = Setup::new(HONEST).ready();
    case.run().completed();
    let told = filtering(&case, "smudge");
    attributes(&case, "*.txt filter=told\n");
    let ran = case.windlass(&["take", LOOP]);
    let said = ran.expect_code(1).stderr;
    assert!(
        said.contains("it would run your git filter told (sh -c") && said.contains("answer.txt"),
        "{said}"
    );
    assert!(said.contains(&format!("windlass take {LOOP} --run-filters")), "{said}");
    let json: Value = case.windlass(&["take", LOOP, "--json"]).expect_code(1).json();
    assert_eq!(json["filters"][0]["files"], serde_json::json!(["answer.txt"]));
    assert!(!told.exists(), "it ran");
    assert_eq!(fs::read_to_string(case.repo.path().join("answer.txt")).unwrap(), "0\n");
    case.windlass(&["take", LOOP, "--run-filters"]).expect_code(0);
    assert_eq!(fs::read_to_string(told).unwrap(), "answer.txt\n");
    assert_eq!(fs::read_to_string(case.repo.path().join("answer.txt")).unwrap(), "42\n");
}

#[test]
fn a_filter_for_other_files_is_nobody_s_business() {
    let case = Setup::new(HONEST).ready();
    case.run().completed();
    let told = filtering(&case, "smudge");
    attributes(&case, "*.psd filter=told\n*.txt filter=unheard\n");
    case.windlass(&["take", LOOP]).expect_code(0);
    assert!(!told.exists());
}

#[test]
fn work_that_brings_attributes_may_give_any_file_a_filter() {
    let task = "---\nallow: [.gitattributes]\n---\n# Say what files are\n";
    let agent = "echo 42 >answer.txt\necho '*.txt filter=told' >.gitattributes\ncomplete";
    let case = Setup::new(agent).task("attributes", task).ready();
    case.run().completed();
    let told = filtering(&case, "process");
    let said = case.windlass(&["take", LOOP]).expect_code(1).stderr;
    assert!(said.contains("filter told") && said.contains(".gitattributes"), "{said}");
    assert!(!told.exists());
}

#[test]
fn hooks_of_the_tree_do_not_run() {
    let agent = "echo 42 >answer.txt\nmkdir -p .hooks\n\
                 printf '#!/bin/sh\\ntouch \"$(git rev-parse --git-dir)/fired\"\\n' >.hooks/post-merge\n\
                 chmod +x .hooks/post-merge\ncp .hooks/post-merge .hooks/post-checkout\ncomplete";
    let case = Setup::new(agent).ready();
    case.run().completed();
    case.repo.git(["config", "core.hooksPath", ".hooks"]);
    case.windlass(&["take", LOOP]).expect_code(0);
    assert!(case.repo.path().join(".hooks/post-merge").exists());
    assert!(!case.repo.path().join(".git/fired").exists());
}

/// What makes a trail look like one of this project's own records, for a loop that never was.
fn ghost(case: &Case) -> String {
    let workspace = PathBuf::from(case.status()["workspace"].as_str().unwrap());
    serde_json::json!({ "workspace": workspace.with_file_name("ghost"), "loop": "ghost" }).to_string()
}

#[track_caller]
fn every_command_works(case: &Case) {
    for command in [&["list"][..], &["status", LOOP], &["log", LOOP], &["prove", LOOP], &["take", LOOP]] {
        case.windlass(command).expect_code(0);
    }
}

#[test]
fn a_trail_under_version_control_is_nobody_s_history() {
    let case = Setup::new(HONEST).ready();
    case.run().completed();
    case.repo.file(".windlass/loops/ghost/state.json", ghost(&case));
    let refused = case.windlass(&["status", LOOP]).expect_code(1).stderr;
    assert!(refused.contains("loop ghost"), "as if its history were lost: {refused}");
    case.repo.git(["add", "--force", ".windlass/loops/ghost/state.json"]);
    for command in [&["list"][..], &["status", LOOP], &["prove", LOOP]] {
        case.windlass(command).expect_code(0);
    }
}

#[test]
fn a_trail_in_the_base_is_written_over_and_hinders_nothing() {
    let forged = "completed (proven)\n";
    let setup = Setup::new(HONEST).file("sub/.windlass/loops/ghost/state.json", "{}");
    let case = setup.file(format!(".windlass/loops/{LOOP}/status.txt"), forged).ready();
    let tracked = case.repo.git(["ls-files", ".windlass"]);
    assert!(tracked.contains("status.txt"), "it is in the base: {tracked}");
    case.run().completed();
    let told =
        fs::read_to_string(case.repo.path().join(format!(".windlass/loops/{LOOP}/status.txt"))).unwrap();
    assert_ne!(told, forged);
    every_command_works(&case);
    assert_eq!(fs::read_to_string(case.repo.path().join("answer.txt")).unwrap(), "42\n");
}

#[test]
fn a_file_or_a_link_in_the_place_of_the_trail_hinders_nothing() {
    let case = Setup::new(HONEST).file(".windlass", "a file\n").ready();
    case.run().completed();
    every_command_works(&case);

    let case = Setup::new(HONEST).uncommitted();
    let victim = case.side().join("victim");
    fs::create_dir_all(&victim).unwrap();
    symlink(&victim, case.repo.path().join(".windlass")).unwrap();
    case.repo.commit("with a link");
    let case = case.looked_at();
    case.run().completed();
    every_command_works(&case);
    assert_eq!(fs::read_dir(&victim).unwrap().count(), 0, "nothing is written through it");
}

#[test]
fn no_task_may_bring_a_trail_whatever_it_is_allowed() {
    let task = "---\nallow: [\"**\"]\n---\n# Anything goes\n";
    let agent = "echo 42 >answer.txt\nmkdir -p .windlass/loops/ghost\necho {} >.windlass/loops/ghost/state.json\ncomplete";
    let case = Setup::new(agent).task("anything", task).ready();
    let seen = case.run();
    assert_eq!(seen.findings_in(".windlass/loops/ghost/state.json").len(), 1, "{}", seen.findings);
    assert_eq!(seen.view["commit"], Value::Null);
}

#[test]
fn a_branch_that_somebody_gave_a_trail_is_not_taken() {
    let case = Setup::new(HONEST).ready();
    case.run().completed();
    let side = case.side().join("other");
    let branch = format!("windlass/{LOOP}");
    case.repo.git(["worktree", "add", "--quiet", &side.display().to_string(), &branch]);
    fs::create_dir_all(side.join(".windlass/loops/ghost")).unwrap();
    fs::write(side.join(".windlass/loops/ghost/state.json"), ghost(&case)).unwrap();
    let inside = |words: &[&str]| {
        let place = side.display().to_string();
        let words: Vec<&str> = ["-C", &place].iter().chain(words).copied().collect();
        case.repo.git(words)
    };
    inside(&["add", "--force", ".windlass"]);
    inside(&["commit", "--quiet", "-m", "a trail"]);
    let said = case.windlass(&["take", LOOP]).expect_code(1).stderr;
    assert!(said.contains("changes .windlass"), "{said}");
    assert!(!case.repo.path().join(".windlass/loops/ghost").exists());
}

#[test]
fn a_branch_that_is_gone_has_a_way_back() {
    let case = Setup::new(HONEST).ready();
    case.run().completed();
    let branch = format!("windlass/{LOOP}");
    let commit = case.repo.git(["rev-parse", &branch]).trim().to_owned();
    case.repo.git(["branch", "--quiet", "-D", &branch]);
    let said = case.windlass(&["take", LOOP]).expect_code(2).stderr;
    assert!(said.contains(&format!("`git branch {branch} {commit}` brings it back")), "{said}");
    case.repo.git(["branch", &branch, &commit]);
    case.windlass(&["take", LOOP]).expect_code(0);
}

#[test]
fn a_branch_that_was_moved_back_is_told_everywhere_with_the_command_that_mends_it() {
    let case = Setup::new(HONEST).ready();
    case.run().completed();
    let branch = format!("windlass/{LOOP}");
    let (landed, base) = (case.repo.rev(&branch), case.repo.rev("HEAD"));
    case.repo.git(["branch", "-f", &branch, "HEAD"]);
    assert_eq!(case.status()["branch_elsewhere"], base.as_str());
    let back = format!("git branch -f {branch} {landed}");
    let said = case.windlass(&["take", LOOP]).expect_code(2).stderr;
    let where_it_is =
        format!("the branch {branch} is at {}, not at {}, which landed", &base[..10], &landed[..10]);
    assert!(said.contains(&where_it_is) && said.contains(&format!("`{back}` puts it back")), "{said}");
    assert!(!said.contains("OTHER-NAME"), "it has nothing to keep: {said}");
    let page = case.windlass(&["status", LOOP]).expect_code(0).stdout;
    assert!(
        page.contains(&format!("is at {}, not at {}, which landed", &base[..10], &landed[..10])),
        "{page}"
    );
    assert!(page.contains(&format!("next: {back}   (puts it back)\n      windlass take {LOOP} ")), "{page}");
    let list = case.windlass(&["list"]).expect_code(0).stdout;
    assert!(list.contains(&format!("{branch} (elsewhere)")) && list.contains(&back), "{list}");
    let rm = case.windlass(&["rm", LOOP]).expect_code(2).stderr;
    assert!(rm.contains(&format!("`{back}` puts the branch back")) && !rm.contains("windlass take"), "{rm}");

    case.repo.git(back.split(' ').skip(1));
    assert_eq!(case.status()["branch_elsewhere"], Value::Null);
    case.windlass(&["take", LOOP]).expect_code(0);
    assert_eq!(fs::read_to_string(case.repo.path().join("answer.txt")).unwrap(), "42\n");
}

#[test]
fn a_branch_that_was_made_anew_with_other_work_is_not_taken_for_what_landed() {
    let case = Setup::new(HONEST).ready();
    case.run().completed();
    let branch = format!("windlass/{LOOP}");
    let other = case.repo.git(["commit-tree", "-p", "HEAD", "-m", "mine", "HEAD^{tree}"]);
    case.repo.git(["branch", "-f", &branch, &other]);
    let said = case.windlass(&["take", LOOP]).expect_code(2).stderr;
    assert!(
        said.contains(&format!("what it has now is kept with `git branch OTHER-NAME {branch}`")),
        "{said}"
    );
    assert_eq!(fs::read_to_string(case.repo.path().join("answer.txt")).unwrap(), "0\n");
}

#[test]
fn commits_of_the_operator_on_top_of_what_landed_are_taken_with_it() {
    let case = Setup::new(HONEST).ready();
    case.run().completed();
    let branch = format!("windlass/{LOOP}");
    let ahead = case.repo.git(["commit-tree", "-p", &branch, "-m", "mine", &format!("{branch}^{{tree}}")]);
    case.repo.git(["update-ref", &format!("refs/heads/{branch}"), &ahead]);
    assert_eq!(case.status()["branch_elsewhere"], Value::Null);
    let page = case.windlass(&["status", LOOP]).expect_code(0).stdout;
    assert!(page.contains(&format!("next: windlass take {LOOP} ")), "{page}");
    case.windlass(&["take", LOOP]).expect_code(0);
    assert_eq!(case.repo.rev("HEAD"), ahead);
}

#[test]
fn a_checkout_that_has_the_work_says_so() {
    let case = Setup::new(HONEST).ready();
    case.run().completed();
    case.windlass(&["take", LOOP]).expect_code(0);
    case.repo.file("mine.txt", "mine\n");
    case.repo.commit("on top");
    let head = case.repo.rev("HEAD");
    let told = case.windlass(&["take", LOOP]).expect_code(0).stdout;
    let wanted = format!("your checkout has all of windlass/{LOOP} already (it is at {})", &head[..10]);
    assert_eq!(told.trim_end(), wanted);
}

#[test]
fn a_dirty_checkout_is_told_its_files_and_how_to_put_them_aside() {
    let lines = "1\n2\n3\n4\n5\n6\n7\n8\n";
    let agent = format!("sed -i 1s/1/first/ lines.txt\n{HONEST}");
    let case = Setup::new(&agent).file("lines.txt", lines).ready();
    case.run().completed();
    case.repo.file("README.md", "changed\n").file("lines.txt", lines.replace('8', "last"));
    let said = case.windlass(&["take", LOOP]).expect_code(1).stderr;
    assert!(said.contains("changes that are not committed: lines.txt\n"), "{said}");
    let command = format!("git stash && git merge windlass/{LOOP} && git stash pop");
    assert!(said.contains(&command), "{said}");
    let ran = std::process::Command::new("sh").args(["-c", &command]).current_dir(case.repo.path()).output();
    assert!(ran.unwrap().status.success(), "what it says works");
    assert_eq!(fs::read_to_string(case.repo.path().join("answer.txt")).unwrap(), "42\n");
    assert_eq!(fs::read_to_string(case.repo.path().join("README.md")).unwrap(), "changed\n");
    let both = fs::read_to_string(case.repo.path().join("lines.txt")).unwrap();
    assert!(both.starts_with("first\n") && both.ends_with("last\n"), "{both}");
}

#[test]
fn what_the_branch_does_not_touch_may_be_changed_and_stays() {
    let case = Setup::new(HONEST).ready();
    case.run().completed();
    case.repo.file("README.md", "changed\n");
    case.windlass(&["take", LOOP]).expect_code(0);
    assert_eq!(fs::read_to_string(case.repo.path().join("answer.txt")).unwrap(), "42\n");
    assert_eq!(fs::read_to_string(case.repo.path().join("README.md")).unwrap(), "changed\n");
}

#[test]
fn a_diverged_branch_names_what_both_sides_changed() {
    let case = Setup::new(HONEST).ready();
    case.run().completed();
    case.repo.file("answer.txt", "7\n").file("mine.txt", "mine\n");
    case.repo.commit("another answer");
    let said = case.windlass(&["take", LOOP]).expect_code(1).stderr;
    assert!(said.contains("both changed answer.txt") && !said.contains("mine.txt"), "{said}");
    assert!(said.contains(&format!("git merge windlass/{LOOP}")), "{said}");
}

#[test]
fn a_run_of_a_loop_that_was_taken_does_not_ask_to_take_it_again() {
    let case = Setup::new(HONEST).ready();
    case.run().completed();
    let take = format!("next: windlass take {LOOP} ");
    let before = case.windlass(&["run", LOOP]).expect_code(0).stdout;
    assert!(before.contains(&take), "{before}");
    case.windlass(&["take", LOOP]).expect_code(0);
    for words in [
        &["run", LOOP][..],
        &["run", LOOP, "--dry-run"],
        &["status", LOOP],
        &["show", LOOP],
        &["show", LOOP, "answer"],
    ] {
        let after = case.windlass(words).expect_code(0).stdout;
        let is_next = after.contains(&format!("next: windlass rm {LOOP} "));
        assert!(is_next && !after.contains(&take), "{words:?}: {after}");
    }
    let refused = case.windlass(&["resume", LOOP]).expect_code(2).stderr;
    assert!(refused.contains(&format!("next: windlass rm {LOOP} ")), "{refused}");
}

#[test]
fn what_is_taken_of_a_loop_that_runs_is_said_not_to_be_proven_yet() {
    let agent =
        "echo 42 >answer.txt\necho $WINDLASS_TASK >>log.txt\nif [ $n -eq 2 ]; then hold; fi\ncomplete";
    let case = Setup::new(agent).task("a", "# A\n").task("b", "# B\n").ready();
    let running = case.start_until("author", 2);
    let note = format!("note: {LOOP} still runs; what landed so far is not proven yet");
    for first in ["your checkout is at ", "your checkout has all of "] {
        let told = case.windlass(&["take", LOOP]).expect_code(0).stdout;
        assert!(told.starts_with(first) && told.trim_end().ends_with(&note), "{told}");
    }
    assert_eq!(case.windlass(&["take", LOOP, "--json"]).expect_code(0).json()["running"], true);
    case.leave("go");
    running.finish(crate::case::RUN).expect_code(0);
    let told = case.windlass(&["take", LOOP]).expect_code(0).stdout;
    assert!(!told.contains("note:"), "{told}");
}
