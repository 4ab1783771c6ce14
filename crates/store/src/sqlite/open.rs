//! Opening the database: created once, migrated forward, and refused rather
//! than repaired or replaced when it is not what it should be.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension};
use rusqlite_migration::{M, Migrations};

use super::blob_dir::{is_out_of_space, sync_dir};
use super::fault::{classify, classify_detached, corrupt};
use super::lock::lock_within;
use super::number::{from_sql, to_sql};
use super::receipts::{self, Receipt};
use crate::layout::VaultDir;
use crate::log::StoreError;
use crate::refusal::Refusal;

/// How long a statement waits for another process's transaction.
pub(crate) const BUSY_LIMIT: Duration = Duration::from_secs(10);
/// Transactions are short, so waiting is in small steps: SQLite's own back-off
/// reaches 100 ms and starves whoever comes late.
const BUSY_STEP: Duration = Duration::from_millis(1);
const OPENING_LIMIT: Duration = Duration::from_secs(30);
const CACHED_STATEMENTS: usize = 32;

const APPLICATION_ID: i32 = 1_464_093_779;
/// Databases from before the first format.
const UNRELEASED_ID: i32 = 1_464_747_084;
const MIGRATIONS: &[M<'static>] = &[M::up(include_str!("0001.sql"))];
const SCHEMA_VERSION: i32 = 1;

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The vault had a database and it is gone.
    #[error("{0}")]
    Missing(Refusal),
    #[error("{0}")]
    Foreign(Refusal),
    /// Only readers say this; a writer migrates.
    #[error("{0}")]
    Older(Refusal),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The writer's connection: creates or migrates the database where needed.
pub(crate) fn writer(vault: &VaultDir) -> Result<Connection, OpenError> {
    let db = vault.db();
    vault.create().map_err(|error| failed(&vault.root(), &error))?;
    let receipts = receipts(vault)?;
    let conn = match existing(vault)? {
        Some(conn) => conn,
        None => create_or_migrate(vault)?,
    };
    configure(&conn).map_err(|error| classify(&conn, &db, &error))?;
    check_heads(&conn, &db)?;
    let short = |receipts: &[Receipt]| {
        falls_short(&conn, receipts).map_err(|error| OpenError::from(classify(&conn, &db, &error)))
    };
    match unproven(vault, &receipts, &short)? {
        Some(how) => Err(corrupt(&db, how).into()),
        None => Ok(conn),
    }
}

/// Holds receipts against the database.
pub(crate) type Shortfall<'a> = dyn Fn(&[Receipt]) -> Result<Option<String>, OpenError> + 'a;

/// How the logs fall short of what was acknowledged. A loop that was removed in
/// between takes its receipt along, so a shortfall counts when it is seen twice.
pub(crate) fn unproven(
    vault: &VaultDir,
    first: &[Receipt],
    short: &Shortfall<'_>,
) -> Result<Option<String>, OpenError> {
    match short(first)? {
        None => Ok(None),
        Some(_) => short(&receipts(vault)?),
    }
}

/// To be read before the database is opened, and then held against it.
pub(crate) fn receipts(vault: &VaultDir) -> Result<Vec<Receipt>, StoreError> {
    let path = vault.receipts();
    receipts::read(&path).map_err(|error| failed(&path, &error))
}

/// How the logs are not what was acknowledged, if they are not: one look-up a
/// loop. A log may have grown since its receipt.
pub(crate) fn falls_short(conn: &Connection, receipts: &[Receipt]) -> rusqlite::Result<Option<String>> {
    let mut look_up = conn.prepare_cached(
        "SELECT name, head_seq, CASE WHEN head_seq > ?2
             THEN (SELECT hash FROM records WHERE loop_id = loops.id AND seq = ?2) ELSE head_hash END
         FROM loops WHERE id = ?1",
    )?;
    for Receipt { loop_id, name, seq, hash } in receipts {
        let row = look_up
            .query_row((loop_id, to_sql(seq.0)), |row| {
                Ok((row.get::<_, String>(0)?, from_sql(row.get(1)?), row.get::<_, Option<[u8; 32]>>(2)?))
            })
            .optional()?;
        let lost = "the log windlass.db-wal was lost or damaged, or the database is not the one it was";
        match row {
            Some((found, end, _)) if found == name.as_str() && end < seq.0 => {
                return Ok(Some(format!(
                    "loop {name} ends at record {end}, but record {seq} was acknowledged: {lost}"
                )));
            }
            Some((found, _, record)) if found == name.as_str() => {
                if record != Some(*hash.as_bytes()) {
                    return Ok(Some(format!(
                        "record {seq} of loop {name} is not the one that was acknowledged"
                    )));
                }
            }
            Some(_) | None => {
                return Ok(Some(format!(
                    "loop {name} is missing, but record {seq} of it was acknowledged: {lost}"
                )));
            }
        }
    }
    Ok(None)
}

/// A connection that only reads; nothing if the vault has no database yet. No
/// migration, no writer, and where no writer has left its files, none are made:
/// the database is then read as it lies.
pub(crate) fn reader(vault: &VaultDir, mode: OpenMode) -> Result<Option<Connection>, OpenError> {
    let db = vault.db();
    let past = Past::of(vault)?;
    if !stands(&db, past)? {
        return Ok(None);
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let conn = match mode {
        OpenMode::Shared => connect(&db, flags)?,
        OpenMode::Immutable => connect(&immutable_uri(&db), flags | OpenFlags::SQLITE_OPEN_URI)?,
    };
    match versions(&conn, &db)? {
        Versions::Current => Ok(Some(conn)),
        Versions::Empty => past.refuse(&db, "holds nothing").map(|()| None),
        Versions::Older => {
            let remedy = "`windlass run` on any loop of this repository brings it up to date";
            Err(OpenError::Older(Refusal::new(&db, "was left by an older windlass", remedy)))
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenMode {
    /// Beside writers, through the write-ahead log.
    Shared,
    /// No write-ahead log exists, so nobody is writing and the file alone is the database.
    Immutable,
}

impl OpenMode {
    pub(crate) fn for_db(db: &Path) -> Self {
        if wal_path(db).exists() { Self::Shared } else { Self::Immutable }
    }
}

/// The database as it is; nothing if it was never created, was left half
/// created, or has an older schema.
fn existing(vault: &VaultDir) -> Result<Option<Connection>, OpenError> {
    let db = vault.db();
    let past = Past::of(vault)?;
    if !stands(&db, past)? {
        return Ok(None);
    }
    let conn = connect(&db, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    match versions(&conn, &db)? {
        Versions::Current if vault.marker().exists() => Ok(Some(conn)),
        Versions::Current | Versions::Older => Ok(None),
        Versions::Empty => past.refuse(&db, "holds nothing").map(|()| None),
    }
}

/// Whether there is a file with anything in it; a vault that had one must.
fn stands(db: &Path, past: Past) -> Result<bool, OpenError> {
    match fs::metadata(db) {
        Ok(metadata) if metadata.len() > 0 => Ok(true),
        Ok(_) => past.refuse(db, "is empty").map(|()| false),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            past.refuse(db, "is missing").map(|()| false)
        }
        Err(error) => Err(failed(db, &error).into()),
    }
}

/// Whether the vault had a database before this look at it. Asked first: one
/// that is created meanwhile is no loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Past {
    None,
    Records,
}

impl Past {
    fn of(vault: &VaultDir) -> Result<Self, StoreError> {
        let had = vault.marker().exists() || !receipts(vault)?.is_empty();
        Ok(if had { Self::Records } else { Self::None })
    }

    fn refuse(self, db: &Path, how: &str) -> Result<(), OpenError> {
        match self {
            Self::None => Ok(()),
            Self::Records => {
                let reason = format!("the database {how}, though this vault had records");
                let remedy = "restore the whole vault directory from a backup, or move it away to begin again without this history";
                Err(OpenError::Missing(Refusal::new(db, reason, remedy)))
            }
        }
    }
}

fn create_or_migrate(vault: &VaultDir) -> Result<Connection, OpenError> {
    let db = vault.db();
    let lock = vault.opening_lock();
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(&lock);
    let file = file.map_err(|error| failed(&lock, &error))?;
    if !lock_within(&file, OPENING_LIMIT).map_err(|error| failed(&lock, &error))? {
        return Err(StoreError::Busy { path: lock, waited_s: OPENING_LIMIT.as_secs() }.into());
    }
    // Another process may have finished the work while this one waited.
    if let Some(conn) = existing(vault)? {
        return Ok(conn);
    }
    let mut conn = connect(&db, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
    configure(&conn).map_err(|error| classify(&conn, &db, &error))?;
    Migrations::from_slice(MIGRATIONS).to_latest(&mut conn).map_err(|error| {
        if let rusqlite_migration::Error::RusqliteError { err, .. } = &error {
            return classify(&conn, &db, err);
        }
        StoreError::Failed { path: db.clone(), reason: format!("cannot be brought up to date: {error}") }
    })?;
    mark(vault).map_err(|error| failed(&vault.marker(), &error))?;
    Ok(conn)
}

/// Only after the database is durable: a marker without a database means loss.
fn mark(vault: &VaultDir) -> io::Result<()> {
    if vault.marker().exists() {
        return Ok(());
    }
    sync_dir(&vault.root())?;
    vault.write_marker()
}

fn connect(db: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
    let conn = Connection::open_with_flags(db, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .map_err(|error| classify_detached(db, &error))?;
    // The log stays when the last connection closes: readers then never have to
    // make one, and a database that is only looked at is not written. The writer
    // checkpoints by itself.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
        .and_then(|_| conn.busy_handler(Some(wait_for_lock)))
        .map_err(|error| classify(&conn, db, &error))?;
    conn.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
    Ok(conn)
}

fn wait_for_lock(tries: i32) -> bool {
    std::thread::sleep(BUSY_STEP);
    u128::try_from(tries).is_ok_and(|tries| tries * BUSY_STEP.as_millis() < BUSY_LIMIT.as_millis())
}

fn configure(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch(
        "PRAGMA journal_mode = WAL;
         PRAGMA synchronous = FULL;
         PRAGMA foreign_keys = ON;
         PRAGMA temp_store = MEMORY;
         PRAGMA trusted_schema = OFF;
         PRAGMA cell_size_check = ON;
         PRAGMA wal_autocheckpoint = 0;",
    )?;
    if cfg!(target_os = "macos") {
        conn.execute_batch("PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON;")?;
    }
    Ok(())
}

enum Versions {
    Current,
    Older,
    /// A database without a single table.
    Empty,
}

fn versions(conn: &Connection, db: &Path) -> Result<Versions, OpenError> {
    // In one transaction, since another process may just be creating it.
    let read = || -> rusqlite::Result<(i32, i32, bool)> {
        let at_once = conn.unchecked_transaction()?;
        let number = |row: &rusqlite::Row<'_>| row.get(0);
        Ok((
            at_once.query_row("PRAGMA application_id", [], number)?,
            at_once.query_row("PRAGMA user_version", [], number)?,
            is_empty(&at_once)?,
        ))
    };
    let (application, version, empty) = read().map_err(|error| classify(conn, db, &error))?;
    if is_cut(conn, db).map_err(|error| classify(conn, db, &error))? {
        return Err(corrupt(db, "the file ends in the middle of a page").into());
    }
    if application == 0 && version == 0 && empty {
        return Ok(Versions::Empty);
    }
    if application == UNRELEASED_ID {
        let reason = "was made by a windlass from before the first stored format";
        let remedy = "nothing was changed: use that windlass, or move the vault directory away to begin again without this history";
        return Err(OpenError::Foreign(Refusal::new(db, reason, remedy)));
    }
    if application != APPLICATION_ID {
        let reason = format!("is another program's database (application id {application:#x})");
        let remedy = "nothing was changed: move it away";
        return Err(OpenError::Foreign(Refusal::new(db, reason, remedy)));
    }
    if version > SCHEMA_VERSION {
        let reason =
            format!("was written by a newer windlass (schema {version}; this one knows {SCHEMA_VERSION})");
        let remedy = "nothing was changed: use the newer windlass";
        return Err(StoreError::Newer(Refusal::new(db, reason, remedy)).into());
    }
    Ok(if version == SCHEMA_VERSION { Versions::Current } else { Versions::Older })
}

/// SQLite reads a page that was cut short as if it ended in zeros. Only a
/// checkpoint leaves one for a while, and then its log is not empty.
fn is_cut(conn: &Connection, db: &Path) -> rusqlite::Result<bool> {
    let page: u64 = conn.query_row("PRAGMA page_size", [], |row| row.get::<_, u32>(0))?.into();
    let length = |path: &Path| fs::metadata(path).map_or(0, |metadata| metadata.len());
    Ok(length(db) % page != 0 && length(&wal_path(db)) == 0)
}

fn is_empty(conn: &Connection) -> rusqlite::Result<bool> {
    conn.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0))
        .map(|tables| tables == 0)
}

/// The end of every log is where its loop says it is: one look-up a loop,
/// whatever the length of its history.
fn check_heads(conn: &Connection, db: &Path) -> Result<(), StoreError> {
    let astray: Option<String> = conn
        .query_row(
            "SELECT name FROM loops LEFT JOIN records ON loop_id = loops.id AND seq = head_seq
             WHERE records.hash IS NOT head_hash LIMIT 1",
            [],
            |row| row.get(0),
        )
        .optional()
        .map_err(|error| classify(conn, db, &error))?;
    match astray {
        Some(name) => Err(corrupt(db, format!("the last record of loop {name} is missing or changed"))),
        None => Ok(()),
    }
}

pub(crate) fn wal_path(db: &Path) -> PathBuf {
    let mut path = db.as_os_str().to_owned();
    path.push("-wal");
    path.into()
}

fn immutable_uri(db: &Path) -> PathBuf {
    let mut uri = String::from("file:");
    for byte in db.as_os_str().as_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {
                uri.push(char::from(*byte))
            }
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri.push_str("?immutable=1");
    uri.into()
}

fn failed(path: &Path, error: &io::Error) -> StoreError {
    let path = path.to_owned();
    if is_out_of_space(error) {
        StoreError::Full { path }
    } else {
        StoreError::Failed { path, reason: error.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;
    use crate::layout::StateDir;

    #[test]
    fn the_writer_flushes_at_every_commit_and_leaves_checkpoints_to_quiet_moments() {
        let temp = tempfile::tempdir().unwrap();
        let vault = StateDir::new(temp.path()).vault(OsStr::new("p"), Path::new("/p/.git"));
        let created = writer(&vault).unwrap();
        let opened = writer(&vault).unwrap();
        for conn in [created, opened] {
            let number = |pragma: &str| -> i64 {
                conn.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get(0)).unwrap()
            };
            let mode: String = conn.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
            assert_eq!(mode, "wal");
            assert_eq!(number("synchronous"), 2, "FULL");
            assert_eq!(number("foreign_keys"), 1);
            assert_eq!(number("wal_autocheckpoint"), 0);
            assert_eq!(number("user_version"), i64::from(SCHEMA_VERSION));
            assert_eq!(number("application_id"), i64::from(APPLICATION_ID));
        }
        assert_eq!(MIGRATIONS.len(), usize::try_from(SCHEMA_VERSION).unwrap());
    }

    #[test]
    fn a_path_with_odd_characters_is_read_as_it_lies() {
        let uri = immutable_uri(Path::new("/a b/c?d#e%/x.db"));
        assert_eq!(uri, Path::new("file:/a%20b/c%3Fd%23e%25/x.db?immutable=1"));
    }
}
