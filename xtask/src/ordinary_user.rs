//! Root passes every permission check, so a suite run by root alone says
//! little about anybody else. Under root, the end-to-end tests run a second
//! time as an ordinary user.
//!
//! That user may be unable to reach the repository or cargo's directories (both
//! can lie in root's home), so test binaries and the binary under test are
//! copied to a place of their own; tests listed here must not read sources.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use crate::agents;
use crate::args::Extent;
use crate::binaries;
use crate::link_tree::link_tree;
use crate::stages::Stages;
use crate::surroundings::{Surroundings, home_variables};
use crate::tally::Runner;

/// A file under `tests/` of a package.
struct Target {
    package: &'static str,
    test: &'static str,
}

/// The end-to-end tests. Add a target here when it runs the real binary.
const END_TO_END: &[Target] = &[
    Target { package: "windlass-testkit", test: "ground" },
    Target { package: "windlass", test: "it" },
    Target { package: "windlass", test: "real" },
];

/// `nobody` on every Linux in use: no home, no groups, no rights.
pub const NOBODY: u32 = 65_534;

pub fn run(around: &Surroundings, stages: &mut Stages, extent: Extent) {
    if !rustix::process::geteuid().is_root() {
        println!("\nnot root: the suite ran as an ordinary user already");
        return;
    }
    stages.run("end to end as an ordinary user", |stages| {
        let built = built(around)?;
        let place = Place::new(&around.root)?;
        place.bring_agents(around)?;
        let mut failed = Vec::new();
        for target in END_TO_END {
            let test = place.bring(&built.test(target)?)?;
            println!("{} --test {}", target.package, target.test);
            let command = place.command(&test, around, &built, extent)?;
            let begun = Instant::now();
            if let Err(error) = stages.count(command, Runner::Libtest) {
                failed.push(format!("{} --test {}: {error}", target.package, target.test));
            }
            println!("{} --test {}: {} s", target.package, target.test, begun.elapsed().as_secs());
        }
        for line in fs::read_to_string(place.reports()).unwrap_or_default().lines() {
            stages.not_run("as an ordinary user", line);
        }
        ensure!(failed.is_empty(), "{}", failed.join("; "));
        Ok(())
    });
}

/// A directory that an ordinary user can read, and partly write.
struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new(root: &Path) -> Result<Self> {
        let dir =
            tempfile::Builder::new().prefix("windlass-user-").tempdir().context("temporary directory")?;
        let place = Self { dir };
        fs::set_permissions(place.dir.path(), fs::Permissions::from_mode(0o755))?;
        fs::write(place.reports(), "")?;
        chown(place.reports(), Some(NOBODY), Some(NOBODY))?;
        for name in ["home", "tmp"] {
            let dir = place.dir.path().join(name);
            fs::create_dir(&dir)?;
            chown(&dir, Some(NOBODY), Some(NOBODY)).with_context(|| format!("chown {}", dir.display()))?;
        }
        ensure!(!place.dir.path().starts_with(root), "the temporary directory lies in the repository");
        Ok(place)
    }

    fn bring(&self, file: &Path) -> Result<PathBuf> {
        let name = file.file_name().with_context(|| format!("{} is no file", file.display()))?;
        let copy = self.dir.path().join(name);
        fs::copy(file, &copy).with_context(|| format!("copy {}", file.display()))?;
        fs::set_permissions(&copy, fs::Permissions::from_mode(0o755))?;
        Ok(copy)
    }

    /// The agents that every run of the suite has; the others would take longer than they tell.
    fn bring_agents(&self, around: &Surroundings) -> Result<()> {
        for dir in agents::usual(around) {
            let name = dir.file_name().with_context(|| format!("{} has no name", dir.display()))?;
            link_tree(&dir, &self.agents().join(name)).with_context(|| format!("link {}", dir.display()))?;
        }
        Ok(())
    }

    fn agents(&self) -> PathBuf {
        self.dir.path().join("agents")
    }

    fn command(&self, test: &Path, around: &Surroundings, built: &Built, extent: Extent) -> Result<Command> {
        let mut command = around.program(test);
        let home = self.dir.path().join("home");
        command.current_dir(&home).envs(home_variables(&home));
        // The toolchain may be out of reach; these tests do not need it.
        command.env_remove("CARGO_HOME").env_remove("RUSTUP_HOME");
        command.env("TMPDIR", self.dir.path().join("tmp")).env("WINDLASS_NOT_RUN_FILE", self.reports());
        if let Some(binary) = built.binary() {
            command.env("WINDLASS_TEST_BIN", self.bring(&binary)?);
        }
        for (variable, name, binary) in [
            ("WINDLASS_FAILPOINTS_BIN", "windlass-failpoints", binaries::failpoints_path(around)),
            ("WINDLASS_WEAKENED_BIN", "windlass-weakened", binaries::weakened_path(around)),
        ] {
            if binary.is_file() {
                let copy = self.dir.path().join(name);
                fs::copy(&binary, &copy).with_context(|| format!("copy {}", binary.display()))?;
                command.env(variable, copy);
            }
        }
        command.env("WINDLASS_AGENTS_DIR", self.agents());
        if extent == Extent::Full {
            command.env("WINDLASS_FULL", "1");
        }
        // The standard library drops root's other groups along with the user id.
        command.uid(NOBODY).gid(NOBODY);
        Ok(command)
    }

    fn reports(&self) -> PathBuf {
        self.dir.path().join("not-run.txt")
    }
}

/// What cargo built for the tests, as it reported it.
struct Built {
    artifacts: Vec<Value>,
}

fn built(around: &Surroundings) -> Result<Built> {
    let mut command =
        around.cargo(["test", "--workspace", "--no-run", "--locked", "--quiet", "--message-format=json"]);
    let output = command.output().with_context(|| format!("start {command:?}"))?;
    if !output.status.success() {
        bail!("the tests do not build: {}", String::from_utf8_lossy(&output.stderr));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let messages = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    Ok(Built { artifacts: messages.filter(|message| message["executable"].is_string()).collect() })
}

impl Built {
    fn test(&self, target: &Target) -> Result<PathBuf> {
        let is_it = |artifact: &&Value| {
            let package = artifact["package_id"].as_str().unwrap_or_default();
            artifact["target"]["kind"][0] == "test"
                && artifact["target"]["name"] == target.test
                && package_name(package) == target.package
        };
        self.executable(is_it).with_context(|| format!("{} has no test {}", target.package, target.test))
    }

    /// Absent until a test of the binary's own package exists.
    fn binary(&self) -> Option<PathBuf> {
        self.executable(|artifact| {
            let target = &artifact["target"];
            target["kind"][0] == "bin" && target["name"] == "windlass" && artifact["profile"]["test"] == false
        })
    }

    fn executable(&self, is_it: impl FnMut(&&Value) -> bool) -> Option<PathBuf> {
        self.artifacts.iter().find(is_it)?["executable"].as_str().map(PathBuf::from)
    }
}

/// `path+file:///x/crates/testkit#windlass-testkit@0.1.0` names the package
/// after the hash, unless the directory has the same name.
fn package_name(id: &str) -> &str {
    let (path, rest) = id.split_once('#').unwrap_or((id, ""));
    match rest.split_once('@') {
        Some((name, _)) => name,
        None => path.rsplit('/').next().unwrap_or(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_id_names_its_package() {
        assert_eq!(package_name("path+file:///x/crates/testkit#windlass-testkit@0.1.0"), "windlass-testkit");
        assert_eq!(package_name("path+file:///x/xtask#0.1.0"), "xtask");
    }
}
