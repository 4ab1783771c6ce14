//! A command to a loop that another process owns.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::sync_channel;

use windlass_core::id::{BlobId, CommitId, Nonce, TreeId};
use windlass_core::input::Creation;
use windlass_core::policy::Policy;
use windlass_core::state::State;
use windlass_core::step::create;
use windlass_core::task::Plan;
use windlass_core::time::{Millis, Timestamp};
use windlass_store::{
    Append, AppendError, Appended, BlobError, Blobs, Follow, Holder, Inbox, Lease, Leases, Log, LogHead,
    LoopRow, MemoryStore, ReadBlobs, ReadLeases, ReadLog, Record, SentCommand, Subscription, Wake,
};

use super::*;
use crate::world::{Stamp, World};

#[test]
fn a_cancel_that_could_not_wind_down_says_how_to_go_on() {
    let full = OperateError::WindDown(Box::new(DriveLoopError::DiskFull("no room".to_owned())));
    assert_eq!(
        full.hints(),
        [
            "free some space, then `windlass resume` and `windlass run`",
            "`windlass cancel` tries again once that is mended"
        ]
    );
    assert_eq!(OperateError::Store(StoreError::Stopped { path: "/v".into() }).hints(), [""; 0]);
}

#[test]
fn who_asks_an_owned_loop_waits_for_its_answer_and_not_for_its_lease() {
    let inner = MemoryStore::new();
    let name = LoopName::new("demo").unwrap();
    Journal::create(Arc::new(inner.clone()), &create(Timestamp(0), creation(&name))).unwrap();
    let _owner = inner.lease(&name, Timestamp(0)).unwrap();
    let (wake, woken) = sync_channel(1);
    let wake = Arc::new(move || wake.try_send(()).unwrap());
    let _commands = inner.follow(&name, Followed::Commands, wake).unwrap();
    let store = Arc::new(CountedLeases { inner: inner.clone(), asked: AtomicU32::new(0) });
    let shared: Arc<dyn Store> = store.clone();
    let answer = std::thread::scope(|scope| {
        let answer = scope.spawn(|| operate(&shared, &name, Command::Pause, &mut NoWorlds));
        woken.recv().unwrap();
        let mut journal = Journal::open(Arc::new(inner.clone()), &name).unwrap();
        for command in journal.waiting_commands().unwrap() {
            journal.take(NoWorlds.stamp(), None, command).unwrap();
        }
        answer.join().unwrap().unwrap()
    });
    assert_eq!(answer, Answer::Done);
    assert_eq!(store.asked.load(Ordering::Relaxed), 0, "a lease that is held was asked for");
}

fn creation(name: &LoopName) -> Creation {
    Creation {
        name: name.clone(),
        goal: String::new(),
        plan: Plan::default(),
        policy: Policy::default(),
        base: CommitId::new("base"),
        base_tree: TreeId::new("tree"),
        trusted: None,
        branch: "windlass/demo".to_owned(),
        workspace: "/space".to_owned(),
    }
}

struct NoWorlds;

impl Worlds for NoWorlds {
    fn stamp(&mut self) -> Stamp {
        Stamp { at: Timestamp(1), elapsed: Millis(0), fresh: Nonce::new("fresh") }
    }

    fn open(&mut self, _: &Arc<dyn Store>, _: &State) -> Result<Box<dyn World + '_>, DriveLoopError> {
        unreachable!("whoever asks an owned loop drives nothing")
    }
}

struct CountedLeases {
    inner: MemoryStore,
    asked: AtomicU32,
}

impl Leases for CountedLeases {
    fn lease(&self, name: &LoopName, now: Timestamp) -> Result<Box<dyn Lease>, LeaseError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.inner.lease(name, now)
    }
}

impl ReadLeases for CountedLeases {
    fn holder(&self, name: &LoopName) -> Result<Holder, StoreError> {
        self.inner.holder(name)
    }
}

impl Log for CountedLeases {
    fn append(&self, append: Append) -> Result<Appended, AppendError> {
        self.inner.append(append)
    }
}

impl ReadLog for CountedLeases {
    fn head(&self, name: &LoopName) -> Result<Option<LogHead>, StoreError> {
        self.inner.head(name)
    }

    fn loops(&self) -> Result<Vec<LoopRow>, StoreError> {
        self.inner.loops()
    }

    fn read(&self, name: &LoopName, after: Seq, limit: usize) -> Result<Vec<Record>, StoreError> {
        self.inner.read(name, after, limit)
    }
}

impl Inbox for CountedLeases {
    fn send(&self, command: NewCommand) -> Result<CommandId, SendError> {
        self.inner.send(command)
    }

    fn sent(&self, name: &LoopName, after: CommandId) -> Result<Vec<SentCommand>, StoreError> {
        self.inner.sent(name, after)
    }
}

impl Blobs for CountedLeases {
    fn put(&self, bytes: Vec<u8>) -> Result<BlobId, BlobError> {
        self.inner.put(bytes)
    }
}

impl ReadBlobs for CountedLeases {
    fn blob(&self, id: &BlobId, limit: u64) -> Result<Vec<u8>, BlobError> {
        self.inner.blob(id, limit)
    }
}

impl Follow for CountedLeases {
    fn follow(&self, name: &LoopName, what: Followed, wake: Wake) -> Result<Subscription, StoreError> {
        self.inner.follow(name, what, wake)
    }
}
