//! What is wrong before the first attempt: `doctor` sees it, `run` refuses it, and
//! what needs no file is found.

use std::os::unix::fs::PermissionsExt as _;

use crate::case::{Case, LONG, Setup};

fn honest() -> Case {
    Setup::new("echo 42 >answer.txt\ncomplete").ready()
}

#[test]
fn doctor_sees_the_policy_the_agent_and_the_plan() {
    let case = honest();
    let sound = case.windlass(&["doctor"]).expect_code(0).stdout;
    for row in ["windlass.toml", "agent", "plan"] {
        assert!(sound.lines().any(|line| line.starts_with("ok") && line.contains(row)), "{row}: {sound}");
    }
    let policy = std::fs::read_to_string(case.repo.path().join("windlass.toml")).unwrap();
    for (from, to, row) in [
        ("[agent]", "[agent", "windlass.toml"),
        ("use = \"command\"", "use = \"codexx\"", "windlass.toml"),
        ("command = [\"sh\"", "command = [\"no-such-program\"", "agent"),
        ("source = \"tasks/\"", "source = \"nowhere/\"", "plan"),
    ] {
        case.repo.file("windlass.toml", policy.replacen(from, to, 1));
        let told = case.windlass(&["doctor"]).expect_code(1).stdout;
        assert!(told.lines().any(|line| line.starts_with("missing") && line.contains(row)), "{to}: {told}");
    }
}

#[test]
fn a_project_without_a_policy_is_no_fault() {
    let case = honest();
    std::fs::remove_file(case.repo.path().join("windlass.toml")).unwrap();
    let told = case.windlass(&["doctor"]).expect_code(0).stdout;
    assert!(told.contains("`windlass init` writes one"), "{told}");
}

#[test]
fn a_task_that_says_nothing_is_refused_before_the_first_attempt() {
    let placeholder = "# Say in one line what is to be done\n\nSay here what done means.\n";
    for (text, why) in [
        ("", "the task says nothing"),
        ("---\npriority: 1\n---\n\n", "the task says nothing"),
        (placeholder, "still the placeholder"),
    ] {
        let case = Setup::new("complete").task("001-first", text).ready();
        let refused = case.windlass(&["run"]).expect_code(2).stderr;
        assert!(refused.contains(why) && refused.contains("tasks/001-first.md"), "{text:?}: {refused}");
        case.nothing_was_made();
        case.windlass(&["doctor"]).expect_code(1);
    }
}

#[test]
fn a_goal_without_a_policy_is_for_the_agent_that_is_installed() {
    let case = honest();
    std::fs::remove_file(case.repo.path().join("windlass.toml")).unwrap();
    let programs = case.side().join("programs");
    std::fs::create_dir_all(&programs).unwrap();
    let codex = programs.join("codex");
    std::fs::write(&codex, "#!/bin/sh\necho codex-cli 0.166.0\n").unwrap();
    std::fs::set_permissions(&codex, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = case.command(&["run", "--dry-run", "make the test pass"]);
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", programs.display()));
    let told = case.home.start(command).finish(LONG).expect_code(0).stdout;
    assert!(told.contains("there is no windlass.toml: the agent is codex"), "{told}");
}

#[test]
fn a_prompt_becomes_a_task_beside_others() {
    let case = honest();
    case.windlass(&["init", "--force", "Make it faster"]).expect_code(0);
    let first = case.repo.path().join("tasks/001-first.md");
    assert!(std::fs::read_to_string(first).unwrap().contains("Make it faster"));
    case.windlass(&["init", "--force", "Make it smaller"]).expect_code(0);
    let second = case.repo.path().join("tasks/002-goal.md");
    assert!(std::fs::read_to_string(second).unwrap().contains("Make it smaller"));
}
