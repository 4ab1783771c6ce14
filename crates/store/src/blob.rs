//! Bulk by content: briefs, transcripts, diffs, gate output. A small blob rides
//! in the transaction of the record that names it and costs no flush of its
//! own; a large one is a file, durable before that record is appended.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use windlass_core::id::BlobId;

use crate::layout::create_private;
use crate::log::Fault;

/// Blobs up to this size live in the database.
pub const INLINE_MAX: usize = 64 * 1024;

/// A blob on its way into an `Append`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blob {
    id: BlobId,
    inline: Option<Vec<u8>>,
}

impl Blob {
    pub fn id(&self) -> &BlobId {
        &self.id
    }

    /// The bytes still to be stored; nothing for a blob that is already a file.
    pub(crate) fn inline(&self) -> Option<&[u8]> {
        self.inline.as_deref()
    }
}

#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    #[error("blob {0} is not in the vault")]
    Missing(BlobId),
    #[error("{0:?} is not a blob's name")]
    BadId(String),
    #[error("blob {id} is {size} bytes, above the limit of {limit}")]
    TooLarge { id: BlobId, size: u64, limit: u64 },
    #[error("{}: blob {id} does not match its name: the vault was damaged or changed", path.display())]
    Damaged { id: BlobId, path: PathBuf },
    #[error("{}: no space left on the disk", path.display())]
    Full { path: PathBuf },
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Store(#[from] Fault),
}

/// The blobs that are files: `<dir>/ab/cdef…`.
#[derive(Clone, Debug)]
pub struct BlobDir(PathBuf);

impl BlobDir {
    pub fn new(dir: PathBuf) -> Self {
        Self(dir)
    }

    /// Names the bytes. Small ones are only carried; large ones are stored at once.
    pub fn stage(&self, bytes: Vec<u8>) -> Result<Blob, BlobError> {
        if bytes.len() <= INLINE_MAX {
            let id = id_of(&blake3::hash(&bytes));
            return Ok(Blob { id, inline: Some(bytes) });
        }
        self.store(&mut bytes.as_slice())
    }

    /// The same for a file's content, which is copied without being held in memory.
    pub fn stage_file(&self, path: &Path) -> Result<Blob, BlobError> {
        let mut file = open_regular(path).map_err(|source| failed(path, source))?;
        let mut start = Vec::new();
        (&mut file)
            .take(INLINE_MAX as u64 + 1)
            .read_to_end(&mut start)
            .map_err(|source| failed(path, source))?;
        if start.len() <= INLINE_MAX {
            self.stage(start)
        } else {
            self.store(&mut start.as_slice().chain(file))
        }
    }

    /// The bytes of a blob that is a file; nothing if it is not one.
    pub(crate) fn get(&self, id: &BlobId, limit: u64) -> Result<Option<Vec<u8>>, BlobError> {
        let path = self.path(id)?;
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(failed(&path, source)),
        };
        let size = file.metadata().map_err(|source| failed(&path, source))?.len();
        if size > limit {
            return Err(BlobError::TooLarge { id: id.clone(), size, limit });
        }
        let mut bytes = Vec::new();
        file.take(limit).read_to_end(&mut bytes).map_err(|source| failed(&path, source))?;
        verified(id, bytes, &path).map(Some)
    }

    fn store(&self, content: &mut dyn Read) -> Result<Blob, BlobError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let temp_dir = self.0.join("tmp");
        create_private(&temp_dir).map_err(|source| failed(&temp_dir, source))?;
        let serial = NEXT.fetch_add(1, Ordering::Relaxed);
        let temp = temp_dir.join(format!("{}-{serial}", std::process::id()));
        let stored = write_hashed(&temp, content)
            .map_err(|source| failed(&temp, source))
            .and_then(|id| self.publish(&temp, &id).map(|()| Blob { id, inline: None }));
        if stored.is_err() {
            // The temporary file is worthless either way; the error that matters is the first.
            let _ = fs::remove_file(&temp);
        }
        stored
    }

    /// Moves a finished, flushed file to its name, and makes the name durable.
    fn publish(&self, temp: &Path, id: &BlobId) -> Result<(), BlobError> {
        let path = self.path(id)?;
        let shelf = path.parent().expect("a blob's path has a parent").to_owned();
        if !shelf.exists() {
            create_private(&shelf).map_err(|source| failed(&shelf, source))?;
            sync_dir(&self.0).map_err(|source| failed(&self.0, source))?;
        }
        fs::rename(temp, &path).map_err(|source| failed(&path, source))?;
        sync_dir(&shelf).map_err(|source| failed(&shelf, source))
    }

    fn path(&self, id: &BlobId) -> Result<PathBuf, BlobError> {
        let text = check_id(id)?;
        Ok(self.0.join(&text[..2]).join(&text[2..]))
    }
}

