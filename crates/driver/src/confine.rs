//! What agents and checks may reach on this machine, and how it is proven that
//! they reach nothing else.

use std::ffi::OsString;
use std::fs::DirBuilder;
use std::io;
use std::net::Ipv4Addr;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use windlass_core::policy::{NetworkKind, NetworkPolicy, ProvenSandbox, SandboxLevel, SandboxPolicy};
use windlass_process::{
    Confinement, Level, Network, PROXY_PORT, Proof, Reach, Resources, Spawner, ThrowawayTree,
    proxy_environment, remedy, remove_tree,
};

use crate::setup::Found;
use crate::surroundings::Surroundings;

/// A machine that cannot do what the policy asks for.
#[derive(Debug, thiserror::Error)]
#[error("this machine does not reach sandbox.minimum = {:?}; nothing was started", minimum.name())]
pub struct Unproven {
    pub minimum: SandboxLevel,
    /// Every level that was tried, the best first.
    failed: Vec<Proof>,
}

impl Unproven {
    /// What to do, for each level that would have been enough.
    pub fn hints(&self) -> Vec<String> {
        self.failed.iter().map(remedy).collect()
    }
}

/// A policy under which agents could write what windlass believes.
#[derive(Debug, thiserror::Error)]
#[error("`sandbox.extra_write` names {named:?}, by which agents could change windlass's own records in {}", state.display())]
pub struct Exposed {
    /// As the policy has it.
    pub named: String,
    pub state: PathBuf,
}

impl Exposed {
    pub fn hints(&self) -> Vec<String> {
        vec![
            "name only the directories that agents need, none with the records in it or below them"
                .to_owned(),
            "or keep the records elsewhere, with --state-dir or WINDLASS_STATE_DIR".to_owned(),
        ]
    }
}

/// Looks through symbolic links: it is the same directory by any name.
pub fn check_records(policy: &SandboxPolicy, surroundings: &Surroundings) -> Result<(), Exposed> {
    let state = resolved(&surroundings.state);
    let overlaps = |named: &&String| {
        let place = resolved(&surroundings.project.join(expand(named, surroundings)));
        state.starts_with(&place) || place.starts_with(&state)
    };
    match policy.extra_write.iter().find(overlaps) {
        Some(named) => Err(Exposed { named: named.clone(), state: surroundings.state.clone() }),
        None => Ok(()),
    }
}

/// What exists of a path without links, and the rest as it is written.
fn resolved(path: &Path) -> PathBuf {
    let found = path.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    match found {
        Some((above, real)) => real.join(path.strip_prefix(above).unwrap_or(Path::new(""))),
        None => path.to_owned(),
    }
}

/// Finds the level to run at, by attack; never one below the minimum.
pub fn prove(policy: &SandboxPolicy, spawner: &Spawner, proofs: &Path) -> Result<ProvenSandbox, Unproven> {
    let wanted = match policy.level.exactly() {
        Some(level) => vec![level],
        None => SandboxLevel::ALL.into_iter().rev().collect(),
    };
    let mut failed = Vec::new();
    for level in wanted.into_iter().filter(|level| *level >= policy.minimum) {
        if level == SandboxLevel::None {
            return Ok(ProvenSandbox::default());
        }
        let proof = test(of_process(level), spawner, proofs);
        if proof.held {
            let stopped = proof.attempts.into_iter().map(|attempt| attempt.what).collect();
            return Ok(ProvenSandbox { level, stopped });
        }
        failed.push(proof);
    }
    Err(Unproven { minimum: policy.minimum, failed })
}

/// What each level comes to on this machine. One of them is needed, unless a policy says otherwise.
pub fn examine(spawner: &Spawner, scratch: &Path) -> Vec<Found> {
    let proofs = [Level::Namespaces, Level::Landlock].map(|level| spawner.prove(level, scratch));
    let none_held = proofs.iter().all(|proof| !proof.held);
    let row = |proof: &Proof| Found {
        what: format!("sandbox {}", proof.level.name()),
        ok: proof.held,
        needed: none_held,
        detail: match proof.held {
            true => format!("{} attacks tried, all stopped", proof.attempts.len()),
            false => remedy(proof),
        },
    };
    proofs.iter().map(row).collect()
}

/// Remembered where there is a state directory already: asking must not make one.
fn test(level: Level, spawner: &Spawner, proofs: &Path) -> Proof {
    let known = proofs.parent().is_some_and(Path::is_dir) && std::fs::create_dir_all(proofs).is_ok();
    match known {
        true => spawner.prove_once(level, proofs, &proofs.join("proven.json")),
        false => spawner.prove(level, Path::new("/tmp")),
    }
}

fn of_process(level: SandboxLevel) -> Level {
    match level {
        SandboxLevel::None => Level::None,
        SandboxLevel::Landlock => Level::Landlock,
        SandboxLevel::Namespaces => Level::Namespaces,
    }
}

/// Everything a confinement is made of that is the same for all programs of a
/// drive.
#[derive(Clone, Debug)]
pub struct Confine {
    level: Level,
    reach: Reach,
    env: Vec<(OsString, OsString)>,
    /// Resolving it takes hundreds of system calls, so once.
    pub path: OsString,
    pub resources: Resources,
    /// Named in the policy, for every program.
    variables: Vec<String>,
}

