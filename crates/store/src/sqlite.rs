//! The store on SQLite: one database a vault, opened by as many processes as
//! like, written by one thread in each.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use windlass_core::id::{BlobId, CommandId, LoopName, Seq};
use windlass_core::time::Timestamp;

use crate::blobs::{BlobError, Blobs, ReadBlobs, check_id, id_of};
use crate::follow::{Follow, Followed, Subscription, Wake};
use crate::inbox::{Inbox, NewCommand, SendError, SentCommand};
use crate::layout::VaultDir;
use crate::lease::{Holder, Lease, LeaseError, Leases, ReadLeases};
use crate::log::{Append, AppendError, Appended, Log, LogHead, LoopRow, ReadLog, Record, StoreError, replay};
use crate::{ReadStore, Store};

mod append;
mod blob_dir;
mod commands;
mod fault;
mod lock;
mod number;
mod open;
mod read;
mod receipts;
mod removal;
mod reserve;
mod wake;
mod writer;

use blob_dir::{BlobDir, INLINE_MAX};
use lock::LoopLock;
pub use open::OpenError;
use read::SqliteReader;
use receipts::{Receipt, Receipts};
pub use removal::remove_records;
use wake::WakeFiles;
use writer::{Writer, WriterThread};

/// Opens a vault, creating it where there was none.
pub fn open(vault: &VaultDir) -> Result<Arc<dyn Store>, OpenError> {
    Ok(Arc::new(SqliteStore::open(vault)?))
}

/// Opens a vault to read in it; nothing if it has no records yet. Nothing is
/// created or changed.
pub fn open_read(vault: &VaultDir) -> Result<Option<Arc<dyn ReadStore>>, OpenError> {
    let reader = SqliteReader::open(vault)?;
    Ok(reader.map(|reader| Arc::new(ReadOnly::new(reader, vault)) as Arc<dyn ReadStore>))
}

/// Reads everything: the engine's own check and every loop's chain. Its cost
/// grows with the history; for `doctor`. Nothing to check is no fault.
pub fn check(vault: &VaultDir) -> Result<(), OpenError> {
    let Some(reader) = SqliteReader::open(vault)? else { return Ok(()) };
    reader.quick_check()?;
    let store = ReadOnly::new(reader, vault);
    for row in store.loops()? {
        replay(&store, &row.name, Seq(0)).try_for_each(|record| record.map(|_| ()))?;
    }
    Ok(())
}

/// Blobs that the next record or command takes along.
type PendingBlobs = BTreeMap<BlobId, Arc<[u8]>>;

pub(crate) struct SqliteStore {
    writer: Writer,
    receipts: Arc<Receipts>,
    vault: VaultDir,
    reader: OnceLock<SqliteReader>,
    pending: Mutex<PendingBlobs>,
    wakes: WakeFiles,
}

impl SqliteStore {
    fn open(vault: &VaultDir) -> Result<Self, OpenError> {
        let conn = open::writer(vault)?;
        let receipts = Arc::new(Receipts::open(&vault.receipts()));
        let desk = WriterThread::new(conn, vault, Arc::clone(&receipts));
        let writer = Writer::start(desk, vault.db()).map_err(|error| StoreError::Failed {
            path: vault.db(),
            reason: format!("no writer thread: {error}"),
        })?;
        let wakes = WakeFiles::new(vault);
        let (reader, pending) = (OnceLock::new(), Mutex::default());
        Ok(Self { writer, receipts, vault: vault.clone(), reader, pending, wakes })
    }

    fn reader(&self) -> Result<&SqliteReader, StoreError> {
        if let Some(reader) = self.reader.get() {
            return Ok(reader);
        }
        let gone = |reason: String| StoreError::Failed { path: self.vault.db(), reason };
        let reader = match SqliteReader::open(&self.vault) {
            Ok(Some(reader)) => reader,
            Ok(None) => return Err(gone("the database is gone".to_owned())),
            Err(OpenError::Store(error)) => return Err(error),
            Err(refused) => return Err(gone(refused.to_string())),
        };
        Ok(self.reader.get_or_init(|| reader))
    }

    fn pending(&self) -> MutexGuard<'_, PendingBlobs> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SqliteStore {
    fn are_stored(&self, blobs: &[BlobId]) {
        let mut pending = self.pending();
        blobs.iter().for_each(|id| drop(pending.remove(id)));
    }
}

impl Log for SqliteStore {
    /// Small blobs ride in the record's own transaction and cost no flush.
    fn append(&self, append: Append) -> Result<Appended, AppendError> {
        let name = append.loop_name.clone();
        let along = self.pending().clone();
        let stored = along.keys().cloned().collect::<Vec<_>>();
        let receipt: Receipt = self.writer.transact(move |conn| append::append(conn, &append, &along))?;
        self.are_stored(&stored);
        self.receipts.note(&receipt);
        tracing::trace!(%name, seq = receipt.seq.0, blobs = stored.len(), "record is stored");
        self.wakes.tell(&name, Followed::Records);
        Ok(Appended { seq: receipt.seq, hash: receipt.hash })
    }
}

