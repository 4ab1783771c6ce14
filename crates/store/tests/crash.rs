//! Processes that end without warning, and disks that end without room.
#![allow(clippy::disallowed_methods, reason = "tests start processes and wait for them")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use support::{append, child, child_vault, db, name, note, read_all, record, vault};
use windlass_core::id::{CommandId, Seq};
use windlass_core::time::Timestamp;
use windlass_store::{AppendError, StoreError, VaultDir, open};

mod support;

const LOOPS: u64 = 4;

/// Appends from several threads, and says what was acknowledged.
fn append_until_killed(vault: &VaultDir) {
    let store = open(vault).unwrap();
    std::thread::scope(|scope| {
        for n in 0..LOOPS {
            let store = Arc::clone(&store);
            scope.spawn(move || {
                let loop_name = format!("loop{n}");
                let mut seq = store.head(&name(&loop_name)).unwrap().map_or(0, |head| head.seq.0);
                loop {
                    append(&*store, &loop_name, seq).unwrap();
                    seq += 1;
                    say(&format!("appended {n} {seq}"));
                    let command = store.send(note(&loop_name, "look")).unwrap();
                    say(&format!("sent {n} {command}"));
                }
            });
        }
    });
}

#[test]
fn what_was_acknowledged_survives_kill_9() {
    if let Some(vault) = child_vault() {
        return append_until_killed(&vault);
    }
    let vault = vault();
    let (mut appended, mut sent) = ([0; LOOPS as usize], [0; LOOPS as usize]);
    for round in 1..=5 {
        let mut child = child("what_was_acknowledged_survives_kill_9", vault.temp.path()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut heard = 0;
        for line in lines {
            let line = line.unwrap();
            let words: Vec<_> = line.split(' ').collect();
            let [what @ ("appended" | "sent"), n, number] = words[..] else { continue };
            let last = if what == "appended" { &mut appended } else { &mut sent };
            last[n.parse::<usize>().unwrap()] = number.parse().unwrap();
            heard += 1;
            if heard == 30 * round {
                child.kill().unwrap();
            }
        }
        assert!(!child.wait().unwrap().success());
        let store = open(&vault.dir).unwrap();
        for n in 0..LOOPS {
            let loop_name = format!("loop{n}");
            let stored = read_all(&*store, &loop_name).unwrap().len() as u64;
            let acknowledged = appended[n as usize];
            assert!(stored >= acknowledged, "loop {n}: {stored} stored, {acknowledged} acknowledged");
            assert!(stored <= acknowledged + 1, "loop {n}: at most the one in flight is unheard of");
            let commands = store.sent(&name(&loop_name), CommandId(0)).unwrap();
            let last = commands.last().map_or(0, |command| command.id.0);
            assert!(last >= sent[n as usize], "loop {n}: an acknowledged command was lost");
        }
    }
}

fn hold_a_lease_until_killed(vault: &VaultDir) {
    let _lease = open(vault).unwrap().lease(&name("demo"), Timestamp(7)).unwrap();
    say("held");
    // Ends with its parent, should that fail.
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

#[test]
fn a_dead_owner_holds_no_lease() {
    if let Some(vault) = child_vault() {
        return hold_a_lease_until_killed(&vault);
    }
    let vault = vault();
    let store = open(&vault.dir).unwrap();
    let mut child = child("a_dead_owner_holds_no_lease", vault.temp.path()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "held"));
    let held = store.lease(&name("demo"), Timestamp(8)).err().unwrap();
    assert!(held.to_string().contains(&format!("process {}, for ", child.id())), "{held}");
    assert!(store.holder(&name("demo")).unwrap().is_held());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!store.holder(&name("demo")).unwrap().is_held());
    store.lease(&name("demo"), Timestamp(9)).unwrap();
}

/// Runs on a file system of three megabytes; says how far it came.
fn fill_the_disk(vault: &VaultDir) {
    let store = open(vault).unwrap();
    let body = "x".repeat(20_000);
    let mut acknowledged = 0;
    let fault = loop {
        match store.append(record("demo", acknowledged, &body)) {
            Ok(appended) => acknowledged = appended.seq.0,
            Err(error) => break error,
        }
    };
    let path = db(vault);
    assert_eq!(fault, AppendError::Store(StoreError::Full { path }), "after {acknowledged}");
    assert!(acknowledged > 10, "{acknowledged}");
    append(&*store, "demo", acknowledged).expect("the reserve has room for saying why the loop pauses");
    drop(store);
    let store = open(vault).unwrap();
    let stored = read_all(&*store, "demo").unwrap();
    assert_eq!(stored.len() as u64, acknowledged + 1);
    assert!(stored[..stored.len() - 1].iter().all(|record| record.body == body));
    say("filled");
}

#[test]
fn a_full_disk_fails_the_append_and_loses_nothing() {
    if let Some(vault) = child_vault() {
        return fill_the_disk(&vault);
    }
    let temp = tempfile::tempdir().unwrap();
    let own_mount = r#"mount -t tmpfs -o size=3m tmpfs "$1" && shift && exec "$@""#;
    if !run_filler(&["unshare", "-rm", "sh", "-c", own_mount, "sh"], temp.path()) {
        windlass_testkit::capability::not_run("no small file system can be mounted here");
    }
}

fn run_filler(through: &[&str], state: &Path) -> bool {
    let inner = child("a_full_disk_fails_the_append_and_loses_nothing", state);
    let mut command = Command::new(through[0]);
    command.args(&through[1..]).arg(state).arg(inner.get_program()).args(inner.get_args());
    for (key, value) in inner.get_envs() {
        command.env(key, value.unwrap());
    }
    let Ok(output) = command.stdin(Stdio::null()).output() else { return false };
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(!said.contains("FAILED"), "{said}{}", String::from_utf8_lossy(&output.stderr));
    said.contains("filled\n")
}

#[test]
fn a_quiet_writer_moves_its_log_into_the_database() {
    let vault = vault();
    let store = open(&vault.dir).unwrap();
    let body = "x".repeat(20_000);
    for expected in 0..150 {
        store.append(record("demo", expected, &body)).unwrap();
    }
    let grown = || fs::metadata(db(&vault.dir)).unwrap().len() >= 150 * 20_000;
    assert!(windlass_testkit::poll::until(Duration::from_secs(10), grown), "the log stays beside it");
    assert_eq!(store.head(&name("demo")).unwrap().unwrap().seq, Seq(150));
}

/// On a line of its own: the test harness begins one and does not end it.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n{line}").unwrap();
    out.flush().unwrap();
}
