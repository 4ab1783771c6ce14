//! What is silence and what is not, at every level and as each user.

use windlass_core::policy::SandboxLevel;

use crate::confined::{Ground, on_each};

const LEVELS: [SandboxLevel; 3] = [SandboxLevel::None, SandboxLevel::Landlock, SandboxLevel::Namespaces];

/// Runs for several times the limit, and ends by itself.
fn survives(what: &str, script: &str) {
    on_each(&LEVELS, |mut ground| {
        ground.set("silence_ms", "700");
        let ran = ground.run(script);
        assert_eq!(
            (ran.exit.as_str(), ran.stall.as_str()),
            ("Code(0)", ""),
            "{what}, {:?} {:?}: {}",
            ground.who,
            ground.level,
            ran.text
        );
    });
}

/// Never ends by itself, and is ended long before the wall.
fn stalls(script: &str, seen: &str) {
    on_each(&LEVELS, |mut ground| {
        ground.set("silence_ms", "500");
        let ran = ground.run(script);
        assert_eq!(ran.exit, "Stalled", "{:?} {:?}: {}", ground.who, ground.level, ran.text);
        assert!(ran.stall.starts_with(seen), "{}", ran.stall);
        assert!(ran.stall.contains(", CPU ") && ran.stall.ends_with(" %, no file written"), "{}", ran.stall);
    });
}

/// Two seconds of work, in a loop that needs no other program.
const BURN: &str = "timeout 2 sh -c 'while :; do :; done'";

#[test]
fn one_that_computes_in_silence_survives() {
    survives("a burner", &format!("{BURN} || true"));
}

#[test]
fn one_whose_grandchild_computes_survives() {
    survives(
        "an orphan",
        &format!("(setsid sh -c \"{BURN}; touch done\" &) ; until [ -e done ]; do sleep 0.1; done"),
    );
}

#[test]
fn one_whose_children_compute_and_die_survives() {
    let child = "sh -c 'i=0; while [ $i -lt 30000 ]; do i=$((i + 1)); done'";
    let until = "end=$(($(date +%s) + 3)); while [ $(date +%s) -lt $end ]";
    survives("short-lived children", &format!("{until}; do {child}; done"));
}

#[test]
fn cpu_counts_where_the_kernel_sums_it_up() {
    on_each(&LEVELS, |mut ground: Ground| {
        ground.set("silence_ms", "700");
        ground.set("processes", "500");
        assert_eq!(ground.run(&format!("(setsid {BURN} &) ; sleep 2")).exit, "Code(0)");
        assert_eq!(ground.run("while :; do sleep 0.1; done").exit, "Stalled");
    });
}

#[test]
fn one_that_writes_files_survives() {
    survives("a writer", "i=0; while [ $i -lt 20 ]; do i=$((i + 1)); echo $i >>file; sleep 0.1; done");
}

#[test]
fn one_that_changes_names_only_survives() {
    survives(
        "a mover",
        "mkdir -p a/b/c; : >a/b/c/x; i=0; while [ $i -lt 10 ]; do i=$((i + 1)); \
         mv a/b/c/x a/b/c/y; sleep 0.1; mv a/b/c/y a/b/c/x; sleep 0.1; done",
    );
}

#[test]
fn a_slow_printer_of_new_lines_survives() {
    survives(
        "a printer",
        "for word in one two three four five six seven eight nine ten eleven twelve; do echo $word; sleep 0.2; done",
    );
}

#[test]
fn a_slow_printer_without_line_ends_survives() {
    survives(
        "a typist",
        "for word in one two three four five six seven eight; do printf '%s ' $word >&2; sleep 0.3; done",
    );
}

#[test]
fn one_that_sleeps_stalls() {
    stalls("while :; do sleep 1; done", "no output for ");
}

#[test]
fn one_that_waits_for_what_never_comes_stalls() {
    stalls("mkfifo pipe; read -r line <pipe", "no output for ");
}

#[test]
fn one_that_polls_stalls() {
    stalls("until [ -e never ]; do sleep 0.1; done", "no output for ");
}

#[test]
fn a_spinner_stalls() {
    stalls(
        "while :; do for glyph in '|' / - '\\\\'; do printf '\\r\\033[36m%s\\033[0m thinking' \"$glyph\"; sleep 0.1; done; done",
        "no new output for ",
    );
}

#[test]
fn a_heartbeat_stalls() {
    stalls(
        "i=0; while :; do i=$((i + 1)); echo \"still working (${i}s)\" >&2; sleep 0.1; done",
        "no new output for ",
    );
}
