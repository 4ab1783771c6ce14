//! Removing what an agent may have left: read-only directories, links that
//! point elsewhere, paths deeper than the system can name. No link is
//! followed.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use gix_object::bstr::BString;
use rustix::fs::{AtFlags, FileType, Mode};
use rustix::io::Errno;

use crate::dir;
use crate::fault::{At, FileFault};

/// Directories below this depth are first moved up, since each level of the
/// descent holds a directory open.
const DEPTH: usize = 64;

/// Moves a path aside at once, then removes it: a crash in between leaves
/// something with a name of ours, which the next call for this path removes.
pub(crate) fn discard(path: &Path) -> Result<(), FileFault> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(FileFault::new("remove", path, std::io::ErrorKind::InvalidInput));
    };
    let prefix = format!(".trash-{}-", name.to_string_lossy());
    let holder = match dir::open_root(parent) {
        Err(Errno::NOENT) => return Ok(()),
        other => other.at("open", parent)?,
    };
    let trash = format!("{prefix}{}-{}", std::process::id(), dir::file_clock());
    match rustix::fs::renameat(&holder, name, &holder, &trash) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(error) => return Err(FileFault::new("move aside", path, error)),
    }
    for left in dir::names(holder.as_fd()).at("list", parent)? {
        if left.starts_with(prefix.as_bytes()) {
            remove_at(holder.as_fd(), &left).at("remove", &dir::path_of(parent, &left))?;
        }
    }
    Ok(())
}

/// Removes whatever has this name; nothing there is well.
pub(crate) fn remove_at(holder: BorrowedFd<'_>, name: &[u8]) -> Result<(), Errno> {
    let mut removal = Removal { holder, moved: Vec::new(), count: 0 };
    removal.entry(holder, name, 0)?;
    while let Some(name) = removal.moved.pop() {
        removal.entry(holder, &name, 0)?;
    }
    Ok(())
}

struct Removal<'a> {
    holder: BorrowedFd<'a>,
    moved: Vec<BString>,
    count: usize,
}

impl Removal<'_> {
    fn entry(&mut self, parent: BorrowedFd<'_>, name: &[u8], depth: usize) -> Result<(), Errno> {
        let Some(stat) = dir::lookup(parent, name)? else { return Ok(()) };
        if stat.kind() != FileType::Directory {
            return unlink(parent, name, AtFlags::empty());
        }
        if unlink_once(parent, name, AtFlags::REMOVEDIR).is_ok() {
            return Ok(());
        }
        if stat.mode & 0o700 != 0o700 {
            dir::allow_owner(parent, name, 0o700)?;
        }
        if depth >= DEPTH {
            return self.move_up(parent, name);
        }
        let fd = dir::open_dir(parent, name)?;
        for inner in dir::names(fd.as_fd())? {
            self.entry(fd.as_fd(), &inner, depth + 1)?;
        }
        unlink(parent, name, AtFlags::REMOVEDIR)
    }

    fn move_up(&mut self, parent: BorrowedFd<'_>, name: &[u8]) -> Result<(), Errno> {
        self.count += 1;
        let place = BString::from(format!(".trash-deep-{}-{}", std::process::id(), self.count));
        rustix::fs::renameat(parent, name, self.holder, place.as_slice())?;
        self.moved.push(place);
        Ok(())
    }
}

fn unlink(parent: BorrowedFd<'_>, name: &[u8], flags: AtFlags) -> Result<(), Errno> {
    match unlink_once(parent, name, flags) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(Errno::ACCESS) => {
            rustix::fs::fchmod(parent, Mode::RWXU)?;
            unlink_once(parent, name, flags)
        }
        Err(Errno::PERM) => {
            allow_change(parent, name);
            unlink_once(parent, name, flags)
        }
        Err(error) => Err(error),
    }
}

fn unlink_once(parent: BorrowedFd<'_>, name: &[u8], flags: AtFlags) -> Result<(), Errno> {
    rustix::fs::unlinkat(parent, name, flags)
}

/// Takes back "immutable" and "append only", as far as we may.
#[cfg(target_os = "linux")]
fn allow_change(parent: BorrowedFd<'_>, name: &[u8]) {
    use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};
    let clear = |fd: BorrowedFd<'_>| {
        if let Ok(flags) = ioctl_getflags(fd) {
            let _ = ioctl_setflags(fd, flags - (IFlags::IMMUTABLE | IFlags::APPEND));
        }
    };
    clear(parent);
    if let Ok(file) = dir::open_file(parent, name) {
        clear(file.as_fd());
    }
}

#[cfg(not(target_os = "linux"))]
fn allow_change(_parent: BorrowedFd<'_>, _name: &[u8]) {}
