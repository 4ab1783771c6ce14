//! What operators ask of a loop: rows in a durable table, each taken by exactly
//! one record of the loop's log.

use rusqlite::{Connection, OptionalExtension, Row};
use windlass_core::id::{CommandId, LoopName, Seq};
use windlass_core::time::Timestamp;

use crate::log::{AppendError, Fault, Take};
use crate::sqlite::number::{from_sql, to_sql};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    pub id: CommandId,
    pub at: Timestamp,
    pub body: String,
    pub taken: Option<Taken>,
}

/// How a command ended: the record that took it, and the refusal if it was one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    pub by: Seq,
    pub answer: Option<String>,
}

/// A command to store.
#[derive(Clone, Debug)]
pub struct Ask {
    pub loop_name: LoopName,
    pub at: Timestamp,
    pub body: String,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    #[error("there is no loop {name}")]
    NoSuchLoop { name: LoopName },
    #[error(transparent)]
    Store(#[from] Fault),
}

pub(crate) fn insert(conn: &Connection, ask: &Ask) -> rusqlite::Result<Result<CommandId, AskError>> {
    let mut statement = conn.prepare_cached(
        "INSERT INTO commands (loop_id, at, body) SELECT id, ?2, ?3 FROM loops WHERE name = ?1 RETURNING id",
    )?;
    let id =
        statement.query_row((ask.loop_name.as_str(), ask.at.0, &ask.body), |row| row.get(0)).optional()?;
    Ok(match id {
        Some(id) => Ok(CommandId(from_sql(id))),
        None => Err(AskError::NoSuchLoop { name: ask.loop_name.clone() }),
    })
}

/// The loop whose record wants to take a command.
pub(crate) struct Taker<'a> {
    pub id: i64,
    pub name: &'a LoopName,
    pub seq: Seq,
}

/// Marks the command as taken, unless a record has taken it already.
pub(crate) fn take(
    conn: &Connection,
    by: &Taker<'_>,
    take: &Take,
) -> rusqlite::Result<Result<(), AppendError>> {
    let id = to_sql(take.command.0);
    let taken: Option<Option<i64>> = conn
        .prepare_cached("SELECT taken_seq FROM commands WHERE id = ?1 AND loop_id = ?2")?
        .query_row((id, by.id), |row| row.get(0))
        .optional()?;
    match taken {
        None => Ok(Err(AppendError::NoSuchCommand { name: by.name.clone(), command: take.command })),
        Some(Some(seq)) => {
            Ok(Err(AppendError::AlreadyTaken { command: take.command, by: Seq(from_sql(seq)) }))
        }
        Some(None) => {
            conn.prepare_cached("UPDATE commands SET taken_seq = ?2, answer = ?3 WHERE id = ?1")?
                .execute((id, to_sql(by.seq.0), &take.answer))?;
            Ok(Ok(()))
        }
    }
}

pub(crate) fn untaken(
    conn: &Connection,
    name: &LoopName,
    after: CommandId,
) -> rusqlite::Result<Vec<Command>> {
    conn.prepare_cached(
        "SELECT id, at, body, taken_seq, answer FROM commands
         WHERE loop_id = (SELECT id FROM loops WHERE name = ?1) AND taken_seq IS NULL AND id > ?2
         ORDER BY id",
    )?
    .query_map((name.as_str(), to_sql(after.0)), command)?
    .collect()
}

pub(crate) fn by_id(conn: &Connection, id: CommandId) -> rusqlite::Result<Option<Command>> {
    conn.prepare_cached("SELECT id, at, body, taken_seq, answer FROM commands WHERE id = ?1")?
        .query_row([to_sql(id.0)], command)
        .optional()
}

fn command(row: &Row<'_>) -> rusqlite::Result<Command> {
    let answer: Option<String> = row.get(4)?;
    let taken = row.get::<_, Option<i64>>(3)?.map(|seq| Taken { by: Seq(from_sql(seq)), answer });
    Ok(Command { id: CommandId(from_sql(row.get(0)?)), at: Timestamp(row.get(1)?), body: row.get(2)?, taken })
}
