//! Commands from another terminal while the loop runs.

use std::time::{Duration, Instant};

use windlass_testkit::poll;
use windlass_testkit::scratch::Running;

use crate::case::{Case, LONG, LOOP, RUN, Setup};

/// Waits in its first turn until it is let go; honest from the second on.
const HELD: &str = "if [ $n -eq 1 ]; then hold; exit 0; fi\necho 42 >answer.txt\ncomplete";

/// Starts the held loop, pauses it, and lets its first attempt end: the drive waits.
fn waiting_in_a_pause() -> (Case, Running) {
    let case = Setup::new(HELD).ready();
    let mut running = case.start_until("author", 1);
    assert_eq!(case.status()["status"], "running");
    case.windlass(&["pause", LOOP]).expect_code(0);
    case.leave("go");
    let said = "paused by the operator; windlass resume demo1 goes on";
    let waits = poll::until(LONG, || running.has_ended() || running.stdout().contains(said));
    assert!(waits && !running.has_ended(), "{}", running.stdout());
    assert_eq!((case.status()["status"].as_str(), case.turns("author")), (Some("paused"), 1));
    (case, running)
}

#[test]
fn a_loop_that_somebody_drives_is_one_exit_code_everywhere() {
    let case = Setup::new("hold\necho 42 >answer.txt\ncomplete").ready();
    let running = case.start_until("author", 1);
    let pid = running.id();
    let asked: [&[&str]; 5] = [
        &["run", LOOP],
        &["run", "--name", LOOP],
        &["run", LOOP, "--detach"],
        &["run", LOOP, "--continuous", "--max-cycles", "1"],
        &["rm", LOOP],
    ];
    for words in asked {
        let refused = case.windlass(words).expect_code(6);
        assert!(refused.stderr.contains(&format!("process {pid}")), "{refused}");
    }
    case.leave("go");
    case.look(running.finish(LONG)).completed();
}

#[test]
fn pause_lets_the_attempt_finish_and_resume_alone_goes_on() {
    let (case, running) = waiting_in_a_pause();
    let again = case.windlass(&["run", "--name", LOOP]).expect_code(6);
    assert!(again.stdout.contains("paused"), "it says why: {again}");
    assert_eq!(case.turns("author"), 1);

    let told = case.windlass(&["resume", LOOP]).expect_code(0);
    assert!(told.stdout.contains("demo1 goes on; it is still running."), "{told}");
    let seen = case.look(running.finish(RUN));
    seen.completed();
    assert_eq!((seen.log.count("resumed"), seen.log.count("run_started")), (1, 1));
    assert_eq!(seen.task("answer")["failures"], 0);
    assert_eq!(case.turns("author"), 2);
}

#[test]
fn an_interrupted_pause_stays_paused() {
    let (case, running) = waiting_in_a_pause();
    running.signal(rustix::process::Signal::INT);
    let seen = case.look(running.finish(RUN));
    assert_eq!((seen.ran.code(), seen.view["status"].as_str()), (130, Some("paused")), "{}", seen.ran);
    assert!(seen.ran.stdout.contains("next: windlass resume demo1"), "{}", seen.ran);
    case.windlass(&["run", "--name", LOOP]).expect_code(6);
    case.windlass(&["resume", LOOP]).expect_code(0);
    case.run().completed();
}

#[test]
fn a_cancel_ends_a_drive_that_waits_in_a_pause() {
    let (case, running) = waiting_in_a_pause();
    case.windlass(&["cancel", LOOP]).expect_code(0);
    case.look(running.finish(RUN)).ended(5, "cancelled", "operator");
}

#[test]
fn resume_lets_a_running_loop_go_on() {
    let case = Setup::new(HELD).ready();
    let running = case.start_until("author", 1);
    case.windlass(&["pause", LOOP]).expect_code(0);
    case.windlass(&["resume", LOOP]).expect_code(0);
    case.leave("go");
    case.look(running.finish(RUN)).completed();
}

#[test]
fn cancel_ends_the_attempt_and_the_run() {
    let case = Setup::new("trap '' TERM\necho half >half.txt\nhold").agent_keys("grace = \"3s\"").ready();
    let running = case.start_until("author", 1);
    let told = case.windlass(&["cancel", LOOP]).expect_code(0);
    assert!(told.stdout.contains("demo1 is being cancelled"), "its agent has not ended yet: {told}");
    let seen = case.look(running.finish(LONG));
    seen.ended(5, "cancelled", "operator");
    case.windlass(&["run", "--name", LOOP]).expect_code(5);
    assert_eq!(case.turns("author"), 1, "a cancelled loop launches nothing");

    case.agent("cp half.txt \"$side/found\"\necho 42 >answer.txt\ncomplete");
    case.windlass(&["restart", LOOP]).expect_code(0);
    case.run().completed();
    assert_eq!(case.left("found").trim(), "half", "the work of the cancelled attempt was kept");
}

#[test]
fn a_command_is_taken_at_once() {
    let case = Setup::new(HELD).ready();
    let running = case.start_until("author", 1);
    let begun = Instant::now();
    case.windlass(&["note", LOOP, "as seen from outside"]).expect_code(0);
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    let log = case.log();
    assert!(log.of("noted").iter().any(|line| line["text"] == "as seen from outside"), "{log}");
    case.leave("go");
    case.look(running.finish(RUN)).completed();
}

#[test]
fn steering_is_in_the_next_brief() {
    let case = Setup::new(HELD).ready();
    let running = case.start_until("author", 1);
    case.windlass(&["steer", LOOP, "it is six times seven"]).expect_code(0);
    case.leave("go");
    case.look(running.finish(RUN)).completed();
    assert!(!case.left("author-1.brief").contains("six times seven"));
    assert!(case.left("author-2.brief").contains("it is six times seven"), "{}", case.left("author-2.brief"));
}

