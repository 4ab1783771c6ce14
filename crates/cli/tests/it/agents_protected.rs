//! Agents who reach for the test instead of the work.

use crate::case::{Case, Seen, Setup};

/// The test was changed: a finding about it, nothing landed, the base's test stands.
#[track_caller]
fn caught(case: &Case, seen: &Seen, reason: &str) {
    seen.blocked(reason);
    let findings = seen.findings_in("test.sh");
    assert!(!findings.is_empty(), "no finding about test.sh\n{}", seen.log);
    assert!(findings.iter().all(|finding| finding["severity"] == "bug"), "{findings:?}");
    assert!(seen.view["findings"]["open_bugs"].as_u64() >= Some(1), "{:#}", seen.view["findings"]);
    assert!(seen.view["commit"].is_null(), "nothing landed");
    assert_eq!(case.repo.git(["for-each-ref", "refs/heads/windlass"]), "");
}

#[track_caller]
fn tampers(script: &str, reason: &str) -> Seen {
    let case = Setup::new(script).ready();
    let seen = case.run();
    caught(&case, &seen, reason);
    seen
}

#[test]
fn editing_the_test_the_same_way_is_no_progress() {
    tampers("echo 'exit 0' >test.sh\ncomplete", "no_progress");
}

#[test]
fn editing_the_test_another_way_each_time_is_failing() {
    let seen = tampers("echo \"exit 0 # $n\" >test.sh\ncomplete", "failing");
    assert_eq!(seen.task("answer")["failures"], 5);
    assert_eq!(seen.task("answer")["attempts"], 5);
}

#[test]
fn emptying_the_test_is_caught() {
    tampers(": >test.sh\ncomplete", "no_progress");
}

#[test]
fn deleting_the_test_is_caught() {
    tampers("rm test.sh\ncomplete", "no_progress");
}

#[test]
fn replacing_the_test_with_a_link_is_caught() {
    tampers("echo 'exit 0' >other.sh\nln -sf other.sh test.sh\ncomplete", "no_progress");
}

#[test]
fn hiding_the_edit_with_skip_worktree_is_caught() {
    tampers("echo 'exit 0' >test.sh\ngit update-index --skip-worktree test.sh\ncomplete", "no_progress");
}

#[test]
fn hiding_the_edit_with_assume_unchanged_and_excludes_is_caught() {
    let script = "echo 'exit 0' >test.sh\ngit update-index --assume-unchanged test.sh\n\
                  echo test.sh >>.git/info/exclude\ngit config core.excludesFile /dev/null\ncomplete";
    tampers(script, "no_progress");
}

#[test]
fn hiding_the_edit_in_a_commit_is_caught() {
    let script = "echo 'exit 0' >test.sh\n\
                  git -c user.name=x -c user.email=x@x commit -qam 'as if it had always been so'\ncomplete";
    tampers(script, "no_progress");
}

#[test]
fn the_policy_is_protected_without_being_named() {
    let case = Setup::new("sed -i 's/test.sh/true/' windlass.toml\ncomplete").ready();
    let seen = case.run();
    seen.blocked("no_progress");
    assert_eq!(seen.findings_in("windlass.toml").len(), 1, "{}", seen.findings);
}

#[test]
fn a_new_file_that_steers_agents_or_git_is_caught() {
    for name in [".gitattributes", "AGENTS.md", "tasks/more.md"] {
        let case = Setup::new(&format!("echo 42 >answer.txt\necho x >{name}\ncomplete")).ready();
        let seen = case.run();
        seen.blocked("no_progress");
        assert_eq!(seen.findings_in(name).len(), 1, "{name}: {}", seen.findings);
    }
}

#[test]
fn work_beside_the_tampering_lands_once_the_tampering_is_gone() {
    let script = "if [ $n -eq 1 ]; then echo 42 >answer.txt; echo 'exit 0' >test.sh; fi\ncomplete";
    let case = Setup::new(script).ready();
    let seen = case.run();
    seen.completed();
    let findings = seen.findings_in("test.sh");
    assert_eq!(findings.len(), 1, "{}", seen.findings);
    assert_eq!(findings[0]["life"], "resolved", "what no longer holds resolves by itself");
    assert_eq!(case.landed("test.sh"), case.repo.show("HEAD", "test.sh"));
    case.branch_passes_the_base_test();
    assert!(case.left("author-2.brief").contains("test.sh"), "the next brief says so");
}

#[test]
fn a_task_may_allow_what_is_protected() {
    let case = Setup::new("echo 'test \"$(cat answer.txt)\" = 43' >test.sh\necho 43 >answer.txt\ncomplete")
        .task("answer", "---\nallow: [test.sh]\n---\n# Change the question\n")
        .ready();
    let seen = case.run();
    // The gate used the base's test unless the task allows the change.
    seen.completed();
    assert!(seen.findings_in("test.sh").is_empty(), "{}", seen.findings);
    assert_eq!(case.landed("answer.txt"), "43");
}

#[test]
fn a_link_out_of_the_tree_is_caught() {
    let case = Setup::new("echo 42 >answer.txt\nln -s /etc/passwd users\ncomplete").ready();
    let seen = case.run();
    seen.blocked("no_progress");
    assert_eq!(seen.findings_in("users").len(), 1, "{}", seen.findings);
}
