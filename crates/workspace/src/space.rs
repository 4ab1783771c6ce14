//! An author's workspace: a directory with the files of a commit and a private
//! `.git`. The agent may do anything to it; windlass keeps what it knows of it
//! outside.

use std::collections::HashSet;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gix_hash::ObjectId;
use gix_object::bstr::BString;
use rustix::fs::FileType;
use rustix::io::Errno;
use windlass_core::id::{CommitId, TreeId};

use crate::base::{Base, split};
use crate::cache::{self, CacheKey};
use crate::dir;
use crate::evidence::{self, WorkspaceEvidence};
use crate::excludes::Patterns;
use crate::fault::{At, FileFault};
use crate::gitdir::{self, Seed};
use crate::id::{BadId, commit_oid, tree_oid};
use crate::materialise::materialise;
use crate::model::{DirNode, Sealed};
use crate::objects::ObjectError;
use crate::place;
use crate::remove::{discard, remove_at};
use crate::repository::Identity;
use crate::seal::Sealer;
use crate::sink::{Sink, Worker};
use crate::trees::{self, TreeChange};
use crate::vault::{Vault, VaultError};
use crate::walk::{Invalidated, SnapshotLimits, Walk, WalkError};

/// After this many changed files the model on disk is written anew.
const UNSAVED_FILES: usize = 256;

/// Keys of a model fresh from a checkout. They match nothing, so that the
/// first walk decides what is ignored.
const FRESH: [u8; 32] = [0; 32];

