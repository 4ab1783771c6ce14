//! What the processes of a tree use at this moment, from /proc.

use crate::procfs::ProcessId;

#[derive(Debug, Default)]
pub struct Sample {
    /// Threads of all processes.
    pub tasks: u64,
    /// Bytes in use that are no file's, shared ones counted more than once.
    pub memory: u64,
    pub most_open_files: u64,
}

impl Sample {
    pub fn of(processes: &[ProcessId], with_files: bool) -> Sample {
        let page = rustix::param::page_size() as u64;
        let mut sample = Sample::default();
        for process in processes {
            let dir = format!("/proc/{}", process.pid);
            sample.tasks += threads(&dir).unwrap_or(1);
            sample.memory += private_pages(&dir).unwrap_or(0) * page;
            if with_files {
                sample.most_open_files = sample.most_open_files.max(open_files(&dir));
            }
        }
        sample
    }
}

/// The proportional share of each process, which sums up to what the tree really uses. Slow.
pub fn exact_memory(processes: &[ProcessId]) -> u64 {
    let share = |process: &ProcessId| -> Option<u64> {
        let text = std::fs::read_to_string(format!("/proc/{}/smaps_rollup", process.pid)).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("Pss_Anon:"))?;
        Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
    };
    processes.iter().filter_map(share).sum()
}

fn threads(dir: &str) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("{dir}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(17)?.parse().ok()
}

/// `size resident shared …`, in pages.
fn private_pages(dir: &str) -> Option<u64> {
    let statm = std::fs::read_to_string(format!("{dir}/statm")).ok()?;
    let mut fields = statm.split_whitespace().skip(1);
    let (resident, shared): (u64, u64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some(resident.saturating_sub(shared))
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
        let sample = Sample::of(&[me], true);
        assert!(sample.tasks >= 1 && sample.tasks < 1000, "{sample:?}");
        assert!(sample.memory >= held.len() as u64, "{sample:?}");
        assert!(sample.most_open_files >= files.len() as u64 && sample.most_open_files < 1000, "{sample:?}");
        let exact = exact_memory(&[me]);
        assert!(exact >= held.len() as u64 && exact < 1 << 30, "{exact}");
        let twice = Sample::of(&[me, me], false);
        assert!(twice.memory >= 2 * held.len() as u64 && twice.most_open_files == 0);
    }
}
