//! What was acknowledged and is not there any more: refused, never shown as an
//! older state or as no history at all. And no crash is ever taken for that.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::fs;
use std::path::Path;

use support::{append, crash_image, db, name, read_all, receipts, shm, vault, vault_in, wal};
use windlass_core::id::LoopName;
use windlass_store::{OpenError, ReadLog, StoreError, VaultDir, open, open_read};

mod support;

const IN_DATABASE: u64 = 20;
const ALL: u64 = 30;

/// A vault as a killed process leaves it: twenty records of `demo` in the
/// database, ten more in the log, and there alone the loop `late`.
fn killed() -> (tempfile::TempDir, VaultDir) {
    let vault = vault();
    let store = open(&vault.dir).unwrap();
    for expected in 0..IN_DATABASE {
        append(&*store, "demo", expected).unwrap();
    }
    drop(store);
    assert_eq!(fs::metadata(wal(&vault.dir)).unwrap().len(), 0, "a closed store has no log");
    let store = open(&vault.dir).unwrap();
    for expected in IN_DATABASE..ALL {
        append(&*store, "demo", expected).unwrap();
    }
    append(&*store, "late", 0).unwrap();
    let temp = tempfile::tempdir().unwrap();
    let image = crash_image(&vault.dir, temp.path());
    (temp, image)
}

fn names(reader: &dyn ReadLog) -> Vec<LoopName> {
    reader.loops().unwrap().into_iter().map(|row| row.name).collect()
}

fn change(path: &Path, how: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    how(&mut bytes);
    fs::write(path, bytes).unwrap();
}

/// By the reader as by the writer, with the path and what to do; the database stays as it is.
#[track_caller]
fn refused(dir: &VaultDir) -> String {
    let before = fs::read(db(dir)).ok();
    let reader = open_read(dir).err().expect("a reader must be refused");
    let writer = open(dir).err().expect("a writer must be refused");
    let told = |error: &OpenError| {
        assert!(
            matches!(error, OpenError::Store(StoreError::Corrupt(_)) | OpenError::Missing(_)),
            "{error:?}"
        );
        let message = error.to_string();
        assert!(message.contains(db(dir).to_str().unwrap()) && message.contains("; "), "{message}");
        assert!(message.contains("restore"), "{message}");
        message
    };
    told(&reader);
    assert_eq!(fs::read(db(dir)).ok(), before, "nothing was changed");
    told(&writer)
}

#[test]
fn a_log_that_is_lost_cut_or_damaged_is_refused() {
    let lose = |dir: &VaultDir| fs::remove_file(wal(dir)).unwrap();
    let empty = |dir: &VaultDir| change(&wal(dir), Vec::clear);
    let header = |dir: &VaultDir| change(&wal(dir), |bytes| bytes.truncate(32));
    let half = |dir: &VaultDir| change(&wal(dir), |bytes| bytes.truncate(bytes.len() / 2));
    let first = |dir: &VaultDir| change(&wal(dir), |bytes| bytes[20] ^= 1);
    let middle = |dir: &VaultDir| {
        change(&wal(dir), |bytes| {
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
        });
    };
    let ways: [&dyn Fn(&VaultDir); 6] = [&lose, &empty, &header, &half, &first, &middle];
    for (number, damage) in ways.into_iter().enumerate() {
        let (_temp, dir) = killed();
        damage(&dir);
        let message = refused(&dir);
        let named = message.contains("loop demo ends at record") || message.contains("loop late is missing");
        assert!(named && message.contains("was acknowledged"), "way {number}: {message}");
    }
}

#[test]
fn a_loop_that_was_in_the_log_alone_is_missed() {
    let (_temp, dir) = killed();
    change(&receipts(&dir), |bytes| bytes[256..512].fill(0));
    fs::remove_file(wal(&dir)).unwrap();
    let message = refused(&dir);
    assert!(message.contains("loop late is missing, but record 1 of it was acknowledged"), "{message}");
}

#[test]
fn the_log_of_another_vault_is_refused() {
    let (_temp, dir) = killed();
    let other = vault();
    let store = open(&other.dir).unwrap();
    for expected in 0..ALL + 5 {
        store.append(support::record("demo", expected, "another history")).unwrap();
    }
    fs::copy(wal(&other.dir), wal(&dir)).unwrap();
    refused(&dir);
}

#[test]
fn database_and_log_damaged_together_are_refused() {
    let both = |how: fn(&mut Vec<u8>)| {
        let (temp, dir) = killed();
        change(&db(&dir), how);
        change(&wal(&dir), how);
        refused(&dir);
        drop(temp);
    };
    both(Vec::clear);
    both(|bytes| bytes.truncate(40));
    both(|bytes| bytes.truncate(bytes.len() / 2));
    both(|bytes| bytes.iter_mut().take(4096).for_each(|byte| *byte ^= 0x5a));
    both(|bytes| bytes.fill(0));
}

