//! After a crash: nothing of an old attempt is alive before anything new starts.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::procfs::{self, ProcessId};
use crate::record::{self, ATTEMPT_VARIABLE, NamedContainer, ProcessRecord};
use crate::sweep::sweep;

/// For the processes that must be killed to be gone, after the patience with those that end by themselves.
const KILLING: Duration = Duration::from_secs(10);

/// For an engine to end a container.
pub const ENGINE_PATIENCE: Duration = Duration::from_secs(20);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leftovers {
    /// Only attempts of which something was alive.
    pub ended: Vec<EndedAttempt>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedAttempt {
    pub dir: PathBuf,
    pub how: LeftoverEnd,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeftoverEnd {
    /// Its warden saw that the supervisor was gone and ended the tree.
    ByItself,
    Killed {
        pids: Vec<i32>,
    },
}

#[derive(Debug, thiserror::Error)]
pub enum LeftoversError {
    #[error("cannot tell what is alive of {path}: {source}")]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("cannot end what is alive of {dir}: {}", list(.pids))]
    Alive { dir: PathBuf, pids: Vec<i32> },
    #[error("{dir} is locked, but its record names no living process")]
    Locked { dir: PathBuf },
}

/// Makes sure that nothing is alive of any attempt whose directory lies in `attempts_dir`: waits up to
/// `patience` for wardens that are ending their trees, then kills. Call it when no attempt there may run.
pub fn end_leftovers(attempts_dir: &Path, patience: Duration) -> Result<Leftovers, LeftoversError> {
    let deadline = Instant::now() + patience;
    let mut leftovers = Leftovers::default();
    for dir in attempts(attempts_dir)? {
        let unreadable = |source| LeftoversError::Unreadable { path: dir.clone(), source };
        let waited = wait_for_warden(&dir, deadline).map_err(unreadable)?;
        let ended = match ProcessRecord::read(&dir).map_err(unreadable)? {
            Some(record) => end_recorded(&record, Instant::now() + KILLING).map_err(unreadable)?,
            None if waited == Waited::InVain => return Err(LeftoversError::Locked { dir }),
            None => Killed::default(),
        };
        if !ended.alive.is_empty() {
            return Err(LeftoversError::Alive { dir, pids: ended.alive });
        }
        ProcessRecord::remove(&dir).map_err(unreadable)?;
        if !ended.killed.is_empty() {
            leftovers.ended.push(EndedAttempt { dir, how: LeftoverEnd::Killed { pids: ended.killed } });
        } else if waited == Waited::UntilFree {
            leftovers.ended.push(EndedAttempt { dir, how: LeftoverEnd::ByItself });
        }
    }
    Ok(leftovers)
}

#[derive(Debug, Default)]
pub struct Killed {
    pub killed: Vec<i32>,
    pub alive: Vec<i32>,
}

/// Kills everything that belongs to a record: what descends from its warden and its leader, and whatever
/// carries its marker. The warden comes last, since orphans are known by it as long as it lives.
pub fn end_recorded(record: &ProcessRecord, deadline: Instant) -> io::Result<Killed> {
    if !record.is_of_this_boot()? {
        return Ok(Killed::default());
    }
    let entry = format!("{ATTEMPT_VARIABLE}={}", record.marker).into_bytes();
    let below = sweep(deadline, || {
        let mut found = members(record, &entry)?;
        found.remove(&record.warden);
        Ok(found.into_iter().collect())
    })?;
    let warden = sweep(deadline, || Ok(members(record, &entry)?.into_iter().collect()))?;
    if let Some(NamedContainer { client, name }) = &record.container {
        client.end(name, ENGINE_PATIENCE).map_err(io::Error::other)?;
    }
    let pids = |of: &dyn Fn(&crate::sweep::Swept) -> Vec<ProcessId>| {
        let unique: BTreeSet<i32> = [&below, &warden].into_iter().flat_map(of).map(|id| id.pid).collect();
        unique.into_iter().collect::<Vec<i32>>()
    };
    Ok(Killed {
        killed: pids(&|swept| swept.killed.iter().copied().collect()),
        alive: pids(&|swept| swept.alive.clone()),
    })
}

fn members(record: &ProcessRecord, entry: &[u8]) -> io::Result<BTreeSet<ProcessId>> {
    let everyone = procfs::everyone()?;
    let this = std::process::id() as i32;
    let mut found = BTreeSet::new();
    for stat in everyone.iter().filter(|stat| stat.is_living() && stat.id.pid != this) {
        if stat.id == record.warden || stat.id == record.leader {
            found.insert(stat.id);
            let below = procfs::descendants_among(&everyone, stat.id.pid);
            found.extend(below.iter().filter(|stat| stat.is_living()).map(|stat| stat.id));
        } else if procfs::was_given(stat.id.pid, entry) {
            found.insert(stat.id);
        }
    }
    Ok(found)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Waited {
    NotAtAll,
    UntilFree,
    InVain,
}

fn wait_for_warden(dir: &Path, deadline: Instant) -> io::Result<Waited> {
    let path = record::lock_path(dir);
    let mut waited = Waited::NotAtAll;
    loop {
        let file = match File::options().write(true).open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(waited),
            Err(error) => return Err(error),
        };
        if record::try_lock(file)?.is_some() {
            return Ok(waited);
        }
        waited = Waited::UntilFree;
        if Instant::now() >= deadline {
            return Ok(Waited::InVain);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn attempts(attempts_dir: &Path) -> Result<Vec<PathBuf>, LeftoversError> {
    let unreadable = |source| LeftoversError::Unreadable { path: attempts_dir.to_path_buf(), source };
    let entries = match std::fs::read_dir(attempts_dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(error)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(unreadable)?;
        if entry.file_type().map_err(unreadable)?.is_dir() {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

fn list(pids: &[i32]) -> String {
    let words: Vec<String> = pids.iter().map(|pid| format!("process {pid}")).collect();
    words.join(", ")
}
