//! The trail: readable copies of a loop's history inside the project, derived
//! from the log. Nothing is decided from it but one thing: a trail whose loop is
//! not on record is a sign of lost history. A file is replaced whole or only
//! grows, so that a reader never sees half of one; nothing is flushed, since all
//! of it can be made again.
//!
//! The project is not ours alone: a symlink planted at `.windlass` or below is
//! never followed. Every step down is taken from an open directory.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;
use windlass_core::id::LoopName;

const DIR: &str = ".windlass";
const IGNORE_ALL: &[u8] = b"*\n";
const DIR_FLAGS: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const FILE_FLAGS: OFlags = OFlags::WRONLY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// The trail of one loop, open for writing.
#[derive(Debug)]
pub struct Trail {
    root: Dir,
    own: Dir,
}

#[derive(Debug, thiserror::Error)]
pub enum TrailError {
    #[error("{}: is a symbolic link, which windlass does not follow; remove it", .0.display())]
    Symlink(PathBuf),
    #[error("{}: is not a {wanted}; move it away", path.display())]
    InTheWay { path: PathBuf, wanted: &'static str },
    #[error("{0:?} is not a file's name inside a trail")]
    BadName(String),
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

/// What came of adding lines to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// How long the file is with the lines added.
    Grown { length: u64 },
    /// It is not as long as the writer left it: it must be rebuilt from the log.
    Stale { length: u64 },
}

impl Trail {
    /// Opens `<project>/.windlass/loops/<loop>`, creating what is missing.
    pub fn open(project: &Path, name: &LoopName) -> Result<Self, TrailError> {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::open(project, flags, Mode::empty()).map_err(|errno| io_error(project, errno))?;
        let root = Dir { fd: Arc::new(fd), path: project.to_owned() }.enter(DIR)?;
        root.ignore_itself()?;
        let own = root.enter("loops")?.enter(name.as_str())?;
        Ok(Self { root, own })
    }

    /// The loop's directory.
    pub fn path(&self) -> &Path {
        &self.own.path
    }

    /// Replaces a file whole. `name` may be in one directory below: `iterations/0001.md`.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), TrailError> {
        let (dir, file_name) = self.place(name)?;
        dir.replace(file_name, bytes).map(|_| ())
    }

    /// Adds lines to the end of a file, if it is as long as the writer left it.
    pub fn append_lines(&self, name: &str, expected: u64, lines: &[u8]) -> Result<Growth, TrailError> {
        let (dir, file_name) = self.place(name)?;
        dir.append(file_name, expected, lines)
    }

    /// Begins a file that is to replace the one of this name, piece by piece.
    pub fn begin(&self, name: &str) -> Result<NewTrailFile, TrailError> {
        let (dir, file_name) = self.place(name)?;
        dir.begin(file_name)
    }

    /// Replaces `registry.json`, the list of the project's loops.
    pub fn write_registry(&self, bytes: &[u8]) -> Result<(), TrailError> {
        self.root.replace("registry.json", bytes).map(|_| ())
    }

    /// Removes the trail of a loop, and what an earlier removal left of it; the list
    /// of the project's loops becomes `registry`. No link is followed.
    pub fn remove(project: &Path, name: &LoopName, registry: &[u8]) -> Result<(), TrailError> {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::open(project, flags, Mode::empty()).map_err(|errno| io_error(project, errno))?;
        let top = Dir { fd: Arc::new(fd), path: project.to_owned() };
        let Some(root) = top.existing(DIR)? else { return Ok(()) };
        root.replace("registry.json", registry)?;
        let Some(loops) = root.existing("loops")? else { return Ok(()) };
        // It loses its name at once, and so never stands there by halves.
        let aside = format!(".removed-{name}");
        loops.remove_tree(&aside)?;
        match rustix::fs::renameat(&loops.fd, name.as_str(), &loops.fd, &aside) {
            Ok(()) => loops.remove_tree(&aside),
            Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(io_error(&loops.path.join(name.as_str()), errno)),
        }
    }

    fn place<'a>(&self, name: &'a str) -> Result<(Dir, &'a str), TrailError> {
        let legal = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.contains(['/', '\0']);
        match name.split_once('/') {
            None if legal(name) => Ok((self.own.clone(), name)),
            Some((below, file)) if legal(below) && legal(file) => Ok((self.own.enter(below)?, file)),
            None | Some(_) => Err(TrailError::BadName(name.to_owned())),
        }
    }
}

