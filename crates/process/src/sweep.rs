//! Kills a set of processes that may be forking while it is killed.

use std::collections::BTreeSet;
use std::io;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::procfs::ProcessId;

#[derive(Debug, Default)]
pub struct Swept {
    pub killed: BTreeSet<ProcessId>,
    pub alive: Vec<ProcessId>,
}

/// Freezes what `find` returns until it returns nothing unfrozen, kills all of it, and repeats until `find`
/// returns nothing or `deadline` has passed.
///
/// Freezing comes first because a kill loop alone does not converge on a fork bomb: each dead process makes
/// room for a new one, a stopped one does not.
pub fn sweep(deadline: Instant, mut find: impl FnMut() -> io::Result<Vec<ProcessId>>) -> io::Result<Swept> {
    let mut swept = Swept::default();
    let mut pause = Duration::from_micros(200);
    loop {
        let targets = freeze(deadline, &mut find)?;
        if targets.is_empty() {
            return Ok(swept);
        }
        for &target in &targets {
            // One that may not be signalled shows itself by living on until the deadline.
            if target.signal(Signal::KILL).unwrap_or(false) {
                swept.killed.insert(target);
            }
        }
        while targets.iter().any(|target| target.is_living()) {
            if Instant::now() >= deadline {
                swept.alive = targets.into_iter().filter(|target| target.is_living()).collect();
                return Ok(swept);
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(5));
        }
    }
}

fn freeze(
    deadline: Instant,
    find: &mut impl FnMut() -> io::Result<Vec<ProcessId>>,
) -> io::Result<BTreeSet<ProcessId>> {
    let mut frozen = BTreeSet::new();
    loop {
        let found = find()?;
        let fresh: Vec<ProcessId> = found.into_iter().filter(|target| frozen.insert(*target)).collect();
        if fresh.is_empty() || Instant::now() >= deadline {
            return Ok(frozen);
        }
        for target in fresh {
            target.signal(Signal::STOP).ok();
        }
    }
}
