//! A machine or a directory that will not do is refused before anything is made.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use windlass_driver::registry::{AGENTS, KnownAgent};
use windlass_testkit::{Repo, Scratch, capability};

use crate::case::{Case, LOOP, RUN, Setup, TEST};

const HONEST: &str = "echo 42 >answer.txt\ncomplete";

#[track_caller]
fn refused_with(case: &Case, env: (&str, &Path), said: &[&str]) {
    let mut command = case.command(&["run", "--name", LOOP]);
    command.env(env.0, env.1);
    let ran = case.home.start(command).finish(RUN).expect_code(2);
    for words in said {
        assert!(ran.stderr.contains(words), "{words:?} is not said: {ran}");
    }
    case.nothing_was_made();
    assert_eq!(case.turns("author"), 0);
}

#[test]
fn not_a_repository() {
    let home = Scratch::new(env!("CARGO_BIN_EXE_windlass"));
    let plain = home.path().join("plain");
    fs::create_dir(&plain).unwrap();
    let ran = home.run(&plain, ["run", "--name", LOOP]).expect_code(2);
    assert!(ran.stderr.contains(&plain.display().to_string()), "the place: {ran}");
    assert!(ran.stderr.contains("not a git repository") && ran.stderr.contains("init --git"), "{ran}");
    assert_eq!(fs::read_dir(&plain).unwrap().count(), 0);
    assert_eq!(fs::read_dir(home.state()).unwrap().count(), 0);
}

#[test]
fn a_project_that_is_not_there() {
    let home = Scratch::new(env!("CARGO_BIN_EXE_windlass"));
    let ran = home.run(home.path(), ["-C", "/nonexistent/project", "run"]).expect_code(2);
    assert!(ran.stderr.contains("/nonexistent/project"), "{ran}");
}

#[test]
fn a_repository_without_commits() {
    let case = Setup::on(Repo::empty(), HONEST).uncommitted();
    let ran = case.windlass(&["run", "--name", LOOP]).expect_code(2);
    assert!(ran.stderr.contains("commit"), "what to do: {ran}");
    case.nothing_was_made();
}

#[test]
fn a_bare_repository() {
    let home = Scratch::new(env!("CARGO_BIN_EXE_windlass"));
    let bare = home.path().join("bare.git");
    windlass_testkit::repo::git(home.path(), ["init", "--quiet", "--bare", &bare.display().to_string()]);
    let ran = home.run(&bare, ["run", "--name", LOOP]).expect_code(2);
    assert!(!ran.stderr.trim().is_empty(), "{ran}");
    assert_eq!(fs::read_dir(home.state()).unwrap().count(), 0);
}

/// Root may write anywhere, but not below a file.
#[test]
fn a_state_directory_below_a_file() {
    let case = Setup::new(HONEST).ready();
    let place = case.side().join("file/state");
    fs::write(case.side().join("file"), "").unwrap();
    refused_with(&case, ("WINDLASS_STATE_DIR", &place), &[&place.display().to_string(), "state-dir"]);
}

#[test]
fn a_state_directory_without_permission() {
    if !capability::ordinary_user() {
        return;
    }
    let case = Setup::new(HONEST).ready();
    let closed = case.side().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o500)).unwrap();
    let place = closed.join("state");
    refused_with(&case, ("WINDLASS_STATE_DIR", &place), &[&place.display().to_string()]);
}

#[test]
fn a_state_directory_on_a_network_file_system() {
    capability::not_run("no network file system can be had without a server and the network");
}

#[test]
fn git_that_is_missing() {
    let case = Setup::new(HONEST).ready();
    let bin = case.side().join("bin");
    fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink("/bin/sh", bin.join("sh")).unwrap();
    refused_with(&case, ("PATH", &bin), &["git", "2.38"]);
}

#[test]
fn git_that_is_too_old() {
    let case = Setup::new(HONEST).ready();
    let bin = case.side().join("bin");
    fs::create_dir(&bin).unwrap();
    for program in ["sh", "cat", "sed", "sleep"] {
        std::os::unix::fs::symlink(format!("/bin/{program}"), bin.join(program)).unwrap();
    }
    let git = bin.join("git");
    fs::write(&git, "#!/bin/sh\necho 'git version 2.30.1'\n").unwrap();
    fs::set_permissions(&git, fs::Permissions::from_mode(0o755)).unwrap();
    refused_with(&case, ("PATH", &bin), &["2.30.1", "2.38"]);
}

