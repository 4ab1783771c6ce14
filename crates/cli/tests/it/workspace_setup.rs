//! `workspace.setup` and `workspace.copy`: a workspace has all of it before an
//! author is called, whatever came between.

use rustix::process::Signal;
use windlass_testkit::scratch::Running;
use windlass_testkit::{Scratch, capability, poll};

use crate::case::{Case, LONG, LOOP, RUN, Setup};

/// In the workspace it waits the first time, and does its work from the second on. The gate has it too.
const SET_UP: &str = r#"case "$PWD" in */spaces/*) ;; *) exit 0 ;; esac
echo begun >>"SIDE/setups"
if [ "$(wc -l <"SIDE/setups")" -eq 1 ]; then FIRST; fi
echo whole >prepared
"#;

const AUTHOR: &str = "cat prepared >\"$side/prepared\"\necho 42 >answer.txt\ncomplete";

fn case(first: &str, home: Option<Scratch>) -> Case {
    let mut setup = Setup::new(AUTHOR)
        .more("[workspace]\nsetup = [\"sh ./setup.sh\"]\n")
        .file(".gitignore", "prepared\n");
    if let Some(home) = home {
        setup = setup.home(home);
    }
    let case = setup.uncommitted();
    let side = case.side().display().to_string();
    case.repo.file("setup.sh", SET_UP.replace("FIRST", first).replace("SIDE", &side));
    case.repo.commit("first");
    case.looked_at()
}

fn started_in_setup() -> (Case, Running) {
    let case = case("echo part >prepared; while :; do sleep 0.05; done", None);
    let running = case.start();
    let begun = poll::until(LONG, || case.left("setups").contains("begun"));
    assert!(begun, "{}\n{}", running.stdout(), running.stderr());
    (case, running)
}

#[track_caller]
fn is_done_again(case: &Case) {
    case.run().completed();
    assert_eq!(case.left("prepared").trim(), "whole", "what the author was given");
    assert_eq!(case.left("setups").lines().count(), 2, "{}", case.left("setups"));
}

#[test]
fn one_cut_short_by_ctrl_c_is_done_again() {
    let (case, running) = started_in_setup();
    running.signal(Signal::INT);
    let seen = case.look(running.finish(LONG));
    assert_eq!((seen.ran.code(), seen.view["status"].as_str()), (130, Some("interrupted")), "{}", seen.ran);
    assert_eq!(case.turns("author"), 0, "no author works in half a workspace");
    is_done_again(&case);
}

#[test]
fn one_cut_short_by_kill_9_is_done_again() {
    let (case, running) = started_in_setup();
    running.kill();
    case.all_die();
    is_done_again(&case);
}

#[test]
fn one_that_failed_is_done_again() {
    let case = case("echo part >prepared; exit 3", None);
    let seen = case.run();
    assert_eq!(seen.view["outcome"]["kind"], "failed", "{:#}", seen.view);
    case.windlass(&["restart", LOOP]).expect_code(0);
    is_done_again(&case);
}

#[test]
fn one_that_a_crash_came_before_is_done() {
    let Some(binary) = capability::failpoints_binary() else { return };
    let case = case("echo part >prepared", Some(Scratch::exactly(&binary)));
    let mut command = case.command(&["run", "--name", LOOP]);
    command.env("FAILPOINTS", "perform::setup=return");
    let ran = case.home.start(command).finish(RUN);
    assert_eq!(ran.status.code(), None, "{ran}");
    assert_eq!(case.left("setups"), "");
    case.run().completed();
    assert_eq!(case.left("prepared").trim(), "whole");
}
