//! What a program may reach, and how that is made true.
//!
//! At [`SandboxLevel::Namespaces`] the leader builds a root directory that has nothing but the reach, in namespaces
//! of its own; at [`SandboxLevel::Landlock`] the program stays in the host's tree and the kernel refuses the rest.
//! At both the program then gives up every privilege, confines itself with Landlock, and has system calls
//! filtered that could loosen any of it, before it becomes what was asked for.

mod attack;
mod cache;
mod closed;
mod landlock;
mod network;
mod privileges;
mod proof;
mod reach;
mod remedy;
mod root;
mod seccomp;
mod weaken;

use std::path::{Path, PathBuf};

use rustix::thread::UnshareFlags;
use serde::{Deserialize, Serialize};
use windlass_core::policy::{NetworkKind, NetworkPolicy, SandboxLevel};

use crate::container::Image;
use crate::program::{LayeredDir, ThrowawayTree, os_paths};
use crate::sys;
pub use attack::{act as act_as_attacker, act_as_neighbour};
pub use network::{hand_out_listener, handover, proxy_environment, take_listener};
pub use proof::{Attempted, SandboxProof};
pub use reach::{Alias, Reach};
pub use remedy::{missed_level, remedy};
pub use weaken::{SandboxDefence, Weakened};

/// Whether the processes of a program may trace one another, read and write one another's memory, and take one
/// another's descriptors, as far as the kernel lets processes of one user do so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Inspection {
    /// For whoever may need a debugger, and whose word decides nothing.
    Allowed,
    /// Where one process judges another: a check and what it tests, a reviewer and what it runs. Needs
    /// [`SandboxLevel::Landlock`] or [`SandboxLevel::Namespaces`]; elsewhere it is as if it were allowed.
    Refused,
}

/// Whether a program may make files that are nothing but memory and have no place (`memfd_create`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryFiles {
    Allowed,
    /// Where memory is limited and the kernel does not count it for us: such a file belongs to no process, and can
    /// be kept where nobody sees it. Programs are told that this kernel has none, and do without.
    Refused,
}

/// What a program may reach. Every spawn names one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    pub level: SandboxLevel,
    pub reach: Reach,
    /// At level landlock, the whole network or none.
    pub network: NetworkPolicy,
    pub inspection: Inspection,
    /// Needs namespaces of ours, so [`SandboxLevel::Landlock`] and [`SandboxLevel::Container`] cannot have one.
    pub tree: Option<ThrowawayTree>,
    /// At [`SandboxLevel::Namespaces`] only; nobody else has one.
    pub layers: Vec<LayeredDir>,
    /// What [`SandboxLevel::Container`] runs a program in; nothing else has one.
    pub image: Option<Image>,
    /// Directories that nobody else writes to, beside the one the program works in: what is in them counts
    /// with its workspace. At every level. One that is missing is empty.
    #[serde(with = "os_paths")]
    pub counted: Vec<PathBuf>,
}

impl Confinement {
    pub fn none() -> Confinement {
        Confinement {
            level: SandboxLevel::None,
            reach: Reach::default(),
            network: NetworkPolicy::default(),
            inspection: Inspection::Allowed,
            tree: None,
            layers: Vec::new(),
            image: None,
            counted: Vec::new(),
        }
    }

    /// Only the throwaway tree, if there is one.
    pub fn none_with(tree: Option<ThrowawayTree>) -> Confinement {
        Confinement { tree, ..Confinement::none() }
    }
}

/// A confinement that was found possible as far as that can be told beforehand.
pub struct Enclosure {
    network: NetworkPolicy,
    inspection: Inspection,
    resolved: reach::ResolvedReach,
    filters: Option<seccomp::SyscallFilter>,
    rules: Option<landlock::LandlockRules>,
    weakened: Weakened,
}

/// An enclosure that is about to be closed.
pub struct ReadyEnclosure {
    rules: Option<landlock::Ruleset>,
}

