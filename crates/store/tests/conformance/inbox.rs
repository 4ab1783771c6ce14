use windlass_core::command::Command;
use windlass_core::id::{CommandId, FindingId, TaskId};
use windlass_core::time::Timestamp;
use windlass_store::{NewCommand, SendError, SentCommand};

use crate::Engine;
use crate::support::{append, name, note};

pub fn commands_come_back_in_order_as_they_were_sent(engine: &dyn Engine) {
    let (owner, terminal) = (engine.open(), engine.open());
    append(&*owner, "demo", 0).unwrap();
    let (task, why, text) = (TaskId::new("a"), "why".to_owned(), "text \u{0} \"é\"\n".to_owned());
    let commands = [
        Command::Pause,
        Command::Resume,
        Command::Cancel,
        Command::Restart,
        Command::Unblock { task: task.clone() },
        Command::WaiveTask { task, why: why.clone() },
        Command::WaiveFinding { finding: FindingId::new("F1"), why },
        Command::Steer { text: text.clone() },
        Command::Note { text },
    ];
    let send = |(at, command): (i64, Command)| {
        let at = Timestamp(at);
        let new = NewCommand { loop_name: name("demo"), at, command: command.clone() };
        SentCommand { id: terminal.send(new).unwrap(), at, command: Ok(command) }
    };
    // The order is that of sending, whatever the senders' clocks say.
    let sent: Vec<_> = (0..9).rev().zip(commands).map(send).collect();
    assert!(sent.is_sorted_by(|one, next| one.id < next.id) && sent[0].id > CommandId(0));
    assert_eq!(owner.sent(&name("demo"), CommandId(0)).unwrap(), sent);
    for (n, command) in sent.iter().enumerate() {
        assert_eq!(owner.sent(&name("demo"), command.id).unwrap(), sent[n + 1..]);
    }
    assert_eq!(owner.sent(&name("demo"), CommandId(u64::MAX)).unwrap(), []);
}

pub fn a_command_of_an_unknown_loop_is_refused(engine: &dyn Engine) {
    let store = engine.open();
    append(&*store, "other", 0).unwrap();
    let refused = store.send(note("demo", "lost")).unwrap_err();
    assert_eq!(refused, SendError::NoSuchLoop { name: name("demo") });
    assert_eq!(store.sent(&name("demo"), CommandId(0)).unwrap(), []);
    append(&*store, "demo", 0).unwrap();
    assert_eq!(store.sent(&name("demo"), CommandId(0)).unwrap(), [], "it was not kept for later");
}

pub fn each_loop_has_its_own_inbox_and_ids_grow_over_all(engine: &dyn Engine) {
    let store = engine.open();
    append(&*store, "one", 0).unwrap();
    append(&*store, "two", 0).unwrap();
    let ids: Vec<_> =
        (0..6).map(|n| engine.open().send(note(["one", "two"][n % 2], &n.to_string())).unwrap()).collect();
    assert!(ids.is_sorted_by(|one, next| one < next), "{ids:?}");
    let of = |loop_name| -> Vec<CommandId> {
        store.sent(&name(loop_name), CommandId(0)).unwrap().into_iter().map(|sent| sent.id).collect()
    };
    assert_eq!(of("one"), [ids[0], ids[2], ids[4]]);
    assert_eq!(of("two"), [ids[1], ids[3], ids[5]]);
    assert_eq!(store.sent(&name("two"), ids[2]).unwrap().len(), 2, "an id of any loop may be given");
}

pub fn a_record_changes_nothing_in_the_inbox(engine: &dyn Engine) {
    let store = engine.open();
    append(&*store, "demo", 0).unwrap();
    store.send(note("demo", "look")).unwrap();
    let before = store.sent(&name("demo"), CommandId(0)).unwrap();
    append(&*store, "demo", 1).unwrap();
    assert_eq!(store.sent(&name("demo"), CommandId(0)).unwrap(), before);
}
