//! After the tasks: the whole is judged, mended, and finished.

use crate::case::{Case, LOOP, Setup};

const FINAL: &str = "tasks = false\nfinal = true\n";

fn two_tasks(agent: &str) -> Setup {
    Setup::new(agent).task("a", "# Write the answer\n").task("b", "# Write it down\n")
}

const AUTHOR: &str = "echo 42 >answer.txt\necho \"$n $WINDLASS_TASK\" >>log.txt\ncomplete";

#[test]
fn a_rejected_whole_is_fixed_without_reopening_a_task() {
    let reviewer = r#"if [ $n -gt 1 ]; then accept; exit 0; fi
say '"verdict":"reject","summary":"almost","findings":[{"file":"log.txt","line":1,"severity":"bug","description":"it is unsigned","scenario":""}],"resolved":[],"pending":["sign it"],"blocker":""'"#;
    let case = two_tasks(AUTHOR).reviewer(reviewer).review(FINAL).ready();
    let seen = case.run();
    seen.completed().task_is("a", "done", None).task_is("b", "done", None);
    let phases = seen.log.phases();
    let place = |phase: &str| phases.iter().position(|entered| *entered == phase);
    assert!(place("final_review") < place("fix") && place("fix").is_some(), "{phases:?}");
    assert_eq!(
        phases.iter().filter(|phase| **phase == "final_review").count(),
        2,
        "the final phases again: {phases:?}"
    );
    assert_eq!(seen.log.count("task_done"), 2, "no task is reopened");
    let brief = case.left("author-3.brief");
    assert!(brief.contains("it is unsigned") && brief.contains("sign it"), "{brief}");
    assert_eq!(seen.findings_in("log.txt")[0]["life"], "resolved");
    assert_eq!(seen.view["last_review"]["tree"], seen.view["tree"], "the accept is of what is on the branch");
}

#[test]
fn a_whole_that_stays_rejected_is_blocked() {
    let reviewer = r#"say '"verdict":"reject","summary":"no","findings":[],"resolved":[],"pending":["more"],"blocker":""'"#;
    let case = two_tasks(AUTHOR).reviewer(reviewer).review(FINAL).limits("max_final_fixes = 2").ready();
    let seen = case.run();
    seen.ended(3, "blocked", "final_fixes");
    assert_eq!(
        seen.log.phases().iter().filter(|phase| **phase == "fix").count(),
        2,
        "{:?}",
        seen.log.phases()
    );
}

#[test]
fn one_task_reviewed_as_a_whole_is_not_reviewed_twice() {
    let case = Setup::new(AUTHOR).review("tasks = true\nfinal = true\n").ready();
    let seen = case.run();
    seen.completed();
    assert_eq!(seen.view["reviews"], 1);
}

#[test]
fn a_red_final_check_is_fixed_with_its_output_in_the_brief() {
    let agent = "echo 42 >answer.txt\nif [ -z \"$WINDLASS_TASK\" ]; then echo fixed >whole.txt; fi\ncomplete";
    let check = "[[gate.check]]\nname = \"test\"\nrun = \"sh ./test.sh\"\nwhen = \"task\"\n\
                 [[gate.check]]\nname = \"whole\"\nrun = \"sh ./whole.sh\"\nwhen = \"final\"\n";
    let case = Setup::new(agent)
        .checks(check)
        .file("whole.sh", "echo spoken on stdout\necho spoken on stderr >&2\ntest -e whole.txt\n")
        .ready();
    let seen = case.run();
    seen.completed();
    let brief = case.left("author-2.brief");
    assert!(brief.contains("spoken on stdout") && brief.contains("spoken on stderr"), "{brief}");
    assert_eq!(case.landed("whole.txt"), "fixed");
}

fn finishing(finisher: &str) -> Case {
    let agent = format!(
        "if [ \"$WINDLASS_ROLE\" = finisher ]; then\n{finisher}\nexit\nfi\necho 42 >answer.txt\ncomplete"
    );
    Setup::new(&agent).more("[finish]\nprompt = \"Say what was done.\"\n").ready()
}

#[test]
fn the_finishers_last_message_is_kept_verbatim() {
    let words = "We asked, and it was 42.\nNothing else was changed — not even “this”.";
    let case = finishing(&format!("printf '%s\\n' '{words}'"));
    let seen = case.run();
    seen.completed();
    assert_eq!(seen.view["completion_summary"].as_str().map(str::trim_end), Some(words));
    assert!(case.left("finisher-1.brief").contains("Say what was done."));
    assert_eq!(case.turns("finisher"), 1);
}

#[test]
fn a_finish_that_keeps_the_gate_green_lands() {
    let case = finishing("echo done >SUMMARY.md\necho summed up");
    let seen = case.run();
    seen.completed();
    assert_eq!(case.landed("SUMMARY.md"), "done");
    case.branch_passes_the_base_test();
}

#[test]
fn a_finish_that_breaks_the_gate_is_dropped_and_said() {
    let case = finishing("echo 0 >answer.txt\necho broke it");
    let seen = case.run();
    seen.completed();
    assert_eq!(seen.log.count("finish_dropped"), 1, "{}", seen.log);
    assert_eq!(case.landed("answer.txt"), "42");
    case.branch_passes_the_base_test();
}

#[test]
fn a_finish_that_edits_the_test_is_dropped() {
    let case = finishing("echo 'exit 0' >test.sh\necho eased it");
    let seen = case.run();
    seen.completed();
    assert_eq!(seen.log.count("finish_dropped"), 1, "{}", seen.log);
    assert_eq!(case.landed("test.sh"), case.repo.show("HEAD", "test.sh"));
}

#[test]
fn a_finish_that_fails_still_ends_completed() {
    finishing("exit 1").run().completed();
}

#[test]
fn a_completed_loop_is_history() {
    let case = Setup::new(AUTHOR).ready();
    let first = case.run();
    first.completed();
    let again = case.run();
    again.completed();
    assert_eq!(again.log.len(), first.log.len(), "nothing was launched");
    case.windlass(&["restart", LOOP]).expect_code(2);
}
