//! Making a directory exactly a tree again after something may have written
//! to it: what differs is rewritten, what is extra removed. A file whose stat
//! key is the one windlass left is not read.

use std::collections::HashSet;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::PoisonError;

use gix_hash::ObjectId;
use gix_object::Kind;
use gix_object::bstr::BString;
use rustix::fs::{FileType, Mode};

use crate::crew::{self, Jobs};
use crate::dir::{self, StatKey};
use crate::fault::{At, FileFault};
use crate::materialise::settle;
use crate::model::{Blob, Child, DirNode, Entry, Sealed, Slot, What};
use crate::objects::{ObjectError, ObjectStore, Reader, TreeEntry, hash};
use crate::place::{make_dir, put};
use crate::remove::remove_at;
use crate::trees::ItemKind;

pub(crate) fn verify(
    root: &Path,
    objects: &ObjectStore,
    tree: ObjectId,
    old: Option<Box<DirNode>>,
) -> Result<Box<DirNode>, ObjectError> {
    let fd = dir::open_root(root).at("open", root)?;
    let threads = crew::threads_for(old.as_ref().map_or(usize::MAX, |node| node.count()));
    let slot = Slot::default();
    let first = Job { fd, path: BString::default(), tree, old, slot: slot.clone() };
    let worker = || Visit { root, reader: objects.reader(), buffer: Vec::new() };
    crew::run(threads, first, worker, |visit, mut job, jobs| {
        let node = visit.directory(&mut job, jobs)?;
        *job.slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(node);
        Ok::<_, ObjectError>(())
    })?;
    let node = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
    let mut node = node.expect("the first job that succeeded filled its slot");
    node.gather();
    settle(&mut node, dir::file_clock());
    Ok(node)
}

struct Job {
    fd: OwnedFd,
    path: BString,
    tree: ObjectId,
    old: Option<Box<DirNode>>,
    slot: Slot,
}

struct Visit<'a> {
    root: &'a Path,
    reader: Reader,
    buffer: Vec<u8>,
}

/// The directory that an entry lies in.
#[derive(Clone, Copy)]
struct Parent<'a> {
    fd: BorrowedFd<'a>,
    path: &'a BString,
}

