//! Every path windlass uses outside the project, once.
//!
//! ```text
//! <state>/vaults/<vault>/windlass.db  blobs/  vault.git  locks/  cache/  marker  receipts  reserve
//! <state>/{spaces,checkouts,attempts,caches}/<vault>/<loop>
//! ```
//! What agents and checks may touch lies beside the vaults, never inside one.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use windlass_core::id::LoopName;
use windlass_core::time::Timestamp;

use crate::mount;
use crate::refusal::Refusal;

const BASENAME_MAX: usize = 40;
const OWNER_ONLY: u32 = 0o700;
const MARKER_HEAD: &[u8] = b"windlass vault 1\n";

const VAULTS: &str = "vaults";
const SPACES: &str = "spaces";
const CHECKOUTS: &str = "checkouts";
const ATTEMPTS: &str = "attempts";
const HOMES: &str = "homes";
const CACHES: &str = "caches";
const KINDS: [&str; 6] = [VAULTS, SPACES, CHECKOUTS, ATTEMPTS, HOMES, CACHES];

/// The directory that holds everything windlass keeps on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateDir(PathBuf);

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateDirError {
    #[error("state directory {0}")]
    NotAbsolute(Refusal),
    #[error("state directory {0}")]
    NetworkFileSystem(Refusal),
    #[error("state directory {0}")]
    NotWritable(Refusal),
}

impl StateDirError {
    pub fn refusal(&self) -> &Refusal {
        match self {
            Self::NotAbsolute(refusal) | Self::NetworkFileSystem(refusal) | Self::NotWritable(refusal) => {
                refusal
            }
        }
    }
}

impl StateDir {
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self(root.into())
    }

    pub fn root(&self) -> &Path {
        &self.0
    }

    pub fn vaults(&self) -> PathBuf {
        self.0.join(VAULTS)
    }

    /// The vault of the repository whose git common directory this is. The
    /// basename is only for people; the hash tells repositories apart. Where the
    /// vault of that name has gone with another repository, it is the next name.
    pub fn vault(&self, basename: &OsStr, common_dir: &Path) -> VaultDir {
        let named = |turn: u8| {
            let mut hasher = blake3::Hasher::new();
            hasher.update(common_dir.as_os_str().as_bytes());
            hasher.update(&vec![0; usize::from(turn)]);
            let hash = hasher.finalize().to_hex();
            let key = format!("{}-{}", plain_basename(basename), &hash[..16]);
            VaultDir { state: self.0.clone(), key, repository: common_dir.to_owned() }
        };
        let is_free = |vault: &VaultDir| vault.marked_repository().is_none_or(|marked| marked == common_dir);
        let own = (0..u8::MAX).map(named).find(is_free).unwrap_or_else(|| named(u8::MAX));
        if own.root().exists() { own } else { self.vault_of(common_dir).unwrap_or(own) }
    }

    /// The vault that says it is of this repository.
    pub fn vault_of(&self, common_dir: &Path) -> Option<VaultDir> {
        let entries = fs::read_dir(self.vaults()).ok()?.flatten();
        let mut vaults = entries.filter_map(|entry| self.vault_named(entry.file_name().to_str()?));
        vaults.find(|vault| vault.repository == common_dir)
    }

    /// The vault in the directory of this name, with the repository that it says it is of.
    pub fn vault_named(&self, key: &str) -> Option<VaultDir> {
        let unknown = VaultDir { state: self.0.clone(), key: key.to_owned(), repository: PathBuf::new() };
        let repository = unknown.marked_repository()?;
        Some(VaultDir { repository, ..unknown })
    }

    /// Refuses a directory where a durable database cannot live, as far as can
    /// be told without making it.
    pub fn check(&self) -> Result<(), StateDirError> {
        let root = &self.0;
        if !root.is_absolute() {
            let remedy = "give an absolute path with --state-dir or WINDLASS_STATE_DIR";
            return Err(StateDirError::NotAbsolute(Refusal::new(root, "is not an absolute path", remedy)));
        }
        let nearest = nearest_existing(root);
        if let Some(name) = mount::network_file_system(&nearest) {
            let reason = format!("lies on a network file system ({name}), where SQLite's locks are not safe");
            let remedy = "choose a local directory with --state-dir or WINDLASS_STATE_DIR";
            return Err(StateDirError::NetworkFileSystem(Refusal::new(root, reason, remedy)));
        }
        if !nearest.is_dir() {
            return Err(self.not_writable(&format!("{} is not a directory", nearest.display())));
        }
        Ok(())
    }

    /// Checks it, and creates it with access for its owner only.
    pub fn create_checked(&self) -> Result<(), StateDirError> {
        self.check()?;
        let made = create_private(&self.0).and_then(|()| probe_writable(&self.0));
        made.and_then(|()| self.lay_out()).map_err(|error| self.not_writable(&error))
    }

    fn lay_out(&self) -> io::Result<()> {
        for kind in KINDS {
            let dir = self.0.join(kind);
            if !dir.is_dir() {
                create_private(&dir)?;
            }
        }
        Ok(())
    }

    fn not_writable(&self, why: &dyn std::fmt::Display) -> StateDirError {
        let reason = format!("cannot be written: {why}");
        let remedy = "fix its permissions, or choose another with --state-dir or WINDLASS_STATE_DIR";
        StateDirError::NotWritable(Refusal::new(&self.0, reason, remedy))
    }
}

