//! `cancel` of a loop that nobody drives, with every kind of step left undone by
//! its last driver. What counts is what was kept: the author's tree is on
//! record, a landing is known, and a later run goes on from both.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;

use rustix::process::Signal;
use windlass_testkit::scratch::Running;
use windlass_testkit::{Scratch, capability, poll};

use crate::case::{Case, LONG, LOOP, RUN, Setup, TEST};

/// The first turn leaves a draft and stays; a later one keeps a list of what it
/// was given and finishes.
const DRAFT_THEN_ANSWER: &str = r#"if [ $n -eq 1 ]; then echo mine >draft.txt; touch "$side/drafted"; hold; fi
ls >"$side/given"
echo 42 >answer.txt
complete"#;

const HOLDING_CHECK: &str = r#"if [ -e draft.txt ]; then touch "SIDE/checking"; sleep 600; fi
test "$(cat answer.txt)" = 42
"#;

fn case() -> Case {
    Setup::new(DRAFT_THEN_ANSWER).agent_keys("grace = \"200ms\"").ready()
}

/// The loop with the failpoints build, started at this point.
fn stopped_at(setup: Setup, point: &str) -> Option<(Case, Running)> {
    let binary = capability::failpoints_binary()?;
    let case = setup.home(Scratch::exactly(&binary)).ready();
    let mut command = case.command(&["run", "--name", LOOP]);
    command.env("FAILPOINTS", point);
    let running = case.home.start(command);
    Some((case, running))
}

/// The same, aborted there.
fn aborted_at(setup: Setup, point: &str) -> Option<Case> {
    let (case, running) = stopped_at(setup, point)?;
    let ran = running.finish(RUN);
    assert_eq!(ran.status.signal(), Some(6), "{point}: {ran}");
    Some(case)
}

fn honest() -> Setup {
    Setup::new("echo mine >draft.txt\nls >\"$side/given\"\necho 42 >answer.txt\ncomplete")
        .agent_keys("grace = \"200ms\"")
}

#[track_caller]
fn cancelled(case: &Case) {
    case.windlass(&["cancel", LOOP]).expect_code(0);
    has_ended(case);
}

#[track_caller]
fn has_ended(case: &Case) {
    let seen = case.seen(case.windlass(&["status", LOOP]));
    assert_eq!(seen.view["outcome"]["kind"], "cancelled", "{:#}\n{}", seen.view, seen.log);
    seen.log.check();
    seen.log.agrees_with(&seen.view);
    case.windlass(&["run", "--name", LOOP]).expect_code(5);
}

/// The draft is on record, and a new run is given it.
#[track_caller]
fn draft_is_kept(case: &Case) {
    cancelled(case);
    assert_eq!(case.log().count("tree_recorded"), 1, "{}", case.log());
    goes_on_from_the_draft(case);
}

#[track_caller]
fn goes_on_from_the_draft(case: &Case) {
    case.leave("go");
    case.windlass(&["restart", LOOP]).expect_code(0);
    case.run().completed();
    assert!(case.left("given").contains("draft.txt"), "the author was given: {}", case.left("given"));
    assert_eq!(case.repo.git(["show", &format!("windlass/{LOOP}:draft.txt")]), "mine");
}

#[test]
fn after_ctrl_c_in_an_authors_turn_its_tree_is_kept() {
    let case = case();
    let running = case.start_until("author", 1);
    assert!(poll::until(LONG, || case.side().join("drafted").exists()));
    running.signal(Signal::INT);
    running.finish(LONG).expect_code(130);
    draft_is_kept(&case);
}

#[test]
fn after_kill_9_in_an_authors_turn_its_tree_is_kept() {
    draft_is_kept(&killed_in_the_first_turn());
}

#[test]
fn after_a_crash_before_the_snapshot_the_tree_is_kept() {
    let Some(case) = aborted_at(honest(), "perform::snapshot=return") else { return };
    draft_is_kept(&case);
}

#[test]
fn after_a_crash_in_the_snapshot_the_tree_is_kept() {
    let Some(case) = aborted_at(honest(), "workspace::pack=return") else { return };
    draft_is_kept(&case);
}

