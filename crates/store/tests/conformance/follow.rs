use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use windlass_core::id::{CommandId, Seq};
use windlass_store::{Followed, Store, Subscription};

use crate::Engine;
use crate::support::{LONG, append, name, note, wake};

fn followed(store: &dyn Store, loop_name: &str, what: Followed) -> (Subscription, Receiver<()>) {
    let (wake, heard) = wake();
    (store.follow(&name(loop_name), what, wake).unwrap(), heard)
}

/// Another is told of everything in the order in which it was stored: once it
/// has heard of this, whatever came before has woken whom it wakes.
fn hear_the_last(writer: &dyn Store, follower: &dyn Store) {
    let (_last, heard) = followed(follower, "last", Followed::Records);
    append(writer, "last", 0).unwrap();
    heard.recv_timeout(LONG).expect("the last record wakes");
}

/// What a look at the store says each time it is woken.
fn looks<T: Send + 'static>(
    store: &dyn Store,
    what: Followed,
    look: impl Fn() -> T + Send + Sync + 'static,
) -> (Subscription, Receiver<T>) {
    let (told, heard) = channel();
    let wake = move || {
        // Whoever no longer listens has heard enough.
        let _ = told.send(look());
    };
    (store.follow(&name("demo"), what, Arc::new(wake)).unwrap(), heard)
}

pub fn a_record_wakes_once_it_can_be_read(engine: &dyn Engine) {
    let (here, there, reader) = (engine.open(), engine.open(), engine.open());
    append(&*here, "demo", 0).unwrap();
    let end = move || reader.head(&name("demo")).unwrap().unwrap().seq;
    let (_records, seen) = looks(&*here, Followed::Records, end);
    for (before, writer) in (1..).zip([&here, &there, &here, &there]) {
        append(&**writer, "demo", before).unwrap();
        while seen.recv_timeout(LONG).expect("a wake finds the record") != Seq(before + 1) {}
    }
}

pub fn a_command_wakes_once_it_can_be_read(engine: &dyn Engine) {
    let (here, there, reader) = (engine.open(), engine.open(), engine.open());
    append(&*here, "demo", 0).unwrap();
    let sent = move || reader.sent(&name("demo"), CommandId(0)).unwrap().len();
    let (_commands, seen) = looks(&*here, Followed::Commands, sent);
    for (before, sender) in (0..).zip([&here, &there, &here, &there]) {
        sender.send(note("demo", "look")).unwrap();
        while seen.recv_timeout(LONG).expect("a wake finds the command") != before + 1 {}
    }
}

pub fn every_follower_is_woken(engine: &dyn Engine) {
    let store = engine.open();
    append(&*store, "demo", 0).unwrap();
    let all: Vec<_> = (0..5).map(|_| followed(&*store, "demo", Followed::Records)).collect();
    append(&*engine.open(), "demo", 1).unwrap();
    for (_, heard) in &all {
        heard.recv_timeout(LONG).expect("each of them is woken");
    }
}

pub fn neither_another_loop_nor_the_other_kind_wakes(engine: &dyn Engine) {
    let (follower, writer) = (engine.open(), engine.open());
    for loop_name in ["demo", "demo.records", "commands", "demo.commands"] {
        append(&*writer, loop_name, 0).unwrap();
    }
    let (_records, records) = followed(&*follower, "demo", Followed::Records);
    let (_commands, commands) = followed(&*follower, "commands", Followed::Commands);
    writer.send(note("demo", "look")).unwrap();
    append(&*writer, "commands", 1).unwrap();
    append(&*writer, "demo.records", 1).unwrap();
    append(&*writer, "demo.commands", 1).unwrap();
    writer.send(note("demo.records", "look")).unwrap();
    hear_the_last(&*writer, &*follower);
    assert!(records.try_recv().is_err(), "no record of demo came");
    assert!(commands.try_recv().is_err(), "no command of commands came");
}

pub fn a_refused_record_and_a_refused_command_wake_nobody(engine: &dyn Engine) {
    let (follower, writer) = (engine.open(), engine.open());
    append(&*writer, "demo", 0).unwrap();
    let (_records, records) = followed(&*follower, "demo", Followed::Records);
    let (_commands, commands) = followed(&*follower, "nobody", Followed::Commands);
    append(&*writer, "demo", 0).unwrap_err();
    writer.send(note("nobody", "look")).unwrap_err();
    hear_the_last(&*writer, &*follower);
    assert!(records.try_recv().is_err() && commands.try_recv().is_err());
}

pub fn a_subscription_that_was_dropped_is_not_called(engine: &dyn Engine) {
    let (follower, writer) = (engine.open(), engine.open());
    append(&*writer, "demo", 0).unwrap();
    let (dropped, not_heard) = followed(&*follower, "demo", Followed::Records);
    let (_kept, heard) = followed(&*follower, "demo", Followed::Records);
    drop(dropped);
    append(&*writer, "demo", 1).unwrap();
    append(&*follower, "demo", 2).unwrap();
    hear_the_last(&*writer, &*follower);
    heard.recv_timeout(LONG).expect("the other one goes on");
    assert!(not_heard.try_recv().is_err());
}

pub fn what_came_before_is_not_told(engine: &dyn Engine) {
    let (follower, writer) = (engine.open(), engine.open());
    append(&*writer, "demo", 0).unwrap();
    writer.send(note("demo", "look")).unwrap();
    let (_records, records) = followed(&*follower, "demo", Followed::Records);
    let (_commands, commands) = followed(&*follower, "demo", Followed::Commands);
    hear_the_last(&*writer, &*follower);
    assert!(records.try_recv().is_err() && commands.try_recv().is_err());
}
