//! The inbox between processes: durable once sent, seen in order by whoever owns
//! the loop. That a command is taken once is a rule of the log: of those who race
//! to take it, the log's fence lets one.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::sync::Arc;

use support::{append, crash_image, db, name, note, record, vault};
use windlass_core::command::Command;
use windlass_core::id::CommandId;
use windlass_store::{AppendError, Inbox, open};

mod support;

fn texts(inbox: &dyn Inbox, loop_name: &str, after: CommandId) -> Vec<String> {
    let text = |command| {
        let Command::Note { text } = command else { panic!("{command:?} was not sent") };
        text
    };
    let sent = inbox.sent(&name(loop_name), after).unwrap();
    sent.into_iter().map(|sent| text(sent.command.unwrap())).collect()
}

#[test]
fn a_command_outlives_its_sender_and_is_seen_in_order_by_the_owner() {
    let vault = vault();
    let owner = open(&vault.dir).unwrap();
    append(&*owner, "demo", 0).unwrap();
    append(&*owner, "other", 0).unwrap();

    let terminal = open(&vault.dir).unwrap();
    let first = terminal.send(note("demo", "first")).unwrap();
    let elsewhere = terminal.send(note("other", "elsewhere")).unwrap();
    let second = terminal.send(note("demo", "second")).unwrap();
    drop(terminal);

    assert!(first < elsewhere && elsewhere < second);
    assert_eq!(texts(&*owner, "demo", CommandId(0)), ["first", "second"]);
    assert_eq!(texts(&*owner, "demo", first), ["second"]);
    assert!(texts(&*owner, "demo", second).is_empty());
    assert_eq!(texts(&*owner, "other", CommandId(0)), ["elsewhere"]);
}

#[test]
fn a_command_of_another_version_keeps_none_from_being_read() {
    let vault = vault();
    let store = open(&vault.dir).unwrap();
    append(&*store, "demo", 0).unwrap();
    let unknown = store.send(note("demo", "to be changed")).unwrap();
    store.send(note("demo", "known")).unwrap();
    let newer = rusqlite::Connection::open(db(&vault.dir)).unwrap();
    let body = r#"{"ask":"teleport","where":"home"}"#;
    newer.execute("UPDATE commands SET body = ?1 WHERE id = ?2", (body, unknown.0.cast_signed())).unwrap();
    let sent = store.sent(&name("demo"), CommandId(0)).unwrap();
    let why = sent[0].command.as_ref().unwrap_err().to_string();
    assert!(why.contains("another version sent it") && why.contains("teleport"), "{why}");
    assert_eq!(sent[1].command, Ok(Command::Note { text: "known".to_owned() }));
}

#[test]
fn an_id_is_not_given_out_again_after_a_crash() {
    let vault = vault();
    let store = open(&vault.dir).unwrap();
    append(&*store, "demo", 0).unwrap();
    let before = store.send(note("demo", "before")).unwrap();
    let temp = tempfile::tempdir().unwrap();
    let after = open(&crash_image(&vault.dir, temp.path())).unwrap();
    assert_eq!(texts(&*after, "demo", CommandId(0)), ["before"]);
    assert!(after.send(note("demo", "after")).unwrap() > before);
}

#[test]
fn of_all_owners_racing_to_take_a_command_one_does() {
    let vault = vault();
    let store = open(&vault.dir).unwrap();
    append(&*store, "demo", 0).unwrap();
    store.send(note("demo", "once")).unwrap();
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let racer = |_| {
            let store = open(&vault.dir).unwrap();
            scope.spawn(move || match store.append(record("demo", 1, "took it")) {
                Ok(_) => true,
                Err(AppendError::Conflict { .. }) => false,
                Err(AppendError::Store(error)) => panic!("{error}"),
            })
        };
        let racers: Vec<_> = (0..4).map(racer).collect();
        racers.into_iter().map(|racer| racer.join().unwrap()).collect()
    });
    assert_eq!(outcomes.iter().filter(|won| **won).count(), 1, "{outcomes:?}");
    assert_eq!(texts(&*store, "demo", CommandId(0)), ["once"], "taking changes nothing in the inbox");
}

#[test]
fn commands_of_many_senders_are_all_kept() {
    let vault = vault();
    let store = open(&vault.dir).unwrap();
    append(&*store, "demo", 0).unwrap();
    std::thread::scope(|scope| {
        for n in 0..8 {
            let store = Arc::clone(&store);
            scope.spawn(move || {
                for m in 0..5 {
                    store.send(note("demo", &format!("{n} {m}"))).unwrap();
                }
            });
        }
    });
    let sent = store.sent(&name("demo"), CommandId(0)).unwrap();
    assert_eq!(sent.len(), 40);
    assert!(sent.is_sorted_by(|one, next| one.id < next.id));
    for n in 0..8 {
        let own: Vec<_> = texts(&*store, "demo", CommandId(0));
        let own: Vec<_> = own.iter().filter(|text| text.starts_with(&format!("{n} "))).collect();
        assert!(own.is_sorted() && own.len() == 5, "{own:?}");
    }
}
