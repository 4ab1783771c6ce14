//! `run --once`, `--retry-blocked` and `--continuous`, and done tasks that are to be something else.

use std::fs;

use windlass_testkit::poll;

use crate::case::{Case, LONG, LOOP, RUN, Setup};

const WRITES_ITS_TASK: &str = "cat >$WINDLASS_TASK.txt <<END\n$n\nEND\ncomplete";

/// Tasks a, b, and c, which waits for b.
fn three(agent: &str) -> Setup {
    Setup::new(agent)
        .task("a", "# The first\n\nDo it.\n")
        .task("b", "# The second\n\nDo it.\n")
        .task("c", "---\ndepends_on: [b]\n---\n\n# The third\n\nDo it.\n")
        .checks("[[gate.check]]\nname = \"test\"\nrun = \"true\"\n")
}

#[test]
fn one_pass_tries_each_task_once_and_leaves_the_rest_to_a_later_run() {
    let agent = "rm -f bad\nif [ $WINDLASS_TASK = a ] && [ $n -lt 4 ]; then echo >bad; fi\n\
                 echo $n >$WINDLASS_TASK.txt\ncomplete";
    let case = three(agent).checks("[[gate.check]]\nname = \"test\"\nrun = \"test ! -e bad\"\n").ready();
    let seen = case.look(case.windlass(&["run", "--name", LOOP, "--once"]));
    seen.ended(3, "stopped", "one_pass").task_is("b", "done", None).task_is("c", "done", None);
    assert_eq!(case.turns("author"), 3, "{}", seen.log);
    let detail = seen.view["outcome"]["detail"].as_str().unwrap();
    assert_eq!(detail, "one pass: 2 of 3 done; not done: a");
    case.run().completed();
}

#[test]
fn a_dry_run_of_a_loop_that_is_there_checks_what_would_change_and_changes_nothing() {
    let case = three(WRITES_ITS_TASK).ready();
    case.windlass(&["run", "--name", LOOP, "--task", "a"]).expect_code(0);
    let before = case.windlass(&["log", LOOP, "--json"]).stdout;
    let dry = |option: &str, value: &str| case.windlass(&["run", LOOP, "--dry-run", option, value]);
    for (option, value) in
        [("--set", "nosuch=1"), ("--plan", "/nowhere"), ("--base", "nosuch"), ("--policy", "/nofile")]
    {
        let refused = dry(option, value).expect_code(2);
        assert!(!refused.stdout.contains("exists."), "{option}: {refused}");
    }
    let told = dry("--set", "loop.max_iterations=9").expect_code(0);
    assert!(told.stdout.contains("would change: loop.max_iterations: 30 -> 9"), "{told}");
    add_task(&case, "d", "# The fourth\n\nDo it.\n");
    let told = case.windlass(&["run", LOOP, "--dry-run"]).expect_code(0);
    assert!(told.stdout.contains("demo1 exists.\nwould change: task d: added"), "{told}");
    assert_eq!(case.windlass(&["log", LOOP, "--json"]).stdout, before, "nothing is on record");
    let told = case.windlass(&["run", LOOP, "--dry-run"]).expect_code(0);
    assert!(told.stdout.contains("task d: added"), "the edit waits as it did: {told}");
    assert_eq!(case.turns("author"), 1);
}

#[test]
fn one_task_and_a_last_task_together_are_refused() {
    let case = three(WRITES_ITS_TASK).ready();
    let refused = case.windlass(&["run", "--name", LOOP, "--task", "a", "--until", "b"]).expect_code(2);
    assert!(refused.stderr.contains("--task") && refused.stderr.contains("--until"), "{refused}");
    case.nothing_was_made();
}

#[test]
fn no_iteration_at_all_is_refused() {
    let case = three(WRITES_ITS_TASK).ready();
    for (typed, said) in [("0", "at least 1; --dry-run shows what would be done"), ("x", "a whole number")] {
        let refused = case.windlass(&["run", "--name", LOOP, "--max", typed]).expect_code(2);
        assert!(refused.stderr.contains(said), "{refused}");
    }
    case.nothing_was_made();
}

#[test]
fn a_pass_that_does_everything_completes_the_loop() {
    let case = three(WRITES_ITS_TASK).ready();
    case.look(case.windlass(&["run", "--name", LOOP, "--once"])).completed();
}

#[test]
fn blocked_tasks_are_tried_again_with_what_their_workspace_has() {
    let agent = r#"if [ $n -lt 3 ]; then
  echo $n >kept.txt
  say '"status":"blocked","summary":"no","blockers":["a person"]'
  exit
fi
cat kept.txt >>$side/found
echo 42 >answer.txt
complete"#;
    let case = Setup::new(agent).ready();
    case.run().blocked("agent_blocked");
    let again = case.run();
    again.blocked("agent_blocked");
    assert_eq!(case.turns("author"), 1, "a plain run does not try it again");
    case.look(case.windlass(&["run", LOOP, "--retry-blocked"])).blocked("agent_blocked");
    case.look(case.windlass(&["run", LOOP, "--retry-blocked"])).completed();
    assert_eq!(case.left("found"), "2\n", "what the attempt before left");
}

