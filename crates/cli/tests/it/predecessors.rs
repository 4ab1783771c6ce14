//! What users of the predecessors must see of plans, each scenario by its name. Those that another module has:
//! CodeScribe 3 `reviews::the_report_of_an_earlier_reviewer_is_not_a_verdict`, CodeScribe 4
//! `plans::programs_that_a_task_allows_are_kept_and_their_change_is_an_event`, strict-agent-loop 1
//! `stop::collatz_from_27_takes_111_steps_whatever_is_killed`, strict-agent-loop 2
//! `operator_at_rest::a_changing_command_wants_the_name_where_there_are_two`, codex-loop 1
//! `scenarios::a_failing_task_stops_its_dependants_and_nobody_else`, agent-loop 1 and 2
//! `plans::a_person_is_told_what_is_ready_which_story_and_how_far_the_plan_is` and
//! `plans::a_rejection_is_told_before_the_next_iteration_and_in_the_progress`.

use crate::case::{LOOP, Setup};

const REVIEWED: &str = "tasks = true\nfinal = false\n";
const TRUE_CHECK: &str = "[[gate.check]]\nname = \"test\"\nrun = \"true\"\n";

#[test]
fn codescribe_1_a_status_line_is_a_claim_and_the_proof_says_unchecked() {
    let agent = "echo $n >answer.txt\necho 'STATUS: COMPLETE'";
    let reviewer = r#"if [ $n -eq 1 ]; then say '"verdict":"reject","summary":"not yet","findings":[],"resolved":[],"pending":["go on"],"blocker":""'; else accept; fi"#;
    let case = Setup::new(agent).gate("").reviewer(reviewer).review(REVIEWED).ready();
    let seen = case.run();
    seen.ended(0, "completed", "reviewed");
    assert_eq!((case.turns("author"), case.turns("reviewer")), (2, 2), "nothing is done without its accept");
    assert_eq!(seen.view["unchecked"], true);
    let proof = case.windlass(&["prove", LOOP]).expect_code(0).stdout;
    assert!(proof.contains("unchecked") || proof.contains("no check"), "{proof}");
}

#[test]
fn codescribe_2_the_next_brief_has_pending_items_files_commands_and_its_number() {
    let reviewer = r#"if [ $n -eq 1 ]; then say '"verdict":"reject","summary":"two things are left","findings":[],"resolved":[],"pending":["first thing a","second thing b"],"blocker":""'; else accept; fi"#;
    let agent = "echo $n >answer.txt\necho made >made.txt\ncomplete";
    let case = Setup::new(agent)
        .checks(TRUE_CHECK)
        .reviewer(reviewer)
        .review(REVIEWED)
        .limits("max_iterations = 5")
        .ready();
    case.run().completed();
    let brief = case.left("author-2.brief");
    for part in ["first thing a", "second thing b", "made.txt", "answer.txt", "2 of 5", "two things are left"]
    {
        assert!(brief.contains(part), "{part}: {brief}");
    }
}

#[test]
fn strict_agent_loop_3_a_claim_of_the_end_does_not_end_it() {
    let agent = "n=$(cat answer.txt); echo $((n + 1)) >answer.txt\necho 'STATUS: COMPLETE'\ncomplete";
    let stop = "[stop]\n[[stop.check]]\nname = \"three\"\nrun = '[ \"$(cat answer.txt)\" = 3 ]'\n";
    let case = Setup::new(agent).checks(TRUE_CHECK).limits("max_iterations = 9").more(stop).ready();
    let seen = case.run();
    assert_eq!(seen.view["outcome"]["kind"], "completed", "{}", seen.ran);
    assert_eq!(case.turns("author"), 3, "{}", seen.ran);
    let looked = case.windlass(&["check", LOOP]).expect_code(0).stdout;
    assert_eq!(looked.matches("three").count(), 1, "each check is run once: {looked}");
}

#[test]
fn forge_2_three_sections_a_marker_in_a_fence_and_a_rejected_one() {
    let plan = "# All of it\n\n<!-- forge-section -->\n## One\n\nBuild one.\n\n```\n<!-- forge-section -->\n```\n\n\
        <!-- forge-section -->\n## Two\n\nBuild two.\n\n<!-- forge-section -->\n## Three\n\nBuild three.\n";
    let agent = "echo $WINDLASS_TASK >>\"$side/order\"\necho $n >>$WINDLASS_TASK.txt\ncomplete";
    let reviewer = r#"if [ $WINDLASS_TASK-$n = two-2 ]; then say '"verdict":"reject","summary":"no","findings":[],"resolved":[],"pending":["again"],"blocker":""'; else accept; fi"#;
    let case = Setup::new(agent)
        .checks(TRUE_CHECK)
        .reviewer(reviewer)
        .review(REVIEWED)
        .file("PLAN.md", plan)
        .ready();
    let seen = case.look(case.windlass(&["run", "--name", LOOP, "--plan", "PLAN.md"]));
    seen.completed();
    assert_eq!(seen.view["tasks"].as_array().map(Vec::len), Some(3), "{}", seen.ran);
    assert_eq!(case.left("order"), "one\ntwo\ntwo\nthree\n", "three waits for two");
}

const STORIES: &str = r#"{"userStories": [
  {"id": "US-001", "title": "One", "description": "Do one.", "priority": 2, "acceptanceCriteria": ["it is one"]},
  {"id": "US-003", "title": "Three", "description": "Do three.", "priority": 3, "acceptanceCriteria": ["it is three"]}
]}"#;

#[test]
fn agent_loop_3_one_story_without_review_is_marked_for_ever() {
    let agent = "echo $n >$WINDLASS_TASK.txt\ncomplete";
    let case = Setup::new(agent).checks(TRUE_CHECK).review(REVIEWED).file("prd.json", STORIES).ready();
    let only = ["run", "--name", LOOP, "--plan", "prd.json", "--task", "US-003", "--no-review"];
    let seen = case.look(case.windlass(&only).expect_code(0));
    seen.task_is("US-003", "done", None).task_is("US-001", "pending", None);
    assert_ne!(seen.view["outcome"]["kind"], "completed", "the loop is not completed");
    assert_eq!((case.turns("author"), case.turns("reviewer")), (1, 0));
    case.windlass(&["run", LOOP]).expect_code(0);
    let view = case.windlass(&["status", LOOP, "--json"]).expect_code(0).json();
    assert_eq!(view["unreviewed"], true, "for ever");
    let proof = case.windlass(&["prove", LOOP]).stdout;
    assert!(proof.contains("US-003") && proof.to_lowercase().contains("review"), "{proof}");
}

#[test]
fn agent_loop_5_a_promise_moves_nothing_and_an_empty_answer_goes_on() {
    let agent = "if [ $n -eq 1 ]; then echo '<promise>COMPLETE</promise>'; exit 0; fi\n\
        if [ $n -eq 2 ]; then exit 0; fi\necho $n >$WINDLASS_TASK.txt\ncomplete";
    let check = "[[gate.check]]\nname = \"test\"\nrun = \"ls US-00*.txt\"\n";
    let case = Setup::new(agent).checks(check).file("prd.json", STORIES).ready();
    let seen = case.look(case.windlass(&["run", "--name", LOOP, "--plan", "prd.json"]));
    seen.completed();
    assert_eq!(case.turns("author"), 4, "{}", seen.ran);
    let broken = STORIES.replace("\"priority\": 3,", "\"priority\": 3");
    case.repo.file("broken.json", broken);
    let said = case.windlass(&["run", "--name", "other", "--plan", "broken.json"]).expect_code(2).stderr;
    assert!(said.contains("broken.json:3:"), "{said}");
}
