//! The real coding agents that tests drive, each of one version, from npm. They lie in the target directory, so
//! that nothing of the machine's own is used or changed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use windlass_agent::registry::AGENTS;

use crate::stages::Stages;
use crate::surroundings::Surroundings;
use crate::tools;

/// Which of them are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Those that every run of the suite has.
    Usual,
    All,
}

struct Agent {
    /// The program's, and its directory's.
    name: &'static str,
    package: &'static str,
    version: &'static str,
}

/// Of the agents that windlass knows, those that every run of the suite has.
const USUAL: [&str; 2] = ["codex", "claude"];

/// Programs that only speak the Agent Client Protocol for a known agent.
const PROTOCOL_ONLY: [Agent; 2] = [
    Agent { name: "claude-agent-acp", package: "@agentclientprotocol/claude-agent-acp", version: "0.99.1" },
    Agent { name: "codex-acp", package: "@agentclientprotocol/codex-acp", version: "2.6.0" },
];

fn agents() -> impl Iterator<Item = Agent> {
    let known = AGENTS.iter().filter_map(|known| {
        let version = known.tried_versions.last()?;
        Some(Agent { name: known.name, package: known.npm_package, version })
    });
    known.chain(PROTOCOL_ONLY)
}

/// A registry that does not answer must not hold up the suite.
const PATIENCE: Duration = Duration::from_secs(300);

/// Where they are installed, a directory each; tests are told of it.
pub fn dir(around: &Surroundings) -> PathBuf {
    around.target.join("agents")
}

/// A program of one of them, if that is installed.
pub fn program(around: &Surroundings, name: &str) -> Option<PathBuf> {
    let agent = agents().find(|agent| agent.name == name)?;
    agent.is_in(&dir(around)).then(|| agent.program(&dir(around)))
}

/// The directories of those that every run of the suite has, as far as they are installed.
pub fn usual(around: &Surroundings) -> Vec<PathBuf> {
    let dir = dir(around);
    let here = agents().filter(|agent| agent.is_usual() && agent.is_in(&dir));
    here.map(|agent| dir.join(agent.name)).collect()
}

pub fn set_up(around: &Surroundings, stages: &mut Stages, wanted: Wanted) {
    stages.run("the agents that tests drive", |stages| {
        let dir = dir(around);
        let chosen = |agent: &Agent| wanted == Wanted::All || agent.is_usual();
        let missing: Vec<_> = agents().filter(chosen).filter(|agent| !agent.is_in(&dir)).collect();
        if missing.is_empty() {
            println!("every agent is here");
            return Ok(());
        }
        let end = Instant::now() + PATIENCE;
        // All at once: each waits for the registry most of its time.
        let begun: Vec<_> = missing.iter().map(|agent| (agent, begin(around, agent, &dir))).collect();
        for (agent, child) in begun {
            let why = match child.and_then(|child| finish(child, end)) {
                Ok(()) if agent.is_in(&dir) => continue,
                Ok(()) => "installed, and still not found".to_owned(),
                Err(error) => format!("{error:#}"),
            };
            stages.not_run(&format!("tests with {}", agent.name), &why);
        }
        Ok(())
    });
}

impl Agent {
    fn is_usual(&self) -> bool {
        USUAL.contains(&self.name)
    }

    fn program(&self, dir: &Path) -> PathBuf {
        dir.join(self.name).join("node_modules/.bin").join(self.name)
    }

    /// In this version, as npm wrote it down.
    fn is_in(&self, dir: &Path) -> bool {
        let manifest = dir.join(self.name).join("node_modules").join(self.package).join("package.json");
        let version = fs::read(manifest)
            .ok()
            .and_then(|bytes| serde_json::from_slice::<serde_json::Value>(&bytes).ok())
            .and_then(|manifest| manifest["version"].as_str().map(str::to_owned));
        version.as_deref() == Some(self.version) && self.program(dir).is_file()
    }
}

fn begin(around: &Surroundings, agent: &Agent, dir: &Path) -> Result<Child> {
    let npm = tools::find("npm").context("no npm to install it with")?;
    let place = dir.join(agent.name);
    fs::create_dir_all(&place).with_context(|| format!("create {}", place.display()))?;
    println!("installing {} {}", agent.name, agent.version);
    let mut command = around.program(npm);
    command.args(["install", "--no-fund", "--no-audit", "--loglevel=error", "--prefix"]).arg(&place);
    command.arg(format!("{}@{}", agent.package, agent.version));
    command.stdin(Stdio::null()).spawn().with_context(|| format!("start {command:?}"))
}

/// Until `end`, at which it is killed.
fn finish(mut child: Child, end: Instant) -> Result<()> {
    loop {
        if let Some(status) = child.try_wait()? {
            return if status.success() { Ok(()) } else { bail!("npm: {status}") };
        }
        if Instant::now() >= end {
            child.kill()?;
            child.wait()?;
            bail!("npm took longer than {} s", PATIENCE.as_secs());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_there_in_its_own_version_only() {
        let dir = tempfile::tempdir().unwrap();
        let agent = agents().next().unwrap();
        assert!(!agent.is_in(dir.path()));
        let package = dir.path().join("codex/node_modules/@openai/codex");
        fs::create_dir_all(&package).unwrap();
        fs::create_dir_all(dir.path().join("codex/node_modules/.bin")).unwrap();
        fs::write(agent.program(dir.path()), "").unwrap();
        fs::write(package.join("package.json"), r#"{"version":"0.1.0"}"#).unwrap();
        assert!(!agent.is_in(dir.path()), "another version");
        fs::write(package.join("package.json"), format!(r#"{{"version":"{}"}}"#, agent.version)).unwrap();
        assert!(agent.is_in(dir.path()));
        fs::remove_file(agent.program(dir.path())).unwrap();
        assert!(!agent.is_in(dir.path()), "half an installation");
    }
}
