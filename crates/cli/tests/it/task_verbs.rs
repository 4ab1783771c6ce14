//! `windlass task`: the tasks of a plan change one by one, in the files and in the loop, or not at all.

use std::collections::BTreeMap;
use std::fs;

use crate::case::{Case, LOOP, RUN, Setup};

/// Does any task, each with a change of its own.
const ANY: &str = "echo 42 >answer.txt\necho $n >turn.txt\ncomplete";

/// Two tasks that could be done at once, and one after both.
fn three(agent: &str) -> Case {
    Setup::new(agent)
        .task("a", "# Do a\n")
        .task("b", "# Do b\n")
        .task("c", "---\n# kept\ndepends_on: [a, b]\n---\n\n# Do c\n")
        .ready()
}

/// Every file of the plan.
fn files(case: &Case) -> BTreeMap<String, String> {
    let entries = fs::read_dir(case.repo.path().join("tasks")).unwrap().map(Result::unwrap);
    let read = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().unwrap();
        let text = fs::read_to_string(entry.path()).unwrap();
        (name, text)
    };
    entries.map(read).collect()
}

fn done(case: &Case) -> Vec<String> {
    let log = case.log();
    log.of("task_done").iter().map(|event| event["task"].as_str().unwrap().to_owned()).collect()
}

fn listed(case: &Case) -> Vec<String> {
    let listed = case.windlass(&["task", "list", "--json"]).expect_code(0).json();
    let row = |task: &serde_json::Value| {
        format!("{} {}", task["id"].as_str().unwrap(), task["status"].as_str().unwrap())
    };
    listed["tasks"].as_array().unwrap().iter().map(row).collect()
}

#[test]
fn the_task_of_a_goal_may_change_a_protected_test_by_one_command() {
    let author = "echo 42 >answer.txt\nsed 's/one/two/' tests/x.txt >x.new && cat x.new >tests/x.txt && rm x.new\ncomplete";
    let case = Setup::new(author)
        .file("tests/x.txt", "one\n")
        .gate("protect = [\"tests/**\"]\n[[gate.check]]\nname = \"test\"\nrun = \"sh ./test.sh\"\n")
        .ready();
    case.windlass(&["run", "Write the answer", "--name", LOOP]).expect_code(3);
    let findings = case.windlass(&["findings", LOOP]).expect_code(0).stdout;
    let command = format!("windlass task edit {LOOP} goal --allow tests/x.txt");
    assert!(findings.contains(&format!("If the work needs it, allow it: `{command}`")), "{findings}");
    let why = "lines may be added to it, but here lines were changed or removed";
    assert!(findings.contains(why), "{findings}");
    let waived = case.windlass(&["waive", LOOP, "F1"]).expect_code(2);
    assert!(waived.stderr.contains(&format!("windlass run {LOOP} --retry-blocked")), "{waived}");
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    let told = case.windlass(&words).expect_code(0);
    assert!(told.stdout.contains("task goal: changed"), "{told}");
    case.windlass(&["run", LOOP, "--retry-blocked"]).expect_code(0);
    assert_eq!(case.landed("tests/x.txt"), "two");
}

#[test]
fn what_a_task_may_change_is_written_into_its_file_beside_what_it_has() {
    let case = three(ANY);
    case.windlass(&["task", "edit", "a", "--allow", "test.sh"]).expect_code(0);
    assert_eq!(files(&case)["a.md"], "---\nallow: [test.sh]\n---\n\n# Do a\n");
    case.windlass(&["task", "edit", "a", "--allow", "tests/**", "--allow", "test.sh"]).expect_code(0);
    assert!(files(&case)["a.md"].contains("allow: [test.sh, \"tests/**\"]"), "{:?}", files(&case));
    case.windlass(&["task", "add", "More", "--allow", "test.sh"]).expect_code(0);
    assert!(files(&case)["more.md"].contains("allow: [test.sh]"), "{:?}", files(&case));
    for glob in ["../x", "/etc/passwd", "[a"] {
        let before = files(&case);
        case.windlass(&["task", "edit", "a", "--allow", glob]).expect_code(2);
        assert_eq!(files(&case), before, "{glob}");
    }
}

