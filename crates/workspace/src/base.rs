//! What the base commit's tree says about paths: tracked or not, attributes,
//! submodules.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use gix_hash::ObjectId;
use gix_object::bstr::{BString, ByteSlice};
use gix_object::tree::EntryKind;

use crate::attributes::Attributes;
use crate::objects::{ObjectError, Reader, TreeEntry};

/// The tree that decides what counts as tracked.
pub(crate) struct Base {
    pub tree: ObjectId,
    facts: Arc<Facts>,
    directories: Mutex<HashMap<BString, Option<Arc<[TreeEntry]>>>>,
}

/// What needs a look at the whole tree; carried over between equal bases.
#[derive(Default)]
pub(crate) struct Facts {
    pub attributes: Attributes,
    pub gitlinks: Vec<(BString, ObjectId)>,
    /// Identifies the attributes and submodules, so that a change is noticed.
    pub key: [u8; 32],
}

impl Base {
    pub(crate) fn load(reader: &mut Reader, tree: ObjectId) -> Result<Self, ObjectError> {
        let facts = Arc::new(Facts::collect(reader, tree)?);
        Ok(Self { tree, facts, directories: Mutex::default() })
    }

    /// The same tree as an earlier base costs nothing; one that differs in
    /// neither attributes nor submodules costs the diff.
    pub(crate) fn load_after(
        reader: &mut Reader,
        tree: ObjectId,
        earlier: Option<Self>,
    ) -> Result<Self, ObjectError> {
        let Some(earlier) = earlier else { return Self::load(reader, tree) };
        if earlier.tree == tree {
            return Ok(earlier);
        }
        let changes = crate::trees::diff(reader, earlier.tree, tree)?;
        let matters = changes.iter().any(|change| {
            let gitlink =
                [change.old, change.new].iter().flatten().any(|item| item.kind == crate::ItemKind::Gitlink);
            gitlink || change.path == ".gitattributes" || change.path.ends_with_str("/.gitattributes")
        });
        if matters {
            return Self::load(reader, tree);
        }
        Ok(Self { tree, facts: earlier.facts, directories: Mutex::default() })
    }

    pub(crate) fn facts(&self) -> &Facts {
        &self.facts
    }

    pub(crate) fn entry(&self, reader: &mut Reader, path: &[u8]) -> Result<Option<TreeEntry>, ObjectError> {
        let (dir, name) = split(path);
        let Some(entries) = self.directory(reader, dir)? else { return Ok(None) };
        Ok(entries.iter().find(|entry| entry.name == name).cloned())
    }

    pub(crate) fn is_gitlink(&self, path: &[u8]) -> bool {
        self.facts.gitlinks.iter().any(|(gitlink, _)| gitlink == path)
    }

    fn directory(&self, reader: &mut Reader, dir: &[u8]) -> Result<Option<Arc<[TreeEntry]>>, ObjectError> {
        let lock = || self.directories.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(dir.as_bstr()) {
            return Ok(known.clone());
        }
        let tree = if dir.is_empty() {
            Some(self.tree)
        } else {
            let entry = self.entry(reader, dir)?;
            entry.filter(|entry| entry.kind == EntryKind::Tree).map(|entry| entry.oid)
        };
        let entries = tree.map(|oid| reader.tree(oid)).transpose()?.map(Arc::from);
        lock().insert(dir.as_bstr().to_owned(), entries.clone());
        Ok(entries)
    }
}

impl Facts {
    fn collect(reader: &mut Reader, tree: ObjectId) -> Result<Self, ObjectError> {
        let mut scan = Scan { reader, files: Vec::new(), gitlinks: Vec::new() };
        scan.directory(&mut Vec::new(), tree)?;
        let mut key = blake3::Hasher::new();
        for (prefix, content) in &scan.files {
            key.update(&(prefix.len() as u64).to_le_bytes()).update(prefix);
            key.update(&(content.len() as u64).to_le_bytes()).update(content);
        }
        for (path, oid) in &scan.gitlinks {
            key.update(path).update(b"\0").update(oid.as_slice());
        }
        Ok(Self {
            key: *key.finalize().as_bytes(),
            gitlinks: scan.gitlinks,
            attributes: Attributes::parse(scan.files),
        })
    }
}

struct Scan<'a> {
    reader: &'a mut Reader,
    files: Vec<(BString, Vec<u8>)>,
    gitlinks: Vec<(BString, ObjectId)>,
}

impl Scan<'_> {
    fn directory(&mut self, prefix: &mut Vec<u8>, tree: ObjectId) -> Result<(), ObjectError> {
        for entry in self.reader.tree(tree)? {
            let length = prefix.len();
            match entry.kind {
                EntryKind::Tree => {
                    prefix.extend_from_slice(&entry.name);
                    prefix.push(b'/');
                    self.directory(prefix, entry.oid)?;
                }
                EntryKind::Blob | EntryKind::BlobExecutable if entry.name == ".gitattributes" => {
                    let content = self.reader.blob(entry.oid)?.to_vec();
                    self.files.push((prefix.as_bstr().to_owned(), content));
                }
                EntryKind::Commit => {
                    prefix.extend_from_slice(&entry.name);
                    self.gitlinks.push((prefix.as_bstr().to_owned(), entry.oid));
                }
                EntryKind::Blob | EntryKind::BlobExecutable | EntryKind::Link => {}
            }
            prefix.truncate(length);
        }
        Ok(())
    }
}

pub(crate) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.rfind_byte(b'/') {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (&[], path),
    }
}
