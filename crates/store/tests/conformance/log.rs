use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use windlass_core::id::Seq;
use windlass_core::time::Timestamp;
use windlass_store::chain::{ChainHash, Link};
use windlass_store::upcast::FORMAT;
use windlass_store::{Append, AppendError};

use crate::Engine;
use crate::support::{append, name, read_all, record};

fn conflict(loop_name: &str, expected: u64, found: u64) -> AppendError {
    AppendError::Conflict { name: name(loop_name), expected: Seq(expected), found: Seq(found) }
}

pub fn records_are_read_back_in_order_with_their_chain(engine: &dyn Engine) {
    let store = engine.open();
    let at = |n: u64| Timestamp(1_000 + n.cast_signed());
    let appended: Vec<_> = (0..8)
        .map(|n| store.append(Append { at: at(n), ..record("demo", n, &format!("body {n}")) }).unwrap())
        .collect();
    let records = read_all(&*engine.open(), "demo").unwrap();
    assert_eq!(records.len(), 8);
    let mut previous = ChainHash::GENESIS;
    for (n, (record, appended)) in (0..).zip(records.iter().zip(&appended)) {
        let link = Link {
            previous,
            name: &name("demo"),
            seq: Seq(n + 1),
            at: at(n),
            format: FORMAT,
            events: 2,
            body: &format!("body {n}"),
        };
        assert_eq!((record.seq, record.at, record.body.as_str()), (link.seq, link.at, link.body));
        assert_eq!((record.first_event, record.events), (n * 2 + 1, 2));
        assert_eq!((record.hash, record.seq), (appended.hash, appended.seq));
        assert_eq!(record.hash, link.hash());
        previous = record.hash;
    }
    let head = store.head(&name("demo")).unwrap().unwrap();
    assert_eq!((head.seq, head.hash, head.events), (Seq(8), previous, 16));
}

pub fn a_loop_is_created_by_its_first_record_and_by_no_other(engine: &dyn Engine) {
    let store = engine.open();
    for ahead in [1, 7, u64::MAX] {
        assert_eq!(store.append(record("demo", ahead, "body")).unwrap_err(), conflict("demo", ahead, 0));
        assert_eq!(store.loops().unwrap(), []);
    }
    let at = |at, expected| Append { at: Timestamp(at), ..record("demo", expected, "body") };
    store.append(at(10, 0)).unwrap();
    store.append(at(20, 1)).unwrap();
    assert_eq!(store.loops().unwrap()[0].created_at, Timestamp(10));
    assert_eq!(append(&*store, "demo", 0).unwrap_err(), conflict("demo", 0, 2));
}

pub fn a_second_owner_is_fenced_out(engine: &dyn Engine) {
    let (one, two) = (engine.open(), engine.open());
    append(&*one, "demo", 0).unwrap();
    assert_eq!(append(&*two, "demo", 0).unwrap_err(), conflict("demo", 0, 1));
    append(&*two, "demo", 1).unwrap();
    assert_eq!(append(&*one, "demo", 1).unwrap_err(), conflict("demo", 1, 2));
    assert_eq!(append(&*one, "demo", 7).unwrap_err(), conflict("demo", 7, 2));
    assert_eq!(read_all(&*one, "demo").unwrap(), read_all(&*two, "demo").unwrap());
    append(&*one, "demo", 2).unwrap();
}

