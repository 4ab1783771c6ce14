//! The log on SQLite beyond what every engine promises: appends that share a
//! commit, records changed behind our back, readers beside writers.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::sync::Arc;

use support::{append, db, name, read_all, record, shm, vault, wal};
use windlass_core::id::Seq;
use windlass_store::chain::{ChainHash, Link};
use windlass_store::upcast::FORMAT;
use windlass_store::{StoreError, check, open, open_read};

mod support;

#[test]
fn one_conflict_does_not_fail_the_others_of_its_group() {
    let vault = vault();
    let store = open(&vault.dir).unwrap();
    std::thread::scope(|scope| {
        for n in 0..16u64 {
            let store = Arc::clone(&store);
            scope.spawn(move || {
                for round in 0..8 {
                    let loop_name = format!("loop{n}");
                    append(&*store, &loop_name, round).unwrap();
                    append(&*store, &loop_name, round).unwrap_err();
                }
            });
        }
    });
    let loops = store.loops().unwrap();
    assert_eq!(loops.len(), 16);
    assert!(loops.iter().all(|row| row.head.seq == Seq(8)));
    assert!(loops.is_sorted_by_key(|row| row.name.as_str().to_owned()));
}

#[test]
fn a_record_changed_removed_or_inserted_behind_our_back_breaks_the_chain() {
    let tamper = |sql: &str| {
        let vault = vault();
        let store = open(&vault.dir).unwrap();
        for expected in 0..5 {
            append(&*store, "demo", expected).unwrap();
        }
        let conn = rusqlite::Connection::open(db(&vault.dir)).unwrap();
        conn.execute_batch(sql).unwrap();
        let fault = read_all(&*store, "demo").unwrap_err();
        let StoreError::Corrupt(refusal) = &fault else { panic!("{sql}: {fault}") };
        assert_eq!(refusal.path, db(&vault.dir));
        assert!(refusal.reason.contains("loop demo, record ") && !refusal.remedy.is_empty(), "{fault}");
        assert_eq!(check(&vault.dir).unwrap_err(), fault.clone().into(), "{sql}");
        fault.to_string()
    };
    let place = |sql: &str, seq: u64| {
        let message = tamper(sql);
        assert!(message.contains(&format!("record {seq}:")), "{sql}: {message}");
    };
    place("UPDATE records SET body = 'forged' WHERE seq = 3", 3);
    place("UPDATE records SET at = at + 1 WHERE seq = 1", 1);
    place("UPDATE records SET events = 9 WHERE seq = 2", 2);
    place("UPDATE records SET first_event = 9 WHERE seq = 2", 2);
    place("DELETE FROM records WHERE seq = 4", 4);
    place("DELETE FROM records WHERE seq = 5", 5);
    place("UPDATE records SET hash = zeroblob(32) WHERE seq = 5", 5);
    place(
        "INSERT INTO records SELECT loop_id, 6, at, format, first_event + 2, events, hash, body FROM records WHERE seq = 5",
        6,
    );
}

#[test]
fn a_record_of_an_unknown_format_is_refused() {
    let vault = vault();
    let store = open(&vault.dir).unwrap();
    append(&*store, "demo", 0).unwrap();
    let link = Link {
        previous: ChainHash::GENESIS,
        name: &name("demo"),
        seq: Seq(1),
        at: record("demo", 0, "").at,
        format: FORMAT + 1,
        events: 2,
        body: "record 1",
    };
    let hash = link.hash();
    let conn = rusqlite::Connection::open(db(&vault.dir)).unwrap();
    conn.execute("UPDATE records SET format = 2, hash = ?1", [hash.as_bytes()]).unwrap();
    conn.execute("UPDATE loops SET head_hash = ?1", [hash.as_bytes()]).unwrap();
    // Whoever wrote such a record would have left its receipt.
    std::fs::remove_file(support::receipts(&vault.dir)).unwrap();
    let fault = read_all(&*store, "demo").unwrap_err();
    assert!(matches!(fault, StoreError::Newer(_)), "{fault}");
}

#[test]
fn a_reader_makes_no_files_and_follows_a_writer_that_comes_later() {
    let vault = vault();
    assert!(open_read(&vault.dir).unwrap().is_none(), "no vault yet");
    assert!(!vault.dir.root().exists());

    let store = open(&vault.dir).unwrap();
    for expected in 0..20 {
        append(&*store, "demo", expected).unwrap();
    }
    drop(store);
    let (wal, shm) = (wal(&vault.dir), shm(&vault.dir));
    std::fs::remove_file(&wal).unwrap();
    std::fs::remove_file(&shm).unwrap();

    let reader = open_read(&vault.dir).unwrap().unwrap();
    assert_eq!(reader.head(&name("demo")).unwrap().unwrap().seq, Seq(20));
    assert!(!wal.exists() && !shm.exists());

    let store = open(&vault.dir).unwrap();
    append(&*store, "demo", 20).unwrap();
    assert_eq!(reader.head(&name("demo")).unwrap().unwrap().seq, Seq(21));
    append(&*store, "demo", 21).unwrap();
    assert_eq!(reader.head(&name("demo")).unwrap().unwrap().seq, Seq(22));
}

#[test]
fn processes_that_open_a_vault_together_find_one_vault() {
    let vault = vault();
    std::thread::scope(|scope| {
        for n in 0..8 {
            let dir = &vault.dir;
            scope.spawn(move || append(&*open(dir).unwrap(), &format!("loop{n}"), 0).unwrap());
        }
    });
    let reader = open_read(&vault.dir).unwrap().unwrap();
    assert_eq!(reader.loops().unwrap().len(), 8);
}

/// Root may write anywhere; run by an ordinary user this says more.
#[test]
fn a_vault_that_may_only_be_read_is_read() {
    use std::os::unix::fs::PermissionsExt;
    let vault = vault();
    let store = open(&vault.dir).unwrap();
    append(&*store, "demo", 0).unwrap();
    drop(store);
    let allow =
        |mode| std::fs::set_permissions(vault.dir.root(), std::fs::Permissions::from_mode(mode)).unwrap();
    allow(0o500);
    let head = || open_read(&vault.dir).unwrap().unwrap().head(&name("demo")).unwrap().unwrap().seq;
    let beside_a_log = head();
    allow(0o700);
    assert_eq!(beside_a_log, Seq(1));

    let store = open(&vault.dir).unwrap();
    for expected in 1..30 {
        append(&*store, "demo", expected).unwrap();
    }
    drop(store);
    std::fs::remove_file(wal(&vault.dir)).unwrap();
    std::fs::remove_file(shm(&vault.dir)).unwrap();
    allow(0o500);
    let without_one = head();
    allow(0o700);
    assert_eq!(without_one, Seq(30));
}
