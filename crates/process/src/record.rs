//! The files of one attempt's directory, and the record by which recovery finds its processes.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::container::Client;
use crate::procfs::{self, ProcessId};
use crate::program::remove_tree;

/// The variable that carries an attempt's marker into its processes.
pub const ATTEMPT_VARIABLE: &str = "INVOCATION_ID";

/// Written before the program starts, removed when its tree is proven dead. While it exists, something of
/// the attempt may be alive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessRecord {
    pub warden: ProcessId,
    pub boot_id: String,
    /// The namespace's init, or the program itself where there is no namespace.
    pub leader: ProcessId,
    pub marker: String,
    /// What does not die with the processes above.
    #[serde(default)]
    pub container: Option<NamedContainer>,
}

/// A container that a client may have started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedContainer {
    pub client: Client,
    pub name: String,
}

impl ProcessRecord {
    /// One that cannot be parsed was removed, or torn by a power cut or in the writing: the program is told to
    /// go only after it is whole.
    pub fn read(dir: &Path) -> io::Result<Option<ProcessRecord>> {
        match std::fs::read(record_path(dir)) {
            Ok(text) => Ok(serde_json::from_slice(&text).ok()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// In place and without fsync: the record matters only while its processes can live, and after a power
    /// cut they do not (the boot id says so).
    pub fn write(&self, dir: &Path) -> io::Result<()> {
        let text = serde_json::to_vec(self)?;
        let path = record_path(dir);
        let mut file = File::options().write(true).create(true).truncate(false).open(path)?;
        file.write_all(&text)?;
        file.set_len(text.len() as u64)
    }

    /// Cuts it to one byte, which is no record. A file that was emptied is written to the disk by ext4 as soon as
    /// it is written again and closed, and there would be one for every program.
    pub fn remove(dir: &Path) -> io::Result<()> {
        match cut(&record_path(dir), 1) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    pub fn is_of_this_boot(&self) -> io::Result<bool> {
        Ok(self.boot_id == procfs::boot_id()?)
    }
}

/// The warden's own files.
const OWN: [&str; 6] = ["lock", "stdout", "stderr", "warden.log", "refusals", "activity"];

/// Makes `dir` ready for an attempt, and leaves nothing of the last one in it. The warden's own files stay,
/// emptied: a file system that has just deleted many files is slow to make new ones.
pub fn clear_attempt(dir: &Path) -> io::Result<()> {
    match std::fs::create_dir(dir) {
        Ok(()) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return std::fs::create_dir_all(dir),
        Err(error) => return Err(error),
    }
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        if kind.is_dir() {
            remove_tree(&path)?;
        } else if kind.is_file() && entry.file_name() == "record.json" {
            ProcessRecord::remove(dir)?;
        } else if kind.is_file() && OWN.iter().any(|own| entry.file_name() == *own) {
            cut(&path, 0)?;
        } else {
            std::fs::remove_file(&path)?;
        }
    }
    Ok(())
}

fn cut(path: &Path, length: u64) -> io::Result<()> {
    if std::fs::symlink_metadata(path)?.len() <= length {
        return Ok(());
    }
    File::options().write(true).custom_flags(libc::O_NOFOLLOW).open(path)?.set_len(length)
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

/// Its time is the moment at which the program was last seen to do something.
pub fn activity_path(dir: &Path) -> PathBuf {
    dir.join("activity")
}

/// When the program of an attempt was last seen to do something. `None`: nothing was seen yet, or nobody looks,
/// because its silence is not limited. The directory may still have the time of the attempt before.
pub fn last_activity(dir: &Path) -> Option<SystemTime> {
    std::fs::symlink_metadata(activity_path(dir)).and_then(|file| file.modified()).ok()
}

/// What the program's proxy refused, a line each.
pub fn refusals_path(dir: &Path) -> PathBuf {
    dir.join("refusals")
}

/// The first of them.
pub fn refusals(dir: &Path) -> Vec<String> {
    const MOST: usize = 20;
    let text = std::fs::read_to_string(refusals_path(dir)).unwrap_or_default();
    text.lines().take(MOST).map(str::to_owned).collect()
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
