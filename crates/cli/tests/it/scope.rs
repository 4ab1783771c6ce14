//! Scope limits: measured on what an author left, whatever it says.

use crate::case::Setup;

const SCOPE: &str = "[scope.implement]\nfiles_changed = 2\nlines_written = 5\nfiles_read = 3\n";

#[test]
fn a_change_beyond_the_scope_is_red_until_it_is_small_again() {
    let author = r#"echo 42 >answer.txt
case $n in
1) touch a b c ;;
2) rm -f a b c; seq 1 20 >log.txt ;;
*) echo short >log.txt ;;
esac
complete"#;
    let case = Setup::new(author).more(SCOPE).ready();
    let seen = case.run();
    seen.completed();
    assert_eq!(case.turns("author"), 3, "{}", seen.log);
    let found = seen.findings.as_array().unwrap().clone();
    let said = |words: &str| {
        let of = |finding: &&serde_json::Value| finding["description"].as_str().unwrap().starts_with(words);
        found
            .iter()
            .filter(of)
            .map(|finding| finding["life"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(said("4 files are changed, the limit is 2: "), ["resolved"], "{found:#?}");
    assert_eq!(said("21 lines are added, the limit is 5: "), ["resolved"], "{found:#?}");
    assert_eq!(said("`scope.implement.files_read` cannot be measured"), ["open"], "said once: {found:#?}");
    let brief = case.left("author-2.brief");
    assert!(brief.contains("- at most 2 different files changed\n- at most 5 lines added\n"), "{brief}");
    assert!(brief.contains("4 files are changed, the limit is 2"), "{brief}");
    assert_eq!(seen.task("answer")["failures"], 0, "a task that is done has no failures");
    let proof = case.windlass(&["prove", crate::case::LOOP, "--json"]).expect_code(0).json();
    let steps = proof["steps"].as_array().unwrap();
    let step = steps.iter().find(|step| step["step"] == "scope").expect("a step for the scope");
    assert_eq!(
        (&step["holds"], &step["detail"]),
        (&true.into(), &"1 landing within its limits, measured anew".into())
    );
    let grade = proof["grades"].as_array().unwrap().iter().find(|grade| grade["of"] == "scope").cloned();
    assert_eq!(grade.expect("a grade for the scope")["strength"], "full");
}

#[test]
fn lines_count_whatever_else_a_file_holds() {
    let author = r#"echo 42 >answer.txt
case $n in
1) { printf '\000\n'; seq 1 3000; } >log.txt ;;
2) { echo 'log.txt -diff' >.gitattributes; seq 1 3000 >log.txt; } ;;
3) rm -f .gitattributes; seq 1 3000 >log.txt; git mv -f answer.txt moved.txt; cp moved.txt answer.txt ;;
*) rm -f moved.txt; printf '\000' >log.txt ;;
esac
complete"#;
    let case = Setup::new(author).more("[scope.implement]\nlines_written = 5\n").ready();
    let seen = case.run();
    seen.completed();
    assert_eq!(case.turns("author"), 4, "{}", seen.log);
    let found = seen.findings.as_array().unwrap();
    let over = |finding: &&serde_json::Value| {
        finding["description"].as_str().unwrap().contains("lines are added, the limit is 5")
    };
    assert!(found.iter().filter(over).count() >= 1, "{found:#?}");
}

#[test]
fn a_scope_that_is_not_understood_is_refused_with_its_place() {
    let case = Setup::new("complete").more("[scope.implement]\nfiles_chnaged = 2\n").ready();
    let ran = case.windlass(&["run"]);
    assert_eq!(ran.status.code(), Some(2), "{ran}");
    assert!(ran.stderr.contains("unknown key `scope.implement.files_chnaged`"), "{ran}");
    assert!(ran.stderr.contains("did you mean `files_changed`?"), "{ran}");
    case.nothing_was_made();
}

#[test]
fn limits_of_a_mode_that_does_not_exist_are_refused_with_their_place() {
    let case = Setup::new("complete").more("[scope.implment]\nlines_written = 2\n").ready();
    let ran = case.windlass(&["run"]);
    assert_eq!(ran.status.code(), Some(2), "{ran}");
    let told = ": [scope.implment] limits the mode \"implment\", which does not exist";
    assert!(ran.stderr.contains(told) && ran.stderr.contains("did you mean [scope.implement]?"), "{ran}");
    assert!(ran.stderr.contains("windlass.toml:"), "{ran}");
    case.nothing_was_made();
    case.windlass(&["plan", "check"]).expect_code(2);
    case.repo.file("prompts/implment.md", "Do it.\n");
    case.windlass(&["plan", "check"]).expect_code(0);
}

#[test]
fn a_task_stays_within_its_own_globs_and_limits() {
    let task = "---\nscope:\n  files_changed: 2\n  within: [answer.txt, docs/**]\n---\n# Write the answer\n";
    let author =
        "echo 42 >answer.txt\nif [ $n = 1 ]; then echo x >stray.txt; else rm -f stray.txt; fi\ncomplete";
    let case = Setup::new(author).more("[scope.implement]\nfiles_changed = 1\n").task("answer", task).ready();
    let seen = case.run();
    seen.completed();
    let found = &seen.findings_in("stray.txt")[0];
    assert_eq!(found["description"], "it is outside of what this task may change: answer.txt, docs/**");
    assert_eq!(found["life"], "resolved");
    assert_eq!(seen.findings.as_array().map(Vec::len), Some(1), "two files are within its own limit");
}
