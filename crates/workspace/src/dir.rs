//! Working below an open directory, one name at a time, never following a
//! symbolic link.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use gix_object::bstr::{BString, ByteSlice};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

/// Deeper than this nothing is read: every level costs an open directory.
pub(crate) const DEEPEST: usize = 128;
/// Longer than this a path cannot be named to the system.
pub(crate) const LONGEST: usize = 4000;

/// What tells an unchanged file or directory from a changed one. The change
/// time is the part that an ordinary program cannot set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StatKey {
    pub dev: u64,
    pub ino: u64,
    pub size: u64,
    pub mtime: i64,
    pub ctime: i64,
    pub mode: u32,
}

impl StatKey {
    #[allow(clippy::unnecessary_cast, reason = "field types differ between systems")]
    pub(crate) fn of(stat: &Stat) -> Self {
        let nanos = |seconds: i64, nanos: i64| seconds.wrapping_mul(1_000_000_000).wrapping_add(nanos);
        Self {
            dev: stat.st_dev as u64,
            ino: stat.st_ino as u64,
            size: stat.st_size as u64,
            mtime: nanos(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            ctime: nanos(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
            mode: stat.st_mode as u32,
        }
    }

    pub(crate) fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.mode as _)
    }

    pub(crate) fn is_executable(&self) -> bool {
        self.mode & 0o100 != 0
    }

    /// True when a later change could carry the same time stamp, because this
    /// one is too close to the moment it was looked at.
    pub(crate) fn is_racy(&self, looked_at: i64) -> bool {
        const TICK: i64 = 20_000_000;
        const COARSE: i64 = 2_000_000_000;
        let slack = if self.ctime % 1_000_000_000 == 0 { COARSE } else { TICK };
        self.ctime.saturating_add(slack) >= looked_at
    }
}

/// The wall clock that file times are taken from, in nanoseconds. By way of the
/// C library: rustix finds the kernel's own page of code, which is not there
/// under valgrind.
#[allow(clippy::disallowed_methods, reason = "to know a racy file time; nothing is stamped with it")]
pub(crate) fn file_clock() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
}

pub(crate) fn stat(dir: impl AsFd, name: &[u8]) -> Result<StatKey, Errno> {
    rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).map(|stat| StatKey::of(&stat))
}

/// As [`stat`], with a missing name as an answer.
pub(crate) fn lookup(dir: impl AsFd, name: &[u8]) -> Result<Option<StatKey>, Errno> {
    match stat(dir, name) {
        Ok(key) => Ok(Some(key)),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(error) => Err(error),
    }
}

pub(crate) fn stat_fd(fd: impl AsFd) -> Result<StatKey, Errno> {
    rustix::fs::fstat(fd).map(|stat| StatKey::of(&stat))
}

pub(crate) fn open_root(path: &Path) -> Result<OwnedFd, Errno> {
    rustix::fs::open(path, DIRECTORY, Mode::empty())
}

const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opens a directory, giving its owner the permission an agent took away.
pub(crate) fn open_dir(dir: BorrowedFd<'_>, name: &[u8]) -> Result<OwnedFd, Errno> {
    let open = || rustix::fs::openat(dir, name, DIRECTORY, Mode::empty());
    match open() {
        Err(Errno::ACCESS) => {
            allow_owner(dir, name, 0o700)?;
            open()
        }
        other => other,
    }
}

/// Opens a regular file for reading; a pipe in its place does not block.
pub(crate) fn open_file(dir: BorrowedFd<'_>, name: &[u8]) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let open = || rustix::fs::openat(dir, name, flags, Mode::empty());
    match open() {
        Err(Errno::ACCESS) => {
            allow_owner(dir, name, 0o400)?;
            open()
        }
        other => other,
    }
}

/// Gives the owner of a directory back what a program took. One that is not there needs nothing.
pub(crate) fn mend(path: &Path) -> Result<(), Errno> {
    let name = path.as_os_str().as_bytes();
    match lookup(rustix::fs::CWD, name)? {
        Some(found) if found.kind() == FileType::Directory && found.mode & 0o700 != 0o700 => {
            allow_owner(rustix::fs::CWD, name, 0o700)
        }
        Some(_) | None => Ok(()),
    }
}

/// Adds permission bits to a file or directory, not through a link.
pub(crate) fn allow_owner(dir: BorrowedFd<'_>, name: &[u8], bits: u32) -> Result<(), Errno> {
    let key = stat(dir, name)?;
    match key.kind() {
        FileType::RegularFile | FileType::Directory => {}
        FileType::Symlink
        | FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => return Err(Errno::ACCESS),
    }
    set_mode(dir, name, (key.mode & 0o7777) | bits)
}

#[cfg(target_os = "linux")]
fn set_mode(dir: BorrowedFd<'_>, name: &[u8], mode: u32) -> Result<(), Errno> {
    use std::os::fd::AsRawFd;
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let held = rustix::fs::openat(dir, name, flags, Mode::empty())?;
    let through = format!("/proc/self/fd/{}", held.as_raw_fd());
    rustix::fs::chmod(through, Mode::from_raw_mode(mode))
}

#[cfg(not(target_os = "linux"))]
fn set_mode(dir: BorrowedFd<'_>, name: &[u8], mode: u32) -> Result<(), Errno> {
    rustix::fs::chmodat(dir, name, Mode::from_raw_mode(mode as _), AtFlags::SYMLINK_NOFOLLOW)
}

/// Every name in a directory but `.` and `..`, sorted.
pub(crate) fn names(dir: BorrowedFd<'_>) -> Result<Vec<BString>, Errno> {
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::read_from(dir)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(name.as_bstr().to_owned());
        }
    }
    names.sort();
    Ok(names)
}

pub(crate) fn read_link(dir: BorrowedFd<'_>, name: &[u8]) -> Result<Vec<u8>, Errno> {
    rustix::fs::readlinkat(dir, name, Vec::new()).map(|target| target.into_bytes())
}

/// Reads at most `limit` bytes; `None` when there are more.
pub(crate) fn read_up_to(fd: &OwnedFd, size: u64, limit: u64, out: &mut Vec<u8>) -> io::Result<Option<()>> {
    out.clear();
    out.reserve(size.min(limit) as usize + 1);
    loop {
        if out.len() as u64 > limit {
            return Ok(None);
        }
        if out.capacity() == out.len() {
            out.reserve(64 << 10);
        }
        match rustix::io::read(fd, rustix::buffer::spare_capacity(out)) {
            Ok(0) => return Ok(Some(())),
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

pub(crate) fn path_of(root: &Path, below: &[u8]) -> PathBuf {
    if below.is_empty() { root.to_owned() } else { root.join(OsStr::from_bytes(below)) }
}

pub(crate) fn join(dir: &[u8], name: &[u8]) -> BString {
    let mut path = BString::from(dir);
    if !path.is_empty() {
        path.push(b'/');
    }
    path.extend_from_slice(name);
    path
}
