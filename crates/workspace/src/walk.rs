//! The walk: from what was known of a workspace to what is there, reading only
//! what changed. No symbolic link is followed and nothing named `.git` is
//! looked into, so nothing an agent left behind can steer it.

use std::collections::HashSet;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError};

use gix_hash::ObjectId;
use gix_object::Kind;
use gix_object::bstr::BString;
use gix_object::tree::EntryKind;
use rustix::fs::FileType;
use rustix::io::Errno;

use crate::attributes::{Endings, has_crlf, normalise};
use crate::base::Base;
use crate::crew::{self, Jobs};
use crate::dir::{self, DEEPEST, LONGEST, StatKey};
use crate::excludes::{self, Chain, Patterns};
use crate::fault::{At, FileFault};
use crate::model::{Blob, Child, DirNode, ENDINGS, Entry, FORCED, IgnoreFile, Sealed, Skip, Slot, What};
use crate::objects::{ObjectError, ObjectStore, hash, is_safe_name};
use crate::pack::NewObject;
use crate::sink::{Sink, Worker};

#[derive(Debug, thiserror::Error)]
pub enum WalkError {
    #[error("more than {limit} files and directories that are not ignored")]
    TooManyFiles { limit: usize },
    #[error("more than {limit} bytes of changed content")]
    TooMuchContent { limit: u64 },
    #[error(transparent)]
    Object(#[from] ObjectError),
    #[error(transparent)]
    File(#[from] FileFault),
}

/// How much of a workspace is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotLimits {
    pub max_files: usize,
    pub max_file_bytes: u64,
    /// Of new content, before compression.
    pub max_new_bytes: u64,
}

impl Default for SnapshotLimits {
    fn default() -> Self {
        Self { max_files: 1_000_000, max_file_bytes: 100 << 20, max_new_bytes: 4 << 30 }
    }
}

/// What makes earlier decisions void.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Invalidated {
    /// The excludes are others: decide anew what is ignored.
    pub excludes: bool,
    /// The base is another: look again at what depends on it.
    pub base: bool,
    /// Read every file again, whatever its stat key.
    pub content: bool,
}

pub(crate) struct Walk<'a> {
    pub root: &'a Path,
    pub base: &'a Base,
    pub objects: &'a ObjectStore,
    pub sink: &'a Sink,
    pub global: Option<Arc<Patterns>>,
    /// Paths put into the workspace by windlass: never taken unless tracked.
    pub never: &'a HashSet<BString>,
    pub limits: SnapshotLimits,
    pub invalidated: Invalidated,
}

impl Walk<'_> {
    pub(crate) fn run(&self, fd: OwnedFd, old: Option<Box<DirNode>>) -> Result<Box<DirNode>, WalkError> {
        let threads = crew::threads_for(old.as_ref().map_or(usize::MAX, |node| node.count()));
        let pass = Pass {
            walk: self,
            looked_at: dir::file_clock(),
            files: AtomicUsize::new(0),
            new_bytes: AtomicU64::new(0),
        };
        let slot = Slot::default();
        let place = Place {
            path: Vec::new(),
            depth: 0,
            chain: Chain::new(self.global.clone()),
            redecide: self.invalidated.excludes,
        };
        let first = Job { fd, place, old, slot: slot.clone() };
        crew::run(
            threads,
            first,
            || Worker::new(self.objects),
            |worker, job, jobs| {
                let node = Visit { pass: &pass, worker, jobs }.directory(&job.fd, job.place, job.old)?;
                *job.slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(node);
                Ok::<_, WalkError>(())
            },
        )?;
        let root = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut root = root.expect("the first job of a walk that succeeded filled its slot");
        root.gather();
        Ok(root)
    }
}

/// The shared state of one walk.
struct Pass<'a> {
    walk: &'a Walk<'a>,
    looked_at: i64,
    files: AtomicUsize,
    new_bytes: AtomicU64,
}

