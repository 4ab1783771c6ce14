//! What a person sees of a run: in a pipe, on a terminal, and from another process.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;

use rustix::process::Signal;
use windlass_testkit::{Ran, alive, capability, poll};

use crate::case::{Case, LONG, LOOP, RUN, Setup};

const HONEST: &str = "echo 42 >answer.txt\ncomplete";
/// Says what it wants before it is red.
const LOUD: &str = "for n in 1 2 3 4 5 6 7 8 9 10 11 12; do echo \"line $n\"; done\n\
                    echo \"wanted 42, found $(cat answer.txt)\"\ntest \"$(cat answer.txt)\" = 42\n";
const TOKEN: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";

#[test]
fn a_run_begins_with_a_banner() {
    let case = Setup::new(HONEST).limits("max_iterations = 7").more("[budget]\ncost_usd = 2.5\n").ready();
    let seen = case.run();
    seen.completed();
    let shown = &seen.ran.stdout;
    for line in [
        "loop demo1: 0 of 1 task done",
        "  agent     command; no reviews",
        "  limits    7 of 7 iterations left, 2.50 of 2.50 USD left",
        "  stop      Ctrl-C (everything is saved), or windlass pause demo1",
        "  watch     windlass attach demo1, from another terminal",
    ] {
        assert!(shown.contains(line), "{line}\n{shown}");
    }
    assert!(shown.find("loop demo1") < shown.find("iteration 1 of "), "{shown}");
}

#[test]
fn a_red_base_is_told_before_the_first_attempt_with_what_it_printed() {
    let case = Setup::new(HONEST).file("test.sh", LOUD).ready();
    let seen = case.run();
    seen.completed();
    let shown = &seen.ran.stdout;
    let at = |words: &str| shown.find(words).unwrap_or_else(|| panic!("{words}\n{shown}"));
    assert!(at("check test: exit 1") < at("wanted 42, found 0"), "{shown}");
    let meaning = "the base is red: check test fails before any work. windlass goes on: a task is done only \
                   when its checks are green, whoever broke them";
    assert!(at("wanted 42, found 0") < at(meaning) && at(meaning) < at("iteration 1 of "), "{shown}");
    assert!(shown.contains("line 12") && !shown.contains("line 4\n"), "only its last lines: {shown}");
    assert_eq!(shown.matches("check test: exit 1").count(), 1, "told once: {shown}");
}

#[test]
fn what_a_command_agent_prints_is_relayed_without_secrets() {
    let case = Setup::new(&format!("echo I look at it first\necho 'token {TOKEN}' >&2\n{HONEST}")).ready();
    let seen = case.run();
    seen.completed();
    assert!(seen.ran.stdout.contains("            I look at it first\n"), "{}", seen.ran);
    assert!(seen.ran.stdout.contains("token [redacted:"), "{}", seen.ran);
    assert!(!seen.ran.stdout.contains(TOKEN), "{}", seen.ran);
    for kept in live_files(&case) {
        assert!(!std::fs::read_to_string(&kept).unwrap().contains(TOKEN), "{}", kept.display());
    }
}

#[test]
fn nothing_is_cut_in_a_pipe() {
    let title = format!("Write {} to the end", "a long title ".repeat(7));
    let case = Setup::new(
        "say '\"status\":\"blocked\",\"summary\":\"no\",\"blockers\":[\"BLOCKER\"],\"next\":[]'"
            .replace("BLOCKER", &"the reason is long ".repeat(20))
            .as_str(),
    )
    .task("answer", &format!("# {title}\n\nDo it.\n"))
    .ready();
    let seen = case.run();
    seen.blocked("agent_blocked");
    for shown in [&seen.ran.stdout, &case.windlass(&["status", LOOP]).expect_code(0).stdout] {
        assert!(shown.contains(title.trim()), "{shown}");
        assert!(shown.contains("the reason is long the reason is long"), "{shown}");
        assert!(!shown.contains('…'), "{shown}");
    }
}

/// Runs the loop on a terminal of this many columns; none where there is no way to have one.
fn on_a_terminal(case: &Case, columns: u32, variables: &[(&str, &str)]) -> Option<Ran> {
    typed_on_a_terminal(case, columns, variables, &format!("run --name {LOOP}"))
}