#[test]
fn a_task_is_added_to_a_loop_that_rests_and_it_gets_done() {
    let case = three(ANY);
    case.run().completed();
    let told = case
        .windlass(&["task", "add", "One: more", "--text", "Do more.", "--depends-on", "c"])
        .expect_code(0);
    for said in
        ["tasks/one-more.md: written", "task one-more: added", "in force from now on.", "windlass run demo1"]
    {
        assert!(told.stdout.contains(said), "{said}: {told}");
    }
    assert_eq!(files(&case)["one-more.md"], "---\ndepends_on: [c]\n---\n\n# One: more\n\nDo more.\n");
    assert_eq!(listed(&case), ["a done", "b done", "c done", "one-more pending"]);
    let case = case.looked_at();
    case.run().completed();
    assert_eq!(done(&case), ["a", "b", "c", "one-more"]);
    let brief = case.left("author-4.brief");
    assert!(brief.contains("Do more."), "{brief}");
}

#[test]
fn goals_that_are_completed_get_no_task_that_names_no_loop() {
    let case = three(ANY);
    for (loops, goal) in ["make the tests pass", "keep the tests green"].iter().enumerate() {
        case.windlass(&["run", goal]).expect_code(0);
        let title = format!("Part {loops}");
        let told = case.windlass(&["task", "add", &title]).expect_code(0).stdout;
        assert_eq!(told.trim_end(), format!("tasks/part-{loops}.md: written"));
        let goals = case.windlass(&["list", "--json"]).expect_code(0).json();
        for of in goals.as_array().unwrap() {
            assert_eq!(of["outcome"]["kind"], "completed", "{goals:#}");
        }
        assert_eq!(listed(&case).len(), 4 + loops, "the tasks of the files");
    }
    let told = case.windlass(&["task", "add", "make-the-tests-pass", "One more"]).expect_code(0).stdout;
    assert!(told.contains("task one-more: added"), "by its name it is meant: {told}");
}

#[test]
fn a_driven_loop_takes_added_tasks_at_its_next_iteration_and_loses_none() {
    let case = three(&format!("if [ $n -eq 1 ]; then hold; fi\n{ANY}"));
    let running = case.start_until("author", 1);
    for title in ["Fourth", "Fifth"] {
        let told = case.windlass(&["task", "add", LOOP, title]).expect_code(0);
        assert!(told.stdout.contains("in force when the iteration has ended"), "{told}");
    }
    assert_eq!(listed(&case), ["a active", "b pending", "c pending", "fifth new", "fourth new"]);
    let case = case.looked_at();
    case.leave("go");
    case.look(running.finish(RUN)).completed();
    assert_eq!(done(&case), ["a", "b", "c", "fifth", "fourth"]);
}

#[test]
fn an_edited_text_opens_a_done_task_again_and_keeps_the_rest_of_the_file() {
    let case = three(ANY);
    case.run().completed();
    let told = case.windlass(&["task", "edit", "c", "--text", "Do c otherwise."]).expect_code(0);
    assert!(told.stdout.contains("task c: changed, so it is to be done again"), "{told}");
    assert_eq!(files(&case)["c.md"], "---\n# kept\ndepends_on: [a, b]\n---\n\n# Do c\n\nDo c otherwise.\n");
    assert_eq!(listed(&case), ["a done", "b done", "c pending"]);
    let case = case.looked_at();
    case.run().completed();
    assert_eq!(done(&case), ["a", "b", "c", "c"]);
}

