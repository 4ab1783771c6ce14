//! What a snapshot saw that a tree cannot show, or that must be told.

use gix_hash::ObjectId;
use gix_object::bstr::{BString, ByteSlice};
use gix_object::tree::EntryKind;
use std::os::fd::BorrowedFd;

use crate::base::{Base, split};
use crate::dir;
use crate::model::{Child, DirNode, Skip, What};
use crate::objects::{ObjectError, Reader, is_safe_name};
use crate::trees::{ItemKind, TreeChange};

/// One thing measured about the workspace; all of them are found anew by every
/// snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkspaceEvidence {
    /// A link, not in the base as it is, whose target lies outside the tree.
    EscapingSymlink { path: BString, target: BString },
    /// A path with a `filter` attribute (LFS, git-crypt) that differs from
    /// the base; its bytes were taken as they are.
    FilteredPathChanged { path: BString },
    /// A submodule's directory holds something, or is gone; the tree keeps
    /// the base's link.
    GitlinkChanged { path: BString },
    /// Not taken: over the size limit.
    TooLarge { path: BString, bytes: u64 },
    /// Not taken: a socket, pipe or device.
    SpecialFile { path: BString },
    /// Not taken: git refuses such a name, as a disguise of `.git`.
    UnsafeName { path: BString },
    /// Not taken: it cannot be read even after trying to allow it.
    Unreadable { path: BString, error: String },
    /// Not taken: made to collide with other content under SHA-1.
    CollisionAttack { path: BString },
    /// Not taken: below too many directories, or too long a path.
    TooDeep { path: BString },
}

/// What the walk left out although it is not ignored.
pub(crate) fn skipped(node: &DirNode) -> Vec<WorkspaceEvidence> {
    let mut found = Vec::new();
    collect(node, &mut Vec::new(), &mut found);
    found
}

fn collect(node: &DirNode, path: &mut Vec<u8>, found: &mut Vec<WorkspaceEvidence>) {
    for entry in &node.entries {
        match &entry.what {
            What::Dir(Child::Here(child)) => {
                let length = path.len();
                if length > 0 {
                    path.push(b'/');
                }
                path.extend_from_slice(&entry.name);
                collect(child, path, found);
                path.truncate(length);
            }
            What::Skipped(skip) => found.extend(of_skip(dir::join(path, &entry.name), *skip)),
            What::Dir(Child::Away(_)) | What::Blob(_) | What::Ignored => {}
        }
    }
}

fn of_skip(path: BString, skip: Skip) -> Option<WorkspaceEvidence> {
    Some(match skip {
        Skip::Unseen => return None,
        Skip::Special(_) => WorkspaceEvidence::SpecialFile { path },
        Skip::TooLarge(bytes) => WorkspaceEvidence::TooLarge { path, bytes },
        Skip::UnsafeName => WorkspaceEvidence::UnsafeName { path },
        Skip::Unreadable(code) => {
            WorkspaceEvidence::Unreadable { path, error: std::io::Error::from_raw_os_error(code).to_string() }
        }
        Skip::Collision => WorkspaceEvidence::CollisionAttack { path },
        Skip::TooDeep => WorkspaceEvidence::TooDeep { path },
    })
}

/// Submodule directories that are not the empty directories windlass made.
pub(crate) fn gitlinks(root: BorrowedFd<'_>, base: &Base) -> Vec<WorkspaceEvidence> {
    let changed = |path: &&BString| !is_untouched(root, path);
    let paths = base.facts().gitlinks.iter().map(|(path, _)| path);
    paths.filter(changed).map(|path| WorkspaceEvidence::GitlinkChanged { path: path.clone() }).collect()
}

fn is_untouched(root: BorrowedFd<'_>, path: &[u8]) -> bool {
    let Ok(mut fd) = dir::open_dir(root, b".") else { return false };
    for name in path.split_str("/") {
        match dir::open_dir(std::os::fd::AsFd::as_fd(&fd), name) {
            Ok(next) => fd = next,
            Err(_) => return false,
        }
    }
    dir::names(std::os::fd::AsFd::as_fd(&fd)).is_ok_and(|names| names.iter().all(|name| name == ".git"))
}

/// What the changes against the base show.
pub(crate) fn of_changes(
    reader: &mut Reader,
    base: &Base,
    tree: ObjectId,
    changes: &[TreeChange],
) -> Result<Vec<WorkspaceEvidence>, ObjectError> {
    let mut found = Vec::new();
    for change in changes {
        if base.facts().attributes.treatment(&change.path).filtered {
            found.push(WorkspaceEvidence::FilteredPathChanged { path: change.path.clone() });
        }
        let Some(item) = change.new.filter(|item| item.kind == ItemKind::Link) else { continue };
        let target = BString::from(reader.blob(item.oid)?);
        if escapes(reader, tree, &change.path, &target)? {
            found.push(WorkspaceEvidence::EscapingSymlink { path: change.path.clone(), target });
        }
    }
    Ok(found)
}

/// Follows a link through the tree's own links; anything beyond the tree's
/// knowledge is taken as a plain name.
fn escapes(reader: &mut Reader, tree: ObjectId, path: &[u8], target: &[u8]) -> Result<bool, ObjectError> {
    const MOST_LINKS: usize = 40;
    let mut at: Vec<BString> =
        split(path).0.split_str("/").filter(|name| !name.is_empty()).map(BString::from).collect();
    let mut ahead = steps(target);
    let mut links = 0;
    if target.starts_with(b"/") {
        return Ok(true);
    }
    while let Some(step) = ahead.pop() {
        if step == ".." {
            if at.pop().is_none() {
                return Ok(true);
            }
            continue;
        }
        if !is_safe_name(&step, false) {
            return Ok(true);
        }
        at.push(step);
        let here = at.join(&b'/');
        let link = reader.entry_at(tree, &here)?.filter(|entry| entry.kind == EntryKind::Link);
        let Some(link) = link.filter(|_| links < MOST_LINKS) else { continue };
        links += 1;
        at.pop();
        let inner = reader.blob(link.oid)?;
        if inner.starts_with(b"/") {
            return Ok(true);
        }
        ahead.extend(steps(inner));
    }
    Ok(false)
}

/// The names of a link's target, last first; empty ones and `.` left out.
fn steps(target: &[u8]) -> Vec<BString> {
    let names = target.split_str("/").filter(|name| !name.is_empty() && *name != b".");
    let mut names: Vec<BString> = names.map(BString::from).collect();
    names.reverse();
    names
}
