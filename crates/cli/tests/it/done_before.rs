//! A task that was done before windlass came: it counts as done, and nothing of
//! it is called proven.

use crate::case::{LOOP, Setup};
use crate::prove::{fits, holds};

#[test]
fn a_loop_with_such_a_task_proves_the_rest() {
    let case = Setup::new("echo 42 >answer.txt\ncomplete")
        .review("tasks = true\nfinal = false\n")
        .task("ask", "---\ndone: true\n---\n# Ask the question\n")
        .task("answer", "---\ndepends_on: [ask]\n---\n# Write the answer\n")
        .ready();
    let seen = case.run();
    seen.ended(0, "completed", "done_before");
    let done_before = |id: &str| (seen.task(id)["status"].clone(), seen.task(id)["done_before"].clone());
    assert_eq!(done_before("ask"), ("done".into(), true.into()));
    assert_eq!(done_before("answer"), ("done".into(), false.into()));
    assert_eq!((&seen.view["unchecked"], &seen.view["unreviewed"]), (&false.into(), &false.into()));
    assert_eq!(case.turns("author"), 1);

    let status = case.windlass(&["status", LOOP]).expect_code(0);
    assert!(status.stdout.contains("before windlass came, not proven"), "{status}");
    assert!(!status.stdout.contains("no check proves"), "{status}");

    let proof = holds(&case);
    let tasks = proof["record"]["tasks"].as_array().unwrap();
    let ask = tasks.iter().find(|task| task["id"] == "ask").unwrap();
    assert_eq!((&ask["done_before"], ask["commit"].is_null()), (&true.into(), true), "{ask:#}");
    let page = case.windlass(&["prove", LOOP]).expect_code(0).stdout;
    fits(&page);
    let flat = page.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "done before windlass came, not proven ask",
        "1 task green on the tree that landed, 1 not proven",
        "every task that landed was accepted on its tree",
    ] {
        assert!(flat.contains(words), "{words}: {page}");
    }
}
