//! Waking across processes: what one stores, another hears of without asking.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::io::{BufRead, BufReader, Read, Write};
use std::sync::mpsc::RecvTimeoutError;

use support::{LONG, append, child, child_vault, name, note, vault, wake};
use windlass_core::id::{CommandId, Seq};
use windlass_store::{Followed, VaultDir, open, open_read};

mod support;

/// A record and a command for each line it is told, of the loop the line names.
fn store_what_is_asked(vault: &VaultDir) {
    let store = open(vault).unwrap();
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        match line.split_once(' ').unwrap() {
            ("record", loop_name) => {
                let end = store.head(&name(loop_name)).unwrap().map_or(0, |head| head.seq.0);
                append(&*store, loop_name, end).unwrap();
            }
            ("command", loop_name) => {
                store.send(note(loop_name, "look")).unwrap();
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn another_process_is_heard_of() {
    if let Some(vault) = child_vault() {
        return store_what_is_asked(&vault);
    }
    let vault = vault();
    let store = open(&vault.dir).unwrap();
    append(&*store, "demo", 0).unwrap();
    let (on_record, records) = wake();
    let (on_command, commands) = wake();
    let (on_quiet, quiet) = wake();
    let demo = name("demo");
    let _records = store.follow(&demo, Followed::Records, on_record).unwrap();
    let _commands = store.follow(&demo, Followed::Commands, on_command).unwrap();
    let _quiet = store.follow(&name("quiet"), Followed::Records, on_quiet).unwrap();

    let mut child = child("another_process_is_heard_of", vault.temp.path()).spawn().unwrap();
    let mut orders = child.stdin.take().unwrap();
    writeln!(orders, "command demo").unwrap();
    commands.recv_timeout(LONG).expect("a command wakes");
    assert_eq!(store.sent(&demo, CommandId(0)).unwrap().len(), 1, "it is there when the wake comes");
    writeln!(orders, "record demo").unwrap();
    records.recv_timeout(LONG).expect("a record wakes");
    assert_eq!(store.head(&demo).unwrap().unwrap().seq, Seq(2), "it is there when the wake comes");
    drop(orders);
    let mut said = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_to_string(&mut said).unwrap();
    assert!(child.wait().unwrap().success(), "{said}");
    assert!(quiet.try_recv().is_err(), "nothing came for the other loop");
}

#[test]
fn a_store_that_is_opened_twice_hears_of_itself() {
    let vault = vault();
    let (here, there) = (open(&vault.dir).unwrap(), open(&vault.dir).unwrap());
    append(&*there, "demo", 0).unwrap();
    let (on_record, records) = wake();
    let _records = here.follow(&name("demo"), Followed::Records, on_record).unwrap();
    for expected in 1..20 {
        append(&*there, "demo", expected).unwrap();
        while here.head(&name("demo")).unwrap().unwrap().seq != Seq(expected + 1) {
            records.recv_timeout(LONG).expect("each record wakes");
        }
    }
}

#[test]
fn a_store_that_closes_ends_its_subscriptions_and_its_thread() {
    let vault = vault();
    let store = open(&vault.dir).unwrap();
    append(&*store, "demo", 0).unwrap();
    let (on_record, records) = wake();
    let subscription = store.follow(&name("demo"), Followed::Records, on_record).unwrap();
    drop(store);
    assert_eq!(records.recv_timeout(LONG), Err(RecvTimeoutError::Disconnected), "nobody is left to call");
    drop(subscription);
}

#[test]
fn who_only_reads_is_woken() {
    let vault = vault();
    let store = open(&vault.dir).unwrap();
    append(&*store, "demo", 0).unwrap();
    let reader = open_read(&vault.dir).unwrap().unwrap();
    let (on_record, records) = wake();
    let _records = reader.follow(&name("demo"), Followed::Records, on_record).unwrap();
    append(&*store, "demo", 1).unwrap();
    records.recv_timeout(LONG).expect("a reader hears of a record");
    assert_eq!(reader.head(&name("demo")).unwrap().unwrap().seq, Seq(2));
}