#[test]
fn after_ctrl_c_before_the_authors_turn_nothing_is_lost() {
    let Some((case, running)) = stopped_at(honest(), "perform::prepare_workspace=sleep(1500)") else {
        return;
    };
    entered(&case, "execute");
    running.signal(Signal::INT);
    running.finish(LONG).expect_code(130);
    cancelled(&case);
    goes_on_and_completes(&case);
}

#[test]
fn after_a_crash_before_the_workspace_was_prepared_nothing_is_lost() {
    let Some(case) = aborted_at(honest(), "perform::prepare_workspace=return") else { return };
    cancelled(&case);
    goes_on_and_completes(&case);
}

#[test]
fn after_ctrl_c_in_the_gate_the_judged_tree_is_kept() {
    let (case, running) = in_the_gate();
    running.signal(Signal::INT);
    running.finish(LONG).expect_code(130);
    judged_tree_is_kept(&case);
}

#[test]
fn after_kill_9_in_the_gate_the_judged_tree_is_kept() {
    let (case, running) = in_the_gate();
    running.kill();
    judged_tree_is_kept(&case);
}

#[test]
fn after_kill_9_in_the_baseline_nothing_is_lost() {
    let Some(case) = aborted_at(honest(), "perform::run_gate=return") else { return };
    cancelled(&case);
    goes_on_and_completes(&case);
}

#[test]
fn after_ctrl_c_in_a_review_the_reviewed_tree_is_kept() {
    let (case, running) = in_review();
    running.signal(Signal::INT);
    running.finish(LONG).expect_code(130);
    draft_is_kept(&case);
}

#[test]
fn after_kill_9_in_a_review_the_reviewed_tree_is_kept() {
    let (case, running) = in_review();
    running.kill();
    draft_is_kept(&case);
}

#[test]
fn after_a_crash_before_the_landing_the_accepted_work_lands() {
    let Some(case) = aborted_at(honest(), "workspace::before_ref=return") else { return };
    landing_is_known(&case);
}

#[test]
fn after_a_crash_behind_the_landing_it_is_known() {
    let Some(case) = aborted_at(honest(), "workspace::after_ref=return") else { return };
    landing_is_known(&case);
}

#[test]
fn after_ctrl_c_in_the_baseline_nothing_is_lost() {
    let case = honest().uncommitted();
    let held = format!("touch {0}/held\nwhile [ ! -e {0}/go ]; do sleep 0.05; done\n", case.side().display());
    case.repo.file("test.sh", format!("{held}{TEST}"));
    case.repo.commit("first");
    let case = case.looked_at();
    let running = case.start();
    assert!(poll::until(LONG, || case.side().join("held").exists()), "no check: {}", running.stderr());
    running.signal(Signal::INT);
    running.finish(LONG).expect_code(130);
    cancelled(&case);
    case.leave("go");
    goes_on_and_completes(&case);
}

#[test]
fn after_ctrl_c_in_the_landing_it_is_known() {
    let Some((case, running)) = stopped_at(honest(), "workspace::before_ref=sleep(1500)") else { return };
    entered(&case, "land");
    running.signal(Signal::INT);
    running.finish(LONG).expect_code(130);
    landing_is_known(&case);
}

#[test]
fn after_kill_9_in_a_fix_its_tree_is_kept() {
    killed_in_the_final_phases(Held { turn: "author-2", trees: 2 });
}

#[test]
fn after_kill_9_in_the_final_review_nothing_is_lost() {
    killed_in_the_final_phases(Held { turn: "reviewer-1", trees: 2 });
}

#[test]
fn after_kill_9_in_the_finishers_turn_its_tree_is_kept() {
    killed_in_the_final_phases(Held { turn: "finisher-1", trees: 3 });
}

#[test]
fn after_a_crash_before_the_final_gate_nothing_is_lost() {
    // After the baseline and the task's gate.
    let Some(case) = aborted_at(final_phases(), "perform::run_gate=2*off->return") else { return };
    cancelled(&case);
    goes_on_and_completes(&case);
}

