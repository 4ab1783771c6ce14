//! Others act while a loop runs: the user in the repository, an operator in
//! ten terminals, somebody with `kill`.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use windlass_testkit::scratch::Running;
use windlass_testkit::{alive, capability, poll};

use crate::case::{Case, LONG, LOOP, RUN, Setup};

/// Waits in its first turn until it is let go, then works.
const HELD: &str = "if [ $n -eq 1 ]; then hold; fi\necho 42 >answer.txt\ncomplete";

#[test]
fn the_user_commits_meanwhile() {
    let case = Setup::new(HELD).ready();
    let base = case.repo.rev("HEAD");
    let running = case.start_until("author", 1);
    case.repo.file("README.md", "# Another question\n");
    let mine = case.repo.commit("mine");
    let case = case.looked_at();
    case.leave("go");
    let seen = case.look(running.finish(RUN));
    seen.completed();
    assert_eq!(seen.view["base"], base);
    assert_eq!(case.repo.rev("main"), mine);
    assert_eq!(case.repo.rev(&format!("windlass/{LOOP}~1")), base, "the work stands on its base");
}

/// The vault stands alone: what the user's own git throws away is still there.
#[test]
fn the_user_rewrites_history_and_collects_garbage_meanwhile() {
    let case = Setup::new(HELD).ready();
    let base = case.repo.rev("HEAD");
    let running = case.start_until("author", 1);
    case.repo.file("README.md", "# Another question\n");
    case.repo.git(["commit", "--quiet", "--all", "--amend", "-m", "as if it had never been"]);
    case.repo.git(["reflog", "expire", "--expire=now", "--all"]);
    case.repo.git(["gc", "--quiet", "--prune=now"]);
    assert!(!case.repo.try_git(["cat-file", "-e", &base]).status.success(), "the base is gone");
    let case = case.looked_at();
    case.leave("go");
    case.look(running.finish(RUN)).completed();
    assert_eq!(case.repo.rev(&format!("windlass/{LOOP}~1")), base, "it came with the work");
    assert_eq!(case.repo.git(["fsck", "--no-dangling"]), "");
}

#[test]
fn ten_operators_are_each_heard_once() {
    let case = Setup::new(HELD).ready();
    let running = case.start_until("author", 1);
    let notes: Vec<Running> = (0..10)
        .map(|number| case.home.start(case.command(&["note", LOOP, &format!("note number {number}")])))
        .collect();
    for note in notes {
        note.finish(LONG).expect_code(0);
    }
    case.leave("go");
    let seen = case.look(running.finish(RUN));
    seen.completed();
    let mut texts: Vec<_> =
        seen.log.of("noted").iter().map(|line| line["text"].as_str().unwrap().to_owned()).collect();
    texts.sort();
    let wanted: Vec<_> = (0..10).map(|number| format!("note number {number}")).collect();
    assert_eq!(texts, wanted);
}

/// I14: exit 0 is a promise that survives `kill -9`.
#[test]
fn what_was_acknowledged_survives_the_owner() {
    let case = Setup::new("hold\necho 42 >answer.txt\ncomplete").ready();
    for round in 0..4 {
        let running = if round == 0 { case.start_until("author", 1) } else { started(&case, round) };
        case.windlass(&["note", LOOP, &format!("round {round}")]).expect_code(0);
        running.kill();
    }
    case.leave("go");
    let seen = case.run();
    seen.completed();
    let texts: Vec<_> = seen.log.of("noted").iter().map(|line| line["text"].clone()).collect();
    assert_eq!(texts, ["round 0", "round 1", "round 2", "round 3"]);
}

/// A run that has taken the loop over.
fn started(case: &Case, round: usize) -> Running {
    let running = case.start();
    let resumed = poll::until(LONG, || case.log().count("run_resumed") >= round);
    assert!(resumed, "{}", running.stderr());
    running
}

#[test]
fn commands_wait_in_line_and_are_taken_in_order() {
    let case = Setup::new(HELD).ready();
    let running = case.start_until("author", 1);
    for command in [
        &["pause", LOOP][..],
        &["resume", LOOP],
        &["pause", LOOP],
        &["steer", LOOP, "slowly"],
        &["resume", LOOP],
    ] {
        case.windlass(command).expect_code(0);
    }
    case.leave("go");
    let seen = case.look(running.finish(RUN));
    seen.completed();
    let names: Vec<_> = seen.log.of("command_taken").iter().map(|line| line["name"].clone()).collect();
    assert_eq!(names, ["pause", "resume", "pause", "steer", "resume"]);
}

/// Whoever stands over the attempt is killed: the attempt dies with it, and is tried again.
#[test]
fn a_killed_warden_takes_its_attempt_with_it() {
    if capability::program("flock").is_none() {
        return;
    }
    let agent = "exec 9>\"$side/lock\"\nflock -n 9 || echo \"turn $n beside another\" >>\"$side/violations\"\n\
                 if [ $n -eq 1 ]; then hold; fi\necho 42 >answer.txt\ncomplete";
    let case = Setup::new(agent).agent_keys("grace = \"300ms\"").ready();
    let running = case.start_until("author", 1);
    let wardens = alive::wardens(running.id());
    assert!(!wardens.is_empty(), "nobody stands over the attempt");
    for warden in wardens {
        let id = Pid::from_raw(i32::try_from(warden).unwrap()).unwrap();
        kill_process(id, Signal::KILL).unwrap();
    }
    let seen = case.look(running.finish(RUN));
    seen.completed();
    assert_eq!(case.left("violations"), "", "never a second agent beside a first");
    assert_eq!(seen.task("answer")["failures"], 0);
}

#[test]
fn a_reader_of_the_log_may_go_away() {
    let case = Setup::new("echo 42 >answer.txt\ncomplete").ready();
    case.run().completed();
    let shell = format!("'{}' log {LOOP} --json | head -n 1", case.home.binary().display());
    let mut command = std::process::Command::new("sh");
    case.home.isolate(command.args(["-c", &shell]).current_dir(case.repo.path()));
    let ran = case.home.start(command).finish(Duration::from_secs(60)).expect_code(0);
    assert_eq!((ran.stdout.lines().count(), ran.stderr.as_str()), (1, ""), "{ran}");
}
