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
        (&placeholder.replace('\n', "\r\n"), "still the placeholder"),
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
    std::fs::write(&codex, "#!/bin/sh\n[ \"$1\" = --version ] || exec sleep 600\necho codex-cli 0.166.0\n")
        .unwrap();
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
    case.windlass(&["init", "--force", "--no-plan", "Make it faster"]).expect_code(0);
    let first = case.repo.path().join("tasks/001-first.md");
    assert!(std::fs::read_to_string(first).unwrap().contains("Make it faster"));
    case.windlass(&["init", "--force", "--no-plan", "Make it smaller"]).expect_code(0);
    let second = case.repo.path().join("tasks/002-goal.md");
    assert!(std::fs::read_to_string(second).unwrap().contains("Make it smaller"));
}

#[test]
fn an_agent_finds_its_programs_in_a_login_shell_too() {
    let home = windlass_testkit::Scratch::new(env!("CARGO_BIN_EXE_windlass"));
    let programs = home.path().join("programs");
    std::fs::create_dir_all(&programs).unwrap();
    let tool = programs.join("only-here");
    std::fs::write(&tool, "#!/bin/sh\necho found\n").unwrap();
    std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
    // Debian's own /etc/profile sets a PATH without regard to the one there is.
    let agent = "sh -lc only-here >\"$side/login\" 2>&1\necho 42 >answer.txt\ncomplete";
    let case = Setup::new(agent).level("auto").home(home).ready();
    let mut command = case.command(&["run", "--name", crate::case::LOOP]);
    command.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", programs.display()));
    let ran = case.home.start(command).finish(crate::case::RUN);
    case.look(ran).completed();
    assert_eq!(case.left("login").trim(), "found");
}

#[test]
fn windlass_files_that_are_not_committed_are_no_reason_for_a_warning() {
    let case = honest();
    std::fs::remove_file(case.repo.path().join("windlass.toml")).unwrap();
    std::fs::remove_dir_all(case.repo.path().join("tasks")).unwrap();
    case.repo.commit("a clone");
    let policy = "[agent]\nuse = \"command\"\ncommand = [\"true\"]\n[plan]\nsource = \"tasks/\"\n";
    case.repo.file("windlass.toml", policy).file("tasks/001-first.md", "# Do it\n");
    let told = case.windlass(&["run", "--dry-run"]);
    let said = format!("{}{}", told.stdout, told.stderr);
    assert!(!said.contains("changed files"), "{told}");
    case.repo.file("mine.txt", "");
    let told = case.windlass(&["run", "--dry-run"]);
    let said = format!("{}{}", told.stdout, told.stderr);
    assert!(said.contains("changed files in your checkout: mine.txt"), "{told}");
}

/// Codex as npm installs it, with nobody signed in.
fn signed_out_codex(case: &Case) -> String {
    let programs = case.side().join("node_modules/.bin");
    std::fs::create_dir_all(&programs).unwrap();
    let codex = programs.join("codex");
    std::fs::write(&codex, "#!/bin/sh\necho codex-cli 0.166.0\n").unwrap();
    std::fs::set_permissions(&codex, std::fs::Permissions::from_mode(0o755)).unwrap();
    case.repo.file("windlass.toml", "[agent]\nuse = \"codex\"\n[plan]\nsource = \"tasks/\"\n");
    format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default())
}

#[test]
fn an_agent_that_nobody_is_signed_in_to_is_refused_before_the_first_attempt() {
    let case = honest();
    let path = signed_out_codex(&case);
    let case = case.looked_at();
    let with = |args: &[&str], key: &str| {
        let mut command = case.command(args);
        command.env("PATH", &path).env("CODEX_API_KEY", key);
        case.home.start(command).finish(LONG)
    };
    let refused = with(&["run"], "").expect_code(2);
    assert!(refused.stderr.contains("nobody is signed in to codex"), "{refused}");
    assert!(refused.stderr.contains("sign in: codex login; or set"), "{refused}");
    case.nothing_was_made();
    let told = with(&["doctor"], "").expect_code(1).stdout;
    let row = told.lines().find(|line| line.starts_with("missing") && line.contains("agent"));
    assert!(row.is_some_and(|row| row.contains("signed in")) && told.contains("codex login"), "{told}");
    let keyed = with(&["run", "--dry-run"], "a-key").expect_code(0);
    assert!(!keyed.stderr.contains("signed in"), "{keyed}");
    let mut begun = case.command(&["run", "--name", "begun"]);
    begun.env("PATH", &path).env("CODEX_API_KEY", "a-key");
    let begun = case.home.start(begun);
    let is_there = || case.windlass(&["log", "begun"]).stdout.contains("attempt 1 started");
    assert!(windlass_testkit::poll::until(LONG, is_there));
    begun.kill();
    let refused = with(&["run", "begun"], "").expect_code(2);
    assert!(refused.stderr.contains("nobody is signed in to codex"), "{refused}");
}

