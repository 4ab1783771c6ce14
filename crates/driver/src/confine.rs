//! What agents and checks may reach on this machine, and how it is proven that
//! they reach nothing else.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use windlass_core::policy::{
    MissedLevel, NetworkKind, NetworkPolicy, ProvenSandbox, ResourcePolicy, SandboxLevel, SandboxPolicy,
    WantedLevel,
};
use windlass_process::{
    Alias, Confinement, Image, Inspection, LayeredDir, Reach, SandboxProof, Spawner, ThrowawayTree,
    machine_memory, missed_level, proxy_environment, remedy, remove_tree,
};

use crate::engine::{self, NoEngine, UsableImage};
use crate::setup::DoctorRow;
use crate::surroundings::{Surroundings, names_a_tools_place};

/// A machine that cannot do what the policy asks for.
#[derive(Debug, thiserror::Error)]
pub enum SandboxUnavailable {
    #[error("this machine cannot provide {asked}; nothing was started")]
    Levels {
        /// The key and its value.
        asked: String,
        /// Every level that was tried, the best first.
        failed: Vec<SandboxProof>,
    },
    #[error("sandbox.level = \"container\" is not available: {0}; nothing was started")]
    Engine(#[from] NoEngine),
}

impl SandboxUnavailable {
    /// What to do, for each level that would have been enough.
    pub fn hints(&self) -> Vec<String> {
        match self {
            Self::Levels { failed, .. } => failed.iter().map(remedy).collect(),
            Self::Engine(missing) => missing.hints(),
        }
    }
}

/// The level a machine was shown to provide, and what it takes to provide it.
pub struct SandboxChoice {
    pub proven: ProvenSandbox,
    image: Option<Image>,
}

/// A policy under which agents could write what windlass believes.
#[derive(Debug, thiserror::Error)]
#[error("`sandbox.extra_write` names {named:?}, by which agents could change windlass's own records in {}", state.display())]
pub struct RecordsExposed {
    /// As the policy has it.
    pub named: String,
    pub state: PathBuf,
}

impl RecordsExposed {
    pub fn hints(&self) -> Vec<String> {
        vec![
            "name only the directories that agents need, none with the records in it or below them"
                .to_owned(),
            "or keep the records elsewhere, with --state-dir or WINDLASS_STATE_DIR".to_owned(),
        ]
    }
}

/// Looks through symbolic links: it is the same directory by any name.
pub fn check_records(policy: &SandboxPolicy, surroundings: &Surroundings) -> Result<(), RecordsExposed> {
    let state = resolved(&surroundings.state);
    let overlaps = |named: &&String| {
        let place = resolved(&surroundings.project.join(expand(named, surroundings)));
        state.starts_with(&place) || place.starts_with(&state)
    };
    match policy.extra_write.iter().find(overlaps) {
        Some(named) => Err(RecordsExposed { named: named.clone(), state: surroundings.state.clone() }),
        None => Ok(()),
    }
}

/// What exists of a path without links, and the rest as it is written.
pub fn resolved(path: &Path) -> PathBuf {
    let found = path.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    match found {
        Some((above, real)) => real.join(path.strip_prefix(above).unwrap_or(Path::new(""))),
        None => path.to_owned(),
    }
}

/// Finds the level to run at, by attack; never one below the minimum.
pub fn prove(
    policy: &SandboxPolicy,
    spawner: &Spawner,
    surroundings: &Surroundings,
    proofs: &Path,
) -> Result<SandboxChoice, SandboxUnavailable> {
    if policy.level == WantedLevel::Container {
        return prove_container(policy, spawner, surroundings, proofs);
    }
    let exactly = policy.level.exactly();
    let wanted = match exactly {
        Some(level) => vec![level],
        None => SandboxLevel::OWN.into_iter().rev().collect(),
    };
    let mut failed: Vec<SandboxProof> = Vec::new();
    for level in wanted.into_iter().filter(|level| *level >= policy.minimum) {
        if level == SandboxLevel::None {
            let proven = ProvenSandbox { missed: missed(&failed), ..ProvenSandbox::default() };
            return Ok(SandboxChoice { proven, image: None });
        }
        let proof = test(level, spawner, proofs);
        tracing::debug!(level = level.name(), held = proof.held, "sandbox level is proven");
        if proof.held {
            let proven = ProvenSandbox { missed: missed(&failed), ..proven(level, proof) };
            return Ok(SandboxChoice { proven, image: None });
        }
        failed.push(proof);
    }
    let asked = match exactly.filter(|level| *level > policy.minimum) {
        Some(level) => format!("sandbox.level = {:?}", level.name()),
        None => format!("sandbox.minimum = {:?}", policy.minimum.name()),
    };
    Err(SandboxUnavailable::Levels { asked, failed })
}

/// Each time anew: an engine and its settings may change while a machine runs.
fn prove_container(
    policy: &SandboxPolicy,
    spawner: &Spawner,
    surroundings: &Surroundings,
    proofs: &Path,
) -> Result<SandboxChoice, SandboxUnavailable> {
    let UsableImage { image, words } = engine::find(policy, surroundings)?;
    let proof = spawner.prove_container(&image, scratch(proofs));
    if !proof.held {
        return Err(SandboxUnavailable::Levels {
            asked: "sandbox.level = \"container\"".to_owned(),
            failed: vec![proof],
        });
    }
    let proven = ProvenSandbox { engine: words, ..proven(SandboxLevel::Container, proof) };
    Ok(SandboxChoice { proven, image: Some(image) })
}

fn proven(level: SandboxLevel, proof: SandboxProof) -> ProvenSandbox {
    let stopped = proof.attempts.into_iter().map(|attempt| attempt.what).collect();
    ProvenSandbox { level, stopped, ..ProvenSandbox::default() }
}

fn missed(failed: &[SandboxProof]) -> Vec<MissedLevel> {
    failed.iter().filter_map(missed_level).collect()
}

/// What each level comes to on this machine. One of windlass's own is needed, unless a policy says otherwise.
pub fn sandbox_rows(
    policy: &SandboxPolicy,
    spawner: &Spawner,
    surroundings: &Surroundings,
    scratch: &Path,
) -> Vec<DoctorRow> {
    let proofs =
        [SandboxLevel::Namespaces, SandboxLevel::Landlock].map(|level| spawner.prove(level, scratch));
    let none_held = proofs.iter().all(|proof| !proof.held);
    let in_container = policy.level == WantedLevel::Container;
    let row = |proof: &SandboxProof| DoctorRow {
        what: format!("sandbox {}", proof.level.name()),
        ok: proof.held,
        needed: none_held && !in_container,
        detail: match proof.held {
            true => format!("{} attacks tried, all stopped", proof.attempts.len()),
            false => remedy(proof),
        },
    };
    let mut rows: Vec<DoctorRow> = proofs.iter().map(row).collect();
    rows.push(container_row(policy, spawner, surroundings, scratch));
    rows
}

fn container_row(
    policy: &SandboxPolicy,
    spawner: &Spawner,
    surroundings: &Surroundings,
    scratch: &Path,
) -> DoctorRow {
    let needed = policy.level == WantedLevel::Container;
    let (ok, detail) = match engine::find(policy, surroundings) {
        Ok(UsableImage { image, words }) => match spawner.prove_container(&image, scratch) {
            proof if proof.held => {
                (true, format!("{words}: {} attacks tried, all stopped", proof.attempts.len()))
            }
            proof => (false, remedy(&proof)),
        },
        Err(missing) => (false, format!("{missing}\n{}", missing.hints().join("\n"))),
    };
    DoctorRow { what: "sandbox container".to_owned(), ok, needed, detail }
}

/// Remembered where there is a state directory already: asking must not make one.
fn test(level: SandboxLevel, spawner: &Spawner, proofs: &Path) -> SandboxProof {
    match scratch(proofs) {
        known if known == proofs => spawner.prove_once(level, proofs, &proofs.join(REMEMBERED)),
        elsewhere => spawner.prove(level, elsewhere),
    }
}

/// Puts a level of windlass's own to the test, whatever is remembered of it. Says why it does not hold.
pub fn prove_again(level: SandboxLevel, spawner: &Spawner, proofs: &Path) -> Result<(), String> {
    match level {
        SandboxLevel::None | SandboxLevel::Container => return Ok(()),
        SandboxLevel::Landlock | SandboxLevel::Namespaces => {}
    }
    let proof = spawner.prove(level, scratch(proofs));
    tracing::debug!(level = level.name(), held = proof.held, "sandbox level is proven again");
    if proof.held {
        return Ok(());
    }
    match fs::remove_file(proofs.join(REMEMBERED)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::warn!(%error, "a proof that does not hold any more is still remembered");
        }
        Ok(()) | Err(_) => {}
    }
    Err(remedy(&proof))
}

