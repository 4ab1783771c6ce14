//! `windlass plan`, and plans that are not a directory of task files, run to their end.

use std::fs;

use crate::case::{Case, LOOP, Setup};

/// Writes a file for each task.
const WORKS: &str = "echo $n >$(echo $WINDLASS_TASK | tr -c 'a-zA-Z0-9\\n' -).txt\ncomplete";

fn project(agent: &str) -> Setup {
    Setup::new(agent).checks("[[gate.check]]\nname = \"test\"\nrun = \"true\"\n")
}

fn with_plan(file: &str, text: &str) -> Case {
    project(WORKS).file(file, text).ready()
}

fn run_plan(case: &Case, source: &str) -> crate::case::Seen {
    case.look(case.windlass(&["run", "--name", LOOP, "--plan", source]))
}

#[test]
fn the_graph_is_drawn_with_the_state_of_each_task() {
    let case = project(WORKS)
        .task("a", "# The first\n\nDo it.\n")
        .task("b", "---\ndepends_on: [a]\n---\n\n# The second\n\nDo it.\n")
        .task("c", "# The third\n\nDo it.\n")
        .ready();
    let shown = case.windlass(&["plan", "show"]).expect_code(0).stdout;
    assert!(shown.starts_with("tasks/ (tasks): 3 tasks\n"), "{shown}");
    assert!(shown.contains("· a  The first  (critical path)"), "{shown}");
    assert!(shown.contains("\n\n· pending   "), "the signs are told: {shown}");
    assert!(!shown.contains("▶ active"), "only those that are there: {shown}");
    case.nothing_was_made();
    case.windlass(&["run", "--name", LOOP, "--task", "a"]).expect_code(0);
    let shown = case.windlass(&["plan", "show"]).expect_code(0).stdout;
    assert!(shown.contains("3 tasks, as loop demo1 has them") && shown.contains("✓ a  The first"), "{shown}");
    let json = case.windlass(&["plan", "show", "--json"]).expect_code(0).json();
    assert_eq!((&json["tasks"][0]["status"], &json["tasks"][1]["level"]), (&"done".into(), &1.into()));
    assert!(case.windlass(&["plan", "show", "--dot"]).expect_code(0).stdout.starts_with("digraph"));
    assert!(case.windlass(&["plan", "show", "--mermaid"]).expect_code(0).stdout.contains("-->"));
}

#[test]
fn every_problem_of_a_plan_is_listed_with_its_place() {
    let case = project(WORKS)
        .task("a", "---\ndepends_on: [b]\n---\n\n# The first\n\nDo it.\n")
        .task("b", "---\ndepends_on: [a]\n---\n\n# The second\n\nDo it.\n")
        .task("c", "---\ndepends_on: [nobody]\n---\n\n# The third\n\nDo it.\n")
        .task("d", "---\npriorty: 1\n---\n\n# The fourth\n\nDo it.\n")
        .ready();
    let said = case.windlass(&["plan", "check"]).expect_code(2).stderr;
    for part in [
        "a → b → a",
        "nobody, which is not in the plan",
        "d.md:2:1",
        "did you mean `priority`?",
        "problems in the plan",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    case.windlass(&["run", "--name", LOOP]).expect_code(2);
    case.nothing_was_made();
}

const PRD: &str = r#"{
  "project": "shop",
  "userStories": [
    { "id": "US-001", "title": "Prices", "description": "Show prices.", "acceptanceCriteria": ["shown"], "priority": 2, "passes": false },
    { "id": "US-002", "title": "Basket", "description": "Keep a basket.", "acceptanceCriteria": ["kept"], "priority": 1, "passes": false },
    { "id": "US-003", "title": "Done before", "description": "It is there.", "priority": 3, "passes": true }
  ]
}
"#;

#[test]
fn the_stories_of_a_prd_are_done_by_priority() {
    let case = with_plan("prd.json", PRD);
    let seen = run_plan(&case, "prd.json");
    seen.ended(0, "completed", "done_before").task_is("US-002", "done", None);
    let done: Vec<String> =
        seen.log.of("task_done").iter().map(|of| of["task"].as_str().unwrap().to_owned()).collect();
    assert_eq!(done, ["US-002", "US-001"]);
}

