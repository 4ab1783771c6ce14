//! Who is alive, from /proc.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};

/// A process and no other: a pid alone is recycled, within minutes on a busy machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ProcessId {
    pub pid: i32,
    /// Field 22 of /proc/PID/stat, in clock ticks since boot.
    pub start_time: u64,
}

#[derive(Clone, Copy, Debug)]
pub struct Stat {
    pub id: ProcessId,
    pub parent: i32,
    /// CPU time of all its threads.
    pub own_ticks: u64,
    /// CPU time of the children it has waited for, and of theirs.
    pub reaped_ticks: u64,
    state: u8,
}

impl Stat {
    /// A zombie runs nothing and holds nothing: dead, but for its entry.
    pub fn is_living(&self) -> bool {
        !matches!(self.state, b'Z' | b'X' | b'x')
    }

    /// By a signal, until it is told to go on.
    pub fn is_stopped(&self) -> bool {
        self.state == b'T'
    }
}

impl ProcessId {
    pub fn of(pid: i32) -> Option<ProcessId> {
        stat(pid).map(|stat| stat.id)
    }

    pub fn is_living(self) -> bool {
        stat(self.pid).is_some_and(|stat| stat.id == self && stat.is_living())
    }

    /// Signals this process or none: the descriptor pins the process, the start time says that it is ours.
    /// `Ok(false)`: it is gone.
    pub fn signal(self, signal: Signal) -> io::Result<bool> {
        let Some(pid) = Pid::from_raw(self.pid) else { return Ok(false) };
        let pinned = match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(pinned) => pinned,
            Err(rustix::io::Errno::SRCH) => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        if ProcessId::of(self.pid) != Some(self) {
            return Ok(false);
        }
        match pidfd_send_signal(pinned, signal) {
            Ok(()) => Ok(true),
            Err(rustix::io::Errno::SRCH) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

pub fn stat(pid: i32) -> Option<Stat> {
    parse_stat(pid, &std::fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// Every process visible from here, but those that ended while we looked.
pub fn everyone() -> io::Result<Vec<Stat>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc")? {
        let name = entry?.file_name();
        if let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) {
            found.extend(stat(pid));
        }
    }
    Ok(found)
}

/// The living among [`descendants`].
pub fn living_descendants(ancestor: i32) -> io::Result<Vec<ProcessId>> {
    Ok(descendants(ancestor)?.into_iter().filter(Stat::is_living).map(|stat| stat.id).collect())
}

/// Children, their children and so on, each after its parent. A dead process has no children: they were
/// re-parented.
///
/// The kernel's own lists of children are followed where it keeps them: a look at every process takes longer
/// than a short-lived one lives, and a chain of those would never be caught.
pub fn descendants(ancestor: i32) -> io::Result<Vec<Stat>> {
    let Some(first) = children(ancestor) else {
        return Ok(descendants_among(&everyone()?, ancestor));
    };
    let mut found = Vec::new();
    let mut seen = BTreeSet::from([ancestor]);
    let mut pending = first;
    while let Some(pid) = pending.pop() {
        if seen.insert(pid) {
            found.extend(stat(pid));
            pending.extend(children(pid).unwrap_or_default());
        }
    }
    Ok(found)
}

/// `None`: the process is gone, or the kernel keeps no lists (CONFIG_PROC_CHILDREN).
fn children(pid: i32) -> Option<Vec<i32>> {
    let mut found = Vec::new();
    for thread in std::fs::read_dir(format!("/proc/{pid}/task")).ok()? {
        let list = std::fs::read_to_string(thread.ok()?.path().join("children")).ok()?;
        found.extend(list.split_ascii_whitespace().filter_map(|pid| pid.parse::<i32>().ok()));
    }
    Some(found)
}

pub fn descendants_among(everyone: &[Stat], ancestor: i32) -> Vec<Stat> {
    let mut children: BTreeMap<i32, Vec<&Stat>> = BTreeMap::new();
    for stat in everyone {
        children.entry(stat.parent).or_default().push(stat);
    }
    let mut found = Vec::new();
    let mut seen = BTreeSet::from([ancestor]);
    let mut pending = vec![ancestor];
    while let Some(parent) = pending.pop() {
        for child in children.get(&parent).into_iter().flatten() {
            if seen.insert(child.id.pid) {
                pending.push(child.id.pid);
                found.push(**child);
            }
        }
    }
    found
}

/// Whether the environment this process was started with has exactly this entry. What we may not read is
/// not ours: an attempt's processes belong to the user who started it.
pub fn was_given(pid: i32, entry: &[u8]) -> bool {
    std::fs::read(format!("/proc/{pid}/environ"))
        .is_ok_and(|environment| environment.split(|&byte| byte == 0).any(|have| have == entry))
}

pub fn boot_id() -> io::Result<String> {
    Ok(std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
}

/// `pid (name) state ppid …`: the name may hold blanks and parentheses, so fields count from the last `)`.
fn parse_stat(pid: i32, text: &[u8]) -> Option<Stat> {
    let after_name = text.iter().rposition(|&byte| byte == b')')? + 1;
    let fields: Vec<&str> = std::str::from_utf8(&text[after_name..]).ok()?.split_ascii_whitespace().collect();
    let state = *fields.first()?.as_bytes().first()?;
    let parent = fields.get(1)?.parse().ok()?;
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    Some(Stat {
        id: ProcessId { pid, start_time: number(19)? },
        parent,
        own_ticks: number(11)? + number(12)?,
        reaped_ticks: number(13)? + number(14)?,
        state,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let text = b"7 (a) Z (b)) S 3 7 7 0 -1 0 0 0 0 0 10 1 200 2 20 0 1 0 4711 0 0";
        let stat = parse_stat(7, text).unwrap();
        assert_eq!((stat.id, stat.parent), (ProcessId { pid: 7, start_time: 4711 }, 3));
        assert_eq!((stat.own_ticks, stat.reaped_ticks), (11, 202));
        assert!(stat.is_living());
    }

    #[test]
    fn another_start_time_is_another_process() {
        let me = ProcessId::of(std::process::id() as i32).unwrap();
        assert!(me.is_living());
        let former = ProcessId { start_time: me.start_time - 1, ..me };
        assert!(!former.is_living());
        assert!(!former.signal(Signal::KILL).unwrap(), "a recycled pid must not be hit");
    }
}
