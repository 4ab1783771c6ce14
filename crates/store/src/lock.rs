//! Who drives a loop: a lock on a file that the kernel releases when its owner
//! dies, however it dies. The file is never removed, since removing it would
//! let two owners lock two files of one name.
#![allow(clippy::disallowed_methods, reason = "bounds its own wait for a lock")]

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use windlass_core::time::Timestamp;

/// A probe holds the lock for an instant; a real owner holds it much longer.
const PATIENCE: Duration = Duration::from_millis(300);
const PAUSE: Duration = Duration::from_millis(5);

/// Held as long as this value lives.
#[derive(Debug)]
pub struct LoopLock {
    _file: File,
}

/// Who holds a lock, as the lock's file tells; for messages only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    pub pid: u32,
    pub since: Timestamp,
}

#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("{}: held by {}", path.display(), describe(owner.as_ref()))]
    Held { path: PathBuf, owner: Option<Owner> },
    #[error("{}: cannot be locked: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

impl LoopLock {
    /// Takes the lock, creating its file. `now` is kept for messages.
    pub fn take(path: &Path, now: Timestamp) -> Result<Self, LockError> {
        let failed = |source| LockError::Io { path: path.to_owned(), source };
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let mut file = file.map_err(failed)?;
        if !lock_within(&file, PATIENCE).map_err(failed)? {
            return Err(LockError::Held { path: path.to_owned(), owner: read_owner(&mut file) });
        }
        write_owner(&mut file, now).map_err(failed)?;
        Ok(Self { _file: file })
    }
}

/// Whether someone holds the lock. A missing file is held by nobody, and is not created.
pub fn holder(path: &Path) -> Result<Holder, LockError> {
    let failed = |source| LockError::Io { path: path.to_owned(), source };
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Holder::Nobody),
        Err(source) => return Err(failed(source)),
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(Holder::Nobody),
        Err(TryLockError::WouldBlock) => Ok(Holder::Somebody(read_owner(&mut file))),
        Err(TryLockError::Error(source)) => Err(failed(source)),
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    Nobody,
    /// Its owner, unless it was caught before it had written who it is.
    Somebody(Option<Owner>),
}

impl Holder {
    pub fn is_held(&self) -> bool {
        match self {
            Self::Nobody => false,
            Self::Somebody(_) => true,
        }
    }
}

/// Tries for the lock until the patience ends; says whether it was got.
pub(crate) fn lock_within(file: &File, patience: Duration) -> io::Result<bool> {
    let deadline = Instant::now() + patience;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => std::thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => return Ok(false),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

fn write_owner(file: &mut File, now: Timestamp) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(format!("{} {now}\n", std::process::id()).as_bytes())
}

fn read_owner(file: &mut File) -> Option<Owner> {
    let mut text = String::new();
    file.take(100).read_to_string(&mut text).ok()?;
    let (pid, since) = text.trim_end().split_once(' ')?;
    Some(Owner { pid: pid.parse().ok()?, since: since.parse().ok()? })
}

fn describe(owner: Option<&Owner>) -> String {
    match owner {
        Some(Owner { pid, since }) => format!("process {pid} since {since}"),
        None => "another process".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_lock_names_its_owner_and_a_dropped_one_is_free() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("demo.lock");
        assert_eq!(holder(&path).unwrap(), Holder::Nobody);
        assert!(!path.exists(), "a probe creates nothing");

        let owner = Owner { pid: std::process::id(), since: Timestamp(1_700_000_000_000) };
        let lock = LoopLock::take(&path, owner.since).unwrap();
        assert_eq!(holder(&path).unwrap(), Holder::Somebody(Some(owner.clone())));
        match LoopLock::take(&path, Timestamp(0)) {
            Err(LockError::Held { owner: found, .. }) => assert_eq!(found, Some(owner)),
            other => panic!("{other:?}"),
        }
        drop(lock);
        assert_eq!(holder(&path).unwrap(), Holder::Nobody);
        LoopLock::take(&path, Timestamp(0)).unwrap();
    }

    #[test]
    fn probes_do_not_keep_an_owner_out() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("demo.lock");
        drop(LoopLock::take(&path, Timestamp(0)).unwrap());
        let stop = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            let probe = || {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    holder(&path).unwrap();
                }
            };
            scope.spawn(probe);
            for _ in 0..200 {
                LoopLock::take(&path, Timestamp(0)).unwrap();
            }
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        });
    }
}