fn typed_on_a_terminal(case: &Case, columns: u32, variables: &[(&str, &str)], typed: &str) -> Option<Ran> {
    let mut command = Command::new(capability::program("script")?);
    let line = format!("stty cols {columns} rows 24; exec {} {typed}", case.home.binary().display());
    case.home.isolate(command.args(["-qec", &line, "/dev/null"]).current_dir(case.repo.path()));
    command.env("SHELL", "/bin/sh").env("TERM", "xterm").envs(variables.iter().copied());
    Some(case.home.start(command).finish(RUN))
}

fn long_task() -> Case {
    let title = "Write the answer that the test of this small repository wants to find in its file";
    Setup::new(HONEST).file("test.sh", LOUD).task("answer", &format!("# {title}\n\nDo it.\n")).ready()
}

#[test]
fn a_terminal_breaks_what_matters_and_draws_its_live_line() {
    let case = long_task();
    let Some(ran) = on_a_terminal(&case, 50, &[]) else { return };
    let shown = ran.stdout.replace('\r', "");
    assert!(shown.contains("\u{1b}[31m") && shown.contains("\u{1b}[K"), "coloured, and drawn again: {shown}");
    let plain: String = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(plain.contains("whoever broke them"), "{plain}");
    assert!(plain.contains("small repository wants to find in its file"), "{plain}");
    assert!(plain.contains("answer (task 1 of 1) execute attempt 1"), "{plain}");
    let wide: Vec<&str> =
        shown.lines().filter(|line| !line.contains('\u{1b}') && line.chars().count() > 50).collect();
    assert!(wide.is_empty(), "{wide:#?}");
}

#[test]
fn lists_and_pages_are_broken_between_words() {
    let case = long_task();
    case.run();
    let name = "a-loop-with-a-name-of-so-many-words";
    for typed in [
        &format!("log {LOOP}"),
        "config explain agent.network",
        &format!("run --detach --name {name}"),
        "init --force --no-try",
    ] {
        let Some(ran) = typed_on_a_terminal(&case, 60, &[("NO_COLOR", "1")], typed) else { return };
        let shown = ran.stdout.replace('\r', "");
        let is_wide = |line: &&str| line.chars().count() > 60 && line.trim().contains(' ');
        let wide: Vec<&str> = shown.lines().filter(is_wide).collect();
        assert!(!shown.trim().is_empty() && wide.is_empty(), "{typed}: {wide:#?}\n{shown}");
    }
    let has_ended = || case.windlass(&["status", name, "--json"]).json()["status"] == "ended";
    assert!(poll::until(RUN, has_ended));
}

#[test]
fn no_color_and_a_dumb_terminal_are_respected() {
    let case = long_task();
    let Some(ran) = on_a_terminal(&case, 80, &[("NO_COLOR", "1")]) else { return };
    assert!(ran.stdout.contains("\u{1b}[K") && !ran.stdout.contains("\u{1b}[3"), "{ran}");
    let case = long_task();
    let Some(ran) = on_a_terminal(&case, 80, &[("TERM", "dumb")]) else { return };
    assert!(!ran.stdout.contains('\u{1b}'), "{ran}");
    let case = long_task();
    let Some(ran) = on_a_terminal(&case, 200, &[("TERM", "dumb"), ("COLUMNS", "40")]) else { return };
    let wide: Vec<&str> = ran.stdout.lines().filter(|line| line.trim_end().chars().count() > 60).collect();
    assert!(wide.is_empty(), "{wide:#?}");
}