/// The id in the form it is stored under; anything but 64 hex digits is refused,
/// so that a forged id can never become a path.
pub(crate) fn check_id(id: &BlobId) -> Result<&str, BlobError> {
    let text = id.as_str();
    let legal = text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if legal { Ok(text) } else { Err(BlobError::BadId(text.to_owned())) }
}

pub(crate) fn verified(id: &BlobId, bytes: Vec<u8>, path: &Path) -> Result<Vec<u8>, BlobError> {
    if id_of(&blake3::hash(&bytes)) == *id {
        Ok(bytes)
    } else {
        Err(BlobError::Damaged { id: id.clone(), path: path.to_owned() })
    }
}

pub(crate) fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

pub(crate) fn is_out_of_space(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

fn id_of(hash: &blake3::Hash) -> BlobId {
    BlobId::new(hash.to_hex().as_str())
}

fn write_hashed(path: &Path, content: &mut dyn Read) -> io::Result<BlobId> {
    let mut file = File::create_new(path)?;
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; 128 * 1024];
    loop {
        let read = match content.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        hasher.update(&buffer[..read]);
        file.write_all(&buffer[..read])?;
    }
    file.sync_all()?;
    Ok(id_of(&hasher.finalize()))
}

/// An attempt's directory may hold anything: no symlink is followed and no
/// FIFO is waited on.
fn open_regular(path: &Path) -> io::Result<File> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file = fs::OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"))
    }
}

fn failed(path: &Path, source: io::Error) -> BlobError {
    let path = path.to_owned();
    if is_out_of_space(&source) { BlobError::Full { path } } else { BlobError::Io { path, source } }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dir() -> (tempfile::TempDir, BlobDir) {
        let temp = tempfile::tempdir().unwrap();
        let blobs = BlobDir::new(temp.path().to_owned());
        (temp, blobs)
    }

    #[test]
    fn a_small_blob_touches_no_file() {
        let (temp, blobs) = dir();
        let blob = blobs.stage(vec![7; INLINE_MAX]).unwrap();
        assert_eq!(blob.inline().map(<[u8]>::len), Some(INLINE_MAX));
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_large_blob_is_a_file_under_its_hash_whichever_way_it_came() {
        let (temp, blobs) = dir();
        let bytes = vec![7; INLINE_MAX + 1];
        let blob = blobs.stage(bytes.clone()).unwrap();
        assert_eq!(blob.inline(), None);
        assert_eq!(blobs.get(blob.id(), u64::MAX).unwrap().unwrap(), bytes);
        let source = temp.path().join("transcript");
        fs::write(&source, &bytes).unwrap();
        assert_eq!(blobs.stage_file(&source).unwrap(), blob);
        assert_eq!(fs::read_dir(temp.path().join("tmp")).unwrap().count(), 0);
        assert!(matches!(blobs.get(blob.id(), 10), Err(BlobError::TooLarge { .. })));
    }

    #[test]
    fn a_damaged_blob_is_not_handed_out() {
        let (_temp, blobs) = dir();
        let blob = blobs.stage(vec![7; INLINE_MAX + 1]).unwrap();
        fs::write(blobs.path(blob.id()).unwrap(), "changed").unwrap();
        assert!(matches!(blobs.get(blob.id(), u64::MAX), Err(BlobError::Damaged { .. })));
    }

    #[test]
    fn a_forged_id_is_no_path() {
        let (_temp, blobs) = dir();
        for forged in ["", "../../../etc/passwd", "ab", &"A".repeat(64)] {
            assert!(matches!(blobs.get(&BlobId::new(forged), 1), Err(BlobError::BadId(_))), "{forged}");
        }
    }

    #[test]
    fn neither_a_symlink_nor_a_fifo_is_read_as_a_transcript() {
        let (temp, blobs) = dir();
        let link = temp.path().join("link");
        std::os::unix::fs::symlink("/etc/hostname", &link).unwrap();
        assert!(blobs.stage_file(&link).is_err());
        let fifo = temp.path().join("fifo");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status().unwrap();
        assert!(made.success());
        assert!(blobs.stage_file(&fifo).is_err());
    }
}
