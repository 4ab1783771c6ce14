//! Reading trees of the vault, comparing them, and making one from two.

use std::os::unix::ffi::OsStrExt;

use gix_hash::ObjectId;
use gix_object::bstr::{BStr, BString, ByteSlice};
use gix_object::tree::{Editor, EntryKind};
use gix_object::{FindExt, Kind};
use windlass_core::id::{CommitId, TreeId};

use crate::commit::{CommitText, encode_commit};
use crate::id::{commit_id, commit_oid, tree_id, tree_oid};
use crate::loose;
use crate::objects::{ObjectError, Reader, TreeEntry, encode_tree, hash};
use crate::pack::NewObject;
use crate::sink::Worker;
use crate::trees::{self, Item, TreeChange};
use crate::vault::{Vault, VaultError};

/// A diff as text, perhaps cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffText {
    pub bytes: Vec<u8>,
    pub truncated: bool,
}

/// What a tree has at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TreePlace {
    File(Vec<u8>),
    TooLarge { bytes: u64 },
    Directory,
    Link,
    Submodule,
}

/// A file that comes from no tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlainFile {
    pub path: BString,
    pub bytes: Vec<u8>,
    pub executable: bool,
}

impl Vault {
    pub fn diff(&self, old: &TreeId, new: &TreeId) -> Result<Vec<TreeChange>, VaultError> {
        Ok(trees::diff(&mut self.reader(), tree_oid(old)?, tree_oid(new)?)?)
    }

    /// True when the trees differ, and in whitespace only.
    pub fn whitespace_only(&self, old: &TreeId, new: &TreeId) -> Result<bool, VaultError> {
        Ok(trees::whitespace_only(&mut self.reader(), tree_oid(old)?, tree_oid(new)?)?)
    }

    /// The diff as people read it, at most `max_bytes` of it.
    pub fn diff_text(&self, old: &TreeId, new: &TreeId, max_bytes: usize) -> Result<DiffText, VaultError> {
        let printed = self
            .git_here()
            .args([
                "diff",
                "--no-ext-diff",
                "--no-textconv",
                "--no-color",
                "--no-renames",
                "--end-of-options",
            ])
            .args([old.as_str(), new.as_str()])
            .keep_first(max_bytes)
            .run()?;
        Ok(DiffText { bytes: printed.stdout, truncated: printed.truncated })
    }