/// A file in the making. It takes its name when it is whole; one that is not finished leaves nothing.
#[derive(Debug)]
pub struct NewTrailFile {
    dir: Dir,
    name: String,
    temp: String,
    out: BufWriter<File>,
    length: u64,
}

impl NewTrailFile {
    pub fn add(&mut self, bytes: &[u8]) -> Result<(), TrailError> {
        self.length += bytes.len() as u64;
        self.out.write_all(bytes).map_err(|source| self.dir.failed(&self.name, source))
    }

    /// Says how long it is.
    pub fn finish(mut self) -> Result<u64, TrailError> {
        let flushed = self.out.flush();
        let named = flushed.and_then(|()| {
            rustix::fs::renameat(&self.dir.fd, &self.temp, &self.dir.fd, &self.name).map_err(io::Error::from)
        });
        named.map(|()| self.length).map_err(|source| self.dir.failed(&self.name, source))
    }
}

impl Drop for NewTrailFile {
    /// Once it has its name there is no such file.
    fn drop(&mut self) {
        let _ = rustix::fs::unlinkat(&self.dir.fd, &self.temp, AtFlags::empty());
    }
}

/// A directory held open: what is done in it cannot be led elsewhere.
#[derive(Clone, Debug)]
struct Dir {
    fd: Arc<OwnedFd>,
    path: PathBuf,
}

impl Dir {
    fn enter(&self, name: &str) -> Result<Self, TrailError> {
        let path = self.path.join(name);
        match rustix::fs::mkdirat(&self.fd, name, Mode::from(0o777)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(io_error(&path, errno)),
        }
        match rustix::fs::openat(&self.fd, name, DIR_FLAGS, Mode::empty()) {
            Ok(fd) => Ok(Self { fd: Arc::new(fd), path }),
            Err(errno) => Err(self.obstacle(name, FileType::Directory)?.unwrap_or(io_error(&path, errno))),
        }
    }

    fn existing(&self, name: &str) -> Result<Option<Self>, TrailError> {
        let path = self.path.join(name);
        match rustix::fs::openat(&self.fd, name, DIR_FLAGS, Mode::empty()) {
            Ok(fd) => Ok(Some(Self { fd: Arc::new(fd), path })),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(self.obstacle(name, FileType::Directory)?.unwrap_or(io_error(&path, errno))),
        }
    }

    /// Through the open directory, so that nobody leads it elsewhere meanwhile.
    fn remove_tree(&self, name: &str) -> Result<(), TrailError> {
        let through = PathBuf::from(format!("/proc/self/fd/{}", self.fd.as_raw_fd())).join(name);
        let is_link = std::fs::symlink_metadata(&through).is_ok_and(|found| !found.is_dir());
        let removed =
            if is_link { std::fs::remove_file(&through) } else { std::fs::remove_dir_all(&through) };
        match removed {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(self.failed(name, error)),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Keeps the trail out of the project's own history.
    fn ignore_itself(&self) -> Result<(), TrailError> {
        let flags = FILE_FLAGS | OFlags::CREATE | OFlags::EXCL;
        match rustix::fs::openat(&self.fd, ".gitignore", flags, Mode::from(0o666)) {
            Ok(fd) => {
                File::from(fd).write_all(IGNORE_ALL).map_err(|source| self.failed(".gitignore", source))
            }
            Err(Errno::EXIST) => Ok(()),
            Err(errno) => Err(io_error(&self.path.join(".gitignore"), errno)),
        }
    }

    fn replace(&self, name: &str, bytes: &[u8]) -> Result<u64, TrailError> {
        let mut file = self.begin(name)?;
        file.add(bytes)?;
        file.finish()
    }

    fn begin(&self, name: &str) -> Result<NewTrailFile, TrailError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        if let Some(obstacle) = self.obstacle(name, FileType::RegularFile)? {
            return Err(obstacle);
        }
        let serial = NEXT.fetch_add(1, Ordering::Relaxed);
        let temp = format!(".tmp-{}-{serial}", std::process::id());
        // A process of the same number may have left one behind.
        match rustix::fs::unlinkat(&self.fd, &temp, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(self.failed(name, errno.into())),
        }
        let flags = FILE_FLAGS | OFlags::CREATE | OFlags::EXCL;
        let opened = rustix::fs::openat(&self.fd, &temp, flags, Mode::from(0o666));
        let file = File::from(opened.map_err(|errno| self.failed(name, errno.into()))?);
        let (dir, name) = (self.clone(), name.to_owned());
        Ok(NewTrailFile { dir, name, temp, out: BufWriter::new(file), length: 0 })
    }

    fn append(&self, name: &str, expected: u64, lines: &[u8]) -> Result<Growth, TrailError> {
        if let Some(obstacle) = self.obstacle(name, FileType::RegularFile)? {
            return Err(obstacle);
        }
        let flags = FILE_FLAGS | OFlags::CREATE | OFlags::APPEND | OFlags::NONBLOCK;
        let opened = rustix::fs::openat(&self.fd, name, flags, Mode::from(0o666));
        let mut file = File::from(opened.map_err(|errno| io_error(&self.path.join(name), errno))?);
        let metadata = file.metadata().map_err(|source| self.failed(name, source))?;
        // A file with a second name is not ours alone; rebuilding gives us our own.
        if !metadata.is_file() || metadata.len() != expected || metadata.nlink() != 1 {
            return Ok(Growth::Stale { length: metadata.len() });
        }
        file.write_all(lines).map_err(|source| self.failed(name, source))?;
        Ok(Growth::Grown { length: expected + lines.len() as u64 })
    }

    /// What stands under this name, if it is not what is wanted there.
    fn obstacle(&self, name: &str, wanted: FileType) -> Result<Option<TrailError>, TrailError> {
        let path = self.path.join(name);
        let found = match rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => FileType::from_raw_mode(stat.st_mode),
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(io_error(&path, errno)),
        };
        let wanted_name = if wanted == FileType::Directory { "directory" } else { "regular file" };
        if found == FileType::Symlink {
            return Ok(Some(TrailError::Symlink(path)));
        }
        Ok((found != wanted).then_some(TrailError::InTheWay { path, wanted: wanted_name }))
    }

