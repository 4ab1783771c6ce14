//! `windlass plan "PROMPT"` and `windlass init "PROMPT"`: an agent proposes, windlass looks, the operator reads.

use std::fs;

use crate::case::{Case, LOOP, Setup};

/// The parts of an answer that is good but for its tasks.
const OPENING: &str = r#""title":"The answer","spec":"The answer is 42.","plan":"First one, then the other.","drop":[],"protect":[]"#;
const FIRST: &str = r#"{"id":"001-first","title":"The \"first\" step","text":"Write 42.","depends_on":[],"acceptance":["answer.txt says: 42"],"allow":[],"checks":["test"],"mode":null}"#;
const SECOND: &str = r#"{"id":"002-second","title":"The second","text":"Write more.","depends_on":["001-first"],"acceptance":["there is more"],"allow":[],"checks":[],"mode":null}"#;

fn answer(tasks: &str, checks: &str) -> String {
    format!(r#"say '{OPENING},"tasks":[{tasks}],"checks":[{checks}]'"#)
}

/// What the planner does in each of its turns, and an honest author.
fn planner(turns: &[String]) -> String {
    let arms: Vec<String> = (1..).zip(turns).map(|(n, turn)| format!("{n}) {turn} ;;")).collect();
    format!(
        "if [ $WINDLASS_ROLE = planner ]; then\necho x 2>/dev/null >planted && echo yes >\"$side/wrote\"\ncase $n in\n{}\nesac\nelse echo 42 >answer.txt; echo $n >$WINDLASS_TASK.txt; complete; fi",
        arms.join("\n")
    )
}

fn project(turns: &[String]) -> Case {
    let case = Setup::new(&planner(turns)).file("lint.sh", "exit 3\n").ready();
    fs::remove_dir_all(case.repo.path().join("tasks")).unwrap();
    case
}

fn text(case: &Case, path: &str) -> String {
    fs::read_to_string(case.repo.path().join(path)).unwrap_or_default()
}

fn files(case: &Case) -> Vec<String> {
    let listed = windlass_testkit::repo::git(case.repo.path(), ["status", "--porcelain", "-uall"]);
    listed.lines().map(|line| line[3..].to_owned()).filter(|path| !path.starts_with("tasks/answer")).collect()
}

#[test]
fn a_plan_is_asked_for_until_it_can_be_run() {
    let circle = FIRST.replace("\"depends_on\":[]", "\"depends_on\":[\"002-second\"]");
    let unknown = FIRST.replace("\"checks\":[\"test\"]", "\"checks\":[\"tset\"]");
    let lint = r#"{"name":"lint","run":"sh ./lint.sh"}"#;
    let case = project(&[
        answer(&format!("{circle},{SECOND}"), ""),
        answer(&format!("{unknown},{SECOND}"), r#"{"name":"gone","run":"sh ./no-such.sh"}"#),
        answer(&format!("{FIRST},{SECOND}"), lint),
    ]);
    let ran = case.windlass(&["plan", "Write the answer down"]).expect_code(0);
    assert_eq!(case.turns("planner"), 3, "{ran}");
    for part in [
        "001-first → 002-second → 001-first",
        "names the check \"tset\", which does not exist; there are test, gone",
        "check \"gone\" names no-such.sh, which is not in the repository",
        "new check lint: red on the head",
        "· 001-first  The \"first\" step",
        "wrote    spec/001-the-answer.md",
        "changed  windlass.toml",
        "git add -N :/plan :/spec :/tasks :/windlass.toml && git diff",
        "  git add :/plan :/spec :/tasks :/windlass.toml && git commit -m \"The plan\"\n  windlass run ",
    ] {
        assert!(ran.stdout.contains(part), "{part}: {ran}");
    }
    let brief = case.left("planner-2.brief");
    assert!(brief.contains("001-first → 002-second → 001-first") && brief.contains("Write the answer down"));
    assert!(brief.contains("- test: sh ./test.sh"), "{brief}");
    assert_eq!(case.left("wrote"), "", "a planner may only read");
    assert!(
        text(&case, "windlass.toml").contains("[[gate.check]]\nname = \"lint\"\nrun = \"sh ./lint.sh\"\n")
    );
    assert_eq!(text(&case, "spec/001-the-answer.md"), "The answer is 42.\n");
    assert!(case.windlass(&["list"]).expect_code(0).stdout.contains("No loops"), "nothing runs by itself");
    assert_eq!(case.turns("author"), 0);
}

#[test]
fn what_was_planned_is_run_by_the_operator_only() {
    let case = project(&[answer(&format!("{FIRST},{SECOND}"), "")]);
    case.windlass(&["plan", "Write the answer down"]).expect_code(0);
    let shown = case.windlass(&["run", "--name", LOOP, "--dry-run"]).expect_code(0).stdout;
    assert!(shown.contains("Write 42.") && shown.contains("answer.txt says: 42"), "{shown}");
    case.windlass(&["run", "--name", LOOP]).expect_code(0);
    assert_eq!(case.turns("author"), 2);
}

#[test]
fn what_a_planned_task_may_change_is_told_and_never_the_policy_or_the_plan() {
    let allowing = |globs: &str| FIRST.replace("\"allow\":[]", &format!("\"allow\":[{globs}]"));
    let case = project(&[
        answer(&allowing(r#""**","windlass.toml",".windlass/**""#), ""),
        answer(&allowing(r#""tasks/*.md","spec/**""#), ""),
        answer(&allowing(r#""test.sh","tests/old/**""#), ""),
    ]);
    let ran = case.windlass(&["plan", "Write the answer down"]).expect_code(0);
    for part in [
        "`allow` has \"**\", which reaches windlass.toml",
        "`allow` has \".windlass/**\", which reaches .windlass/loops",
        "`allow` has \"tasks/*.md\", which reaches tasks/001-first.md",
        "`allow` has \"spec/**\", which reaches spec/001-the-answer.md",
        "001-first may change what is protected: test.sh, tests/old/**",
    ] {
        let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(part), "{part}:\n{ran}");
    }
}

#[test]
fn three_bad_answers_write_nothing() {
    let bad = answer("", "");
    let case = project(&[bad.clone(), "true".to_owned(), bad]);
    let before = files(&case);
    let ran = case.windlass(&["plan", "Write the answer down"]).expect_code(1);
    assert!(ran.stderr.contains("gave no plan that can be used, 3 times; nothing was written"), "{ran}");
    assert!(ran.stdout.contains("there is no task") && ran.stdout.contains("there was no answer"), "{ran}");
    for way in ["[role.planner] in windlass.toml", "$WINDLASS_REPORT", "tasks/NAME.md"] {
        assert!(ran.stderr.contains(way), "{way}: {ran}");
    }
    assert_eq!(files(&case), before);
}

#[test]
fn what_a_run_would_refuse_of_a_plan_goes_back_to_the_planner() {
    let with = |mode: &str, allow: &str| {
        let task = FIRST.replace("\"mode\":null", &format!("\"mode\":\"{mode}\""));
        answer(&task.replace("\"allow\":[]", &format!("\"allow\":[{allow}]")), "")
    };
    let case =
        project(&[with("refactor", r#""../x","src/[**""#), with("../secret", ""), with("implement", "")]);
    case.repo.file("tasks/000-old.md", "---\nmode: gone\n---\n# Old\n\nDo it.\n");
    let ran = case.windlass(&["plan", "Write the answer down"]).expect_code(0);
    let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "there is no mode \"refactor\" (a task has the mode implement, explore or fix, or one of yours)",
        "`allow` has \"../x\", which leads out of the repository",
        "bad pattern \"src/[**\"",
        "\"../secret\" is no name of a mode",
    ] {
        assert!(said.contains(part), "{part}: {ran}");
    }
    assert!(!said.contains("\"gone\""), "what was wrong before is not the planner's: {ran}");
}

#[test]
fn a_plan_of_nothing_names_the_command_that_shows_the_plan() {
    let refused = Setup::new("complete").ready().windlass(&["plan"]).expect_code(2);
    let first = refused.stderr.lines().find(|line| line.contains("hint:"));
    assert_eq!(first, Some("  hint: `windlass plan show` draws the plan that is there"), "{refused}");
}

#[test]
fn the_documented_answer_of_a_planner_is_one_that_can_be_used() {
    let page = include_str!("../../../../docs/guide/plans.md");
    let (_, rest) = page.split_once("`WINDLASS_REPORT`:\n\n```json\n").unwrap();
    let (documented, _) = rest.split_once("```").unwrap();
    let answer: String = documented.lines().skip(2).map(str::trim).collect();
    let answer = answer.strip_suffix('}').unwrap().replace("make lint", "sh ./lint.sh");
    let case = project(&[format!("say '{answer}'")]);
    case.windlass(&["plan", "Write the lexer"]).expect_code(0);
    assert!(text(&case, "tasks/001-lexer.md").contains("every unit is a token"));
}

#[test]
fn a_prompt_of_init_becomes_a_plan() {
    let case = project(&[answer(&format!("{FIRST},{SECOND}"), "").replace("\"test\"", "")]);
    let ran = case.windlass(&["init", "--force", "--no-try", "Write the answer down"]).expect_code(0);
    assert!(ran.stdout.contains("the plan: 2 tasks") && ran.stdout.contains("nothing runs before"), "{ran}");
    assert!(text(&case, "tasks/001-first.md").contains("title: \"The \\\"first\\\" step\"\n"), "{ran}");
    assert!(text(&case, "windlass.toml").starts_with("# The policy of windlass"), "{ran}");
    assert_eq!(case.turns("author"), 0);
}

#[test]
fn without_an_agent_the_prompt_is_one_task() {
    let case = project(&[]);
    case.repo.file("windlass.toml", "[agent]\nuse = \"command\"\ncommand = [\"./no-such-agent\"]\n");
    let ran = case.windlass(&["init", "--force", "--no-try", "Write the answer down"]).expect_code(0);
    assert!(ran.stdout.contains("The prompt is one task: no agent could be asked"), "{ran}");
    assert!(text(&case, "tasks/001-first.md").contains("Write the answer down"), "{ran}");
    case.repo.file("windlass.toml", "[agent]\nuse = \"command\"\ncommand = [\"./no-such-agent\"]\n");
    let ran = case.windlass(&["plan", "Write more of it"]).expect_code(2);
    assert!(ran.stderr.contains("no agent can be asked for a plan"), "{ran}");
}

#[test]
fn a_plan_is_made_from_a_document() {
    let case = project(&[answer(FIRST, "")]);
    case.repo.file("SPEC.md", "# What it is\n\nA machine that answers.\n");
    case.windlass(&["plan", "--from", "SPEC.md"]).expect_code(0);
    let brief = case.left("planner-1.brief");
    assert!(brief.contains("A machine that answers.") && brief.contains("SPEC.md"), "{brief}");
    assert!(!case.repo.path().join("spec").exists(), "the operator's document is the specification");
    for (file, why) in [("NONE.md", "there is no such file"), ("tasks", "not a file")] {
        let ran = case.windlass(&["plan", "--from", file]).expect_code(2);
        assert!(ran.stderr.contains(why), "{ran}");
    }
}

#[test]
fn a_plan_is_revised() {
    let changed = FIRST.replace("Write 42.", "Write 42 twice.");
    let revision = answer(&changed, "").replace("\"drop\":[]", "\"drop\":[\"002-second\"]");
    let wrong = answer(&changed, "").replace("\"drop\":[]", "\"drop\":[\"009-none\"]");
    let case = project(&[answer(&format!("{FIRST},{SECOND}"), ""), wrong, revision]);
    case.windlass(&["plan", "Write the answer down"]).expect_code(0);
    let kept = text(&case, "tasks/001-first.md").replace("---\n\n", "priority: 7\n---\n\n");
    case.repo.file("tasks/001-first.md", kept);
    let ran = case.windlass(&["plan", "--revise", "One step is enough"]).expect_code(0);
    assert!(ran.stdout.contains("`drop` names \"009-none\", which is no task of the plan"), "{ran}");
    assert!(ran.stdout.contains("removed  tasks/002-second.md"), "{ran}");
    let now = text(&case, "tasks/001-first.md");
    assert!(now.contains("Write 42 twice.") && now.contains("priority: 7"), "{now}");
    assert!(!case.repo.path().join("tasks/002-second.md").exists());
    let brief = case.left("planner-2.brief");
    assert!(brief.contains("One step is enough") && brief.contains("### 002-second (not begun)"), "{brief}");
}

#[test]
fn a_word_is_no_prompt_and_nothing_is_no_plan() {
    let case = project(&[]);
    let ran = case.windlass(&["plan", "shwo"]).expect_code(2);
    assert!(ran.stderr.contains("has no verb shwo"), "{ran}");
    case.windlass(&["plan"]).expect_code(2);
    let ran = case.windlass(&["plan", "--revise", "Do it otherwise"]).expect_code(2);
    assert!(ran.stderr.contains("there is no plan to revise"), "{ran}");
    assert_eq!(case.turns("planner"), 0);
}
