//! Reading without writing: what `status` opens, and what a store reads through.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rusqlite::{Connection, OptionalExtension, Row};
use windlass_core::id::{BlobId, CommandId, LoopName, Seq};
use windlass_core::time::Timestamp;

use super::blob_dir::{BlobDir, verified};
use super::commands::{self, CommandRow};
use super::fault::{classify, corrupt};
use super::number::{bound_to_sql, from_sql};
use super::open::{self, OpenError, OpenMode};
use crate::blobs::{BlobError, check_id};
use crate::chain::{ChainHash, Link};
use crate::inbox::{SentCommand, UnreadableCommand};
use crate::layout::VaultDir;
use crate::log::{LogHead, LoopRow, Record, StoreError};
use crate::refusal::Refusal;
use crate::upcast::upcast;

/// A read-only connection to a vault's database.
pub(crate) struct SqliteReader {
    vault: VaultDir,
    db: PathBuf,
    inner: Mutex<(Connection, OpenMode)>,
}

/// A file that was read as it lies holds nothing yet where a writer has begun in between: it is then read beside
/// that writer.
fn connect(vault: &VaultDir, db: &Path) -> Result<Option<(Connection, OpenMode)>, OpenError> {
    let mode = OpenMode::for_db(db);
    let (found, mode) = match open::reader(vault, mode) {
        Err(OpenError::Missing(_)) if mode == OpenMode::Immutable && OpenMode::for_db(db) != mode => {
            (open::reader(vault, OpenMode::Shared), OpenMode::Shared)
        }
        found => (found, mode),
    };
    Ok(found?.map(|conn| (conn, mode)))
}

impl SqliteReader {
    /// Nothing if the vault has no database yet.
    pub fn open(vault: &VaultDir) -> Result<Option<Self>, OpenError> {
        let db = vault.db();
        let receipts = open::receipts(vault)?;
        let Some(inner) = connect(vault, &db)? else { return Ok(None) };
        let reader = Self { vault: vault.clone(), db, inner: Mutex::new(inner) };
        let short =
            |receipts: &[_]| reader.query(|conn| open::falls_short(conn, receipts)).map_err(OpenError::Store);
        match open::unproven(vault, &receipts, &short)? {
            Some(how) => Err(corrupt(&reader.db, how).into()),
            None => Ok(Some(reader)),
        }
    }

    pub fn head(&self, name: &LoopName) -> Result<Option<LogHead>, StoreError> {
        self.query(|conn| {
            conn.prepare_cached(
                "SELECT head_seq, head_hash, events, fold_version, view FROM loops WHERE name = ?1",
            )?
            .query_row([name.as_str()], |row| head(row, 0))
            .optional()
        })
    }