#[test]
fn a_broken_prd_is_refused_with_line_and_column() {
    let case = with_plan("prd.json", &PRD.replace("\"priority\": 1,", "\"priority\": 1"));
    let said = case.windlass(&["run", "--name", LOOP, "--plan", "prd.json"]).expect_code(2).stderr;
    assert!(said.contains("prd.json:5:"), "{said}");
    case.nothing_was_made();
}

fn milestones(count: usize) -> String {
    let section = |n: usize| {
        format!(
            "<!-- forge-section -->\n## Section {n}\n\nBuild part {n}.\n\n```\n<!-- forge-section -->\n```\n\n"
        )
    };
    format!("# The plan\n\nFor all of it.\n\n{}", (1..=count).map(section).collect::<String>())
}

#[test]
fn each_section_of_a_milestone_document_waits_for_the_one_before() {
    for count in [24, 40] {
        let case = project(WORKS).limits("max_iterations = 60").file("PLAN.md", milestones(count)).ready();
        let seen = run_plan(&case, "PLAN.md");
        seen.completed();
        let tasks = seen.view["tasks"].as_array().unwrap();
        assert_eq!(tasks.len(), count, "a marker inside a fence is text");
        assert_eq!(case.turns("author"), u32::try_from(count).unwrap());
        let brief = case.left("author-2.brief");
        assert!(brief.contains("Build part 2.") && brief.contains("For all of it."), "{brief}");
    }
}

#[test]
fn boxes_of_a_checklist_are_tasks_and_checked_ones_are_done() {
    let case = with_plan("TODO.md", "# To do\n\n- [x] Begin\n- [ ] Parse the header\n- [ ] Parse the body\n");
    let seen = run_plan(&case, "TODO.md");
    seen.ended(0, "completed", "done_before");
    assert_eq!(case.turns("author"), 2);
}

#[test]
fn boxes_that_the_operator_checks_by_hand_are_no_dead_end() {
    let todo = "# To do\n\n- [ ] Lexer\n- [ ] Parser\n- [ ] Printer\n";
    let case = with_plan("TODO.md", todo);
    case.windlass(&["run", "--name", LOOP, "--plan", "TODO.md", "--max", "1"]).expect_code(0);
    fs::write(case.repo.path().join("TODO.md"), todo.replace("[ ] Lexer", "[x] Lexer")).unwrap();
    case.windlass(&["run", LOOP, "--max", "1"]).expect_code(0);
    fs::write(case.repo.path().join("TODO.md"), todo.replace("[ ]", "[x]")).unwrap();
    let seen = case.seen(case.windlass(&["run", LOOP]));
    seen.ended(0, "completed", "done_before");
    assert!(seen.ran.stdout.contains("task printer: done by your word"), "{}", seen.ran.stdout);
    assert_eq!(case.turns("author"), 2, "the two that windlass did, once each");
}

const CHAT: &str = r#"[[chat.user]]
content = "Write the answer into answer.txt."

[tools]
bash = ["make"]
"#;

#[test]
fn a_codescribe_task_changes_in_the_middle_of_a_run() {
    let case = project("if [ $n -eq 1 ]; then hold; fi\necho $n >>answer.txt\ncomplete")
        .checks("[[gate.check]]\nname = \"test\"\nrun = \"test $(wc -l <answer.txt) -ge 3\"\n")
        .file("task.toml", CHAT)
        .ready();
    let words = ["run", "--name", LOOP, "--plan", "task.toml"];
    let mut running = case.home.start(case.command(&words));
    let begun =
        windlass_testkit::poll::until(crate::case::LONG, || running.has_ended() || case.turns("author") >= 1);
    assert!(begun && !running.has_ended(), "{}", running.stdout());
    let other = CHAT.replace("Write the answer", "Write all of the answer");
    fs::write(case.repo.path().join("task.toml"), other).unwrap();
    let told = case.windlass(&["set", LOOP, "--plan", "task.toml"]).expect_code(0).stdout;
    assert!(told.contains(": changed"), "{told}");
    case.leave("go");
    running.finish(crate::case::RUN).expect_code(0);
    assert_eq!(case.log().of("plan_changed").len(), 1);
    assert!(
        case.left("author-2.brief").contains("Write all of the answer"),
        "{}",
        case.left("author-2.brief")
    );
}

