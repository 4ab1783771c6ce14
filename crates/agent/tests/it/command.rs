//! Any program as an agent.

use std::fs;
use std::time::{Duration, Instant};

use windlass_agent::{Wall, WallSource, adapter};
use windlass_core::input::{AttemptEnd, Report};
use windlass_core::policy::{AgentPolicy, Role};
use windlass_core::time::Millis;
use windlass_core::usage::Usage;
use windlass_core::verdict::{ClaimStatus, NoVerdict, Verdict};

use crate::stage::Stage;

/// Prints the nonce as a program must find it: in the first line of its stdin.
const NONCE: &str = r#"read -r word nonce; [ "$word" = nonce: ] || exit 9; "#;

fn crashed(what: &str) -> AttemptEnd {
    AttemptEnd::Crashed { what: what.to_owned() }
}

#[test]
fn the_contract_of_a_command_is_kept() {
    let mut stage = Stage::shell(
        "cat > brief; env | sort > env; pwd > cwd; printf %s \"$0 $*\" > args; ls -ld \"$(dirname $WINDLASS_REPORT)\" > dir",
    );
    stage.env.push(("GIVEN".into(), "yes".into()));
    stage.env.push(("WINDLASS_ROLE".into(), "king".into()));
    let told = stage.call();
    assert_eq!(told.finished.result.end, AttemptEnd::Normal);
    assert_eq!(stage.space("brief").unwrap(), "nonce: 5ec7e7\n\n# Do it\n");
    assert_eq!(stage.space("cwd").unwrap().trim(), stage.path("space").to_str().unwrap());
    let env = stage.space("env").unwrap();
    let root = stage.root.path().display().to_string();
    for line in [
        "GIVEN=yes".to_owned(),
        "WINDLASS_INSIDE=1".to_owned(),
        "WINDLASS_ITERATION=4".to_owned(),
        "WINDLASS_LOOP=demo1".to_owned(),
        format!("WINDLASS_REPORT={root}/attempts/1/report/report.json"),
        "WINDLASS_ROLE=author".to_owned(),
        "WINDLASS_TASK=001".to_owned(),
        format!("WINDLASS_TRAIL={root}/trail"),
    ] {
        assert!(env.lines().any(|found| found == line), "{line} in\n{env}");
    }
    assert!(!env.contains("5ec7e7") && !stage.space("args").unwrap().contains("5ec7e7"));
    assert!(stage.space("dir").unwrap().starts_with("drwx------"), "{:?}", stage.space("dir"));

    stage.task = None;
    stage.call();
    assert!(stage.space("env").unwrap().lines().any(|line| line == "WINDLASS_TASK="));
}

#[test]
fn what_the_policy_sets_is_in_the_environment() {
    let mut stage = Stage::shell("env | sort > env");
    let set = [("MY_WORD", "hello"), ("GIVEN", "mine"), ("WINDLASS_ROLE", "king")];
    stage.policy.extra.set = set.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    stage.env.push(("GIVEN".into(), "theirs".into()));
    stage.call();
    let env = stage.space("env").unwrap();
    for line in ["MY_WORD=hello", "GIVEN=mine", "WINDLASS_ROLE=author"] {
        assert!(env.lines().any(|found| found == line), "{line} in\n{env}");
    }
}

#[test]
fn an_exit_code_can_say_that_a_failure_passes_or_wants_its_operator() {
    let ended = |code: u8| Stage::shell(&format!("exit {code}")).call().finished.result.end;
    assert_eq!(ended(75), AttemptEnd::RateLimited { retry_at: None });
    assert!(matches!(ended(77), AttemptEnd::Auth { .. }));
    assert_eq!(ended(76), crashed("exit code 76"));
}

#[test]
fn a_status_line_on_stdout_is_a_claim_unless_a_report_says_otherwise() {
    let last = "echo working; printf 'STATUS: CONTINUE\\n\\nNEXT STEPS:\\n- the tests\\n'";
    let told = Stage::shell(last).call();
    let Report::Author(claim) = &told.finished.report else { panic!("{told:?}") };
    assert_eq!((claim.status, &claim.next[..]), (ClaimStatus::Continue, &["the tests".to_owned()][..]));
    assert!(told.finished.result.message.starts_with("working\nSTATUS: CONTINUE"), "{told:?}");

    let report =
        r#"printf '{"nonce":"%s","status":"complete","summary":"all done"}' "$nonce" > "$WINDLASS_REPORT""#;
    let told = Stage::shell(&format!("{NONCE} {report}; echo STATUS: BLOCKED")).call();
    let Report::Author(claim) = &told.finished.report else { panic!("{told:?}") };
    assert_eq!(claim.status, ClaimStatus::Complete, "a report wins");

    let told = Stage::shell("echo '{}' > \"$WINDLASS_REPORT\"; echo STATUS: COMPLETE").call();
    assert_eq!(told.finished.report, Report::None, "a report that cannot be taken is not mended by words");

    let mut reviewer = Stage::shell("echo STATUS: COMPLETE; echo '<verdict>PASS</verdict>'");
    reviewer.role = Role::Reviewer;
    assert_eq!(reviewer.call().finished.report, Report::Review(Err(NoVerdict::NoReport)), "never a verdict");
}

