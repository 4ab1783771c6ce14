//! What users of the predecessors must see, where no other module has it.

use crate::case::{LONG, LOOP, Setup};

#[test]
fn a_failing_task_stops_its_dependants_and_nobody_else() {
    let agent = r#"case $WINDLASS_TASK in
002) echo "wrong $n" >answer.txt ;;
*) echo 42 >answer.txt; echo $WINDLASS_TASK >>done.txt ;;
esac
complete"#;
    let case = Setup::new(agent)
        .task("002", "---\npriority: 1\n---\n# Fails five times\n")
        .task("003", "---\npriority: 2\n---\n# Independent\n")
        .task("004", "---\npriority: 1\ndepends_on: [002]\n---\n# Waits\n")
        .ready();
    let seen = case.run();
    seen.ended(3, "blocked", "failing");
    seen.task_is("002", "blocked", Some("failing")).task_is("003", "done", None);
    assert_eq!(seen.task("002")["failures"], 5);
    assert_eq!(
        (seen.task("004")["attempts"].as_u64(), seen.task("004")["status"].as_str() == Some("done")),
        (Some(0), false)
    );
    assert_eq!(case.landed("done.txt"), "003");
    case.windlass(&["run", "--name", LOOP]).expect_code(3);
    assert_eq!(case.turns("author"), 6, "nothing more on the next run");
}

#[test]
fn files_an_agent_only_claims_to_have_changed_are_no_progress() {
    let agent = r#"say '"status":"complete","summary":"rewrote the engine","files_changed":["engine.rs","answer.txt"],"blockers":[],"next":[]'"#;
    let seen = Setup::new(agent).ready().run();
    seen.blocked("no_progress");
    assert_eq!(seen.task("answer")["no_progress"], 5);
}

/// Nobody's fault: waited for, tried again, and counted against no task.
#[test]
fn an_agent_killed_from_outside_is_tried_again_after_a_pause() {
    let case = Setup::new("if [ $n -eq 1 ]; then kill -KILL $$; fi\necho 42 >answer.txt\ncomplete").ready();
    let running = case.start_until("author", 1);
    let waits = windlass_testkit::poll::until(LONG, || case.status()["status"] == "waiting");
    assert!(waits, "{:#}\n{}", case.status(), running.stdout());
    assert!(case.status()["waiting"]["until"].is_string());
    let seen = case.look(running.finish(LONG));
    seen.completed();
    assert_eq!(seen.log.counted("agent_failures"), 0, "{}", seen.log);
    assert_eq!((seen.log.count("wait_started"), seen.log.count("wait_ended")), (1, 1), "{}", seen.log);
    assert_eq!(seen.task("answer")["failures"], 0);
}

#[test]
fn a_wait_survives_the_death_of_its_owner() {
    let case = Setup::new("if [ $n -eq 1 ]; then kill -KILL $$; fi\necho 42 >answer.txt\ncomplete").ready();
    let running = case.start_until("author", 1);
    assert!(
        windlass_testkit::poll::until(LONG, || case.status()["status"] == "waiting"),
        "{}",
        running.stdout()
    );
    let until = case.status()["waiting"]["until"].as_str().expect("a time").to_owned();
    running.kill();
    assert_eq!(case.status()["status"], "interrupted");
    let seen = case.run();
    seen.completed();
    let second = &seen.log.of("attempt_started")[1];
    assert!(
        second["at"].as_str() >= Some(until.as_str()),
        "no launch before the time: {second}\n{}",
        seen.log
    );
}

#[test]
fn an_owner_that_died_in_the_final_review_changes_nothing_by_dying() {
    let case = Setup::new("echo 42 >answer.txt\necho $WINDLASS_TASK >>log.txt\ncomplete")
        .reviewer("if [ $n -eq 1 ]; then hold; fi\naccept")
        .review("tasks = false\nfinal = true\n")
        .task("a", "# A\n")
        .task("b", "# B\n")
        .ready();
    let running = case.start_until("reviewer", 1);
    running.kill();
    let (log, status) = (case.log().len(), case.status());
    assert_eq!(
        (status["status"].as_str(), status["phase"].as_str()),
        (Some("interrupted"), Some("final_review"))
    );
    case.all_die();
    assert_eq!((case.log().len(), case.status()), (log, status), "looking changes nothing");
    let seen = case.run();
    seen.completed();
    assert_eq!(seen.log.count("loop_created"), 1);
    assert_eq!(seen.log.count("run_started"), 1);
    assert_eq!(case.turns("author"), 2, "no task is done again");
    assert_eq!(seen.view["reviews"], 1);
}

#[test]
fn a_goal_in_a_sentence_is_a_plan() {
    let case = Setup::new("echo 42 >answer.txt\ncomplete").ready();
    let ran = case.windlass(&["run", "make the answer right", "--name", LOOP]);
    let seen = case.look(ran);
    seen.completed();
    assert_eq!(seen.view["goal"], "make the answer right");
    assert!(case.left("author-1.brief").contains("make the answer right"));
}

#[test]
fn acceptance_is_in_both_briefs() {
    let task = "---\nacceptance:\n  - the answer is 42\n  - nobody is surprised\n---\n# Write the answer\n";
    let case = Setup::new("echo 42 >answer.txt\ncomplete")
        .task("answer", task)
        .review("tasks = true\nfinal = false\n")
        .ready();
    case.run().completed();
    for role in ["author", "reviewer"] {
        let brief = case.left(&format!("{role}-1.brief"));
        assert!(
            brief.contains("the answer is 42") && brief.contains("nobody is surprised"),
            "{role}: {brief}"
        );
    }
}

#[test]
fn a_task_may_choose_its_checks_and_the_whole_faces_all() {
    let checks = "[[gate.check]]\nname = \"one\"\nrun = \"test -e one\"\n[[gate.check]]\nname = \"two\"\nrun = \"test -e two\"\n";
    let case = Setup::new("touch $WINDLASS_TASK\ncomplete")
        .checks(checks)
        .task("one", "---\nchecks: [one]\n---\n# One\n")
        .task("two", "---\nchecks: [two]\ndepends_on: [one]\n---\n# Two\n")
        .ready();
    let seen = case.run();
    seen.completed();
    let checked = |purpose: &str| {
        let finished = seen.log.of("check_finished").into_iter();
        let of_it = finished.filter(|line| line["purpose"] == purpose);
        of_it.map(|line| line["result"]["check"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(checked("task"), ["one", "two"]);
    assert_eq!(checked("final"), ["one", "two"]);
}

#[test]
fn setup_and_copied_files_are_there_and_never_land() {
    let case = Setup::new(
        "cat .env.test >\"$side/env\"\ncat prepared >\"$side/prepared\"\necho 42 >answer.txt\ncomplete",
    )
    .more("[workspace]\nsetup = [\"echo once >prepared\"]\ncopy = [\".env.test\"]\n")
    .file(".gitignore", ".env.test\nprepared\n")
    .file("test.sh", format!("test -e .env.test || exit 7\n{}", crate::case::TEST))
    .uncommitted();
    case.repo.file(".env.test", "TOKEN=x\n");
    case.repo.commit("first");
    let case = case.looked_at();
    case.run().completed();
    assert_eq!((case.left("env").trim(), case.left("prepared").trim()), ("TOKEN=x", "once"));
    assert_eq!(case.repo.git(["diff", "--name-only", "HEAD", &format!("windlass/{LOOP}")]), "answer.txt");
}