impl Enclosure {
    /// `None` at [`SandboxLevel::None`]. A program in a container is confined by whoever runs it there.
    pub fn prepare(
        confinement: &Confinement,
        memory_files: MemoryFiles,
        weakened: &Weakened,
    ) -> Result<Option<Enclosure>, String> {
        if matches!(confinement.level, SandboxLevel::None | SandboxLevel::Container) {
            return Ok(None);
        }
        refuse_impossible(confinement, weakened)?;
        let tree = confinement.tree.as_ref();
        let mut reach = confinement.reach.clone();
        reach.hide.extend(tree.into_iter().flat_map(|tree| tree.hide.clone()));
        reach.write.extend(confinement.layers.iter().map(|layer| layer.at.clone()));
        let mut resolved = match weakened.keeps(SandboxDefence::Files) {
            true => reach::ResolvedReach::of(&reach, tree.map(|tree| tree.at.as_path()))?,
            false => reach::ResolvedReach::whole_host(),
        };
        if let Some(shown_at) = tree.and_then(|tree| tree.shown_at.as_ref()) {
            resolved.show_tree_at(shown_at);
        }
        let network = match weakened.keeps(SandboxDefence::Network) {
            true => confinement.network.clone(),
            false => NetworkPolicy::default(),
        };
        let inspection = match weakened.keeps(SandboxDefence::Inspection) {
            true => confinement.inspection,
            false => Inspection::Allowed,
        };
        let level = confinement.level;
        let filters = match weakened.keeps(SandboxDefence::Seccomp) {
            true => Some(seccomp::SyscallFilter::new(level, network.meant(), inspection, memory_files)?),
            false => None,
        };
        let rules = match weakened.keeps(SandboxDefence::Landlock) && weakened.keeps(SandboxDefence::Files) {
            true if level == SandboxLevel::Landlock => {
                Some(landlock::LandlockRules::alone(&resolved, network.meant())?)
            }
            true => Some(landlock::LandlockRules::inside_root(&resolved, network.meant(), inspection)),
            false => None,
        };
        Ok(Some(Enclosure { network, inspection, resolved, filters, rules, weakened: weakened.clone() }))
    }

    /// By which path the program finds what is here on the host.
    pub fn seen_as(&self, path: &Path) -> PathBuf {
        self.resolved.seen_as(path)
    }

    /// What the program may reach through a proxy, if that is its network.
    pub fn hosts(&self) -> Option<&[String]> {
        network::hosts(&self.network)
    }

    /// Whether whoever stands over the program must keep its processes closed to one another.
    pub fn inspection(&self) -> Inspection {
        self.inspection
    }

    /// What the leader of [`SandboxLevel::Namespaces`] unshares, beside the user and the PID namespace.
    pub fn namespaces(&self) -> UnshareFlags {
        let mut flags = UnshareFlags::NEWNS | UnshareFlags::NEWIPC | UnshareFlags::NEWUTS;
        flags.set(UnshareFlags::NEWNET, self.network.meant() != NetworkKind::Open);
        flags
    }

    /// In the leader's fresh namespaces: the host's tree is left for good. `base` is any directory.
    /// The /proc in it is of the leader's own PID namespace, if it has one.
    pub fn enter_root(&self, base: &Path, own_processes: bool) -> Result<(), String> {
        rustix::system::sethostname(b"windlass")
            .map_err(|error| format!("cannot set a host name: {error}"))?;
        network::arrange(self.network.meant())?;
        let inspection = self.inspection;
        root::Root { resolved: &self.resolved, base, own_processes, inspection }.build_and_enter()
    }

    /// What can be done of [`Enclosure::close`] before the program is told to go. After [`Enclosure::enter_root`].
    pub fn ready(&self) -> Result<ReadyEnclosure, String> {
        Ok(ReadyEnclosure { rules: self.rules.as_ref().map(landlock::LandlockRules::create).transpose()? })
    }

    /// In the program's own process, just before it becomes the program.
    pub fn close(&self, ready: ReadyEnclosure) -> Result<(), String> {
        match self.weakened.keeps(SandboxDefence::Capabilities) {
            true => privileges::give_up()?,
            false => privileges::no_new()?,
        }
        if let Some(rules) = ready.rules {
            rules.apply()?;
        }
        self.filters.as_ref().map_or(Ok(()), seccomp::SyscallFilter::apply)
    }
}

/// Landlock has no right for the modes, the owners and the access lists of files.
const REFUSED_AS_ROOT: &str = "it is refused as root: a program could change the modes of every file of the machine, and \
                               leave a set-uid program of root's behind";

fn refuse_impossible(confinement: &Confinement, weakened: &Weakened) -> Result<(), String> {
    if confinement.level != SandboxLevel::Landlock {
        return Ok(());
    }
    landlock::check_version(sys::landlock_version())
        .map_err(|why| format!("no confinement at level landlock: {why}"))?;
    if rustix::process::geteuid().is_root() && weakened.keeps(SandboxDefence::OrdinaryUser) {
        return Err(format!("no confinement at level landlock: {REFUSED_AS_ROOT}"));
    }
    if confinement.tree.is_some() {
        return Err("a throwaway tree needs level namespaces, and landlock was asked for".to_owned());
    }
    let named = match confinement.network.meant() {
        NetworkKind::Open | NetworkKind::None => return Ok(()),
        NetworkKind::Loopback => "loopback",
        NetworkKind::Allow => "allow",
    };
    Err(format!(
        "network {named} needs level namespaces, and landlock was asked for: it can give a program the whole \
         network or none"
    ))
}
