//! What eight appends cost beside eight bare appends and flushes of a file, and
//! what sixteen loops at once cost beside one: a line of JSON a round, in
//! microseconds. `append_cost [ROUNDS]`; `append_cost steady N` only appends N
//! records, to be run under `strace -f -c -e trace=fsync,fdatasync`.
#![allow(clippy::disallowed_methods, reason = "a measurement reads the clock")]

use std::error::Error;
use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use windlass_core::id::{CommandId, LoopName, Seq};
use windlass_core::time::Timestamp;
use windlass_store::{Append, StateDir, Store, VaultDir, open, open_read};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

const ROUNDS: usize = 15;
const DECISIONS: u64 = 8;
const LOOPS: u64 = 16;

fn main() -> Outcome<()> {
    let temp = tempfile::tempdir_in(std::env::current_dir()?)?;
    let vault = StateDir::new(temp.path()).vault(OsStr::new("bench"), Path::new("/bench/.git"));
    let store = open(&vault)?;
    let arguments: Vec<_> = std::env::args().collect();
    if let [_, what, count] = &arguments[..] {
        assert_eq!(what, "steady");
        return decisions(&*store, "steady", count.parse()?);
    }

    let rounds = match &arguments[..] {
        [_, rounds] => rounds.parse()?,
        _ => ROUNDS,
    };
    decisions(&*store, "warm", 64)?;
    for round in 0..rounds {
        let raw = timed(|| raw_appends(&temp.path().join(format!("raw{round}"))))?;
        let one = timed(|| decisions(&*store, &format!("one{round}"), DECISIONS))?;
        let many = timed(|| many(&*store, round))?;
        let polls = timed(|| polls(&*store))?;
        let view = timed(|| view(&vault))?;
        println!("{{\"raw\":{raw},\"one\":{one},\"many\":{many},\"hundred_polls\":{polls},\"view\":{view}}}");
    }
    Ok(())
}

fn raw_appends(path: &Path) -> Outcome<()> {
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    for _ in 0..DECISIONS {
        file.write_all(&[7; 4096])?;
        file.sync_data()?;
    }
    Ok(())
}

fn decisions(store: &dyn Store, name: &str, count: u64) -> Outcome<()> {
    for seq in 0..count {
        store.append(Append {
            loop_name: LoopName::new(name)?,
            expected: Seq(seq),
            at: Timestamp(0),
            body: "d".repeat(400),
            events: 2,
            view: "v".repeat(1500),
            fold_version: 1,
        })?;
    }
    Ok(())
}

fn many(store: &dyn Store, round: usize) -> Outcome<()> {
    std::thread::scope(|scope| {
        let start = |n| scope.spawn(move || decisions(store, &format!("many{round}-{n}"), DECISIONS));
        let threads: Vec<_> = (0..LOOPS).map(start).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("an appender does not panic"))
    })
}

fn polls(store: &dyn Store) -> Outcome<()> {
    let name = LoopName::new("warm")?;
    for _ in 0..100 {
        store.sent(&name, CommandId(0))?;
    }
    Ok(())
}

fn view(vault: &VaultDir) -> Outcome<()> {
    open_read(vault)?.ok_or("no vault")?.head(&LoopName::new("warm")?)?.ok_or("no loop")?;
    Ok(())
}

/// In microseconds.
fn timed(what: impl FnOnce() -> Outcome<()>) -> Outcome<u128> {
    let start = Instant::now();
    what()?;
    Ok(start.elapsed().as_micros())
}
