//! Commands where nothing runs: the command line takes the loop itself.

use windlass_testkit::Ran;

use crate::case::{Case, LONG, LOOP, Setup};

/// A loop that was interrupted in its first attempt.
fn interrupted(agent: &str) -> Case {
    let case = Setup::new(&format!("if [ $n -eq 1 ]; then hold; fi\n{agent}"))
        .agent_keys("grace = \"200ms\"")
        .ready();
    let running = case.start_until("author", 1);
    running.signal(rustix::process::Signal::TERM);
    running.finish(LONG).expect_code(130);
    case
}

const HONEST: &str = "echo 42 >answer.txt\ncomplete";

fn blocked() -> Case {
    let case = Setup::new("complete").limits("max_no_progress = 1").ready();
    case.run().blocked("no_progress");
    case
}

#[test]
fn pause_and_resume() {
    let case = interrupted(HONEST);
    case.windlass(&["pause", LOOP]).expect_code(0);
    assert_eq!(case.status()["status"], "paused");
    let page = case.windlass(&["status", LOOP]).expect_code(0).stdout;
    assert!(page.contains("paused    the operator paused it\n"), "{page}");
    case.windlass(&["run", "--name", LOOP]).expect_code(6);
    assert_eq!(case.turns("author"), 1);
    case.windlass(&["resume", LOOP]).expect_code(0);
    assert_eq!(case.status()["status"], "interrupted");
    case.run().completed();
}

#[test]
fn a_command_to_a_loop_that_nobody_drives_names_what_leads_on() {
    let case = interrupted(HONEST);
    let said = case.windlass(&["pause", LOOP]).expect_code(0).stdout;
    let resume = format!("next: windlass resume {LOOP}   (then windlass run {LOOP}, if it is not running)\n");
    assert_eq!(said, format!("{LOOP} is paused; nothing runs.\n{resume}"));

    let case = Setup::new("exit 77").ready();
    case.windlass(&["run", "--name", LOOP]).expect_code(6);
    let said = case.windlass(&["pause", LOOP]).expect_code(0).stdout;
    assert!(said.contains("next: sign in to what your agent's command calls\n"), "{said}");

    let case = blocked();
    let said = case.windlass(&["waive", LOOP, "answer"]).expect_code(0).stdout;
    let on = format!("next: windlass run {LOOP}   (goes on with the last gate)\n");
    assert_eq!(said, format!("answer of {LOOP} is waived, on the record.\n{on}"));
    let ran = case.windlass(&["run", LOOP]);
    assert!(ran.stdout.contains("final gate: every check"), "it really goes on: {ran}");
}

#[test]
fn a_cancelled_loop_is_not_run_and_not_cancelled_again() {
    let case = interrupted(HONEST);
    case.windlass(&["cancel", LOOP]).expect_code(0);
    let status = case.status();
    assert_eq!(
        (status["status"].as_str(), status["outcome"]["kind"].as_str()),
        (Some("ended"), Some("cancelled"))
    );
    case.windlass(&["run", "--name", LOOP]).expect_code(5);
    let again = case.windlass(&["cancel", LOOP]).expect_code(2);
    assert!(again.stderr.ends_with(&format!("hint: windlass status {LOOP}\n")), "{again}");
    case.log().check();
    let steered = case.windlass(&["steer", LOOP, "mind the gap"]).expect_code(0);
    let restart =
        format!("carries it, but its run has ended.\nnext: windlass restart {LOOP}   (then run it)\n");
    assert!(steered.stdout.ends_with(&restart), "{steered}");
}

#[test]
fn a_refused_command_says_how_the_loop_stands_and_what_leads_on() {
    let case = blocked();
    let state = format!("hint: {LOOP} is blocked (no_progress); next: windlass show {LOOP} answer");
    for args in [&["resume", LOOP][..], &["approve", LOOP]] {
        let refused = case.windlass(args).expect_code(2);
        assert!(refused.stderr.contains(&state), "{refused}");
    }
    case.agent(HONEST);
    case.look(case.windlass(&["run", LOOP, "--retry-blocked"])).completed();
    let refused = case.windlass(&["unblock", LOOP, "answer"]).expect_code(2);
    let state =
        format!("hint: task answer is done; {LOOP} is completed (proven); next: windlass take {LOOP}");
    assert!(refused.stderr.contains(&state), "{refused}");
}

#[test]
fn cancel_after_a_crash() {
    let case = Setup::new("hold").ready();
    case.start_until("author", 1).kill();
    case.windlass(&["cancel", LOOP]).expect_code(0);
    let left = windlass_testkit::alive::carrying(&case.token());
    assert!(left.is_empty(), "a cancelled loop has nothing alive: {left:?}");
    let seen = case.seen(case.windlass(&["status", LOOP]));
    assert_eq!(seen.view["outcome"]["kind"], "cancelled");
}

