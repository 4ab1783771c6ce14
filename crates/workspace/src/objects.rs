//! Reading git objects, and knowing which are there.

use std::path::Path;
use std::sync::Arc;

use gix_hash::ObjectId;
use gix_object::bstr::{BString, ByteSlice};
use gix_object::tree::EntryKind;
use gix_object::{Find, FindHeader, Kind};
use gix_odb::store::init::{Options, Slots};

use crate::fault::{At, FileFault};

#[derive(Debug, thiserror::Error)]
pub enum ObjectError {
    #[error("object {id} is missing")]
    Missing { id: ObjectId },
    #[error("object {id} is a {found}, not a {wanted}")]
    WrongKind { id: ObjectId, wanted: Kind, found: Kind },
    #[error("object {id} cannot be read: {detail}")]
    Corrupt { id: ObjectId, detail: String },
    #[error("content with a SHA-1 collision attack was refused: {detail}")]
    Collision { detail: String },
    #[error("tree {id} has the entry {name:?}, which no checkout may hold")]
    UnsafeName { id: ObjectId, name: BString },
    #[error(transparent)]
    File(#[from] FileFault),
}

/// An object directory, shared between threads.
#[derive(Clone)]
pub(crate) struct ObjectStore {
    store: Arc<gix_odb::Store>,
}

impl ObjectStore {
    pub(crate) fn open(objects: &Path) -> Result<Self, FileFault> {
        let options = Options {
            slots: Slots::AsNeededByDiskState { multiplier: 2.0, minimum: 256 },
            ..Options::default()
        };
        let store = gix_odb::Store::at_opts(
            objects.to_owned(),
            gix_hash::Kind::Sha1,
            &mut std::iter::empty(),
            options,
        )
        .at("open the object store", objects)?;
        Ok(Self { store: Arc::new(store) })
    }

    pub(crate) fn reader(&self) -> Reader {
        let mut handle = self.store.to_cache_arc();
        handle.set_pack_cache(|| {
            Box::new(gix_pack::cache::lru::MemoryCappedHashmap::new(16 << 20))
                as Box<gix_odb::cache::PackCache>
        });
        Reader { handle, buffer: Vec::new() }
    }
}

/// One entry of a tree object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TreeEntry {
    pub name: BString,
    pub kind: EntryKind,
    pub oid: ObjectId,
}

/// One thread's way into an [`ObjectStore`].
pub(crate) struct Reader {
    handle: gix_odb::HandleArc,
    buffer: Vec<u8>,
}

impl Reader {
    /// A miss does not look at the disk again, so that asking for thousands of
    /// new objects stays cheap; another process's newest pack may be unseen.
    pub(crate) fn has(&self, oid: &ObjectId) -> bool {
        self.handle.exists_without_refresh(oid)
    }

    /// A miss looks for new packs; those already open stay so.
    pub(crate) fn has_after_refresh(&self, oid: &ObjectId) -> bool {
        gix_object::Exists::exists(&self.handle, oid)
    }

    pub(crate) fn find(&self) -> &gix_odb::HandleArc {
        &self.handle
    }

    pub(crate) fn blob(&mut self, oid: ObjectId) -> Result<&[u8], ObjectError> {
        self.read(oid, Kind::Blob)?;
        Ok(&self.buffer)
    }

    /// How long an object is, without reading it.
    pub(crate) fn size(&self, oid: ObjectId) -> Result<u64, ObjectError> {
        match self.handle.try_header(&oid) {
            Ok(Some(header)) => Ok(header.size),
            Ok(None) => Err(ObjectError::Missing { id: oid }),
            Err(error) => Err(corrupt(oid, &error)),
        }
    }

    pub(crate) fn tree(&mut self, oid: ObjectId) -> Result<Vec<TreeEntry>, ObjectError> {
        if oid.is_empty_tree() {
            return Ok(Vec::new());
        }
        self.read(oid, Kind::Tree)?;
        gix_object::TreeRefIter::from_bytes(&self.buffer, gix_hash::Kind::Sha1)
            .map(|entry| {
                let entry = entry.map_err(|error| corrupt(oid, &error))?;
                Ok(TreeEntry {
                    name: entry.filename.to_owned(),
                    kind: entry.mode.kind(),
                    oid: entry.oid.to_owned(),
                })
            })
            .collect()
    }