#[test]
fn a_file_that_could_be_two_kinds_of_plan_is_not_guessed() {
    let text = "# A task\n\nSome prose about it.\n\n- [ ] one\n- [ ] two\n\nMore prose.\n";
    let case = with_plan("NOTES.md", text);
    let said = case.windlass(&["plan", "check", "NOTES.md"]).expect_code(2).stderr;
    assert!(said.contains("plan.format"), "{said}");
    case.windlass(&["plan", "check", "NOTES.md", "--format", "checklist"]).expect_code(0);
    let words = ["run", "--name", LOOP, "--plan", "NOTES.md", "--set", "plan.format=checklist"];
    case.look(case.windlass(&words)).completed();
    assert_eq!(case.turns("author"), 2);
    let said = case.windlass(&["plan", "check", "NOTES.md", "--format", "chek-list"]).expect_code(2).stderr;
    assert!(said.contains("did you mean `checklist`?"), "{said}");
}

/// agent-loop 1.
#[test]
fn a_person_is_told_what_is_ready_which_story_and_how_far_the_plan_is() {
    let stories = PRD.replace("\"passes\": true", "\"passes\": false, \"dependsOn\": [\"US-001\"]");
    let case = with_plan("prd.json", &stories);
    let seen = run_plan(&case, "prd.json");
    seen.completed();
    let said = &seen.ran.stdout;
    let places: Vec<Option<usize>> = [
        "loop demo1: 0 of 3 tasks done, 2 ready\n",
        "iteration 1 of 30: US-002  Basket  (0 of 3 tasks done)\n",
        "iteration 2 of 30: US-001  Prices  (1 of 3 tasks done)\n",
        "iteration 3 of 30: US-003  Done before  (2 of 3 tasks done)\n",
        "  tasks     3 of 3 tasks done\n",
        "next: windlass take demo1",
    ]
    .iter()
    .map(|line| said.find(line))
    .collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}\n{said}");
    assert!(!said.contains("last time"), "{said}");
    let progress = fs::read_to_string(case.repo.path().join(".windlass/loops/demo1/progress.md")).unwrap();
    let lines: Vec<&str> = progress.lines().collect();
    assert_eq!(lines.len(), 3, "{progress}");
    assert!(lines[0].starts_with("- 20"), "{progress}");
    let entry = "Z iteration 1, US-002 (Basket): done, accepted by the gate, not reviewed";
    assert!(lines[0].ends_with(entry), "{progress}");
}

/// agent-loop 2: a review without a verdict, then rejections to the cap.
#[test]
fn a_rejection_is_told_before_the_next_iteration_and_in_the_progress() {
    let reviewer = r#"case $WINDLASS_TASK-$n in
US-002-1) say '"summary":"I cannot say"' ;;
US-002-*) say '"verdict":"reject","summary":"the basket\nis empty","findings":[],"resolved":[],"pending":[],"blocker":""' ;;
*) accept ;;
esac"#;
    let agent = "echo $n >>$(echo $WINDLASS_TASK | tr -c 'a-zA-Z0-9\\n' -).txt\ncomplete";
    let case = project(agent)
        .reviewer(reviewer)
        .review("tasks = true\nfinal = false\n")
        .file("prd.json", PRD)
        .ready();
    let seen = run_plan(&case, "prd.json");
    seen.ended(3, "blocked", "rejected")
        .task_is("US-002", "blocked", Some("rejected"))
        .task_is("US-001", "done", None);
    let said = &seen.ran.stdout;
    let no_verdict = "  last time (iteration 1): no usable verdict: ";
    let rejected = "  last time (iteration 2): rejected: the basket is empty\n";
    assert!(said.find(no_verdict) < said.find(rejected) && said.contains(no_verdict), "{said}");
    assert!(said.contains("  tasks     2 of 3 tasks done, 1 blocked: US-002\n"), "{said}");
    assert!(said.contains("next: windlass show demo1 US-002   (why it is blocked)"), "{said}");
    assert!(case.left("author-3.brief").contains("the basket"), "{}", case.left("author-3.brief"));
    let progress = fs::read_to_string(case.repo.path().join(".windlass/loops/demo1/progress.md")).unwrap();
    let verdicts: Vec<&str> =
        progress.lines().filter_map(|line| line.split_once(" iteration ")).map(|(_, rest)| rest).collect();
    assert!(verdicts[0].starts_with("1, US-002 (Basket): no usable verdict: "), "{progress}");
    assert_eq!(verdicts[1], "2, US-002 (Basket): rejected: the basket is empty");
    assert_eq!(verdicts[4], "5, US-001 (Prices): done, accepted by the reviewer");
    assert_eq!(seen.task("US-002")["setback"]["result"], "rejected");
}

