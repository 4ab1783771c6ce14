//! A goal always means that goal.

use crate::case::{Case, Setup};

fn case() -> Case {
    Setup::new("echo $n >>turns.txt\necho 42 >answer.txt\ncomplete").ready()
}

#[track_caller]
fn run(case: &Case, goal: &str, code: i32) -> String {
    let ran = case.windlass(&["run", goal, "--json"]);
    ran.expect_code(code).json()["loop"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn goals_that_begin_alike_are_two_loops() {
    let case = case();
    let one = run(&case, "Make the tests pass on linux", 0);
    let other = run(&case, "Make the tests pass on macOS and also rewrite everything", 0);
    assert_eq!((one.as_str(), other.as_str()), ("make-the-tests-pass-on", "make-the-tests-pass-on-2"));
    assert_eq!(case.turns("author"), 2, "both were worked on");
}

#[test]
fn goals_without_ascii_letters_are_two_loops() {
    let case = case();
    let one = run(&case, "сделай тесты зелёными", 0);
    let other = run(&case, "テストを 直して ください", 0);
    assert_eq!((one.as_str(), other.as_str()), ("сделай-тесты-зелёными", "テストを-直して-ください"));
    assert_eq!(case.turns("author"), 2, "both were worked on");
    for name in [&one, &other] {
        case.windlass(&["prove", name]).expect_code(0);
        assert_eq!(case.repo.show(&format!("windlass/{name}"), "answer.txt").trim(), "42");
    }
}

#[test]
fn a_completed_goal_does_not_answer_for_the_plan() {
    let case = case();
    run(&case, "make the tests pass", 0);
    case.windlass(&["run", "--json"]).expect_code(0);
    assert_eq!(case.turns("author"), 2, "the plan was worked on");
    let again = case.windlass(&["run"]).expect_code(2);
    assert!(again.stderr.contains("there is more than one loop"), "{again}");
}

#[test]
fn a_mistyped_name_starts_nothing() {
    let case = case();
    case.windlass(&["run", "--name", "parser"]).expect_code(0);
    let refused = case.windlass(&["run", "parsre"]).expect_code(2);
    assert!(refused.stderr.contains("there is no loop named parsre"), "{refused}");
    assert!(refused.stderr.contains("did you mean parser? `windlass run parser`"), "{refused}");
    let refused = case.windlass(&["run", "par"]).expect_code(2);
    assert!(refused.stderr.contains("did you mean parser? `windlass run parser`"), "{refused}");
    assert!(refused.stderr.contains("`windlass run --name par` starts a loop of that name"), "{refused}");
    let refused = case.windlass(&["run", "tasks/answer.md"]).expect_code(2);
    assert!(refused.stderr.contains("`windlass run --plan tasks/answer.md` runs it"), "{refused}");
    let refused = case.windlass(&["run", ""]).expect_code(2);
    assert!(refused.stderr.contains("the name of the loop is empty"), "{refused}");
    assert_eq!(case.turns("author"), 1);
    case.windlass(&["run", "parser"]).expect_code(0);
}

#[test]
fn a_goal_of_one_word_takes_a_name() {
    let case = case();
    let refused = case.windlass(&["run", "テストを直して"]).expect_code(2);
    let hints: Vec<&str> = refused.stderr.lines().filter(|line| line.contains("hint:")).collect();
    assert_eq!(hints[0], "  hint: is it a goal? `windlass run --name goal 'テストを直して'`", "{refused}");
    let refused = case.windlass(&["run", "添加一个统计单词的函数"]).expect_code(2);
    let told = "hint: is it a goal? `windlass run --name 添加一个统计单词 '添加一个统计单词的函数'`";
    assert!(refused.stderr.lines().nth(1).is_some_and(|line| line.ends_with(told)), "{refused}");
    let refused = case.windlass(&["run", "refactor"]).expect_code(2);
    let last = refused.stderr.lines().last();
    assert_eq!(last, Some("  hint: is it a goal? `windlass run --name goal refactor`"), "{refused}");
    let ran = case.windlass(&["run", "--name", "naosu", "テストを直して", "--json"]).expect_code(0);
    assert_eq!(ran.json()["goal"], "テストを直して");
    let refused = case.windlass(&["run", "--name", "other", "naosu"]).expect_code(2);
    assert!(refused.stderr.contains("two names: other and naosu"), "{refused}");
}

#[test]
fn of_several_loops_status_lists_all_and_run_says_which_commands_choose() {
    let agent = "if [ $n -gt 1 ]; then exit 1; fi\necho 42 >answer.txt\ncomplete";
    let case = Setup::new(agent).limits("max_agent_failures = 1").ready();
    run(&case, "make the tests pass", 0);
    run(&case, "сделай тесты зелёными", 3);
    let listed = case.windlass(&["status"]).expect_code(0).stdout;
    for line in
        ["make-the-tests-pass    completed", "сделай-тесты-зелёными  blocked", "next: windlass status LOOP"]
    {
        assert!(listed.contains(line), "{listed}");
    }
    let refused = case.windlass(&["run"]).expect_code(2);
    let told = "`windlass run сделай-тесты-зелёными` goes on with: сделай тесты зелёными";
    assert!(refused.stderr.contains(told), "{refused}");
    assert!(!refused.stderr.contains("run make-the-tests-pass"), "{refused}");
}

#[test]
fn of_several_who_start_one_loop_at_once_the_others_are_told_who_drives() {
    let case = case();
    let args = ["run", "--name", "same", "make the tests pass"];
    let ran: Vec<_> = std::thread::scope(|scope| {
        let started: Vec<_> = (0..4).map(|_| scope.spawn(|| case.windlass(&args))).collect();
        started.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let (done, others): (Vec<_>, Vec<_>) = ran.iter().partition(|ran| ran.status.code() == Some(0));
    assert!(!done.is_empty(), "{}", ran[0]);
    for other in others {
        let told =
            other.stderr.contains("just created same") || other.stderr.contains("is driven by process");
        assert!(told, "{other}");
    }
    assert_eq!(case.turns("author"), 1);
}

#[test]
fn goals_of_one_name_that_start_at_once_are_as_many_loops() {
    let case = case();
    let goals = ["one two three four five six", "one two three four five seven"];
    let ran: Vec<_> = std::thread::scope(|scope| {
        let start = |goal: &'static str| scope.spawn(|| case.windlass(&["run", goal, "--json"]));
        let started: Vec<_> = goals.map(start).into_iter().collect();
        started.into_iter().map(|thread| thread.join().unwrap().expect_code(0).json()).collect()
    });
    let mut names: Vec<_> = ran.iter().map(|view| view["loop"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["one-two-three-four-five", "one-two-three-four-five-2"]);
    assert_eq!(ran.iter().map(|view| view["goal"].as_str().unwrap()).collect::<Vec<_>>(), goals);
}

#[test]
fn the_same_goal_that_starts_at_once_is_one_loop() {
    let case = case();
    let ran: Vec<_> = std::thread::scope(|scope| {
        let start = |_| scope.spawn(|| case.windlass(&["run", "make the tests pass"]));
        let started: Vec<_> = (0..3).map(start).collect();
        started.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for other in ran.iter().filter(|ran| ran.status.code() != Some(0)) {
        let is_told = other.stderr.contains("just created make-the-tests-pass")
            || other.stderr.contains("is driven by process");
        assert!(is_told, "{other}");
    }
    assert_eq!(case.turns("author"), 1);
}

#[test]
fn goals_with_the_same_first_line_are_two_loops() {
    let case = case();
    let one = run(&case, "make it work\nquickly", 0);
    let other = run(&case, "make it work\nslowly", 0);
    assert_ne!(one, other);
    assert_eq!(case.turns("author"), 2, "both were worked on");
}

#[test]
fn a_completed_goal_answers_for_its_own_text() {
    let case = case();
    let one = run(&case, "make the tests pass", 0);
    let again = run(&case, " make the tests pass ", 0);
    assert_eq!(one, again);
    assert_eq!(case.turns("author"), 1);
}

#[test]
fn an_unfinished_goal_is_gone_on_with() {
    let case = Setup::new("if [ $n -eq 1 ]; then exit 1; fi\necho 42 >answer.txt\ncomplete")
        .limits("max_agent_failures = 1")
        .ready();
    let one = run(&case, "make the tests pass", 3);
    case.windlass(&["restart", &one]).expect_code(0);
    assert_eq!(run(&case, "make the tests pass", 0), one);
    assert_eq!(case.turns("author"), 2);
}

#[test]
fn a_name_that_another_goal_has_is_refused() {
    let case = case();
    case.windlass(&["run", "--name", "old", "make the tests pass"]).expect_code(0);
    let ran = case.windlass(&["run", "--name", "old", "make everything else"]).expect_code(2);
    assert!(ran.stderr.contains("not its goal"), "{ran}");
    case.windlass(&["run", "--name", "old", "make the tests pass"]).expect_code(0);
    assert_eq!(case.turns("author"), 1);
}

/// The work of the goal is in the checkout, and a later commit undoes it.
fn taken_and_undone(case: &Case, name: &str) {
    case.windlass(&["take", name]).expect_code(0);
    case.repo.file("answer.txt", "0\n");
    case.repo.commit("undo it");
}

#[test]
fn a_completed_goal_does_not_answer_for_commits_that_came_since() {
    let case = case();
    let one = run(&case, "make the tests pass", 0);
    taken_and_undone(&case, &one);
    let refused = case.windlass(&["run", "--name", &one, "make the tests pass"]).expect_code(2);
    assert!(refused.stderr.contains("not with the commits that came since"), "{refused}");
    let again = case.windlass(&["run", "make the tests pass"]).expect_code(0);
    let note = format!("note: {one} completed this goal, but not with the commits that came since");
    assert!(again.stdout.contains(&note), "{again}");
    assert_eq!(case.turns("author"), 2, "the goal was worked on anew: {again}");
    assert_eq!(case.repo.show(&format!("windlass/{one}-2"), "answer.txt").trim(), "42");
    assert_eq!(run(&case, "make the tests pass", 0), format!("{one}-2"), "which has the commits");
    assert_eq!(case.turns("author"), 2);
}

#[test]
fn a_completed_goal_answers_for_its_work_in_the_checkout() {
    let case = case();
    let one = run(&case, "make the tests pass", 0);
    case.windlass(&["take", &one]).expect_code(0);
    assert_eq!(run(&case, "make the tests pass", 0), one);
    assert_eq!(case.turns("author"), 1);
}

#[test]
fn a_loop_whose_plan_was_replaced_is_not_that_of_its_goal() {
    let case = case();
    let one = run(&case, "make the tests pass", 0);
    case.windlass(&["set", &one, "--plan", "tasks/"]).expect_code(0);
    assert_eq!(run(&case, "make the tests pass", 0), format!("{one}-2"));
    assert_eq!(case.turns("author"), 2, "the goal was worked on");
}

#[test]
fn a_loop_whose_goal_was_edited_is_no_longer_that_of_its_first_words() {
    let case = case();
    let one = run(&case, "make the tests pass", 0);
    case.windlass(&["task", "edit", &one, "goal", "--text", "make the tests fast"]).expect_code(0);
    assert_eq!(run(&case, "make the tests pass", 0), format!("{one}-2"));
    assert_eq!(case.turns("author"), 2);
}

#[test]
fn a_plan_of_one_task_file_named_goal_is_no_goal() {
    let case = Setup::new("echo 42 >answer.txt\ncomplete").task("goal", "make the tests pass\n").ready();
    let planned = case.windlass(&["run", "--json"]).expect_code(0).json()["loop"].clone();
    let again = case.windlass(&["run", "--json"]).expect_code(0).json()["loop"].clone();
    assert_eq!(planned, again, "the plan is done");
    assert_eq!(case.turns("author"), 1);
    assert_ne!(planned, run(&case, "make the tests pass", 0), "a goal is no plan");
}

#[test]
fn a_goal_and_a_plan_together_are_refused() {
    let case = Setup::new("if [ $n -eq 1 ]; then exit 1; fi\necho 42 >answer.txt\ncomplete")
        .limits("max_agent_failures = 1")
        .ready();
    let goal = "make the tests pass";
    for words in [vec!["run", goal, "--plan", "tasks/"], vec!["run", "--name", "a", "b", "--plan", "tasks/"]]
    {
        let refused = case.windlass(&words).expect_code(2);
        assert!(refused.stderr.contains("a goal and --plan are two plans"), "{refused}");
        assert!(refused.stderr.contains("windlass run --name NAME --plan tasks/"), "{refused}");
    }
    case.nothing_was_made();
    let one = run(&case, goal, 3);
    case.windlass(&["run", goal, "--plan", "tasks/"]).expect_code(2);
    let status = case.windlass(&["status", &one, "--json"]).expect_code(0).json();
    assert_eq!(status["tasks"][0]["id"], "goal", "the loop of the goal keeps it");
}
