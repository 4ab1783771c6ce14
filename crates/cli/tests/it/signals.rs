//! SIGINT and SIGTERM: everything dead, everything saved, and on from there.

use std::os::unix::process::CommandExt as _;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use windlass_testkit::scratch::Running;
use windlass_testkit::{Scratch, capability, poll};

use crate::case::{Case, LONG, LOOP, Setup};

/// What the contract grants beyond the agent's own grace.
const PROMPT: Duration = Duration::from_secs(2);
/// What a busy machine may take on top.
const SLACK: Duration = Duration::from_secs(4);

fn interrupts(signal: Signal) {
    let case = Setup::new("if [ $n -eq 1 ]; then echo half >half.txt; touch \"$side/wrote\"; hold; fi\ncp half.txt \"$side/found\"\necho 42 >answer.txt\ncomplete")
        .agent_keys("grace = \"500ms\"")
        .ready();
    let running = case.start_until("author", 1);
    let wrote = || case.side().join("wrote").exists();
    assert!(windlass_testkit::poll::until(LONG, wrote), "the agent is at work");
    let sent = Instant::now();
    running.signal(signal);
    let ran = running.finish(LONG);
    let took = sent.elapsed();
    assert!(took < PROMPT + SLACK + Duration::from_millis(500), "{took:?}");
    let seen = case.look(ran);
    assert_eq!(seen.ran.code(), 130, "{}", seen.ran);
    assert_eq!(seen.view["status"], "interrupted");
    assert_eq!(seen.log.count("interrupted"), 1, "{}", seen.log);
    assert!(seen.ran.stdout.contains("run"), "how to go on: {}", seen.ran);

    let again = case.run();
    again.completed();
    assert_eq!(again.view["iteration"], 1, "the same iteration goes on");
    assert_eq!(again.log.count("run_started"), 1, "the same run");
    assert_eq!(again.log.count("attempt_started"), 2);
    assert_eq!(again.task("answer")["failures"], 0, "an interruption spends no failure");
    assert_eq!(case.left("found").trim(), "half", "its tree was kept");
}

#[test]
fn sigint_saves_and_ends() {
    interrupts(Signal::INT);
}

#[test]
fn sigterm_saves_and_ends() {
    interrupts(Signal::TERM);
}

#[test]
fn sighup_saves_and_ends() {
    interrupts(Signal::HUP);
}

/// The terminal goes away: everything of the run is told.
#[test]
fn a_run_under_nohup_survives_the_hangup() {
    let case = Setup::new("hold\necho 42 >answer.txt\ncomplete").ready();
    let mut nohup = std::process::Command::new("nohup");
    let binary = case.home.binary().to_owned();
    case.home.isolate(nohup.arg(binary).args(["run", "--name", LOOP]).current_dir(case.repo.path()));
    nohup.process_group(0);
    let running = case.home.start(nohup);
    assert!(poll::until(LONG, || case.turns("author") == 1), "{}", running.stderr());
    let group = i32::try_from(running.id()).ok().and_then(rustix::process::Pid::from_raw);
    rustix::process::kill_process_group(group.expect("an id"), Signal::HUP).expect("its group is there");
    running.signal(Signal::HUP);
    case.leave("go");
    let seen = case.look(running.finish(LONG));
    seen.completed();
    assert_eq!(seen.log.count("interrupted"), 0, "{}", seen.log);
    assert_eq!(case.turns("author"), 1, "the attempt was not disturbed");
}

#[test]
fn a_stubborn_agent_does_not_keep_windlass() {
    let case = Setup::new("if [ $n -eq 1 ]; then trap '' TERM INT HUP; hold; fi\necho 42 >answer.txt")
        .agent_keys("grace = \"1s\"")
        .ready();
    let running = case.start_until("author", 1);
    let sent = Instant::now();
    running.signal(Signal::TERM);
    let ran = running.finish(LONG);
    assert!(sent.elapsed() < PROMPT + SLACK + Duration::from_secs(1), "{:?}", sent.elapsed());
    assert_eq!(case.look(ran).ran.code(), 130);
    case.run().completed();
}

#[test]
fn a_second_signal_ends_at_once() {
    let case = Setup::new("if [ $n -eq 1 ]; then trap '' TERM INT HUP; hold; fi\necho 42 >answer.txt")
        .agent_keys("grace = \"50s\"")
        .ready();
    let running = case.start_until("author", 1);
    running.signal(Signal::INT);
    let noticed = windlass_testkit::poll::until(LONG, || case.log().count("interrupted") == 1);
    assert!(noticed, "the first signal is on record");
    let sent = Instant::now();
    running.signal(Signal::INT);
    let ran = running.finish(Duration::from_secs(20));
    assert!(sent.elapsed() < Duration::from_secs(5), "{:?}", sent.elapsed());
    assert_eq!(ran.status.code(), Some(130), "{ran}");
    let left = windlass_testkit::alive::left_after(Duration::from_secs(20), &case.token());
    assert!(left.is_empty(), "{left:?}");
    case.run().completed();
}

