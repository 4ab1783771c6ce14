//! A store that lives as long as its process: for the simulator, which crashes
//! thousands of drivers a second around it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use windlass_core::id::{BlobId, CommandId, LoopName, Seq};
use windlass_core::time::Timestamp;

use crate::blobs::{BlobError, Blobs, ReadBlobs, check_id, id_of};
use crate::chain::{ChainHash, Link};
use crate::follow::{Follow, Followed, Subscribers, Subscription, Wake};
use crate::inbox::{Inbox, NewCommand, SendError, SentCommand};
use crate::lease::{Holder, Lease, LeaseError, LeaseOwner, Leases, ReadLeases};
use crate::log::{Append, AppendError, Appended, Log, LogHead, LoopRow, ReadLog, Record, StoreError};
use crate::upcast::FORMAT;

#[derive(Clone, Default)]
pub struct MemoryStore {
    kept: Arc<Mutex<Kept>>,
    subscribers: Subscribers,
}

#[derive(Default)]
struct Kept {
    loops: BTreeMap<LoopName, KeptLoop>,
    commands: Vec<(LoopName, SentCommand)>,
    blobs: BTreeMap<BlobId, Vec<u8>>,
    leases: BTreeMap<LoopName, KeptLease>,
    leases_given: u64,
}

struct KeptLease {
    /// Tells it from an earlier one of the same loop.
    number: u64,
    owner: LeaseOwner,
}

struct KeptLoop {
    created_at: Timestamp,
    records: Vec<Record>,
    head: LogHead,
}