#[derive(Debug, thiserror::Error)]
pub enum SpaceError {
    #[error("the workspace {path} is gone; it has to be rebuilt from the vault")]
    Gone { path: PathBuf },
    #[error(transparent)]
    Walk(#[from] WalkError),
    #[error(transparent)]
    Vault(#[from] VaultError),
    #[error(transparent)]
    Object(#[from] ObjectError),
    #[error(transparent)]
    Id(#[from] BadId),
    #[error(transparent)]
    File(#[from] FileFault),
}

/// What decides which paths count.
#[derive(Clone, Debug)]
pub struct SnapshotRules {
    /// Its paths are tracked; its attributes and submodules count.
    pub base: TreeId,
    /// The operator's global ignore file.
    pub global_excludes: Option<PathBuf>,
    /// Paths windlass itself put into the workspace: left out unless tracked.
    pub never: Vec<BString>,
    pub limits: SnapshotLimits,
}

impl SnapshotRules {
    pub fn new(base: TreeId) -> Self {
        Self { base, global_excludes: None, never: Vec::new(), limits: SnapshotLimits::default() }
    }
}

/// Whether unchanged stat keys are believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadFiles {
    /// Read what changed.
    Changed,
    /// Read every file again.
    Everything,
}

/// What [`Space::ensure`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ensured {
    Sound,
    /// Only `.git` was broken; the files were left as they are.
    GitRebuilt,
    Rebuilt,
}

/// What may have happened to a workspace since windlass last looked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// Nobody has run in it since the last snapshot, reset or creation.
    Untouched,
    Unknown,
}

pub struct Space {
    root: PathBuf,
    cache: PathBuf,
    memory: Option<Memory>,
}

/// What this process knows of the workspace.
struct Memory {
    key: CacheKey,
    model: Box<DirNode>,
    base: Option<Base>,
    /// The tree that the files are known to be.
    tree: Option<ObjectId>,
    unsaved: usize,
}

/// A workspace just walked, its objects on their way into the vault.
pub(crate) struct Walked {
    pub fd: OwnedFd,
    pub tree: ObjectId,
    pub base: Base,
    pub skipped: Vec<WorkspaceEvidence>,
    key: CacheKey,
    model: Box<DirNode>,
    unsaved: usize,
}

impl Space {
    /// `cache` is a file outside the workspace, for the next process. Nothing
    /// is read or made yet.
    pub fn new(root: &Path, cache: &Path) -> Self {
        Self { root: root.to_owned(), cache: cache.to_owned(), memory: None }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Makes the workspace anew, in place of whatever is there.
    pub fn create(&mut self, vault: &Vault, commit: &CommitId, author: &Identity) -> Result<(), SpaceError> {
        self.memory = None;
        let oid = commit_oid(commit)?;
        let (tree, _) = vault.reader().commit(oid)?;
        let fresh = self.beside("new");
        discard(&fresh)?;
        std::fs::create_dir_all(&fresh).at("create", &fresh)?;
        let model = materialise(&fresh, &vault.objects(), tree)?;
        let seed = Seed { vault, commit: oid, tree, identity: author, files: Some(&model) };
        gitdir::create(&fresh.join(".git"), &seed)?;
        discard(&self.root)?;
        std::fs::rename(&fresh, &self.root).at("rename", &fresh)?;
        self.mark_git(oid)?;
        let key = CacheKey { vault: *vault.id(), base: tree, facts: FRESH, excludes: FRESH };
        cache::save(&self.cache, &key, &model)?;
        self.memory = Some(Memory { key, model, base: None, tree: Some(tree), unsaved: 0 });
        Ok(())
    }

    /// Rebuilds what is missing or broken: everything from `commit` when the
    /// directory itself is gone, else only its `.git`, also when its HEAD moved.
    pub fn ensure(
        &mut self,
        vault: &Vault,
        commit: &CommitId,
        author: &Identity,
    ) -> Result<Ensured, SpaceError> {
        let fd = match self.open() {
            Ok(fd) => fd,
            Err(SpaceError::Gone { .. }) => {
                self.create(vault, commit, author)?;
                return Ok(Ensured::Rebuilt);
            }
            Err(error) => return Err(error),
        };
        if self.git_made_at().is_some_and(|made_at| gitdir::looks_sound(fd.as_fd(), made_at)) {
            return Ok(Ensured::Sound);
        }
        let oid = commit_oid(commit)?;
        let (tree, _) = vault.reader().commit(oid)?;
        let fresh = self.beside("git");
        discard(&fresh)?;
        gitdir::create(&fresh, &Seed { vault, commit: oid, tree, identity: author, files: None })?;
        let place = self.root.join(".git");
        remove_at(fd.as_fd(), b".git").at("remove", &place)?;
        rustix::fs::renameat(rustix::fs::CWD, &fresh, &fd, ".git").at("create", &place)?;
        self.mark_git(oid)?;
        Ok(Ensured::GitRebuilt)
    }

    /// The commit `.git` was made at, kept outside of it.
    fn git_made_at(&self) -> Option<ObjectId> {
        let text = std::fs::read(self.git_mark()).ok()?;
        ObjectId::from_hex(&text).ok()
    }

    fn mark_git(&self, commit: ObjectId) -> Result<(), SpaceError> {
        let mark = self.git_mark();
        Ok(std::fs::write(&mark, commit.to_string()).at("write", &mark)?)
    }

    fn git_mark(&self) -> PathBuf {
        self.cache.with_extension("git")
    }

    /// Makes the files exactly those of a tree; ignored untracked files (build
    /// output) stay. The agent's own git is left as it is: its HEAD does not
    /// move, so `git status` there shows the difference to its last commit.
    pub fn reset(
        &mut self,
        vault: &Vault,
        to: &TreeId,
        rules: &SnapshotRules,
        since: Since,
    ) -> Result<usize, SpaceError> {
        let to = tree_oid(to)?;
        let known = self.memory.as_ref().and_then(|memory| memory.tree).filter(|_| since == Since::Untouched);
        let current = match known {
            Some(tree) => {
                self.open()?;
                tree
            }
            None => self.clear_to_known(vault, rules)?,
        };
        let changes = trees::diff(&mut vault.reader(), current, to)?;
        if let Some(memory) = &mut self.memory {
            memory.tree = None;
        }
        place::apply(&self.root, &changes, &mut vault.reader())?;
        self.clear_stray_ignores(vault, to, &changes)?;
        if let Some(memory) = &mut self.memory {
            memory.tree = Some(to);
        }
        Ok(changes.len())
    }

    /// Removes the workspace and what was remembered of it.
    pub fn remove(&mut self) -> Result<(), SpaceError> {
        self.memory = None;
        discard(&self.root)?;
        for file in [self.cache.clone(), self.git_mark()] {
            match std::fs::remove_file(&file) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(FileFault::new("remove", &file, error).into());
                }
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }

    /// Writes what this process knows for the next one. Done by itself now and
    /// then, and when the value is dropped.
    pub fn save(&mut self) -> Result<(), SpaceError> {
        if let Some(memory) = self.memory.as_mut().filter(|memory| memory.unsaved > 0) {
            cache::save(&self.cache, &memory.key, &memory.model)?;
            memory.unsaved = 0;
        }
        Ok(())
    }

    /// Walks the files into `sink` and makes their trees.
    pub(crate) fn walk(
        &mut self,
        vault: &Vault,
        rules: &SnapshotRules,
        reading: ReadFiles,
        sink: &Sink,
    ) -> Result<Walked, SpaceError> {
        let fd = self.open()?;
        let objects = vault.objects();
        let mut worker = Worker::new(&objects);
        let memory = self.memory.take();
        let (before, model, earlier, unsaved) = match memory {
            Some(memory) => (Some(memory.key), Some(memory.model), memory.base, memory.unsaved),
            None => match cache::load(&self.cache, vault.id()) {
                Some((key, model)) => (Some(key), Some(model), None, 0),
                None => (None, None, None, UNSAVED_FILES),
            },
        };
        let base = Base::load_after(&mut worker.reader, tree_oid(&rules.base)?, earlier)?;
        let (global, excludes) = read_excludes(rules)?;
        let key = CacheKey { vault: *vault.id(), base: base.tree, facts: base.facts().key, excludes };
        let invalidated = invalidated(before.as_ref(), &key, reading);
        let never: HashSet<BString> = rules.never.iter().cloned().collect();
        let walk = Walk {
            root: &self.root,
            base: &base,
            objects: &objects,
            sink,
            global,
            never: &never,
            limits: rules.limits,
            invalidated,
        };
        let root = dir::open_dir(fd.as_fd(), b".").at("open", &self.root)?;
        let mut model = walk.run(root, model)?;
        let everything = before.is_some_and(|before| before.facts != key.facts);
        let mut sealer = Sealer { sink, worker: &mut worker, everything };
        let tree = match sealer.seal(&mut model, &base.facts().gitlinks)? {
            Sealed::Tree(tree) => tree,
            Sealed::Empty | Sealed::Unknown => sealer.empty()?,
        };
        let mut skipped = evidence::skipped(&model);
        skipped.extend(evidence::gitlinks(fd.as_fd(), &base));
        Ok(Walked { fd, tree, base, skipped, key, model, unsaved })
    }

    /// To be called when the objects of a walk are safely in the vault: only
    /// then the model may claim their ids.
    pub(crate) fn keep(&mut self, walked: Walked, new_objects: usize) -> Result<(), SpaceError> {
        let unsaved = walked.unsaved + new_objects;
        let Walked { key, model, base, tree, .. } = walked;
        self.memory = Some(Memory { key, model, base: Some(base), tree: Some(tree), unsaved });
        if unsaved >= UNSAVED_FILES { self.save() } else { Ok(()) }
    }

    /// Brings the workspace to a state that the vault knows, removing what no
    /// tree could hold, and says which.
    fn clear_to_known(&mut self, vault: &Vault, rules: &SnapshotRules) -> Result<ObjectId, SpaceError> {
        let sink = vault.sink();
        let walked = self.walk(vault, rules, ReadFiles::Changed, &sink)?;
        let new_objects = sink.finish()?;
        if new_objects > 0 {
            vault.see(walked.tree)?;
        }
        for found in &walked.skipped {
            self.clear(&walked, found)?;
        }
        let tree = walked.tree;
        self.keep(walked, new_objects)?;
        Ok(tree)
    }

    /// An ignored `.gitignore` left lying above restored files would hide them
    /// from the next snapshot.
    fn clear_stray_ignores(
        &self,
        vault: &Vault,
        tree: ObjectId,
        changes: &[TreeChange],
    ) -> Result<(), SpaceError> {
        let fd = self.open()?;
        let mut reader = vault.reader();
        let mut seen = HashSet::new();
        for change in changes.iter().filter(|change| change.new.is_some()) {
            let mut dir = split(&change.path).0;
            while seen.insert(dir) {
                let ignore = dir::join(dir, b".gitignore");
                if reader.entry_at(tree, &ignore)?.is_none() {
                    place::remove_any(fd.as_fd(), &ignore)
                        .at("remove", &dir::path_of(&self.root, &ignore))?;
                }
                dir = split(dir).0;
            }
        }
        Ok(())
    }

    fn clear(&self, walked: &Walked, found: &WorkspaceEvidence) -> Result<(), SpaceError> {
        match found {
            WorkspaceEvidence::TooLarge { path, .. }
            | WorkspaceEvidence::SpecialFile { path }
            | WorkspaceEvidence::UnsafeName { path }
            | WorkspaceEvidence::Unreadable { path, .. }
            | WorkspaceEvidence::CollisionAttack { path }
            | WorkspaceEvidence::TooDeep { path }
            | WorkspaceEvidence::GitlinkChanged { path } => {
                let at = dir::path_of(&self.root, path);
                place::remove_any(walked.fd.as_fd(), path).at("remove", &at)?;
                if matches!(found, WorkspaceEvidence::GitlinkChanged { .. }) {
                    place::make_path(walked.fd.as_fd(), path).at("create", &at)?;
                }
                Ok(())
            }
            WorkspaceEvidence::EscapingSymlink { .. } | WorkspaceEvidence::FilteredPathChanged { .. } => {
                Ok(())
            }
        }
    }

    /// Opens the root, which must be a real directory.
    fn open(&self) -> Result<OwnedFd, SpaceError> {
        let gone = || SpaceError::Gone { path: self.root.clone() };
        match dir::lookup(rustix::fs::CWD, self.root.as_os_str().as_encoded_bytes()) {
            Ok(Some(stat)) if stat.kind() == FileType::Directory => {}
            Ok(_) => return Err(gone()),
            Err(error) => return Err(FileFault::new("stat", &self.root, error).into()),
        }
        match dir::open_dir(rustix::fs::CWD, self.root.as_os_str().as_encoded_bytes()) {
            Ok(fd) => Ok(fd),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Err(gone()),
            Err(error) => Err(FileFault::new("open", &self.root, error).into()),
        }
    }

    fn beside(&self, what: &str) -> PathBuf {
        let name = self.root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        self.root.with_file_name(format!(".{name}.{what}"))
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        // A cache that cannot be written costs time, not truth.
        let _ = self.save();
    }
}

fn invalidated(before: Option<&CacheKey>, now: &CacheKey, reading: ReadFiles) -> Invalidated {
    let Some(before) = before else { return Invalidated::default() };
    Invalidated {
        excludes: before.excludes != now.excludes,
        base: before.base != now.base,
        // A model fresh from a checkout holds every file as its tree does,
        // whatever the attributes.
        content: reading == ReadFiles::Everything || before.facts != now.facts && before.facts != FRESH,
    }
}

/// The global patterns, and a key that changes with any of the rules.
fn read_excludes(rules: &SnapshotRules) -> Result<(Option<Arc<Patterns>>, [u8; 32]), SpaceError> {
    let mut key = blake3::Hasher::new();
    let mut never: Vec<&BString> = rules.never.iter().collect();
    never.sort();
    for path in never {
        key.update(path).update(b"\0");
    }
    let content = match &rules.global_excludes {
        None => None,
        Some(file) => match std::fs::read(file) {
            Ok(content) => Some(content),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(FileFault::new("read", file, error).into()),
        },
    };
    key.update(b"\0\0").update(content.as_deref().unwrap_or_default());
    let patterns = content.map(|content| Arc::new(Patterns::parse(&content)));
    Ok((patterns, *key.finalize().as_bytes()))
}
