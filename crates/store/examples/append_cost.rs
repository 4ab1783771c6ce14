//! What an append costs beside a bare append and flush of a file, and what many
//! loops at once cost beside one: ratios inside one run, medians of interleaved
//! rounds. `append_cost steady N` only appends N records, to be run under
//! `strace -f -c -e trace=fsync,fdatasync`.
#![allow(clippy::disallowed_methods, reason = "a measurement reads the clock")]

use std::error::Error;
use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use windlass_core::id::{CommandId, LoopName, Seq};
use windlass_core::time::Timestamp;
use windlass_store::{Append, Log, Reader, StateDir, Store};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

const ROUNDS: usize = 15;
const DECISIONS: u64 = 8;
const LOOPS: u64 = 16;

fn main() -> Outcome<()> {
    let temp = tempfile::tempdir_in(std::env::current_dir()?)?;
    let vault = StateDir::new(temp.path()).vault(OsStr::new("bench"), Path::new("/bench/.git"));
    let store = Store::open(&vault)?;
    let arguments: Vec<_> = std::env::args().collect();
    if let [_, what, count] = &arguments[..] {
        assert_eq!(what, "steady");
        return decisions(store, "steady", count.parse()?);
    }

    decisions(store.clone(), "warm", 64)?;
    let mut rows: [Vec<Duration>; 4] = Default::default();
    for round in 0..ROUNDS {
        rows[0].push(timed(|| raw_appends(&temp.path().join(format!("raw{round}"))))?);
        rows[1].push(timed(|| decisions(store.clone(), &format!("one{round}"), DECISIONS))?);
        rows[2].push(timed(|| many(&store, round))?);
        rows[3].push(timed(|| polls(&store))?);
    }
    let [raw, one, many, polls] = rows.map(median);
    let micros = |time: Duration, by: u64| time.as_secs_f64() * 1e6 / by as f64;
    println!("raw append + fdatasync, 4 KiB    {:9.1} us each", micros(raw, DECISIONS));
    println!("append, one loop                 {:9.1} us each", micros(one, DECISIONS));
    println!("append / raw                     {:9.2}", one.as_secs_f64() / raw.as_secs_f64());
    println!(
        "{LOOPS} loops x {DECISIONS} / 1 loop x {DECISIONS}         {:9.2}",
        many.as_secs_f64() / one.as_secs_f64()
    );
    println!("poll for commands                {:9.1} us each", micros(polls, 100));
    println!("open a reader and read one View  {:9.1} us", micros(status(&vault)?, 1));
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

fn decisions(mut store: Store, name: &str, count: u64) -> Outcome<()> {
    for seq in 0..count {
        store.append(Append {
            loop_name: LoopName::new(name)?,
            expected: Seq(seq),
            at: Timestamp(0),
            body: "d".repeat(400),
            events: 2,
            view: "v".repeat(1500),
            fold_version: 1,
            takes: None,
            blobs: Vec::new(),
        })?;
    }
    Ok(())
}

fn many(store: &Store, round: usize) -> Outcome<()> {
    std::thread::scope(|scope| {
        let start = |n| {
            let store = store.clone();
            scope.spawn(move || decisions(store, &format!("many{round}-{n}"), DECISIONS))
        };
        let threads: Vec<_> = (0..LOOPS).map(start).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("an appender does not panic"))
    })
}

fn polls(store: &Store) -> Outcome<()> {
    let name = LoopName::new("warm")?;
    for _ in 0..100 {
        store.untaken(&name, CommandId(0))?;
    }
    Ok(())
}

fn status(vault: &windlass_store::VaultDir) -> Outcome<Duration> {
    let name = LoopName::new("warm")?;
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        times.push(timed(|| {
            Reader::open(vault)?.ok_or("no vault")?.head(&name)?.ok_or("no loop")?;
            Ok(())
        })?);
    }
    Ok(median(times))
}

fn timed(what: impl FnOnce() -> Outcome<()>) -> Outcome<Duration> {
    let start = Instant::now();
    what()?;
    Ok(start.elapsed())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