    /// Every loop, by name.
    pub fn loops(&self) -> Result<Vec<LoopRow>, StoreError> {
        let rows: Vec<(String, i64, LogHead)> = self.query(|conn| {
            conn.prepare_cached(
                "SELECT name, created_at, head_seq, head_hash, events, fold_version, view
                 FROM loops ORDER BY name",
            )?
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?, head(row, 2)?)))?
            .collect()
        })?;
        let named = |(name, created_at, head): (String, i64, LogHead)| {
            let name = LoopName::new(&name).map_err(|error| corrupt(&self.db, error))?;
            Ok(LoopRow { name, created_at: Timestamp(created_at), head })
        };
        rows.into_iter().map(named).collect()
    }

    /// At most `limit` records after `after`, the hash chain checked from the
    /// record `after` on, and against the loop's head where the log ends.
    pub fn read(&self, name: &LoopName, after: Seq, limit: usize) -> Result<Vec<Record>, StoreError> {
        let page = self.query(|conn| page(conn, name, after, limit))?;
        match page {
            Some(page) => page.checked(name, after, limit).map_err(|broken| self.refuse(name, broken)),
            None => Ok(Vec::new()),
        }
    }

    pub fn commands(&self, name: &LoopName, after: CommandId) -> Result<Vec<SentCommand>, StoreError> {
        let read = |row: CommandRow| {
            let unreadable = |error: serde_json::Error| UnreadableCommand { reason: error.to_string() };
            let command = serde_json::from_str(&row.body).map_err(unreadable);
            SentCommand { id: row.id, at: row.at, command }
        };
        Ok(self.query(|conn| commands::after(conn, name, after))?.into_iter().map(read).collect())
    }

    /// The bytes of a blob, checked against its name.
    pub fn blob(&self, id: &BlobId, limit: u64) -> Result<Vec<u8>, BlobError> {
        let hash = check_id(id)?;
        let size: Option<i64> = self.query(|conn| {
            conn.prepare_cached("SELECT length(bytes) FROM blobs WHERE hash = unhex(?1)")?
                .query_row([hash], |row| row.get(0))
                .optional()
        })?;
        let Some(size) = size.map(from_sql) else {
            let file = BlobDir::new(self.vault.blobs()).get(id, limit)?;
            return file.ok_or_else(|| BlobError::Missing(id.clone()));
        };
        if size > limit {
            return Err(BlobError::TooLarge { id: id.clone(), size, limit });
        }
        let bytes = self.query(|conn| {
            conn.prepare_cached("SELECT bytes FROM blobs WHERE hash = unhex(?1)")?
                .query_row([hash], |row| row.get(0))
        })?;
        verified(id, bytes, &self.db)
    }

    /// SQLite's own look at the whole file.
    pub fn quick_check(&self) -> Result<(), StoreError> {
        let verdict: String =
            self.query(|conn| conn.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)))?;
        if verdict == "ok" { Ok(()) } else { Err(corrupt(&self.db, verdict)) }
    }

    /// Runs a query in one read transaction. A connection that took the
    /// database for unchanging asks again properly when a writer has come.
    fn query<T>(&self, query: impl Fn(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let (conn, mode) = &*inner;
        let answer = in_transaction(conn, &query);
        if *mode == OpenMode::for_db(&self.db) || *mode == OpenMode::Shared {
            return answer.map_err(|error| classify(conn, &self.db, &error));
        }
        *inner = (self.reopen()?, OpenMode::Shared);
        let (conn, _) = &*inner;
        in_transaction(conn, &query).map_err(|error| classify(conn, &self.db, &error))
    }

    fn reopen(&self) -> Result<Connection, StoreError> {
        match open::reader(&self.vault, OpenMode::Shared) {
            Ok(Some(conn)) => Ok(conn),
            Ok(None) => {
                Err(StoreError::Failed { path: self.db.clone(), reason: "the database is gone".to_owned() })
            }
            Err(OpenError::Store(fault)) => Err(fault),
            Err(OpenError::Missing(refusal) | OpenError::Foreign(refusal) | OpenError::Older(refusal)) => {
                Err(StoreError::Corrupt(refusal))
            }
        }
    }

    fn refuse(&self, name: &LoopName, broken: Broken) -> StoreError {
        match broken {
            Broken::Chain { seq, what } => corrupt(&self.db, format!("loop {name}, record {seq}: {what}")),
            Broken::Format { seq, reason } => {
                let remedy = "nothing was changed: use a windlass that knows this format";
                StoreError::Newer(Refusal::new(
                    &self.db,
                    format!("loop {name}, record {seq}: {reason}"),
                    remedy,
                ))
            }
        }
    }
}

fn in_transaction<T>(
    conn: &Connection,
    query: impl Fn(&Connection) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    let transaction = conn.unchecked_transaction()?;
    query(&transaction)
}

fn head(row: &Row<'_>, from: usize) -> rusqlite::Result<LogHead> {
    Ok(LogHead {
        seq: Seq(from_sql(row.get(from)?)),
        hash: ChainHash::from_bytes(row.get(from + 1)?),
        events: from_sql(row.get(from + 2)?),
        fold_version: row.get(from + 3)?,
        view: row.get(from + 4)?,
    })
}

