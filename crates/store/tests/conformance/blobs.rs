use windlass_core::id::BlobId;
use windlass_store::BlobError;

use crate::Engine;
use crate::support::{append, note};

/// Of every size that an engine may treat in its own way.
fn some_bytes() -> [Vec<u8>; 5] {
    [vec![], b"brief".to_vec(), vec![0; 64 * 1024], vec![1; 64 * 1024 + 1], vec![2; 1 << 20]]
}

pub fn a_blob_is_readable_before_and_after_the_record(engine: &dyn Engine) {
    let store = engine.open();
    let ids = some_bytes().map(|bytes| store.put(bytes).unwrap());
    for expected in 0..2 {
        for (id, bytes) in ids.iter().zip(some_bytes()) {
            assert_eq!(store.blob(id, u64::MAX).unwrap(), bytes);
        }
        append(&*store, "demo", expected).unwrap();
    }
}

pub fn a_blob_is_readable_by_another_once_a_record_is_stored(engine: &dyn Engine) {
    let store = engine.open();
    let ids = some_bytes().map(|bytes| store.put(bytes).unwrap());
    append(&*store, "demo", 0).unwrap();
    drop(store);
    let other = engine.open();
    for (id, bytes) in ids.iter().zip(some_bytes()) {
        assert_eq!(other.blob(id, u64::MAX).unwrap(), bytes);
    }
}

/// Whoever drives the loop takes the command, and needs what it names.
pub fn a_blob_is_readable_by_another_once_a_command_is_sent(engine: &dyn Engine) {
    let (owner, terminal) = (engine.open(), engine.open());
    append(&*owner, "demo", 0).unwrap();
    let ids = some_bytes().map(|bytes| terminal.put(bytes).unwrap());
    terminal.send(note("demo", "look at these")).unwrap();
    for (id, bytes) in ids.iter().zip(some_bytes()) {
        assert_eq!(owner.blob(id, u64::MAX).unwrap(), bytes);
    }
}

pub fn the_same_bytes_have_the_same_id(engine: &dyn Engine) {
    let store = engine.open();
    for bytes in some_bytes() {
        let id = store.put(bytes.clone()).unwrap();
        assert_eq!(id.as_str(), blake3::hash(&bytes).to_hex().as_str());
        assert_eq!(store.put(bytes.clone()).unwrap(), id);
        let expected = store.loops().unwrap().first().map_or(0, |row| row.head.seq.0);
        append(&*store, "demo", expected).unwrap();
        assert_eq!(store.put(bytes.clone()).unwrap(), id);
        assert_eq!(store.blob(&id, u64::MAX).unwrap(), bytes);
    }
}

pub fn a_blob_that_was_not_put_is_missing(engine: &dyn Engine) {
    let store = engine.open();
    store.put(b"another".to_vec()).unwrap();
    let id = BlobId::new("0".repeat(64));
    match store.blob(&id, u64::MAX) {
        Err(BlobError::Missing(missing)) => assert_eq!(missing, id),
        other => panic!("{other:?}"),
    }
}

pub fn an_id_that_is_none_is_refused(engine: &dyn Engine) {
    let store = engine.open();
    for forged in ["", "ab", "../../../etc/passwd", &"A".repeat(64), &"0".repeat(63), &"0".repeat(65)] {
        let refused = store.blob(&BlobId::new(forged), u64::MAX);
        assert!(matches!(&refused, Err(BlobError::BadId(id)) if id == forged), "{forged}: {refused:?}");
    }
}

pub fn a_blob_above_the_limit_is_refused(engine: &dyn Engine) {
    let store = engine.open();
    let ids = some_bytes().map(|bytes| (bytes.len() as u64, store.put(bytes).unwrap()));
    for expected in 0..2 {
        for (size, id) in ids.iter().filter(|(size, _)| *size > 0) {
            assert_eq!(store.blob(id, *size).unwrap().len() as u64, *size);
            match store.blob(id, size - 1) {
                Err(BlobError::TooLarge { id: found, size: is, limit }) => {
                    assert_eq!((&found, is, limit), (id, *size, size - 1));
                }
                other => panic!("{other:?}"),
            }
        }
        append(&*store, "demo", expected).unwrap();
    }
}
