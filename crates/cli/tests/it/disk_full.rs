//! A full disk pauses the loop; nothing that was acknowledged is lost.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;

use windlass_testkit::{Ran, capability, poll};

use crate::case::{Case, LONG, LOOP, RUN, Setup};

/// A small file system of its own, gone when dropped.
struct Small {
    at: PathBuf,
}

impl Small {
    /// None where this user may not mount; reported as not run.
    fn mount(case: &Case, size: &str) -> Option<Self> {
        if !capability::root() {
            return None;
        }
        let at = case.home.path().join("small");
        fs::create_dir(&at).expect("a scratch home is writable");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(&at)
            .status();
        if !mounted.is_ok_and(|status| status.success()) {
            capability::not_run("a tmpfs cannot be mounted here");
            return None;
        }
        Some(Self { at })
    }

    fn filler(&self) -> PathBuf {
        self.at.join("filler")
    }

    /// Leaves not one byte.
    fn fill(&self) {
        let mut file = File::create(self.filler()).expect("the file system takes a name");
        for size in [1 << 16, 1 << 10, 1] {
            let block = vec![0u8; size];
            while file.write_all(&block).is_ok() {}
        }
    }

    /// Leaves this much, or a little more.
    fn fill_but(&self, left: u64) {
        self.fill();
        let file = File::options().write(true).open(self.filler()).expect("the filler is there");
        let filled = file.metadata().expect("the filler is there").len();
        file.set_len(filled.saturating_sub(left)).expect("a file can be cut");
    }

    fn free(&self) {
        fs::remove_file(self.filler()).expect("the filler is there");
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.at).status();
    }
}

fn on(small: &Small, case: &Case, args: &[&str]) -> Ran {
    let mut command = case.command(args);
    command.env("WINDLASS_STATE_DIR", &small.at);
    case.home.start(command).finish(RUN)
}

fn run_dies_of_a_full_disk(agent: &str) {
    let case = Setup::new(agent).ready();
    let Some(small) = Small::mount(&case, "24m") else { return };
    let mut command = case.command(&["run", "--name", LOOP]);
    command.env("WINDLASS_STATE_DIR", &small.at);
    let mut running = case.home.start(command);
    assert!(poll::until(LONG, || running.has_ended() || case.turns("author") >= 1));
    on(&small, &case, &["note", LOOP, "before the flood"]).expect_code(0);
    small.fill();
    case.leave("go");
    let ran = running.finish(RUN);
    assert_eq!(ran.status.code(), Some(6), "{ran}");
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert!(said.contains("full") || said.contains("space"), "the reason: {ran}");
    case.all_die();
    case.untouched();

    small.free();
    let status = on(&small, &case, &["status", LOOP, "--json"]).expect_code(0).json();
    let log = on(&small, &case, &["log", LOOP, "--json"]).expect_code(0).stdout;
    assert!(log.contains("before the flood"), "what was acknowledged is there: {log}");
    assert_eq!(status["status"], "paused", "{status:#}");
    assert_eq!(status["paused"]["why"], "disk_full", "{status:#}");
    on(&small, &case, &["run", "--name", LOOP]).expect_code(6);
    on(&small, &case, &["resume", LOOP]).expect_code(0);
    let ran = on(&small, &case, &["run", "--name", LOOP]).expect_code(0);
    let history = crate::history::History::read(&on(&small, &case, &["log", LOOP, "--json"]).stdout);
    history.check();
    assert!(ran.stdout.contains("completed"), "{ran}");
    assert_eq!(case.landed("answer.txt"), "42");
}

#[test]
fn full_when_the_attempt_ends() {
    run_dies_of_a_full_disk("if [ $n -eq 1 ]; then hold; fi\necho 42 >answer.txt\ncomplete");
}

#[test]
fn full_when_the_snapshot_is_taken() {
    run_dies_of_a_full_disk(
        "if [ $n -eq 1 ]; then echo 42 >answer.txt; complete; hold; fi\necho 42 >answer.txt\ncomplete",
    );
}

#[test]
fn full_from_the_start_makes_no_loop() {
    let case = Setup::new("echo 42 >answer.txt\ncomplete").ready();
    let Some(small) = Small::mount(&case, "24m") else { return };
    small.fill();
    let ran = on(&small, &case, &["run", "--name", LOOP]);
    assert!(ran.status.code().is_some_and(|code| !matches!(code, 0 | 101)), "{ran}");
    assert!(ran.stderr.contains("space") || ran.stderr.contains("full"), "{ran}");
    case.untouched();
    small.free();
    on(&small, &case, &["run", "--name", LOOP]).expect_code(0);
}

/// The cancel itself finds room; what the author left does not.
#[test]
fn full_when_a_cancelled_run_records_what_was_left() {
    let agent =
        "if [ $n -eq 1 ]; then head -c 6000000 /dev/urandom >draft.bin; touch \"$side/drafted\"; hold; fi
ls >\"$side/given\"
echo 42 >answer.txt
complete";
    let case = Setup::new(agent).ready();
    let Some(small) = Small::mount(&case, "48m") else { return };
    let mut command = case.command(&["run", "--name", LOOP]);
    command.env("WINDLASS_STATE_DIR", &small.at);
    let running = case.home.start(command);
    assert!(poll::until(LONG, || case.side().join("drafted").exists()));
    running.kill();
    small.fill_but(3 << 20);
    let ran = on(&small, &case, &["cancel", LOOP]).expect_code(0);
    assert!(ran.stdout.contains("could not end yet"), "{ran}");
    let status = on(&small, &case, &["status", LOOP, "--json"]).expect_code(0).json();
    assert_eq!(status["paused"]["why"], "disk_full", "{status:#}");
    small.free();
    on(&small, &case, &["resume", LOOP]).expect_code(0);
    on(&small, &case, &["restart", LOOP]).expect_code(0);
    on(&small, &case, &["run", "--name", LOOP]).expect_code(0);
    assert!(case.left("given").contains("draft.bin"), "the author was given: {}", case.left("given"));
}