#[test]
fn a_signal_during_the_gate_runs_the_gate_again() {
    let case = Setup::new("echo 42 >answer.txt\ncomplete").ready();
    let side = case.side().display().to_string();
    let test = format!(
        "if [ \"$(cat answer.txt)\" = 42 ] && [ ! -e {side}/go ]; then echo >{side}/in-gate; while :; do sleep 0.05; done; fi\n{}",
        crate::case::TEST
    );
    case.repo.file("test.sh", test);
    case.repo.commit("a test that waits");
    let case = case.looked_at();
    let running = case.start();
    assert!(
        windlass_testkit::poll::until(LONG, || case.side().join("in-gate").exists()),
        "{}",
        running.stderr()
    );
    running.signal(Signal::TERM);
    let seen = case.look(running.finish(LONG));
    assert_eq!(seen.ran.code(), 130, "{}", seen.ran);
    case.leave("go");
    let again = case.run();
    again.completed();
    assert_eq!(again.log.count("attempt_started"), 1, "the author does not work twice\n{}", again.log);
}

#[test]
fn a_signal_during_a_review_asks_the_reviewer_again() {
    let case = Setup::new("echo 42 >answer.txt\ncomplete")
        .reviewer("if [ $n -eq 1 ]; then hold; fi\naccept")
        .review("tasks = true\nfinal = false\n")
        .ready();
    let running = case.start_until("reviewer", 1);
    running.signal(Signal::TERM);
    let seen = case.look(running.finish(LONG));
    assert_eq!((seen.ran.code(), seen.view["status"].as_str()), (130, Some("interrupted")), "{}", seen.ran);
    let again = case.run();
    again.completed();
    assert_eq!((case.turns("author"), case.turns("reviewer")), (1, 2));
    assert_eq!(again.view["reviews"], 1, "a review that was cut short is none");
    case.windlass(&["status", LOOP]).expect_code(0);
}

/// A loop whose drives stay in their start-up for this long.
fn held_in_start_up(millis: u32) -> Option<(Case, Running)> {
    let binary = capability::failpoints_binary()?;
    let case = Setup::new("echo 42 >answer.txt\ncomplete").home(Scratch::exactly(&binary)).ready();
    let mut command = case.command(&["run", "--name", LOOP]);
    command.env("FAILPOINTS", format!("drive::open=sleep({millis})"));
    let running = case.home.start(command);
    catches_signals(&running);
    Some((case, running))
}

/// Waits until SIGINT is an interrupt for the process, and no longer its end.
#[track_caller]
fn catches_signals(running: &Running) {
    let caught = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", running.id())).unwrap_or_default();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap_or_default();
        u64::from_str_radix(caught.trim(), 16).is_ok_and(|caught| caught & (1 << (2 - 1)) != 0)
    };
    assert!(poll::until(LONG, caught), "no handler: {}", running.stderr());
}

#[test]
fn a_signal_during_start_up_is_not_forgotten() {
    let Some((case, running)) = held_in_start_up(1500) else { return };
    running.signal(Signal::INT);
    let seen = case.look(running.finish(LONG));
    assert_eq!((seen.ran.code(), seen.view["status"].as_str()), (130, Some("interrupted")), "{}", seen.ran);
    assert_eq!(seen.log.count("interrupted"), 1, "{}", seen.log);
    assert_eq!(case.turns("author"), 0, "no agent was called");
    case.run().completed();
}

#[test]
fn a_signal_ends_the_wait_for_an_answer_and_the_command_stays() {
    let Some((case, driver)) = held_in_start_up(600_000) else { return };
    let note = case.home.start(case.command(&["note", LOOP, "kept all the same"]));
    catches_signals(&note);
    note.signal(Signal::INT);
    let ran = note.finish(Duration::from_secs(20)).expect_code(130);
    assert!(ran.stdout.contains("interrupted; the note of demo1 is recorded"), "{ran}");
    // The second signal does not wait for the start-up.
    driver.signal(Signal::INT);
    driver.signal(Signal::TERM);
    driver.finish(LONG).expect_code(130);
    let seen = case.run();
    seen.completed();
    assert!(seen.log.of("noted").iter().any(|line| line["text"] == "kept all the same"), "{}", seen.log);
}
