//! When a blob is on the disk: a small one with the next record, a large one at
//! once.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::fs;

use support::{Vault, append, crash_image, db, vault};
use windlass_core::id::BlobId;
use windlass_store::{BlobError, ReadBlobs, open, open_read};

mod support;

/// One more byte makes a blob a file.
const INLINE_MAX: usize = 64 * 1024;

fn is_missing(blobs: &(impl ReadBlobs + ?Sized), id: &BlobId) -> bool {
    matches!(blobs.blob(id, u64::MAX), Err(BlobError::Missing(_)))
}

/// Whether the blob would be there if the machine lost its power now.
fn survives_a_crash(vault: &Vault, id: &BlobId) -> bool {
    let temp = tempfile::tempdir().unwrap();
    !is_missing(&*open(&crash_image(&vault.dir, temp.path())).unwrap(), id)
}

fn files(vault: &Vault) -> usize {
    fs::read_dir(vault.dir.root().join("blobs")).unwrap().count()
}

#[test]
fn a_small_blob_is_durable_with_the_next_record_of_any_loop() {
    let vault = vault();
    let store = open(&vault.dir).unwrap();
    append(&*store, "demo", 0).unwrap();
    let id = store.put(vec![7; INLINE_MAX]).unwrap();
    assert_eq!(store.blob(&id, u64::MAX).unwrap(), [7; INLINE_MAX]);
    assert!(is_missing(&*open(&vault.dir).unwrap(), &id), "it is in this process alone");
    assert!(!survives_a_crash(&vault, &id));

    append(&*store, "other", 0).unwrap();
    assert_eq!(store.blob(&id, u64::MAX).unwrap(), [7; INLINE_MAX]);
    assert!(!is_missing(&*open_read(&vault.dir).unwrap().unwrap(), &id));
    assert!(survives_a_crash(&vault, &id));
    assert_eq!(files(&vault), 0, "a small blob touches no file");
}

#[test]
fn a_small_blob_is_lost_without_a_record() {
    let vault = vault();
    let store = open(&vault.dir).unwrap();
    append(&*store, "demo", 0).unwrap();
    let id = store.put(b"brief".to_vec()).unwrap();
    drop(store);
    assert!(is_missing(&*open(&vault.dir).unwrap(), &id));
}

#[test]
fn a_record_that_is_refused_keeps_the_blobs_for_the_next() {
    let vault = vault();
    let store = open(&vault.dir).unwrap();
    append(&*store, "demo", 0).unwrap();
    let id = store.put(b"brief".to_vec()).unwrap();
    append(&*store, "demo", 0).unwrap_err();
    assert_eq!(store.blob(&id, 100).unwrap(), b"brief");
    assert!(!survives_a_crash(&vault, &id));
    append(&*store, "demo", 1).unwrap();
    assert!(survives_a_crash(&vault, &id));
}

#[test]
fn a_command_takes_the_blobs_along_that_it_may_name() {
    let vault = vault();
    let store = open(&vault.dir).unwrap();
    append(&*store, "demo", 0).unwrap();
    let id = store.put(b"brief".to_vec()).unwrap();
    store.send(support::note("demo", "look")).unwrap();
    assert!(survives_a_crash(&vault, &id));
}

#[test]
fn a_large_blob_is_durable_at_once() {
    let vault = vault();
    let store = open(&vault.dir).unwrap();
    let id = store.put(vec![1; INLINE_MAX + 1]).unwrap();
    assert!(survives_a_crash(&vault, &id));
    assert!(!is_missing(&*open(&vault.dir).unwrap(), &id));
    assert!(files(&vault) > 0);
}

#[test]
fn a_blob_that_was_put_before_is_put_again() {
    let vault = vault();
    let store = open(&vault.dir).unwrap();
    for expected in 0..3 {
        let small = store.put(b"brief".to_vec()).unwrap();
        let large = store.put(vec![1; INLINE_MAX + 1]).unwrap();
        append(&*store, "demo", expected).unwrap();
        assert!(survives_a_crash(&vault, &small) && survives_a_crash(&vault, &large));
    }
}

#[test]
fn a_blob_that_was_damaged_in_the_database_is_not_handed_out() {
    let vault = vault();
    let store = open(&vault.dir).unwrap();
    let id = store.put(b"brief".to_vec()).unwrap();
    append(&*store, "demo", 0).unwrap();
    let conn = rusqlite::Connection::open(db(&vault.dir)).unwrap();
    conn.execute("UPDATE blobs SET bytes = x'00'", []).unwrap();
    assert!(matches!(store.blob(&id, 100), Err(BlobError::Damaged { .. })));
}
