//! `windlass set`: another policy or plan for a loop that is there, at rest and
//! while it is driven.

use std::fs;

use windlass_testkit::poll;

use crate::case::{Case, LONG, LOOP, RUN, Setup};

/// Needs a second turn.
const SECOND_TURN: &str =
    "if [ $n -eq 1 ]; then echo 7 >answer.txt; exit 0; fi\necho 42 >answer.txt\ncomplete";

fn at_its_limit() -> Case {
    let case = Setup::new(SECOND_TURN).limits("max_iterations = 1").ready();
    case.run().ended(4, "limit", "max_iterations");
    case
}

#[test]
fn a_loop_at_its_limit_goes_on_with_a_higher_one() {
    let case = at_its_limit();
    let told = case.windlass(&["set", LOOP, "loop.max_iterations=9"]).expect_code(0);
    assert!(told.stdout.contains("loop.max_iterations: 1 -> 9\nin force from now on."), "{told}");
    let log = case.log();
    let changed = log.of("policy_changed");
    assert_eq!(changed.len(), 1, "{log}");
    assert_eq!(changed[0]["keys"][0]["before"], "1", "{log}");

    let again = case.windlass(&["set", "loop.max_iterations=9"]).expect_code(0);
    assert!(again.stdout.contains("nothing changed: demo1 has all of this already."), "{again}");
    assert_eq!(case.log().len(), log.len(), "nothing is written for it");
    case.windlass(&["restart", LOOP]).expect_code(0);
    case.run().completed();
}

#[test]
fn what_cannot_be_set_is_refused_and_changes_nothing() {
    let case = at_its_limit();
    let before = case.log().len();
    for (words, said) in [
        (&["set", LOOP, "loop.max_iteration=9"][..], "did you mean `loop.max_iterations`?"),
        (&["set", LOOP, "loop.max_iterations=lots"], "loop.max_iterations"),
        (&["set", LOOP, "loop.max_iterations"], "there is no `=` in it"),
        (&["set", LOOP], "there is nothing to set"),
        (&["set", "nobody", "loop.max_iterations=9"], "there is no loop named nobody"),
        (&["set", LOOP, "--base", "HEAD"], "the base of demo1 cannot change"),
        (&["set", LOOP, "agent.command=[\"no-such-program\"]"], "no-such-program"),
        (&["set", LOOP, "gate.check=[{name=\"x\", run=\"sh ./absent.sh\"}]"], "absent.sh"),
        (&["set", LOOP, "brief.rules=absent.md"], "absent.md"),
        (&["set", LOOP, "--plan", "absent/"], "absent"),
    ] {
        let refused = case.windlass(words).expect_code(2);
        assert!(refused.stderr.contains(said), "{words:?}: {refused}");
    }
    assert_eq!(case.log().len(), before);
}

#[test]
fn what_is_typed_with_run_on_a_loop_that_is_there_takes_effect_or_is_refused() {
    let case = at_its_limit();
    let before = case.log().len();
    for (words, said) in [
        (&["--base", "HEAD"][..], "the base of demo1 cannot change"),
        (&["--policy", "absent.toml"], "absent.toml"),
        (&["--plan", "absent/"], "absent"),
        (&["--set", "loop.max_iteration=9"], "did you mean `loop.max_iterations`?"),
    ] {
        let refused = case.windlass(&[&["run", "--name", LOOP], words].concat()).expect_code(2);
        assert!(refused.stderr.contains(said), "{words:?}: {refused}");
    }
    assert_eq!(case.log().len(), before, "nothing was changed");
    let told = case.windlass(&["run", "--name", LOOP, "--set", "loop.max_iterations=9"]).expect_code(4);
    assert!(told.stdout.contains("loop.max_iterations: 1 -> 9"), "{told}");
    assert_eq!(case.log().count("policy_changed"), 1);
    case.windlass(&["restart", LOOP]).expect_code(0);
    let again = case.windlass(&["run", "--name", LOOP, "--set", "loop.max_iterations=9"]).expect_code(0);
    assert!(!again.stdout.contains("->"), "it has this already: {again}");
}

