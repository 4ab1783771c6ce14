//! What an append does inside its transaction.

use rusqlite::{Connection, OptionalExtension};
use windlass_core::id::Seq;

use super::PendingBlobs;
use super::number::{from_sql, to_sql};
use super::receipts::Receipt;
use crate::chain::{ChainHash, Link};
use crate::log::{Append, AppendError, Appended};
use crate::upcast::FORMAT;

struct LoopEnd {
    id: Option<i64>,
    seq: Seq,
    hash: ChainHash,
    events: u64,
}

const NOTHING_YET: LoopEnd = LoopEnd { id: None, seq: Seq(0), hash: ChainHash::GENESIS, events: 0 };

/// What was appended, as the receipt that is due once it is durable.
pub(crate) fn append(
    conn: &Connection,
    append: &Append,
    blobs: &PendingBlobs,
) -> rusqlite::Result<Result<Receipt, AppendError>> {
    let before = standing(conn, append)?;
    if before.seq != append.expected {
        return Ok(Err(AppendError::Conflict {
            name: append.loop_name.clone(),
            expected: append.expected,
            found: before.seq,
        }));
    }
    let seq = before.seq.next();
    let link = Link {
        previous: before.hash,
        name: &append.loop_name,
        seq,
        at: append.at,
        format: FORMAT,
        events: append.events,
        body: &append.body,
    };
    let appended = Appended { seq, hash: link.hash() };
    let id = move_head(conn, append, &before, appended)?;
    conn.prepare_cached(
        "INSERT INTO records (loop_id, seq, at, format, first_event, events, hash, body)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?
    .execute((
        id,
        to_sql(seq.0),
        append.at.0,
        FORMAT,
        to_sql(before.events + 1),
        to_sql(append.events),
        appended.hash.as_bytes(),
        &append.body,
    ))?;
    insert_blobs(conn, blobs)?;
    Ok(Ok(Receipt { loop_id: id, name: append.loop_name.clone(), seq, hash: appended.hash }))
}

pub(crate) fn insert_blobs(conn: &Connection, blobs: &PendingBlobs) -> rusqlite::Result<()> {
    for (blob, bytes) in blobs {
        conn.prepare_cached("INSERT OR IGNORE INTO blobs (hash, bytes) VALUES (unhex(?1), ?2)")?
            .execute((blob.as_str(), &bytes[..]))?;
    }
    Ok(())
}

fn standing(conn: &Connection, append: &Append) -> rusqlite::Result<LoopEnd> {
    let found = conn
        .prepare_cached("SELECT id, head_seq, head_hash, events FROM loops WHERE name = ?1")?
        .query_row([append.loop_name.as_str()], |row| {
            Ok(LoopEnd {
                id: Some(row.get(0)?),
                seq: Seq(from_sql(row.get(1)?)),
                hash: ChainHash::from_bytes(row.get(2)?),
                events: from_sql(row.get(3)?),
            })
        })
        .optional()?;
    Ok(found.unwrap_or(NOTHING_YET))
}

fn move_head(conn: &Connection, append: &Append, before: &LoopEnd, after: Appended) -> rusqlite::Result<i64> {
    let seq = to_sql(after.seq.0);
    let hash = after.hash.as_bytes();
    let events = to_sql(before.events + append.events);
    match before.id {
        Some(id) => {
            conn.prepare_cached(
                "UPDATE loops SET head_seq = ?2, head_hash = ?3, events = ?4, fold_version = ?5, view = ?6
                 WHERE id = ?1",
            )?
            .execute((id, seq, hash, events, append.fold_version, &append.view))?;
            Ok(id)
        }
        None => conn
            .prepare_cached(
                "INSERT INTO loops (name, created_at, head_seq, head_hash, events, fold_version, view)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) RETURNING id",
            )?
            .query_row(
                (
                    append.loop_name.as_str(),
                    append.at.0,
                    seq,
                    hash,
                    events,
                    append.fold_version,
                    &append.view,
                ),
                |row| row.get(0),
            ),
    }
}