/// What one program may use beside what all may.
#[derive(Clone, Debug, Default)]
pub struct Own {
    pub read: Vec<PathBuf>,
    pub write: Vec<PathBuf>,
    pub tree: Option<ThrowawayTree>,
    /// Its home and its temporary files are below; nothing of another program is.
    dir: PathBuf,
}

impl Own {
    pub fn at(dir: PathBuf) -> Self {
        Self { dir, ..Self::default() }
    }

    /// Where nothing is confined there is nothing to prepare.
    pub fn fresh(confine: &Confine, dir: PathBuf) -> io::Result<Self> {
        let own = Self::at(dir);
        if confine.is_on() {
            remove_tree(&own.dir)?;
            for made in [own.home(), own.scratch()] {
                DirBuilder::new().recursive(true).mode(0o700).create(made)?;
            }
        }
        Ok(own)
    }

    pub fn home(&self) -> PathBuf {
        self.dir.join("home")
    }

    /// Beside what the program may change.
    pub fn seeded(&self) -> PathBuf {
        self.dir.join("seeded")
    }

    fn scratch(&self) -> PathBuf {
        self.dir.join("scratch")
    }
}

impl Confine {
    pub fn new(level: SandboxLevel, policy: &SandboxPolicy, surroundings: &Surroundings) -> Self {
        let mut reach = Reach::system();
        let toolchains = surroundings.toolchains();
        let path = surroundings.clean_path();
        let absolute = |path: &String| surroundings.project.join(expand(path, surroundings));
        reach.read.extend(std::env::split_paths(&path).filter(|dir| dir.is_absolute()));
        reach.read.extend(toolchains.iter().map(|(_, dir)| dir.clone()));
        reach.hide.extend(toolchains.iter().flat_map(|(_, dir)| SECRETS.map(|secret| dir.join(secret))));
        reach.read.extend(policy.extra_read.iter().map(absolute));
        reach.write.extend(policy.extra_write.iter().map(absolute));
        let env = toolchains.into_iter().filter_map(|(name, dir)| Some((name?.into(), dir.into()))).collect();
        let asked = &policy.resources;
        let resources = Resources {
            memory: asked.memory_bytes,
            processes: asked.processes,
            open_files: asked.open_files,
            file_size: asked.file_bytes,
            workspace_bytes: asked.workspace_bytes,
        };
        Self { level: of_process(level), reach, env, path, resources, variables: policy.env.clone() }
    }

    pub fn is_on(&self) -> bool {
        self.level != Level::None
    }

    /// Whether a tree that is thrown away can be had at this level.
    pub fn may_have_tree(&self) -> bool {
        self.level != Level::Landlock
    }

    pub fn confinement(&self, network: &NetworkPolicy, own: &Own) -> Confinement {
        if !self.is_on() {
            return Confinement::none_with(own.tree.clone());
        }
        let mut reach = self.reach.clone();
        reach.read.extend(own.read.iter().cloned());
        reach.write.extend(own.write.iter().cloned());
        reach.write.push(own.home());
        reach.scratch = Some(own.scratch());
        if self.level == Level::Landlock {
            // What may be written may be read, and this level cannot take a part of that back.
            let writable = reach.write.clone();
            reach.read.retain(|path| !writable.iter().any(|dir| path.starts_with(dir)));
        }
        Confinement { level: self.level, reach, network: network_of(network), tree: own.tree.clone() }
    }

    /// The environment of a program: the operator's own home is not in it.
    pub fn lend(
        &self,
        surroundings: &Surroundings,
        (named, network): (&[String], &NetworkPolicy),
        own: &Own,
    ) -> Vec<(OsString, OsString)> {
        let named: Vec<String> = named.iter().chain(&self.variables).cloned().collect();
        let mut env = surroundings.lend(&named, &self.path);
        if self.is_on() {
            env.retain(|(name, _)| !OF_THE_HOME.iter().any(|own| name == own));
            env.retain(|(name, _)| !self.env.iter().any(|(set, _)| set == name));
            env.extend(self.env.iter().cloned());
            env.push(("HOME".into(), own.home().into()));
            env.push(("TMPDIR".into(), own.scratch().into()));
            if network.meant() == NetworkKind::Allow {
                env.extend(proxy_environment((Ipv4Addr::LOCALHOST, PROXY_PORT).into()));
            }
        }
        env
    }
}

/// Variables that lead into the operator's home.
const OF_THE_HOME: [&str; 3] = ["HOME", "TMPDIR", "XDG_CACHE_HOME"];

/// Below a toolchain's home, and not for agents.
const SECRETS: [&str; 4] = ["credentials", "credentials.toml", ".netrc", "auth.json"];

fn network_of(policy: &NetworkPolicy) -> Network {
    match policy.meant() {
        NetworkKind::Open => Network::Open,
        NetworkKind::Loopback => Network::Loopback,
        NetworkKind::None => Network::None,
        NetworkKind::Allow => Network::Allow(policy.allow.clone()),
    }
}

/// `~/` is the operator's home.
fn expand(path: &str, surroundings: &Surroundings) -> PathBuf {
    match (path.strip_prefix("~/"), surroundings.var("HOME")) {
        (Some(below), Some(home)) => Path::new(home).join(below),
        (Some(_), None) | (None, _) => PathBuf::from(path),
    }
}