struct Job {
    fd: OwnedFd,
    place: Place,
    old: Option<Box<DirNode>>,
    slot: Slot,
}

struct Place {
    path: Vec<u8>,
    depth: usize,
    chain: Chain,
    /// Patterns above changed: what is ignored here must be decided anew.
    redecide: bool,
}

struct Visit<'a> {
    pass: &'a Pass<'a>,
    worker: &'a mut Worker,
    jobs: &'a Jobs<Job>,
}

/// A directory to go down into, with what was known of it.
struct Subdirectory {
    name: BString,
    flags: u8,
    fd: OwnedFd,
    old: Option<Box<DirNode>>,
}

/// A directory being visited: what its entries need to know.
struct Here<'a> {
    fd: BorrowedFd<'a>,
    place: Place,
    /// Its listing is unchanged, hence also the type of each entry.
    same_listing: bool,
}

impl Visit<'_> {
    fn directory(
        &mut self,
        fd: &OwnedFd,
        place: Place,
        old: Option<Box<DirNode>>,
    ) -> Result<Box<DirNode>, WalkError> {
        let walk = self.pass.walk;
        let at = |path: &[u8]| dir::path_of(walk.root, path);
        let stat = dir::stat_fd(fd).at("stat", &at(&place.path))?;
        let mut old = old.map_or_else(empty_node, |node| *node);
        let same_listing = old.stat == stat && !old.racy;
        let mut here = Here { fd: fd.as_fd(), place, same_listing };
        let mut entries = std::mem::take(&mut old.entries);
        let mut changed = false;
        if !same_listing {
            let names = dir::names(fd.as_fd()).at("list", &at(&here.place.path))?;
            entries = merge(names, entries, &mut changed);
        }
        let has_ignore = entries.iter().any(|entry| entry.name == ".gitignore");
        let ignore = self.ignore_file(&mut here, has_ignore, old.ignore)?;
        let mut shown = 0;
        for slot in &mut entries {
            if self.is_as_known(&here, slot) {
                shown += usize::from(slot.shows().is_some());
                continue;
            }
            let known = std::mem::replace(slot, unseen(BString::default()));
            let before = known.shows();
            if let Some(entry) = self.known(&here, known)? {
                *slot = entry;
            }
            changed |= before != slot.shows();
            shown += usize::from(slot.shows().is_some());
            if shown > walk.limits.max_files {
                break;
            }
        }
        entries.retain(|entry| !entry.name.is_empty());
        if self.pass.files.fetch_add(shown, Ordering::Relaxed) + shown > walk.limits.max_files {
            return Err(WalkError::TooManyFiles { limit: walk.limits.max_files });
        }
        let racy = stat.is_racy(self.pass.looked_at);
        Ok(Box::new(DirNode { stat, racy, dirty: old.dirty || changed, tree: old.tree, ignore, entries }))
    }

    /// Reads this directory's `.gitignore` into the chain. A changed one
    /// voids the decisions from here down.
    fn ignore_file(
        &mut self,
        here: &mut Here<'_>,
        present: bool,
        old: Option<IgnoreFile>,
    ) -> Result<Option<IgnoreFile>, WalkError> {
        if here.place.chain.all_ignored {
            return Ok(old);
        }
        let stat = if present { dir::stat(here.fd, b".gitignore").ok() } else { None };
        let usable = |stat: &StatKey| stat.kind() == FileType::RegularFile && stat.size <= excludes::LARGEST;
        let Some(stat) = stat.filter(usable) else {
            here.place.redecide |= old.is_some();
            return Ok(None);
        };
        let same = old.filter(|old| old.stat == stat && !old.racy);
        here.place.redecide |= same.is_none();
        let patterns = match same.and_then(|same| same.patterns) {
            Some(patterns) => patterns,
            None => Arc::new(Patterns::parse(&self.read_patterns(here.fd, stat.size))),
        };
        here.place.chain = here.place.chain.with(&here.place.path, patterns.clone());
        let racy = stat.is_racy(self.pass.looked_at);
        Ok(Some(IgnoreFile { stat, racy, patterns: Some(patterns) }))
    }

    /// Unreadable patterns are no patterns: that takes more, not less.
    fn read_patterns(&mut self, fd: BorrowedFd<'_>, size: u64) -> Vec<u8> {
        let mut content = Vec::new();
        let Ok(file) = dir::open_file(fd, b".gitignore") else { return content };
        match dir::read_up_to(&file, size, excludes::LARGEST, &mut content) {
            Ok(Some(())) => content,
            Ok(None) | Err(_) => Vec::new(),
        }
    }

    /// The quick way through a large workspace: most entries are as they were,
    /// and stay where they are in memory.
    fn is_as_known(&self, here: &Here<'_>, entry: &Entry) -> bool {
        let invalidated = self.pass.walk.invalidated;
        if !self.is_settled(here, entry) {
            return false;
        }
        match &entry.what {
            What::Blob(blob) => {
                !blob.racy && !invalidated.content && dir::stat(here.fd, &entry.name) == Ok(blob.stat)
            }
            What::Ignored => here.same_listing && !invalidated.base,
            What::Dir(_) | What::Skipped(_) => false,
        }
    }

    /// Whether what was decided about a name still holds if it is the same.
    fn is_settled(&self, here: &Here<'_>, entry: &Entry) -> bool {
        let depends = self.pass.walk.invalidated.base && entry.flags != 0;
        !here.place.redecide && !depends
    }

    /// What is at a name that may have been there before; `None` when there is
    /// nothing to keep.
    fn known(&mut self, here: &Here<'_>, known: Entry) -> Result<Option<Entry>, WalkError> {
        let settled = self.is_settled(here, &known);
        match known.what {
            What::Blob(blob) if settled => match dir::stat(here.fd, &known.name) {
                Ok(stat) if stat.kind() == blob.stat.kind() => {
                    self.take(here, known.name, stat, known.flags & FORCED).map(Some)
                }
                Ok(_) | Err(_) => self.examine(here, known.name, None),
            },
            What::Dir(Child::Here(node)) if settled => match dir::open_dir(here.fd, &known.name) {
                Ok(fd) => {
                    let subdir = Subdirectory { name: known.name, flags: known.flags, fd, old: Some(node) };
                    self.descend(here, subdir).map(Some)
                }
                Err(_) => self.examine(here, known.name, None),
            },
            what @ (What::Blob(_) | What::Dir(_)) => {
                self.examine(here, known.name, Some((known.flags, what)))
            }
            What::Ignored | What::Skipped(_) => self.examine(here, known.name, None),
        }
    }

    /// Decides about a name from nothing but what is there; what was known
    /// only saves reading it again.
    fn examine(
        &mut self,
        here: &Here<'_>,
        name: BString,
        known: Option<(u8, What)>,
    ) -> Result<Option<Entry>, WalkError> {
        if name == ".git" {
            return Ok(None);
        }
        let walk = self.pass.walk;
        let path = dir::join(&here.place.path, &name);
        let stat = match dir::lookup(here.fd, &name).at("stat", &dir::path_of(walk.root, &path))? {
            Some(stat) => stat,
            None => return Ok(None),
        };
        let is_dir = stat.kind() == FileType::Directory;
        let mut flags = 0;
        if walk.base.is_gitlink(&path) {
            return Ok(Some(Entry { name, flags, what: What::Ignored }));
        }
        if walk.never.contains(&path) || here.place.chain.ignores(&path, is_dir) {
            if !self.is_tracked(&path, is_dir)? {
                return Ok(Some(Entry { name, flags, what: What::Ignored }));
            }
            flags = FORCED;
        }
        let skipped = |skip| Ok(Some(Entry { name: name.clone(), flags, what: What::Skipped(skip) }));
        if !is_safe_name(&name, stat.kind() == FileType::Symlink) {
            return skipped(Skip::UnsafeName);
        }
        if path.len() > LONGEST || here.place.depth >= DEEPEST {
            return skipped(Skip::TooDeep);
        }
        match stat.kind() {
            FileType::Directory => match dir::open_dir(here.fd, &name) {
                Ok(fd) => {
                    let subdir = Subdirectory { name, flags, fd, old: known_node(known) };
                    self.descend(here, subdir).map(Some)
                }
                Err(error) => skipped(Skip::Unreadable(error.raw_os_error())),
            },
            FileType::RegularFile | FileType::Symlink => match self.still_holds(stat, known) {
                Some(blob) => Ok(Some(Entry { name, flags, what: What::Blob(blob) })),
                None => self.take(here, name, stat, flags).map(Some),
            },
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => skipped(Skip::Special(stat.mode)),
        }
    }

    fn still_holds(&self, stat: StatKey, known: Option<(u8, What)>) -> Option<Blob> {
        match known? {
            (flags, What::Blob(blob)) => {
                let holds = stat == blob.stat && !blob.racy && flags & ENDINGS == 0;
                (holds && !self.pass.walk.invalidated.content).then_some(blob)
            }
            (_, What::Dir(_) | What::Ignored | What::Skipped(_)) => None,
        }
    }

    fn is_tracked(&mut self, path: &[u8], is_dir: bool) -> Result<bool, WalkError> {
        let entry = self.pass.walk.base.entry(&mut self.worker.reader, path)?;
        Ok(entry.is_some_and(|entry| is_dir == (entry.kind == EntryKind::Tree)))
    }

    fn descend(&mut self, here: &Here<'_>, subdir: Subdirectory) -> Result<Entry, WalkError> {
        let Subdirectory { name, flags, fd, old } = subdir;
        let chain =
            if flags & FORCED != 0 { here.place.chain.ignoring_all() } else { here.place.chain.clone() };
        let place = Place {
            path: dir::join(&here.place.path, &name).into(),
            depth: here.place.depth + 1,
            chain,
            redecide: here.place.redecide,
        };
        let slot = Slot::default();
        let child = match self.jobs.offer(Job { fd, place, old, slot: slot.clone() }) {
            None => Child::Away(slot),
            Some(job) => Child::Here(self.directory(&job.fd, job.place, job.old)?),
        };
        Ok(Entry { name, flags, what: What::Dir(child) })
    }

    /// Reads a file or a link and stores what it holds.
    fn take(&mut self, here: &Here<'_>, name: BString, stat: StatKey, flags: u8) -> Result<Entry, WalkError> {
        let taken = if stat.kind() == FileType::Symlink {
            match dir::read_link(here.fd, &name) {
                Ok(target) => {
                    self.worker.buffer = target;
                    Ok(stat)
                }
                Err(error) => Err(Skip::Unreadable(error.raw_os_error())),
            }
        } else {
            self.read_file(here.fd, &name, stat.size)
        };
        let stat = match taken {
            Ok(stat) => stat,
            Err(skip) => return Ok(Entry { name, flags, what: What::Skipped(skip) }),
        };
        let content = std::mem::take(&mut self.worker.buffer);
        let path = dir::join(&here.place.path, &name);
        let stored = self.store(&path, stat.kind() == FileType::RegularFile, &content);
        self.worker.buffer = content;
        let (oid, endings) = match stored {
            Ok(stored) => stored,
            Err(WalkError::Object(ObjectError::Collision { .. })) => {
                return Ok(Entry { name, flags, what: What::Skipped(Skip::Collision) });
            }
            Err(error) => return Err(error),
        };
        let racy = stat.is_racy(self.pass.looked_at);
        Ok(Entry { name, flags: flags | endings, what: What::Blob(Blob { stat, racy, oid }) })
    }

    fn read_file(&mut self, fd: BorrowedFd<'_>, name: &[u8], size: u64) -> Result<StatKey, Skip> {
        let limit = self.pass.walk.limits.max_file_bytes;
        if size > limit {
            return Err(Skip::TooLarge(size));
        }
        let unreadable = |error: Errno| Skip::Unreadable(error.raw_os_error());
        let file = dir::open_file(fd, name).map_err(unreadable)?;
        let stat = dir::stat_fd(&file).map_err(unreadable)?;
        if stat.kind() != FileType::RegularFile {
            return Err(Skip::Special(stat.mode));
        }
        match dir::read_up_to(&file, stat.size, limit, &mut self.worker.buffer) {
            Ok(Some(())) => Ok(stat),
            Ok(None) => Err(Skip::TooLarge(stat.size)),
            Err(error) => Err(Skip::Unreadable(error.raw_os_error().unwrap_or(0))),
        }
    }

    /// The id of the content as git would store it, and whether it hung on
    /// its line endings.
    fn store(&mut self, path: &[u8], is_file: bool, content: &[u8]) -> Result<(ObjectId, u8), WalkError> {
        let walk = self.pass.walk;
        let treatment = walk.base.facts().attributes.treatment(path);
        let raw = hash(Kind::Blob, content)?;
        if !is_file || treatment.filtered || treatment.endings == Endings::Raw || !has_crlf(content) {
            self.put(raw, content)?;
            return Ok((raw, 0));
        }
        let base = walk.base.entry(&mut self.worker.reader, path)?;
        if base.as_ref().is_some_and(|entry| entry.oid == raw) {
            return Ok((raw, ENDINGS));
        }
        let reader = &mut self.worker.reader;
        let stored =
            || match base.filter(|entry| entry.kind != EntryKind::Tree && entry.kind != EntryKind::Commit) {
                Some(entry) => reader.blob(entry.oid).map(|bytes| Some(bytes.to_vec())),
                None => Ok(None),
            };
        let content = normalise(content, treatment.endings, stored)?;
        let oid = hash(Kind::Blob, &content)?;
        self.put(oid, &content)?;
        Ok((oid, ENDINGS))
    }

    fn put(&mut self, oid: ObjectId, content: &[u8]) -> Result<(), WalkError> {
        if !self.pass.walk.sink.put(self.worker, &NewObject { oid, kind: Kind::Blob, content })? {
            return Ok(());
        }
        let limit = self.pass.walk.limits.max_new_bytes;
        let before = self.pass.new_bytes.fetch_add(content.len() as u64, Ordering::Relaxed);
        if before + content.len() as u64 > limit {
            return Err(WalkError::TooMuchContent { limit });
        }
        Ok(())
    }
}

fn known_node(known: Option<(u8, What)>) -> Option<Box<DirNode>> {
    match known?.1 {
        What::Dir(Child::Here(node)) => Some(node),
        What::Dir(Child::Away(_)) | What::Blob(_) | What::Ignored | What::Skipped(_) => None,
    }
}

fn empty_node() -> DirNode {
    DirNode {
        stat: StatKey::default(),
        racy: true,
        dirty: true,
        tree: Sealed::Unknown,
        ignore: None,
        entries: Vec::new(),
    }
}

fn unseen(name: BString) -> Entry {
    Entry { name, flags: 0, what: What::Skipped(Skip::Unseen) }
}

/// The names that are there, with what was known of them.
fn merge(names: Vec<BString>, known: Vec<Entry>, changed: &mut bool) -> Vec<Entry> {
    let mut known = known.into_iter().peekable();
    let mut listing = Vec::with_capacity(names.len());
    for name in names {
        while let Some(gone) = known.next_if(|entry| entry.name < name) {
            *changed |= gone.shows().is_some();
        }
        listing.push(known.next_if(|entry| entry.name == name).unwrap_or_else(|| unseen(name)));
    }
    *changed |= known.any(|entry| entry.shows().is_some());
    listing
}
