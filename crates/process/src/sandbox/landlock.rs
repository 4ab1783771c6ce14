//! Landlock: what may be done below which path, kept by the kernel for a process and all its descendants.
//!
//! A rule grants a right on a path and on everything below it, and nothing takes it back. So a directory with
//! something hidden in it gets no rule; its other children get one each.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use ::landlock::{ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, RulesetAttr, Scope};
use rustix::fs::{CWD, Mode, OFlags, openat};
use windlass_core::policy::NetworkKind;

use crate::sandbox::Inspection;
use crate::sandbox::reach::{ReachEntry, ReachRule, ResolvedReach};
use crate::sys;

/// The rights this crate knows; a kernel that knows fewer is asked for those.
const KNOWN: ABI = ABI::V6;

/// Linux 6.12. Before 6.2 a file that may not be written could be truncated, before 6.7 TCP was open, and
/// before 6.12 a program could signal whomever its user may.
pub const LEAST_VERSION: i32 = 6;

/// Children that get a rule of their own because something beside them is hidden.
const MOST_EXPANDED: usize = 10_000;

#[derive(Debug, PartialEq, Eq)]
pub struct LandlockRules {
    grants: Vec<Granted>,
    tcp: Tcp,
    need: Need,
}

/// Rules that the kernel knows, and that hold for nobody before they are applied. `None` where it knows none
/// and none are needed.
pub struct Ruleset(Option<OwnedFd>);

#[derive(Debug, PartialEq, Eq)]
struct Granted {
    path: PathBuf,
    grant: Grant,
    is_dir: bool,
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

impl Need {
    /// What is refused where no rule grants it. The kernel looks for a rule at every directory above a file that is
    /// opened, unless nothing could refuse it: where all that is seen may be read, reading is not handled, nor
    /// emptying, which it would look for at every opening. That costs a gate a tenth of its time.
    fn handled(self) -> BitFlags<AccessFs> {
        match self {
            Need::Everything => AccessFs::from_all(KNOWN),
            Need::WhatThereIs => AccessFs::from_write(KNOWN) & !AccessFs::Truncate,
        }
    }
}

impl LandlockRules {
    /// For a program that sees the host's own tree.
    pub fn alone(resolved: &ResolvedReach, network: NetworkKind) -> Result<LandlockRules, String> {
        let device = |name| Granted { path: Path::new("/dev").join(name), grant: Grant::Use, is_dir: false };
        let mut grants: Vec<Granted> = ["null", "zero", "full", "random", "urandom"].map(device).into();
        // What is of others in there is kept by the kernel's rule for tracing, and nothing in it may be written.
        for dir in ["/proc", "/sys/devices/system/cpu"] {
            grants.push(Granted { path: dir.into(), grant: Grant::Read, is_dir: true });
        }
        for place in &resolved.places {
            match place.rule {
                ReachRule::Read => expand(resolved, place, &mut grants)?,
                ReachRule::Write => {
                    refuse_exceptions(resolved, place)?;
                    grants.push(Granted::to_write(place));
                }
                ReachRule::Hide | ReachRule::Tree => {}
            }
        }
        let tcp = if network == NetworkKind::None { Tcp::Refused } else { Tcp::Free };
        Ok(LandlockRules { grants, tcp, need: Need::Everything })
    }

    /// For a program in a root of its own, where whatever is seen may be read.
    pub fn inside_root(
        resolved: &ResolvedReach,
        network: NetworkKind,
        inspection: Inspection,
    ) -> LandlockRules {
        let proc = (inspection == Inspection::Allowed).then_some("/proc");
        let own = ["/tmp", "/var/tmp", "/dev"].into_iter().chain(proc);
        let own = own.map(|dir| Granted { path: dir.into(), grant: Grant::Write, is_dir: true });
        let written =
            resolved.places.iter().filter(|place| matches!(place.rule, ReachRule::Write | ReachRule::Tree));
        let seen = |place: &ReachEntry| match place.rule {
            ReachRule::Tree => ReachEntry { path: resolved.seen_as(&place.path), ..place.clone() },
            ReachRule::Read | ReachRule::Write | ReachRule::Hide => place.clone(),
        };
        let grants = written.map(|place| Granted::to_write(&seen(place))).chain(own).collect();
        let tcp = if network == NetworkKind::None { Tcp::Refused } else { Tcp::Free };
        LandlockRules { grants, tcp, need: Need::WhatThereIs }
    }

    pub fn create(&self) -> Result<Ruleset, String> {
        if self.need == Need::Everything {
            check_version(sys::landlock_version())?;
        }
        let mut ruleset = ::landlock::Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(self.need.handled())
            .and_then(|ruleset| ruleset.scope(Scope::from_all(KNOWN)))
            .map_err(|error| failed(&error))?;
        if self.tcp == Tcp::Refused {
            ruleset = ruleset.handle_access(AccessNet::from_all(KNOWN)).map_err(|error| failed(&error))?;
        }
        let created: Option<OwnedFd> = ruleset.create().map_err(|error| failed(&error))?.into();
        match (self.need, created) {
            (Need::Everything, None) => Err(failed(&"the kernel made no ruleset")),
            (Need::WhatThereIs, None) => Ok(Ruleset(None)),
            (Need::Everything | Need::WhatThereIs, Some(ruleset)) => {
                self.add_to(&ruleset)?;
                Ok(Ruleset(Some(ruleset)))
            }
        }
    }

