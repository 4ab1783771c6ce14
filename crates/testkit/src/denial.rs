//! Machines that lack something, played on one that has it: a program is
//! started under a system call filter that answers as such a kernel would.

use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt as _, lchown};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use seccompiler::SeccompCmpArgLen::Dword;
use seccompiler::SeccompCmpOp::MaskedEq;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
    apply_filter,
};

use crate::capability;

/// Somebody without any privilege, on every machine.
pub const NOBODY: u32 = 65534;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denied {
    /// No process makes one, of whatever kind; as in a container with the usual filter.
    Namespaces,
    /// As in a kernel that was built without it.
    Landlock,
}

/// Calls `start` where whatever it starts is denied these, for ever. The caller itself is not.
///
/// # Panics
/// Where filters cannot be had at all.
pub fn under<T: Send>(denied: &[Denied], start: impl FnOnce() -> T + Send) -> T {
    let filters: Vec<BpfProgram> = denied
        .iter()
        .flat_map(|denied| denied.filters().expect("the filters are of a known architecture"))
        .collect();
    // A filter is of the thread that takes it, and of all that comes from it.
    std::thread::scope(|threads| {
        let thread = threads.spawn(move || {
            for filter in &filters {
                apply_filter(filter).expect("a kernel with seccomp");
            }
            start()
        });
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

impl Denied {
    fn filters(self) -> Result<Vec<BpfProgram>, BackendError> {
        match self {
            Self::Namespaces => Ok(vec![
                answer(
                    libc::EPERM,
                    [(libc::SYS_unshare, any_namespace()?), (libc::SYS_clone, any_namespace()?)],
                )?,
                // Its flags lie in memory, where no filter looks; whoever is told that it is missing
                // takes `clone`.
                answer(libc::ENOSYS, [(libc::SYS_clone3, Vec::new())])?,
            ]),
            Self::Landlock => {
                Ok(vec![answer(libc::ENOSYS, [(libc::SYS_landlock_create_ruleset, Vec::new())])?])
            }
        }
    }
}

fn answer<const N: usize>(
    errno: i32,
    calls: [(i64, Vec<SeccompRule>); N],
) -> Result<BpfProgram, BackendError> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let refusal = SeccompAction::Errno(errno.unsigned_abs());
    SeccompFilter::new(BTreeMap::from(calls), SeccompAction::Allow, refusal, arch)?.try_into()
}

fn any_namespace() -> Result<Vec<SeccompRule>, BackendError> {
    let flags = [
        libc::CLONE_NEWNS,
        libc::CLONE_NEWCGROUP,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
    ];
    let rule = |flag: i32| {
        let flag = u64::from(flag.unsigned_abs());
        SeccompRule::new(vec![SeccompCondition::new(0, Dword, MaskedEq(flag), flag)?])
    };
    flags.into_iter().map(rule).collect()
}

/// Whether this process can start others as [`NOBODY`]; said where it cannot.
pub fn can_be_nobody() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        capability::not_run("only root can become another ordinary user (these ran as this one)");
    }
    root
}

/// Starts as [`NOBODY`], without any group of this user's.
pub fn as_nobody(command: &mut Command) -> &mut Command {
    command.uid(NOBODY).gid(NOBODY)
}

/// A directory and all in it become [`NOBODY`]'s, and can be reached.
///
/// # Panics
/// Where that is not possible: only root may give files away.
pub fn give_to_nobody(dir: &Path) {
    let given = |path: &Path| {
        lchown(path, Some(NOBODY), Some(NOBODY))
            .unwrap_or_else(|error| panic!("chown {}: {error}", path.display()));
    };
    let mut pending = vec![dir.to_owned()];
    while let Some(dir) = pending.pop() {
        given(&dir);
        let entries = std::fs::read_dir(&dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
        for entry in entries.flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => pending.push(entry.path()),
                Ok(_) | Err(_) => given(&entry.path()),
            }
        }
    }
    std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o755)).expect("it is root's to say");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(command: &mut Command) -> (bool, String) {
        let output = command.output().expect("sh starts");
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    }

    #[test]
    fn what_is_started_is_denied_and_the_caller_is_not() {
        let Some(unshare) = capability::program("unshare") else { return };
        let make = || told(Command::new(&unshare).args(["--user", "true"]));
        let before = make();
        let (made, said) = under(&[Denied::Namespaces], make);
        assert!(!made && said.contains("Operation not permitted"), "{said}");
        assert_eq!(make(), before, "this thread is as it was");
    }

    #[test]
    fn a_program_that_needs_neither_does_not_notice() {
        let ran = under(&[Denied::Namespaces, Denied::Landlock], || {
            told(Command::new("sh").args(["-c", "true & wait"]))
        });
        assert_eq!(ran, (true, String::new()));
    }
}
