//! Opening a file that a program of unknown intent has written.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};
use rustix::io::Errno;

const MAX_BYTES: u64 = 1024 * 1024;

#[derive(Debug, thiserror::Error)]
pub enum ReportFileError {
    #[error("it is {0}, not a file")]
    NotAFile(&'static str),
    #[error("it is larger than {} bytes", MAX_BYTES)]
    TooLarge,
    #[error("it cannot be read: {0}")]
    Io(#[from] io::Error),
}

/// `None`: there is no such file. Never waits, follows no symbolic link in the last two names of the path,
/// and never reads more than is allowed, however large the file says it is.
pub fn read(path: &Path) -> Result<Option<Vec<u8>>, ReportFileError> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Ok(None) };
    let flags = OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::RDONLY;
    let opened = openat(CWD, parent, flags | OFlags::DIRECTORY, Mode::empty())
        .and_then(|parent| openat(&parent, name, flags, Mode::empty()));
    let file = match opened {
        Ok(file) => File::from(file),
        Err(Errno::NOENT) => return Ok(None),
        Err(Errno::LOOP) => return Err(ReportFileError::NotAFile("a symbolic link")),
        // The answers to opening a socket, and to a report directory that was replaced.
        Err(Errno::NXIO) => return Err(ReportFileError::NotAFile("a socket")),
        Err(Errno::NOTDIR) => return Err(ReportFileError::NotAFile("below something that is no directory")),
        Err(error) => return Err(ReportFileError::Io(error.into())),
    };
    let found = fstat(&file).map_err(io::Error::from)?;
    let kind = FileType::from_raw_mode(found.st_mode);
    if let Some(other) = other_than_file(kind) {
        return Err(ReportFileError::NotAFile(other));
    }
    if u64::try_from(found.st_size).is_ok_and(|size| size > MAX_BYTES) {
        return Err(ReportFileError::TooLarge);
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES { Err(ReportFileError::TooLarge) } else { Ok(Some(bytes)) }
}

fn other_than_file(kind: FileType) -> Option<&'static str> {
    match kind {
        FileType::RegularFile => None,
        FileType::Directory => Some("a directory"),
        FileType::Fifo => Some("a pipe"),
        FileType::Symlink => Some("a symbolic link"),
        FileType::Socket => Some("a socket"),
        FileType::CharacterDevice | FileType::BlockDevice => Some("a device"),
        FileType::Unknown => Some("of an unknown kind"),
    }
}
