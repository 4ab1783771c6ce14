//! Memory of a namespace that is no process's: files in its `/dev/shm` and System V segments, which are in use
//! whether or not anybody has them mapped.

use std::fs::File;
use std::os::fd::AsFd;

use rustix::fs::{Mode, OFlags, open};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::procfs::ProcessId;

/// As its files are named in the maps of a process.
const SHARED_FILES: &str = "/dev/shm/";
const SEGMENTS: &str = "/SYSV";

/// A look into the namespace of one attempt.
#[derive(Debug, Default)]
pub struct SharedMemory {
    /// This process is in the namespace of the attempt's System V segments.
    joined: bool,
}

impl SharedMemory {
    /// Bytes in use. The leader itself cannot be looked into; its program and all that follow can.
    pub fn bytes(&mut self, processes: &[ProcessId]) -> u64 {
        if !self.joined {
            self.joined = processes.iter().any(|process| join(process.pid));
        }
        let segments = if self.joined { segments() } else { 0 };
        segments + processes.iter().find_map(|process| files(process.pid)).unwrap_or(0)
    }
}

/// What of it is mapped, and so is counted with the processes already.
pub fn mapped(processes: &[ProcessId]) -> u64 {
    let of = |process: &ProcessId| {
        let maps = std::fs::read_to_string(format!("/proc/{}/smaps", process.pid)).unwrap_or_default();
        mapped_in(&maps)
    };
    processes.iter().map(of).sum()
}

fn mapped_in(maps: &str) -> u64 {
    let (mut shared, mut kib) = (false, 0);
    for line in maps.lines() {
        // The line of a mapping begins with its addresses, all others with a name and a colon.
        let first = line.split_ascii_whitespace().next().unwrap_or_default();
        if !first.ends_with(':') {
            let path = line.splitn(6, ' ').nth(5).unwrap_or_default().trim_start();
            shared = path.starts_with(SHARED_FILES) || path.starts_with(SEGMENTS);
        } else if shared && first == "Pss:" {
            let size = line.split_ascii_whitespace().nth(1);
            kib += size.and_then(|size| size.parse::<u64>().ok()).unwrap_or(0);
        }
    }
    kib * 1024
}

/// A warden has one thread and no use for messages of its own.
fn join(pid: i32) -> bool {
    let place = format!("/proc/{pid}/ns/ipc");
    let (Ok(theirs), Ok(own)) = (std::fs::read_link(&place), std::fs::read_link("/proc/self/ns/ipc")) else {
        return false;
    };
    let Some(namespace) = File::open(place).ok().filter(|_| theirs != own) else { return false };
    move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::InterProcessCommunication)).is_ok()
}

/// Resident and swapped, of every segment.
fn segments() -> u64 {
    let text = std::fs::read_to_string("/proc/sysvipc/shm").unwrap_or_default();
    segments_in(&text)
}

fn segments_in(text: &str) -> u64 {
    let of = |line: &str| -> u64 {
        line.split_ascii_whitespace().rev().take(2).filter_map(|field| field.parse::<u64>().ok()).sum()
    };
    text.lines().skip(1).map(of).sum()
}

/// `None`: it is the host's own, or cannot be seen.
fn files(pid: i32) -> Option<u64> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let theirs = open(format!("/proc/{pid}/root/dev/shm"), flags, Mode::empty()).ok()?;
    let device = rustix::fs::fstat(&theirs).ok()?.st_dev;
    if rustix::fs::stat("/dev/shm").is_ok_and(|own| own.st_dev == device) {
        return None;
    }
    let found = rustix::fs::fstatfs(&theirs).ok()?;
    Some(found.f_blocks.saturating_sub(found.f_bfree) * found.f_bsize as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_summed_with_what_was_swapped() {
        let text = "       key      shmid perms                  size  cpid  lpid nattch   uid   gid  cuid  cgid      atime      dtime      ctime                   rss                  swap\n         0          0  1600                  8192   771   771      1  1000  1000  1000  1000 1 1 1                  4096                   100\n         0          1  1600                  8192   771   771      0  1000  1000  1000  1000 1 1 1                  8192                     0\n";
        assert_eq!(segments_in(text), 4096 + 100 + 8192);
        assert_eq!(segments_in(""), 0);
    }

    #[test]
    fn what_is_mapped_of_it_is_told_by_its_name() {
        let maps = "7f00-7f01 rw-s 00000000 00:2a 7 /dev/shm/a b\nSize: 8 kB\nPss: 8 kB\nPss_Dirty: 8 kB\n\
                    7f02-7f03 rw-s 00000000 00:01 0                          /SYSV00000000 (deleted)\nPss:     4 kB\n\
                    7f04-7f05 rw-p 00000000 00:00 0 \nPss: 99 kB\n\
                    7f06-7f07 r--p 00000000 08:01 3                    /usr/lib/x.so\nPss: 77 kB\n";
        assert_eq!(mapped_in(maps), 12 * 1024);
    }
}
