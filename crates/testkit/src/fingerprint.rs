//! What a loop must leave alone in a user's repository, as something to
//! compare before and after.
//!
//! A loop may write `.windlass/`, add objects, and move `windlass/<loop>` with
//! its reflog. Everything else is compared by content, mode and kind; files of
//! the checkout by their modification time too, since a rewrite with equal
//! bytes wakes every build tool and editor the user has open.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::repo;

/// A picture of a repository at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// Compared both ways: nothing may come, go or change.
    fixed: BTreeMap<PathBuf, String>,
    /// Compared one way: what was there must still be there, unchanged.
    objects: BTreeMap<PathBuf, String>,
}

/// Takes the picture of the repository whose checkout is `project`; a linked
/// worktree is seen with its own git directory and the shared one.
#[track_caller]
pub fn fingerprint(project: &Path) -> Fingerprint {
    let mut taken = Fingerprint { fixed: BTreeMap::new(), objects: BTreeMap::new() };
    let git_dir = |flag: &str| {
        PathBuf::from(repo::git(
            project,
            ["-c", "safe.directory=*", "rev-parse", "--path-format=absolute", flag],
        ))
    };
    taken.checkout(project, Path::new(""));
    let (own, shared) = (git_dir("--git-dir"), git_dir("--git-common-dir"));
    taken.git_dir(&shared, Path::new(""));
    if own != shared && !own.starts_with(&shared) {
        taken.git_dir(&own, Path::new(""));
    }
    taken
}

impl Fingerprint {
    /// What changed against rights from this picture to a later one, a line
    /// each; empty when the loop kept its promise.
    pub fn changes(&self, later: &Self) -> Vec<String> {
        let mut found = Vec::new();
        for (path, before) in &self.fixed {
            match later.fixed.get(path) {
                None => found.push(format!("gone: {}", path.display())),
                Some(after) if after != before => {
                    found.push(format!("changed: {}: {before} -> {after}", path.display()));
                }
                Some(_) => {}
            }
        }
        let new = later.fixed.keys().filter(|path| !self.fixed.contains_key(*path));
        found.extend(new.map(|path| format!("new: {}", path.display())));
        let lost = self.objects.iter().filter(|(path, before)| later.objects.get(*path) != Some(before));
        found.extend(lost.map(|(path, _)| format!("object lost or changed: {}", path.display())));
        found
    }

    fn checkout(&mut self, root: &Path, below: &Path) {
        for name in names(&root.join(below)) {
            let path = below.join(&name);
            if path == Path::new(".git") && root.join(&path).is_dir() || path == Path::new(".windlass") {
                continue;
            }
            let file = root.join(&path);
            let meta = metadata(&file);
            let key = Path::new("checkout").join(&path);
            if meta.is_dir() {
                self.fixed.insert(key, format!("directory {:o}", meta.mode()));
                self.checkout(root, &path);
            } else {
                let times = format!("mtime {}.{:09}", meta.mtime(), meta.mtime_nsec());
                self.fixed.insert(key, format!("{} {times}", content(&file, &meta)));
            }
        }
    }

    /// Directories of git's own are not compared: an empty one means nothing to it.
    fn git_dir(&mut self, root: &Path, below: &Path) {
        for name in names(&root.join(below)) {
            let path = below.join(&name);
            let file = root.join(&path);
            let meta = metadata(&file);
            if meta.is_dir() {
                self.git_dir(root, &path);
            } else if is_object(&path) {
                self.objects.insert(file.clone(), content(&file, &meta));
            } else if !is_loop_branch(&path) {
                self.fixed.insert(file.clone(), content(&file, &meta));
            }
        }
    }
}

/// A borrowed object store would make the user's repository depend on ours.
fn is_object(path: &Path) -> bool {
    path.starts_with("objects") && !path.starts_with("objects/info")
}

fn is_loop_branch(path: &Path) -> bool {
    path.starts_with("refs/heads/windlass") || path.starts_with("logs/refs/heads/windlass")
}

#[track_caller]
fn content(file: &Path, meta: &fs::Metadata) -> String {
    let mode = meta.mode();
    let hashed = |kind: &str, bytes: &[u8]| format!("{kind} {mode:o} {}", blake3::hash(bytes).to_hex());
    let read = if meta.is_symlink() {
        fs::read_link(file).map(|target| hashed("symlink", target.as_os_str().as_bytes()))
    } else if meta.is_file() {
        fs::read(file).map(|bytes| hashed("file", &bytes))
    } else {
        Ok(format!("special {mode:o}"))
    };
    match read {
        Ok(content) => content,
        // The user may own a file that the user may not read; its change time tells as much.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            format!("unreadable {mode:o} ctime {}.{:09}", meta.ctime(), meta.ctime_nsec())
        }
        Err(error) => panic!("read {}: {error}", file.display()),
    }
}

#[track_caller]
fn names(dir: &Path) -> Vec<std::ffi::OsString> {
    fs::read_dir(dir)
        .and_then(|entries| entries.map(|entry| Ok(entry?.file_name())).collect())
        .unwrap_or_else(|error| panic!("list {}: {error}", dir.display()))
}

#[track_caller]
fn metadata(file: &Path) -> fs::Metadata {
    fs::symlink_metadata(file).unwrap_or_else(|error| panic!("stat {}: {error}", file.display()))
}