const REMEMBERED: &str = "proven.json";

fn scratch(proofs: &Path) -> &Path {
    let known = proofs.parent().is_some_and(Path::is_dir) && std::fs::create_dir_all(proofs).is_ok();
    if known { proofs } else { Path::new("/tmp") }
}

/// Everything a confinement is made of that is the same for all programs of a
/// drive.
#[derive(Clone, Debug)]
pub struct Confine {
    level: SandboxLevel,
    image: Option<Image>,
    reach: Reach,
    env: Vec<(OsString, OsString)>,
    /// Resolving it takes hundreds of system calls, so once.
    pub path: OsString,
    pub resources: ResourcePolicy,
    /// Named in the policy, for every program.
    variables: Vec<String>,
    /// What package managers fill. A program writes to a layer of its own over each.
    package_dirs: Vec<PathBuf>,
}

/// What one program is given: variables by name, a network, and its own directories.
pub struct ProgramAccess<'a> {
    pub variables: &'a [String],
    pub network: &'a NetworkPolicy,
    pub private: &'a PrivateDirs,
}

/// What one program may use beside what all may.
#[derive(Clone, Debug, Default)]
pub struct PrivateDirs {
    pub read: Vec<PathBuf>,
    pub write: Vec<PathBuf>,
    pub tree: Option<ThrowawayTree>,
    /// What was installed before into the directories of packages, in their order.
    pub packages: Vec<PathBuf>,
    /// By which name the program finds a directory of these, too.
    pub alias: Option<Alias>,
    /// Its home and its temporary files are below; nothing of another program is.
    dir: PathBuf,
}