    /// The same as a patch that git can apply, binary files included.
    pub fn patch(&self, old: &TreeId, new: &TreeId, max_bytes: usize) -> Result<DiffText, VaultError> {
        let printed = self
            .git_here()
            .args(["diff", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames"])
            .args(["--binary", "--full-index", "--end-of-options", old.as_str(), new.as_str()])
            .keep_first(max_bytes)
            .run()?;
        Ok(DiffText { bytes: printed.stdout, truncated: printed.truncated })
    }

    /// The same of one path, which may be any bytes.
    pub fn diff_text_of(
        &self,
        old: &TreeId,
        new: &TreeId,
        path: &BString,
        max_bytes: usize,
    ) -> Result<DiffText, VaultError> {
        let printed = self
            .git_here()
            .env("GIT_LITERAL_PATHSPECS", "1")
            .args(["diff", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames"])
            .args([old.as_str(), new.as_str(), "--"])
            .arg(std::ffi::OsStr::from_bytes(path))
            .keep_first(max_bytes)
            .run()?;
        Ok(DiffText { bytes: printed.stdout, truncated: printed.truncated })
    }

    /// The content of a file, or the target of a link; `None` where the tree
    /// has neither.
    pub fn read_blob(&self, tree: &TreeId, path: &[u8]) -> Result<Option<Vec<u8>>, VaultError> {
        let mut reader = self.reader();
        let entry = reader.entry_at(tree_oid(tree)?, path)?;
        match entry.filter(|entry| !matches!(entry.kind, EntryKind::Tree | EntryKind::Commit)) {
            Some(entry) => Ok(Some(reader.blob(entry.oid)?.to_vec())),
            None => Ok(None),
        }
    }

    /// What a tree has at a path, no link followed; none where it has nothing. A file
    /// larger than `max_bytes` is not read.
    pub fn look_at(
        &self,
        tree: &TreeId,
        path: &[u8],
        max_bytes: u64,
    ) -> Result<Option<TreePlace>, VaultError> {
        let mut reader = self.reader();
        let Some(entry) = reader.entry_at(tree_oid(tree)?, path)? else { return Ok(None) };
        Ok(Some(match entry.kind {
            EntryKind::Tree => TreePlace::Directory,
            EntryKind::Link => TreePlace::Link,
            EntryKind::Commit => TreePlace::Submodule,
            EntryKind::Blob | EntryKind::BlobExecutable => match reader.size(entry.oid)? {
                bytes if bytes > max_bytes => TreePlace::TooLarge { bytes },
                _ => TreePlace::File(reader.blob(entry.oid)?.to_vec()),
            },
        }))
    }

    /// Every file, link and gitlink of a tree.
    pub fn list_paths(&self, tree: &TreeId) -> Result<Vec<(BString, Item)>, VaultError> {
        Ok(trees::list(&mut self.reader(), tree_oid(tree)?)?)
    }

    /// The commits from `commit` back to `base`, along first parents, `base`
    /// among them; nothing when that way does not lead there.
    pub fn lineage(&self, base: &CommitId, commit: &CommitId) -> Result<Option<Vec<CommitId>>, VaultError> {
        let end = commit_oid(base)?;
        let mut reader = self.reader();
        let mut at = commit_oid(commit)?;
        let mut way = vec![commit_id(at)];
        while at != end {
            let Some(parent) = reader.commit(at)?.1.first().copied() else { return Ok(None) };
            if !reader.has(&parent) {
                return Ok(None);
            }
            at = parent;
            way.push(commit_id(at));
        }
        Ok(Some(way))
    }

    /// Reads a commit and everything in its tree, and hashes all of it anew:
    /// what the vault holds under these names is what they name. Says how many
    /// objects that were. Submodules are links and not looked into.
    pub fn rehash(&self, commit: &CommitId) -> Result<u64, VaultError> {
        let mut reader = self.reader();
        let commit = commit_oid(commit)?;
        let (tree, _) = reader.commit(commit)?;
        let mut seen = std::collections::HashSet::new();
        let mut waiting = vec![(commit, Kind::Commit), (tree, Kind::Tree)];
        while let Some((oid, wanted)) = waiting.pop() {
            if oid.is_empty_tree() || !seen.insert(oid) {
                continue;
            }
            let (kind, bytes) = reader.raw(oid)?;
            if kind != wanted {
                return Err(ObjectError::WrongKind { id: oid, wanted, found: kind }.into());
            }
            if hash(kind, bytes)? != oid {
                let detail = "its content is not what its name says".to_owned();
                return Err(ObjectError::Corrupt { id: oid, detail }.into());
            }
            if kind == Kind::Tree {
                let entries = reader.tree(oid)?;
                waiting.extend(entries.iter().filter_map(|entry| match entry.kind {
                    EntryKind::Tree => Some((entry.oid, Kind::Tree)),
                    EntryKind::Commit => None,
                    EntryKind::Blob | EntryKind::BlobExecutable | EntryKind::Link => {
                        Some((entry.oid, Kind::Blob))
                    }
                }));
            }
        }
        Ok(seen.len() as u64)
    }

    /// Whether `ancestor` is `commit` or in its history, as far as the vault
    /// knows it.
    pub fn is_ancestor(&self, ancestor: &CommitId, commit: &CommitId) -> Result<bool, VaultError> {
        let wanted = commit_oid(ancestor)?;
        let mut reader = self.reader();
        let mut seen = std::collections::HashSet::new();
        let mut waiting = vec![commit_oid(commit)?];
        while let Some(oid) = waiting.pop() {
            if oid == wanted {
                return Ok(true);
            }
            if seen.insert(oid) && reader.has(&oid) {
                waiting.extend(reader.commit(oid)?.1);
            }
        }
        Ok(false)
    }

    /// `tree` with the given paths as they are in `from`: taken over where
    /// `from` has them, gone where it has not.
    pub fn graft(&self, tree: &TreeId, from: &TreeId, paths: &[BString]) -> Result<TreeId, VaultError> {
        let mut reader = self.reader();
        let from = tree_oid(from)?;
        let mut edits = Vec::with_capacity(paths.len());
        for path in paths {
            let entry = reader.entry_at(from, path)?;
            edits.push((path.clone(), entry.map(|entry| (entry.kind, entry.oid))));
        }
        Ok(tree_id(self.edit(tree_oid(tree)?, &edits, Flush::Yes)?))
    }

    /// `tree` with other bytes in some of its files. Not flushed: such a tree is looked at
    /// once and never on record.
    pub fn with_files(&self, tree: &TreeId, files: &[(BString, Vec<u8>)]) -> Result<TreeId, VaultError> {
        let mut reader = self.reader();
        let mut worker = self.worker();
        let tree = tree_oid(tree)?;
        let mut edits = Vec::with_capacity(files.len());
        for (path, bytes) in files {
            let entry = reader.entry_at(tree, path)?;
            let kind = entry.map_or(EntryKind::Blob, |entry| entry.kind);
            let blob = self.put_loose(&mut worker, Flush::No, Kind::Blob, bytes)?;
            edits.push((path.clone(), Some((kind, blob))));
        }
        Ok(tree_id(self.edit(tree, &edits, Flush::No)?))
    }

    /// `tree` without the given paths.
    pub fn without(&self, tree: &TreeId, paths: &[BString]) -> Result<TreeId, VaultError> {
        let edits: Vec<Edit> = paths.iter().map(|path| (path.clone(), None)).collect();
        Ok(tree_id(self.edit(tree_oid(tree)?, &edits, Flush::Yes)?))
    }

    /// A tree of these files alone.
    pub fn put_files(&self, files: &[PlainFile]) -> Result<TreeId, VaultError> {
        let mut worker = self.worker();
        let mut edits = Vec::with_capacity(files.len());
        for PlainFile { path, bytes, executable } in files {
            let kind = if *executable { EntryKind::BlobExecutable } else { EntryKind::Blob };
            let blob = self.put_loose(&mut worker, Flush::Yes, Kind::Blob, bytes)?;
            edits.push((path.clone(), Some((kind, blob))));
        }
        Ok(tree_id(self.edit(ObjectId::empty_tree(gix_hash::Kind::Sha1), &edits, Flush::Yes)?))
    }

    /// Makes a commit of a tree the vault has; it is on disk when this returns. The same arguments give
    /// the same id.
    pub fn commit(
        &self,
        tree: &TreeId,
        parents: &[CommitId],
        text: &CommitText,
    ) -> Result<CommitId, VaultError> {
        let parents = parents.iter().map(commit_oid).collect::<Result<Vec<_>, _>>()?;
        let bytes = encode_commit(tree_oid(tree)?, &parents, text);
        Ok(commit_id(self.put_loose(&mut self.worker(), Flush::Yes, Kind::Commit, &bytes)?))
    }

    /// Puts and removes entries of a tree; removals first, so that a file may take
    /// the place of a directory whose files go.
    fn edit(&self, tree: ObjectId, edits: &[Edit], flush: Flush) -> Result<ObjectId, VaultError> {
        let mut worker = self.worker();
        let root = load_tree(&worker.reader, tree)?;
        let find = worker.reader.find().clone();
        let mut editor = Editor::new(root, &find, gix_hash::Kind::Sha1);
        let fail = |path: &BStr, error: &dyn std::fmt::Display| ObjectError::Corrupt {
            id: tree,
            detail: format!("cannot edit {path:?}: {error}"),
        };
        for (path, _) in edits.iter().filter(|(_, entry)| entry.is_none()) {
            let names = path.split_str("/").map(|name| name.as_bstr());
            editor.remove(names).map_err(|error| fail(path.as_bstr(), &error))?;
        }
        for (path, entry) in edits {
            let Some((kind, oid)) = entry else { continue };
            let names = path.split_str("/").map(|name| name.as_bstr());
            editor.upsert(names, *kind, *oid).map_err(|error| fail(path.as_bstr(), &error))?;
        }
        editor.write(|tree| {
            let entries = tree.entries.iter().map(|entry| TreeEntry {
                name: entry.filename.clone(),
                kind: entry.mode.kind(),
                oid: entry.oid,
            });
            let bytes = encode_tree(entries.collect());
            self.put_loose(&mut worker, flush, Kind::Tree, &bytes)
        })
    }

    fn put_loose(
        &self,
        worker: &mut Worker,
        flush: Flush,
        kind: Kind,
        bytes: &[u8],
    ) -> Result<ObjectId, VaultError> {
        let oid = hash(kind, bytes)?;
        let sound = worker.reader.raw(oid).is_ok_and(|(_, stored)| stored == bytes);
        if !sound {
            let (dir, object) = (self.dir().join("objects"), NewObject { oid, kind, content: bytes });
            match flush {
                Flush::Yes => loose::write_flushed(&dir, &mut worker.packer, &object)?,
                Flush::No => loose::write(&dir, &mut worker.packer, &object)?,
            }
        }
        Ok(oid)
    }
}

/// Whether an object is on disk when it has been put.
#[derive(Clone, Copy)]
enum Flush {
    /// A loop may stand on such a tree for as long as it lives.
    Yes,
    /// What is made can be made again from the caller's records, with the same id.
    No,
}

/// A path and what shall be there.
type Edit = (BString, Option<(EntryKind, ObjectId)>);

fn load_tree(reader: &Reader, tree: ObjectId) -> Result<gix_object::Tree, ObjectError> {
    if tree.is_empty_tree() {
        return Ok(gix_object::Tree::empty());
    }
    let mut buffer = Vec::new();
    match reader.find().find_tree(&tree, &mut buffer) {
        Ok(found) => Ok(found.into_owned()),
        Err(error) => Err(ObjectError::Corrupt { id: tree, detail: error.to_string() }),
    }
}