pub fn of_all_writers_racing_for_a_place_one_gets_it(engine: &dyn Engine) {
    const PLACES: u64 = 15;
    let won = AtomicU64::new(0);
    let race = |store: Arc<dyn windlass_store::Store>| {
        for place in 0..PLACES {
            loop {
                match append(&*store, "demo", place) {
                    Ok(_) => {
                        won.fetch_add(1, Ordering::Relaxed);
                        break;
                    }
                    Err(AppendError::Conflict { found, .. }) if found > Seq(place) => break,
                    Err(AppendError::Conflict { .. }) => std::thread::yield_now(),
                    Err(AppendError::Store(error)) => panic!("{error}"),
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for store in [engine.open(), engine.open()] {
            let race = &race;
            let other = Arc::clone(&store);
            scope.spawn(move || race(store));
            scope.spawn(move || race(other));
        }
    });
    assert_eq!(won.load(Ordering::Relaxed), PLACES);
    assert_eq!(read_all(&*engine.open(), "demo").unwrap().len() as u64, PLACES);
}

pub fn a_refused_record_leaves_nothing(engine: &dyn Engine) {
    let store = engine.open();
    append(&*store, "demo", 0).unwrap();
    let before = (store.loops().unwrap(), read_all(&*store, "demo").unwrap());
    store.append(record("demo", 0, "late")).unwrap_err();
    store.append(record("demo", 5, "early")).unwrap_err();
    assert_eq!((store.loops().unwrap(), read_all(&*store, "demo").unwrap()), before);
}

pub fn events_are_counted_over_the_whole_log(engine: &dyn Engine) {
    let store = engine.open();
    for (n, events) in (0..).zip([3, 0, 1, 5]) {
        store.append(Append { events, ..record("demo", n, "body") }).unwrap();
    }
    let counted: Vec<_> = read_all(&*store, "demo").unwrap();
    let counted: Vec<_> = counted.iter().map(|record| (record.first_event, record.events)).collect();
    assert_eq!(counted, [(1, 3), (4, 0), (4, 1), (5, 5)]);
    assert_eq!(store.head(&name("demo")).unwrap().unwrap().events, 9);
}

pub fn a_page_may_begin_anywhere_and_have_any_limit(engine: &dyn Engine) {
    const ALL: usize = 6;
    let store = engine.open();
    for n in 0..ALL as u64 {
        append(&*store, "demo", n).unwrap();
    }
    let all = read_all(&*store, "demo").unwrap();
    for after in [0, 1, 3, ALL - 1, ALL, ALL + 1, usize::MAX] {
        for limit in [0, 1, 2, ALL - 1, ALL, ALL + 1, usize::MAX] {
            let page = store.read(&name("demo"), Seq(after as u64), limit).unwrap();
            let wanted: Vec<_> = all.iter().skip(after).take(limit).cloned().collect();
            assert_eq!(page, wanted, "after {after}, at most {limit}");
        }
    }
}

pub fn a_replay_goes_on_over_pages(engine: &dyn Engine) {
    const PAGE: u64 = 512;
    let store = engine.open();
    for n in 0..PAGE {
        append(&*store, "demo", n).unwrap();
    }
    assert_eq!(read_all(&*store, "demo").unwrap().len() as u64, PAGE, "a page that is just full");
    append(&*store, "demo", PAGE).unwrap();
    let all = read_all(&*store, "demo").unwrap();
    assert!(all.iter().zip(1..).all(|(record, seq)| record.seq == Seq(seq)));
    assert_eq!(all.len() as u64, PAGE + 1);
}

pub fn loops_are_listed_by_name(engine: &dyn Engine) {
    let store = engine.open();
    for loop_name in ["b", "a", "a.b", "a-1", "B", "a10", "a9"] {
        append(&*store, loop_name, 0).unwrap();
    }
    append(&*store, "a", 1).unwrap();
    let loops = store.loops().unwrap();
    let listed: Vec<_> = loops.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(listed, ["B", "a", "a-1", "a.b", "a10", "a9", "b"]);
    for row in &loops {
        assert_eq!(Some(&row.head), store.head(&row.name).unwrap().as_ref());
    }
}

pub fn the_view_and_its_version_are_those_of_the_last_record(engine: &dyn Engine) {
    let store = engine.open();
    for (n, (view, fold_version)) in (0..).zip([("one", 1), ("two", 7), ("three", 2)]) {
        store.append(Append { view: view.to_owned(), fold_version, ..record("demo", n, "body") }).unwrap();
        let head = engine.open().head(&name("demo")).unwrap().unwrap();
        assert_eq!((head.view.as_str(), head.fold_version), (view, fold_version));
    }
}

pub fn loops_do_not_touch_one_another(engine: &dyn Engine) {
    let store = engine.open();
    append(&*store, "one", 0).unwrap();
    append(&*store, "two", 0).unwrap();
    append(&*store, "one", 1).unwrap();
    assert_eq!(read_all(&*store, "one").unwrap().len(), 2);
    assert_eq!(read_all(&*store, "two").unwrap().len(), 1);
    assert_ne!(
        read_all(&*store, "one").unwrap()[0].hash,
        read_all(&*store, "two").unwrap()[0].hash,
        "a record belongs to its loop"
    );
}

pub fn an_unknown_loop_has_no_end_and_no_records(engine: &dyn Engine) {
    let store = engine.open();
    for _ in 0..2 {
        assert_eq!(store.head(&name("demo")).unwrap(), None);
        assert_eq!(store.read(&name("demo"), Seq(0), 10).unwrap(), []);
        assert_eq!(store.read(&name("demo"), Seq(3), 10).unwrap(), []);
        append(&*store, "other", store.loops().unwrap().len() as u64).unwrap();
    }
}
