//! Putting files, links and directories of a tree into a directory, path by
//! path. Whatever stands in the way is removed; no link is followed.

use std::collections::BTreeSet;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use gix_object::bstr::{BString, ByteSlice};
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::base::split;
use crate::dir::{self, StatKey};
use crate::fault::{At, FileFault};
use crate::objects::{ObjectError, Reader, is_safe_name};
use crate::remove::remove_at;
use crate::trees::{ItemKind, TreeChange};

/// Makes the changed paths what their new side says.
pub(crate) fn apply(root: &Path, changes: &[TreeChange], reader: &mut Reader) -> Result<(), ObjectError> {
    let fd = dir::open_root(root).at("open", root)?;
    let mut emptied = BTreeSet::new();
    for change in changes.iter().filter(|change| change.new.is_none()) {
        let at = dir::path_of(root, &change.path);
        let was_gitlink = change.old.is_some_and(|item| item.kind == ItemKind::Gitlink);
        remove_path(fd.as_fd(), &change.path, was_gitlink).at("remove", &at)?;
        let mut parent = split(&change.path).0;
        while !parent.is_empty() && emptied.insert(BString::from(parent)) {
            parent = split(parent).0;
        }
    }
    // Longer paths sort behind their parents, so children go first.
    for parent in emptied.iter().rev() {
        let _ = remove_path(fd.as_fd(), parent, true);
    }
    for change in changes {
        write_path(root, fd.as_fd(), change, reader)?;
    }
    Ok(())
}

fn write_path(
    root: &Path,
    fd: BorrowedFd<'_>,
    change: &TreeChange,
    reader: &mut Reader,
) -> Result<(), ObjectError> {
    let TreeChange { path, new: Some(item), .. } = change else { return Ok(()) };
    let at = dir::path_of(root, path);
    let (parents, name) = split(path);
    if path.split_str("/").any(|part| !is_safe_name(part, false)) {
        return Err(FileFault::new("write", &at, std::io::ErrorKind::InvalidInput).into());
    }
    let parent = make_parents(fd, parents).at("create directories for", &at)?;
    let content = match item.kind {
        ItemKind::Gitlink => &[],
        ItemKind::File | ItemKind::Executable | ItemKind::Link => reader.blob(item.oid)?,
    };
    put(parent.as_fd(), name, item.kind, content).at("write", &at)?;
    Ok(())
}

/// Removes whatever is at a path.
pub(crate) fn remove_any(root: BorrowedFd<'_>, path: &[u8]) -> Result<(), Errno> {
    remove_path(root, path, false)
}

/// Makes a directory at a path.
pub(crate) fn make_path(root: BorrowedFd<'_>, path: &[u8]) -> Result<(), Errno> {
    make_parents(root, path).map(drop)
}

/// Opens the directory at `path`, making what is missing and replacing what is
/// no directory.
fn make_parents(root: BorrowedFd<'_>, path: &[u8]) -> Result<OwnedFd, Errno> {
    let mut fd = dir::open_dir(root, b".")?;
    for name in path.split_str("/").filter(|name| !name.is_empty()) {
        fd = make_dir(fd.as_fd(), name)?;
    }
    Ok(fd)
}

pub(crate) fn make_dir(parent: BorrowedFd<'_>, name: &[u8]) -> Result<OwnedFd, Errno> {
    match dir::lookup(parent, name)? {
        Some(stat) if stat.kind() == FileType::Directory => {}
        Some(_) => {
            remove_at(parent, name)?;
            create(parent, || rustix::fs::mkdirat(parent, name, Mode::from_raw_mode(0o777)))?;
        }
        None => create(parent, || rustix::fs::mkdirat(parent, name, Mode::from_raw_mode(0o777)))?,
    }
    dir::open_dir(parent, name)
}

/// Writes one item under a name, in place of whatever had it.
pub(crate) fn put(
    parent: BorrowedFd<'_>,
    name: &[u8],
    kind: ItemKind,
    content: &[u8],
) -> Result<StatKey, Errno> {
    if kind == ItemKind::Gitlink {
        return dir::stat_fd(make_dir(parent, name)?);
    }
    if dir::lookup(parent, name)?.is_some() {
        remove_at(parent, name)?;
    }
    put_new(parent, name, kind, content)
}

/// As [`put`], where nothing has the name.
pub(crate) fn put_new(
    parent: BorrowedFd<'_>,
    name: &[u8],
    kind: ItemKind,
    content: &[u8],
) -> Result<StatKey, Errno> {
    let mode = match kind {
        ItemKind::Link => {
            create(parent, || rustix::fs::symlinkat(content, parent, name))?;
            return dir::stat(parent, name);
        }
        ItemKind::Gitlink => {
            create(parent, || rustix::fs::mkdirat(parent, name, Mode::from_raw_mode(0o777)))?;
            return dir::stat(parent, name);
        }
        ItemKind::Executable => Mode::from_raw_mode(0o777),
        ItemKind::File => Mode::from_raw_mode(0o666),
    };
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = create(parent, || rustix::fs::openat(parent, name, flags, mode))?;
    let mut rest = content;
    while !rest.is_empty() {
        match rustix::io::write(&file, rest) {
            Ok(n) => rest = &rest[n..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    dir::stat_fd(&file)
}

/// Retries once after giving the owner back its right to the directory.
fn create<T>(parent: BorrowedFd<'_>, make: impl Fn() -> Result<T, Errno>) -> Result<T, Errno> {
    match make() {
        Err(Errno::ACCESS) => {
            rustix::fs::fchmod(parent, Mode::RWXU)?;
            make()
        }
        other => other,
    }
}

/// Removes a file, link or (only if empty) a directory; a path that leads
/// nowhere is already gone.
fn remove_path(root: BorrowedFd<'_>, path: &[u8], is_dir: bool) -> Result<(), Errno> {
    let (parents, name) = split(path);
    let mut fd = dir::open_dir(root, b".")?;
    for part in parents.split_str("/").filter(|part| !part.is_empty()) {
        match dir::open_dir(fd.as_fd(), part) {
            Ok(next) => fd = next,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    if !is_dir {
        return remove_at(fd.as_fd(), name);
    }
    match rustix::fs::unlinkat(&fd, name, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT | Errno::NOTDIR | Errno::NOTEMPTY | Errno::EXIST) => Ok(()),
        Err(error) => Err(error),
    }
}