#[test]
fn waiving_the_task_at_work_ends_its_work() {
    let case = Setup::new("case $WINDLASS_TASK in a) hold ;; *) echo 42 >answer.txt ;; esac\ncomplete")
        .task("a", "# Hopeless\n")
        .task("b", "---\ndepends_on: [a]\n---\n# Possible\n")
        .ready();
    let running = case.start_until("author", 1);
    case.windlass(&["waive", LOOP, "a", "--why", "not worth it"]).expect_code(0);
    case.leave("go");
    let seen = case.look(running.finish(RUN));
    seen.ended(0, "completed", "waived").task_is("b", "done", None);
    assert_eq!(seen.task("a")["status"], "waived");
    assert_eq!(seen.log.of("task_waived")[0]["why"], "not worth it");
}

#[test]
fn a_second_run_of_the_loop_refuses_and_harms_nothing() {
    let case = Setup::new(HELD).ready();
    let running = case.start_until("author", 1);
    let second = case.windlass(&["run", "--name", LOOP]);
    assert_eq!(second.status.code(), Some(6), "{second}");
    assert!(second.stderr.contains(LOOP), "{second}");
    assert!(second.stderr.contains(&running.id().to_string()), "who has it: {second}");
    assert_eq!(case.turns("author"), 1);
    assert_eq!(case.status()["status"], "running");
    case.leave("go");
    case.look(running.finish(RUN)).completed();
}

#[test]
fn of_four_starts_at_once_one_drives_and_the_others_are_told_who() {
    let case = Setup::new("hold\necho 42 >answer.txt\ncomplete").ready();
    let mut started: Vec<Running> = (0..4).map(|_| case.start()).collect();
    let mut ended = || started.iter_mut().map(Running::has_ended).filter(|ended| *ended).count() == 3;
    assert!(poll::until(RUN, &mut ended) && poll::until(LONG, || case.turns("author") == 1), "one drives");
    let driver = started.iter_mut().position(|run| !run.has_ended()).expect("one drives");
    let driver = started.remove(driver);
    for other in started {
        let told = other.finish(LONG);
        assert_ne!(told.status.code(), Some(0), "{told}");
        let who = format!("process {}", driver.id());
        assert!(told.stderr.contains(&who) || told.stderr.contains("has just created demo1"), "{told}");
        assert!(
            told.stderr.contains("windlass attach demo1") || told.stderr.contains("windlass status demo1"),
            "{told}"
        );
    }
    case.leave("go");
    case.look(driver.finish(RUN)).completed();
}

#[test]
fn two_loops_of_one_repository_run_side_by_side() {
    let case = Setup::new("echo 42 >answer.txt\ncomplete").ready();
    let other = case.home.start(case.command(&["run", "--name", "demo2"]));
    let first = case.start().finish(RUN);
    let second = other.finish(RUN).expect_code(0);
    case.look(first).completed();
    assert!(
        case.windlass(&["status", "demo2", "--json"]).json()["outcome"]["kind"] == "completed",
        "{second}"
    );
    assert_eq!(case.repo.rev("windlass/demo1^{tree}"), case.repo.rev("windlass/demo2^{tree}"));
}

#[test]
fn the_status_of_a_running_loop_needs_its_owner() {
    let case = Setup::new(HELD).ready();
    let running = case.start_until("author", 1);
    let before = case.log().len();
    let ran = running.kill();
    assert_eq!(ran.status.code(), None);
    assert_eq!(case.status()["status"], "interrupted");
    assert_eq!(case.log().len(), before, "looking changes nothing");
    case.all_die();
    case.leave("go");
    case.run().completed();
}

#[test]
fn a_pipe_gets_plain_lines() {
    let case = Setup::new("echo 42 >answer.txt\ncomplete").ready();
    let seen = case.run();
    seen.completed();
    let shown = format!("{}{}", seen.ran.stdout, seen.ran.stderr);
    assert!(!shown.contains('\u{1b}') && !shown.contains('\r'), "no colours, no cursor: {shown:?}");
    assert!(shown.contains("answer"), "{shown}");
    assert!(shown.contains("completed"), "{shown}");
}

#[test]
fn json_of_a_run_is_the_view() {
    let case = Setup::new("echo 42 >answer.txt\ncomplete").ready();
    let ran = case.windlass(&["run", "--name", LOOP, "--json"]).expect_code(0);
    let told = ran.json();
    crate::shape::check(&told);
    assert_eq!(told, case.status());
}

#[test]
fn status_says_when_the_attempt_was_last_active() {
    let words =
        "for w in ant bee cat dog elk fox gnu hen ibex jay kite lark; do echo $w; sleep 0.2; done\nhold";
    let case = Setup::new(&format!("{words}\necho 42 >answer.txt\ncomplete"))
        .agent_keys("silence = \"20s\"")
        .ready();
    let running = case.start_until("author", 1);
    let active = || case.status()["attempt"]["last_activity"].is_string();
    assert!(poll::until(LONG, active), "{:#}", case.status());
    let attempt = case.status()["attempt"].clone();
    assert!(attempt["last_activity"].as_str() > attempt["started_at"].as_str(), "{attempt:#}");
    let page = case.windlass(&["status", LOOP]).expect_code(0);
    assert!(page.stdout.contains("author, since ") && page.stdout.contains(", last active "), "{page}");
    case.leave("go");
    let seen = case.look(running.finish(RUN));
    seen.completed();
    assert!(seen.view["attempt"].is_null());
}