impl PrivateDirs {
    pub fn at(dir: PathBuf) -> Self {
        Self { dir, ..Self::default() }
    }

    /// Where nothing is confined there is nothing to prepare.
    pub fn empty_if_confined(confine: &Confine, dir: PathBuf) -> io::Result<Self> {
        if confine.is_on() { Self::empty(dir) } else { Ok(Self::at(dir)) }
    }

    /// Empty, also where nothing is confined.
    pub fn empty(dir: PathBuf) -> io::Result<Self> {
        let dirs = Self::at(dir);
        remove(&dirs.dir)?;
        create(&dirs.home())?;
        create(&dirs.scratch())?;
        Ok(dirs)
    }

    /// With the home as it was left; temporary files are not kept.
    pub fn with_kept_home(dir: PathBuf) -> io::Result<Self> {
        let dirs = Self::at(dir);
        remove(&dirs.seeded())?;
        remove(&dirs.scratch())?;
        create(&dirs.home())?;
        create(&dirs.scratch())?;
        Ok(dirs)
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

    /// Below it, what the program writes to the directory of packages of each number.
    fn package_layers(&self) -> PathBuf {
        self.dir.join("packages")
    }

    pub fn layers(&self, package_dirs: &[PathBuf]) -> Vec<LayeredDir> {
        let layer = |(number, at): (usize, &PathBuf)| LayeredDir {
            at: at.clone(),
            over: self.packages.get(number).cloned().into_iter().collect(),
            upper: self.package_layers().join(number.to_string()),
        };
        package_dirs.iter().enumerate().map(layer).collect()
    }

    /// Everything that fills up by what this program writes.
    fn counted(&self) -> Vec<PathBuf> {
        self.write.iter().cloned().chain([self.home(), self.scratch(), self.package_layers()]).collect()
    }
}

impl Confine {
    pub fn new(choice: &SandboxChoice, policy: &SandboxPolicy, surroundings: &Surroundings) -> Self {
        let level = choice.proven.level;
        let mut confine = Self {
            level,
            image: choice.image.clone(),
            reach: Reach::default(),
            env: Vec::new(),
            path: OsString::new(),
            // A machine that does not say how much it has is not shared out.
            resources: policy.resources.on_machine(machine_memory().unwrap_or(0)),
            variables: policy.env.clone(),
            package_dirs: Vec::new(),
        };
        // An image has a system and toolchains of its own, and its own PATH.
        if level != SandboxLevel::Container {
            confine.reach = Reach::system();
            confine.add_toolchains(surroundings);
        }
        let absolute = |path: &String| surroundings.project.join(expand(path, surroundings));
        confine.reach.read.extend(policy.extra_read.iter().map(absolute));
        confine.reach.write.extend(policy.extra_write.iter().map(absolute));
        confine
    }