/// As agent-loop left it: one story is blocked, another was rejected twice.
#[test]
fn a_story_that_is_blocked_waits_for_a_person_and_rejections_are_counted_on() {
    let stories = r#"{ "userStories": [
    { "id": "US-001", "title": "Prices", "description": "Show prices.", "priority": 1, "passes": false, "blocked": true, "rejections": 3, "notes": "[BLOCKED]" },
    { "id": "US-002", "title": "Sums", "description": "Add them.", "priority": 2, "passes": false, "dependsOn": ["US-001"] },
    { "id": "US-003", "title": "Basket", "description": "Keep a basket.", "priority": 3, "passes": false, "rejections": 2, "notes": "[REJECTED] no test" },
    { "id": "US-004", "title": "Till", "description": "Pay.", "priority": 4, "passes": false }
  ] }"#;
    let reject = r#"reject() { say '"verdict":"reject","summary":"not yet","findings":[],"resolved":[],"pending":[],"blocker":""'; }"#;
    let case = project("echo $n >$(echo $WINDLASS_TASK | tr -c 'a-zA-Z0-9\\n' -).txt\ncomplete")
        .reviewer(&format!("{reject}\ncase $WINDLASS_TASK in US-003) reject ;; *) accept ;; esac"))
        .review("tasks = true\nfinal = false\n")
        .file("prd.json", stories)
        .ready();
    let shown = case.windlass(&["plan", "show", "prd.json"]).expect_code(0).stdout;
    assert!(shown.contains("✗ US-001"), "{shown}");
    let seen = run_plan(&case, "prd.json");
    seen.ended(3, "blocked", "several")
        .task_is("US-001", "blocked", Some("blocked_before"))
        .task_is("US-003", "blocked", Some("rejected"))
        .task_is("US-004", "done", None);
    assert_eq!(seen.task("US-001")["detail"], "blocked in prd.json before windlass");
    assert_eq!((&seen.task("US-002")["attempts"], &seen.task("US-003")["attempts"]), (&0.into(), &1.into()));
    assert!(
        seen.ran.stdout.contains("loop demo1: 0 of 4 tasks done, 2 ready, 1 blocked: US-001"),
        "{}",
        seen.ran
    );
    assert!(case.left("author-1.brief").contains("[REJECTED] no test"), "{}", case.left("author-1.brief"));
    case.reviewer("accept");
    let seen = case.look(case.windlass(&["run", LOOP, "--retry-blocked"]));
    seen.completed();
    assert_eq!(seen.task("US-001")["rejections"], 0, "the operator's word sets it back");
}

#[test]
fn what_a_plan_calls_blocked_is_tried_by_a_new_loop_that_is_told_to() {
    let stories = r#"{"userStories": [
        {"id": "US-001", "title": "First", "priority": 1, "passes": false, "blocked": true},
        {"id": "US-002", "title": "Second", "priority": 2, "passes": false, "dependsOn": ["US-001"]}
    ]}"#;
    let case = with_plan("prd.json", stories);
    let asked = ["run", "--name", LOOP, "--plan", "prd.json"];
    let said = case.windlass(&[&asked[..], &["--task", "US-002"]].concat()).expect_code(2).stderr;
    assert!(said.contains(&format!("`windlass run --name {LOOP} --retry-blocked --until US-002`")), "{said}");
    assert!(!said.contains("--task US-001"), "{said}");
    case.nothing_was_made();
    let ran = case.windlass(&[&asked[..], &["--retry-blocked", "--until", "US-002"]].concat());
    case.look(ran).ended(0, "stopped", "asked");
}