#[test]
fn restart_and_unblock_try_again() {
    let case = blocked();
    case.agent(HONEST);
    case.windlass(&["unblock", LOOP, "answer"]).expect_code(0);
    case.windlass(&["restart", LOOP]).expect_code(0);
    let status = case.status();
    assert_eq!((status["status"].as_str(), status["iteration"].as_u64()), (Some("idle"), Some(1)));
    let seen = case.run();
    seen.completed();
    assert_eq!(seen.log.count("run_ended"), 2);
    assert_eq!(seen.task("answer")["attempts"], 2, "attempts are of the loop's whole life");
}

/// Whoever unblocks a task means it to be worked on.
#[test]
fn an_unblocked_task_needs_no_restart() {
    let case = blocked();
    case.agent(HONEST);
    let told = case.windlass(&["unblock", LOOP, "answer"]).expect_code(0);
    let next = format!("next: windlass run {LOOP}   (unless it is running)");
    assert!(told.stdout.contains(&next), "{told}");
    let page = case.windlass(&["status", LOOP]).expect_code(0).stdout;
    assert!(page.contains(&format!("next: windlass run {LOOP}   (goes on with what is ready)")), "{page}");
    case.run().completed();
}

#[test]
fn restart_alone_does_not_unblock() {
    let case = blocked();
    case.agent(HONEST);
    case.windlass(&["restart", LOOP]).expect_code(0);
    let ran = case.windlass(&["run", "--name", LOOP]);
    case.look(ran).ended(3, "blocked", "no_progress");
    assert_eq!(
        case.turns("author"),
        1,
        "blocked is never done, on this run or the next, and not retried unasked"
    );
}

#[test]
fn a_loop_that_has_not_ended_is_not_restarted() {
    let case = interrupted(HONEST);
    refused(case.windlass(&["restart", LOOP]));
    case.run().completed();
}

#[test]
fn a_waived_task_completes_the_loop_by_name() {
    let case = Setup::new("complete").limits("max_no_progress = 1").file("test.sh", "exit 0\n").ready();
    case.run().blocked("nothing_changed");
    case.windlass(&["waive", LOOP, "answer", "--why", "it was there"]).expect_code(0);
    case.windlass(&["restart", LOOP]).expect_code(0);
    let seen = case.run();
    seen.ended(0, "completed", "waived");
    assert_eq!(seen.task("answer")["status"], "waived");
    assert_eq!(case.turns("author"), 1);
}

#[test]
fn a_finding_is_waived_by_its_name() {
    let reviewer = r#"say '"verdict":"reject","summary":"no","findings":[{"file":"answer.txt","line":1,"severity":"bug","description":"ugly","scenario":""}],"resolved":[],"pending":[],"blocker":""'"#;
    let case = Setup::new("echo 42 >answer.txt\necho $n >>log.txt")
        .reviewer(reviewer)
        .review("tasks = true\nfinal = false\n")
        .ready();
    case.run().blocked("rejected");
    refused(case.windlass(&["waive", LOOP, "F7"]));
    case.windlass(&["waive", LOOP, "F1", "--why", "beauty is for later"]).expect_code(0);
    let findings = case.windlass(&["findings", LOOP, "--all", "--json"]).expect_code(0).json();
    assert_eq!(findings[0]["life"], "waived");
    assert_eq!(case.status()["findings"]["open_bugs"], 0);
    assert_eq!(
        case.windlass(&["findings", LOOP, "--json"]).expect_code(0).json().as_array().map(Vec::len),
        Some(0)
    );
}

#[test]
fn a_changed_protected_path_is_not_waived() {
    let case =
        Setup::new("echo 42 >answer.txt\necho 'exit 0' >test.sh").limits("max_no_progress = 1").ready();
    case.run().blocked("no_progress");
    refused(case.windlass(&["waive", LOOP, "F1"]));
}

#[test]
fn a_note_and_steering_need_no_owner() {
    let case = interrupted(HONEST);
    case.windlass(&["note", LOOP, "seen on Monday"]).expect_code(0);
    case.windlass(&["steer", LOOP, "mind the gap"]).expect_code(0);
    let seen = case.run();
    seen.completed();
    assert_eq!(seen.log.of("noted")[0]["text"], "seen on Monday");
    assert!(case.left("author-2.brief").contains("mind the gap"));
}

