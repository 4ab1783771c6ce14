//! `run --task`: a task that cannot start, one that is not there, one that gets
//! blocked; and iterations that are numbered alike wherever they are shown.

use crate::case::{Case, LOOP, Setup};

const DEPENDENT: &str = "---\ndepends_on: [b]\n---\n\n# The third\n";

/// Tasks a and b are ready, c waits for b.
fn three(agent: &str) -> Setup {
    Setup::new(agent)
        .task("a", "# The first\n")
        .task("b", "# The second\n")
        .task("c", DEPENDENT)
        .checks("[[gate.check]]\nname = \"test\"\nrun = \"true\"\n")
}

fn only(case: &Case, task: &str) -> windlass_testkit::Ran {
    case.windlass(&["run", "--name", LOOP, "--task", task])
}

#[test]
fn a_task_with_an_unmet_dependency_starts_nothing() {
    let case = three("echo x >$WINDLASS_TASK.txt\ncomplete").ready();
    let refused = only(&case, "c").expect_code(2).stderr;
    assert!(refused.contains("task c cannot start: it waits for b"), "{refused}");
    assert!(refused.contains(&format!("`windlass run --name {LOOP} --until c`")), "{refused}");
    case.nothing_was_made();

    only(&case, "a").expect_code(0);
    let before = case.log();
    let refused = case.windlass(&["run", LOOP, "--task", "c"]).expect_code(2).stderr;
    assert!(refused.contains(&format!("`windlass run {LOOP} --task b`")), "{refused}");
    assert_eq!(case.log().to_string(), before.to_string(), "nothing is on record of it");

    case.windlass(&["run", LOOP, "--until", "c"]).expect_code(0);
    assert_eq!(case.turns("author"), 3);
}

#[test]
fn an_unknown_task_is_an_error_also_of_a_loop_that_rests() {
    let case = three("echo x >$WINDLASS_TASK.txt\ncomplete").ready();
    only(&case, "nope").expect_code(2);
    case.nothing_was_made();
    case.run().completed();
    let refused = only(&case, "bb").expect_code(2).stderr;
    assert!(refused.contains("there is no task bb") && refused.contains("did you mean b?"), "{refused}");
    only(&case, "b").expect_code(0);
}

#[test]
fn a_single_task_that_gets_blocked_leaves_the_others_to_run() {
    let agent = "case $WINDLASS_TASK in a) ;; *) echo x >$WINDLASS_TASK.txt ;; esac\ncomplete";
    let case = three(agent).limits("max_no_progress = 1").ready();
    let seen = case.look(only(&case, "a"));
    seen.ended(3, "stopped", "nothing_changed").task_is("a", "blocked", Some("nothing_changed"));
    assert!(seen.ran.stdout.contains(&format!("windlass run {LOOP}")), "{}", seen.ran);

    let rest = case.run();
    rest.ended(3, "blocked", "nothing_changed").task_is("b", "done", None).task_is("c", "done", None);
}

#[test]
fn an_iteration_has_one_number_wherever_it_is_shown() {
    let agent =
        "echo $WINDLASS_ITERATION >>$side/numbers\nif [ $n -gt 2 ]; then echo 42 >answer.txt; fi\ncomplete";
    let case = Setup::new(agent).limits("max_no_progress = 2\nmax_iterations = 7").ready();
    case.run().blocked("no_progress");
    case.windlass(&["unblock", LOOP, "answer"]).expect_code(0);
    case.windlass(&["restart", LOOP]).expect_code(0);
    let seen = case.run();
    seen.completed();
    assert_eq!(case.left("numbers"), "1\n2\n3\n");
    assert_eq!((&seen.view["iteration"], &seen.view["max_iterations"]), (&3.into(), &9.into()));
    assert!(seen.log.to_string().contains("iteration_opened"), "{}", seen.log);
    assert!(seen.ran.stdout.contains("iteration 3 of "), "{}", seen.ran);
    assert!(case.left("author-3.brief").contains("iteration 3 of 9"), "{}", case.left("author-3.brief"));
    let status = case.windlass(&["status", LOOP]).expect_code(0).stdout;
    assert!(status.contains("3 of 9"), "{status}");
    let trail = case.repo.path().join(".windlass/loops").join(LOOP);
    assert!(trail.join("iterations/0003.md").exists(), "the trail counts alike");
}