/// Where the records of one repository live.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VaultDir {
    state: PathBuf,
    key: String,
    repository: PathBuf,
}

impl VaultDir {
    /// The vault's directory name: `<basename>-<hash>`.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The directory that holds everything of all vaults.
    pub fn state(&self) -> &Path {
        &self.state
    }

    pub fn repository(&self) -> &Path {
        &self.repository
    }

    pub fn root(&self) -> PathBuf {
        self.state.join(VAULTS).join(&self.key)
    }

    pub(crate) fn db(&self) -> PathBuf {
        self.root().join("windlass.db")
    }

    pub(crate) fn blobs(&self) -> PathBuf {
        self.root().join("blobs")
    }

    pub fn vault_git(&self) -> PathBuf {
        self.root().join("vault.git")
    }

    pub(crate) fn locks(&self) -> PathBuf {
        self.root().join("locks")
    }

    /// Held by the process that drives the loop.
    pub(crate) fn loop_lock(&self, name: &LoopName) -> PathBuf {
        self.locks().join(format!("{name}.lock"))
    }

    /// Held while the database is created or migrated.
    pub(crate) fn opening_lock(&self) -> PathBuf {
        self.root().join("opening.lock")
    }

    /// Says that the database was once created here, so that a missing one is
    /// a loss and not a beginning.
    pub(crate) fn marker(&self) -> PathBuf {
        self.root().join("marker")
    }

    fn marked_repository(&self) -> Option<PathBuf> {
        let text = fs::read(self.marker()).ok()?;
        let path = text.strip_prefix(MARKER_HEAD)?.strip_suffix(b"\n")?;
        Some(PathBuf::from(OsStr::from_bytes(path)))
    }

    /// The same vault for a repository that lies elsewhere by now. Its marker is written anew, as one step: until
    /// then it is of the old place, from then on of the new one only.
    pub fn adopt_into(&self, common_dir: &Path) -> io::Result<Self> {
        let moved = Self { repository: common_dir.to_owned(), ..self.clone() };
        moved.write_marker()?;
        Ok(moved)
    }

    pub(crate) fn write_marker(&self) -> io::Result<()> {
        let temp = self.marker().with_extension("tmp");
        let mut text = MARKER_HEAD.to_vec();
        text.extend_from_slice(self.repository.as_os_str().as_bytes());
        text.push(b'\n');
        fs::write(&temp, text)?;
        fs::File::open(&temp)?.sync_all()?;
        fs::rename(&temp, self.marker())?;
        fs::File::open(self.root())?.sync_all()
    }

    /// How far each loop's log was acknowledged.
    pub(crate) fn receipts(&self) -> PathBuf {
        self.root().join("receipts")
    }

    /// Says that the operator removed the loop of this name that was created then.
    /// It is there before anything of it is gone, and stays.
    pub fn removal_mark(&self, name: &LoopName, created_at: Timestamp) -> PathBuf {
        self.root().join("removed").join(format!("{name}.{}", created_at.0))
    }

    /// Space given back when the disk is full.
    pub(crate) fn reserve(&self) -> PathBuf {
        self.root().join("reserve")
    }

    /// Touched when something of a loop was stored.
    pub(crate) fn wakes(&self) -> PathBuf {
        self.root().join("wakes")
    }

    /// Files that only save work and may be deleted at any time.
    pub fn cache_file(&self, name: &LoopName, what: &str) -> PathBuf {
        self.root().join("cache").join(format!("{name}.{what}"))
    }

    /// The author's workspace of a loop.
    pub fn space(&self, name: &LoopName) -> PathBuf {
        self.beside(SPACES, name)
    }

    /// The gate's clean tree of a loop.
    pub fn checkout(&self, name: &LoopName) -> PathBuf {
        self.beside(CHECKOUTS, name)
    }

    /// Where each attempt of a loop has its report and captured output.
    pub fn attempts(&self, name: &LoopName) -> PathBuf {
        self.beside(ATTEMPTS, name)
    }

    /// The home directories of a loop's agents, one for each role.
    pub fn homes(&self, name: &LoopName) -> PathBuf {
        self.beside(HOMES, name)
    }

    /// Where the machine's sandbox is put to the test, and what came of it.
    pub fn proofs(&self) -> PathBuf {
        self.state.join("proofs")
    }

    /// The gate's own caches of a loop.
    pub fn caches(&self, name: &LoopName) -> PathBuf {
        self.beside(CACHES, name)
    }

