use std::sync::Arc;

use windlass_core::command::Command;
use windlass_core::event::Decision;
use windlass_core::id::{BlobId, CommandId, CommitId, Nonce, Seq, TaskId, TreeId};
use windlass_core::input::{Creation, Input, Stamped};
use windlass_core::policy::Policy;
use windlass_core::state::State;
use windlass_core::step::{create, step};
use windlass_core::task::{Plan, Task};
use windlass_core::time::{Millis, Timestamp};
use windlass_core::view::{FOLD_VERSION, View};
use windlass_store::{Append, HistoryError, Store, decisions, fold, fold_with, view};

use crate::Engine;
use crate::support::{name, record};

/// A loop, and what its owner knows of it without reading.
struct Owner {
    store: Arc<dyn Store>,
    states: Vec<State>,
    decisions: Vec<Decision>,
}

impl Owner {
    /// A loop of five records.
    fn of(engine: &dyn Engine) -> Self {
        let created = create(Timestamp(1_000), creation());
        let state = State::created_by(&created).unwrap();
        let mut owner = Self { store: engine.open(), states: vec![state], decisions: vec![created] };
        owner.store.append(owner.last_record()).unwrap();
        for command in [Command::Pause, note("one"), Command::Resume, note("two")] {
            let record = owner.take(command);
            owner.store.append(record).unwrap();
        }
        owner
    }

    /// The record that takes a command, to be stored.
    fn take(&mut self, command: Command) -> Append {
        let id = CommandId(self.state().last_command.0 + 1);
        let input = Stamped {
            at: Timestamp(1_000 + id.0.cast_signed()),
            elapsed: Millis(5),
            fresh: Nonce::new("nonce"),
            closes: None,
            what: Input::Commanded { id, command },
        };
        let decision = step(self.state(), &input);
        let mut state = self.state().clone();
        state.apply(state.seq.next(), &decision);
        self.states.push(state);
        self.decisions.push(decision);
        self.last_record()
    }

    fn last_record(&self) -> Append {
        let decision = self.decisions.last().unwrap();
        let body = serde_json::to_string(decision).unwrap();
        Append {
            at: decision.at,
            events: decision.events.len() as u64,
            view: serde_json::to_string(&View::of(self.state())).unwrap(),
            fold_version: FOLD_VERSION,
            ..record("demo", self.decisions.len() as u64 - 1, &body)
        }
    }

    fn state(&self) -> &State {
        self.states.last().unwrap()
    }

    fn view(&self) -> View {
        let head = self.store.head(&name("demo")).unwrap().unwrap();
        view(&*self.store, &name("demo"), &head).unwrap()
    }

    /// Stores one more record, with a View that shows where it came from.
    fn append_with_odd_view(&mut self, fold_version: u32) -> View {
        let record = self.take(note("more"));
        let odd = View { goal: "as it was kept".to_owned(), ..View::of(self.state()) };
        let view = serde_json::to_string(&odd).unwrap();
        self.store.append(Append { view, fold_version, ..record }).unwrap();
        odd
    }
}

fn creation() -> Creation {
    let task = Task::plain(TaskId::new("a"), "Do a".to_owned(), BlobId::new("text"));
    Creation {
        name: name("demo"),
        goal: "the goal".to_owned(),
        plan: Plan { tasks: vec![task], ..Plan::default() },
        policy: Policy::default(),
        base: CommitId::new("base"),
        base_tree: TreeId::new("tree"),
        trusted: None,
        branch: "windlass/demo".to_owned(),
        workspace: "/space".to_owned(),
    }
}

fn note(text: &str) -> Command {
    Command::Note { text: text.to_owned() }
}

pub fn the_fold_is_the_state_of_whoever_wrote_the_log(engine: &dyn Engine) {
    let owner = Owner::of(engine);
    let folded = fold(&*engine.open(), &name("demo")).unwrap();
    assert_eq!(&folded, owner.state());
    assert_eq!((folded.seq, folded.last_command), (Seq(5), CommandId(4)));
}

pub fn each_record_is_shown_with_the_state_after_it(engine: &dyn Engine) {
    let owner = Owner::of(engine);
    let mut seen = Vec::new();
    let look = |state: &State, record: &windlass_store::Record, decision: &Decision| {
        assert_eq!(record.seq, state.seq);
        seen.push((state.clone(), decision.clone()));
    };
    fold_with(&*owner.store, &name("demo"), look).unwrap();
    assert!(seen.into_iter().eq(owner.states.into_iter().zip(owner.decisions)));
}

pub fn decisions_may_be_read_from_any_record_on(engine: &dyn Engine) {
    let owner = Owner::of(engine);
    for after in 0..7 {
        let found: Result<Vec<_>, _> = decisions(&*owner.store, &name("demo"), Seq(after)).collect();
        let found = found.unwrap();
        let wanted = owner.decisions.iter().skip(usize::try_from(after).unwrap());
        assert!(found.iter().map(|(_, decision)| decision).eq(wanted));
        assert!(found.iter().zip(after + 1..).all(|((record, _), seq)| record.seq == Seq(seq)));
    }
}

pub fn a_loop_that_is_not_there_has_no_history(engine: &dyn Engine) {
    let owner = Owner::of(engine);
    let missing = fold(&*owner.store, &name("other")).unwrap_err();
    assert!(matches!(&missing, HistoryError::NoSuchLoop(of) if *of == name("other")), "{missing}");
    assert_eq!(decisions(&*owner.store, &name("other"), Seq(0)).count(), 0);
}

pub fn a_record_that_holds_no_decision_is_named(engine: &dyn Engine) {
    let owner = Owner::of(engine);
    owner.store.append(record("demo", 5, "not a decision")).unwrap();
    let broken = fold(&*owner.store, &name("demo")).unwrap_err();
    assert!(broken.to_string().starts_with("loop demo, record 6: "), "{broken}");
    let before: Vec<_> = decisions(&*owner.store, &name("demo"), Seq(0)).take(5).collect();
    assert!(before.iter().all(Result::is_ok), "those before it are read");
}

pub fn a_log_that_does_not_begin_with_a_creation_is_refused(engine: &dyn Engine) {
    let owner = Owner::of(engine);
    let later = serde_json::to_string(&owner.decisions[1]).unwrap();
    owner.store.append(record("other", 0, &later)).unwrap();
    let broken = fold(&*owner.store, &name("other")).unwrap_err();
    assert!(broken.to_string().contains("record 1: the first record"), "{broken}");
}

pub fn the_kept_view_of_this_fold_is_used_as_it_is(engine: &dyn Engine) {
    let mut owner = Owner::of(engine);
    assert_eq!(owner.view(), View::of(owner.state()));
    let odd = owner.append_with_odd_view(FOLD_VERSION);
    assert_eq!(owner.view(), odd);
}

pub fn a_view_of_another_fold_is_made_anew(engine: &dyn Engine) {
    let mut owner = Owner::of(engine);
    for other in [FOLD_VERSION - 1, FOLD_VERSION + 1] {
        owner.append_with_odd_view(other);
        assert_eq!(owner.view(), View::of(owner.state()));
        let head = owner.store.head(&name("demo")).unwrap().unwrap();
        assert_eq!(head.fold_version, other, "reading stores nothing");
    }
}

pub fn a_kept_view_that_cannot_be_read_is_made_anew(engine: &dyn Engine) {
    let mut owner = Owner::of(engine);
    let record = owner.take(note("more"));
    owner.store.append(Append { view: "no view".to_owned(), ..record }).unwrap();
    assert_eq!(owner.view(), View::of(owner.state()));
}
