//! The programs that are measured: `windlass` itself, and the examples that
//! measure inside the product and print a line of JSON a round. This crate
//! links nothing of the product.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use crate::ordinary_user::NOBODY;
use crate::surroundings::Surroundings;

/// The packages with examples that are run here.
const PACKAGES: [&str; 7] = [
    "windlass",
    "windlass-core",
    "windlass-driver",
    "windlass-process",
    "windlass-store",
    "windlass-simulator",
    "windlass-workspace",
];

#[derive(Clone, Debug)]
pub struct Programs {
    pub windlass: PathBuf,
    examples: PathBuf,
}

impl Programs {
    /// Everything in one build, so that a crate is built one way only.
    pub fn build(around: &Surroundings) -> Result<Self> {
        let mut build = around.cargo(["build", "--release", "--locked", "--bins", "--examples"]);
        build.args(PACKAGES.iter().flat_map(|package| ["--package", package]));
        let status = build.status().with_context(|| format!("start {build:?}"))?;
        if !status.success() {
            bail!("{build:?}: {status}");
        }
        let release = around.target.join("release");
        Ok(Self { windlass: release.join("windlass"), examples: release.join("examples") })
    }

    pub fn example(&self, name: &str) -> Result<PathBuf> {
        let path = self.examples.join(name);
        ensure!(path.is_file(), "there is no example {name}");
        Ok(path)
    }

    /// Runs an example to its end, in `dir`, and reads what it measured.
    pub fn measure<S: AsRef<OsStr>>(&self, name: &str, dir: &Path, args: &[S]) -> Result<Readings> {
        let mut command = Command::new(self.example(name)?);
        command.args(args).current_dir(dir);
        read(command)
    }

    /// The same as an ordinary user. For root alone: whoever else is one already.
    pub fn measure_as_nobody(&self, name: &str, args: &[&str]) -> Result<Readings> {
        let place = tempfile::tempdir()?;
        // A copy: the example itself may lie in root's home.
        let (program, scratch) = (place.path().join(name), place.path().join("scratch"));
        fs::copy(self.example(name)?, &program)?;
        fs::create_dir(&scratch)?;
        chown(&scratch, Some(NOBODY), Some(NOBODY))?;
        for path in [place.path(), &program] {
            fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
        }
        let mut command = Command::new(program);
        command.args(args).current_dir(&scratch).env("TMPDIR", &scratch).uid(NOBODY).gid(NOBODY);
        read(command)
    }
}

fn read(mut command: Command) -> Result<Readings> {
    command.stdin(Stdio::null()).stderr(Stdio::inherit());
    let output = command.output().with_context(|| format!("start {command:?}"))?;
    ensure!(output.status.success(), "{command:?}: {}", output.status);
    Readings::parse(&String::from_utf8_lossy(&output.stdout))
}

/// What an example printed: times in microseconds, by name.
#[derive(Clone, Debug, Default)]
pub struct Readings(Vec<Value>);

impl Readings {
    fn parse(text: &str) -> Result<Self> {
        let line = |line: &str| serde_json::from_str(line).with_context(|| format!("{line:?} is not JSON"));
        Ok(Self(text.lines().map(line).collect::<Result<_>>()?))
    }

    /// Every reading of that name, in the order they were made.
    pub fn times(&self, name: &str) -> Result<Vec<Duration>> {
        let times: Vec<_> =
            self.0.iter().filter_map(|line| line[name].as_u64()).map(Duration::from_micros).collect();
        ensure!(!times.is_empty(), "nothing measured {name:?}");
        Ok(times)
    }

    /// All but the first `skipped` readings, which warm up.
    pub fn warm(&self, name: &str, skipped: usize) -> Result<Vec<Duration>> {
        let times = self.times(name)?;
        ensure!(times.len() > skipped, "only {} readings of {name:?}", times.len());
        Ok(times[skipped..].to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_are_found_by_name() {
        let readings = Readings::parse("{\"a\":5,\"b\":1}\n{\"b\":2}\n").unwrap();
        assert_eq!(readings.times("a").unwrap(), [Duration::from_micros(5)]);
        assert_eq!(readings.warm("b", 1).unwrap(), [Duration::from_micros(2)]);
        assert!(readings.times("c").is_err() && readings.warm("b", 2).is_err());
        assert!(Readings::parse("no").is_err());
    }
}
