//! Commands: durable when asked, taken exactly once, answered.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use support::{append, ask, name, read_all, record, vault};
use windlass_core::id::{CommandId, Seq};
use windlass_store::{AppendError, AskError, Log, Store, Take, Taken};

mod support;

#[test]
fn a_command_is_seen_by_another_process_and_taken_once() {
    let vault = vault();
    let mut owner = Store::open(&vault.dir).unwrap();
    append(&mut owner, "demo", 0).unwrap();
    append(&mut owner, "other", 0).unwrap();

    let terminal = Store::open(&vault.dir).unwrap();
    let pause = terminal.ask(ask("demo", "pause")).unwrap();
    let steer = terminal.ask(ask("demo", "steer")).unwrap();
    terminal.ask(ask("other", "cancel")).unwrap();
    drop(terminal);

    let waiting = owner.untaken(&name("demo"), CommandId(0)).unwrap();
    let bodies: Vec<_> = waiting.iter().map(|command| command.body.as_str()).collect();
    assert_eq!(bodies, ["pause", "steer"]);
    assert_eq!(owner.untaken(&name("demo"), pause).unwrap()[0].id, steer);

    let taking = |expected, command| {
        let takes = Some(Take { command, answer: Some("refused: nothing to steer".to_owned()) });
        windlass_store::Append { takes, ..record("demo", expected, "took") }
    };
    owner.append(taking(1, steer)).unwrap();
    let again = owner.append(taking(2, steer)).unwrap_err();
    assert_eq!(again, AppendError::AlreadyTaken { command: steer, by: Seq(2) });
    assert_eq!(read_all(&owner, "demo").unwrap().len(), 2, "the refused record left nothing behind");

    let taken = owner.command(steer).unwrap().unwrap().taken;
    assert_eq!(taken, Some(Taken { by: Seq(2), answer: Some("refused: nothing to steer".to_owned()) }));
    assert_eq!(owner.untaken(&name("demo"), CommandId(0)).unwrap()[0].id, pause);
}

#[test]
fn a_command_belongs_to_its_loop() {
    let vault = vault();
    let mut store = Store::open(&vault.dir).unwrap();
    let nobody = store.ask(ask("demo", "pause")).unwrap_err();
    assert_eq!(nobody, AskError::NoSuchLoop { name: name("demo") });
    append(&mut store, "demo", 0).unwrap();
    append(&mut store, "other", 0).unwrap();
    let pause = store.ask(ask("demo", "pause")).unwrap();
    for command in [pause, CommandId(99)] {
        let takes = Some(Take { command, answer: None });
        let refused = store.append(windlass_store::Append { takes, ..record("other", 1, "took") });
        assert_eq!(refused, Err(AppendError::NoSuchCommand { name: name("other"), command }));
    }
    assert_eq!(store.untaken(&name("demo"), CommandId(0)).unwrap().len(), 1);
    assert_eq!(store.head(&name("other")).unwrap().unwrap().seq, Seq(1));
}

#[test]
fn of_all_owners_racing_for_a_command_one_takes_it() {
    let vault = vault();
    let mut store = Store::open(&vault.dir).unwrap();
    append(&mut store, "demo", 0).unwrap();
    let command = store.ask(ask("demo", "pause")).unwrap();
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let racer = |_| {
            let mut store = Store::open(&vault.dir).unwrap();
            let takes = Some(Take { command, answer: None });
            scope.spawn(move || {
                store.append(windlass_store::Append { takes, ..record("demo", 1, "took") }).is_ok()
            })
        };
        let racers: Vec<_> = (0..4).map(racer).collect();
        racers.into_iter().map(|racer| racer.join().unwrap()).collect()
    });
    assert_eq!(outcomes.iter().filter(|won| **won).count(), 1, "{outcomes:?}");
}
