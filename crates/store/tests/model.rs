//! Random sequences of appends, commands and crashes against a model in memory.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::collections::BTreeMap;

use proptest::prelude::*;
use support::{ask, crash_image, name, read_all, record, vault_in};
use windlass_core::id::{CommandId, Seq};
use windlass_store::{Append, AppendError, AskError, Log, Reader, Store, Take};

mod support;

#[derive(Clone, Copy, Debug)]
enum Op {
    Append {
        of: u8,
        takes: Option<u8>,
        stale: bool,
    },
    Ask {
        of: u8,
    },
    /// All that survives is what lies on the disk.
    Crash,
    /// Every handle closes in order.
    Close,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (0..3u8, proptest::option::weighted(0.4, 0..6u8), proptest::bool::weighted(0.15))
            .prop_map(|(of, takes, stale)| Op::Append { of, takes, stale }),
        3 => (0..3u8).prop_map(|of| Op::Ask { of }),
        1 => Just(Op::Crash),
        1 => Just(Op::Close),
    ]
}

#[derive(Default)]
struct Model {
    bodies: BTreeMap<String, Vec<String>>,
    /// In the order of their ids: the loop, and the record that took it.
    commands: Vec<(CommandId, String, Option<Seq>)>,
    written: u64,
}

impl Model {
    fn append(&mut self, store: &mut Store, op: (u8, Option<u8>, bool)) {
        let (of, takes, stale) = op;
        let loop_name = format!("loop{of}");
        let found = self.bodies.get(&loop_name).map_or(0, Vec::len) as u64;
        let expected = if stale { found + 1 } else { found };
        self.written += 1;
        let body = format!("body {}", self.written);
        let command = takes.map(|n| self.commands.get(usize::from(n)).map_or(CommandId(999), |row| row.0));
        let takes = command.map(|command| Take { command, answer: None });
        let outcome = store.append(Append { takes, ..record(&loop_name, expected, &body) });

        if stale {
            let conflict =
                AppendError::Conflict { name: name(&loop_name), expected: Seq(expected), found: Seq(found) };
            assert_eq!(outcome, Err(conflict));
            return;
        }
        let row = command.map(|command| {
            (command, self.commands.iter_mut().find(|row| row.0 == command && row.1 == loop_name))
        });
        match row {
            Some((command, None)) => {
                let refused = AppendError::NoSuchCommand { name: name(&loop_name), command };
                assert_eq!(outcome, Err(refused));
            }
            Some((command, Some((_, _, Some(by))))) => {
                assert_eq!(outcome, Err(AppendError::AlreadyTaken { command, by: *by }));
            }
            Some((_, Some((_, _, taken @ None)))) => {
                assert_eq!(outcome.unwrap().seq, Seq(found + 1));
                *taken = Some(Seq(found + 1));
                self.bodies.entry(loop_name).or_default().push(body);
            }
            None => {
                assert_eq!(outcome.unwrap().seq, Seq(found + 1));
                self.bodies.entry(loop_name).or_default().push(body);
            }
        }
    }

    fn ask(&mut self, store: &Store, of: u8) {
        let loop_name = format!("loop{of}");
        match store.ask(ask(&loop_name, "pause")) {
            Ok(id) => {
                assert!(self.bodies.contains_key(&loop_name));
                assert!(
                    self.commands.last().is_none_or(|last| last.0 < id),
                    "an id is never given out twice"
                );
                self.commands.push((id, loop_name, None));
            }
            Err(error) => {
                assert!(!self.bodies.contains_key(&loop_name));
                assert_eq!(error, AskError::NoSuchLoop { name: name(&loop_name) });
            }
        }
    }

    fn assert_stored(&self, store: &Store) {
        let loops = store.loops().unwrap();
        assert_eq!(loops.len(), self.bodies.len());
        for (row, (loop_name, bodies)) in loops.iter().zip(&self.bodies) {
            assert_eq!(row.name.as_str(), loop_name);
            let stored = read_all(store, loop_name).unwrap();
            assert!(stored.iter().map(|record| &record.body).eq(bodies), "{loop_name}");
            assert_eq!(row.head.view, record(loop_name, 0, bodies.last().unwrap()).view);
            assert_eq!(row.head.events, 2 * bodies.len() as u64);
        }
        for (id, loop_name, taken) in &self.commands {
            let found = store.command(*id).unwrap().unwrap();
            assert_eq!(found.taken.map(|taken| taken.by), *taken);
            let waiting = store.untaken(&name(loop_name), CommandId(0)).unwrap();
            assert_eq!(waiting.iter().any(|command| command.id == *id), taken.is_none());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_store_behaves_like_its_model(ops in proptest::collection::vec(op(), 1..40)) {
        let temp = tempfile::tempdir().unwrap();
        let mut dir = vault_in(&temp.path().join("0"));
        let mut store = Store::open(&dir).unwrap();
        let mut model = Model::default();
        for (n, op) in ops.into_iter().enumerate() {
            match op {
                Op::Append { of, takes, stale } => model.append(&mut store, (of, takes, stale)),
                Op::Ask { of } => model.ask(&store, of),
                Op::Crash => {
                    dir = crash_image(&dir, &temp.path().join((n + 1).to_string()));
                    store = Store::open(&dir).unwrap();
                    model.assert_stored(&store);
                }
                Op::Close => {
                    drop(store);
                    store = Store::open(&dir).unwrap();
                }
            }
        }
        model.assert_stored(&store);
        Reader::open(&dir).unwrap().unwrap().check().unwrap();
    }
}
