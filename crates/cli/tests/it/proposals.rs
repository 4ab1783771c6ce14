//! Changes of the plan that an author proposes: a claim, which waits for the operator or is applied by the policy.

use std::fs;

use crate::case::{Case, LOOP, Setup};

/// Does any task, each with a change of its own.
const ANY: &str = "echo 42 >answer.txt\necho $n >turn.txt\n";

/// What the first turn proposes; later ones only complete.
fn author(amendments: &str) -> String {
    format!(
        "{ANY}if [ $n -eq 1 ]; then say '\"status\":\"complete\",\"summary\":\"s\",\"blockers\":[],\"next\":[],\
         \"amendments\":{amendments}'; else complete; fi"
    )
}

fn done(case: &Case) -> Vec<String> {
    let log = case.log();
    log.of("task_done").iter().map(|event| event["task"].as_str().unwrap().to_owned()).collect()
}

fn file(case: &Case, name: &str) -> Option<String> {
    fs::read_to_string(case.repo.path().join("tasks").join(name)).ok()
}

#[test]
fn a_proposal_waits_for_the_operator_who_accepts_or_rejects_it() {
    let proposed = r#"[{"action":"add","title":"More tests","text":"Write them.","depends_on":["b"],"why":"few"},
        {"action":"drop","task":"b","why":"not needed"},{"action":"fly","task":"b"},7,
        {"action":"add","title":"Broken","depends_on":["nobody"]}]"#;
    let case = Setup::new(&author(proposed)).task("a", "# Do a\n").task("b", "# Do b\n").ready();
    let seen = case.windlass(&["run", "--name", LOOP, "--max", "1"]).expect_code(0);
    assert_eq!(case.log().count("amendment_proposed"), 3, "{seen}");
    let brief = case.left("author-1.brief");
    assert!(brief.contains("You cannot change the plan.") && brief.contains("\"amendments\": []"), "{brief}");
    let status = case.windlass(&["status"]).expect_code(0).stdout;
    assert!(status.contains("2 changes of the plan wait for you: windlass task list demo1"), "{status}");
    let list = case.windlass(&["task", "list"]).expect_code(0).stdout;
    for said in ["A1  add More tests  (attempt 1)", "why: few", "A2  drop b", "windlass task accept demo1 ID"]
    {
        assert!(list.contains(said), "{said}: {list}");
    }
    assert_eq!(file(&case, "more-tests.md"), None);

    let told = case.windlass(&["task", "accept", "A1"]).expect_code(0);
    assert!(told.stdout.contains("tasks/more-tests.md: written"), "{told}");
    assert_eq!(
        file(&case, "more-tests.md").unwrap(),
        "---\ndepends_on: [b]\n---\n\n# More tests\n\nWrite them.\n"
    );
    let refused = case.windlass(&["task", "accept", "A2"]).expect_code(2);
    assert!(refused.stderr.contains("task more-tests depends on task b"), "{refused}");
    case.windlass(&["task", "reject", LOOP, "A2", "--why", "b is needed"]).expect_code(0);
    for (id, said) in [
        ("A1", "A1 was accepted before"),
        ("A3", "A3 was refused before"),
        ("A9", "there is no amendment A9"),
    ] {
        let refused = case.windlass(&["task", "accept", id]).expect_code(2);
        assert!(refused.stderr.contains(said), "{refused}");
    }
    assert!(case.status()["amendments"].as_array().is_none_or(Vec::is_empty), "A3 does not wait");
    let log = case.windlass(&["log", LOOP]).expect_code(0).stdout;
    assert!(log.contains("there is no task nobody in the plan"), "{log}");
    let case = case.looked_at();
    case.run().completed();
    assert_eq!(done(&case), ["a", "b", "more-tests"]);
}

#[test]
fn the_policy_lets_tasks_be_added_and_split_but_not_taken_out() {
    let proposed = r#"[{"action":"split","task":"a","parts":[{"title":"A one","text":"First."},"A two"],"why":"large"},
        {"action":"add","title":"More tests","depends_on":["c"]},{"action":"drop","task":"b"}]"#;
    let red = author(proposed).replace(
        ANY,
        "if [ $n -eq 1 ]; then echo 7 >answer.txt; else echo 42 >answer.txt; fi\necho $n >turn.txt\n",
    );
    let case = Setup::new(&red)
        .task("a", "---\npriority: -1\nacceptance: [it works]\n---\n\n# Do a\n\nAll of it.\n")
        .task("b", "# Do b\n")
        .task("c", "---\ndepends_on: [a]\n---\n\n# Do c\n")
        .ready();
    let run = ["run", "--name", LOOP, "--set", "plan.amendments=apply", "--max", "2"];
    case.windlass(&run).expect_code(0);
    assert_eq!(done(&case), ["a-1"]);
    let brief = case.left("author-2.brief");
    assert!(
        brief.contains("First.") && brief.contains("All of it.") && !brief.contains("priority: -1"),
        "{brief}"
    );
    assert_eq!(case.status()["amendments"][0]["proposed"]["action"], "drop");
    assert!(file(&case, "a.md").is_some(), "an agent changes no file of the operator");

    let told = case.windlass(&["task", "add", "Last", "--depends-on", "more-tests"]).expect_code(0);
    for said in [
        "tasks/a-2.md: written",
        "tasks/more-tests.md: written",
        "tasks/c.md: changed",
        "tasks/a.md: removed",
    ] {
        assert!(told.stdout.contains(said), "{said}: {told}");
    }
    assert!(!told.stdout.contains("done again"), "{told}");
    let case = case.looked_at();
    case.run().completed();
    assert_eq!(done(&case), ["a-1", "a-2", "b", "c", "more-tests", "last"]);
}

#[test]
fn what_would_do_more_than_a_scope_allows_waits_for_the_operator() {
    let proposed = r#"[{"action":"split","task":"a","parts":[{"title":"One","text":"1"},{"title":"Two","text":"2"}]},
        {"action":"add","title":"More","text":"Without limits."}]"#;
    let case = Setup::new(&author(proposed).replace("complete", "continue"))
        .task("a", "---\nscope:\n  lines_written: 5\n---\n\n# Do a\n")
        .ready();
    let run = ["run", "--name", LOOP, "--set", "plan.amendments=apply", "--max", "1"];
    case.windlass(&run).expect_code(0);
    assert_eq!(case.log().count("amendment_proposed"), 2);
    assert_eq!(case.log().count("amendment_answered"), 0, "each part would have all of the scope");
    assert_eq!(case.status()["amendments"].as_array().map(Vec::len), Some(2));
}

#[test]
fn an_ignored_proposal_is_neither_asked_for_nor_heard() {
    let case = Setup::new(&author(r#"[{"action":"add","title":"More"}]"#)).ready();
    case.windlass(&["run", "--name", LOOP, "--set", "plan.amendments=ignore"]).expect_code(0);
    assert_eq!(case.log().count("amendment_proposed"), 0);
    assert!(!case.left("author-1.brief").contains("amendments"));
}
