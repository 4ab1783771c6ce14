//! Programs beyond Rust and git that some tests use. What is missing is
//! installed where that is allowed, and otherwise said.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::stages::Stages;
use crate::surroundings::Surroundings;

struct Tool {
    program: &'static str,
    /// The Debian package that has it.
    package: &'static str,
    serves: &'static str,
}

const TOOLS: &[Tool] = &[
    Tool { program: "tmux", package: "tmux", serves: "tests on a real terminal" },
    Tool { program: "valgrind", package: "valgrind", serves: "instruction counts" },
    Tool { program: "bwrap", package: "bubblewrap", serves: "tests of the namespaces level" },
    Tool { program: "pytest-3", package: "python3-pytest", serves: "honest work in Python" },
];

/// A program for cargo, of one version, built from the registry.
pub struct CargoTool {
    pub name: &'static str,
    pub version: &'static str,
}

/// A package mirror that does not answer must not hold up the suite.
const PATIENCE: Duration = Duration::from_secs(180);
/// The same for a program that is built here.
const BUILD_PATIENCE: Duration = Duration::from_secs(900);

pub fn set_up(around: &Surroundings, stages: &mut Stages) {
    stages.run("set up", |stages| {
        let missing: Vec<_> = TOOLS.iter().filter(|tool| find(tool.program).is_none()).collect();
        if missing.is_empty() {
            println!("every tool is here");
            return Ok(());
        }
        let packages: Vec<_> = missing.iter().map(|tool| tool.package).collect();
        let why = match install(around, &packages) {
            Ok(()) => "installed, and still not found".to_owned(),
            Err(error) => format!("{error:#}"),
        };
        for tool in missing.iter().filter(|tool| find(tool.program).is_none()) {
            stages.not_run(tool.serves, &format!("no {}: {why}", tool.program));
        }
        Ok(())
    });
}

/// The file a program's name stands for.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(program)).find(|file| file.is_file())
}

/// Whether cargo has a subcommand, built in or beside it.
pub fn has_subcommand(around: &Surroundings, name: &str) -> bool {
    let mut command = around.cargo([name, "--version"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

impl CargoTool {
    /// The program in the target directory, built if it is not there.
    pub fn install(&self, around: &Surroundings) -> Result<PathBuf> {
        let root = around.target.join("tools").join(format!("{}-{}", self.name, self.version));
        let program = root.join("bin").join(self.name);
        if !program.is_file() {
            let mut install = around.cargo(["install", "--quiet", "--locked", "--no-track", self.name]);
            install.args(["--version", self.version, "--root"]).arg(&root);
            // A release build of cargo-deny takes twice as long, and saves nothing here.
            install.args(["--debug", "--config", "profile.dev.debug=false"]);
            // Without it cargo builds in a temporary directory, and removes that.
            install.env_remove("CARGO_TARGET_DIR");
            finish_within(BUILD_PATIENCE, &mut install)?;
        }
        Ok(program)
    }
}

/// Asks rustup for a component where rustup is how Rust got here.
pub fn add_component(around: &Surroundings, name: &str) -> Result<()> {
    let rustup = find("rustup").context("no rustup to ask for it")?;
    let mut command = around.program(rustup);
    command.args(["component", "add", name]);
    finish_within(PATIENCE, &mut command)
}

fn install(around: &Surroundings, packages: &[&str]) -> Result<()> {
    if !rustix::process::geteuid().is_root() {
        bail!("only root may install packages");
    }
    let apt_get = find("apt-get").context("no apt-get to install it with")?;
    println!("installing {}", packages.join(", "));
    let apt_get = |args: &[&str]| finish_within(PATIENCE, &mut apt_command(around, &apt_get, args));
    let install = [&["install", "--yes", "--no-install-recommends"], packages].concat();
    // A fresh image has no package lists; an older one may have what it needs.
    apt_get(&install).or_else(|_| {
        apt_get(&["update"])?;
        apt_get(&install)
    })
}

fn apt_command(around: &Surroundings, apt_get: &Path, args: &[&str]) -> Command {
    let mut command = around.program(apt_get);
    command.args([
        "-o",
        "Acquire::http::Timeout=20",
        "-o",
        "Acquire::Retries=1",
        "-o",
        "DPkg::Lock::Timeout=60",
        "-qq",
    ]);
    command.args(args).env("DEBIAN_FRONTEND", "noninteractive");
    command
}

/// Runs a command that asks the network for something.
pub fn finish(command: &mut Command) -> Result<()> {
    finish_within(PATIENCE, command)
}

/// Runs a command to its end, or kills it when its time is over.
fn finish_within(limit: Duration, command: &mut Command) -> Result<()> {
    let name = Path::new(command.get_program()).file_name().unwrap_or_default().display().to_string();
    let mut child = command.stdin(Stdio::null()).spawn().with_context(|| format!("start {command:?}"))?;
    let end = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return if status.success() { Ok(()) } else { bail!("{name}: {status}") };
        }
        if Instant::now() >= end {
            child.kill()?;
            child.wait()?;
            bail!("{name} took longer than {} s", limit.as_secs());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_hangs_is_ended() {
        let begun = Instant::now();
        let error = finish_within(Duration::from_millis(100), Command::new("sleep").arg("600")).unwrap_err();
        assert!(error.to_string().contains("took longer"), "{error}");
        assert!(begun.elapsed() < Duration::from_secs(60));
        assert!(finish_within(PATIENCE, &mut Command::new("true")).is_ok());
        assert!(finish_within(PATIENCE, &mut Command::new("false")).is_err());
    }
}
