//! Limits of single processes, set by a program's process on itself before it becomes the program, and
//! inherited by all that follow.

use rustix::process::{Resource, Rlimit, geteuid, getrlimit, setrlimit};
use windlass_core::policy::ResourcePolicy;

use crate::finished::Containment;

/// What a cgroup limits already, and better.
#[derive(Clone, Copy)]
pub struct Covered {
    pub memory: bool,
    pub processes: bool,
}

/// The warden and the namespace's init are no processes of the program, but are counted with them.
const OURS: u64 = 2;
/// The warden ends a tree that is over its limit, and says so. The kernel's bound lies above: it is there for
/// what happens between two looks, nobody hears of it, and other processes of the user move it.
const MARGIN: u64 = 256;
/// The same for memory: how many times the limit one process may ask for. Runtimes ask for far more than they
/// use, and an allocation that is refused has no name.
const ASKED: u64 = 4;

/// The most one process may ask for, where the warden counts what is used.
pub fn most_asked(memory: u64) -> u64 {
    memory.saturating_mul(ASKED)
}

#[derive(Debug)]
pub struct Rlimits(Vec<(Resource, u64)>);

impl Rlimits {
    /// To be called by the warden before its leader is there: some of it depends on who is alive.
    pub fn new(resources: &ResourcePolicy, covered: Covered, containment: Containment) -> Rlimits {
        let mut limits = vec![(Resource::Core, 0)];
        let mut limit = |resource, most: u64, wanted: bool| {
            if most > 0 && wanted {
                limits.push((resource, most));
            }
        };
        // Not the address space: what is only reserved costs nothing.
        limit(Resource::Data, most_asked(resources.memory_bytes), !covered.memory);
        limit(Resource::Nofile, resources.open_files, true);
        limit(Resource::Fsize, resources.file_bytes, true);
        if resources.processes > 0 && !covered.processes {
            let others = match containment {
                Containment::PidNamespace if counts_for_itself() => OURS,
                Containment::PidNamespace => tasks_of_user() + 1,
                Containment::Subreaper => tasks_of_user(),
            };
            let most = resources.processes.saturating_add(MARGIN);
            limits.push((Resource::Nproc, others.saturating_add(most)));
        }
        Rlimits(limits)
    }

    /// Never raises a limit: the operator may have been stricter.
    pub fn apply(&self) -> Result<(), String> {
        self.0.iter().try_for_each(|&(resource, most)| {
            let bound = getrlimit(resource).maximum.map_or(most, |maximum| maximum.min(most));
            setrlimit(resource, Rlimit { current: Some(bound), maximum: Some(bound) })
                .map_err(|error| format!("cannot limit {resource:?} of the program to {bound}: {error}"))
        })
    }
}

/// An ordinary user's PID namespace comes with a user namespace, whose processes Linux counts apart from
/// 5.14 on.
fn counts_for_itself() -> bool {
    !geteuid().is_root() && kernel_is_at_least(5, 14)
}

fn kernel_is_at_least(major: u32, minor: u32) -> bool {
    let name = rustix::system::uname();
    let release = name.release().to_string_lossy();
    let mut numbers = release.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (major, minor)
}

/// How many threads this user has, as far as /proc shows them.
fn tasks_of_user() -> u64 {
    let user = rustix::process::getuid().as_raw().to_string();
    let tasks = |status: String| -> Option<u64> {
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next().map(str::to_owned)
        };
        if field("Uid:")? == user { field("Threads:")?.parse().ok() } else { None }
    };
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| std::fs::read_to_string(entry.path().join("status")).ok())
        .filter_map(tasks)
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threads_of_this_user_are_counted() {
        let count = tasks_of_user();
        assert!((1..1_000_000).contains(&count), "{count}");
        assert!(kernel_is_at_least(2, 6) && !kernel_is_at_least(1000, 0));
    }
}
