//! A loop whose record is taken away: what it alone had goes, and nothing else.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use support::{append, name, note, read_all, record, vault};
use windlass_core::id::BlobId;
use windlass_core::time::Timestamp;
use windlass_store::{Store, VaultDir, open, open_read, remove_records};

mod support;

/// Larger than what the database holds itself.
const LARGE: usize = 100 * 1024;

struct TextIds {
    own: [BlobId; 2],
    shared: [BlobId; 2],
}

/// `demo` and `other` have records; two blobs are named by both, two by `demo` alone.
fn two_loops(store: &dyn Store) -> TextIds {
    let put = |byte: u8, size: usize| store.put(vec![byte; size]).unwrap();
    let ids = TextIds { own: [put(1, 10), put(2, LARGE)], shared: [put(3, 10), put(4, LARGE)] };
    let named = |blobs: &[&BlobId]| {
        let names: Vec<String> = blobs.iter().map(|blob| format!("{:?}", blob.as_str())).collect();
        format!("[{}]", names.join(","))
    };
    let TextIds { own: [a, b], shared: [c, d] } = &ids;
    store.append(record("demo", 0, &named(&[a, b, c, d]))).unwrap();
    store.append(record("other", 0, &named(&[c, d]))).unwrap();
    append(store, "demo", 1).unwrap();
    store.send(note("demo", "hello")).unwrap();
    ids
}

#[track_caller]
fn only_other_is_left(dir: &VaultDir, ids: &TextIds) {
    let reader = open_read(dir).unwrap().unwrap();
    let names: Vec<String> = reader.loops().unwrap().iter().map(|row| row.name.to_string()).collect();
    assert_eq!(names, ["other"]);
    assert_eq!(read_all(&*reader, "other").unwrap().len(), 1);
    assert!(ids.shared.iter().all(|id| reader.blob(id, u64::MAX).is_ok()), "both had them");
    assert!(ids.own.iter().all(|id| reader.blob(id, u64::MAX).is_err()), "nobody else had them");
}

#[test]
fn a_removed_loop_takes_only_its_own_along_and_is_no_loss() {
    let vault = vault();
    let store = open(&vault.dir).unwrap();
    let ids = two_loops(&*store);
    drop(store);
    remove_records(&vault.dir, &name("demo")).unwrap();
    only_other_is_left(&vault.dir, &ids);
    remove_records(&vault.dir, &name("demo")).unwrap();
    windlass_store::check(&vault.dir).unwrap();

    let store = open(&vault.dir).unwrap();
    append(&*store, "demo", 0).unwrap();
    assert_eq!(read_all(&*store, "demo").unwrap().len(), 1, "it begins anew");
    drop(store);
    assert!(open(&vault.dir).is_ok());
}

#[test]
fn large_blobs_stay_while_another_loop_is_driven() {
    let vault = vault();
    let store = open(&vault.dir).unwrap();
    let ids = two_loops(&*store);
    let lease = store.lease(&name("other"), Timestamp(1)).unwrap();
    remove_records(&vault.dir, &name("demo")).unwrap();
    let [small, large] = &ids.own;
    let reader = open_read(&vault.dir).unwrap().unwrap();
    assert!(reader.blob(large, u64::MAX).is_ok(), "its driver may be about to name it");
    assert!(reader.blob(small, u64::MAX).is_err());
    drop(lease);
}