impl Inbox for SqliteStore {
    fn send(&self, new: NewCommand) -> Result<CommandId, SendError> {
        let NewCommand { loop_name, at, command } = new;
        let body = serde_json::to_string(&command).expect("a command is plain data");
        let name = loop_name.clone();
        let along = self.pending().clone();
        let stored = along.keys().cloned().collect::<Vec<_>>();
        let id = self.writer.transact(move |conn| {
            append::insert_blobs(conn, &along)?;
            commands::insert(conn, &name, at, &body)
        })?;
        self.are_stored(&stored);
        self.wakes.tell(&loop_name, Followed::Commands);
        Ok(id)
    }

    fn sent(&self, name: &LoopName, after: CommandId) -> Result<Vec<SentCommand>, StoreError> {
        self.reader()?.commands(name, after)
    }
}

impl Blobs for SqliteStore {
    fn put(&self, bytes: Vec<u8>) -> Result<BlobId, BlobError> {
        if bytes.len() > INLINE_MAX {
            return BlobDir::new(self.vault.blobs()).put(&bytes);
        }
        let id = id_of(&bytes);
        self.pending().insert(id.clone(), bytes.into());
        Ok(id)
    }
}

impl ReadBlobs for SqliteStore {
    fn blob(&self, id: &BlobId, limit: u64) -> Result<Vec<u8>, BlobError> {
        check_id(id)?;
        let pending = self.pending().get(id).cloned();
        match pending {
            Some(bytes) if bytes.len() as u64 > limit => {
                Err(BlobError::TooLarge { id: id.clone(), size: bytes.len() as u64, limit })
            }
            Some(bytes) => Ok(bytes.to_vec()),
            None => self.reader()?.blob(id, limit),
        }
    }
}

impl ReadLog for SqliteStore {
    fn head(&self, name: &LoopName) -> Result<Option<LogHead>, StoreError> {
        self.reader()?.head(name)
    }

    fn loops(&self) -> Result<Vec<LoopRow>, StoreError> {
        self.reader()?.loops()
    }

    fn read(&self, name: &LoopName, after: Seq, limit: usize) -> Result<Vec<Record>, StoreError> {
        self.reader()?.read(name, after, limit)
    }
}

impl ReadLeases for SqliteStore {
    fn holder(&self, name: &LoopName) -> Result<Holder, StoreError> {
        holder(&self.vault, name)
    }
}

impl Leases for SqliteStore {
    fn lease(&self, name: &LoopName, now: Timestamp) -> Result<Box<dyn Lease>, LeaseError> {
        let taken = LoopLock::take(&self.vault.loop_lock(name), name, now);
        match &taken {
            Ok(_) => tracing::debug!(%name, "lease is taken"),
            Err(error) => tracing::debug!(%name, %error, "lease is not to be had"),
        }
        Ok(Box::new(taken?))
    }
}

impl Follow for SqliteStore {
    fn follow(&self, name: &LoopName, what: Followed, wake: Wake) -> Result<Subscription, StoreError> {
        self.wakes.follow(name, what, wake)
    }
}

/// A vault that is only looked at.
struct ReadOnly {
    reader: SqliteReader,
    vault: VaultDir,
    wakes: WakeFiles,
}

impl ReadOnly {
    fn new(reader: SqliteReader, vault: &VaultDir) -> Self {
        Self { reader, vault: vault.clone(), wakes: WakeFiles::new(vault) }
    }
}

impl Follow for ReadOnly {
    fn follow(&self, name: &LoopName, what: Followed, wake: Wake) -> Result<Subscription, StoreError> {
        self.wakes.follow(name, what, wake)
    }
}

impl ReadLog for ReadOnly {
    fn head(&self, name: &LoopName) -> Result<Option<LogHead>, StoreError> {
        self.reader.head(name)
    }

    fn loops(&self) -> Result<Vec<LoopRow>, StoreError> {
        self.reader.loops()
    }

    fn read(&self, name: &LoopName, after: Seq, limit: usize) -> Result<Vec<Record>, StoreError> {
        self.reader.read(name, after, limit)
    }
}

impl ReadBlobs for ReadOnly {
    fn blob(&self, id: &BlobId, limit: u64) -> Result<Vec<u8>, BlobError> {
        self.reader.blob(id, limit)
    }
}

impl ReadLeases for ReadOnly {
    fn holder(&self, name: &LoopName) -> Result<Holder, StoreError> {
        holder(&self.vault, name)
    }
}

fn holder(vault: &VaultDir, name: &LoopName) -> Result<Holder, StoreError> {
    let path = vault.loop_lock(name);
    lock::holder(&path).map_err(|error| StoreError::Failed { path, reason: error.to_string() })
}
