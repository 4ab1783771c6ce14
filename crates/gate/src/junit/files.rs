//! The files in which a check reports its tests, read from a tree that an agent filled: no link is followed,
//! only regular files count, and everything has a bound.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::paths::BadGlob;

/// All files of one check together.
const MOST_BYTES: u64 = 64 << 20;
const MOST_FILES: usize = 2_000;
/// Names looked at, where the pattern leaves open where to look.
const MOST_NAMES: usize = 200_000;
const DEEPEST: usize = 64;

/// The files that a check's `junit` means.
pub struct JunitFiles {
    glob: String,
    matcher: GlobMatcher,
    /// The names it begins with, as far as they are plain.
    plain: Vec<String>,
    /// Whether that is all of it: one file.
    whole: bool,
}

/// The files that were there before the check ran, and so are no word of it.
#[derive(Debug, Default)]
pub struct Before(BTreeMap<String, FileKey>);

/// Of a file that was not written again none of these changes.
#[derive(Debug, PartialEq, Eq)]
struct FileKey {
    inode: u64,
    size: i64,
    changed: (i64, i64),
}

impl JunitFiles {
    /// From the root of the tree; `*` does not cross a slash.
    pub fn new(glob: &str) -> Result<Self, BadGlob> {
        let name = glob.strip_prefix("./").unwrap_or(glob);
        let built = GlobBuilder::new(name).literal_separator(true).build();
        let bad = |why: String| BadGlob { place: "gate.check.junit", glob: glob.to_owned(), why };
        let matcher = built.map_err(|error| bad(error.kind().to_string()))?.compile_matcher();
        let is_plain = |part: &&str| !part.contains(['*', '?', '[', ']', '{', '}', '\\']);
        let parts: Vec<&str> = name.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        if parts.is_empty() || parts.contains(&"..") || name.starts_with('/') {
            return Err(bad("it names nothing in the tree".to_owned()));
        }
        let plain: Vec<String> = parts.iter().copied().take_while(is_plain).map(str::to_owned).collect();
        Ok(Self { glob: name.to_owned(), matcher, whole: plain.len() == parts.len(), plain })
    }

    /// What is there already. A tree that cannot be looked at now is looked at again by [`Self::read`].
    pub fn before(&self, root: &Path) -> Before {
        let mut search =
            Search { files: self, before: None, found: BTreeMap::new(), left: MOST_BYTES, names: 0 };
        // What was found up to an error is enough: the same error comes again afterwards.
        let _ = search.run(root);
        Before(search.found.into_iter().map(|(path, found)| (path, found.key)).collect())
    }

    /// The bytes of every such file that the check wrote, by name. The error completes "the check exited with
    /// 0, but".
    pub fn read(&self, root: &Path, before: &Before) -> Result<Vec<(String, Vec<u8>)>, String> {
        let mut search =
            Search { files: self, before: Some(before), found: BTreeMap::new(), left: MOST_BYTES, names: 0 };
        search.run(root)?;
        if search.found.is_empty() {
            return Err(format!("it wrote no file {}", self.glob));
        }
        Ok(search.found.into_iter().map(|(path, found)| (path, found.bytes)).collect())
    }
}

impl FileKey {
    #[allow(clippy::unnecessary_cast, reason = "field types differ between systems")]
    fn of(stat: &Stat) -> Self {
        let changed = (stat.st_ctime as i64, stat.st_ctime_nsec as i64);
        Self { inode: stat.st_ino as u64, size: stat.st_size as i64, changed }
    }
}

struct Search<'j> {
    files: &'j JunitFiles,
    /// None where only names are wanted.
    before: Option<&'j Before>,
    found: BTreeMap<String, Found>,
    /// Bytes that may still be read.
    left: u64,
    names: usize,
}

struct Found {
    key: FileKey,
    bytes: Vec<u8>,
}

