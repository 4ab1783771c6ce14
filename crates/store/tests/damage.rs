//! Databases that are not what they should be: refused, and left as they were.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::fs;
use std::path::Path;

use support::{append, crash_image, db, name, read_all, receipts, record, vault, wal};
use windlass_core::id::Seq;
use windlass_store::{OpenError, StoreError, VaultDir, open, open_read};

mod support;

const RECORDS: u64 = 60;

/// A closed vault with some history, all of it in the database file.
fn history() -> support::Vault {
    let vault = vault();
    let store = open(&vault.dir).unwrap();
    for expected in 0..RECORDS {
        let body = format!("record {} {}", expected + 1, "-".repeat(200));
        store.append(record("demo", expected, &body)).unwrap();
    }
    drop(store);
    assert_eq!(fs::metadata(wal(&vault.dir)).unwrap().len(), 0);
    vault
}

fn assert_refused(dir: &VaultDir, is_right: fn(&OpenError) -> bool) {
    let before = fs::read(db(dir)).ok();
    let writer = open(dir).err().expect("a writer must be refused");
    assert!(is_right(&writer), "{writer:?}");
    let reader = open_read(dir).err().expect("a reader must be refused");
    assert!(is_right(&reader), "{reader:?}");
    let message = writer.to_string();
    assert!(message.contains(db(dir).to_str().unwrap()) && message.contains("; "), "{message}");
    assert_eq!(fs::read(db(dir)).ok(), before, "nothing was changed");
}

fn is_corrupt(error: &OpenError) -> bool {
    matches!(error, OpenError::Store(StoreError::Corrupt(_)))
}

#[test]
fn garbage_is_refused() {
    let vault = history();
    fs::write(db(&vault.dir), "this is not a database\n".repeat(400)).unwrap();
    assert_refused(&vault.dir, is_corrupt);
    fs::write(db(&vault.dir), "short").unwrap();
    assert_refused(&vault.dir, is_corrupt);
}

#[test]
fn a_truncated_database_is_refused_wherever_it_was_cut() {
    let vault = history();
    let whole = fs::read(db(&vault.dir)).unwrap();
    assert!(whole.len() > 3 * 4096);
    for cut in [50, 100, 1000, 4096, 8192, whole.len() - 4096, whole.len() - 1000] {
        fs::write(db(&vault.dir), &whole[..cut]).unwrap();
        assert_refused(&vault.dir, is_corrupt);
    }
    fs::write(db(&vault.dir), &whole).unwrap();
    assert_eq!(read_all(&*open(&vault.dir).unwrap(), "demo").unwrap().len() as u64, RECORDS);
}

#[test]
fn a_damaged_page_is_found_when_it_is_read() {
    let vault = history();
    let mut bytes = fs::read(db(&vault.dir)).unwrap();
    let body = b"record 57 ";
    // Pages that were split keep dead copies: every one is damaged.
    let places: Vec<_> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(body)).collect();
    places.into_iter().for_each(|at| bytes[at] ^= 1);
    fs::write(db(&vault.dir), bytes).unwrap();
    let store = open(&vault.dir).unwrap();
    let fault = read_all(&*store, "demo").unwrap_err();
    assert!(fault.to_string().contains("loop demo, record 57:"), "{fault}");
}

#[test]
fn a_lost_tail_is_found_on_opening() {
    let vault = history();
    let conn = rusqlite::Connection::open(db(&vault.dir)).unwrap();
    conn.execute("DELETE FROM records WHERE seq = ?1", [RECORDS.cast_signed()]).unwrap();
    drop(conn);
    let refused = open(&vault.dir).err().unwrap();
    assert!(is_corrupt(&refused), "{refused}");
}

#[test]
fn a_vault_that_lost_its_database_does_not_begin_again_in_silence() {
    let is_missing = |error: &OpenError| matches!(error, OpenError::Missing(_));
    let vault = history();
    fs::write(db(&vault.dir), "").unwrap();
    assert_refused(&vault.dir, is_missing);
    fs::remove_file(db(&vault.dir)).unwrap();
    assert_refused(&vault.dir, is_missing);
    assert!(!db(&vault.dir).exists());
}