#[test]
fn a_completed_loop_stays_as_it_is() {
    let case = Setup::new("echo 42 >answer.txt\ncomplete").ready();
    case.run().completed();
    let refused = case.windlass(&["set", LOOP, "loop.max_iterations=9"]).expect_code(2);
    assert!(refused.stderr.contains("the loop is completed: only new tasks"), "{refused}");
}

#[test]
fn while_a_loop_is_driven_it_waits_for_the_next_iteration() {
    let case = Setup::new(&format!("if [ $n -eq 1 ]; then hold; fi\n{SECOND_TURN}"))
        .limits("max_iterations = 1")
        .ready();
    let running = case.start_until("author", 1);
    let told = case.windlass(&["set", LOOP, "loop.max_iterations=5"]).expect_code(0);
    assert!(
        told.stdout.contains("in force when the iteration has ended, or when it is run again."),
        "{told}"
    );
    // What waits is not lost by what comes after it.
    let told = case.windlass(&["set", LOOP, "loop.max_final_fixes=7", "--json"]).expect_code(0).json();
    assert_eq!(
        (&told["when"], told["keys"].as_array().unwrap().len()),
        (&"next_iteration".into(), 1),
        "{told}"
    );
    let same = case.windlass(&["set", LOOP, "loop.max_iterations=5"]).expect_code(0);
    assert!(same.stdout.contains("nothing changed"), "{same}");
    case.leave("go");
    let seen = case.look(running.finish(RUN));
    seen.completed();
    assert_eq!(case.turns("author"), 2);
    let changed = seen.log.of("policy_changed");
    assert_eq!(changed.len(), 1, "{}", seen.log);
    assert_eq!(changed[0]["keys"].as_array().map(Vec::len), Some(2), "{}", seen.log);
}

#[test]
fn a_variable_that_agents_are_newly_lent_is_hidden() {
    let author = "if [ $n -eq 1 ]; then hold; echo 7 >answer.txt; exit 0; fi\necho \"lent: $LAUNCH_WORD.\"\n\
        echo \"${#LAUNCH_WORD}\" >\"$side/lent\"\necho 42 >answer.txt\ncomplete";
    let case = Setup::new(author).ready();
    let mut command = case.command(&["run", "--name", LOOP]);
    command.env("LAUNCH_WORD", "heron-under-7-lamps");
    let running = case.home.start(command);
    assert!(windlass_testkit::poll::until(crate::case::LONG, || case.turns("author") == 1));
    case.windlass(&["set", LOOP, "agent.env=[\"LAUNCH_WORD\"]"]).expect_code(0);
    case.leave("go");
    case.look(running.finish(RUN)).completed();
    assert_eq!(case.left("lent").trim(), "19", "the agent has it");
    let shown = case.windlass(&["show", LOOP, "attempt:2", "--raw"]).expect_code(0).stdout;
    assert!(shown.contains("lent:") && !shown.contains("heron"), "{shown}");
}

#[test]
fn another_level_is_in_force_from_the_next_iteration_on() {
    let held = format!("if [ $n -eq 1 ]; then hold; fi\n{SECOND_TURN}");
    let case = Setup::new(&held).unconfined("it begins without a sandbox").ready();
    let running = case.start_until("author", 1);
    let set = ["set", LOOP, "sandbox.level=auto", "sandbox.minimum=landlock"];
    let told = case.windlass(&set);
    case.leave("go");
    let seen = case.look(running.finish(RUN));
    seen.completed();
    match told.status.code() {
        Some(0) => assert_ne!(seen.view["sandbox"], "none", "{}", seen.log),
        // Refused where it was asked for: this machine has no level.
        _ => {
            windlass_testkit::capability::not_run("this machine has no sandbox level to change to");
            assert_eq!(seen.view["sandbox"], "none");
        }
    }
}