impl Search<'_> {
    fn run(&mut self, root: &Path) -> Result<(), String> {
        let files = self.files;
        let shown = root.display();
        let mut dir = open_root(root).map_err(|error| format!("{shown} cannot be opened: {error}"))?;
        let dirs = if files.whole { &files.plain[..files.plain.len() - 1] } else { &files.plain[..] };
        let mut path = String::new();
        for name in dirs {
            push(&mut path, name);
            dir = match open_dir(dir.as_fd(), name.as_bytes()) {
                Ok(dir) => dir,
                Err(Errno::NOENT) => return Ok(()),
                Err(error) => return Err(format!("{path} cannot be opened as a directory: {error}")),
            };
        }
        match files.plain.last().filter(|_| files.whole) {
            Some(name) => self.look(dir.as_fd(), name.as_bytes(), &path).map(|_| ()),
            None => self.below(dir.as_fd(), &path, dirs.len()),
        }
    }

    fn below(&mut self, dir: BorrowedFd<'_>, path: &str, depth: usize) -> Result<(), String> {
        let unreadable = |error: Errno| format!("{path:?} cannot be listed: {error}");
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(dir).map_err(unreadable)? {
            let name = entry.map_err(unreadable)?.file_name().to_bytes().to_vec();
            if !matches!(name.as_slice(), b"." | b".." | b".git") {
                names.push(name);
            }
            self.names += 1;
            if self.names > MOST_NAMES {
                return Err(format!("more than {MOST_NAMES} names are where {} may be", self.files.glob));
            }
        }
        names.sort();
        for name in names {
            if self.look(dir, &name, path)? != Some(FileType::Directory) || depth >= DEEPEST {
                continue;
            }
            let mut inner = path.to_owned();
            push(&mut inner, &String::from_utf8_lossy(&name));
            match open_dir(dir, &name) {
                Ok(dir) => self.below(dir.as_fd(), &inner, depth + 1)?,
                Err(error) => return Err(format!("{inner:?} cannot be opened: {error}")),
            }
        }
        Ok(())
    }

    /// Keeps the name if it is one of ours; says what it is otherwise.
    fn look(&mut self, dir: BorrowedFd<'_>, name: &[u8], path: &str) -> Result<Option<FileType>, String> {
        let stat = match rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(format!("{path:?} cannot be looked at: {error}")),
        };
        let kind = FileType::from_raw_mode(stat.st_mode);
        let mut whole = path.to_owned();
        push(&mut whole, &String::from_utf8_lossy(name));
        if !self.files.matcher.is_match(&whole) {
            return Ok(Some(kind));
        }
        match kind {
            FileType::RegularFile => {}
            FileType::Directory => return Ok(Some(kind)),
            // How an overlay says that a file of the tree was deleted.
            FileType::CharacterDevice if stat.st_rdev == 0 => return Ok(None),
            FileType::Symlink
            | FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => return Err(format!("{whole} is no regular file")),
        }
        let key = FileKey::of(&stat);
        if self.before.is_some_and(|before| before.0.get(&whole) == Some(&key)) {
            return Ok(Some(kind));
        }
        if self.found.len() >= MOST_FILES {
            return Err(format!("more than {MOST_FILES} files are {}", self.files.glob));
        }
        let bytes = match self.before {
            Some(_) => read(dir, name, &whole, self.left)?,
            None => Vec::new(),
        };
        self.left -= bytes.len() as u64;
        self.found.insert(whole, Found { key, bytes });
        Ok(Some(kind))
    }
}

fn read(dir: BorrowedFd<'_>, name: &[u8], path: &str, most: u64) -> Result<Vec<u8>, String> {
    let unreadable = |error: &dyn std::fmt::Display| format!("{path} cannot be read: {error}");
    let too_large = || format!("{path} is too large: {} MiB are read in all", MOST_BYTES >> 20);
    // A pipe put in its place does not block.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(dir, name, flags, Mode::empty()).map_err(|error| unreadable(&error))?;
    let stat = rustix::fs::fstat(&file).map_err(|error| unreadable(&error))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(format!("{path} is no regular file"));
    }
    if u64::try_from(stat.st_size).unwrap_or(u64::MAX) > most {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    File::from(file).take(most + 1).read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
    if bytes.len() as u64 > most { Err(too_large()) } else { Ok(bytes) }
}

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

fn open_root(path: &Path) -> Result<OwnedFd, Errno> {
    rustix::fs::open(path, DIRECTORY, Mode::empty())
}

fn open_dir(dir: BorrowedFd<'_>, name: &[u8]) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(dir, name, DIRECTORY | OFlags::NOFOLLOW, Mode::empty())
}

fn push(path: &mut String, name: &str) {
    if !path.is_empty() {
        path.push('/');
    }
    path.push_str(name);
}