impl MemoryStore {
    pub fn new() -> Self {
        Self::default()
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ReadLog for MemoryStore {
    fn head(&self, name: &LoopName) -> Result<Option<LogHead>, StoreError> {
        Ok(self.kept().loops.get(name).map(|kept| kept.head.clone()))
    }

    fn loops(&self) -> Result<Vec<LoopRow>, StoreError> {
        let row = |(name, kept): (&LoopName, &KeptLoop)| LoopRow {
            name: name.clone(),
            created_at: kept.created_at,
            head: kept.head.clone(),
        };
        Ok(self.kept().loops.iter().map(row).collect())
    }

    fn read(&self, name: &LoopName, after: Seq, limit: usize) -> Result<Vec<Record>, StoreError> {
        let kept = self.kept();
        let records = kept.loops.get(name).map_or(&[][..], |kept| &kept.records);
        let after = usize::try_from(after.0).unwrap_or(usize::MAX).min(records.len());
        Ok(records[after..].iter().take(limit).cloned().collect())
    }
}

impl Log for MemoryStore {
    fn append(&self, append: Append) -> Result<Appended, AppendError> {
        let appended = self.kept().append(&append)?;
        self.subscribers.wake(&append.loop_name, Followed::Records);
        Ok(appended)
    }
}

impl Kept {
    fn append(&mut self, append: &Append) -> Result<Appended, AppendError> {
        let before = self.loops.get(&append.loop_name).map(|kept| &kept.head);
        let found = before.map_or(Seq(0), |head| head.seq);
        if found != append.expected {
            let (name, expected) = (append.loop_name.clone(), append.expected);
            return Err(AppendError::Conflict { name, expected, found });
        }
        let events_before = before.map_or(0, |head| head.events);
        let link = Link {
            previous: before.map_or(ChainHash::GENESIS, |head| head.hash),
            name: &append.loop_name,
            seq: found.next(),
            at: append.at,
            format: FORMAT,
            events: append.events,
            body: &append.body,
        };
        let appended = Appended { seq: link.seq, hash: link.hash() };
        let record = Record {
            seq: appended.seq,
            at: append.at,
            first_event: events_before + 1,
            events: append.events,
            body: append.body.clone(),
            hash: appended.hash,
        };
        let head = LogHead {
            seq: appended.seq,
            hash: appended.hash,
            events: events_before + append.events,
            view: append.view.clone(),
            fold_version: append.fold_version,
        };
        let fresh = || KeptLoop { created_at: append.at, records: Vec::new(), head: head.clone() };
        let kept = self.loops.entry(append.loop_name.clone()).or_insert_with(fresh);
        kept.records.push(record);
        kept.head = head;
        Ok(appended)
    }
}

impl Inbox for MemoryStore {
    fn send(&self, new: NewCommand) -> Result<CommandId, SendError> {
        let NewCommand { loop_name, at, command } = new;
        let id = {
            let mut kept = self.kept();
            if !kept.loops.contains_key(&loop_name) {
                return Err(SendError::NoSuchLoop { name: loop_name });
            }
            let id = CommandId(kept.commands.len() as u64 + 1);
            kept.commands.push((loop_name.clone(), SentCommand { id, at, command: Ok(command) }));
            id
        };
        self.subscribers.wake(&loop_name, Followed::Commands);
        Ok(id)
    }

    fn sent(&self, name: &LoopName, after: CommandId) -> Result<Vec<SentCommand>, StoreError> {
        let kept = self.kept();
        let of = kept.commands.iter().filter(|(of, sent)| of == name && sent.id > after);
        Ok(of.map(|(_, sent)| sent.clone()).collect())
    }
}

impl ReadBlobs for MemoryStore {
    fn blob(&self, id: &BlobId, limit: u64) -> Result<Vec<u8>, BlobError> {
        check_id(id)?;
        let bytes = self.kept().blobs.get(id).cloned().ok_or_else(|| BlobError::Missing(id.clone()))?;
        let size = bytes.len() as u64;
        if size > limit { Err(BlobError::TooLarge { id: id.clone(), size, limit }) } else { Ok(bytes) }
    }
}

impl Blobs for MemoryStore {
    fn put(&self, bytes: Vec<u8>) -> Result<BlobId, BlobError> {
        let id = id_of(&bytes);
        self.kept().blobs.insert(id.clone(), bytes);
        Ok(id)
    }
}

impl ReadLeases for MemoryStore {
    fn holder(&self, name: &LoopName) -> Result<Holder, StoreError> {
        let kept = self.kept();
        let owner = kept.leases.get(name).map(|lease| lease.owner.clone());
        Ok(owner.map_or(Holder::Nobody, |owner| Holder::Somebody(Some(owner))))
    }
}

impl Leases for MemoryStore {
    fn lease(&self, name: &LoopName, now: Timestamp) -> Result<Box<dyn Lease>, LeaseError> {
        let mut kept = self.kept();
        if let Some(lease) = kept.leases.get(name) {
            return Err(LeaseError::Held { name: name.clone(), owner: Some(lease.owner.clone()), now });
        }
        kept.leases_given += 1;
        let number = kept.leases_given;
        let owner = LeaseOwner { pid: std::process::id(), since: now };
        kept.leases.insert(name.clone(), KeptLease { number, owner });
        Ok(Box::new(MemoryLease { number, name: name.clone(), of: Arc::clone(&self.kept) }))
    }
}

struct MemoryLease {
    number: u64,
    name: LoopName,
    of: Arc<Mutex<Kept>>,
}

impl Lease for MemoryLease {}

impl Drop for MemoryLease {
    fn drop(&mut self) {
        let mut kept = self.of.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.leases.get(&self.name).is_some_and(|lease| lease.number == self.number) {
            kept.leases.remove(&self.name);
        }
    }
}

impl Follow for MemoryStore {
    fn follow(&self, name: &LoopName, what: Followed, wake: Wake) -> Result<Subscription, StoreError> {
        Ok(self.subscribers.add(name, what, wake))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_that_was_lost_frees_nothing_of_its_successor() {
        let store = MemoryStore::new();
        let demo = LoopName::new("demo").unwrap();
        let dead = store.lease(&demo, Timestamp(1)).unwrap();
        // As after the death of its holder's machine.
        store.kept().leases.clear();
        let alive = store.lease(&demo, Timestamp(2)).unwrap();
        drop(dead);
        assert!(store.holder(&demo).unwrap().is_held());
        drop(alive);
        assert!(!store.holder(&demo).unwrap().is_held());
    }
}