#[test]
fn an_agent_that_is_not_installed_says_how_to_install_it() {
    let case = Setup::new(HONEST).review("tasks = true\nfinal = false\n").ready();
    let bin = case.side().join("bin");
    fs::create_dir(&bin).unwrap();
    for program in ["sh", "git"] {
        std::os::unix::fs::symlink(capability::program(program).unwrap(), bin.join(program)).unwrap();
    }
    let refused = |set: &str, said: &[&str]| {
        let mut command = case.command(&["run", "--name", LOOP, "--set", set]);
        command.env("PATH", &bin);
        let ran = case.home.start(command).finish(RUN).expect_code(2);
        said.iter().for_each(|words| assert!(ran.stderr.contains(words), "{words:?} is not said: {ran}"));
        assert!(ran.stderr.contains("`windlass agents` lists the agents that are installed"), "{ran}");
        case.nothing_was_made();
        ran
    };
    for KnownAgent { name, npm_package, .. } in &AGENTS {
        let ran = refused(
            &format!("agent.use=\"{name}\""),
            &[
                &format!("the author cannot be called: {name} is not installed"),
                &format!("hint: install it: npm install -g {npm_package}\n"),
                "`path` under [agent] names one elsewhere",
            ],
        );
        assert!(!ran.stderr.contains("set `command`"), "{ran}");
    }
    refused("role.reviewer.command=[\"none-such\"]", &["set `command` under [agent] or [role.reviewer]"]);
}

#[test]
fn no_home_and_no_place_for_records() {
    let case = Setup::new(HONEST).ready();
    let mut command = case.command(&["run", "--name", LOOP]);
    command.env_remove("HOME").env_remove("XDG_STATE_HOME");
    let ran = case.home.start(command).finish(RUN).expect_code(2);
    assert!(ran.stderr.contains("--state-dir"), "{ran}");
    case.nothing_was_made();
}

#[test]
fn few_open_files_have_their_own_remedy_and_end_nothing_without_a_word() {
    let case = Setup::new("echo 42 >answer.txt\ncomplete").level("auto").ready();
    for most in [12, 16, 24, 32, 48, 64] {
        let mut shell = std::process::Command::new("bash");
        shell
            .args(["-c", &format!("ulimit -n {most}; exec \"$0\" run --name {LOOP}")])
            .arg(case.home.binary());
        case.home.isolate(shell.current_dir(case.repo.path()));
        let ran = case.home.start(shell).finish(RUN);
        // Fewer than a root directory has parts may do on a small machine.
        if ran.status.code() == Some(0) {
            continue;
        }
        assert!(ran.status.code().is_some() && !ran.stderr.contains("docker"), "{most} {ran}");
        assert!(
            ran.stderr.contains("ulimit -n 1024") || ran.stderr.contains("Too many open files"),
            "{most} {ran}"
        );
    }
    let ran = case.windlass(&["run", "--name", LOOP]);
    case.look(ran).completed();
}

/// Runs the loop in a user namespace of the test's own, and takes PID namespaces from it once the loop waits.
fn lose_the_level(case: &Case) {
    let side = case.side().display().to_string();
    let script = format!(
        "\"$0\" run --name {LOOP} & while [ ! -e {side}/author ] && kill -0 $!; do sleep 0.05; done
echo 0 >/proc/sys/user/max_pid_namespaces || exit 99
touch {side}/go; wait $!"
    );
    let mut shell = std::process::Command::new("unshare");
    shell.args(["--user", "--map-root-user", "--", "bash", "-c", &script]).arg(case.home.binary());
    case.home.isolate(shell.current_dir(case.repo.path()));
    let ran = case.home.start(shell).finish(RUN);
    if ran.stderr.contains("cannot provide")
        || ran.stderr.contains("unshare:")
        || ran.status.code() == Some(99)
    {
        return capability::not_run(&format!("level namespaces in a user namespace: {ran}"));
    }
    assert_eq!(ran.status.code(), Some(6), "{ran}");
    let status = case.status();
    assert_eq!(status["paused"]["why"], "sandbox_unavailable", "{status:#}");
    assert!(status["paused"]["detail"].as_str().unwrap().contains("no PID namespace"), "{status:#}");
    case.windlass(&["resume", LOOP]).expect_code(0);
    case.run().completed();
    assert_eq!(case.turns("author"), 1, "what was done is not done again");
}

#[test]
fn a_level_that_is_lost_before_a_check_is_no_red_gate() {
    lose_the_level(&Setup::new("hold\necho 42 >answer.txt\ncomplete").level("namespaces").ready());
}

#[test]
fn a_level_that_is_lost_before_an_attempt_is_no_failure_of_the_agent() {
    let case = Setup::new(HONEST).level("namespaces").uncommitted();
    let side = case.side().display().to_string();
    let waits = format!("touch {side}/author\nwhile [ ! -e {side}/go ]; do sleep 0.05; done\n{TEST}");
    case.repo.file("test.sh", waits);
    case.repo.commit("first");
    lose_the_level(&case.looked_at());
}
