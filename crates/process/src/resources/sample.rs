//! What the processes of a tree use at this moment, from /proc.

use crate::procfs::ProcessId;

#[derive(Debug, Default)]
pub struct ResourceSample {
    /// Threads of all processes.
    pub tasks: u64,
    /// Bytes in use that are no file's, shared ones counted more than once.
    pub memory: u64,
    /// Bytes of the process that has asked for the most it may write to, used or not.
    pub most_asked: u64,
    /// Bytes of files that the process with the most of them has in its memory.
    pub most_of_files: u64,
    pub most_open_files: u64,
}

impl ResourceSample {
    pub fn of(processes: &[ProcessId], with_files: bool) -> ResourceSample {
        let mut sample = ResourceSample::default();
        for process in processes {
            let dir = format!("/proc/{}", process.pid);
            let status = std::fs::read_to_string(format!("{dir}/status")).unwrap_or_default();
            sample.tasks += field(&status, "Threads:").unwrap_or(1);
            sample.memory += in_use(&status);
            sample.most_asked = sample.most_asked.max(kib(&status, "VmData:"));
            sample.most_of_files = sample.most_of_files.max(kib(&status, "RssFile:"));
            if with_files {
                sample.most_open_files = sample.most_open_files.max(open_files(&dir));
            }
        }
        sample
    }
}

/// The proportional share of each process, which sums up to what the tree really uses. Slow.
pub fn exact_memory(processes: &[ProcessId]) -> u64 {
    let share = |process: &ProcessId| -> u64 {
        let of = |name| std::fs::read_to_string(format!("/proc/{}/{name}", process.pid));
        match of("smaps_rollup") {
            Ok(text) => ["Pss_Anon:", "Pss_Shmem:", "SwapPss:"].map(|name| kib(&text, name)).iter().sum(),
            // A process can hide its shares from us, but not how much it has.
            Err(_) => of("status").map_or(0, |status| in_use(&status)),
        }
    };
    processes.iter().map(share).sum()
}

/// A process that is on its way out has no such lines any more.
fn in_use(status: &str) -> u64 {
    ["RssAnon:", "RssShmem:", "VmSwap:"].map(|name| kib(status, name)).iter().sum()
}

fn kib(text: &str, name: &str) -> u64 {
    field(text, name).unwrap_or(0) * 1024
}

fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

fn open_files(dir: &str) -> u64 {
    let path = format!("{dir}/fd");
    match std::fs::metadata(&path) {
        // Linux 6.2 and newer say the number as the size of the directory.
        Ok(found) if found.len() > 0 => found.len(),
        Ok(_) | Err(_) => std::fs::read_dir(&path).map_or(0, |entries| entries.count() as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_very_process_is_counted() {
        let me = ProcessId::of(std::process::id() as i32).unwrap();
        let held = vec![7u8; 32 << 20];
        let files: Vec<_> = (0..50).map(|_| std::fs::File::open("/dev/null").unwrap()).collect();
        let sample = ResourceSample::of(&[me], true);
        assert!(sample.tasks >= 1 && sample.tasks < 1000, "{sample:?}");
        assert!(sample.memory >= held.len() as u64, "{sample:?}");
        assert!(sample.most_asked >= held.len() as u64 && sample.most_of_files > 0, "{sample:?}");
        assert!(sample.most_open_files >= files.len() as u64 && sample.most_open_files < 1000, "{sample:?}");
        let exact = exact_memory(&[me]);
        assert!(exact >= held.len() as u64 && exact < 1 << 30, "{exact}");
        let twice = ResourceSample::of(&[me, me], false);
        assert!(twice.memory >= 2 * held.len() as u64 && twice.most_open_files == 0);
    }
}
