//! What was last known of a directory tree: for each file the stat key under
//! which its content had which object id. A walk turns one model into the
//! next; a file whose key is unchanged is not read again.

use std::sync::{Arc, Mutex, PoisonError};

use gix_hash::ObjectId;
use gix_object::bstr::BString;
use gix_object::tree::EntryKind;
use rustix::fs::FileType;

use crate::dir::StatKey;
use crate::excludes::Patterns;

/// Taken although ignored, because the base tracks it.
pub(crate) const FORCED: u8 = 1;
/// Its content had CRLF where attributes speak of line endings, so its id
/// depends on what the base holds.
pub(crate) const ENDINGS: u8 = 2;

pub(crate) struct DirNode {
    pub stat: StatKey,
    pub racy: bool,
    /// Whether `tree` is out of date by this directory's own entries.
    pub dirty: bool,
    pub tree: Sealed,
    pub ignore: Option<IgnoreFile>,
    /// All names but `.git`, sorted; ignored ones too, so that the listing is
    /// complete while the directory's own key is unchanged.
    pub entries: Vec<Entry>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sealed {
    Unknown,
    /// Nothing in it that a tree would hold.
    Empty,
    Tree(ObjectId),
}

pub(crate) struct IgnoreFile {
    pub stat: StatKey,
    pub racy: bool,
    /// Absent in a model read from disk, until the first walk.
    pub patterns: Option<Arc<Patterns>>,
}

pub(crate) struct Entry {
    pub name: BString,
    pub flags: u8,
    pub what: What,
}

pub(crate) enum What {
    /// A file or a link.
    Blob(Blob),
    Dir(Child),
    Ignored,
    Skipped(Skip),
}

#[derive(Clone, Copy)]
pub(crate) struct Blob {
    pub stat: StatKey,
    pub racy: bool,
    pub oid: ObjectId,
}

/// Why something that is not ignored is not in the tree either.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Skip {
    /// Not looked at yet.
    Unseen,
    Special(u32),
    TooLarge(u64),
    UnsafeName,
    Unreadable(i32),
    Collision,
    TooDeep,
}

pub(crate) enum Child {
    Here(Box<DirNode>),
    /// Another thread is walking it.
    Away(Slot),
}

pub(crate) type Slot = Arc<Mutex<Option<Box<DirNode>>>>;

impl Blob {
    pub(crate) fn kind(&self) -> EntryKind {
        if self.stat.kind() == FileType::Symlink {
            EntryKind::Link
        } else if self.stat.is_executable() {
            EntryKind::BlobExecutable
        } else {
            EntryKind::Blob
        }
    }
}

impl Entry {
    /// What of it a tree object would show, but for the id of a directory.
    pub(crate) fn shows(&self) -> Option<(EntryKind, Option<ObjectId>)> {
        match &self.what {
            What::Blob(blob) => Some((blob.kind(), Some(blob.oid))),
            What::Dir(_) => Some((EntryKind::Tree, None)),
            What::Ignored | What::Skipped(_) => None,
        }
    }
}

impl DirNode {
    pub(crate) fn entry(&self, name: &[u8]) -> Option<&Entry> {
        self.entries
            .binary_search_by(|entry| entry.name.as_slice().cmp(name))
            .ok()
            .map(|at| &self.entries[at])
    }

    /// The number of files and links below.
    pub(crate) fn count(&self) -> usize {
        self.entries
            .iter()
            .map(|entry| match &entry.what {
                What::Blob(_) => 1,
                What::Dir(Child::Here(node)) => node.count(),
                What::Dir(Child::Away(_)) | What::Ignored | What::Skipped(_) => 0,
            })
            .sum()
    }

    /// Takes back what other threads walked.
    pub(crate) fn gather(&mut self) {
        for entry in &mut self.entries {
            let What::Dir(child) = &mut entry.what else { continue };
            if let Child::Away(slot) = child {
                let node = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
                *child = Child::Here(node.expect("every job of a walk that succeeded filled its slot"));
            }
            if let Child::Here(node) = child {
                node.gather();
            }
        }
    }
}
