//! The store on SQLite: one database a vault, opened by as many processes as
//! like, written by one thread in each.

use std::cell::OnceCell;
use std::path::Path;
use std::sync::Arc;

use windlass_core::id::{BlobId, CommandId, LoopName, Seq};

use crate::blob::{Blob, BlobDir, BlobError};
use crate::commands::{Ask, AskError, Command};
use crate::layout::VaultDir;
use crate::log::{Append, AppendError, Appended, Fault, Head, Log, LoopRow, Record};
use crate::receipts::{Receipt, Receipts};

mod append;
mod fault;
pub(crate) mod number;
mod open;
mod reader;
mod reserve;
mod writer;

pub use open::OpenError;
pub use reader::Reader;
use writer::{Desk, Writer};

/// An open vault. Clones share one writer thread, and each thread that uses
/// the store has its own clone.
pub struct Store {
    writer: Arc<Writer>,
    receipts: Arc<Receipts>,
    vault: VaultDir,
    reader: OnceCell<Reader>,
}

impl Store {
    /// Opens the vault, creating it where there was none.
    pub fn open(vault: &VaultDir) -> Result<Self, OpenError> {
        let conn = open::writer(vault)?;
        let receipts = Arc::new(Receipts::open(&vault.receipts()));
        let desk = Desk::new(conn, vault, Arc::clone(&receipts));
        let writer = Writer::start(desk, vault.db()).map_err(|error| Fault::Failed {
            path: vault.db(),
            reason: format!("no writer thread: {error}"),
        })?;
        Ok(Self { writer: Arc::new(writer), receipts, vault: vault.clone(), reader: OnceCell::new() })
    }

    pub fn vault(&self) -> &VaultDir {
        &self.vault
    }

    /// Stores an operator's command. It survives any crash once this returns.
    pub fn ask(&self, ask: Ask) -> Result<CommandId, AskError> {
        self.writer.transact(move |conn| crate::commands::insert(conn, &ask))
    }

    /// Replaces a View made by another version of the fold, if the log has not moved since.
    pub fn refresh_view(&self, fresh: FreshView) -> Result<(), Fault> {
        self.writer.transact(move |conn| fresh.store(conn).map(Ok))
    }

    /// Names bytes for an `Append`. Small ones cost nothing until then.
    pub fn stage(&self, bytes: Vec<u8>) -> Result<Blob, BlobError> {
        BlobDir::new(self.vault.blobs()).stage(bytes)
    }

    /// The same for a file's content.
    pub fn stage_file(&self, path: &Path) -> Result<Blob, BlobError> {
        BlobDir::new(self.vault.blobs()).stage_file(path)
    }

    pub fn blob(&self, id: &BlobId, limit: u64) -> Result<Vec<u8>, BlobError> {
        self.reader()?.blob(id, limit)
    }

    pub fn loops(&self) -> Result<Vec<LoopRow>, Fault> {
        self.reader()?.loops()
    }

    pub fn command(&self, id: CommandId) -> Result<Option<Command>, Fault> {
        self.reader()?.command(id)
    }

    fn reader(&self) -> Result<&Reader, Fault> {
        if let Some(reader) = self.reader.get() {
            return Ok(reader);
        }
        let gone = |reason: String| Fault::Failed { path: self.vault.db(), reason };
        let reader = match Reader::open(&self.vault) {
            Ok(Some(reader)) => reader,
            Ok(None) => return Err(gone("the database is gone".to_owned())),
            Err(OpenError::Store(fault)) => return Err(fault),
            Err(refused) => return Err(gone(refused.to_string())),
        };
        Ok(self.reader.get_or_init(|| reader))
    }
}

impl Clone for Store {
    fn clone(&self) -> Self {
        Self {
            writer: Arc::clone(&self.writer),
            receipts: Arc::clone(&self.receipts),
            vault: self.vault.clone(),
            reader: OnceCell::new(),
        }
    }
}

impl Log for Store {
    fn append(&mut self, append: Append) -> Result<Appended, AppendError> {
        let receipt: Receipt = self.writer.transact(move |conn| append::append(conn, &append))?;
        self.receipts.note(&receipt);
        Ok(Appended { seq: receipt.seq, hash: receipt.hash })
    }

    fn head(&self, name: &LoopName) -> Result<Option<Head>, Fault> {
        self.reader()?.head(name)
    }

    fn read(&self, name: &LoopName, after: Seq, limit: usize) -> Result<Vec<Record>, Fault> {
        self.reader()?.read(name, after, limit)
    }

    fn untaken(&self, name: &LoopName, after: CommandId) -> Result<Vec<Command>, Fault> {
        self.reader()?.untaken(name, after)
    }
}

/// A View folded anew, and the record it belongs to.
#[derive(Clone, Debug)]
pub struct FreshView {
    pub loop_name: LoopName,
    pub seq: Seq,
    pub view: String,
    pub fold_version: u32,
}

impl FreshView {
    fn store(&self, conn: &rusqlite::Connection) -> rusqlite::Result<()> {
        conn.prepare_cached(
            "UPDATE loops SET view = ?3, fold_version = ?4 WHERE name = ?1 AND head_seq = ?2",
        )?
        .execute((self.loop_name.as_str(), number::to_sql(self.seq.0), &self.view, self.fold_version))
        .map(|_| ())
    }
}
