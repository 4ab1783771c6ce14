//! From a walked model to tree objects.

use std::collections::BTreeMap;

use gix_hash::ObjectId;
use gix_object::Kind;
use gix_object::bstr::{BString, ByteSlice};
use gix_object::tree::EntryKind;

use crate::model::{Child, DirNode, Entry, Sealed, What};
use crate::objects::{TreeEntry, encode_tree, hash};
use crate::pack::NewObject;
use crate::sink::{Sink, Worker};
use crate::walk::WalkError;

/// Makes trees, each once and only where something changed.
pub(crate) struct Sealer<'a> {
    pub sink: &'a Sink,
    pub worker: &'a mut Worker,
    /// Make every tree again: the submodules may be others.
    pub everything: bool,
}

/// The base's submodules below one directory, by path from there. They stay in
/// the tree whatever became of their directories.
type Links<'a> = Vec<(&'a [u8], ObjectId)>;

impl Sealer<'_> {
    /// The id of the whole, bottom up.
    pub(crate) fn seal(
        &mut self,
        root: &mut DirNode,
        gitlinks: &[(BString, ObjectId)],
    ) -> Result<Sealed, WalkError> {
        let links = gitlinks.iter().map(|(path, oid)| (path.as_slice(), *oid)).collect();
        self.directory(root, links)
    }

    pub(crate) fn empty(&mut self) -> Result<ObjectId, WalkError> {
        self.tree(Vec::new())
    }

    fn directory(&mut self, node: &mut DirNode, links: Links<'_>) -> Result<Sealed, WalkError> {
        let (own, mut nested) = sort_links(links);
        for entry in &mut node.entries {
            if let What::Dir(Child::Here(child)) = &mut entry.what {
                let before = child.tree;
                let links = nested.remove(entry.name.as_slice()).unwrap_or_default();
                node.dirty |= self.directory(child, links)? != before;
            }
        }
        if !node.dirty && !self.everything && node.tree != Sealed::Unknown {
            return Ok(node.tree);
        }
        let mut added = own;
        for (name, links) in nested {
            added.push(TreeEntry { name: name.into(), kind: EntryKind::Tree, oid: self.only_links(links)? });
        }
        let taken = |entry: &TreeEntry| !added.iter().any(|link| link.name == entry.name);
        let mut entries: Vec<_> = node.entries.iter().filter_map(tree_entry).filter(taken).collect();
        entries.extend(added);
        node.tree = if entries.is_empty() { Sealed::Empty } else { Sealed::Tree(self.tree(entries)?) };
        node.dirty = false;
        Ok(node.tree)
    }

    /// A directory that is gone but for its submodules.
    fn only_links(&mut self, links: Links<'_>) -> Result<ObjectId, WalkError> {
        let (mut entries, nested) = sort_links(links);
        for (name, links) in nested {
            entries.push(TreeEntry {
                name: name.into(),
                kind: EntryKind::Tree,
                oid: self.only_links(links)?,
            });
        }
        self.tree(entries)
    }

    fn tree(&mut self, entries: Vec<TreeEntry>) -> Result<ObjectId, WalkError> {
        let bytes = encode_tree(entries);
        let oid = hash(Kind::Tree, &bytes)?;
        self.sink.put(self.worker, &NewObject { oid, kind: Kind::Tree, content: &bytes })?;
        Ok(oid)
    }
}

/// Those right here, as entries, and those below, by their first directory.
fn sort_links(links: Links<'_>) -> (Vec<TreeEntry>, BTreeMap<&[u8], Links<'_>>) {
    let mut own = Vec::new();
    let mut nested: BTreeMap<&[u8], Links<'_>> = BTreeMap::new();
    for (path, oid) in links {
        match path.split_once_str("/") {
            Some((first, rest)) => nested.entry(first).or_default().push((rest, oid)),
            None => own.push(TreeEntry { name: path.into(), kind: EntryKind::Commit, oid }),
        }
    }
    (own, nested)
}

fn tree_entry(entry: &Entry) -> Option<TreeEntry> {
    let (kind, oid) = match &entry.what {
        What::Blob(blob) => (blob.kind(), blob.oid),
        What::Dir(Child::Here(node)) => match node.tree {
            Sealed::Tree(oid) => (EntryKind::Tree, oid),
            Sealed::Empty | Sealed::Unknown => return None,
        },
        What::Dir(Child::Away(_)) | What::Ignored | What::Skipped(_) => return None,
    };
    Some(TreeEntry { name: entry.name.clone(), kind, oid })
}