    fn failed(&self, name: &str, source: io::Error) -> TrailError {
        TrailError::Io { path: self.path.join(name), source }
    }
}

fn io_error(path: &Path, errno: Errno) -> TrailError {
    TrailError::Io { path: path.to_owned(), source: errno.into() }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn open(project: &Path) -> Result<Trail, TrailError> {
        Trail::open(project, &LoopName::new("demo").unwrap())
    }

    #[test]
    fn files_are_replaced_whole_and_ignored_by_git() {
        let temp = tempfile::tempdir().unwrap();
        let trail = open(temp.path()).unwrap();
        let dir = temp.path().join(".windlass/loops/demo");
        assert_eq!(trail.path(), dir);
        assert_eq!(fs::read_to_string(temp.path().join(".windlass/.gitignore")).unwrap(), "*\n");
        trail.write("status.txt", b"a long first text").unwrap();
        trail.write("status.txt", b"short").unwrap();
        trail.write("iterations/0001.md", b"# one").unwrap();
        trail.write_registry(b"[]").unwrap();
        assert_eq!(fs::read(dir.join("status.txt")).unwrap(), b"short");
        assert_eq!(fs::read(dir.join("iterations/0001.md")).unwrap(), b"# one");
        assert_eq!(fs::read(temp.path().join(".windlass/registry.json")).unwrap(), b"[]");
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 2, "no temporary file is left");
        open(temp.path()).unwrap();
    }

    #[test]
    fn a_removed_trail_takes_nothing_else_along() {
        let victim = tempfile::tempdir().unwrap();
        fs::write(victim.path().join("file"), "mine").unwrap();
        let project = tempfile::tempdir().unwrap();
        let (demo, other) = (LoopName::new("demo").unwrap(), LoopName::new("other").unwrap());
        Trail::remove(project.path(), &demo, b"[]").unwrap();
        assert_eq!(fs::read_dir(project.path()).unwrap().count(), 0, "nothing is made");
        for name in [&demo, &other] {
            Trail::open(project.path(), name).unwrap().write("iterations/0001.md", b"x").unwrap();
        }
        let loops = project.path().join(".windlass/loops");
        symlink(victim.path(), loops.join("demo/link")).unwrap();
        fs::create_dir(loops.join(".removed-demo")).unwrap();
        Trail::remove(project.path(), &demo, b"[\"other\"]").unwrap();
        Trail::remove(project.path(), &demo, b"[\"other\"]").unwrap();
        assert_eq!(fs::read_dir(&loops).unwrap().count(), 1);
        assert!(loops.join("other/iterations/0001.md").exists());
        assert_eq!(fs::read(project.path().join(".windlass/registry.json")).unwrap(), b"[\"other\"]");
        fs::rename(&loops, victim.path().join("loops")).unwrap();
        symlink(victim.path().join("loops"), &loops).unwrap();
        assert!(matches!(Trail::remove(project.path(), &other, b""), Err(TrailError::Symlink(_))));
        assert!(victim.path().join("loops/other").exists() && victim.path().join("file").exists());
    }

    #[test]
    fn lines_are_added_only_where_the_writer_left_off() {
        let temp = tempfile::tempdir().unwrap();
        let trail = open(temp.path()).unwrap();
        let file = trail.path().join("events.jsonl");
        let add = |expected, lines| trail.append_lines("events.jsonl", expected, lines).unwrap();
        assert_eq!(add(0, b"{}\n"), Growth::Grown { length: 3 });
        assert_eq!(add(3, b"{}\n"), Growth::Grown { length: 6 });
        assert_eq!(add(3, b"{}\n"), Growth::Stale { length: 6 });
        fs::write(&file, "edited").unwrap();
        fs::hard_link(&file, temp.path().join("second")).unwrap();
        assert_eq!(add(6, b"{}\n"), Growth::Stale { length: 6 });
        let mut whole = trail.begin("events.jsonl").unwrap();
        whole.add(b"{}\n").unwrap();
        drop(trail.begin("events.jsonl").unwrap());
        assert_eq!(fs::read_to_string(&file).unwrap(), "edited", "a reader never sees half of a file");
        whole.add(b"[]\n").unwrap();
        assert_eq!(whole.finish().unwrap(), 6);
        assert_eq!(fs::read_dir(trail.path()).unwrap().count(), 1, "no temporary file is left");
        assert_eq!(add(6, b"1\n"), Growth::Grown { length: 8 });
        assert_eq!(fs::read_to_string(file).unwrap(), "{}\n[]\n1\n");
        assert_eq!(fs::read_to_string(temp.path().join("second")).unwrap(), "edited");
    }

    #[test]
    fn a_planted_symlink_is_never_followed() {
        let victim = tempfile::tempdir().unwrap();
        fs::write(victim.path().join("file"), "mine").unwrap();
        let refused = |result: Result<(), TrailError>, link: &Path| match result {
            Err(TrailError::Symlink(path)) => assert_eq!(path, link),
            other => panic!("{}: {other:?}", link.display()),
        };
        for link in [".windlass", ".windlass/loops", ".windlass/loops/demo"] {
            let project = tempfile::tempdir().unwrap();
            let link = project.path().join(link);
            fs::create_dir_all(link.parent().unwrap()).unwrap();
            symlink(victim.path(), &link).unwrap();
            refused(open(project.path()).map(|_| ()), &link);
        }
        let project = tempfile::tempdir().unwrap();
        let trail = open(project.path()).unwrap();
        symlink(victim.path(), trail.path().join("iterations")).unwrap();
        refused(trail.write("iterations/file", b"x"), &trail.path().join("iterations"));
        let link = trail.path().join("events.jsonl");
        symlink(victim.path().join("file"), &link).unwrap();
        refused(trail.write("events.jsonl", b"x"), &link);
        refused(trail.append_lines("events.jsonl", 4, b"x").map(|_| ()), &link);
        symlink(victim.path().join("none"), trail.path().join("dangling")).unwrap();
        refused(trail.append_lines("dangling", 0, b"x").map(|_| ()), &trail.path().join("dangling"));
        assert_eq!(fs::read(victim.path().join("file")).unwrap(), b"mine");
        assert_eq!(fs::read_dir(victim.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_stands_in_the_way_is_named() {
        let project = tempfile::tempdir().unwrap();
        fs::write(project.path().join(".windlass"), "a file").unwrap();
        let error = open(project.path()).unwrap_err();
        assert!(error.to_string().contains(".windlass: is not a directory"), "{error}");

        let project = tempfile::tempdir().unwrap();
        let trail = open(project.path()).unwrap();
        let fifo = trail.path().join("events.jsonl");
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let error = trail.append_lines("events.jsonl", 0, b"x").unwrap_err();
        assert!(matches!(error, TrailError::InTheWay { .. }), "{error}");
        for bad in ["", ".", "..", "../x", "a/../b", "/etc/x", "a/b/c", ".gitignore"] {
            assert!(matches!(trail.write(bad, b""), Err(TrailError::BadName(_))), "{bad}");
        }
    }
}