#[test]
fn another_process_sees_what_the_run_shows() {
    let case = Setup::new(&format!("echo I wait for you\nhold\necho and I go on\n{HONEST}"))
        .file("test.sh", LOUD)
        .ready();
    let running = case.start_until("author", 1);
    for kept in live_files(&case) {
        assert_eq!(std::fs::metadata(&kept).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let watching = case.home.start(case.command(&["attach"]));
    let sees = poll::until(LONG, || watching.stdout().contains("I wait for you"));
    assert!(sees, "{}\n{}", watching.stdout(), watching.stderr());
    case.leave("go");
    let ended = running.finish(RUN);
    let ran = watching.finish(LONG).expect_code(0);
    case.look(ended).completed();
    for words in [
        "loop demo1: 0 of 1 task done",
        "iteration 1 of 30: answer",
        "and I go on",
        "task answer done",
        "completed (proven)",
    ] {
        assert_eq!(ran.stdout.matches(words).count(), 1, "{words}\n{ran}");
    }
    assert!(ran.stdout.contains("check test: exit 0"), "{ran}");
}

#[test]
fn leaving_the_screen_of_a_run_leaves_it_running() {
    let case = Setup::new(&format!("hold\n{HONEST}")).ready();
    let running = case.start_until("author", 1);
    let watching = case.home.start(case.command(&["attach", LOOP]));
    assert!(poll::until(LONG, || watching.stdout().contains("loop demo1")), "{}", watching.stderr());
    watching.signal(Signal::INT);
    let left = watching.finish(LONG).expect_code(130);
    assert!(left.stdout.contains("  leave     Ctrl-C (the run goes on)\n"), "{left}");
    assert!(left.stdout.contains("demo1 goes on. next: windlass attach demo1"), "{left}");
    assert_eq!(case.status()["status"], "running");
    for kept in live_files(&case) {
        std::fs::write(&kept, b"{\"at\":\n\xff\xfe torn").unwrap();
    }
    let watching = case.home.start(case.command(&["attach", LOOP]));
    assert!(poll::until(LONG, || watching.stdout().contains("loop demo1")), "{}", watching.stderr());
    case.leave("go");
    let ended = running.finish(RUN);
    watching.finish(LONG).expect_code(0);
    case.look(ended).completed();
    let after = case.windlass(&["attach", LOOP]).expect_code(0);
    assert!(after.stdout.contains("nobody drives demo1 now"), "{after}");
}

#[test]
fn a_detached_run_goes_on_when_its_session_is_gone() {
    let case = Setup::new(&format!("hold\n{HONEST}")).ready();
    let mut leader = Command::new("setsid");
    let binary = case.home.binary().display().to_string();
    let script = format!("'{binary}' run --name {LOOP} --detach; kill -HUP 0; sleep 60");
    case.home.isolate(leader.args(["--wait", "sh", "-c", &script]).current_dir(case.repo.path()));
    let started = case.home.start(leader).finish(LONG);
    assert_ne!(started.status.code(), Some(0), "its session was hung up: {started}");
    assert!(started.stdout.contains("demo1 is running in the background (process "), "{started}");
    assert!(started.stdout.contains("windlass attach demo1"), "{started}");
    assert!(poll::until(LONG, || case.turns("author") == 1), "{started}");
    let second = case.windlass(&["run", "--name", LOOP, "--detach"]);
    assert!(second.code() != 0 && second.stderr.contains("windlass attach demo1"), "{second}");
    let watching = case.home.start(case.command(&["attach", LOOP]));
    assert!(poll::until(LONG, || watching.stdout().contains("loop demo1")), "{}", watching.stderr());
    case.leave("go");
    let watched = watching.finish(RUN).expect_code(0);
    assert!(alive::left_after(LONG, &case.token()).is_empty(), "the drive ended");
    let seen = case.look(watched);
    seen.completed();
    assert_eq!(seen.log.count("interrupted"), 0, "{}", seen.log);
}

#[test]
fn what_keeps_a_detached_run_from_starting_is_told_at_once() {
    let case = Setup::new(HONEST).ready();
    let refused =
        case.windlass(&["run", "--name", LOOP, "--detach", "--set", "agent.command=[\"no-such-agent\"]"]);
    assert_ne!(refused.code(), 0, "{refused}");
    assert!(refused.stderr.contains("no-such-agent"), "{refused}");
    case.nothing_was_made();
}

/// Where what is heard is kept.
fn live_files(case: &Case) -> Vec<PathBuf> {
    let vaults = std::fs::read_dir(case.home.state().join("windlass/vaults")).unwrap();
    let of = |vault: PathBuf| ["live", "live-older"].map(|name| vault.join(format!("cache/{LOOP}.{name}")));
    let there: Vec<_> =
        vaults.flatten().flat_map(|entry| of(entry.path())).filter(|path| path.exists()).collect();
    assert!(!there.is_empty(), "nothing is kept");
    there
}