#[test]
fn receipts_without_a_database_are_a_loss_and_no_beginning() {
    let (_temp, dir) = killed();
    for file in [db(&dir), wal(&dir), dir.root().join("marker")] {
        fs::remove_file(file).unwrap();
    }
    assert!(refused(&dir).contains("though this vault had records"));
}

#[test]
fn a_history_of_the_same_length_is_not_the_same_history() {
    let (_temp, dir) = killed();
    let temp = tempfile::tempdir().unwrap();
    let other = vault_in(temp.path());
    let store = open(&other).unwrap();
    for (loop_name, records) in [("demo", ALL + 3), ("late", 1)] {
        for expected in 0..records {
            store.append(support::record(loop_name, expected, "another history")).unwrap();
        }
    }
    drop(store);
    fs::copy(receipts(&dir), receipts(&other)).unwrap();
    let message = refused(&other);
    assert!(message.contains("record 30 of loop demo is not the one that was acknowledged"), "{message}");
}

#[test]
fn receipts_that_lag_are_lost_or_torn_accuse_nobody() {
    let older = |bytes: &mut Vec<u8>| {
        let (_temp, before) = {
            let vault = vault();
            let store = open(&vault.dir).unwrap();
            append(&*store, "demo", 0).unwrap();
            (vault.temp, fs::read(vault.dir.root().join("receipts")).unwrap())
        };
        *bytes = before;
    };
    let ways: [fn(&mut Vec<u8>); 4] = [older, |bytes| bytes.fill(0), |bytes| bytes.truncate(300), Vec::clear];
    for way in ways {
        let (_temp, dir) = killed();
        change(&receipts(&dir), way);
        assert_eq!(names(&*open_read(&dir).unwrap().unwrap()), [name("demo"), name("late")]);
        assert_eq!(read_all(&*open(&dir).unwrap(), "demo").unwrap().len() as u64, ALL);
    }
    let (_temp, dir) = killed();
    fs::remove_file(receipts(&dir)).unwrap();
    assert_eq!(read_all(&*open(&dir).unwrap(), "demo").unwrap().len() as u64, ALL);
}

/// Whatever the power failure takes of what was not flushed: the end of the
/// log behind the last acknowledged commit, and any number of receipts.
#[test]
fn no_power_failure_is_taken_for_a_loss() {
    let vault = vault();
    let store = open(&vault.dir).unwrap();
    let log = || fs::read(wal(&vault.dir)).unwrap();
    let mut acknowledged = vec![(log().len(), fs::read(receipts(&vault.dir)).unwrap())];
    for expected in 0..12 {
        append(&*store, "demo", expected).unwrap();
        acknowledged.push((log().len(), fs::read(receipts(&vault.dir)).unwrap()));
    }
    let whole = log();
    let temp = tempfile::tempdir().unwrap();
    let image = crash_image(&vault.dir, temp.path());
    for n in 0..12 {
        let (durable, next) = (acknowledged[n].0, acknowledged[n + 1].0);
        for cut in [durable, durable + 1, durable + 500, next - 1] {
            for (_, receipt) in &acknowledged[..=n] {
                fs::write(wal(&image), &whole[..cut]).unwrap();
                fs::write(receipts(&image), receipt).unwrap();
                let _ = fs::remove_file(shm(&image));
                let reader = open_read(&image).unwrap_or_else(|error| panic!("{n}, cut at {cut}: {error}"));
                let end = reader.unwrap().head(&name("demo")).unwrap().map_or(0, |head| head.seq.0);
                assert_eq!(end, n as u64, "cut at {cut}");
            }
        }
    }
}

/// Readers come and go while a writer moves on: none of them sees a receipt that is ahead of its records.
#[test]
fn a_reader_beside_a_writer_is_never_refused() {
    let vault = vault();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let look = || {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                open_read(&vault.dir).unwrap_or_else(|error| panic!("{error}"));
            }
        };
        scope.spawn(look);
        scope.spawn(look);
        for visit in 0..20 {
            let store = open(&vault.dir).unwrap();
            for expected in 0..10 {
                append(&*store, "demo", visit * 10 + expected).unwrap();
            }
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

#[test]
fn a_short_visit_leaves_everything_in_the_database() {
    let vault = vault();
    append(&*open(&vault.dir).unwrap(), "demo", 0).unwrap();
    assert_eq!(fs::metadata(wal(&vault.dir)).unwrap().len(), 0);
    fs::remove_file(wal(&vault.dir)).unwrap();
    assert_eq!(names(&*open_read(&vault.dir).unwrap().unwrap()), [name("demo")]);
}
