//! `windlass log`: local times, filters, and following a loop that runs.

use windlass_testkit::poll;

use crate::case::{Case, LONG, LOOP, RUN, Setup};

fn two_tasks() -> Case {
    Setup::new("echo x >$WINDLASS_TASK.txt\ncomplete")
        .task("a", "# The first\n")
        .task("b", "# The second\n")
        .checks("[[gate.check]]\nname = \"test\"\nrun = \"true\"\n")
        .ready()
}

fn log(case: &Case, more: &[&str]) -> String {
    case.windlass(&[&["log", LOOP], more].concat()).expect_code(0).stdout
}

#[test]
fn events_are_chosen_by_task_kind_and_age() {
    let case = two_tasks();
    case.run().completed();
    let of_b = log(&case, &["--task", "b"]);
    assert!(of_b.contains("opened: b") && of_b.contains("task b done"), "{of_b}");
    assert!(!of_b.contains("opened: a") && !of_b.contains("task a done"), "{of_b}");

    let checks = log(&case, &["--kind", "check"]);
    assert!(checks.lines().count() > 1 && checks.lines().all(|line| line.contains("check test")), "{checks}");
    let some = log(&case, &["--kind", "task,landing"]);
    assert!(some.contains("task a done") && some.contains("landed") && !some.contains("check"), "{some}");
    assert_eq!(log(&case, &["--kind", "task", "--task", "b"]).lines().count(), 1);
    assert_eq!(log(&case, &["--kind", "check", "-n", "1"]).lines().count(), 1);

    let all = log(&case, &[]);
    assert_eq!(log(&case, &["--since", "2h"]), all);
    assert_eq!(log(&case, &["--since", "2999-01-01"]), "");
    for refused in [["--kind", "chekc"], ["--since", "yesterday"], ["--task", "nope"]] {
        let ran = case.windlass(&["log", LOOP, refused[0], refused[1]]).expect_code(2);
        assert!(ran.stderr.contains("hint:"), "{ran}");
    }
}

#[test]
fn times_are_local() {
    let case = two_tasks();
    case.run().completed();
    let at = |zone: &str| {
        let mut command = case.command(&["log", LOOP, "-n", "1"]);
        command.env("TZ", zone);
        case.home.start(command).finish(LONG).expect_code(0).stdout
    };
    let hour = |line: &str| {
        line.split_once(':').and_then(|(before, _)| before.get(before.len() - 2..)?.parse().ok())
    };
    let (utc, east): (i32, i32) = (hour(&at("UTC")).unwrap(), hour(&at("Etc/GMT-3")).unwrap());
    assert_eq!((utc + 3) % 24, east);
}

#[test]
fn a_follower_sees_what_comes_and_ends_with_the_run() {
    let case = Setup::new("hold\necho 42 >answer.txt\ncomplete").ready();
    let running = case.start_until("author", 1);
    let follower = case.home.start(case.command(&["log", LOOP, "--follow"]));
    assert!(poll::until(LONG, || follower.stdout().contains("attempt 1 started")), "{}", follower.stdout());
    assert!(!follower.stdout().contains("run ended"));
    case.leave("go");
    case.look(running.finish(RUN)).completed();
    let told = follower.finish(LONG).expect_code(0).stdout;
    assert!(told.contains("attempt 1 ended") && told.contains("run ended: completed"), "{told}");
    assert_eq!(told, log(&case, &[]), "the same lines, each once");
}

#[test]
fn a_follower_stops_when_it_is_told_to() {
    let case = Setup::new("hold\ncomplete").ready();
    let running = case.start_until("author", 1);
    let follower = case.home.start(case.command(&["log", LOOP, "-f"]));
    assert!(poll::until(LONG, || follower.stdout().contains("attempt 1 started")));
    follower.signal(rustix::process::Signal::INT);
    follower.finish(LONG).expect_code(0);
    running.signal(rustix::process::Signal::TERM);
    running.finish(LONG).expect_code(130);
}