impl Visit<'_> {
    fn directory(&mut self, job: &mut Job, jobs: &Jobs<Job>) -> Result<Box<DirNode>, ObjectError> {
        let fd = job.fd.as_fd();
        let here = dir::path_of(self.root, &job.path);
        let mut stat = dir::stat_fd(fd).at("stat", &here)?;
        if stat.mode & 0o700 != 0o700 {
            rustix::fs::fchmod(fd, Mode::from_raw_mode(stat.mode & 0o7777 | 0o700)).at("open up", &here)?;
            stat = dir::stat_fd(fd).at("stat", &here)?;
        }
        let old = job.old.take();
        // What was written is what is wanted: then the tree need not be read.
        let as_left = |old: &&DirNode| old.tree == Sealed::Tree(job.tree) && old.stat == stat && !old.racy;
        let same_listing = old.as_deref().filter(as_left);
        let wanted = match same_listing.and_then(|old| old.entries.iter().map(as_written).collect()) {
            Some(entries) => entries,
            None => {
                let wanted = self.reader.tree_to_write(job.tree)?;
                remove_extras(fd, &wanted).at("clean", &here)?;
                wanted
            }
        };
        let mut known = old.map_or_else(Vec::new, |old| old.entries);
        let mut entries = Vec::with_capacity(wanted.len());
        for entry in wanted {
            let at = known.binary_search_by(|known| known.name.cmp(&entry.name));
            let before = at.ok().map(|at| std::mem::replace(&mut known[at].what, What::Ignored));
            let parent = Parent { fd, path: &job.path };
            let what = self.entry(parent, &entry, before, jobs)?;
            entries.push(Entry { name: entry.name, flags: 0, what });
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        let stat = dir::stat_fd(fd).at("stat", &here)?;
        let tree = Sealed::Tree(job.tree);
        Ok(Box::new(DirNode { stat, racy: true, dirty: false, tree, ignore: None, entries }))
    }

    fn entry(
        &mut self,
        parent: Parent<'_>,
        entry: &TreeEntry,
        before: Option<What>,
        jobs: &Jobs<Job>,
    ) -> Result<What, ObjectError> {
        let fd = parent.fd;
        let path = dir::join(parent.path, &entry.name);
        let at = dir::path_of(self.root, &path);
        match entry.item() {
            None => {
                let fd = make_dir(fd, &entry.name).at("open", &at)?;
                let old = match before {
                    Some(What::Dir(Child::Here(node))) => Some(node),
                    Some(What::Dir(Child::Away(_)) | What::Blob(_) | What::Ignored | What::Skipped(_))
                    | None => None,
                };
                let slot = Slot::default();
                let job = Job { fd, path, tree: entry.oid, old, slot: slot.clone() };
                Ok(What::Dir(match jobs.offer(job) {
                    None => Child::Away(slot),
                    Some(mut job) => Child::Here(self.directory(&mut job, jobs)?),
                }))
            }
            Some(item) if item.kind == ItemKind::Gitlink => {
                let inner = make_dir(fd, &entry.name).at("open", &at)?;
                remove_extras(inner.as_fd(), &[]).at("clean", &at)?;
                Ok(What::Ignored)
            }
            Some(item) => {
                let before = match before {
                    Some(What::Blob(blob)) => Some(blob),
                    Some(What::Dir(_) | What::Ignored | What::Skipped(_)) | None => None,
                };
                let stat = match self.unchanged(fd, entry, before).at("read", &at)? {
                    Some(stat) => stat,
                    None => {
                        let content = self.reader.blob(item.oid)?;
                        put(fd, &entry.name, item.kind, content).at("write", &at)?
                    }
                };
                Ok(What::Blob(Blob { stat, racy: true, oid: item.oid }))
            }
        }
    }

    /// The stat key of a file or link that is as the tree wants it.
    fn unchanged(
        &mut self,
        fd: BorrowedFd<'_>,
        wanted: &TreeEntry,
        before: Option<Blob>,
    ) -> std::io::Result<Option<StatKey>> {
        let name = &wanted.name;
        let Some(stat) = dir::lookup(fd, name)? else { return Ok(None) };
        let probe = Blob { stat, racy: false, oid: wanted.oid };
        let fit = match stat.kind() {
            FileType::RegularFile => probe.kind() == wanted.kind && stat.mode & 0o7600 == 0o600,
            FileType::Symlink => probe.kind() == wanted.kind,
            FileType::Directory
            | FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => false,
        };
        if !fit {
            return Ok(None);
        }
        if before.is_some_and(|before| before.stat == stat && !before.racy && before.oid == wanted.oid) {
            return Ok(Some(stat));
        }
        if stat.kind() == FileType::Symlink {
            self.buffer = dir::read_link(fd, name)?;
        } else {
            let file = dir::open_file(fd, name)?;
            if dir::read_up_to(&file, stat.size, stat.size, &mut self.buffer)?.is_none() {
                return Ok(None);
            }
        }
        let same = hash(Kind::Blob, &self.buffer).is_ok_and(|oid| oid == wanted.oid);
        Ok(same.then_some(stat))
    }
}

fn remove_extras(fd: BorrowedFd<'_>, wanted: &[TreeEntry]) -> Result<(), rustix::io::Errno> {
    let wanted: HashSet<&BString> = wanted.iter().map(|entry| &entry.name).collect();
    for name in dir::names(fd)? {
        if !wanted.contains(&name) {
            remove_at(fd, &name)?;
        }
    }
    Ok(())
}

/// A model entry as the tree entry it was written from. Gitlinks are not in
/// the model, so a directory with one is read from its tree.
fn as_written(entry: &Entry) -> Option<TreeEntry> {
    let (kind, oid) = match &entry.what {
        What::Blob(blob) => (blob.kind(), blob.oid),
        What::Dir(Child::Here(node)) => match node.tree {
            Sealed::Tree(oid) => (gix_object::tree::EntryKind::Tree, oid),
            Sealed::Empty | Sealed::Unknown => return None,
        },
        What::Dir(Child::Away(_)) | What::Ignored | What::Skipped(_) => return None,
    };
    Some(TreeEntry { name: entry.name.clone(), kind, oid })
}

/// What a full checkout cannot do without: an empty directory of our own.
pub(crate) fn make_empty(root: &Path) -> Result<(), FileFault> {
    crate::remove::discard(root)?;
    std::fs::create_dir_all(root).at("create", root)
}
