//! Writing a whole tree into an empty directory, with several threads, and
//! remembering what was written.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::PoisonError;

use gix_hash::ObjectId;
use gix_object::bstr::BString;

use crate::crew::{self, Jobs};
use crate::dir;
use crate::fault::At;
use crate::model::{Blob, Child, DirNode, Entry, IgnoreFile, Sealed, Slot, What};
use crate::objects::{ObjectError, ObjectStore, Reader};
use crate::place::{make_dir, put_new};
use crate::trees::ItemKind;

/// `root` exists and is empty.
pub(crate) fn materialise(
    root: &Path,
    objects: &ObjectStore,
    tree: ObjectId,
) -> Result<Box<DirNode>, ObjectError> {
    let fd = dir::open_root(root).at("open", root)?;
    let slot = Slot::default();
    let first = Job { fd, path: BString::default(), tree, slot: slot.clone() };
    let threads = crew::threads_for(usize::MAX);
    crew::run(
        threads,
        first,
        || objects.reader(),
        |reader, job, jobs| {
            let node = directory(root, &job, reader, jobs)?;
            *job.slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(node));
            Ok::<_, ObjectError>(())
        },
    )?;
    let node = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
    let mut node = node.expect("the first job that succeeded filled its slot");
    node.gather();
    settle(&mut node, dir::file_clock());
    Ok(node)
}

/// Marks what is too young to be told from a later change. Nobody else wrote
/// here until `now`, so older entries are safe to trust.
pub(crate) fn settle(node: &mut DirNode, now: i64) {
    node.racy = node.stat.is_racy(now);
    if let Some(file) = &mut node.ignore {
        file.racy = file.stat.is_racy(now);
    }
    for entry in &mut node.entries {
        match &mut entry.what {
            What::Blob(blob) => blob.racy = blob.stat.is_racy(now),
            What::Dir(Child::Here(child)) => settle(child, now),
            What::Dir(Child::Away(_)) | What::Ignored | What::Skipped(_) => {}
        }
    }
}

struct Job {
    fd: OwnedFd,
    path: BString,
    tree: ObjectId,
    slot: Slot,
}

fn directory(root: &Path, job: &Job, reader: &mut Reader, jobs: &Jobs<Job>) -> Result<DirNode, ObjectError> {
    let mut entries = Vec::new();
    let mut ignore = None;
    for item in reader.tree_to_write(job.tree)? {
        let path = dir::join(&job.path, &item.name);
        let at = || dir::path_of(root, &path);
        let what = match item.item() {
            None => {
                let fd = make_dir(job.fd.as_fd(), &item.name).at("create", &at())?;
                let slot = Slot::default();
                match jobs.offer(Job { fd, path: path.clone(), tree: item.oid, slot: slot.clone() }) {
                    None => What::Dir(Child::Away(slot)),
                    Some(job) => What::Dir(Child::Here(Box::new(directory(root, &job, reader, jobs)?))),
                }
            }
            Some(leaf) if leaf.kind == ItemKind::Gitlink => {
                put_new(job.fd.as_fd(), &item.name, leaf.kind, &[]).at("create", &at())?;
                What::Ignored
            }
            Some(leaf) => {
                let content = reader.blob(leaf.oid)?;
                let stat = put_new(job.fd.as_fd(), &item.name, leaf.kind, content).at("write", &at())?;
                if item.name == ".gitignore" && leaf.kind != ItemKind::Link {
                    ignore = Some(IgnoreFile { stat, racy: true, patterns: None });
                }
                What::Blob(Blob { stat, racy: true, oid: leaf.oid })
            }
        };
        entries.push(Entry { name: item.name, flags: 0, what });
    }
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    let stat = dir::stat_fd(&job.fd).at("stat", &dir::path_of(root, &job.path))?;
    let tree = if entries.is_empty() { Sealed::Empty } else { Sealed::Tree(job.tree) };
    Ok(DirNode { stat, racy: true, dirty: false, tree, ignore, entries })
}