#[test]
fn a_run_without_reviews_needs_no_reviewer_who_is_signed_in() {
    let case = honest();
    let path = signed_out_codex(&case);
    let policy = format!(
        "[agent]\nuse = \"command\"\ncommand = [\"sh\", {:?}]\n[role.reviewer]\nuse = \"codex\"\n[plan]\nsource = \
         \"tasks/\"\n[gate]\n[[gate.check]]\nname = \"test\"\nrun = \"sh ./test.sh\"\n",
        case.side().join("agent.sh").display().to_string()
    );
    case.repo.file("windlass.toml", policy);
    let with = |args: &[&str]| {
        let mut command = case.command(args);
        command.env("PATH", &path).env("CODEX_API_KEY", "");
        case.home.start(command).finish(LONG)
    };
    let refused = with(&["run", "--dry-run"]).expect_code(2);
    assert!(refused.stderr.contains("the reviewer cannot be called: nobody is signed in"), "{refused}");
    with(&["run", "--dry-run", "--no-review"]).expect_code(0);
}

#[test]
fn a_probe_prints_no_protocol() {
    let case = honest();
    let codex = case.side().join("codex");
    let script = "#!/bin/sh\ncase $1 in --version) echo codex-cli 0.166.0 ;;\n\
                  *) echo '{\"type\":\"thread.started\",\"thread_id\":\"1\"}'; exit 1 ;; esac\n";
    std::fs::write(&codex, script).unwrap();
    std::fs::set_permissions(&codex, std::fs::Permissions::from_mode(0o755)).unwrap();
    let policy = format!("[agent]\nuse = \"codex\"\npath = {:?}\n", codex.display().to_string());
    case.repo.file("windlass.toml", policy);
    let told = case.windlass(&["agents", "--probe", "codex"]).expect_code(1);
    assert!(!told.stdout.contains("thread.started"), "{told}");
}

#[test]
fn agents_look_at_the_configuration_of_the_user_and_of_the_project() {
    let case = honest();
    let path = signed_out_codex(&case);
    let bare = std::fs::read_to_string(case.repo.path().join("windlass.toml")).unwrap();
    let outside = case.home.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    let told = |dir: &std::path::Path, args: &[&str]| {
        let mut command = case.home.command(dir, args);
        command.env("PATH", &path);
        case.home.start(command).finish(LONG)
    };
    let is_signed_out = |dir: &std::path::Path| {
        let listed = told(dir, &["agents"]).expect_code(0).stdout;
        listed.lines().any(|line| line.starts_with("no key") && line.contains("codex"))
    };
    assert!(is_signed_out(case.repo.path()) && is_signed_out(&outside));
    let provider = "args = [\"-c\", \"model_provider=mine\"]\n";
    case.repo.file("windlass.toml", bare.replacen("[plan]", &format!("{provider}[plan]"), 1));
    assert!(!is_signed_out(case.repo.path()) && is_signed_out(&outside));
    case.repo.file("windlass.toml", bare);
    let own = case.home.config().join("windlass/config.toml");
    std::fs::create_dir_all(own.parent().unwrap()).unwrap();
    std::fs::write(&own, format!("[agent]\nuse = \"codex\"\ntimeout = \"77s\"\n{provider}")).unwrap();
    assert!(!is_signed_out(case.repo.path()) && !is_signed_out(&outside));
    std::fs::write(&own, "[agent]\nuse = \"codex\"\npath = \"/no/such/codex\"\n").unwrap();
    let probed = told(&outside, &["agents", "--probe", "codex"]).expect_code(1);
    assert!(probed.stderr.contains("/no/such/codex"), "{probed}");
}

#[test]
fn a_probe_says_what_it_does_while_it_waits() {
    let case = honest();
    let codex = case.side().join("codex");
    let script = "#!/bin/sh\ncase $1 in --version) echo codex-cli 0.166.0 ;; *) sleep 7; exit 1 ;; esac\n";
    std::fs::write(&codex, script).unwrap();
    std::fs::set_permissions(&codex, std::fs::Permissions::from_mode(0o755)).unwrap();
    let policy = format!("[agent]\nuse = \"codex\"\npath = {:?}\n", codex.display().to_string());
    case.repo.file("windlass.toml", policy);
    let told = case.windlass(&["agents", "--probe", "codex"]).expect_code(1);
    assert!(told.stdout.starts_with("calling codex once, confined as an attempt is\n"), "{told}");
    assert!(told.stdout.contains("waiting for its answer, 5 s"), "{told}");
    let json = case.windlass(&["agents", "--probe", "codex", "--json"]).expect_code(1);
    assert_eq!(json.json()["ok"], false, "nothing but JSON: {json}");
}