#[test]
fn a_vault_that_lost_its_log_before_it_reached_the_database_is_refused() {
    let vault = vault();
    let store = open(&vault.dir).unwrap();
    append(&*store, "demo", 0).unwrap();
    let temp = tempfile::tempdir().unwrap();
    let image = crash_image(&vault.dir, temp.path());
    fs::remove_file(wal(&image)).unwrap();
    assert_refused(&image, |error| matches!(error, OpenError::Missing(_)));
}

#[test]
fn a_newer_or_foreign_database_is_refused() {
    let change = |sql: &str| {
        let vault = history();
        let conn = rusqlite::Connection::open(db(&vault.dir)).unwrap();
        conn.execute_batch(sql).unwrap();
        drop(conn);
        vault
    };
    let newer = change("PRAGMA user_version = 99");
    assert_refused(&newer.dir, |error| matches!(error, OpenError::Store(StoreError::Newer(_))));
    let foreign = change("PRAGMA application_id = 77");
    assert_refused(&foreign.dir, |error| matches!(error, OpenError::Foreign(_)));
}

#[test]
fn a_database_from_before_the_first_format_is_refused_with_a_message_that_says_so() {
    let vault = history();
    let conn = rusqlite::Connection::open(db(&vault.dir)).unwrap();
    conn.execute_batch("PRAGMA application_id = 1464747084").unwrap();
    drop(conn);
    assert_refused(&vault.dir, |error| {
        matches!(error, OpenError::Foreign(_))
            && error.to_string().contains("was made by a windlass from before the first stored format")
            && error.to_string().contains("use that windlass, or move the vault directory away")
    });
}

#[test]
fn a_creation_that_was_cut_short_is_taken_up_again() {
    let vault = vault();
    fs::create_dir_all(vault.dir.root()).unwrap();
    for half_made in [&b""[..], &half_made_database()] {
        fs::write(db(&vault.dir), half_made).unwrap();
        assert!(open_read(&vault.dir).unwrap().is_none());
    }
    append(&*open(&vault.dir).unwrap(), "demo", 0).unwrap();
    fs::remove_file(vault.dir.root().join("marker")).unwrap();
    let store = open(&vault.dir).unwrap();
    assert_eq!(read_all(&*store, "demo").unwrap().len(), 1);
    assert!(vault.dir.root().join("marker").exists());
}

fn half_made_database() -> Vec<u8> {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("db");
    let conn = rusqlite::Connection::open(&path).unwrap();
    conn.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())).unwrap();
    drop(conn);
    fs::read(path).unwrap()
}

#[test]
fn a_torn_log_loses_only_what_is_torn() {
    let vault = vault();
    let store = open(&vault.dir).unwrap();
    for expected in 0..10 {
        append(&*store, "demo", expected).unwrap();
    }
    let temp = tempfile::tempdir().unwrap();
    let full = fs::metadata(wal(&vault.dir)).unwrap().len();
    let mut survivors = Vec::new();
    for (n, cut) in [0, 1, 100, 5000, 20_000].into_iter().enumerate() {
        let image = crash_image(&vault.dir, &temp.path().join(n.to_string()));
        truncate(&wal(&image), full - cut);
        // Not flushed with the log, so that a power failure may take it.
        fs::remove_file(receipts(&image)).unwrap();
        let store = open(&image).unwrap();
        let found = read_all(&*store, "demo").unwrap().len() as u64;
        survivors.push(found);
        append(&*store, "demo", found).unwrap();
        assert_eq!(store.head(&name("demo")).unwrap().unwrap().seq, Seq(found + 1));
    }
    assert_eq!(survivors[0], 10);
    assert_eq!(survivors[1], 9, "the torn record and no other");
    assert!(survivors.is_sorted_by(|a, b| a >= b) && survivors[4] < survivors[1], "{survivors:?}");
}

fn truncate(path: &Path, len: u64) {
    fs::OpenOptions::new().write(true).open(path).unwrap().set_len(len).unwrap();
}
