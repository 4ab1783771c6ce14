//! Standard output that cannot be written is no reason to stop what is done, and
//! never a panic. What only shows says so, unless its reader has seen enough.

use std::process::Command;

use windlass_testkit::Ran;

use crate::case::{Case, LOOP, RUN, Setup};

/// The disk that a log goes to is full; the descriptor is closed.
const UNWRITABLE: [&str; 4] = [">/dev/full", ">&-", ">/dev/full 2>&1", ">&- 2>&-"];

/// The binary with these words, started by a shell that sends its output elsewhere.
fn shell(case: &Case, words: &str, redirected: &str) -> Ran {
    let mut shell = Command::new("bash");
    let script = format!("\"$0\" {words} {redirected}; exit ${{PIPESTATUS[0]}}");
    shell.args(["-c", &script]).arg(case.home.binary());
    case.home.isolate(shell.current_dir(case.repo.path()));
    case.home.start(shell).finish(RUN)
}

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

#[test]
fn a_run_whose_output_cannot_be_written_ends_as_any_other() {
    for (redirected, agent, code, kind) in [
        (UNWRITABLE[0], "echo 42 >answer.txt\ncomplete", 0, "completed"),
        (UNWRITABLE[1], "echo 42 >answer.txt\ncomplete", 0, "completed"),
        (UNWRITABLE[2], "echo 42 >answer.txt\ncomplete", 0, "completed"),
        (
            UNWRITABLE[3],
            "say '\"status\":\"blocked\",\"blockers\":[\"no\"],\"summary\":\"\",\"next\":[]'",
            3,
            "blocked",
        ),
    ] {
        let case = Setup::new(agent).ready();
        let ran = shell(&case, &format!("run --name {LOOP}"), redirected);
        let seen = case.look(ran);
        assert_eq!(seen.ran.status.code(), Some(code), "{redirected} {}", seen.ran);
        assert_eq!(seen.view["outcome"]["kind"], kind, "{redirected} {:#}", seen.view);
        let told = seen.ran.stderr.contains("cannot write to standard output: No space left on device");
        assert_eq!(told, redirected == UNWRITABLE[0], "{redirected} {}", seen.ran);
    }
}

#[test]
fn what_only_shows_fails_in_words_when_its_text_is_not_whole() {
    let case = Setup::new("echo 42 >answer.txt\ncomplete").ready();
    case.run().ended(0, "completed", "proven");
    let shown = [
        "list",
        "status",
        "log",
        "log --json",
        "show demo1 answer",
        "findings",
        "usage",
        "usage --json",
        "prove",
        "config example",
        "doctor --json",
        "agents --json",
        "completions bash",
        "gate explain answer.txt",
    ];
    for words in shown {
        let ran = shell(&case, words, ">/dev/full");
        assert_eq!(ran.status.code(), Some(1), "{words} {ran}");
        assert_eq!(
            ran.stderr, "windlass: cannot write to standard output: No space left on device (os error 28)\n",
            "{words}"
        );
        let silent = shell(&case, words, ">/dev/full 2>&1");
        assert_eq!(silent.status.code(), Some(1), "{words} {silent}");
        let closed = shell(&case, words, ">&- 2>&-");
        assert_eq!(closed.status.code(), Some(0), "{words} {closed}");
        let enough = shell(&case, words, "| true");
        assert_eq!((enough.status.code(), enough.stderr.as_str()), (Some(0), ""), "{words} {enough}");
    }
}

#[test]
fn what_an_operator_asks_is_done_whoever_reads_of_it() {
    for redirected in [">/dev/full", ">&-", "| true"] {
        let case = Setup::new("echo 42 >answer.txt\ncomplete").ready();
        case.run().ended(0, "completed", "proven");
        let ran = shell(&case, &format!("take {LOOP}"), redirected);
        assert_eq!(ran.status.code(), Some(0), "{redirected} {ran}");
        assert_eq!(case.repo.git(["show", "HEAD:answer.txt"]).trim(), "42", "{redirected} {ran}");
    }
}

#[test]
fn a_warden_whose_log_is_full_does_not_panic() {
    let case = Setup::new("").ready();
    let ran = shell(&case, "__warden nonsense", "2>/dev/full");
    assert_eq!(ran.status.code(), Some(2), "{ran}");
}
