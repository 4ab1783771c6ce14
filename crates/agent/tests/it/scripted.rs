//! A file of actions, played as a program.

use std::ffi::OsStr;
use std::fs;

use windlass_agent::adapter;
use windlass_core::id::TaskId;
use windlass_core::input::{AttemptEnd, Report};
use windlass_core::policy::{AgentPolicy, Role};
use windlass_core::verdict::{ClaimStatus, NoVerdict, Verdict};

use crate::stage::Stage;

const SCRIPT: &str = r#"
[[turn]]
task = "001"
role = "author"
nth = 1
actions = [
    { write = { path = "src/deep/a.txt", text = "one\n" } },
    { append = { path = "src/deep/a.txt", text = "two\n" } },
    { delete = { path = "old" } },
    { run = { shell = "wc -l < src/deep/a.txt | tr -d ' ' > lines" } },
    { say = { text = "hello" } },
    { sleep = { ms = 1 } },
    { claim = { status = "complete", summary = "done", usage = { input_tokens = 2 } } },
]

[[turn]]
task = "001"
role = "author"
nth = 2
actions = [{ daemon = { shell = "exec sleep 600" } }, { run = { shell = "exit 5" } }, { say = { text = "never" } }]

[[turn]]
task = "001"
role = "reviewer"
actions = [
    { verdict = { verdict = "reject", summary = "no", findings = [{ file = "a", severity = "bug", description = "d" }] } },
    { exit = { code = 3 } },
]

[[turn]]
task = ""
role = "reviewer"
actions = [{ verdict = { nonce = "forged", verdict = "accept" } }]

[[turn]]
task = "out"
actions = [{ write = { path = "../out", text = "" } }]
"#;

fn stage() -> Stage {
    let stage = Stage::new(AgentPolicy {
        adapter: "scripted".to_owned(),
        script: "turns.toml".to_owned(),
        ..AgentPolicy::default()
    });
    fs::write(stage.path("project/turns.toml"), SCRIPT).unwrap();
    fs::write(stage.path("space/old"), "").unwrap();
    stage
}

#[test]
fn an_author_does_what_its_script_says() {
    let mut stage = stage();
    let told = stage.call();
    assert_eq!(told.finished.result.end, AttemptEnd::Normal, "{told:?}");
    assert_eq!(stage.space("src/deep/a.txt").unwrap(), "one\ntwo\n");
    assert_eq!(stage.space("lines").unwrap(), "2\n");
    assert_eq!(stage.space("old"), None);
    assert_eq!(fs::read_to_string(told.stdout.unwrap().path).unwrap(), "hello\n");
    let Report::Author(claim) = told.finished.report else { panic!("a claim") };
    assert_eq!((claim.status, claim.summary.as_str()), (ClaimStatus::Complete, "done"));
    assert_eq!(told.finished.result.usage.unwrap().input_tokens, 2);
}

#[test]
fn a_daemon_of_a_script_is_ended_like_anyones() {
    let mut stage = stage();
    stage.nth = 2;
    let told = stage.call();
    assert_eq!(told.finished.result.end, AttemptEnd::Crashed { what: "exit code 5".to_owned() });
    assert_eq!((told.finished.result.strays, told.finished.result.message.as_str()), (1, ""));
}

#[test]
fn a_reviewer_of_a_script_rejects_or_lies() {
    let mut stage = stage();
    stage.role = Role::Reviewer;
    let told = stage.call();
    assert_eq!(told.finished.result.end, AttemptEnd::Crashed { what: "exit code 3".to_owned() });
    let Report::Review(Ok(review)) = told.finished.report else { panic!("a review") };
    assert_eq!((review.verdict, review.findings.len()), (Verdict::Reject, 1));
    stage.task = None;
    assert_eq!(stage.call().finished.report, Report::Review(Err(NoVerdict::WrongNonce)));
}

#[test]
fn a_turn_that_is_not_written_or_leaves_the_workspace_fails() {
    let mut stage = stage();
    for (task, said) in [("002", "no turn for task \"002\", author, attempt 1"), ("out", "../out leads out")]
    {
        stage.task = Some(TaskId::new(task));
        let told = stage.call();
        let AttemptEnd::Crashed { what } = &told.finished.result.end else { panic!("{task} has no turn") };
        assert!(what.starts_with("exit code 2: ") && what.contains(said), "{what}");
        let words = fs::read_to_string(told.stderr.unwrap().path).unwrap();
        assert!(words.contains(said), "{words}");
    }
    assert!(!stage.path("out").exists());
}

#[test]
fn a_script_is_checked_before_it_is_played() {
    let mut stage = stage();
    let agent = adapter(&stage.policy).unwrap();
    let project = stage.path("project");
    assert!(agent.check(&stage.policy, &project, OsStr::new("")).is_ok());
    stage.policy.script = "gone.toml".to_owned();
    let error = agent.check(&stage.policy, &project, OsStr::new("")).unwrap_err().to_string();
    assert!(error.contains("gone.toml"), "{error}");
}
