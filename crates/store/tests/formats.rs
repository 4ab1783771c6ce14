//! Databases as each format stored them, kept for ever as SQL text. Today's
//! windlass must read them, and go on writing them.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::fs;

use support::{append, db, name, vault};
use windlass_core::outcome::OutcomeKind;
use windlass_core::state::Lifecycle;
use windlass_core::view::View;
use windlass_store::{VaultDir, check, fold, open, open_read, view};

mod support;

const FORMAT_1: &str = include_str!("formats/format-1.sql");

fn brought_back(sql: &str) -> support::Vault {
    let vault = vault();
    fs::create_dir_all(vault.dir.root()).unwrap();
    let conn = rusqlite::Connection::open(db(&vault.dir)).unwrap();
    conn.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())).unwrap();
    conn.execute_batch(sql).unwrap();
    vault
}

fn shown(dir: &VaultDir, loop_name: &str) -> View {
    let store = open_read(dir).unwrap().unwrap();
    let name = name(loop_name);
    let head = store.head(&name).unwrap().unwrap();
    view(&*store, &name, &head).unwrap()
}

#[test]
fn format_1_is_read() {
    let vault = brought_back(FORMAT_1);
    let store = open_read(&vault.dir).unwrap().unwrap();
    for (loop_name, iterations) in [("first", 2), ("make-it-blue", 2)] {
        let state = fold(&*store, &name(loop_name)).unwrap();
        let Lifecycle::Ended(outcome) = &state.lifecycle else { panic!("{:?}", state.lifecycle) };
        assert_eq!((outcome.kind, state.iterations), (OutcomeKind::Completed, iterations));
        assert_eq!(shown(&vault.dir, loop_name).iteration, iterations);
    }
    check(&vault.dir).unwrap();
}

#[test]
fn a_view_of_another_fold_is_made_anew() {
    let vault = brought_back(FORMAT_1);
    let stored = shown(&vault.dir, "first");
    let conn = rusqlite::Connection::open(db(&vault.dir)).unwrap();
    conn.execute_batch("UPDATE loops SET fold_version = 0, view = '{\"what\":\"is it\"}'").unwrap();
    assert_eq!(
        serde_json::to_value(shown(&vault.dir, "first")).unwrap(),
        serde_json::to_value(stored).unwrap()
    );
}

#[test]
fn format_1_is_written_on() {
    let vault = brought_back(FORMAT_1);
    let store = open(&vault.dir).unwrap();
    let head = store.head(&name("first")).unwrap().unwrap();
    append(&*store, "first", head.seq.0).unwrap();
    assert_eq!(store.head(&name("first")).unwrap().unwrap().seq, head.seq.next());
}
