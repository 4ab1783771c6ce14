//! Where programs run here find themselves: in this repository, with a home of
//! their own, and with the toolchain where it really is.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use tempfile::TempDir;

/// Set for whoever asks `cargo xtask` to run something, and not for them.
const FOREIGN: &[&str] =
    &["GIT_", "WINDLASS_", "XDG_", "NEXTEST_", "CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_"];

#[derive(Debug)]
pub struct Surroundings {
    pub root: PathBuf,
    /// Where cargo builds to.
    pub target: PathBuf,
    scratch: TempDir,
    cargo: PathBuf,
    cargo_home: Option<PathBuf>,
    rustup_home: Option<PathBuf>,
}

impl Surroundings {
    pub fn new() -> Result<Self> {
        let cargo = filled("CARGO").map_or_else(|| PathBuf::from("cargo"), PathBuf::from);
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask has no parent directory")?;
        let scratch =
            tempfile::Builder::new().prefix("windlass-xtask-").tempdir().context("temporary directory")?;
        fs::create_dir(scratch.path().join("home"))?;
        let home = std::env::home_dir().filter(|home| !home.as_os_str().is_empty());
        let below_home = |name: &str| home.as_ref().map(|home| home.join(name)).filter(|path| path.is_dir());
        let mut around = Self {
            root: root.to_owned(),
            target: PathBuf::new(),
            cargo_home: filled("CARGO_HOME").map(PathBuf::from).or_else(|| below_home(".cargo")),
            rustup_home: filled("RUSTUP_HOME")
                .map(PathBuf::from)
                .or_else(|| rustup_home_of(&cargo))
                .or_else(|| below_home(".rustup")),
            scratch,
            cargo,
        };
        let metadata = json(around.cargo(["metadata", "--no-deps", "--format-version=1", "--offline"]))?;
        around.target =
            metadata["target_directory"].as_str().context("cargo metadata: no target_directory")?.into();
        Ok(around)
    }

    pub fn cargo<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = self.program(&self.cargo);
        command.args(args);
        command
    }

    /// A program in the repository's root that sees nothing of the user.
    pub fn program(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root);
        for (name, _) in std::env::vars_os() {
            if FOREIGN.iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
                command.env_remove(name);
            }
        }
        command.envs(home_variables(&self.scratch.path().join("home")));
        command.env("WINDLASS_NOT_RUN_FILE", self.reports());
        command.envs(self.cargo_home.iter().map(|home| ("CARGO_HOME", home)));
        command.envs(self.rustup_home.iter().map(|home| ("RUSTUP_HOME", home)));
        command
    }

    /// What a program needs in its environment to find Rust and the machine's own tools, and nothing of the user.
    pub fn toolchain(&self) -> Vec<(String, String)> {
        let bin = self.cargo.parent().filter(|dir| dir.is_absolute());
        let dirs = bin.into_iter().chain(["/usr/local/bin", "/usr/bin", "/bin"].map(Path::new));
        let path: Vec<String> = dirs.map(|dir| dir.display().to_string()).collect();
        let homes = [("CARGO_HOME", &self.cargo_home), ("RUSTUP_HOME", &self.rustup_home)];
        let homes = homes.into_iter().filter_map(|(name, home)| Some((name, home.as_ref()?)));
        let homes = homes.map(|(name, home)| (name.to_owned(), home.display().to_string()));
        homes.chain([("PATH".to_owned(), path.join(":"))]).collect()
    }

    /// What tests said they could not run, a line each.
    pub fn not_run(&self) -> Vec<String> {
        let text = fs::read_to_string(self.reports()).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// The file tests append such lines to.
    pub fn reports(&self) -> PathBuf {
        self.scratch.path().join("not-run.txt")
    }
}

/// The variables that make `home` the whole home of a program.
pub fn home_variables(home: &Path) -> [(&'static str, PathBuf); 5] {
    [
        ("HOME", home.to_owned()),
        ("XDG_STATE_HOME", home.join(".local/state")),
        ("XDG_CONFIG_HOME", home.join(".config")),
        ("XDG_CACHE_HOME", home.join(".cache")),
        ("XDG_DATA_HOME", home.join(".local/share")),
    ]
}

/// Runs a command and reads its output as one JSON value.
pub fn json(mut command: Command) -> Result<serde_json::Value> {
    let output = command.output().with_context(|| format!("start {command:?}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "{command:?}: {}: {}", output.status, said.trim());
    serde_json::from_slice(&output.stdout).with_context(|| format!("output of {command:?}"))
}

/// A variable that is set to something.
fn filled(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// `<home>/toolchains/<name>/bin/cargo` is how rustup keeps toolchains.
fn rustup_home_of(cargo: &Path) -> Option<PathBuf> {
    let toolchains = cargo.ancestors().nth(3)?;
    (toolchains.file_name()? == "toolchains").then(|| toolchains.parent().map(Path::to_owned))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_toolchain_tells_where_rustup_lives() {
        let found = |cargo: &str| rustup_home_of(Path::new(cargo));
        assert_eq!(found("/r/toolchains/stable/bin/cargo"), Some("/r".into()));
        assert_eq!(found("/usr/bin/cargo"), None);
        assert_eq!(found("cargo"), None);
    }

    #[test]
    fn a_program_gets_a_home_of_its_own() {
        let around = Surroundings::new().unwrap();
        let mut shell = around.program("/bin/sh");
        shell.args(["-c", "printf %s \"$HOME\""]);
        let output = shell.output().unwrap();
        assert_eq!(
            PathBuf::from(String::from_utf8(output.stdout).unwrap()),
            around.scratch.path().join("home")
        );
    }
}
