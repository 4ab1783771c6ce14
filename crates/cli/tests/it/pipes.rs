//! A reader that goes away ends what only shows, and never a run.

use std::process::Command;

use crate::case::{LOOP, RUN, Setup};

#[test]
fn a_run_goes_on_when_nobody_reads_what_it_says() {
    let case = Setup::new("echo 42 >answer.txt\ncomplete").ready();
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("\"$0\" run --name {LOOP} | true")]).arg(case.home.binary());
    case.home.isolate(shell.current_dir(case.repo.path()));
    case.home.start(shell).finish(RUN);
    let seen = case.seen(case.windlass(&["status", LOOP]));
    assert_eq!(seen.view["outcome"]["kind"], "completed", "{:#}", seen.view);
}
