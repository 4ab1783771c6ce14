//! Criteria: each is answered, kept, shown, and part of the proof.

use crate::case::{Case, LOOP, Setup};

const AUTHOR: &str = "echo 42 >answer.txt\necho \"turn $n\" >>log.txt\ncomplete";
const TASK: &str = "---\nacceptance:\n  - the answer is 42\n  - a log is kept\n---\n# Write the answer\n";

fn reviewed(reviewer: &str) -> Case {
    let review = "tasks = true\nfinal = false\n";
    Setup::new(AUTHOR).reviewer(reviewer).review(review).task("answer", TASK).ready()
}

#[test]
fn every_criterion_is_answered_kept_and_proven() {
    let case = reviewed(
        r#"if [ $n = 1 ]; then
    say '"verdict":"reject","summary":"no","criteria":[{"text":"1. the answer is 42","met":"yes","where":"answer.txt:1"},{"text":"2","met":"no","where":"log.txt is short"}],"findings":[],"resolved":[],"pending":[],"blocker":""'
    exit 0
fi
say '"verdict":"accept","summary":"good","criteria":[{"text":"The answer is 42","met":"yes","where":"answer.txt:1"}],"findings":[],"resolved":[],"pending":[],"blocker":""'"#,
    );
    let seen = case.run();
    seen.completed();
    let brief = case.left("reviewer-1.brief");
    assert!(brief.contains("\n1. the answer is 42\n2. a log is kept\n"), "each has its own line:\n{brief}");
    let brief = case.left("author-2.brief");
    assert!(
        brief.contains("2. a log is kept\n   (not met, says the last review (log.txt is short))"),
        "{brief}"
    );

    let answers = &seen.task("answer")["acceptance"];
    assert_eq!(
        (answers[0]["met"].as_str(), answers[0]["where"].as_str()),
        (Some("yes"), Some("answer.txt:1"))
    );
    assert_eq!((answers[1]["met"].as_str(), answers[1]["number"].as_u64()), (Some("unknown"), Some(2)));
    let recorded = seen.log.of("review_recorded");
    assert_eq!(recorded[0]["criteria"][1]["met"], "no", "{}", recorded[0]);
    assert_eq!(recorded[1]["criteria"][1]["met"], "unknown", "{}", recorded[1]);

    let proof = case.windlass(&["prove", LOOP, "--json"]).expect_code(0).json();
    assert_eq!(proof["record"]["tasks"][0]["acceptance"], *answers, "{proof:#}");
    for (page, wanted) in [
        (case.windlass(&["prove", LOOP]), "1 yes: the answer is 42  (answer.txt:1)"),
        (case.windlass(&["show", LOOP, "answer"]), "2 unknown: a log is kept"),
        (case.windlass(&["show", LOOP, "answer"]), "acceptance: 1 of 2 met (2 no)"),
        (case.windlass(&["status", LOOP]), "acceptance: 1 of 2 met (2 unknown)"),
    ] {
        assert!(page.stdout.contains(wanted), "{wanted:?} is not in\n{page}");
    }
    let trail = case.repo.path().join(format!(".windlass/loops/{LOOP}/review.json"));
    let trail = std::fs::read_to_string(trail).unwrap();
    assert!(trail.contains("\"where\": \"answer.txt:1\""), "{trail}");
}

#[test]
fn an_accept_with_an_unmet_criterion_is_a_reject_and_says_which() {
    let case = reviewed(
        r#"if [ $n -gt 1 ]; then accept; exit 0; fi
say '"verdict":"accept","summary":"good","criteria":[{"text":"2","met":"no"}],"findings":[],"resolved":[],"pending":[],"blocker":""'"#,
    );
    let seen = case.run();
    seen.completed();
    let first = &seen.log.of("review_recorded")[0];
    assert_eq!(first["failure"]["kind"], "contradiction", "{first}");
    assert_eq!(first["criteria"][1]["met"], "no", "what was said is kept: {first}");
}

#[test]
fn a_check_of_a_criterion_is_part_of_the_tasks_gate_and_proves_it() {
    let task = "---\nacceptance:\n  - the answer is 42\n  - text: a log is kept\n    check: test -s log.txt\n---\n# Write the answer\n";
    let author = "echo 42 >answer.txt\n[ $n -gt 1 ] && echo kept >log.txt\ncomplete";
    let review = "tasks = true\nfinal = false\n";
    let case = Setup::new(author).review(review).task("answer", task).ready();
    let seen = case.run();
    seen.completed();
    assert_eq!(case.turns("author"), 2, "red until it holds\n{}", seen.log);
    let brief = case.left("author-2.brief");
    assert!(brief.contains("Check `acceptance 2 (answer)`: exit code 1."), "{brief}");
    let brief = case.left("reviewer-1.brief");
    assert!(brief.contains("2. a log is kept\n   (windlass ran the check that belongs to it"), "{brief}");
    let answers = &seen.task("answer")["acceptance"];
    assert_eq!(answers[0]["met"], "unknown", "nobody said: {answers}");
    assert_eq!(
        (answers[1]["met"].as_str(), answers[1]["check"].as_str()),
        (Some("yes"), Some("acceptance 2 (answer)"))
    );
    let proof = case.windlass(&["prove", LOOP, "--json"]).expect_code(0).json();
    let task = &proof["record"]["tasks"][0];
    assert_eq!(task["checks"][1]["check"], "acceptance 2 (answer)", "{task:#}");
    assert_eq!(task["acceptance"][1]["met"], "yes", "{task:#}");
    let grades = proof["grades"].as_array().unwrap();
    let control = grades.iter().find(|grade| grade["of"] == "control").unwrap();
    assert_ne!(control["strength"], "full", "{control}");
    let words = control["words"].as_str().unwrap();
    assert!(words.contains("the check of a criterion was not shown to be able to fail"), "{words}");
}

#[test]
fn a_script_that_judges_a_criterion_is_committed_before_anything_starts() {
    let task = "---\nacceptance:\n  - text: it holds\n    check: sh ./accept.sh\n---\n# Write the answer\n";
    let case = Setup::new("echo 'exit 0' >accept.sh\necho 42 >answer.txt\ncomplete").task("answer", task);
    let case = case.ready();
    let ran = case.windlass(&["run", "--name", LOOP]).expect_code(2);
    let said =
        "check `acceptance 1 (answer)` names `accept.sh`, which is not in the base commit; commit it first";
    assert!(ran.stderr.replace('\n', " ").contains(said), "{ran}");
    case.nothing_was_made();
}
