//! Bulk by content: task texts, briefs, transcripts, gate output. A record
//! names a blob by its hash, and the blob is durable before the record is.

use std::io;
use std::path::PathBuf;

use windlass_core::id::BlobId;

use crate::log::StoreError;

pub trait ReadBlobs: Send + Sync {
    /// The bytes of a blob, checked against its name.
    fn blob(&self, id: &BlobId, limit: u64) -> Result<Vec<u8>, BlobError>;
}

pub trait Blobs: ReadBlobs {
    /// Names the bytes and keeps them: durable no later than the next record
    /// that is appended, or the next command that is sent, through this store.
    fn put(&self, bytes: Vec<u8>) -> Result<BlobId, BlobError>;
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
    Store(#[from] StoreError),
}

/// The name of these bytes.
pub fn id_of(bytes: &[u8]) -> BlobId {
    BlobId::new(blake3::hash(bytes).to_hex().as_str())
}

/// The id in the form it is stored under; anything but 64 hex digits is refused,
/// so that a forged id can never become a path.
pub(crate) fn check_id(id: &BlobId) -> Result<&str, BlobError> {
    let text = id.as_str();
    let legal = text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if legal { Ok(text) } else { Err(BlobError::BadId(text.to_owned())) }
}
