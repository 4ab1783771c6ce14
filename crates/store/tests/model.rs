//! Random operations on both engines at once: whatever is asked of them, they
//! answer the same, also after the one on disk has crashed.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;
use support::{crash_image, name, note, record, vault_in};
use windlass_core::id::{BlobId, CommandId, LoopName, Seq};
use windlass_store::{BlobError, MemoryStore, Store, VaultDir, check, open};

mod support;

const LOOPS: u8 = 3;
/// One more byte makes a blob a file.
const INLINE_MAX: usize = 64 * 1024;

#[derive(Clone, Debug)]
enum Op {
    /// After the record that is this far behind the last.
    Append {
        of: u8,
        behind: u64,
    },
    Send {
        of: u8,
    },
    Put {
        size: usize,
        byte: u8,
    },
    Read {
        of: u8,
        after: u64,
        limit: usize,
    },
    Sent {
        of: u8,
        after: u64,
    },
    /// All that survives is what lies on the disk.
    Crash,
    /// Every handle closes in order.
    Close,
}

fn op() -> impl Strategy<Value = Op> {
    let loops = 0..LOOPS;
    let behind = prop_oneof![6 => Just(0u64), 1 => Just(1), 1 => Just(u64::MAX)];
    let size = prop_oneof![4 => 0..40usize, 1 => Just(INLINE_MAX), 1 => Just(INLINE_MAX + 1)];
    let after = prop_oneof![6 => 0..12u64, 1 => Just(u64::MAX)];
    let limit = prop_oneof![6 => 0..12usize, 1 => Just(usize::MAX)];
    prop_oneof![
        6 => (loops.clone(), behind).prop_map(|(of, behind)| Op::Append { of, behind }),
        3 => loops.clone().prop_map(|of| Op::Send { of }),
        2 => (size, 0..3u8).prop_map(|(size, byte)| Op::Put { size, byte }),
        2 => (loops.clone(), after.clone(), limit).prop_map(|(of, after, limit)| Op::Read { of, after, limit }),
        1 => (loops, after).prop_map(|(of, after)| Op::Sent { of, after }),
        1 => Just(Op::Crash),
        1 => Just(Op::Close),
    ]
}

struct Pair {
    disk: Arc<dyn Store>,
    memory: Arc<dyn Store>,
    written: u64,
    /// What no record has made durable yet, and what one has.
    put: BTreeSet<BlobId>,
    durable: BTreeSet<BlobId>,
}

impl Pair {
    fn append(&mut self, of: u8, behind: u64) {
        let loop_name = loop_name(of);
        let end = self.memory_end(&loop_name);
        self.written += 1;
        let append = record(loop_name.as_str(), end.wrapping_sub(behind), &format!("body {}", self.written));
        let stored = self.disk.append(append.clone());
        if stored.is_ok() {
            self.durable.append(&mut self.put);
        }
        assert_eq!(stored, self.memory.append(append));
    }

    fn memory_end(&self, name: &LoopName) -> u64 {
        let head = self.memory.head(name).unwrap();
        head.map_or(0, |head| head.seq.0)
    }

    fn send(&mut self, of: u8) {
        self.written += 1;
        let command = note(loop_name(of).as_str(), &format!("note {}", self.written));
        let sent = self.disk.send(command.clone());
        if sent.is_ok() {
            self.durable.append(&mut self.put);
        }
        assert_eq!(sent, self.memory.send(command));
    }

    fn put(&mut self, bytes: Vec<u8>) {
        let kept = self.disk.put(bytes.clone()).unwrap();
        assert_eq!(kept, self.memory.put(bytes.clone()).unwrap());
        if bytes.len() > INLINE_MAX {
            self.durable.insert(kept);
        } else if !self.durable.contains(&kept) {
            self.put.insert(kept);
        }
    }

    fn read(&self, of: u8, after: Seq, limit: usize) {
        let name = loop_name(of);
        let found = self.disk.read(&name, after, limit);
        assert_eq!(found, self.memory.read(&name, after, limit));
    }

    fn sent(&self, of: u8, after: CommandId) {
        let name = loop_name(of);
        assert_eq!(self.disk.sent(&name, after), self.memory.sent(&name, after));
    }

    /// What neither a record nor a command had made durable is gone.
    fn reopen(&mut self, dir: &VaultDir) {
        self.disk = Arc::new(MemoryStore::new());
        self.disk = open(dir).unwrap();
        for lost in std::mem::take(&mut self.put) {
            assert!(matches!(self.disk.blob(&lost, u64::MAX), Err(BlobError::Missing(_))));
        }
    }

    fn assert_same(&self) {
        assert_eq!(self.disk.loops(), self.memory.loops());
        for of in 0..LOOPS {
            self.read(of, Seq(0), usize::MAX);
            self.sent(of, CommandId(0));
        }
        for id in self.put.iter().chain(&self.durable) {
            let kept = self.memory.blob(id, u64::MAX).unwrap();
            assert_eq!(self.disk.blob(id, u64::MAX).unwrap(), kept);
        }
    }
}

fn loop_name(of: u8) -> LoopName {
    name(&format!("loop{of}"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn both_engines_answer_the_same(ops in proptest::collection::vec(op(), 1..40)) {
        let temp = tempfile::tempdir().unwrap();
        let mut dir = vault_in(&temp.path().join("0"));
        let disk = open(&dir).unwrap();
        let (put, durable) = (BTreeSet::new(), BTreeSet::new());
        let mut pair = Pair { disk, memory: Arc::new(MemoryStore::new()), written: 0, put, durable };
        for (n, op) in ops.into_iter().enumerate() {
            match op {
                Op::Append { of, behind } => pair.append(of, behind),
                Op::Send { of } => pair.send(of),
                Op::Put { size, byte } => pair.put(vec![byte; size]),
                Op::Read { of, after, limit } => pair.read(of, Seq(after), limit),
                Op::Sent { of, after } => pair.sent(of, CommandId(after)),
                Op::Crash => {
                    dir = crash_image(&dir, &temp.path().join((n + 1).to_string()));
                    pair.reopen(&dir);
                    pair.assert_same();
                }
                Op::Close => pair.reopen(&dir),
            }
        }
        pair.assert_same();
        check(&dir).unwrap();
    }
}