/// CodeScribe 4, as far as a foreign agent goes.
#[test]
fn programs_that_a_task_allows_are_kept_and_their_change_is_an_event() {
    let case = project("if [ $n -eq 1 ]; then hold; fi\necho $n >>answer.txt\ncomplete")
        .checks("[[gate.check]]\nname = \"test\"\nrun = \"test $(wc -l <answer.txt) -ge 3\"\n")
        .file("task.toml", CHAT)
        .ready();
    let mut running = case.home.start(case.command(&["run", "--name", LOOP, "--plan", "task.toml"]));
    let begun =
        windlass_testkit::poll::until(crate::case::LONG, || running.has_ended() || case.turns("author") >= 1);
    assert!(begun && !running.has_ended(), "{}", running.stdout());
    fs::write(case.repo.path().join("task.toml"), CHAT.replace("[\"make\"]", "[\"make\", \"npm\"]")).unwrap();
    let told = case.windlass(&["set", LOOP, "--plan", "task.toml"]).expect_code(0).stdout;
    assert!(told.contains("tools: make -> make, npm\n"), "{told}");
    case.leave("go");
    let ran = running.finish(crate::case::RUN).expect_code(0);
    let said = format!("{}{}", ran.stdout, ran.stderr);
    let note = "`[tools] bash` of the plan is not applicable to the agent command";
    assert_eq!(said.matches(note).count(), 1, "{said}");
    let log = case.log();
    let changed = log.of("plan_changed");
    assert_eq!(changed.len(), 1, "{log}");
    assert_eq!(changed[0]["tools"], serde_json::json!({ "before": ["make"], "after": ["make", "npm"] }));
    assert_eq!(log.of("loop_created")[0]["plan"]["tools"], serde_json::json!(["make"]));
    let told = case.windlass(&["log", LOOP]).expect_code(0).stdout;
    assert!(told.contains("plan changed; tools: make to make, npm"), "{told}");
}

#[test]
fn a_plan_that_only_the_command_line_names_is_no_agents_to_edit() {
    for file in ["PLAN.md", "my plan.md", "docs/the plan.md"] {
        let plan = "# All of it\n\n<!-- windlass-task -->\n## One\n\nBuild one.\n\n<!-- windlass-task -->\n## Two\n\nBuild two.\n";
        let agent = format!("echo $n >answer-$WINDLASS_TASK.txt\necho '# Nothing' >'{file}'\ncomplete");
        let case = Setup::new(&agent)
            .checks("[[gate.check]]\nname = \"test\"\nrun = \"true\"\n")
            .limits("max_iterations = 1")
            .file(file, plan)
            .ready();
        let seen = case.look(case.windlass(&["run", "--name", LOOP, "--plan", file]));
        let found = &seen.findings_in(file)[0];
        assert_eq!(
            (&found["origin"]["evidence"], &found["life"]),
            (&"protected_changed".into(), &"open".into()),
            "{found}"
        );
        let absolute = case.repo.path().join(file).display().to_string();
        let seen = case.look(case.windlass(&["run", "--name", "again", "--plan", &absolute]));
        assert!(seen.ran.stdout.contains("a protected path was edited"), "{}", seen.ran);
        let round_about = format!("./{file}");
        let seen = case.look(case.windlass(&["run", "--name", "third", "--plan", &round_about]));
        assert!(seen.ran.stdout.contains("a protected path was edited"), "{}", seen.ran);
        case.windlass(&["set", LOOP, "--reload"]).expect_code(0);
        assert_eq!(case.log().count("policy_changed"), 0, "{file} is still the plan");
    }
}

#[test]
fn a_check_of_the_plan_tells_all_that_a_run_would_refuse() {
    let case = project(WORKS)
        .task("a", "---\nmode: nothere\nchecks: [tst, fomat]\n---\n# A\n\nDo it.\n")
        .task("b", "---\nallow: [/etc/passwd, ../x]\nscope:\n  within: ['src/[**']\n---\n# B\n\nDo it.\n")
        .task("c", "---\nmode: port\n---\n# C\n\nDo it.\n")
        .file("prompts/port.md", "Port it.\n{{ nothing }}\n")
        .more("[[stop.check]]\nname = \"done\"\nexists = \"done.txt\"\n[budget]\nwall = \"1h\"\n")
        .ready();
    let checked = case.windlass(&["plan", "check"]).expect_code(2).stderr;
    let ran = case.windlass(&["run", "--name", LOOP]).expect_code(2).stderr;
    for part in [
        "a.md:2:7: there is no mode \"nothere\"",
        "a.md:3:10: there is no check named \"tst\"",
        "a.md:3:15: there is no check named \"fomat\"",
        "b.md:2:9: `allow` has \"/etc/passwd\"",
        "b.md:2:22: `allow` has \"../x\"",
        "b.md:4:12: scope.within has a bad pattern \"src/[**\"",
        "prompts/port.md:2:",
        "its plan must have exactly one task, and has 3",
        "8 problems in the plan",
    ] {
        for said in [&checked, &ran] {
            let one_line = said.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(one_line.contains(part), "{part}: {said}");
        }
    }
    case.nothing_was_made();
}