/// Adds a task file, which belongs to the operator's checkout.
fn add_task(case: &Case, id: &str, text: &str) {
    fs::write(case.repo.path().join(format!("tasks/{id}.md")), text).unwrap();
}

fn is_done(case: &Case, task: &str) -> bool {
    let status = case.windlass(&["status", LOOP, "--json"]);
    status.status.success()
        && status.json()["tasks"]
            .as_array()
            .is_some_and(|tasks| tasks.iter().any(|of| of["id"] == task && of["status"] == "done"))
}

#[test]
fn a_continuous_run_picks_up_new_tasks_until_it_is_interrupted() {
    let case = three(WRITES_ITS_TASK).ready();
    let words = ["run", "--name", LOOP, "--continuous", "--every", "100ms"];
    let running = case.home.start(case.command(&words));
    assert!(poll::until(LONG, || is_done(&case, "c")), "{}", running.stdout());
    add_task(&case, "d", "# The fourth\n\nDo it.\n");
    assert!(poll::until(LONG, || is_done(&case, "d")), "{}", running.stdout());
    let ends = || running.stdout().matches("the plan is read again at").count() >= 2;
    assert!(poll::until(LONG, ends), "{}", running.stdout());
    running.signal(rustix::process::Signal::INT);
    let ran = running.finish(RUN).expect_code(0);
    assert!(ran.stdout.contains("task d: added"), "{ran}");
    assert_eq!(case.turns("author"), 4, "{ran}");
    case.windlass(&["prove", LOOP]).expect_code(0);
}

#[test]
fn a_continuous_run_ends_after_as_many_looks_as_it_may_take() {
    let case = three(WRITES_ITS_TASK).ready();
    let words = ["run", "--name", LOOP, "--continuous", "--every", "1ms", "--max-cycles", "3"];
    let ran = case.windlass(&words).expect_code(0);
    assert_eq!(ran.stdout.matches("the plan is read again at").count(), 1, "what changes nothing: {ran}");
    assert_eq!(ran.stdout.matches("next: windlass take").count(), 1, "{ran}");
}

#[test]
fn a_task_file_that_is_written_by_half_is_told_and_waited_for() {
    let case = three(WRITES_ITS_TASK).ready();
    let words = ["run", "--name", LOOP, "--continuous", "--every", "100ms"];
    let running = case.home.start(case.command(&words));
    assert!(poll::until(LONG, || is_done(&case, "c")), "{}", running.stdout());
    add_task(&case, "d", "---\ntitle: [The");
    assert!(poll::until(LONG, || running.stderr().contains("d.md:1:")), "{}", running.stderr());
    add_task(&case, "d", "# The fourth\n\nDo it.\n");
    assert!(poll::until(LONG, || is_done(&case, "d")), "{}", running.stdout());
    running.signal(rustix::process::Signal::INT);
    let ran = running.finish(RUN);
    assert_eq!(ran.stderr.matches("d.md:1:").count(), 1, "told once: {ran}");
}

#[test]
fn a_process_that_waits_for_the_plan_is_seen_and_can_be_ended() {
    let case = three(WRITES_ITS_TASK).ready();
    let words = ["run", "--name", LOOP, "--continuous", "--every", "1h"];
    let running = case.home.start(case.command(&words));
    let waits = || case.windlass(&["status", LOOP]).stdout.contains("waits for changes of the plan");
    assert!(poll::until(LONG, waits), "{}", running.stdout());
    add_task(&case, "d", "# The fourth\n\nDo it.\n");
    let told = case.windlass(&["status", LOOP]).expect_code(0).stdout;
    let said = "your files changed since, and are read by the process that waits for it: task d\n";
    assert!(told.starts_with(said) && !told.contains("windlass set"), "{told}");
    let refused = case.windlass(&["pause", LOOP]).expect_code(2);
    assert!(refused.stderr.contains(&format!("windlass cancel {LOOP} ends that")), "{refused}");
    case.windlass(&["cancel", LOOP]).expect_code(0);
    running.finish(RUN).expect_code(0);
    assert!(!waits());
    case.windlass(&["cancel", LOOP]).expect_code(2);
}

#[test]
fn a_done_task_whose_text_changes_is_to_be_done_again_and_one_that_moves_is_not() {
    let case = three(WRITES_ITS_TASK).ready();
    case.windlass(&["run", "--name", LOOP, "--task", "a"]).expect_code(0);
    case.windlass(&["run", "--name", LOOP, "--task", "b"]).expect_code(0);
    add_task(&case, "a", "# The first\n\nDo it otherwise.\n");
    let told = case.windlass(&["set", LOOP, "--plan", "tasks/"]).expect_code(0);
    assert!(told.stdout.contains("task a: changed, so it is to be done again"), "{told}");
    let ran = case.windlass(&["run", LOOP]).expect_code(0);
    let tasks = case.status()["tasks"].clone();
    assert_eq!(tasks[0]["status"], "done", "{ran}");
    assert_eq!(case.turns("author"), 4, "a again, and c: {ran}");
    assert_eq!(case.log().of("task_done").iter().filter(|done| done["task"] == "b").count(), 1);
}