#[test]
fn a_title_and_dependencies_are_written_to_the_front_matter() {
    let case = three(ANY);
    let words = ["task", "edit", "c", "--title", "Do: c", "--depends-on", "b", "--priority", "-3"];
    case.windlass(&words).expect_code(0);
    assert_eq!(
        files(&case)["c.md"],
        "---\n# kept\ndepends_on: [b]\ntitle: \"Do: c\"\npriority: -3\n---\n\n# Do c\n"
    );
    let told = case.windlass(&["task", "edit", "c", "--no-dependencies", "--json"]).expect_code(0).json();
    assert_eq!(
        (&told["loop"], &told["files"][0]["was"]),
        (&serde_json::Value::Null, &"changed".into()),
        "{told}"
    );
    assert_eq!(listed(&case), ["c pending", "a pending", "b pending"], "no loop is needed");
}

#[test]
fn a_task_that_others_depend_on_is_dropped_by_force_only() {
    let case = three(ANY);
    case.windlass(&["run", "--name", LOOP, "--max", "1"]).expect_code(0);
    let (before, events) = (files(&case), case.log().len());
    let refused = case.windlass(&["task", "drop", "b"]).expect_code(2);
    assert!(refused.stderr.contains("task c depends on task b"), "{refused}");
    assert!(refused.stderr.contains("windlass task drop b --force"), "{refused}");
    let refused = case.windlass(&["task", "drop", "a", "--force"]).expect_code(2);
    assert!(refused.stderr.contains("task a is done or waived, and stays on record"), "{refused}");
    assert_eq!((files(&case), case.log().len()), (before, events), "nothing was changed");

    let told = case.windlass(&["task", "drop", "b", "--force"]).expect_code(0);
    for said in ["tasks/c.md: changed", "tasks/b.md: removed", "task b: removed"] {
        assert!(told.stdout.contains(said), "{said}: {told}");
    }
    assert_eq!(files(&case)["c.md"], "---\n# kept\ndepends_on: [a]\n---\n\n# Do c\n");
    let case = case.looked_at();
    case.run().completed();
    assert_eq!(done(&case), ["a", "c"]);
}

#[test]
fn the_parts_of_a_split_task_are_done_in_order_with_the_whole_as_context() {
    let text = "---\ndepends_on: [a]\nacceptance: [it works]\n---\n\n# Do b\n\nAll of it.\n\n```\nx\n```\n";
    let case = Setup::new(ANY)
        .task("a", "# Do a\n")
        .task("b", text)
        .task("c", "---\ndepends_on: [b]\n---\n# Do c\n")
        .ready();
    case.windlass(&["run", "--name", LOOP, "--max", "1"]).expect_code(0);
    let told = case.windlass(&["task", "split", "b", "First half", "Second half"]).expect_code(0);
    for said in ["tasks/b-1.md: written", "tasks/b.md: removed", "task b-2: added", "task b: removed"] {
        assert!(told.stdout.contains(said), "{said}: {told}");
    }
    let all = files(&case);
    assert!(
        all["b-2.md"]
            .starts_with("---\ndepends_on: [b-1]\nacceptance:\n  - \"it works\"\n---\n\n# Second half\n")
    );
    assert!(!all["b-1.md"].contains("acceptance"), "{}", all["b-1.md"]);
    assert!(all["c.md"].contains("depends_on: [b-2]"), "{}", all["c.md"]);
    let case = case.looked_at();
    case.run().completed();
    assert_eq!(done(&case), ["a", "b-1", "b-2", "c"]);
    let brief = case.left("author-2.brief");
    assert!(brief.contains("part 1 of 2 of “Do b”") && brief.contains("All of it."), "{brief}");
}

#[test]
fn a_moved_task_is_done_earlier_but_never_before_what_it_depends_on() {
    let case = three(ANY);
    let told = case.windlass(&["task", "move", "b", "--first"]).expect_code(0);
    assert_eq!(told.stdout.trim(), "tasks/b.md: changed");
    let told = case.windlass(&["task", "move", "c", "--before", "b"]).expect_code(0);
    assert!(
        told.stdout.contains("c depends on b and still waits for it: dependencies decide first"),
        "{told}"
    );
    case.windlass(&["task", "add", "Do d", "--after", "b"]).expect_code(0);
    assert_eq!(listed(&case), ["c pending", "b pending", "do-d pending", "a pending"]);
    let case = case.looked_at();
    case.run().completed();
    assert_eq!(done(&case), ["b", "do-d", "a", "c"]);
}