#[test]
fn no_problem_of_a_plan_hides_another() {
    let case = project(WORKS)
        .task("a", "---\nmode: nomode\nchecks: [zz]\nallow: [\"[x\"]\n---\n# A\n\nDo it.\n")
        .task("b", "---\ndepends_on: [ghost]\n---\n# B\n\nDo it.\n")
        .task(
            "c",
            "---\npriority: high\ndepends_on: [spook]\nchecks: [yy]\n---\n# C\n\n<!-- depends-on: x -->\nDo it.\n",
        )
        .task("d", "---\nmode: explore\nacceptance:\n- {text: ok, check: sh ./nope.sh}\n---\n# D\n\nDo it.\n")
        .ready();
    let checked = case.windlass(&["plan", "check"]).expect_code(2).stderr;
    let one_line = checked.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "a.md:2:7: there is no mode \"nomode\"",
        "a.md:3:10: there is no check named \"zz\"",
        "a.md:4:9: ",
        "b.md:2:14: task b depends on ghost",
        "c.md:2:11: `priority` must be a whole number",
        "c.md:3:14: task c depends on spook",
        "c.md:4:10: there is no check named \"yy\"",
        "c.md:8:1: `depends-on` in a comment",
        "d.md:2:7: task d has the mode explore: without a reviewer",
        "d.md:4:21: check `acceptance 1 (d)` names `nope.sh`, which is not in the base commit",
        "write the file, or mend the check that names it",
        "10 problems in the plan",
    ] {
        assert!(one_line.contains(part), "{part}: {checked}");
    }
    case.nothing_was_made();
}

#[test]
fn a_dry_run_shows_a_fix_as_the_run_begins_it() {
    let case = project(WORKS).task("fix-it", "---\nmode: fix\n---\n# Fix it\n\nAdd a test.\n").ready();
    let shown =
        case.windlass(&["run", "--name", LOOP, "--task", "fix-it", "--dry-run"]).expect_code(0).stdout;
    assert!(shown.contains("0 of 1 task done, 1 ready") && shown.contains("Add a test."), "{shown}");
}

#[test]
fn a_loop_is_that_of_a_plan_by_its_texts() {
    let case = with_plan("prd.json", PRD);
    run_plan(&case, "prd.json").ended(0, "completed", "done_before");
    let show = |source: &str| case.windlass(&["plan", "show", source]).expect_code(0).stdout;
    let shown = show("prd.json");
    assert!(shown.contains("as loop demo1 has them") && shown.contains("✓ US-001"), "{shown}");
    fs::write(case.repo.path().join("other.json"), PRD.replace("shop", "farm")).unwrap();
    let shown = show("other.json");
    assert!(!shown.contains("as loop") && shown.contains("· US-001"), "{shown}");
    fs::write(case.repo.path().join("prd.json"), PRD.replace("Show prices.", "Show all prices.")).unwrap();
    let shown = show("prd.json");
    assert!(shown.contains("as loop demo1 has them"), "{shown}");
    assert!(shown.contains("· US-001") && shown.contains("✓ US-002"), "{shown}");
}

#[test]
fn a_format_that_the_command_line_gave_goes_on_to_hold() {
    let todo = "# To do\n\nSome words.\n\n- [ ] Lexer\n- [ ] Parser\n- words\n";
    let case = with_plan("TODO.md", todo);
    let format = "plan.format=checklist";
    let words = ["run", "--name", LOOP, "--plan", "TODO.md", "--max", "1", "--set", format];
    case.windlass(&words).expect_code(0);
    case.windlass(&["run", LOOP, "--max", "1"]).expect_code(0);
    fs::write(case.repo.path().join("TODO.md"), format!("{todo}- [ ] Printer\n")).unwrap();
    let told = case.windlass(&["set", LOOP, "--plan", "TODO.md"]).expect_code(0).stdout;
    assert!(told.contains("task printer: added"), "{told}");
    case.seen(case.windlass(&["run", LOOP])).completed();
    assert_eq!(case.turns("author"), 3);
}