    /// Whatever else the policy lends, nothing below is readable.
    pub fn hide(&mut self, places: Vec<PathBuf>) {
        let lent: Vec<PathBuf> =
            self.reach.read.iter().chain(&self.reach.write).map(|dir| resolved(dir)).collect();
        let is_lent = |place: &PathBuf| lent.iter().any(|dir| resolved(place).starts_with(dir));
        self.reach.hide.extend(places.into_iter().filter(is_lent));
    }

    /// Every program may write to what package managers fill, and none sees what another wrote there. Needs
    /// overlays.
    pub fn layer_package_dirs(&mut self, surroundings: &Surroundings) {
        if self.level != SandboxLevel::Namespaces {
            return;
        }
        for (variable, dir) in surroundings.package_dirs() {
            self.reach.hide.extend(SECRETS.map(|secret| dir.join(secret)));
            self.env.retain(|(name, _)| name != variable);
            self.env.push((variable.into(), dir.clone().into()));
            self.package_dirs.push(dir);
        }
    }

    pub fn package_dirs(&self) -> &[PathBuf] {
        &self.package_dirs
    }

    /// Whether programs reach this directory.
    fn lends(&self, dir: &Path) -> bool {
        let Ok(real) = dir.canonicalize() else { return false };
        let mut lent = self.reach.read.iter().chain(&self.reach.write);
        lent.any(|place| dir.starts_with(place) || real.starts_with(place))
    }

    fn add_toolchains(&mut self, surroundings: &Surroundings) {
        let toolchains = surroundings.toolchains();
        self.path = surroundings.clean_path();
        let reach = &mut self.reach;
        reach.read.extend(std::env::split_paths(&self.path).filter(|dir| dir.is_absolute()));
        reach.read.extend(toolchains.iter().map(|(_, dir)| dir.clone()));
        reach.hide.extend(toolchains.iter().flat_map(|(_, dir)| SECRETS.map(|secret| dir.join(secret))));
        self.env =
            toolchains.into_iter().filter_map(|(name, dir)| Some((name?.into(), dir.into()))).collect();
    }

    pub fn is_on(&self) -> bool {
        self.level != SandboxLevel::None
    }

    /// Whether a tree that is thrown away can be had at this level.
    pub fn may_have_tree(&self) -> bool {
        !matches!(self.level, SandboxLevel::Landlock | SandboxLevel::Container)
    }

    /// Whether programs can find a directory of theirs under this name of windlass's own, too.
    pub fn may_alias(&self, name: &Path) -> bool {
        let is_of_host = |dir: &&Path| dir.parent().is_some() && fs::symlink_metadata(dir).is_ok();
        self.level == SandboxLevel::Namespaces && !name.ancestors().any(|dir| is_of_host(&dir))
    }

    pub fn confinement(
        &self,
        network: &NetworkPolicy,
        private: &PrivateDirs,
        inspection: Inspection,
    ) -> Confinement {
        if !self.is_on() {
            let counted = private.counted();
            return Confinement { counted, ..Confinement::none_with(private.tree.clone()) };
        }
        let mut reach = self.reach.clone();
        reach.read.extend(private.read.iter().cloned());
        reach.write.extend(private.write.iter().cloned());
        reach.write.push(private.home());
        reach.scratch = Some(private.scratch());
        reach.alias.clone_from(&private.alias);
        if self.level == SandboxLevel::Landlock {
            // What may be written may be read, and this level cannot take a part of that back.
            let writable = reach.write.clone();
            reach.read.retain(|path| !writable.iter().any(|dir| path.starts_with(dir)));
        }
        if self.level == SandboxLevel::Container {
            // A program of the host in the place of one of the image's would find none of its libraries.
            let system = Reach::system().read;
            reach.read.retain(|path| {
                policy_names(&self.reach, path) || !system.iter().any(|dir| path.starts_with(dir))
            });
        }
        Confinement {
            level: self.level,
            reach,
            network: network.clone(),
            inspection,
            tree: private.tree.clone(),
            layers: private.layers(&self.package_dirs),
            image: self.image.clone(),
            counted: private.counted(),
        }
    }

