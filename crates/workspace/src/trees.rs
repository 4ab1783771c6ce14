//! What differs between two trees, and what is in one.

use gix_hash::ObjectId;
use gix_object::bstr::{BString, ByteSlice};
use gix_object::tree::EntryKind;

use crate::objects::{ObjectError, Reader, TreeEntry};

/// What a tree holds at a path: never a directory, which is only its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Item {
    pub kind: ItemKind,
    pub oid: ObjectId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ItemKind {
    File,
    Executable,
    Link,
    Gitlink,
}

impl ItemKind {
    fn of(kind: EntryKind) -> Option<Self> {
        match kind {
            EntryKind::Blob => Some(Self::File),
            EntryKind::BlobExecutable => Some(Self::Executable),
            EntryKind::Link => Some(Self::Link),
            EntryKind::Commit => Some(Self::Gitlink),
            EntryKind::Tree => None,
        }
    }

    pub(crate) fn entry_kind(self) -> EntryKind {
        match self {
            Self::File => EntryKind::Blob,
            Self::Executable => EntryKind::BlobExecutable,
            Self::Link => EntryKind::Link,
            Self::Gitlink => EntryKind::Commit,
        }
    }

    fn is_plain(self) -> bool {
        match self {
            Self::File | Self::Executable => true,
            Self::Link | Self::Gitlink => false,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    Added,
    Modified,
    Deleted,
    /// A file became a link, a link a submodule, and so on.
    TypeChanged,
}

/// One path that differs. `old` is absent when added, `new` when deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeChange {
    pub path: BString,
    pub kind: ChangeKind,
    pub old: Option<Item>,
    pub new: Option<Item>,
}

impl TreeEntry {
    pub(crate) fn item(&self) -> Option<Item> {
        ItemKind::of(self.kind).map(|kind| Item { kind, oid: self.oid })
    }

    fn is_tree(&self) -> bool {
        self.kind == EntryKind::Tree
    }
}

/// Every path that differs from `old` to `new`, in tree order; equal subtrees
/// are not read.
pub(crate) fn diff(
    reader: &mut Reader,
    old: ObjectId,
    new: ObjectId,
) -> Result<Vec<TreeChange>, ObjectError> {
    let mut changes = Vec::new();
    if old != new {
        compare(reader, &mut Vec::new(), Sides { old: Some(old), new: Some(new) }, &mut changes)?;
    }
    Ok(changes)
}

/// Every file, link and gitlink of a tree, in tree order.
pub(crate) fn list(reader: &mut Reader, tree: ObjectId) -> Result<Vec<(BString, Item)>, ObjectError> {
    let mut changes = Vec::new();
    compare(reader, &mut Vec::new(), Sides { old: None, new: Some(tree) }, &mut changes)?;
    Ok(changes.into_iter().filter_map(|change| change.new.map(|item| (change.path, item))).collect())
}

/// The same place in the old tree and in the new one.
struct Sides<T> {
    old: Option<T>,
    new: Option<T>,
}

fn compare(
    reader: &mut Reader,
    path: &mut Vec<u8>,
    sides: Sides<ObjectId>,
    changes: &mut Vec<TreeChange>,
) -> Result<(), ObjectError> {
    let mut read = |side: Option<ObjectId>| -> Result<Vec<TreeEntry>, ObjectError> {
        let mut entries = side.map_or(Ok(Vec::new()), |oid| reader.tree(oid))?;
        // By name alone, so that a file and a directory of one name meet.
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    };
    let (old, new) = (read(sides.old)?, read(sides.new)?);
    let (mut old, mut new) = (old.into_iter().peekable(), new.into_iter().peekable());
    loop {
        let order = match (old.peek(), new.peek()) {
            (None, None) => return Ok(()),
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (Some(a), Some(b)) => a.name.cmp(&b.name),
        };
        let a = if order.is_le() { old.next() } else { None };
        let b = if order.is_ge() { new.next() } else { None };
        let length = path.len();
        let name = a.as_ref().or(b.as_ref()).map(|entry| entry.name.clone()).unwrap_or_default();
        if length > 0 {
            path.push(b'/');
        }
        path.extend_from_slice(&name);
        compare_entry(reader, path, Sides { old: a, new: b }, changes)?;
        path.truncate(length);
    }
}

fn compare_entry(
    reader: &mut Reader,
    path: &mut Vec<u8>,
    sides: Sides<TreeEntry>,
    changes: &mut Vec<TreeChange>,
) -> Result<(), ObjectError> {
    let Sides { old, new } = sides;
    if old == new {
        return Ok(());
    }
    let items = (old.as_ref().and_then(TreeEntry::item), new.as_ref().and_then(TreeEntry::item));
    let kind = match items {
        (None, None) => None,
        (None, Some(_)) => Some(ChangeKind::Added),
        (Some(_), None) => Some(ChangeKind::Deleted),
        (Some(a), Some(b)) if a.kind == b.kind || a.kind.is_plain() && b.kind.is_plain() => {
            Some(ChangeKind::Modified)
        }
        (Some(_), Some(_)) => Some(ChangeKind::TypeChanged),
    };
    if let Some(kind) = kind {
        changes.push(TreeChange { path: path.as_bstr().to_owned(), kind, old: items.0, new: items.1 });
    }
    let subtree = |entry: Option<TreeEntry>| entry.filter(TreeEntry::is_tree).map(|entry| entry.oid);
    match (subtree(old), subtree(new)) {
        (None, None) => Ok(()),
        (old, new) => compare(reader, path, Sides { old, new }, changes),
    }
}

/// True when nothing but whitespace differs: every change is of a text file
/// whose other bytes are equal, or a file of whitespace that came or went.
pub(crate) fn whitespace_only(
    reader: &mut Reader,
    old: ObjectId,
    new: ObjectId,
) -> Result<bool, ObjectError> {
    let changes = diff(reader, old, new)?;
    for change in &changes {
        if !is_whitespace_change(reader, change)? {
            return Ok(false);
        }
    }
    Ok(!changes.is_empty())
}

fn is_whitespace_change(reader: &mut Reader, change: &TreeChange) -> Result<bool, ObjectError> {
    let items = [change.old, change.new];
    let mode_differs = matches!(items, [Some(old), Some(new)] if old.kind != new.kind);
    if mode_differs || items.iter().flatten().any(|item| !item.kind.is_plain()) {
        return Ok(false);
    }
    let mut sides = [Vec::new(), Vec::new()];
    for (side, item) in sides.iter_mut().zip(items) {
        let Some(item) = item else { continue };
        let bytes = reader.blob(item.oid)?;
        if bytes.contains(&0) {
            return Ok(false);
        }
        side.extend(bytes.iter().copied().filter(|byte| !byte.is_ascii_whitespace()));
    }
    Ok(sides[0] == sides[1])
}