#[test]
fn another_loop_for_an_edited_plan_is_started_as_the_page_says() {
    let plan = "# Do it\n\nAll of it.\n";
    let case = with_plan("my plan.md", plan);
    run_plan(&case, "my plan.md").completed();
    fs::write(case.repo.path().join("my plan.md"), plan.replace("All of it", "Half of it")).unwrap();
    let said = case.windlass(&["status", LOOP]).expect_code(0).stdout;
    assert!(said.contains("windlass run --name demo1-2 --plan 'my plan.md'   (starts"), "{said}");
}

#[test]
fn a_plan_with_a_new_task_is_still_shown_as_its_loop_has_it() {
    let plan = "# All\n\n<!-- windlass-task -->\n## One\n\nBuild one.\n\n<!-- windlass-task -->\n## Two\n\nBuild two.\n";
    let case = with_plan("PLAN.md", plan);
    case.windlass(&["run", "--name", LOOP, "--plan", "PLAN.md", "--max", "1"]).expect_code(0);
    let longer = format!("{plan}\n<!-- windlass-task -->\n## Three\n\nBuild three.\n");
    fs::write(case.repo.path().join("PLAN.md"), &longer).unwrap();
    let shown = case.windlass(&["plan", "show", "PLAN.md"]).expect_code(0).stdout;
    assert!(shown.contains("3 tasks, as loop demo1 has them") && shown.contains("✓ one"), "{shown}");
    assert!(shown.contains("· three"), "{shown}");
    fs::write(case.repo.path().join("OTHER.md"), &longer).unwrap();
    let shown = case.windlass(&["plan", "show", "OTHER.md"]).expect_code(0).stdout;
    assert!(!shown.contains("as loop"), "a plan that the loop does not read: {shown}");
}

#[test]
fn words_about_all_tasks_show_no_done_task_as_open() {
    let plan = "# All\n\nSome words.\n\n<!-- windlass-task -->\n## One\n\nBuild one.\n";
    let case = with_plan("PLAN.md", plan);
    run_plan(&case, "PLAN.md").completed();
    fs::write(case.repo.path().join("PLAN.md"), plan.replace("Some words", "Other words")).unwrap();
    let shown = case.windlass(&["plan", "show", "PLAN.md"]).expect_code(0).stdout;
    assert!(shown.contains("✓ one"), "{shown}");
}

#[test]
fn a_plan_that_cannot_end_within_its_iterations_is_told_before_it_starts() {
    let case = project(WORKS)
        .limits("max_iterations = 1")
        .task("b", "# B\n\nDo it.\n")
        .task("c", "# C\n\nDo it.\n")
        .ready();
    let ran = case.windlass(&["run", "--name", LOOP, "--dry-run"]).expect_code(0);
    let begins = format!("loop {LOOP}: 0 of 2 tasks done");
    assert!(ran.stdout.starts_with(&begins), "{ran}");
    for row in
        ["\n  agent     ", "\n  limits    1 of 1 iteration left", "\n  sandbox   ", "\nwould start from "]
    {
        assert!(ran.stdout.contains(row), "{row}: {ran}");
    }
    let told = format!("{}{}", ran.stdout, ran.stderr);
    assert!(
        told.split_whitespace().collect::<Vec<_>>().join(" ").contains("--set loop.max_iterations="),
        "{told}"
    );
}

#[test]
fn a_mistyped_plan_with_a_blank_in_its_name_starts_nothing() {
    let case = with_plan("my plans.md", "# Do it\n\nAll of it.\n");
    let said = case.windlass(&["run", "--name", LOOP, "--plan", "my plan.md"]).expect_code(2).stderr;
    assert!(said.contains("did you mean `my plans.md`?"), "{said}");
    case.windlass(&["plan", "check", "v/no such"]).expect_code(2);
    case.nothing_was_made();
}

#[test]
fn without_a_source_the_tasks_that_are_there_are_named() {
    let case = project(WORKS).task("a", "# The first\n\nDo it.\n").ready();
    case.repo.file("windlass.toml", "[agent]\nuse = \"command\"\ncommand = [\"true\"]\n");
    let said = case.windlass(&["plan", "check"]).expect_code(2).stderr;
    assert!(
        said.contains("`plan.source` is not set") && said.contains("windlass plan check tasks"),
        "{said}"
    );
    case.windlass(&["plan", "check", "tasks"]).expect_code(0);
}
