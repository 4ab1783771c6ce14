//! The files of one attempt's directory, and the record by which recovery finds its processes.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::procfs::{self, ProcessId};

/// The variable that carries an attempt's marker into its processes.
pub const ATTEMPT_VARIABLE: &str = "WINDLASS_ATTEMPT";

/// Written before the program starts, removed when its tree is proven dead. While it exists, something of
/// the attempt may be alive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    pub warden: ProcessId,
    pub boot_id: String,
    /// The namespace's init, or the program itself where there is no namespace.
    pub leader: ProcessId,
    pub marker: String,
}

impl Record {
    /// A record that cannot be parsed was torn by a power cut, and its processes with it: whoever reads one
    /// of this boot reads it whole.
    pub fn read(dir: &Path) -> io::Result<Option<Record>> {
        match std::fs::read(record_path(dir)) {
            Ok(text) => Ok(serde_json::from_slice(&text).ok()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whole or not at all, but without fsync: the record matters only while its processes can live, and
    /// after a power cut they do not (the boot id says so).
    pub fn write(&self, dir: &Path) -> io::Result<()> {
        let unfinished = dir.join("record.json.tmp");
        std::fs::write(&unfinished, serde_json::to_vec(self)?)?;
        std::fs::rename(unfinished, record_path(dir))
    }

    pub fn remove(dir: &Path) -> io::Result<()> {
        match std::fs::remove_file(record_path(dir)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    pub fn is_of_this_boot(&self) -> io::Result<bool> {
        Ok(self.boot_id == procfs::boot_id()?)
    }
}

pub fn record_path(dir: &Path) -> PathBuf {
    dir.join("record.json")
}

/// Held by the warden until its tree is empty.
pub fn lock_path(dir: &Path) -> PathBuf {
    dir.join("lock")
}

pub fn stdout_path(dir: &Path) -> PathBuf {
    dir.join("stdout")
}

pub fn stderr_path(dir: &Path) -> PathBuf {
    dir.join("stderr")
}

/// What a warden that failed had to say; empty otherwise.
pub fn log_path(dir: &Path) -> PathBuf {
    dir.join("warden.log")
}

/// `None`: another process holds it.
pub fn try_lock(file: File) -> io::Result<Option<File>> {
    use rustix::fs::{FlockOperation, flock};
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