#[test]
fn another_set_up_reaches_the_author() {
    let author = "cat prepared >\"$side/prepared-$n\"\nif [ $n -eq 1 ]; then echo 7 >answer.txt; exit 0; fi\n\
        echo 42 >answer.txt\ncomplete";
    let case = Setup::new(author)
        .limits("max_iterations = 1")
        .more("[workspace]\nsetup = [\"echo first >prepared\"]\n")
        .file(".gitignore", "prepared\n")
        .ready();
    case.run().ended(4, "limit", "max_iterations");
    let set = ["set", "loop.max_iterations=3", "workspace.setup=[\"echo second >prepared\"]"];
    case.windlass(&set).expect_code(0);
    case.windlass(&["restart", LOOP]).expect_code(0);
    case.run().completed();
    assert_eq!((case.left("prepared-1").trim(), case.left("prepared-2").trim()), ("first", "second"));
}

#[test]
fn a_plan_is_read_again_and_its_changes_are_told() {
    let case = at_its_limit();
    let same = case.windlass(&["set", LOOP, "--plan", "tasks/"]).expect_code(0);
    assert!(same.stdout.contains("nothing changed"), "{same}");
    case.repo.file("tasks/more.md", "# One more\n\nThe same again.\n");
    let case = case.looked_at();
    let told = case.windlass(&["set", LOOP, "--plan", "tasks/", "loop.max_iterations=9"]).expect_code(0);
    assert!(told.stdout.contains("task more: added"), "{told}");
    let status = case.status();
    assert_eq!(status["tasks"].as_array().map(Vec::len), Some(2), "{status:#}");
}