#[test]
fn after_a_crash_before_the_landing_of_finish_it_lands() {
    let Some(case) = aborted_at(final_phases(), "workspace::before_ref=2*off->return") else { return };
    landing_is_known(&case);
    assert_eq!(case.landed("notes.txt"), "done");
}

#[test]
fn after_a_crash_behind_the_landing_of_finish_it_is_known() {
    let Some(case) = aborted_at(final_phases(), "workspace::after_ref=2*off->return") else { return };
    landing_is_known(&case);
    assert_eq!(case.landed("notes.txt"), "done");
}

#[test]
fn a_defect_in_the_snapshot_keeps_the_cancelled_run_open() {
    let Some(case) = aborted_at(honest(), "perform::snapshot=return") else { return };
    let mut command = case.command(&["cancel", LOOP]);
    command.env("FAILPOINTS", "perform::snapshot=panic(no such luck)");
    let ran = case.home.start(command).finish(RUN).expect_code(0);
    assert!(ran.stdout.contains("could not end yet"), "{ran}");
    assert_eq!(case.status()["status"], "paused", "{:#}", case.status());
    case.windlass(&["resume", LOOP]).expect_code(0);
    has_ended(&case);
    goes_on_from_the_draft(&case);
}

#[test]
fn a_tree_that_cannot_be_recorded_keeps_the_cancelled_run_open() {
    let case = killed_in_the_first_turn();
    let in_the_way = in_the_way_of_the_snapshot(&case);
    let ran = case.windlass(&["cancel", LOOP]).expect_code(0);
    let told = ["could not end yet", "`windlass resume` tries again", "another `windlass cancel`"];
    assert!(told.iter().all(|words| ran.stdout.contains(words)), "{ran}");
    assert_eq!(case.status()["paused"]["why"], "effect_failed", "{:#}", case.status());
    fs::remove_dir(in_the_way).unwrap();
    case.windlass(&["resume", LOOP]).expect_code(0);
    has_ended(&case);
    goes_on_from_the_draft(&case);
}

#[test]
fn a_second_cancel_gives_up_a_tree_that_cannot_be_recorded() {
    let case = killed_in_the_first_turn();
    let in_the_way = in_the_way_of_the_snapshot(&case);
    case.windlass(&["cancel", LOOP]).expect_code(0);
    cancelled(&case);
    let detail = case.status()["outcome"]["detail"].to_string();
    assert!(detail.contains("what attempt 1 left could not be recorded"), "{detail}");
    fs::remove_dir(in_the_way).unwrap();
    goes_on_and_completes(&case);
    assert!(!case.left("given").contains("draft.txt"), "it was given up: {}", case.left("given"));
}

#[test]
fn a_tree_that_cannot_be_recorded_pauses_a_run_that_goes_on() {
    let case = killed_in_the_first_turn();
    let in_the_way = in_the_way_of_the_snapshot(&case);
    case.windlass(&["run", "--name", LOOP]).expect_code(6);
    fs::remove_dir(in_the_way).unwrap();
    case.windlass(&["resume", LOOP]).expect_code(0);
    case.run().completed();
    assert!(case.left("given").contains("draft.txt"), "the author was given: {}", case.left("given"));
}

/// Every final phase: a red final gate, a fix, the final review, and a Finish that
/// lands. The turn that the file `hold` names stays until `go` is there.
fn final_phases() -> Setup {
    let held = r#"held() { if [ "$(cat "$side/hold" 2>/dev/null)" = "$WINDLASS_ROLE-$n" ]; then touch "$side/held"; hold; fi; }"#;
    let agent = r#"if [ "$WINDLASS_ROLE" = finisher ]; then echo done >notes.txt; held; echo summed up; exit; fi
echo 42 >answer.txt
if [ -z "$WINDLASS_TASK" ]; then echo fixed >whole.txt; held; fi
complete"#;
    Setup::new(&format!("{held}\n{agent}"))
        .reviewer(&format!("{held}\nheld\naccept"))
        .review("tasks = false\nfinal = true\n")
        .checks(
            "[[gate.check]]\nname = \"test\"\nrun = \"sh ./test.sh\"\nwhen = \"task\"\n\
             [[gate.check]]\nname = \"whole\"\nrun = \"test -e whole.txt\"\nwhen = \"final\"\n",
        )
        .more("[finish]\nprompt = \"Say what was done.\"\n")
}

