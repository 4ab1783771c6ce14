//! Landlock: what may be done below which path, kept by the kernel for a process and all its descendants.
//!
//! A rule grants a right on a path and on everything below it, and nothing takes it back. So a directory with
//! something hidden in it gets no rule; its other children get one each.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use ::landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};

use crate::sandbox::Network;
use crate::sandbox::reach::{Place, Plan, Rule};
use crate::sys;

/// The rights this crate knows; a kernel that knows fewer is asked for those.
const KNOWN: ABI = ABI::V6;

/// Linux 6.12. Before 6.2 a file that may not be written could be truncated, before 6.7 TCP was open, and
/// before 6.12 a program could signal whomever its user may.
pub const LEAST_VERSION: i32 = 6;

/// Children that get a rule of their own because something beside them is hidden.
const MOST_EXPANDED: usize = 10_000;

#[derive(Debug, PartialEq, Eq)]
pub struct Rules {
    grants: Vec<(PathBuf, Grant)>,
    tcp: Tcp,
    need: Need,
}

/// Rules that the kernel knows, and that hold for nobody before they are applied.
pub struct Ready {
    created: RulesetCreated,
    need: Need,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Grant {
    /// The names in a directory.
    List,
    Read,
    /// A device like /dev/null: neither made nor removed.
    Use,
    Write,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tcp {
    Free,
    Refused,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Need {
    /// Landlock is all there is.
    Everything,
    /// The same is already so by the mounts a program sees.
    WhatThereIs,
}

impl Rules {
    /// For a program that sees the host's own tree.
    pub fn alone(plan: &Plan, network: &Network) -> Result<Rules, String> {
        let mut grants: Vec<(PathBuf, Grant)> = ["null", "zero", "full", "random", "urandom"]
            .map(|name| (Path::new("/dev").join(name), Grant::Use))
            .into();
        // Other processes' secrets in there are kept by the kernel's rule for tracing.
        grants.push(("/proc".into(), Grant::Read));
        grants.push(("/sys/devices/system/cpu".into(), Grant::Read));
        for place in &plan.places {
            match place.rule {
                Rule::Read => expand(plan, place, &mut grants)?,
                Rule::Write => {
                    refuse_exceptions(plan, place)?;
                    grants.push((place.path.clone(), Grant::Write));
                }
                Rule::Hide | Rule::Tree => {}
            }
        }
        let tcp = if *network == Network::None { Tcp::Refused } else { Tcp::Free };
        Ok(Rules { grants, tcp, need: Need::Everything })
    }

    /// For a program in a root of its own, where whatever is seen may be read.
    pub fn inside_root(plan: &Plan, network: &Network) -> Rules {
        let own = ["/tmp", "/var/tmp", "/dev", "/proc"].map(PathBuf::from);
        let written = plan.places.iter().filter(|place| matches!(place.rule, Rule::Write | Rule::Tree));
        let written = written.map(|place| place.path.clone()).chain(own).map(|path| (path, Grant::Write));
        let grants = [(PathBuf::from("/"), Grant::Read)].into_iter().chain(written).collect();
        let tcp = if *network == Network::None { Tcp::Refused } else { Tcp::Free };
        Rules { grants, tcp, need: Need::WhatThereIs }
    }

    /// All of it but the last step, which may be taken by a child. Each rule costs a few microseconds.
    pub fn ready(&self) -> Result<Ready, String> {
        if self.need == Need::Everything {
            check_version(sys::landlock_version())?;
        }
        let mut ruleset = Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(KNOWN))
            .and_then(|ruleset| ruleset.scope(Scope::from_all(KNOWN)))
            .map_err(|error| failed(&error))?;
        if self.tcp == Tcp::Refused {
            ruleset = ruleset.handle_access(AccessNet::from_all(KNOWN)).map_err(|error| failed(&error))?;
        }
        let mut created = ruleset.create().map_err(|error| failed(&error))?;
        for (path, grant) in &self.grants {
            // What has gone meanwhile, or may not even be looked up, needs no rule.
            let Ok(opened) = PathFd::new(path) else { continue };
            created = created
                .add_rule(PathBeneath::new(opened, grant.rights()))
                .map_err(|error| failed(&format!("{}: {error}", path.display())))?;
        }
        Ok(Ready { created, need: self.need })
    }
}

impl Ready {
    /// For this process and all that come from it, for ever.
    pub fn apply(self) -> Result<(), String> {
        let status = self.created.restrict_self().map_err(|error| failed(&error))?;
        match (self.need, status.ruleset) {
            (Need::Everything, RulesetStatus::NotEnforced) => Err(failed(&"the kernel did not enforce it")),
            (Need::Everything | Need::WhatThereIs, _) => Ok(()),
        }
    }
}

fn failed(error: &dyn std::fmt::Display) -> String {
    format!("cannot confine with Landlock: {error}")
}

impl Grant {
    /// Those that only a directory has are left out by the crate where there is none.
    fn rights(self) -> BitFlags<AccessFs> {
        let reading = AccessFs::Execute | AccessFs::ReadFile | AccessFs::ReadDir;
        let devices = AccessFs::MakeBlock | AccessFs::MakeChar;
        match self {
            Grant::List => AccessFs::ReadDir.into(),
            Grant::Read => reading,
            Grant::Use => AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev,
            Grant::Write => AccessFs::from_all(KNOWN) & !devices,
        }
    }
}

/// The version is negative where there is no Landlock: then it is the error.
pub fn check_version(version: i32) -> Result<(), String> {
    match version {
        LEAST_VERSION.. => Ok(()),
        1.. => Err(format!(
            "Landlock is of version {version} in this kernel and cannot keep a program from {}; version {LEAST_VERSION} \
             (Linux 6.12) is the first that can",
            unstopped(version)
        )),
        _ if version == -libc::EOPNOTSUPP => {
            Err("Landlock is in this kernel, but was not switched on when it started".to_owned())
        }
        _ => Err(format!(
            "there is no Landlock: its system call gives {}",
            std::io::Error::from_raw_os_error(version.saturating_neg())
        )),
    }
}

/// What a version that is too old lets through. The first also refuses to move files between directories,
/// which is no hole.
fn unstopped(version: i32) -> String {
    let since = [
        (3, "emptying files it may not write"),
        (4, "using TCP"),
        (5, "driving devices"),
        (6, "signalling others and reaching abstract Unix sockets"),
    ];
    let holes: Vec<&str> =
        since.into_iter().filter(|(first, _)| version < *first).map(|(_, hole)| hole).collect();
    holes.join(", ")
}

fn refuse_exceptions(plan: &Plan, place: &Place) -> Result<(), String> {
    match plan.below(&place.path).find(|inner| inner.rule != Rule::Write) {
        None => Ok(()),
        Some(inner) => Err(format!(
            "cannot keep {} from being {}: it lies in {}, which is writable, and Landlock takes no right back (level \
             namespaces can)",
            inner.path.display(),
            if inner.rule == Rule::Hide { "read" } else { "written" },
            place.path.display()
        )),
    }
}

/// Grants reading `place`, without what is hidden in it.
fn expand(plan: &Plan, place: &Place, grants: &mut Vec<(PathBuf, Grant)>) -> Result<(), String> {
    let hidden: Vec<&Place> = plan.below(&place.path).filter(|inner| inner.rule == Rule::Hide).collect();
    let before = grants.len();
    let mut pending = vec![place.path.clone()];
    while let Some(path) = pending.pop() {
        let inside: Vec<&&Place> = hidden.iter().filter(|inner| inner.path.starts_with(&path)).collect();
        if inside.is_empty() {
            grants.push((path, Grant::Read));
            continue;
        }
        if inside.iter().any(|inner| inner.path == path) {
            continue;
        }
        // The right to list a directory would list the hidden ones below it too.
        if inside.iter().all(|inner| !inner.is_dir) {
            grants.push((path.clone(), Grant::List));
        }
        let below = |inner: &&&Place| {
            let rest = inner.path.strip_prefix(&path).ok()?;
            rest.components().next().map(|first| first.as_os_str().to_owned())
        };
        let ways: BTreeSet<OsString> = inside.iter().filter_map(below).collect();
        for entry in std::fs::read_dir(&path).into_iter().flatten().flatten() {
            // A link needs no right, and a rule would go to what it points at.
            if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
                continue;
            }
            if ways.contains(&entry.file_name()) {
                pending.push(entry.path());
            } else {
                grants.push((entry.path(), Grant::Read));
            }
        }
        if pending.len() + grants.len() - before > MOST_EXPANDED {
            return Err(format!(
                "cannot hide what is in {} with Landlock: there are more than {MOST_EXPANDED} names beside it (level \
                 namespaces can)",
                place.path.display()
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_that_is_too_old_says_what_it_lets_through() {
        let first = "Landlock is of version 1 in this kernel and cannot keep a program from emptying files it may not \
                     write, using TCP, driving devices, signalling others and reaching abstract Unix sockets; version 6 \
                     (Linux 6.12) is the first that can";
        assert_eq!(check_version(1), Err(first.to_owned()));
        let said = |version| check_version(version).unwrap_err();
        assert_eq!(said(2), first.replace("version 1", "version 2"));
        assert!(said(3).contains("cannot keep a program from using TCP, driving devices, signalling others"));
        assert!(said(4).contains("cannot keep a program from driving devices, signalling others"));
        assert!(said(5).contains("cannot keep a program from signalling others and reaching abstract"));
        assert_eq!((check_version(LEAST_VERSION), check_version(99)), (Ok(()), Ok(())));
    }

    #[test]
    fn no_landlock_says_what_the_kernel_said() {
        let said = |version| check_version(version).unwrap_err();
        assert!(said(-libc::EOPNOTSUPP).contains("was not switched on"));
        let absent = said(-libc::ENOSYS);
        assert_eq!(
            absent,
            "there is no Landlock: its system call gives Function not implemented (os error 38)"
        );
        assert!(said(-libc::EPERM).ends_with("Operation not permitted (os error 1)"));
    }
}