/// Records as stored, the first of them the one before those asked for.
struct Page {
    head_seq: Seq,
    head_hash: ChainHash,
    stored: Vec<Stored>,
}

struct Stored {
    format: u32,
    record: Record,
}

enum Broken {
    Chain { seq: Seq, what: &'static str },
    Format { seq: Seq, reason: String },
}

fn page(conn: &Connection, name: &LoopName, after: Seq, limit: usize) -> rusqlite::Result<Option<Page>> {
    let found = conn
        .prepare_cached("SELECT id, head_seq, head_hash FROM loops WHERE name = ?1")?
        .query_row([name.as_str()], |row| Ok((row.get::<_, i64>(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let Some((id, head_seq, head_hash)) = found else { return Ok(None) };
    let with_anchor = (limit as u64).saturating_add(u64::from(after != Seq(0)));
    let stored = conn
        .prepare_cached(
            "SELECT seq, at, format, first_event, events, hash, body FROM records
             WHERE loop_id = ?1 AND seq >= ?2 ORDER BY seq LIMIT ?3",
        )?
        .query_map((id, bound_to_sql(after.0), bound_to_sql(with_anchor)), stored)?
        .collect::<rusqlite::Result<_>>()?;
    Ok(Some(Page { head_seq: Seq(from_sql(head_seq)), head_hash: ChainHash::from_bytes(head_hash), stored }))
}

fn stored(row: &Row<'_>) -> rusqlite::Result<Stored> {
    let record = Record {
        seq: Seq(from_sql(row.get(0)?)),
        at: Timestamp(row.get(1)?),
        first_event: from_sql(row.get(3)?),
        events: from_sql(row.get(4)?),
        hash: ChainHash::from_bytes(row.get(5)?),
        body: row.get(6)?,
    };
    Ok(Stored { format: row.get(2)?, record })
}

impl Page {
    fn checked(self, name: &LoopName, after: Seq, limit: usize) -> Result<Vec<Record>, Broken> {
        let Self { head_seq, head_hash, stored } = self;
        let (mut seq, mut hash, mut next_event) = (Seq(0), ChainHash::GENESIS, 1);
        let mut stored = stored.into_iter();
        if after > head_seq {
            return Ok(Vec::new());
        }
        if after != Seq(0) {
            let anchor = stored.next().filter(|anchor| anchor.record.seq == after);
            let anchor = anchor.ok_or(Broken::Chain { seq: after, what: "it is missing" })?.record;
            (seq, hash, next_event) = (anchor.seq, anchor.hash, anchor.first_event + anchor.events);
        }
        let mut records = Vec::with_capacity(stored.len());
        for Stored { format, record } in stored {
            let link = Link {
                previous: hash,
                name,
                seq: seq.next(),
                at: record.at,
                format,
                events: record.events,
                body: &record.body,
            };
            let broken = |what| Err(Broken::Chain { seq: link.seq, what });
            if record.seq != link.seq {
                return broken("it is missing");
            }
            if record.hash != link.hash() || record.first_event != next_event {
                return broken("it is not what was stored (the hash chain breaks)");
            }
            (seq, hash, next_event) = (record.seq, record.hash, record.first_event + record.events);
            let body = upcast(format, record.body)
                .map_err(|unknown| Broken::Format { seq, reason: unknown.to_string() })?;
            records.push(Record { body, ..record });
        }
        let at_end = records.len() < limit;
        if at_end && (seq, hash) != (head_seq, head_hash) {
            return Err(Broken::Chain { seq: head_seq, what: "it is missing or not what was stored" });
        }
        Ok(records)
    }
}

impl std::fmt::Debug for SqliteReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqliteReader").field("db", &self.db).finish_non_exhaustive()
    }
}
