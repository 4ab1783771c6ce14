//! The lease of a loop: a lock on a file that the kernel releases when its owner
//! dies, however it dies. The file is never removed, since removing it would
//! let two owners lock two files of one name.
#![allow(clippy::disallowed_methods, reason = "bounds its own wait for a lock")]

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use windlass_core::id::LoopName;
use windlass_core::time::Timestamp;

use crate::lease::{Holder, Lease, LeaseError, LeaseOwner};

/// A probe holds the lock for an instant; a real owner holds it much longer.
const PATIENCE: Duration = Duration::from_millis(300);
const PAUSE: Duration = Duration::from_millis(5);

/// Held as long as this value lives.
#[derive(Debug)]
pub(crate) struct LoopLock {
    _file: File,
}

impl Lease for LoopLock {}

impl LoopLock {
    /// Takes the lock, creating its file. `now` is kept for messages.
    pub(crate) fn take(path: &Path, name: &LoopName, now: Timestamp) -> Result<Self, LeaseError> {
        let failed = |source| LeaseError::Io { path: path.to_owned(), source };
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let mut file = file.map_err(failed)?;
        if !lock_within(&file, PATIENCE).map_err(failed)? {
            return Err(LeaseError::Held { name: name.clone(), owner: read_owner(&mut file), now });
        }
        write_owner(&mut file, now).map_err(failed)?;
        Ok(Self { _file: file })
    }
}

/// Whether someone holds the lock. A missing file is held by nobody, and is not created.
pub(crate) fn holder(path: &Path) -> io::Result<Holder> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Holder::Nobody),
        Err(source) => return Err(source),
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(Holder::Nobody),
        Err(TryLockError::WouldBlock) => Ok(Holder::Somebody(read_owner(&mut file))),
        Err(TryLockError::Error(source)) => Err(source),
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

fn read_owner(file: &mut File) -> Option<LeaseOwner> {
    let mut text = String::new();
    file.take(100).read_to_string(&mut text).ok()?;
    let (pid, since) = text.trim_end().split_once(' ')?;
    Some(LeaseOwner { pid: pid.parse().ok()?, since: since.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demo() -> LoopName {
        LoopName::new("demo").unwrap()
    }

    #[test]
    fn a_held_lock_names_its_owner_and_a_dropped_one_is_free() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("demo.lock");
        assert_eq!(holder(&path).unwrap(), Holder::Nobody);
        assert!(!path.exists(), "a probe creates nothing");

        let owner = LeaseOwner { pid: std::process::id(), since: Timestamp(1_700_000_000_000) };
        let lock = LoopLock::take(&path, &demo(), owner.since).unwrap();
        assert_eq!(holder(&path).unwrap(), Holder::Somebody(Some(owner.clone())));
        match LoopLock::take(&path, &demo(), Timestamp(0)) {
            Err(LeaseError::Held { owner: found, .. }) => assert_eq!(found, Some(owner)),
            other => panic!("{other:?}"),
        }
        drop(lock);
        assert_eq!(holder(&path).unwrap(), Holder::Nobody);
        LoopLock::take(&path, &demo(), Timestamp(0)).unwrap();
    }

    #[test]
    fn probes_do_not_keep_an_owner_out() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("demo.lock");
        drop(LoopLock::take(&path, &demo(), Timestamp(0)).unwrap());
        let stop = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            let probe = || {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    holder(&path).unwrap();
                }
            };
            scope.spawn(probe);
            for _ in 0..200 {
                LoopLock::take(&path, &demo(), Timestamp(0)).unwrap();
            }
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        });
    }
}