#[test]
fn what_is_refused_changes_neither_the_files_nor_the_loop() {
    let case = three(ANY);
    case.windlass(&["run", "--name", LOOP, "--max", "1"]).expect_code(0);
    let (before, events) = (files(&case), case.log().len());
    let long = "x".repeat(121);
    for (words, said) in [
        (&["add", ""][..], "the title is empty"),
        (&["add", "two\nlines"], "a line break"),
        (&["add", &long], "longer than 120 characters"),
        (&["add", "x", "--id", "../x"], "a slash in it"),
        (&["add", "x", "--id", ".x"], "starts with a dot"),
        (&["add", "x", "--id", " x"], "starts or ends with a blank"),
        (&["add", "x", "--id", "a"], "there is a task a already"),
        (&["add", "x", "--depends-on", "aa"], "did you mean a?"),
        (&["add", "x", "--id", "x", "--depends-on", "x"], "in a circle: x → x"),
        (&["add", "x", "--before", "zebra"], "windlass task list"),
        (&["add", "x", "--before", "a"], "task a is done or waived"),
        (&["add", "x", "--text", "y", "--file", "z"], "cannot be used with"),
        (&["add", "x", "--file", "absent.md"], "absent.md"),
        (&["add", "x", "--text", "<!-- depends_on: [b] -->\n\ny"], "says something else of the task"),
        (&["edit", "bb", "--title", "x"], "did you mean b?"),
        (&["edit", "b"], "there is nothing to change"),
        (&["edit", "b", "--title", "Do b"], "has all of this already"),
        (&["edit", "b", "--text", " "], "the text is empty"),
        (&["edit", "b", "--depends-on", "c"], "in a circle: b → c → b"),
        (&["edit", "a", "--priority", "4"], "only another text opens it again"),
        (&["split", "b", "alone"], "2 to 20 parts"),
        (&["split", "b", "x", ""], "the title is empty"),
        (&["move", "b"], "required"),
        (&["move", "b", "--after", "b"], "before or after itself"),
        (&["drop", "nobody", "b"], "there is no loop named nobody"),
    ] {
        let refused = case.windlass(&[&["task"], words].concat()).expect_code(2);
        assert!(refused.stderr.contains(said), "{words:?}: {refused}");
    }
    assert_eq!((files(&case), case.log().len()), (before, events));
    case.untouched();
}

#[test]
fn a_file_that_windlass_cannot_write_line_by_line_is_left_to_the_operator() {
    let case = Setup::new(ANY)
        .task("a", "---\n{title: Do a, priority: 1}\n---\nx\n")
        .task("b", "# Do b\n\n<!-- depends_on: [a] -->\n<!-- depends_on: c -->\n")
        .task("c", "# Do c\n")
        .file("other.md", "# Elsewhere\n")
        .ready();
    std::os::unix::fs::symlink("../other.md", case.repo.path().join("tasks/link.md")).unwrap();
    let before = files(&case);
    for (words, said) in [
        (&["edit", "a", "--priority", "2"][..], "does not have a line for each key"),
        (&["edit", "b", "--no-dependencies"], "its text says something else of the task"),
        (&["edit", "link", "--title", "x"], "is a symbolic link"),
    ] {
        let refused = case.windlass(&[&["task"], words].concat()).expect_code(2);
        assert!(refused.stderr.contains(said), "{words:?}: {refused}");
    }
    assert_eq!(files(&case), before);
}

