//! Makes the log of a loop that has ended long, to measure what only shows:
//! its own records are appended again and again, behind the store's back and in
//! one transaction, with numbers and hashes as the store would make them. It is
//! a log for reading its end; folding it would find a loop that goes on after
//! its outcome.
//!
//! `big_log STATE PROJECT LOOP EVENTS`

use std::error::Error;
use std::path::Path;

use rusqlite::Connection;
use windlass_core::id::{LoopName, Seq};
use windlass_core::time::Timestamp;
use windlass_store::chain::{ChainHash, Link};
use windlass_store::upcast::FORMAT;
use windlass_store::{Record, StateDir, open_read};

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [state, project, name, events] = words.as_slice() else {
        return Err("big_log STATE PROJECT LOOP EVENTS".into());
    };
    let (project, name) = (Path::new(project).canonicalize()?, LoopName::new(name)?);
    let basename = project.file_name().ok_or("the project has no name")?;
    let vault = StateDir::new(state).vault(basename, &project.join(".git"));
    let reader = open_read(&vault)?.ok_or("no vault")?;
    let records = reader.read(&name, Seq(0), 1000)?;
    let mut conn = Connection::open(vault.root().join("windlass.db"))?;
    conn.pragma_update(None, "synchronous", "OFF")?;
    lengthen(&mut conn, &name, &records, events.parse()?)?;
    drop(reader);
    conn.pragma_update(None, "wal_checkpoint", "TRUNCATE")?;
    let head = open_read(&vault)?.ok_or("no vault")?.head(&name)?.ok_or("no loop")?;
    println!("{{\"events\":{},\"records\":{}}}", head.events, head.seq);
    Ok(())
}

fn lengthen(conn: &mut Connection, name: &LoopName, like: &[Record], wanted: u64) -> Outcome<()> {
    let last = like.last().ok_or("the loop has no record")?;
    let (mut seq, mut hash, mut events) = (last.seq, last.hash, last.first_event + last.events - 1);
    let id: i64 =
        conn.query_row("SELECT id FROM loops WHERE name = ?1", [name.as_str()], |row| row.get(0))?;
    let transaction = conn.transaction()?;
    {
        let mut insert = transaction.prepare(
            "INSERT INTO records (loop_id, seq, at, format, first_event, events, hash, body)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?;
        for record in like.iter().skip(1).cycle() {
            if events >= wanted {
                break;
            }
            seq = seq.next();
            let at = Timestamp(last.at.0 + i64::try_from(seq.0)?);
            hash = linked(hash, (name, seq, at), record);
            insert.execute((
                id,
                i64::try_from(seq.0)?,
                at.0,
                FORMAT,
                i64::try_from(events + 1)?,
                i64::try_from(record.events)?,
                hash.as_bytes(),
                &record.body,
            ))?;
            events += record.events;
        }
        transaction.execute(
            "UPDATE loops SET head_seq = ?2, head_hash = ?3, events = ?4 WHERE id = ?1",
            (id, i64::try_from(seq.0)?, hash.as_bytes(), i64::try_from(events)?),
        )?;
    }
    Ok(transaction.commit()?)
}

fn linked(previous: ChainHash, (name, seq, at): (&LoopName, Seq, Timestamp), record: &Record) -> ChainHash {
    Link { previous, name, seq, at, format: FORMAT, events: record.events, body: &record.body }.hash()
}