#[test]
fn an_edited_policy_file_is_taken_when_it_is_asked_for() {
    let case = at_its_limit();
    let file = case.repo.path().join("windlass.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    case.repo.file("windlass.toml", text.replace("max_iterations = 1", "max_iterations = 4"));
    let case = case.looked_at();
    let own = case.windlass(&["set", LOOP, "loop.max_final_fixes=7"]).expect_code(0);
    assert!(!own.stdout.contains("max_iterations"), "the file is not read for it: {own}");
    let told = case.windlass(&["set", LOOP, "--reload"]).expect_code(0);
    assert!(told.stdout.contains("loop.max_iterations: 1 -> 4"), "{told}");
    assert!(told.stdout.contains("loop.max_final_fixes: 7 -> "), "{told}");
}

fn edit_policy(case: &Case, from: &str, to: &str) {
    let text = std::fs::read_to_string(case.repo.path().join("windlass.toml")).unwrap();
    assert!(text.contains(from), "{text}");
    case.repo.file("windlass.toml", text.replace(from, to));
}

#[test]
fn files_that_were_edited_take_effect_at_the_next_run_and_what_was_set_by_hand_stays() {
    let agent = format!("echo $n >turn.txt\n{SECOND_TURN}");
    let case = Setup::new(&agent).limits("max_iterations = 1").ready();
    case.run().ended(4, "limit", "max_iterations");
    case.windlass(&["set", LOOP, "loop.max_final_fixes=7"]).expect_code(0);
    edit_policy(&case, "max_iterations = 1", "max_iterations = 4");
    case.repo.file("tasks/more.md", "# One more\n\nThe same again.\n");
    let case = case.looked_at();
    let told = case.windlass(&["run", LOOP]).expect_code(4);
    for said in ["loop.max_iterations: 1 -> 4", "task more: added"] {
        assert!(told.stdout.contains(said), "{said}: {told}");
    }
    assert!(!told.stdout.contains("max_final_fixes"), "{told}");
    let log = case.log();
    let again = case.windlass(&["run", LOOP]).expect_code(4);
    assert!(!again.stdout.contains("->"), "it was taken once: {again}");
    assert_eq!(case.log().len(), log.len());
    case.windlass(&["restart", LOOP]).expect_code(0);
    case.run().completed();
    assert_eq!(case.status()["tasks"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_file_that_is_gone_changes_nothing_and_a_broken_one_is_refused() {
    let case = at_its_limit();
    let length = case.log().len();
    edit_policy(&case, "max_iterations = 1", "max_iterations = ");
    let refused = case.windlass(&["run", LOOP]).expect_code(2);
    assert!(refused.stderr.contains("windlass.toml:"), "{refused}");
    std::fs::remove_file(case.repo.path().join("windlass.toml")).unwrap();
    std::fs::remove_dir_all(case.repo.path().join("tasks")).unwrap();
    let case = case.looked_at();
    case.windlass(&["run", LOOP]).expect_code(4);
    assert_eq!(case.log().len(), length);
}

#[test]
fn a_completed_loop_does_not_read_edited_files() {
    let case = Setup::new("echo 42 >answer.txt\ncomplete").limits("max_iterations = 5").ready();
    case.run().completed();
    let length = case.log().len();
    edit_policy(&case, "max_iterations = 5", "max_iterations = 4");
    case.repo.file("tasks/more.md", "# One more\n\nThe same again.\n");
    let case = case.looked_at();
    let told = case.windlass(&["run", LOOP]).expect_code(0);
    let said = "your files changed since; not part of this loop: loop.max_iterations, task more";
    assert!(told.stdout.contains(said) && told.stdout.contains("windlass run --name demo1-2"), "{told}");
    assert_eq!(case.log().len(), length);
}

#[test]
fn a_new_task_of_a_completed_loop_is_told_first_with_the_commands_that_do_it() {
    let case = Setup::new("echo 42 >answer.txt\necho $n >turn.txt\ncomplete").ready();
    case.run().completed();
    case.repo.git(["branch", &format!("windlass/{LOOP}-2")]);
    case.repo.file("tasks/more.md", "# One more\n\nThe same again.\n");
    let case = case.looked_at();
    for words in [&["run", LOOP][..], &["run", LOOP, "--dry-run"], &["status", LOOP]] {
        let told = case.windlass(words).expect_code(0).stdout;
        assert!(told.starts_with("your files changed since; not part of this loop: task more\n"), "{told}");
        assert_eq!(told.matches("your files changed").count(), 1, "{told}");
        let other = format!("windlass run --name {LOOP}-3   (starts a loop");
        assert!(told.contains(&other), "the second has no room: {told}");
    }
    let told = case.windlass(&["status", LOOP]).expect_code(0).stdout;
    let (set, run) = (["set", LOOP, "--plan", "tasks/"], ["run", LOOP]);
    assert!(told.contains(&format!("windlass {} && windlass {} ", set.join(" "), run.join(" "))), "{told}");
    case.windlass(&set).expect_code(0);
    case.windlass(&run).expect_code(0);
    assert_eq!(case.turns("author"), 2);
    let told = case.windlass(&["status", LOOP]).expect_code(0).stdout;
    assert!(!told.contains("your files changed"), "{told}");
}

#[test]
fn status_says_which_edits_a_running_loop_has_not_read() {
    let case = Setup::new("hold\necho 42 >answer.txt\ncomplete").ready();
    let running = case.home.start(case.command(&["run", "--name", LOOP]));
    let status = || case.windlass(&["status", LOOP]).stdout;
    assert!(poll::until(LONG, || case.turns("author") == 1), "{}", running.stdout());
    assert!(!status().contains("your files changed"), "{}", status());
    fs::write(case.repo.path().join("tasks/more.md"), "# More\n\nDo more.\n").unwrap();
    let told = status();
    assert!(told.contains(&format!("your files changed since {LOOP} read them: task more")), "{told}");
    assert!(told.contains(&format!("windlass set {LOOP} --plan tasks")), "{told}");
    case.leave("go");
    running.finish(RUN).expect_code(0);
}
