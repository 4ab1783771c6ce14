//! The store of a simulated loop: the one in memory, around which the driver
//! dies and the disk fills up. Every record is read back as it was stored, and
//! the books are kept on that.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use windlass_core::command::Command;
use windlass_core::event::Decision;
use windlass_core::id::{BlobId, CommandId, LoopName, Seq};
use windlass_core::time::{Millis, Timestamp};
use windlass_driver::{Journal, Stamp};
use windlass_store::{
    Append, AppendError, Appended, BlobError, Blobs, Follow, Followed, Holder, Inbox, Lease, LeaseError,
    Leases, Log, LogHead, LoopRow, MemoryStore, NewCommand, ReadBlobs, ReadLeases, ReadLog, Record,
    SendError, SentCommand, StoreError, Subscription, Wake,
};

use crate::simulation::{Books, StoreTrouble, loop_name};

pub(crate) struct CrashingStore {
    pub(crate) inner: MemoryStore,
    pub(crate) books: Arc<Mutex<Books>>,
}

pub(crate) fn locked(books: &Mutex<Books>) -> MutexGuard<'_, Books> {
    books.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The driver is dead: nothing it asks for is done.
fn dead() -> StoreError {
    StoreError::Stopped { path: PathBuf::from("memory") }
}

impl CrashingStore {
    /// What `operate` does in another process, without the lease.
    fn take_as_second_owner(&self, books: &mut Books) {
        let name = loop_name();
        let command = Command::Note { text: "from another process".to_owned() };
        let new = NewCommand { loop_name: name.clone(), at: books.facts.now, command };
        self.inner.send(new).expect("the loop is there");
        let mut journal = Journal::open(Arc::new(self.inner.clone()), &name).expect("the loop is there");
        for command in journal.waiting_commands().expect("the inbox can be read") {
            let stamp = Stamp { elapsed: Millis(0), ..books.stamp() };
            let decision = journal.take(stamp, None, command).expect("the store in memory takes it");
            books.appended(decision);
        }
    }
}

impl Log for CrashingStore {
    fn append(&self, append: Append) -> Result<Appended, AppendError> {
        let mut books = locked(&self.books);
        if books.dies() {
            return Err(dead().into());
        }
        let path = PathBuf::from("memory");
        match books.store_trouble() {
            Some(StoreTrouble::Full) => return Err(StoreError::Full { path }.into()),
            Some(StoreTrouble::Fails) => {
                return Err(StoreError::Failed { path, reason: "no such luck".to_owned() }.into());
            }
            Some(StoreTrouble::SecondOwner) => self.take_as_second_owner(&mut books),
            None => {}
        }
        let body = append.body.clone();
        let before = books.state.seq;
        let appended = self.inner.append(append)?;
        if appended.seq != before.next() {
            books.break_with("a record is stored after another than its writer knew");
        }
        let decision: Decision = serde_json::from_str(&body).expect("a record is a decision");
        books.appended(decision);
        if books.is_broken() || books.dies() { Err(dead().into()) } else { Ok(appended) }
    }
}

impl ReadLog for CrashingStore {
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

impl Inbox for CrashingStore {
    fn send(&self, command: NewCommand) -> Result<CommandId, SendError> {
        self.inner.send(command)
    }

    fn sent(&self, name: &LoopName, after: CommandId) -> Result<Vec<SentCommand>, StoreError> {
        self.inner.sent(name, after)
    }
}

impl ReadBlobs for CrashingStore {
    fn blob(&self, id: &BlobId, limit: u64) -> Result<Vec<u8>, BlobError> {
        self.inner.blob(id, limit)
    }
}

impl Blobs for CrashingStore {
    fn put(&self, bytes: Vec<u8>) -> Result<BlobId, BlobError> {
        self.inner.put(bytes)
    }
}

impl ReadLeases for CrashingStore {
    fn holder(&self, name: &LoopName) -> Result<Holder, StoreError> {
        self.inner.holder(name)
    }
}

impl Leases for CrashingStore {
    fn lease(&self, name: &LoopName, now: Timestamp) -> Result<Box<dyn Lease>, LeaseError> {
        self.inner.lease(name, now)
    }
}

impl Follow for CrashingStore {
    fn follow(&self, name: &LoopName, what: Followed, wake: Wake) -> Result<Subscription, StoreError> {
        self.inner.follow(name, what, wake)
    }
}
