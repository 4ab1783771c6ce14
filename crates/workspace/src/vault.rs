//! vault.git: windlass's own bare repository. It stands alone: it borrows no
//! object from the operator's repository, and no agent can reach it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use gix_hash::ObjectId;
use gix_object::bstr::ByteSlice;
use rustix::fs::FlockOperation;
use windlass_core::id::{CommitId, TreeId};

use crate::fault::{At, FileFault};
use crate::git::{Git, GitError, Invocation};
use crate::id::{BadId, commit_oid, tree_id};
use crate::objects::{ObjectError, ObjectStore, Reader};
use crate::pack;
use crate::repository::{DiscoverError, Repository};
use crate::sink::{Sink, Worker};

const MANY_PACKS: usize = 40;
const IMPORT_TIMEOUT: Duration = Duration::from_secs(1800);

#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    #[error("{name:?} is not a ref name under refs/windlass/")]
    BadRef { name: String },
    #[error(transparent)]
    Incomplete(#[from] DiscoverError),
    #[error(transparent)]
    Id(#[from] BadId),
    #[error(transparent)]
    Object(#[from] ObjectError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    File(#[from] FileFault),
}

/// How far back the vault's history of an imported commit goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    Whole,
    Commits(u32),
}

pub struct Vault {
    git: Git,
    dir: PathBuf,
    id: [u8; 16],
    objects: Mutex<ObjectStore>,
}

impl Vault {
    pub fn open_or_create(git: &Git, dir: &Path) -> Result<Self, VaultError> {
        if !dir.join("HEAD").is_file() {
            create(git, dir)?;
        }
        let id_file = dir.join("windlass-id");
        let id = fs::read(&id_file).at("read", &id_file)?;
        let id = <[u8; 16]>::try_from(id.as_slice()).map_err(std::io::Error::other).at("read", &id_file)?;
        pack::sweep_temporaries(&dir.join("objects/pack"))?;
        let objects = Mutex::new(ObjectStore::open(&dir.join("objects"))?);
        Ok(Self { git: git.clone(), dir: dir.to_owned(), id, objects })
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Brings a commit of the operator's repository in, with history of at
    /// most `depth`. A partial clone gives only the commit itself, since its
    /// older objects may not be there. Submodules stay links.
    pub fn import(&self, from: &Repository, commit: &CommitId, depth: Depth) -> Result<(), VaultError> {
        let oid = commit_oid(commit)?;
        let name = format!("refs/windlass/base/{commit}");
        // Loops of one base share the ref, and may be created at the same time.
        let _lock = self.lock()?;
        if self.objects().reader().has(&oid) {
            return self.set_ref(&name, commit);
        }
        from.require_complete(commit)?;
        let depth = if from.partial { Depth::Commits(1) } else { depth };
        let mut fetch = self
            .git_here()
            .config("fetch.unpackLimit=1")
            .config("fetch.writeCommitGraph=false")
            .env("GIT_ALLOW_PROTOCOL", "file")
            .env("GIT_CONFIG_GLOBAL", self.dir.join("upload.gitconfig"))
            .timeout(IMPORT_TIMEOUT)
            .args(["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance"]);
        if let Depth::Commits(count) = depth {
            fetch = fetch.arg(format!("--depth={}", count.max(1)));
        }
        fetch.arg("--end-of-options").arg(&from.common_dir).arg(format!("{commit}:{name}")).run()?;
        self.refresh()
    }

    /// Points a ref under refs/windlass/ at a commit. Written by hand because
    /// a git process costs more than the rest of a snapshot. Not flushed: a
    /// ref lost with the power can be set again from the caller's records.
    pub fn set_ref(&self, name: &str, commit: &CommitId) -> Result<(), VaultError> {
        commit_oid(commit)?;
        let path = self.ref_path(name)?;
        let parent = path.parent().expect("a ref under refs/windlass/ has a parent");
        fs::create_dir_all(parent).at("create", parent)?;
        // Git takes `.lock` files for refs being written, and no other.
        let temporary = path.with_file_name(format!("{}.lock", file_name(&path)));
        fs::write(&temporary, format!("{commit}\n")).at("write", &temporary)?;
        Ok(fs::rename(&temporary, &path).at("rename", &temporary)?)
    }

    /// The tree of a commit.
    pub fn tree_of(&self, commit: &CommitId) -> Result<TreeId, VaultError> {
        let (tree, _) = self.objects().reader().commit(commit_oid(commit)?)?;
        Ok(tree_id(tree))
    }

    pub fn contains(&self, commit: &CommitId) -> bool {
        commit_oid(commit).is_ok_and(|oid| self.objects().reader().has(&oid))
    }

    /// Rolls many small packs into few, never dropping an object. To be called
    /// between iterations; true when there was something to do.
    pub fn maintain(&self) -> Result<bool, VaultError> {
        let dir = self.pack_dir();
        let packs = fs::read_dir(&dir)
            .at("list", &dir)?
            .filter_map(Result::ok)
            .filter(|entry| entry.path().extension().is_some_and(|extension| extension == "idx"))
            .count();
        if packs <= MANY_PACKS {
            return Ok(false);
        }
        let _lock = self.lock()?;
        self.git_here().timeout(IMPORT_TIMEOUT).args(["repack", "--quiet", "--geometric=2", "-d"]).run()?;
        self.refresh()?;
        Ok(true)
    }

    pub(crate) fn id(&self) -> &[u8; 16] {
        &self.id
    }

    pub(crate) fn git_here(&self) -> Invocation {
        self.git.isolated(&self.dir).arg("--git-dir").arg(&self.dir)
    }

    pub(crate) fn objects(&self) -> ObjectStore {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn reader(&self) -> Reader {
        self.objects().reader()
    }

    pub(crate) fn sink(&self) -> Sink {
        Sink::new(&self.pack_dir())
    }

    pub(crate) fn worker(&self) -> Worker {
        Worker::new(&self.objects())
    }

    /// Sees the pack that this object was written in, without looking at the others again.
    pub(crate) fn see(&self, newest: ObjectId) -> Result<(), VaultError> {
        if self.reader().has_after_refresh(&newest) { Ok(()) } else { self.refresh() }
    }

    /// Sees packs that were written, rolled up or removed since.
    pub(crate) fn refresh(&self) -> Result<(), VaultError> {
        let fresh = ObjectStore::open(&self.dir.join("objects"))?;
        *self.objects.lock().unwrap_or_else(PoisonError::into_inner) = fresh;
        Ok(())
    }

    fn pack_dir(&self) -> PathBuf {
        self.dir.join("objects/pack")
    }

    /// One import or repack at a time, over all processes.
    fn lock(&self) -> Result<File, FileFault> {
        let path = self.dir.join("windlass-lock");
        let file = File::options().create(true).truncate(false).write(true).open(&path).at("open", &path)?;
        rustix::fs::flock(&file, FlockOperation::LockExclusive).at("lock", &path)?;
        Ok(file)
    }

    fn ref_path(&self, name: &str) -> Result<PathBuf, VaultError> {
        let valid = name.starts_with("refs/windlass/")
            && gix_validate::reference::name(name.as_bytes().as_bstr()).is_ok();
        if valid { Ok(self.dir.join(name)) } else { Err(VaultError::BadRef { name: name.to_owned() }) }
    }
}

/// Made beside its place and moved there whole, so that a crash leaves either
/// no vault or a sound one.
fn create(git: &Git, dir: &Path) -> Result<(), VaultError> {
    let parent = dir.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(parent).at("create", parent)?;
    let temporary = pack::temporary_name(parent);
    git.isolated(parent)
        .args(["init", "--quiet", "--bare", "--template=", "--initial-branch=none"])
        .arg(&temporary)
        .run()?;
    let put = |name: &str, content: &[u8]| {
        let path = temporary.join(name);
        fs::write(&path, content).at("write", &path)
    };
    put("config", CONFIG.as_bytes())?;
    put("upload.gitconfig", UPLOAD_CONFIG.as_bytes())?;
    put("windlass-id", &fresh_id(&temporary))?;
    if let Err(error) = fs::rename(&temporary, dir)
        && !dir.join("HEAD").is_file()
    {
        return Err(FileFault::new("rename", &temporary, error).into());
    }
    Ok(())
}

const CONFIG: &str = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n\tfilemode = true\n\thooksPath = /dev/null\n\tlogAllRefUpdates = false\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n";

/// For the process that serves the operator's objects to a fetch: it drops
/// settings given on the command line, but reads its global configuration. It
/// looks for no new deltas: on 50,000 loose objects that took 20 s.
const UPLOAD_CONFIG: &str = "[safe]\n\tdirectory = *\n[core]\n\thooksPath = /dev/null\n[uploadpack]\n\tallowAnySHA1InWant = true\n[pack]\n\twindow = 0\n";

/// Tells one vault from another that later stands in its place.
fn fresh_id(path: &Path) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(path.as_os_str().as_encoded_bytes());
    hasher.update(&crate::dir::file_clock().to_le_bytes());
    let mut id = [0; 16];
    hasher.finalize_xof().fill(&mut id);
    id
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