    fn add_to(&self, ruleset: &OwnedFd) -> Result<(), String> {
        let known = self.need.handled() & AccessFs::from_all(ABI::from(sys::landlock_version()));
        self.grants.iter().try_for_each(|granted| {
            add_rule(ruleset, &granted.path, granted.rights() & known)
                .map_err(|error| failed(&format!("{}: {error}", granted.path.display())))
        })
    }
}

fn add_rule(ruleset: &OwnedFd, path: &Path, rights: BitFlags<AccessFs>) -> io::Result<()> {
    // What has gone meanwhile, or may not even be looked up, needs no rule.
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let Ok(opened) = openat(CWD, path, flags, Mode::empty()) else { return Ok(()) };
    let add =
        |rights: BitFlags<AccessFs>| sys::landlock_add_rule(ruleset.as_fd(), rights.bits(), opened.as_fd());
    match add(rights) {
        // It was a directory a moment ago.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            let rights = rights & AccessFs::from_file(KNOWN);
            if rights.is_empty() { Ok(()) } else { add(rights) }
        }
        added => added,
    }
}

impl Ruleset {
    /// For this process and all that come from it, for ever. It has given up new privileges already.
    pub fn apply(self) -> Result<(), String> {
        let Some(ruleset) = self.0 else { return Ok(()) };
        sys::landlock_restrict_self(ruleset.as_fd()).map_err(|error| failed(&error))
    }
}

fn failed(error: &dyn std::fmt::Display) -> String {
    format!("cannot confine with Landlock: {error}")
}

impl Granted {
    fn to_write(place: &ReachEntry) -> Granted {
        Granted { path: place.path.clone(), grant: Grant::Write, is_dir: place.is_dir }
    }

    /// Without those that only a directory has, for what is none.
    fn rights(&self) -> BitFlags<AccessFs> {
        let rights = self.grant.rights();
        if self.is_dir { rights } else { rights & AccessFs::from_file(KNOWN) }
    }
}

impl Grant {
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

fn refuse_exceptions(resolved: &ResolvedReach, place: &ReachEntry) -> Result<(), String> {
    match resolved.below(&place.path).find(|inner| inner.rule != ReachRule::Write) {
        None => Ok(()),
        Some(inner) => Err(format!(
            "cannot keep {} from being {}: it lies in {}, which is writable, and Landlock takes no right back (level \
             namespaces can)",
            inner.path.display(),
            if inner.rule == ReachRule::Hide { "read" } else { "written" },
            place.path.display()
        )),
    }
}

/// Grants reading `place`, without what is hidden in it.
fn expand(resolved: &ResolvedReach, place: &ReachEntry, grants: &mut Vec<Granted>) -> Result<(), String> {
    let hidden: Vec<&ReachEntry> =
        resolved.below(&place.path).filter(|inner| inner.rule == ReachRule::Hide).collect();
    let before = grants.len();
    let mut pending = vec![(place.path.clone(), place.is_dir)];
    while let Some((path, is_dir)) = pending.pop() {
        let inside: Vec<&&ReachEntry> = hidden.iter().filter(|inner| inner.path.starts_with(&path)).collect();
        if inside.is_empty() {
            grants.push(Granted { path, grant: Grant::Read, is_dir });
            continue;
        }
        if inside.iter().any(|inner| inner.path == path) {
            continue;
        }
        // The right to list a directory would list the hidden ones below it too.
        if inside.iter().all(|inner| !inner.is_dir) {
            grants.push(Granted { path: path.clone(), grant: Grant::List, is_dir });
        }
        let below = |inner: &&&ReachEntry| {
            let rest = inner.path.strip_prefix(&path).ok()?;
            rest.components().next().map(|first| first.as_os_str().to_owned())
        };
        let ways: BTreeSet<OsString> = inside.iter().filter_map(below).collect();
        for entry in std::fs::read_dir(&path).into_iter().flatten().flatten() {
            // A link needs no right, and a rule would go to what it points at.
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_symlink() {
                continue;
            }
            let (path, is_dir) = (entry.path(), kind.is_dir());
            if ways.contains(&entry.file_name()) {
                pending.push((path, is_dir));
            } else {
                grants.push(Granted { path, grant: Grant::Read, is_dir });
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
    fn inside_a_root_only_changes_are_looked_at() {
        let inside = Need::WhatThereIs.handled();
        let reading = AccessFs::Execute | AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::Truncate;
        assert!(!inside.intersects(reading) && inside.contains(AccessFs::WriteFile), "{inside:?}");
        assert_eq!(Need::Everything.handled(), AccessFs::from_all(KNOWN));
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