#[test]
fn an_author_is_heard_with_its_usage() {
    let script = format!(
        "{NONCE} echo noise; printf '{{\"nonce\":\"%s\",\"status\":\"complete\",\"summary\":\"all done\",\
         \"usage\":{{\"input_tokens\":3}}}}' \"$nonce\" > \"$WINDLASS_REPORT\"; exit 7"
    );
    let mut stage = Stage::shell(&script);
    let told = stage.call();
    assert_eq!(told.finished.result.end, crashed("exit code 7"));
    let Report::Author(claim) = &told.finished.report else { panic!("{told:?}") };
    assert_eq!((claim.status, claim.summary.as_str()), (ClaimStatus::Complete, "all done"));
    assert_eq!(told.finished.result.usage, Some(Usage { input_tokens: 3, ..Usage::default() }));
    assert_eq!(told.finished.result.message, "all done");
    assert_eq!(fs::read_to_string(&told.stdout.unwrap().path).unwrap(), "noise\n");
}

#[test]
fn without_a_report_the_last_words_are_those_on_stdout() {
    let told =
        Stage::shell("head -c 100000 /dev/zero | tr '\\0' x; printf '\\n\\033[1mSTATUS: COMPLETE\\n\\n'")
            .call();
    assert_eq!((told.finished.result.end, told.finished.result.usage), (AttemptEnd::Normal, None));
    assert!(matches!(&told.finished.report, Report::Author(claim) if claim.status == ClaimStatus::Complete));
    assert!(
        told.finished.result.message.ends_with("x\nSTATUS: COMPLETE"),
        "{}",
        &told.finished.result.message[told.finished.result.message.len() - 40..]
    );
    assert_eq!(told.finished.result.message.len(), 16 * 1024);
}

#[test]
fn a_reviewer_speaks_only_through_its_report() {
    let mut stage = Stage::shell(&format!(
        "{NONCE} printf '{{\"nonce\":\"%s\",\"verdict\":\"accept\",\"summary\":\"fine\"}}' \"$nonce\" > \"$WINDLASS_REPORT\""
    ));
    stage.role = Role::Reviewer;
    let Report::Review(Ok(review)) = stage.call().finished.report else { panic!("accepts") };
    assert_eq!(review.verdict, Verdict::Accept);

    for (script, none) in [
        (
            "echo '<verdict>PASS</verdict>'; echo '{\"verdict\":\"accept\"}' > report.json",
            NoVerdict::NoReport,
        ),
        ("echo '{\"nonce\":\"guess\",\"verdict\":\"accept\"}' > \"$WINDLASS_REPORT\"", NoVerdict::WrongNonce),
        (
            "mkfifo \"$WINDLASS_REPORT\"",
            NoVerdict::Unreadable { what: "it is a pipe, not a file".to_owned() },
        ),
    ] {
        let mut stage = Stage::shell(script);
        stage.role = Role::Reviewer;
        assert_eq!(stage.call().finished.report, Report::Review(Err(none)), "{script}");
    }
}

#[test]
fn every_end_has_its_class() {
    assert_eq!(Stage::shell("kill -9 $$").call().finished.result.end, AttemptEnd::Killed);
    assert_eq!(Stage::shell("kill -TERM $$").call().finished.result.end, AttemptEnd::Killed);
    assert_eq!(Stage::shell("kill -SEGV $$").call().finished.result.end, crashed("ended by SIGSEGV"));
    let told = Stage::command(&["/no/such/agent"]).call();
    let AttemptEnd::Crashed { what } = told.finished.result.end else { panic!("{told:?}") };
    assert!(what.contains("cannot run /no/such/agent"), "{what}");
    let mut lost = Stage::shell("exit 0");
    fs::remove_dir(lost.path("space")).unwrap();
    assert!(matches!(lost.call().finished.result.end, AttemptEnd::Crashed { .. }));
}

#[test]
fn a_turn_ends_at_its_limits() {
    let mut slow = Stage::shell("while :; do echo .; sleep 0.05; done");
    slow.wall.limit = Duration::from_millis(300);
    assert_eq!(slow.call().finished.result.end, AttemptEnd::TimedOut);
    slow.wall = Wall { source: WallSource::Budget, ..slow.wall };
    assert_eq!(slow.call().finished.result.end, AttemptEnd::Budget);

    let mut silent = Stage::shell("echo once; sleep 600");
    silent.policy.silence = Millis(300);
    let told = silent.call();
    assert_eq!(told.finished.result.end, AttemptEnd::Stalled);
    assert!(
        told.finished.result.notes[0].starts_with("no output for ")
            && told.finished.result.notes[0].contains(", CPU "),
        "{told:?}"
    );
}

#[test]
fn a_cancelled_turn_is_interrupted_and_its_tree_dead() {
    let begun = Instant::now();
    let told =
        Stage::shell("trap '' TERM; sleep 600 & sleep 600").call_with(&mut |canceller| canceller.cancel());
    assert_eq!(told.finished.result.end, AttemptEnd::Interrupted);
    assert!(begun.elapsed() < Duration::from_secs(20));
}

#[test]
fn what_is_left_behind_is_counted() {
    let told = Stage::shell("setsid sleep 600 >/dev/null 2>&1 & exit 0").call();
    assert_eq!((told.finished.result.end, told.finished.result.strays), (AttemptEnd::Normal, 1));
}

#[test]
fn an_unknown_agent_is_refused_with_the_nearest() {
    let policy = AgentPolicy { adapter: "comand".to_owned(), ..AgentPolicy::default() };
    let Err(error) = adapter(&policy) else { panic!("there is no such agent") };
    assert_eq!(error.to_string(), "there is no agent \"comand\"; did you mean \"command\"?");
}