    /// As [`Reader::tree`], refusing names that would escape a checkout or
    /// write into a git directory.
    pub(crate) fn tree_to_write(&mut self, oid: ObjectId) -> Result<Vec<TreeEntry>, ObjectError> {
        let entries = self.tree(oid)?;
        match entries.iter().find(|entry| !is_safe_name(&entry.name, entry.kind == EntryKind::Link)) {
            Some(entry) => Err(ObjectError::UnsafeName { id: oid, name: entry.name.clone() }),
            None => Ok(entries),
        }
    }

    /// The tree and the parents of a commit.
    pub(crate) fn commit(&mut self, oid: ObjectId) -> Result<(ObjectId, Vec<ObjectId>), ObjectError> {
        self.read(oid, Kind::Commit)?;
        let commit = gix_object::CommitRef::from_bytes(&self.buffer, gix_hash::Kind::Sha1)
            .map_err(|error| corrupt(oid, &error))?;
        Ok((commit.tree(), commit.parents().collect()))
    }

    /// Any object, as it is: its kind and its bytes.
    pub(crate) fn raw(&mut self, oid: ObjectId) -> Result<(Kind, &[u8]), ObjectError> {
        let kind = self.load(oid)?;
        Ok((kind, &self.buffer))
    }

    /// The entry at a path below a tree.
    pub(crate) fn entry_at(&mut self, tree: ObjectId, path: &[u8]) -> Result<Option<TreeEntry>, ObjectError> {
        let mut tree = tree;
        let mut names = path.split_str("/").peekable();
        while let Some(name) = names.next() {
            let Some(entry) = self.tree(tree)?.into_iter().find(|entry| entry.name == name) else {
                return Ok(None);
            };
            if names.peek().is_none() {
                return Ok(Some(entry));
            }
            if entry.kind != EntryKind::Tree {
                return Ok(None);
            }
            tree = entry.oid;
        }
        Ok(None)
    }

    fn read(&mut self, oid: ObjectId, wanted: Kind) -> Result<(), ObjectError> {
        let found = self.load(oid)?;
        if found == wanted { Ok(()) } else { Err(ObjectError::WrongKind { id: oid, wanted, found }) }
    }

    fn load(&mut self, oid: ObjectId) -> Result<Kind, ObjectError> {
        match self.handle.try_find(&oid, &mut self.buffer) {
            Ok(Some(data)) => {
                let (kind, length) = (data.kind, data.data.len());
                self.buffer.truncate(length);
                Ok(kind)
            }
            Ok(None) => Err(ObjectError::Missing { id: oid }),
            Err(error) => Err(corrupt(oid, &error)),
        }
    }
}

/// The id git gives these bytes, refusing known collision attacks.
pub(crate) fn hash(kind: Kind, bytes: &[u8]) -> Result<ObjectId, ObjectError> {
    gix_object::compute_hash(gix_hash::Kind::Sha1, kind, bytes)
        .map_err(|error| ObjectError::Collision { detail: error.to_string() })
}

/// The bytes of a tree object; the entries come in any order.
pub(crate) fn encode_tree(mut entries: Vec<TreeEntry>) -> Vec<u8> {
    let is_tree = |entry: &TreeEntry| entry.kind == EntryKind::Tree;
    entries.sort_by(|a, b| gix_object::tree::name_order(&a.name, is_tree(a), &b.name, is_tree(b)));
    let mut bytes = Vec::with_capacity(entries.iter().map(|entry| entry.name.len() + 28).sum());
    for entry in &entries {
        bytes.extend_from_slice(entry.kind.as_octal_str());
        bytes.push(b' ');
        bytes.extend_from_slice(&entry.name);
        bytes.push(0);
        bytes.extend_from_slice(entry.oid.as_slice());
    }
    bytes
}

/// What git itself refuses to put into a tree: `.git` in any disguise that
/// some file system would take for it.
pub(crate) fn is_safe_name(name: &[u8], is_link: bool) -> bool {
    let options = gix_validate::path::component::Options {
        protect_windows: false,
        protect_hfs: true,
        protect_ntfs: true,
    };
    let mode = is_link.then_some(gix_validate::path::component::Mode::Symlink);
    gix_validate::path::component(name.as_bstr(), mode, options).is_ok()
}

fn corrupt(id: ObjectId, error: &dyn std::fmt::Display) -> ObjectError {
    ObjectError::Corrupt { id, detail: error.to_string() }
}
