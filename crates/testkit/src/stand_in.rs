//! A stand-in for a container engine: a script that checks its arguments and
//! runs the program with bubblewrap. It shows that everything up to the engine
//! is wired, and nothing about a real one.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::capability;

const SCRIPT: &str = include_str!("stand_in/engine.sh");

/// The only image it has.
pub const IMAGE: &str = "stand-in";

/// A directory for PATH with one program, `docker` or `podman`.
#[derive(Debug)]
pub struct StandIn {
    dir: PathBuf,
}

impl StandIn {
    /// `None`, and said so, where bubblewrap cannot do its part.
    ///
    /// # Panics
    /// Where the directory cannot be written.
    #[track_caller]
    pub fn install(dir: &Path, engine: &str) -> Option<Self> {
        let bubblewrap = capability::program("bwrap")?;
        let tried = Command::new(bubblewrap)
            .args(["--unshare-user", "--unshare-pid", "--unshare-net", "--disable-userns"])
            .args(["--ro-bind", "/", "/", "--proc", "/proc", "true"])
            .output();
        if !tried.as_ref().is_ok_and(|ran| ran.status.success()) {
            capability::not_run(&format!("bubblewrap cannot stand in for an engine: {tried:?}"));
            return None;
        }
        let program = dir.join(engine);
        fs::create_dir_all(dir)
            .and_then(|()| fs::write(&program, SCRIPT))
            .and_then(|()| fs::set_permissions(&program, fs::Permissions::from_mode(0o755)))
            .unwrap_or_else(|error| panic!("write {}: {error}", program.display()));
        Some(Self { dir: dir.to_owned() })
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Every command line it was given, in order.
    pub fn asked(&self) -> Vec<String> {
        let text = fs::read_to_string(self.dir.join("asked")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// A `PATH` with the stand-in before everything else.
    pub fn path(&self) -> std::ffi::OsString {
        let mut path = self.dir.clone().into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        path
    }
}