    /// The environment of a program: the operator's own home is not in it.
    pub fn environment(
        &self,
        surroundings: &Surroundings,
        access: &ProgramAccess<'_>,
    ) -> Vec<(OsString, OsString)> {
        let named: Vec<String> = access.variables.iter().chain(&self.variables).cloned().collect();
        let mut env = surroundings.environment(&named, &self.path);
        if self.is_on() {
            env.retain(|(name, _)| !OF_THE_HOME.iter().any(|own| name == own));
            // Without it a tool takes a place in the home that it may write to.
            let is_asked_for = |name: &OsStr| named.iter().any(|wanted| name == wanted.as_str());
            env.retain(|(name, place)| {
                !names_a_tools_place(name) || is_asked_for(name) || self.lends(Path::new(place))
            });
            env.retain(|(name, _)| !self.env.iter().any(|(set, _)| set == name));
            env.extend(self.env.iter().cloned());
            if self.level == SandboxLevel::Container {
                env.retain(|(variable, _)| !is_of_the_host(variable, &named));
            }
            env.push(("HOME".into(), access.private.home().into()));
            // The same directory, by a name that leaves room for that of a socket (108 bytes in all).
            let scratch = match self.level {
                SandboxLevel::Namespaces => PathBuf::from("/tmp"),
                SandboxLevel::None | SandboxLevel::Landlock | SandboxLevel::Container => {
                    access.private.scratch()
                }
            };
            env.push(("TMPDIR".into(), scratch.into()));
            if access.network.meant() == NetworkKind::Allow {
                env.extend(proxy_environment());
            }
        }
        env
    }
}

impl Confine {
    /// Agents run commands in login shells, and the system's profile may set another PATH than the one that
    /// the agent was given. What the home says is read after it.
    pub fn write_login_profile(&self, private: &PrivateDirs) -> io::Result<()> {
        // An image has programs at places of its own.
        let Some(path) = self.path.to_str().filter(|_| self.is_on()) else { return Ok(()) };
        if self.level == SandboxLevel::Container {
            return Ok(());
        }
        let text = format!("PATH='{}'\nexport PATH\n", path.replace('\'', r"'\''"));
        for name in LOGIN_PROFILES {
            let file = private.home().join(name);
            remove(&file)?;
            fs::write(&file, &text)?;
        }
        Ok(())
    }
}

/// Of sh and bash, and of zsh.
const LOGIN_PROFILES: [&str; 2] = [".profile", ".zprofile"];

/// Whatever is there: an agent may have put a file or a link in its place.
fn remove(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => remove_tree(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

fn create(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

fn policy_names(reach: &Reach, path: &Path) -> bool {
    reach.read.iter().any(|named| named == path)
}

/// Most of what a host lends are places on it, which an image does not have.
fn is_of_the_host(variable: &OsStr, named: &[String]) -> bool {
    const PLACELESS: [&str; 6] = ["USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TERM"];
    let Some(variable) = variable.to_str() else { return true };
    !(PLACELESS.contains(&variable)
        || variable.starts_with("LC_")
        || named.iter().any(|name| name == variable))
}

/// Variables that lead into the operator's home.
const OF_THE_HOME: [&str; 3] = ["HOME", "TMPDIR", "XDG_CACHE_HOME"];

/// Below a toolchain's home, and not for agents.
const SECRETS: [&str; 4] = ["credentials", "credentials.toml", ".netrc", "auth.json"];

/// `~/` is the operator's home.
pub fn expand(path: &str, surroundings: &Surroundings) -> PathBuf {
    match (path.strip_prefix("~/"), surroundings.var("HOME")) {
        (Some(below), Some(home)) => Path::new(home).join(below),
        (Some(_), None) | (None, _) => PathBuf::from(path),
    }
}

#[cfg(test)]
mod tests;
