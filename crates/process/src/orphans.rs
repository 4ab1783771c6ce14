//! What a warden that was killed leaves at a level without a PID namespace: processes that nobody stands over, and that
//! carry nothing by which they could be found.
//!
//! The supervisor is a subreaper, so they become its children. Everything else that it starts is not confined;
//! a child with more system call filters over it than the supervisor has is such an orphan.

use std::collections::BTreeSet;
use std::io;
use std::time::Instant;

use rustix::process::{Pid, WaitOptions, getpid, set_child_subreaper, waitpid};

use crate::procfs::{self, ProcessId};
use crate::sandbox::{SandboxDefence, Weakened};
use crate::sweep::sweep;

/// Before a program is started that may leave orphans.
pub fn adopt() {
    if Weakened::from_environment().keeps(SandboxDefence::Processes) {
        // Refused by no kernel that has Landlock; without it orphans are the machine's, as before.
        set_child_subreaper(Some(getpid())).ok();
    }
}

/// Kills every orphan and all that descends from it, and returns those that live on.
pub fn end_orphans(deadline: Instant) -> io::Result<Vec<ProcessId>> {
    if !Weakened::from_environment().keeps(SandboxDefence::Processes) {
        return Ok(Vec::new());
    }
    let this = getpid().as_raw_pid();
    let Some(own) = filters(this) else { return Ok(Vec::new()) };
    let swept = sweep(deadline, || {
        let mut found = BTreeSet::new();
        for child in procfs::descendants(this)?.into_iter().filter(|stat| stat.parent == this) {
            if child.is_living() && filters(child.id.pid).is_some_and(|count| count > own) {
                found.insert(child.id);
                found.extend(procfs::living_descendants(child.id.pid)?);
            }
        }
        Ok(found.into_iter().collect())
    })?;
    for killed in &swept.killed {
        // Of those that were a child's child when they died, some have become ours.
        waitpid(Pid::from_raw(killed.pid), WaitOptions::NOHANG).ok();
    }
    Ok(swept.alive)
}

fn filters(pid: i32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("Seccomp_filters:"))?.trim().parse().ok()
}
