//! A defect of windlass itself, made by a failpoint: it ends its effect and
//! pauses the loop with what happened, and the loop goes on from there.

use windlass_testkit::{Scratch, alive, capability};

use crate::case::{Case, LOOP, RUN, Setup};

const AUTHOR: &str = "echo $n >>turns.txt\necho 42 >answer.txt\ncomplete";

#[track_caller]
fn pauses(effect: &str) {
    let Some(binary) = capability::failpoints_binary() else { return };
    let case =
        Setup::new(AUTHOR).review("tasks = true\nfinal = false\n").home(Scratch::exactly(&binary)).ready();
    let ran = broken(&case, &format!("perform::{effect}=panic(out of luck)"));
    assert_eq!(ran.status.code(), Some(6), "{ran}");
    let status = case.status();
    assert_eq!(status["status"], "paused", "{status:#}");
    assert_eq!(status["paused"]["why"], "internal_error", "{status:#}");
    let detail = status["paused"]["detail"].as_str().unwrap_or_default();
    assert!(detail.contains(effect) && detail.contains("out of luck"), "{detail}");
    assert!(alive::carrying(&case.token()).is_empty());
    case.windlass(&["resume", LOOP]).expect_code(0);
    case.run().completed();
}

fn broken(case: &Case, point: &str) -> windlass_testkit::Ran {
    let mut command = case.command(&["run", "--name", LOOP]);
    command.env("FAILPOINTS", point);
    case.home.start(command).finish(RUN)
}

#[test]
fn while_the_workspace_is_prepared() {
    pauses("prepare_workspace");
}

#[test]
fn before_an_agent_is_called() {
    pauses("call_agent");
}

#[test]
fn while_a_tree_is_recorded() {
    pauses("snapshot");
}

#[test]
fn while_the_gate_runs() {
    pauses("run_gate");
}

#[test]
fn while_work_lands() {
    pauses("land");
}

#[test]
fn after_an_author_worked_its_tree_is_kept() {
    let Some(binary) = capability::failpoints_binary() else { return };
    let case = Setup::new(AUTHOR).home(Scratch::exactly(&binary)).ready();
    let ran = broken(&case, "perform::called=panic(out of luck)");
    assert_eq!(ran.status.code(), Some(6), "{ran}");
    case.windlass(&["resume", LOOP]).expect_code(0);
    case.run().completed();
    assert_eq!(
        case.repo.git(["show", &format!("windlass/{LOOP}:turns.txt")]),
        "1\n2",
        "the second turn began where the first one was cut short"
    );
}

#[test]
fn a_panic_outside_of_an_effect_ends_the_drive() {
    let Some(binary) = capability::failpoints_binary() else { return };
    let case = Setup::new(AUTHOR).home(Scratch::exactly(&binary)).ready();
    let ran = broken(&case, "perform::thread=panic(out of luck)");
    assert_eq!(ran.status.code(), Some(1), "{ran}");
    assert!(ran.stderr.contains("the thread that performs effects is gone"), "{ran}");
    assert!(alive::carrying(&case.token()).is_empty());
    case.run().completed();
}