    /// Where the gates of all loops see the tree that they judge: each in a mount of its own, so that what a
    /// set-up made for one is good for all. No loop has this name. Some tools overlook what is below a
    /// name with a dot in front.
    pub fn judged_tree(&self) -> PathBuf {
        self.state.join(CHECKOUTS).join(&self.key).join("_tree")
    }

    /// What set-up commands made, for the gates of all loops.
    pub fn setups(&self) -> PathBuf {
        self.state.join(CACHES).join(&self.key).join("_setups")
    }

    pub(crate) fn create(&self) -> io::Result<()> {
        for dir in [self.root(), self.blobs(), self.locks(), self.wakes(), self.root().join("cache")] {
            create_private(&dir)?;
        }
        Ok(())
    }

    fn beside(&self, kind: &str, name: &LoopName) -> PathBuf {
        self.state.join(kind).join(&self.key).join(name.as_str())
    }
}

fn plain_basename(name: &OsStr) -> String {
    let plain = |byte: &u8| {
        let kept = byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        if kept { char::from(*byte) } else { '-' }
    };
    let text: String = name.as_bytes().iter().take(BASENAME_MAX).map(plain).collect();
    let text = text.trim_start_matches('.');
    if text.is_empty() { "repository".to_owned() } else { text.to_owned() }
}

pub(crate) fn create_private(dir: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(OWNER_ONLY).create(dir)
}

fn probe_writable(dir: &Path) -> io::Result<()> {
    let probe = dir.join(format!(".probe-{}", std::process::id()));
    fs::File::create(&probe)?;
    fs::remove_file(&probe)
}

fn nearest_existing(path: &Path) -> PathBuf {
    path.ancestors().find(|dir| dir.exists()).unwrap_or(Path::new("/")).to_owned()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_vault_is_named_for_people_and_told_apart_by_its_hash() {
        let state = StateDir::new("/s");
        let one = state.vault(OsStr::new("shop"), Path::new("/a/shop/.git"));
        let two = state.vault(OsStr::new("shop"), Path::new("/b/shop/.git"));
        assert!(one.key().starts_with("shop-") && one.key().len() == "shop-".len() + 16, "{}", one.key());
        assert_ne!(one.key(), two.key());
        assert_eq!(one, state.vault(OsStr::new("shop"), Path::new("/a/shop/.git")));
        let odd = state.vault(OsStr::from_bytes(b"../a b\n\xff"), Path::new("/x"));
        assert!(odd.key().starts_with("-a-b---"), "{}", odd.key());
    }

    #[test]
    fn a_vault_goes_with_its_repository_and_the_old_place_begins_anew() {
        let temp = tempfile::tempdir().unwrap();
        let state = StateDir::new(temp.path());
        let (old, new) = (Path::new("/a/shop/.git"), Path::new("/b/store/.git"));
        let of = |place: &Path| state.vault(OsStr::new("shop"), place);
        let vault = of(old);
        vault.create().unwrap();
        vault.write_marker().unwrap();
        assert_eq!(of(old), vault);
        assert_ne!(of(new).root(), vault.root(), "nothing is shared before it is asked for");
        let moved = vault.adopt_into(new).unwrap();
        assert_eq!((moved.root(), moved.repository()), (vault.root(), new));
        assert_eq!(state.vault(OsStr::new("store"), new), moved);
        assert_ne!(of(old).root(), vault.root(), "another repository in the old place");
        assert_eq!(of(old), of(old));
    }

    #[test]
    fn what_agents_touch_lies_outside_the_vault() {
        let vault = StateDir::new("/s").vault(OsStr::new("p"), Path::new("/p/.git"));
        let name = LoopName::new("demo").unwrap();
        for outside in [vault.space(&name), vault.checkout(&name), vault.attempts(&name), vault.caches(&name)]
        {
            assert!(!outside.starts_with("/s/vaults"), "{}", outside.display());
        }
    }

    #[test]
    fn the_state_directory_is_private_and_checked() {
        let temp = tempfile::tempdir().unwrap();
        let state = StateDir::new(temp.path().join("deep/windlass"));
        state.create_checked().unwrap();
        let made = fs::read_dir(state.root()).unwrap().map(|entry| entry.unwrap().path());
        let made: Vec<PathBuf> = made.collect();
        assert_eq!(made.len(), KINDS.len(), "the probe is gone: {made:?}");
        for dir in made.iter().map(PathBuf::as_path).chain([state.root()]) {
            assert_eq!(fs::metadata(dir).unwrap().permissions().mode() & 0o777, 0o700, "{}", dir.display());
        }

        let file = temp.path().join("file");
        fs::write(&file, "x").unwrap();
        let refused = StateDir::new(file.join("below")).create_checked().unwrap_err();
        assert!(matches!(refused, StateDirError::NotWritable(_)), "{refused}");
        assert!(refused.to_string().contains("--state-dir"), "{refused}");

        let refused = StateDir::new("relative").create_checked().unwrap_err();
        assert!(matches!(refused, StateDirError::NotAbsolute(_)), "{refused}");
    }
}
