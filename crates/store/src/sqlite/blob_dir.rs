//! The blobs that are too large for the database: each is a file, durable once
//! it was put.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use windlass_core::id::BlobId;

use crate::blobs::{BlobError, check_id, id_of};
use crate::layout::create_private;

/// Blobs up to this size live in the database.
pub(crate) const INLINE_MAX: usize = 64 * 1024;

/// The blobs that are files: `<dir>/ab/cdef…`.
#[derive(Clone, Debug)]
pub(crate) struct BlobDir(PathBuf);

impl BlobDir {
    pub(crate) fn new(dir: PathBuf) -> Self {
        Self(dir)
    }

    pub(crate) fn put(&self, bytes: &[u8]) -> Result<BlobId, BlobError> {
        self.store(bytes)
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

    /// It need not be there.
    pub(crate) fn remove(&self, id: &BlobId) -> Result<(), BlobError> {
        let path = self.path(id)?;
        match fs::remove_file(&path) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(source) => Err(failed(&path, source)),
        }
    }

    fn store(&self, bytes: &[u8]) -> Result<BlobId, BlobError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let temp_dir = self.0.join("tmp");
        create_private(&temp_dir).map_err(|source| failed(&temp_dir, source))?;
        let serial = NEXT.fetch_add(1, Ordering::Relaxed);
        let temp = temp_dir.join(format!("{}-{serial}", std::process::id()));
        let id = id_of(bytes);
        let stored = write_flushed(&temp, bytes)
            .map_err(|source| failed(&temp, source))
            .and_then(|()| self.publish(&temp, &id).map(|()| id));
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

pub(crate) fn verified(id: &BlobId, bytes: Vec<u8>, path: &Path) -> Result<Vec<u8>, BlobError> {
    if id_of(&bytes) == *id {
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

fn write_flushed(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(bytes)?;
    file.sync_all()
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
    fn a_blob_is_a_file_under_its_hash() {
        let (temp, blobs) = dir();
        let bytes = vec![7; INLINE_MAX + 1];
        let id = blobs.put(&bytes).unwrap();
        assert_eq!(blobs.get(&id, u64::MAX).unwrap().unwrap(), bytes);
        assert_eq!(blobs.put(&bytes).unwrap(), id);
        assert_eq!(fs::read_dir(temp.path().join("tmp")).unwrap().count(), 0);
        assert!(matches!(blobs.get(&id, 10), Err(BlobError::TooLarge { .. })));
    }

    #[test]
    fn a_damaged_blob_is_not_handed_out() {
        let (_temp, blobs) = dir();
        let id = blobs.put(&vec![7; INLINE_MAX + 1]).unwrap();
        fs::write(blobs.path(&id).unwrap(), "changed").unwrap();
        assert!(matches!(blobs.get(&id, u64::MAX), Err(BlobError::Damaged { .. })));
    }

    #[test]
    fn a_forged_id_is_no_path() {
        let (_temp, blobs) = dir();
        for forged in ["", "../../../etc/passwd", "ab", &"A".repeat(64)] {
            assert!(matches!(blobs.get(&BlobId::new(forged), 1), Err(BlobError::BadId(_))), "{forged}");
        }
    }
}
