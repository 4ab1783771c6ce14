//! Between the core's text ids and git's binary ones.

use gix_hash::ObjectId;
use windlass_core::id::{CommitId, TreeId};

#[derive(Debug, thiserror::Error)]
#[error("{text:?} is not a git object id of 40 hex digits")]
pub struct BadId {
    text: String,
}

pub(crate) fn commit_oid(id: &CommitId) -> Result<ObjectId, BadId> {
    parse(id.as_str())
}

pub(crate) fn tree_oid(id: &TreeId) -> Result<ObjectId, BadId> {
    parse(id.as_str())
}

pub(crate) fn commit_id(oid: ObjectId) -> CommitId {
    CommitId::new(oid.to_hex().to_string())
}

pub(crate) fn tree_id(oid: ObjectId) -> TreeId {
    TreeId::new(oid.to_hex().to_string())
}

pub(crate) fn parse(text: &str) -> Result<ObjectId, BadId> {
    ObjectId::from_hex(text.as_bytes()).map_err(|_| BadId { text: text.to_owned() })
}
