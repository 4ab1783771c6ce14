//! The operator's inbox: rows that are only ever added.

use rusqlite::{Connection, OptionalExtension};
use windlass_core::id::{CommandId, LoopName};
use windlass_core::time::Timestamp;

use super::number::{bound_to_sql, from_sql};
use crate::inbox::SendError;

/// A command as it is stored.
pub(crate) struct CommandRow {
    pub id: CommandId,
    pub at: Timestamp,
    pub body: String,
}

pub(crate) fn insert(
    conn: &Connection,
    name: &LoopName,
    at: Timestamp,
    body: &str,
) -> rusqlite::Result<Result<CommandId, SendError>> {
    let mut statement = conn.prepare_cached(
        "INSERT INTO commands (loop_id, at, body) SELECT id, ?2, ?3 FROM loops WHERE name = ?1 RETURNING id",
    )?;
    let id = statement.query_row((name.as_str(), at.0, body), |row| row.get(0)).optional()?;
    Ok(match id {
        Some(id) => Ok(CommandId(from_sql(id))),
        None => Err(SendError::NoSuchLoop { name: name.clone() }),
    })
}

pub(crate) fn after(
    conn: &Connection,
    name: &LoopName,
    after: CommandId,
) -> rusqlite::Result<Vec<CommandRow>> {
    conn.prepare_cached(
        "SELECT id, at, body FROM commands
         WHERE loop_id = (SELECT id FROM loops WHERE name = ?1) AND id > ?2 ORDER BY id",
    )?
    .query_map((name.as_str(), bound_to_sql(after.0)), |row| {
        Ok(CommandRow { id: CommandId(from_sql(row.get(0)?)), at: Timestamp(row.get(1)?), body: row.get(2)? })
    })?
    .collect()
}