struct Held {
    turn: &'static str,
    /// How many trees are on record once the run is cancelled.
    trees: usize,
}

fn killed_in_the_final_phases(held: Held) {
    let case = final_phases().ready();
    fs::write(case.side().join("hold"), held.turn).unwrap();
    let running = case.start();
    assert!(poll::until(LONG, || case.side().join("held").exists()), "{}: {}", held.turn, running.stderr());
    running.kill();
    cancelled(&case);
    assert_eq!(case.log().count("tree_recorded"), held.trees, "{}", case.log());
    case.leave("go");
    goes_on_and_completes(&case);
}

fn killed_in_the_first_turn() -> Case {
    let case = Setup::new(DRAFT_THEN_ANSWER).ready();
    let running = case.start_until("author", 1);
    assert!(poll::until(LONG, || case.side().join("drafted").exists()));
    running.kill();
    case
}

/// A directory where the vault would write the ref of the first attempt's tree.
fn in_the_way_of_the_snapshot(case: &Case) -> PathBuf {
    let vaults = case.home.state().join("windlass/vaults");
    let vault = fs::read_dir(vaults).unwrap().next().unwrap().unwrap().path();
    let path = vault.join("vault.git/refs/windlass").join(LOOP).join("000001.lock");
    fs::create_dir_all(&path).unwrap();
    path
}

/// In the gate, on the tree with the draft.
fn in_the_gate() -> (Case, Running) {
    let setup =
        Setup::new(&DRAFT_THEN_ANSWER.replace("; hold", "; complete; exit")).agent_keys("grace = \"200ms\"");
    let case = setup.uncommitted();
    let side = case.side();
    case.repo.file("test.sh", HOLDING_CHECK.replace("SIDE", &side.display().to_string()));
    case.repo.commit("first");
    let case = case.looked_at();
    let running = case.start();
    assert!(poll::until(LONG, || case.side().join("checking").exists()), "no check: {}", running.stderr());
    (case, running)
}

fn judged_tree_is_kept(case: &Case) {
    cancelled(case);
    assert_eq!(case.log().count("tree_recorded"), 1, "{}", case.log());
    // The check would hold again: what a new run is given is seen before it.
    case.windlass(&["restart", LOOP]).expect_code(0);
    let running = case.start_until("author", 2);
    assert!(poll::until(LONG, || case.left("given").contains("draft.txt")), "{}", case.left("given"));
    running.signal(Signal::INT);
    running.finish(LONG);
}

/// In a review of the tree with the draft.
fn in_review() -> (Case, Running) {
    let case = Setup::new("echo mine >draft.txt\nls >\"$side/given\"\necho 42 >answer.txt\ncomplete")
        .reviewer("if [ $n -eq 1 ]; then hold; fi\naccept")
        .review("tasks = true\nfinal = false\n")
        .agent_keys("grace = \"200ms\"")
        .ready();
    let running = case.start_until("reviewer", 1);
    (case, running)
}

#[track_caller]
fn goes_on_and_completes(case: &Case) {
    case.windlass(&["restart", LOOP]).expect_code(0);
    case.run().completed();
}

/// The task is done by the landing, and the branch is where the log says.
#[track_caller]
fn landing_is_known(case: &Case) {
    cancelled(case);
    let status = case.status();
    let head = case.repo.git(["rev-parse", &format!("windlass/{LOOP}")]);
    assert_eq!(status["commit"].as_str(), Some(head.as_str()), "{status:#}");
    assert_eq!(status["tasks"][0]["status"], "done", "{status:#}");
    goes_on_and_completes(case);
}

#[track_caller]
fn entered(case: &Case, phase: &str) {
    let there = poll::until(LONG, || {
        let ran = case.windlass(&["status", LOOP, "--json"]);
        ran.status.success() && ran.json()["phase"] == phase
    });
    assert!(there, "phase {phase} was never entered");
}
