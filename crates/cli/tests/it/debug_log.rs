//! `WINDLASS_LOG`: what windlass does, for whoever has to understand it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::case::{RUN, Setup};

const TALKS: &str = "echo words-of-an-agent\necho 42 >answer.txt\ncomplete";

#[test]
fn it_is_off_unless_it_is_asked_for() {
    let case = Setup::new(TALKS).ready();
    let seen = case.run();
    assert!(!seen.completed().ran.stderr.contains("debug log"), "{}", seen.ran);
    assert!(!case.home.state().join("windlass/debug.log").exists());
}

#[test]
fn it_tells_what_was_done_and_not_what_was_said() {
    let case = Setup::new(TALKS).ready();
    let mut command = case.command(&["run"]);
    command.env("WINDLASS_LOG", "debug");
    let ran = case.home.start(command).finish(RUN).expect_code(0);
    let path = case.home.state().join("windlass/debug.log");
    assert!(ran.stderr.contains(&path.display().to_string()), "{ran}");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);

    let log = fs::read_to_string(&path).unwrap();
    for words in
        ["lease is taken", "drive begins", "effect begins", "program starts", "decided", "drive ends"]
    {
        assert!(log.contains(words), "{words}: {log}");
    }
    assert!(!log.contains("words-of-an-agent"), "{log}");
    assert!(log.lines().all(|line| line.contains(" DEBUG ") || line.contains(" INFO ")), "{log}");
}

#[test]
fn what_is_no_level_is_refused() {
    let case = Setup::new(TALKS).ready();
    let mut command = case.command(&["run"]);
    command.env("WINDLASS_LOG", "loud");
    let ran = case.home.start(command).finish(RUN).expect_code(2);
    assert!(ran.stderr.contains("\"loud\"") && ran.stderr.contains("debug or trace"), "{ran}");
    case.nothing_was_made();
}