/// As codex-loop has them.
#[test]
fn dependencies_change_in_the_comment_that_names_them() {
    let case = Setup::new(ANY)
        .task("001-a", "# Do a\n")
        .task("002-b", "# Do b\n\n<!-- depends_on: 001-a -->\n")
        .task("003-c", "# Do c\n\n<!-- depends_on: 001-a, 002-b -->\n\nAll of it.\n")
        .ready();
    case.windlass(&["task", "split", "002-b", "Half", "Other half"]).expect_code(0);
    let c = "# Do c\n\n<!-- depends_on: 001-a, 002-b-2 -->\n\nAll of it.\n";
    assert_eq!(files(&case)["003-c.md"], c);
    case.windlass(&["task", "drop", "001-a", "--force"]).expect_code(0);
    assert_eq!(files(&case)["003-c.md"], c.replace("001-a, ", ""));
    case.windlass(&["task", "edit", "003-c", "--no-dependencies"]).expect_code(0);
    assert_eq!(files(&case)["003-c.md"], "# Do c\n\n<!-- depends_on: -->\n\nAll of it.\n");
    assert_eq!(listed(&case), ["002-b-1 pending", "002-b-2 pending", "003-c pending"]);
}

#[test]
fn the_plan_of_another_source_changes_in_the_loop_alone() {
    let stories = r#"{"userStories":[{"id":"S1","title":"One","description":"Do one.","acceptanceCriteria":["it is"]}]}"#;
    let case = Setup::new(ANY).file("prd.json", stories).ready();
    case.windlass(&["run", "--name", LOOP, "--plan", "prd.json", "--max", "1"]).expect_code(0);
    let told = case.windlass(&["task", "add", "Two", "--text", "Do two.", "--id", "S2"]).expect_code(0);
    assert!(told.stdout.contains("task S2: added") && told.stdout.contains("prd.json was not"), "{told}");
    case.windlass(&["task", "split", LOOP, "S2", "Two a", "Two b"]).expect_code(0);
    case.windlass(&["task", "move", "S2-2", "--first"]).expect_code(0);
    let refused = case.windlass(&["task", "drop", "S2-1"]).expect_code(2);
    assert!(refused.stderr.contains("task S2-2 depends on task S2-1"), "{refused}");
    assert_eq!(fs::read_to_string(case.repo.path().join("prd.json")).unwrap(), stories);
    case.run().completed();
    assert_eq!(done(&case), ["S1", "S2-1", "S2-2"]);
    assert!(case.left("author-2.brief").contains("Do two."));
}

#[test]
fn with_two_loops_one_must_be_named() {
    let case = three(ANY);
    case.windlass(&["run", "--name", LOOP, "--max", "1"]).expect_code(0);
    case.windlass(&["run", "--name", "other", "--max", "1"]).expect_code(0);
    let before = files(&case);
    for words in [&["task", "add", "x"][..], &["task", "drop", "c"], &["task", "split", "c", "x", "y"]] {
        let refused = case.windlass(words).expect_code(2);
        assert!(refused.stderr.contains("demo1, other"), "{refused}");
    }
    assert_eq!(files(&case), before);
    case.windlass(&["task", "split", "other", "c", "x", "y"]).expect_code(0);
    assert!(files(&case).contains_key("c-1.md"));
}

#[test]
fn a_first_task_begins_a_plan_and_its_text_may_come_from_a_pipe() {
    let case = Setup::new(ANY).ready();
    fs::remove_dir_all(case.repo.path().join("tasks")).unwrap();
    let mut command = case.command(&["task", "add", "Größe & `co`", "--text", "-"]);
    let input = fs::File::open(case.repo.path().join("README.md")).unwrap();
    command.stdin(input);
    case.home.start(command).finish(RUN).expect_code(0);
    assert_eq!(files(&case)["größe-co.md"], "---\ntitle: \"Größe & `co`\"\n---\n\n# A question\n");
    let inside = case.windlass(&["task", "list"]).expect_code(0);
    assert!(inside.stdout.contains("pending  größe-co  Größe & `co`"), "{inside}");
}

#[test]
fn an_agent_cannot_change_the_plan() {
    let case = three(ANY);
    let before = files(&case);
    let mut command = case.command(&["task", "add", "x"]);
    command.env("WINDLASS_INSIDE", "1");
    let refused = case.home.start(command).finish(RUN).expect_code(2);
    assert!(refused.stderr.contains("changes no plan"), "{refused}");
    assert_eq!(files(&case), before);
}