#[test]
fn a_changing_command_wants_the_name_where_there_are_two() {
    let case = interrupted(HONEST);
    case.windlass(&["run", "--name", "other"]).expect_code(0);
    let before = (case.log().len(), case.windlass(&["log", "other", "--json"]).stdout);
    let ran = case.windlass(&["cancel"]).expect_code(2);
    assert!(ran.stderr.contains(LOOP) && ran.stderr.contains("other"), "both are named: {ran}");
    assert_eq!(
        (case.log().len(), case.windlass(&["log", "other", "--json"]).stdout),
        before,
        "nothing changed"
    );
    case.windlass(&["cancel", "demo"]).expect_code(2);
    assert_eq!(case.log().len(), before.0, "a part of a name is not its name");
    assert_eq!(
        case.windlass(&["status", "oth", "--json"]).expect_code(0).json()["loop"],
        "other",
        "reading takes a part"
    );
}

#[test]
fn a_changing_command_needs_no_name_where_there_is_one() {
    let case = interrupted(HONEST);
    case.windlass(&["cancel"]).expect_code(0);
    assert_eq!(case.status()["outcome"]["kind"], "cancelled");
}

#[test]
fn what_does_not_exist_is_named() {
    let case = blocked();
    for args in [
        &["unblock", LOOP, "anwser"][..],
        &["waive", LOOP, "anwser"],
        &["cancel", "nosuch"],
        &["status", "nosuch"],
        &["resume", LOOP],
    ] {
        refused(case.windlass(args));
    }
}

#[test]
fn a_mistyped_or_shortened_name_is_told_with_the_whole_one() {
    let case = blocked();
    for verb in ["status", "log", "attach"] {
        let told = case.windlass(&[verb, "dmeo1"]).expect_code(2).stderr;
        assert!(told.contains(&format!("did you mean {LOOP}?")), "{verb}: {told}");
    }
    let told = case.windlass(&["rm", "dem"]).expect_code(2).stderr;
    assert!(told.contains("there is no loop named dem; the whole name is needed"), "{told}");
    assert!(told.contains(&format!("hint: is it {LOOP}?")), "{told}");
}

#[test]
fn the_reading_commands_read() {
    let case = blocked();
    let list = case.windlass(&["list", "--json"]).expect_code(0);
    assert!(list.stdout.contains(LOOP), "{list}");
    for args in [
        &["list"][..],
        &["status"],
        &["log"],
        &["show", LOOP],
        &["show", LOOP, "answer"],
        &["findings"],
        &["usage"],
    ] {
        let told = case.windlass(args).expect_code(0);
        assert!(!told.stdout.trim().is_empty(), "{args:?}: {told}");
    }
    let usage = case.windlass(&["usage", LOOP, "--json"]).expect_code(0).json();
    assert!(usage.is_object(), "{usage}");
    let last = case.windlass(&["log", LOOP, "--json", "-n", "2"]).expect_code(0);
    assert_eq!(last.stdout.lines().count(), 2, "{last}");
}

#[test]
fn each_attempt_and_each_check_is_found_in_the_log() {
    let case = Setup::new("echo 4$n >answer.txt\ncomplete").review("tasks = true\nfinal = false\n").ready();
    let seen = case.run();
    seen.completed();
    let usage = case.windlass(&["usage", LOOP, "--json"]).expect_code(0).json();
    let listed: Vec<_> =
        usage["attempts"].as_array().unwrap().iter().map(|of| of["attempt"].clone()).collect();
    assert_eq!(listed, [1, 2, 3], "{usage:#}");
    assert_eq!(usage["by_role"]["author"]["attempts"], 2, "{usage:#}");
    for (number, role, tree) in [(1, "author", true), (2, "author", true), (3, "reviewer", false)] {
        let shown =
            case.windlass(&["show", LOOP, &format!("attempt:{number}"), "--json"]).expect_code(0).json();
        let attempt = &shown["attempt"];
        assert_eq!((&attempt["role"], attempt["tree"].is_string()), (&role.into(), tree), "{shown:#}");
        assert_eq!(*attempt, usage["attempts"][number - 1]);
    }
    refused(case.windlass(&["show", LOOP, "attempt:4"]));
    let checks = seen.log.of("check_finished");
    for (number, check) in (1..).zip(&checks) {
        let counted = case.windlass(&["show", LOOP, &format!("check:{number}")]).expect_code(0);
        assert!(counted.stdout.starts_with("check test"), "{counted}");
        let by_line = case.windlass(&["show", LOOP, &check["seq"].to_string()]).expect_code(0);
        assert_eq!(by_line.stdout, counted.stdout, "the number of its line in the log");
    }
    refused(case.windlass(&["show", LOOP, "check:0"]));
    refused(case.windlass(&["show", LOOP, &format!("check:{}", checks.len() + 1)]));
    refused(case.windlass(&["show", LOOP, "9999"]));
}

/// Refused as a usage error, and the reason is said.
#[track_caller]
fn refused(ran: Ran) {
    let ran = ran.expect_code(2);
    assert!(!ran.stderr.trim().is_empty(), "{ran}");
}
