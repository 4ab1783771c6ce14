//! What cannot be used is refused before anything is made: the place, the
//! remedy, exit 2, and nothing changed.

use windlass_testkit::{Ran, capability};

use crate::case::{Case, LOOP, Setup};

const HONEST: &str = "echo 42 >answer.txt\ncomplete";

/// A case in which something was written wrong.
fn with(wrong: impl FnOnce(&Case)) -> Case {
    let case = Setup::new(HONEST).ready();
    wrong(&case);
    case.looked_at()
}

/// Replaces a part of windlass.toml, and says on which line it was.
#[track_caller]
fn edit(case: &Case, from: &str, to: &str) -> usize {
    let file = case.repo.path().join("windlass.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let at = text.find(from).unwrap_or_else(|| panic!("{from:?} is not in {text}"));
    std::fs::write(&file, text.replacen(from, to, 1)).unwrap();
    text[..at].lines().count().max(1) + usize::from(text[..at].ends_with('\n') || at == 0)
}

/// Refused: exit 2, every one of `said` is in the message, nothing was made.
#[track_caller]
fn refused(case: &Case, said: &[&str]) -> Ran {
    let ran = case.windlass(&["run", "--name", LOOP]);
    refusal(case, ran, said)
}

#[track_caller]
fn refusal(case: &Case, ran: Ran, said: &[&str]) -> Ran {
    let ran = ran.expect_code(2);
    for words in said {
        assert!(ran.stderr.contains(words), "{words:?} is not said: {ran}");
    }
    case.nothing_was_made();
    assert_eq!(case.turns("author"), 0);
    ran
}

#[test]
fn an_unknown_key_with_the_nearest_one() {
    let case = with(|case| {
        edit(case, "protect =", "protct =");
    });
    refused(&case, &["windlass.toml:12:1", "protct", "`protect`"]);
}

#[test]
fn an_unknown_table() {
    let case = with(|case| {
        edit(case, "[sandbox]", "[sandbax]");
    });
    refused(&case, &["windlass.toml", "sandbax", "sandbox"]);
}

#[test]
fn an_unknown_key_on_the_command_line() {
    let case = Setup::new(HONEST).ready();
    let ran = case.windlass(&["run", "--name", LOOP, "--set", "loop.max_iteration=3"]);
    refusal(&case, ran, &["max_iteration", "max_iterations"]);
}

#[test]
fn a_wrong_type() {
    let case = with(|case| {
        edit(case, "timeout = \"60s\"", "timeout = 60");
    });
    refused(&case, &["windlass.toml:4:11", "timeout"]);
}

#[test]
fn a_time_that_is_no_time() {
    let case = with(|case| {
        edit(case, "timeout = \"60s\"", "timeout = \"soon\"");
    });
    refused(&case, &["windlass.toml:4:11", "soon"]);
}

#[test]
fn text_that_is_no_toml() {
    let case = with(|case| {
        edit(case, "[review]", "[review");
    });
    refused(&case, &["windlass.toml:"]);
}

#[test]
fn every_mistake_of_a_file_at_once() {
    let case = with(|case| {
        edit(case, "protect =", "protct =");
        edit(case, "timeout = \"60s\"", "timeout = 60");
    });
    refused(&case, &["protct", "windlass.toml:4:11"]);
}

#[test]
fn a_check_with_no_command() {
    let case = with(|case| {
        edit(case, "run = \"sh ./test.sh\"\n", "");
    });
    refused(&case, &["windlass.toml:", "no command", "run ="]);
    let case = with(|case| {
        edit(case, "run = \"sh ./test.sh\"", "run = \"  \"");
    });
    refused(&case, &["windlass.toml:", "no command"]);
}

#[test]
fn a_check_naming_a_file_that_is_not_in_the_base() {
    let case = with(|case| {
        edit(case, "sh ./test.sh", "sh ./other.sh");
        case.repo.file("other.sh", "exit 0\n");
    });
    refused(&case, &["other.sh", "commit"]);
}

#[test]
fn a_dependency_cycle_by_name() {
    let case = with(|case| {
        case.repo.file("tasks/a.md", "---\ndepends_on: [b]\n---\n# A\n");
        case.repo.file("tasks/b.md", "---\ndepends_on: [c]\n---\n# B\n");
        case.repo.file("tasks/c.md", "# C\n<!-- depends_on: a -->\n");
    });
    let ran = refused(&case, &["tasks/a.md:2:", "circle"]);
    assert!(ran.stderr.contains("a → b → c → a"), "the cycle is named: {ran}");
}

#[test]
fn a_dependency_that_is_missing() {
    let case = with(|case| {
        case.repo.file("tasks/next.md", "---\ndepends_on: [anwser]\n---\n# Next\n");
    });
    refused(&case, &["tasks/next.md:2:14", "anwser", "answer"]);
}

#[test]
fn two_tasks_with_one_id() {
    let case = with(|case| {
        case.repo.file("tasks/Answer.md", "# Another\n");
    });
    if std::fs::read_dir(case.repo.path().join("tasks")).unwrap().count() < 2 {
        return capability::not_run("this file system does not tell upper from lower case");
    }
    refused(&case, &["Answer.md", "answer.md", "one id"]);
}

#[test]
fn a_task_file_that_leads_nowhere() {
    let case = with(|case| {
        case.repo.symlink("tasks/gone.md", "/nonexistent/gone.md");
    });
    refused(&case, &["tasks/gone.md"]);
}

#[test]
fn a_task_file_without_permission() {
    if !capability::ordinary_user() {
        return;
    }
    use std::os::unix::fs::PermissionsExt as _;
    let case = Setup::new(HONEST).task("answer", "# A\n").task("secret", "# B\n").ready();
    let file = case.repo.path().join("tasks/secret.md");
    let mode = |mode| std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
    mode(0o000);
    let ran = case.windlass(&["run", "--name", LOOP]);
    mode(0o644);
    refusal(&case, ran, &["tasks/secret.md", "readable"]);
}

#[test]
fn a_task_file_that_is_not_text() {
    let case = with(|case| {
        case.repo.file("tasks/noise.md", b"# Noise\n\xff\xfe\n");
    });
    refused(&case, &["tasks/noise.md:2:1", "UTF-8"]);
}

#[test]
fn front_matter_with_an_unknown_key() {
    let case = with(|case| {
        case.repo.file("tasks/answer.md", "---\ndepend_on: []\n---\n# Write the answer\n");
    });
    refused(&case, &["tasks/answer.md:2:1", "depend_on", "depends_on"]);
}

#[test]
fn a_task_that_selects_a_check_there_is_not() {
    let case = with(|case| {
        case.repo.file("tasks/answer.md", "---\nchecks: [tset]\n---\n# Write the answer\n");
    });
    refused(&case, &["tasks/answer.md:2:", "tset", "test"]);
}

#[test]
fn a_plan_that_is_not_there() {
    let case = with(|case| {
        edit(case, "tasks/", "todo/");
    });
    refused(&case, &["todo", "directory"]);
    let case = with(|case| {
        std::fs::remove_file(case.repo.path().join("tasks/answer.md")).unwrap();
    });
    refused(&case, &["tasks", "no task file"]);
}

#[test]
fn an_agent_that_does_not_exist() {
    for (command, said) in [
        ("/nonexistent/agent", "/nonexistent/agent"),
        ("windlass-no-such-agent", "windlass-no-such-agent"),
        ("./agent-of-mine", "agent-of-mine"),
    ] {
        let case = with(|case| {
            edit(case, "command = [\"sh\"", &format!("command = [\"{command}\""));
        });
        refused(&case, &[said, "windlass.toml"]);
    }
}

#[test]
fn an_agent_with_no_command() {
    let case = with(|case| {
        let side = case.side().display().to_string();
        edit(case, &format!("command = [\"sh\", \"{side}/agent.sh\"]\n"), "");
    });
    refused(&case, &["agent", "command"]);
}

#[test]
fn an_adapter_of_later_or_of_nobody() {
    for adapter in ["builtin", "cmd"] {
        let case = with(|case| {
            edit(case, "use = \"command\"", &format!("use = \"{adapter}\""));
        });
        refused(&case, &["windlass.toml:2:7", adapter, "command"]);
    }
}

#[test]
fn a_sandbox_below_its_own_minimum() {
    let case = Setup::new("true").level("none").minimum("landlock").ready();
    refused(&case, &["windlass.toml:", "landlock"]);
}

#[test]
fn records_that_agents_could_write() {
    let above = |case: &Case| case.home.path().to_owned();
    let within = |case: &Case| case.home.state().join("windlass/vaults");
    let by_a_link = |case: &Case| {
        let link = case.side().join("link");
        std::os::unix::fs::symlink(case.home.path(), &link).unwrap();
        link
    };
    let places: [&dyn Fn(&Case) -> std::path::PathBuf; 3] = [&above, &within, &by_a_link];
    for place in places {
        let mut named = String::new();
        let case = with(|case| {
            named = place(case).display().to_string();
            let side = case.side().display().to_string();
            edit(case, &format!("extra_write = [\"{side}\"]"), &format!("extra_write = [\"{named}\"]"));
        });
        let state = case.home.state().join("windlass").display().to_string();
        refused(&case, &["windlass.toml:", "sandbox.extra_write", &named, &state, "--state-dir"]);
    }
}

#[test]
fn a_name_that_is_no_name() {
    let case = Setup::new(HONEST).ready();
    for name in ["../up", "a b", "", "-x", ".hidden", "x.lock", "a..b"] {
        let ran = case.windlass(&["run", &format!("--name={name}")]);
        refusal(&case, ran, &[]);
    }
}

#[test]
fn a_base_that_is_no_commit() {
    let case = Setup::new(HONEST).ready();
    let ran = case.windlass(&["run", "--name", LOOP, "--base", "no-such-ref"]);
    refusal(&case, ran, &["no-such-ref"]);
}

#[test]
fn a_task_that_was_asked_for_and_is_not_there() {
    let case = Setup::new(HONEST).ready();
    let ran = case.windlass(&["run", "--name", LOOP, "--task", "anwser"]);
    refusal(&case, ran, &["anwser", "answer"]);
}

#[test]
fn a_policy_file_that_is_not_there() {
    let case = Setup::new(HONEST).ready();
    let ran = case.windlass(&["run", "--name", LOOP, "--policy", "night.toml"]);
    refusal(&case, ran, &["night.toml"]);
}

#[test]
fn verbs_and_flags_there_are_not() {
    let case = Setup::new(HONEST).ready();
    for args in [&["rum"][..], &["run", "--nmae", LOOP], &[], &["status", "--jsno"]] {
        let ran = case.windlass(args);
        refusal(&case, ran, &[]);
    }
}

#[test]
fn a_dry_run_changes_nothing() {
    let case = Setup::new(HONEST).ready();
    let ran = case.windlass(&["run", "--name", LOOP, "--dry-run"]).expect_code(0);
    assert!(ran.stdout.contains("answer") && ran.stdout.contains("test.sh"), "{ran}");
    case.nothing_was_made();
}

#[test]
fn reading_where_nothing_is_makes_nothing() {
    let case = Setup::new(HONEST).ready();
    for args in [&["list"][..], &["status"], &["log"], &["findings"], &["cancel"], &["config", "explain"]] {
        let ran = case.windlass(args);
        assert!(ran.status.code().is_some_and(|code| code != 101), "{args:?}: {ran}");
        case.nothing_was_made();
    }
}
