//! Agents who print: too much, without a line's end, or no text at all.

use std::time::Duration;

use windlass_testkit::scratch::Running;
use windlass_testkit::{alive, capability, poll};

use crate::case::{Case, RUN, Setup};

const MIB: u64 = 1 << 20;

/// The most memory, in KiB, that any process of the binary held during a run.
#[track_caller]
fn peak(case: &Case) -> u64 {
    let mut running: Running = case.start();
    let mut peak = 0;
    let ended = poll::until(RUN, || {
        // The driver, and whoever stands over the attempt and takes its output.
        let ours = [running.id()].into_iter().chain(alive::wardens(running.id()));
        peak = ours.filter_map(alive::peak_kib).chain([peak]).max().unwrap_or(peak);
        running.has_ended()
    });
    assert!(ended, "still running");
    case.look(running.finish(Duration::ZERO)).completed();
    assert!(peak > 0, "nothing was measured");
    peak
}

fn printing(command: &str) -> Case {
    Setup::new(&format!("{command}\necho 42 >answer.txt\ncomplete")).timeout("170s").ready()
}

#[test]
fn memory_is_flat_whatever_is_printed() {
    let large = if capability::full() { 1024 * MIB } else { 200 * MIB };
    let small = peak(&printing(&format!("yes 'a line of output' | head -c {}", 10 * MIB)));
    let flood = peak(&printing(&format!("yes 'a line of output' | head -c {large}")));
    assert!(flood <= small + 16 * 1024, "{flood} KiB under {large} bytes, {small} KiB under ten million");
}

#[test]
fn one_endless_line_is_only_a_line() {
    let length = if capability::full() { 500 * MIB } else { 50 * MIB };
    let small = peak(&printing("echo short"));
    let line = peak(&printing(&format!("head -c {length} /dev/zero | tr '\\0' x")));
    assert!(line <= small + 16 * 1024, "{line} KiB under a line of {length} bytes, {small} KiB without");
}

#[test]
fn a_check_that_floods_is_judged_by_its_exit() {
    let case = Setup::new("echo 42 >answer.txt\ncomplete")
        .file("test.sh", format!("yes 'a line of a check' | head -c {}\n{}", 50 * MIB, crate::case::TEST))
        .ready();
    let seen = case.run();
    seen.completed();
    let log = seen.log.to_string();
    assert!(log.len() < 1 << 20, "the log holds excerpts, not output: {} bytes", log.len());
}

#[test]
fn what_is_not_utf8_is_treated_by_its_tree() {
    let noise = "printf '\\377\\376\\200\\300 not text \\033[31m\\000\\007\\n'; printf '\\303'";
    let case = printing(noise);
    let seen = case.run();
    seen.completed();
    let shown = case.windlass(&["show", "demo1", "attempt:1"]).expect_code(0);
    assert!(!shown.stdout.contains('\u{1b}'), "a terminal is not the agent's to command");
}

#[test]
fn a_report_that_is_not_utf8_is_no_claim() {
    let script = "printf '{\"nonce\":\"%s\",\"status\":\"blocked\\377\"}' \"$nonce\" >\"$WINDLASS_REPORT\"\necho 42 >answer.txt";
    let seen = Setup::new(script).ready().run();
    seen.completed();
    let finished = seen.log.of("attempt_finished")[0];
    assert!(finished["claim"].is_null(), "{}", seen.log);
    let note = finished["result"]["notes"][0].as_str().unwrap_or_default();
    assert!(note.starts_with("its report was not taken: "), "and that is said: {finished}");
}

#[test]
fn a_report_without_end_is_no_claim() {
    let script =
        "yes '{\"status\":\"blocked\"}' | head -c 100000000 >\"$WINDLASS_REPORT\"\necho 42 >answer.txt";
    let seen = Setup::new(script).ready().run();
    seen.completed();
    assert!(seen.log.of("attempt_finished")[0]["claim"].is_null(), "{}", seen.log);
}
