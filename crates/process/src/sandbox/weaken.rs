//! Single defences switched off, so that an attack can be seen to succeed without the one that should stop it.
//!
//! Exists only with the feature `weaken`, which no shipped binary has. Without it every answer is a constant.

use std::ffi::OsString;
use std::process::Command;

use serde::{Deserialize, Serialize};

/// One defence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum SandboxDefence {
    /// A root of its own; what may be read or written.
    Files,
    Network,
    /// A PID namespace; the killing of strays.
    Processes,
    Seccomp,
    Landlock,
    /// The program gets none of the supervisor's variables.
    Environment,
    Descriptors,
    Capabilities,
    /// Its processes cannot look into one another.
    Inspection,
    /// Level landlock is refused as root.
    OrdinaryUser,
    /// A warden that somebody stopped is told to go on.
    GoingOn,
    /// What an attempt may take of the account's file watches.
    FileWatches,
    /// In a tunnel a request is looked for behind bytes that are none.
    LaterRequests,
}

/// Travels with a request from the supervisor to the warden.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Weakened {
    #[cfg(feature = "weaken")]
    off: Vec<SandboxDefence>,
}

#[cfg(not(feature = "weaken"))]
impl Weakened {
    pub fn from_environment() -> Weakened {
        Weakened {}
    }

    pub fn for_a_proof() -> Weakened {
        Weakened {}
    }

    pub fn keeps(&self, _: SandboxDefence) -> bool {
        true
    }

    pub fn tell_early(&self, _: &mut Command) {}

    pub fn leaked_environment(&self) -> Vec<(OsString, OsString)> {
        Vec::new()
    }
}

#[cfg(feature = "weaken")]
const VARIABLE: &str = "WINDLASS_WEAKEN";

#[cfg(feature = "weaken")]
impl Weakened {
    /// A list with commas. A word that is not known weakens nothing.
    pub fn from_environment() -> Weakened {
        let text = std::env::var(VARIABLE).unwrap_or_default();
        let off = text.split(',').filter_map(|word| match word.trim() {
            "fs" => Some(SandboxDefence::Files),
            "net" => Some(SandboxDefence::Network),
            "pid" => Some(SandboxDefence::Processes),
            "seccomp" => Some(SandboxDefence::Seccomp),
            "landlock" => Some(SandboxDefence::Landlock),
            "env" => Some(SandboxDefence::Environment),
            "fds" => Some(SandboxDefence::Descriptors),
            "caps" => Some(SandboxDefence::Capabilities),
            "root" => Some(SandboxDefence::OrdinaryUser),
            "apart" => Some(SandboxDefence::Inspection),
            "stopped" => Some(SandboxDefence::GoingOn),
            "watches" => Some(SandboxDefence::FileWatches),
            "requests" => Some(SandboxDefence::LaterRequests),
            _ => None,
        });
        Weakened { off: off.collect() }
    }

    /// Every defence that a proof tries; who may use the level at all is none of them.
    pub fn for_a_proof() -> Weakened {
        let mut weakened = Self::from_environment();
        weakened.off.retain(|off| *off == SandboxDefence::OrdinaryUser);
        weakened
    }

    pub fn keeps(&self, defence: SandboxDefence) -> bool {
        !self.off.contains(&defence)
    }

    /// What the program is given of the supervisor's own variables.
    pub fn leaked_environment(&self) -> Vec<(OsString, OsString)> {
        if self.keeps(SandboxDefence::Environment) { Vec::new() } else { std::env::vars_os().collect() }
    }

    /// A warden closes descriptors before it reads its request.
    pub fn tell_early(&self, warden: &mut Command) {
        if !self.off.is_empty() {
            warden.env(VARIABLE, std::env::var_os(VARIABLE).unwrap_or_default());
        }
    }
}
