//! What to run, where, and within which bounds.

use std::ffi::OsString;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use windlass_core::policy::ResourcePolicy;

use crate::sandbox::Confinement;

/// One command, and everything it is given.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Program {
    /// The first word is looked up in the `PATH` of `env` unless it has a slash.
    pub argv: Vec<OsString>,
    #[serde(with = "os_path")]
    pub cwd: PathBuf,
    /// The whole environment: nothing is inherited. `INVOCATION_ID` is added.
    pub env: Vec<(OsString, OsString)>,
    /// Given to the program, then end of file. A program that never reads it is not an error.
    #[serde(skip)]
    pub stdin: Vec<u8>,
    pub limits: ProgramLimits,
    pub confinement: Confinement,
    /// This attempt's own directory, made ready by [`crate::clear_attempt`]: the record, the lock and the captured output.
    #[serde(with = "os_path")]
    pub dir: PathBuf,
    /// Unique text, in the environment as `INVOCATION_ID`, by which recovery finds strays.
    pub marker: String,
}

/// Zero switches a limit off; a zero `grace` kills at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramLimits {
    pub wall: Duration,
    /// No new output, hardly any CPU and no file written, by any process of the tree, for this long.
    pub silence: Duration,
    /// Between SIGTERM and SIGKILL.
    pub grace: Duration,
    /// Bytes kept of each stream: the first half and the last.
    pub output_cap: u64,
    pub resources: ResourcePolicy,
}

/// A directory the program may change freely, none of whose changes last.
///
/// `lower`, under the layers of `over`, appears at `at`; what is written there goes to `upper` (a fresh directory of the caller, on a
/// file system that can carry an overlay) and is thrown away with [`ThrowawayTree::discard`]. Every path of
/// `hide` looks empty, so that `lower` cannot be reached under its own name. `lower` must not change while
/// the program runs, and no hidden path may contain `at`. The directories of `read_only`, relative to `at`,
/// cannot be changed, moved or removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThrowawayTree {
    #[serde(with = "os_path")]
    pub lower: PathBuf,
    /// The topmost first. Nobody changes them while the program runs.
    #[serde(with = "os_paths")]
    pub over: Vec<PathBuf>,
    #[serde(with = "os_path")]
    pub at: PathBuf,
    /// Where a program with a root of its own finds it, in place of `at`; elsewhere it is ignored. Absolute, free of
    /// links, and nothing else that the program may reach is there.
    #[serde(with = "os_path_option")]
    pub shown_at: Option<PathBuf>,
    #[serde(with = "os_path")]
    pub upper: PathBuf,
    #[serde(with = "os_paths")]
    pub hide: Vec<PathBuf>,
    #[serde(with = "os_paths")]
    pub read_only: Vec<PathBuf>,
}

/// A directory of the host that the program may change, though nobody else sees it: what is written goes to
/// `upper`, and stays there until the caller removes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayeredDir {
    /// Free of links. What is there is the lowest layer.
    #[serde(with = "os_path")]
    pub at: PathBuf,
    /// The topmost first. Nobody changes them while the program runs.
    #[serde(with = "os_paths")]
    pub over: Vec<PathBuf>,
    /// On a file system that can carry an overlay; no two programs have it at a time.
    #[serde(with = "os_path")]
    pub upper: PathBuf,
}

impl LayeredDir {
    /// What programs changed.
    pub fn changes(&self) -> PathBuf {
        self.upper.join("u")
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.upper.join("w")
    }
}

impl ProgramLimits {
    /// No limit at all but the size of what is kept.
    pub fn none(output_cap: u64) -> ProgramLimits {
        ProgramLimits {
            wall: Duration::ZERO,
            silence: Duration::ZERO,
            grace: Duration::ZERO,
            output_cap,
            resources: ResourcePolicy::default(),
        }
    }
}

impl ThrowawayTree {
    /// What a program changed, until it is thrown away: files as they are, and a character device 0/0 for
    /// each name that is gone.
    pub fn changes(&self) -> PathBuf {
        self.upper.join("u")
    }

    /// Says that the next program is to begin with what is in [`Self::changes`], which the caller has filled
    /// or left there; the directory is made if it is missing. Holds for one program.
    pub fn go_on(&self) -> io::Result<PathBuf> {
        remove_tree(&self.work())?;
        let changes = self.changes();
        std::fs::create_dir_all(&changes)?;
        std::fs::write(self.kept(), "")?;
        Ok(changes)
    }

    pub(crate) fn kept(&self) -> PathBuf {
        self.upper.join("kept")
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.upper.join("w")
    }

    /// Removes what the program changed; `upper` itself stays, empty.
    ///
    /// `std::fs::remove_dir_all` is not enough for an ordinary user: overlayfs leaves a directory of mode
    /// 000 in its work directory, and a program may have taken the permissions of its own.
    pub fn discard(&self) -> io::Result<()> {
        match std::fs::remove_file(self.kept()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        remove_tree(&self.changes())?;
        remove_tree(&self.work())
    }
}

/// Removes a directory, whatever permissions a program left it with. One that is not there is no error.
pub fn remove_tree(dir: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(dir) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            open_up(dir)?;
            std::fs::remove_dir_all(dir)
        }
        Err(error) => Err(error),
    }
}

fn open_up(root: &Path) -> io::Result<()> {
    let mut pending = vec![root.to_path_buf()];
    while let Some(dir) = pending.pop() {
        std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o700))?;
        for entry in std::fs::read_dir(&dir)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                pending.push(entry.path());
            }
        }
    }
    Ok(())
}

/// Paths travel as `OsString`: serde refuses a `PathBuf` that is not UTF-8.
pub mod os_path {
    use std::ffi::OsString;
    use std::path::{Path, PathBuf};

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
        path.as_os_str().serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
        OsString::deserialize(from).map(PathBuf::from)
    }
}

pub mod os_paths {
    use std::ffi::OsString;
    use std::path::PathBuf;

    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(paths: &[PathBuf], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(paths.iter().map(|path| path.as_os_str()))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<PathBuf>, D::Error> {
        Ok(Vec::<OsString>::deserialize(from)?.into_iter().map(PathBuf::from).collect())
    }
}

pub mod os_path_option {
    use std::ffi::OsString;
    use std::path::{Path, PathBuf};

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(path: &Option<PathBuf>, to: S) -> Result<S::Ok, S::Error> {
        path.as_deref().map(Path::as_os_str).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<PathBuf>, D::Error> {
        Ok(Option::<OsString>::deserialize(from)?.map(PathBuf::from))
    }
}
