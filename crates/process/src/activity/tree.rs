//! What a tree of processes has used, from /proc.

use std::time::Duration;

use rustix::process::Pid;

use crate::finished::Containment;
use crate::procfs::{self, Stat};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TreeUsage {
    pub cpu: Duration,
    pub written: u64,
}

/// Of every process of the tree, the dead among them: what they used is counted with whoever waited for
/// them. In a namespace that is at last the init, elsewhere this very process, whose own work is left out.
pub fn usage(leader: Pid, containment: Containment) -> TreeUsage {
    let this = std::process::id() as i32;
    let (root, above) = match containment {
        Containment::PidNamespace => (leader.as_raw_pid(), procfs::stat(leader.as_raw_pid())),
        Containment::Subreaper => (this, None),
    };
    let orphans = match containment {
        Containment::PidNamespace => 0,
        Containment::Subreaper => procfs::stat(this).map_or(0, |stat| stat.reaped_ticks),
    };
    // Parents first: one that reaps a child meanwhile makes the sum too small for once, never too large.
    let below = procfs::descendants(root).unwrap_or_default();
    let tree: Vec<Stat> = above.into_iter().chain(below).collect();
    let ticks: u64 = tree.iter().map(|stat| stat.own_ticks + stat.reaped_ticks).sum();
    TreeUsage {
        cpu: from_ticks(ticks + orphans),
        written: tree.iter().filter_map(|stat| written(stat.id.pid)).sum(),
    }
}

fn from_ticks(ticks: u64) -> Duration {
    let per_second = rustix::param::clock_ticks_per_second().max(1);
    Duration::from_micros(ticks.saturating_mul(1_000_000) / per_second)
}

/// What the process and the children it waited for gave to storage. Of one that we may not look into, such
/// as a set-uid program, nothing is known.
fn written(pid: i32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
    text.lines().find_map(|line| line.strip_prefix("write_bytes:"))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_very_process_has_used_something() {
        let me = Pid::from_raw(std::process::id() as i32).unwrap();
        let before = usage(me, Containment::PidNamespace).cpu;
        let more = || {
            (0..100_000u64).fold(0, |sum, n| std::hint::black_box(sum ^ n));
            usage(me, Containment::PidNamespace).cpu > before
        };
        assert!(windlass_testkit::poll::until(Duration::from_secs(20), more));
        assert!(written(me.as_raw_pid()).is_some());
    }
}
