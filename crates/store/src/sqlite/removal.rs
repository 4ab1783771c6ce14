//! Taking the record of a loop away, at its operator's word.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};
use windlass_core::id::{BlobId, LoopName};

use super::blob_dir::BlobDir;
use super::fault::classify;
use super::lock;
use super::open::{self, OpenError};
use super::receipts::Receipts;
use crate::layout::VaultDir;
use crate::log::StoreError;

/// As many characters as the name of a blob has.
const ID_LENGTH: usize = 64;

/// Removes the records and commands of a loop, its receipt, and the blobs that no
/// other loop names. The caller holds the loop's lease. The rows go last and all at
/// once, so that a crash before leaves a loop that can be removed again; a loop
/// that is not there is well.
///
/// A large blob is put before the record that names it. While somebody drives
/// another loop, large blobs stay: one of them may be about to be named.
pub fn remove_records(vault: &VaultDir, name: &LoopName) -> Result<(), OpenError> {
    let mut conn = open::writer(vault)?;
    let removed = remove(&mut conn, vault, name);
    removed.map_err(|error| match error {
        RemovalError::Sql(error) => classify(&conn, &vault.db(), &error).into(),
        RemovalError::Failed(reason) => StoreError::Failed { path: vault.root(), reason }.into(),
    })
}

enum RemovalError {
    Sql(rusqlite::Error),
    Failed(String),
}

impl From<rusqlite::Error> for RemovalError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

fn remove(conn: &mut Connection, vault: &VaultDir, name: &LoopName) -> Result<(), RemovalError> {
    let failed = |error: &dyn std::fmt::Display| RemovalError::Failed(error.to_string());
    let transaction = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let id: Option<i64> = transaction
        .query_row("SELECT id FROM loops WHERE name = ?1", [name.as_str()], |row| row.get(0))
        .optional()?;
    let Some(id) = id else { return Ok(()) };
    let own = only_named_by(&transaction, id)?;
    if !is_another_driven(&transaction, vault, id)? {
        let files = BlobDir::new(vault.blobs());
        own.iter().try_for_each(|blob| files.remove(blob)).map_err(|error| failed(&error))?;
    }
    crash_point("store::blobs_removed");
    Receipts::open(&vault.receipts()).clear(id).map_err(|error| failed(&error))?;
    crash_point("store::receipt_cleared");
    for blob in &own {
        transaction.execute("DELETE FROM blobs WHERE hash = unhex(?1)", [blob.as_str()])?;
    }
    for rows in ["records", "commands"] {
        transaction.execute(&format!("DELETE FROM {rows} WHERE loop_id = ?1"), [id])?;
    }
    transaction.execute("DELETE FROM loops WHERE id = ?1", [id])?;
    crash_point("store::before_removal");
    transaction.commit()?;
    crash_point("store::after_removal");
    Ok(())
}

/// The blobs that this loop names and no other.
fn only_named_by(conn: &Connection, id: i64) -> rusqlite::Result<BTreeSet<BlobId>> {
    let mut own = BTreeSet::new();
    each_body(conn, "loop_id = ?1", id, &mut |body| own.extend(ids(body)))?;
    each_body(conn, "loop_id <> ?1", id, &mut |body| {
        for named in ids(body) {
            own.remove(&named);
        }
    })?;
    Ok(own)
}

fn each_body(conn: &Connection, which: &str, id: i64, look: &mut dyn FnMut(&str)) -> rusqlite::Result<()> {
    for table in ["records", "commands"] {
        let mut bodies = conn.prepare(&format!("SELECT body FROM {table} WHERE {which}"))?;
        let mut rows = bodies.query([id])?;
        while let Some(row) = rows.next()? {
            look(row.get_ref(0)?.as_str()?);
        }
    }
    Ok(())
}

/// Everything in a body that can be the name of a blob.
fn ids(body: &str) -> impl Iterator<Item = BlobId> {
    let is_hex = |c: char| matches!(c, '0'..='9' | 'a'..='f');
    body.split(move |c| !is_hex(c)).filter(|run| run.len() == ID_LENGTH).map(BlobId::new)
}

fn is_another_driven(conn: &Connection, vault: &VaultDir, id: i64) -> Result<bool, RemovalError> {
    let mut others = conn.prepare("SELECT name FROM loops WHERE id <> ?1")?;
    let names = others.query_map([id], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
    // One that cannot be looked at is taken for driven.
    let is_held =
        |name: LoopName| lock::holder(&vault.loop_lock(&name)).map_or(true, |holder| holder.is_held());
    Ok(names.iter().filter_map(|name| LoopName::new(name).ok()).any(is_held))
}

/// As in the writer.
fn crash_point(_name: &str) {
    fail::fail_point!(_name, |_| -> () { std::process::abort() });
}
