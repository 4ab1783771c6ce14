//! The gate's own caches: directories such as `target`, filled by the baseline on the base and by nothing else.
//!
//! A check begins with a copy of its own, which is thrown away with everything else it wrote: what the code
//! of an attempt leaves in a cache ends with the check that ran it.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps};
use windlass_process::remove_tree;

/// A file beside the directories: that the baseline is over, and the latest time of a cached file.
const SEALED: &str = "sealed";

/// The caches of one loop, below a directory that no agent and no check can reach.
#[derive(Clone, Debug)]
pub struct Cache {
    dir: PathBuf,
    /// Paths in the tree.
    names: Vec<String>,
}

/// Where a check's copy goes.
#[derive(Clone, Copy, Debug)]
pub struct CacheCopy<'a> {
    /// What the check will see: the tree itself, or a layer over it.
    pub to: &'a Path,
    /// The clean tree. Nothing of it is covered by a cached file.
    pub tree: &'a Path,
    /// The paths in which the tree differs from the base.
    pub changed: &'a [PathBuf],
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CacheCopied {
    Copied,
    Nothing,
    /// A build tool could take this path for older than what was built from another content of it.
    Stale(PathBuf),
}

impl Cache {
    pub fn new(dir: PathBuf, names: &[String]) -> Self {
        Self { dir, names: names.to_vec() }
    }

    /// The baseline begins: nothing is cached.
    pub fn clear(&self) -> io::Result<()> {
        remove_tree(&self.dir)?;
        fs::create_dir_all(&self.dir)
    }

    /// Takes the directories away from what a check of the baseline left.
    pub fn keep(&self, from: &Path) -> io::Result<()> {
        for (index, name) in self.names.iter().enumerate() {
            let made = from.join(name);
            if !is_plain_path(from, name) || !made.is_dir() {
                continue;
            }
            let place = self.place(index);
            remove_tree(&place)?;
            match fs::rename(&made, &place) {
                Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                    copy_dir(&made, &place, Path::new("/dev/null"))?;
                }
                moved => moved?,
            }
        }
        Ok(())
    }

    /// The baseline is over: from here on the caches are only read.
    pub fn seal(&self) -> io::Result<()> {
        let newest =
            (0..self.names.len()).map(|index| newest(&self.place(index))).collect::<io::Result<Vec<_>>>()?;
        let newest = newest.into_iter().max().unwrap_or(i128::MIN);
        fs::write(self.dir.join(SEALED), newest.to_string())
    }

    /// What the baseline has cached so far, for its own next check: the code is the base's.
    pub fn copy_unsealed(&self, copy: CacheCopy<'_>) -> io::Result<CacheCopied> {
        self.copy_all(copy)
    }

    /// A copy for one check of a task. Build tools compare times: a file that differs from the base must be
    /// younger than everything cached, or nothing is copied.
    pub fn copy(&self, copy: CacheCopy<'_>) -> io::Result<CacheCopied> {
        let sealed = match fs::read_to_string(self.dir.join(SEALED)) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(CacheCopied::Nothing),
            Err(error) => return Err(error),
        };
        let newest: i128 = sealed.trim().parse().map_err(io::Error::other)?;
        for path in copy.changed {
            match fs::symlink_metadata(copy.tree.join(path)) {
                Ok(meta) if modified(&meta) <= newest => return Ok(CacheCopied::Stale(path.clone())),
                Ok(_) => {}
                Err(error) if is_absent(&error) => {}
                Err(error) => return Err(error),
            }
        }
        self.copy_all(copy)
    }

    fn copy_all(&self, copy: CacheCopy<'_>) -> io::Result<CacheCopied> {
        let mut copied = CacheCopied::Nothing;
        for (index, name) in self.names.iter().enumerate() {
            let place = self.place(index);
            // What an agent put in the way is the work, and is judged as it is.
            if !place.is_dir() || !is_plain_path(copy.tree, name) || !is_plain_path(copy.to, name) {
                continue;
            }
            let to = copy.to.join(name);
            if let Some(parent) = to.parent() {
                fs::create_dir_all(parent)?;
            }
            copy_dir(&place, &to, &copy.tree.join(name))?;
            copied = CacheCopied::Copied;
        }
        Ok(copied)
    }

    fn place(&self, index: usize) -> PathBuf {
        self.dir.join(index.to_string())
    }
}

/// Whether every part of it is a directory, or not there.
fn is_plain_path(root: &Path, name: &str) -> bool {
    let mut path = root.to_path_buf();
    Path::new(name).iter().all(|part| {
        path.push(part);
        fs::symlink_metadata(&path).map_or_else(|error| is_absent(&error), |meta| meta.is_dir())
    })
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Copies a directory, with times and permissions, leaving out whatever `covered` has in that place.
fn copy_dir(from: &Path, to: &Path, covered: &Path) -> io::Result<()> {
    match fs::create_dir(to) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        Ok(()) | Err(_) => {}
    }
    copy_entries(from, to, covered)?;
    let meta = fs::symlink_metadata(from)?;
    fs::set_permissions(to, fs::Permissions::from_mode(meta.mode() | 0o700))?;
    set_time(to, &meta)
}

/// Copies what is in one directory into another, with times and permissions. What is there already stays, and no
/// link of it is followed.
pub fn copy_into(from: &Path, to: &Path) -> io::Result<()> {
    copy_entries(from, to, Path::new("/dev/null"))
}

fn copy_entries(from: &Path, to: &Path, covered: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (name, kind) = (entry.file_name(), entry.file_type()?);
        let (source, target, hidden) = (entry.path(), to.join(&name), covered.join(&name));
        let taken =
            |path: &Path| fs::symlink_metadata(path).is_ok_and(|meta| !(kind.is_dir() && meta.is_dir()));
        if taken(&hidden) || taken(&target) {
            continue;
        }
        if kind.is_dir() {
            copy_dir(&source, &target, &hidden)?;
            continue;
        }
        if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(&source)?, &target)?;
        } else if kind.is_file() {
            // Shares the blocks where the file system can.
            fs::copy(&source, &target)?;
        } else {
            continue;
        }
        set_time(&target, &entry.metadata()?)?;
    }
    Ok(())
}

fn set_time(path: &Path, meta: &fs::Metadata) -> io::Result<()> {
    let stamp = |tv_sec: i64, tv_nsec: i64| Timespec { tv_sec, tv_nsec: tv_nsec as _ };
    let times = Timestamps {
        last_access: stamp(meta.atime(), meta.atime_nsec()),
        last_modification: stamp(meta.mtime(), meta.mtime_nsec()),
    };
    Ok(rustix::fs::utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW)?)
}

/// Nanoseconds since 1970.
fn modified(meta: &fs::Metadata) -> i128 {
    i128::from(meta.mtime()) * 1_000_000_000 + i128::from(meta.mtime_nsec())
}

fn newest(dir: &Path) -> io::Result<i128> {
    let entries = match fs::read_dir(dir) {
        Err(error) if is_absent(&error) => return Ok(i128::MIN),
        entries => entries?,
    };
    let mut latest = modified(&fs::symlink_metadata(dir)?);
    for entry in entries {
        let entry = entry?;
        let meta = entry.metadata()?;
        latest = latest.max(if meta.is_dir() { newest(&entry.path())? } else { modified(&meta) });
    }
    Ok(latest)
}
