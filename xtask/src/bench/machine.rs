//! The machine the numbers come from, and what its disk takes for a flush.

use std::fmt;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use super::rounds::{duration, median};

const FLUSHES: usize = 101;

#[derive(Clone, Debug)]
pub struct Machine {
    pub processor: String,
    pub cores: usize,
    pub kernel: String,
    pub file_system: String,
    /// The median of an append of 4 KiB and its `fdatasync`.
    pub flush: Duration,
}

impl Machine {
    /// Looks around; the disk is the one `dir` lies on.
    pub fn look(dir: &Path) -> Result<Self> {
        let kernel = rustix::system::uname();
        let (name, release) = (kernel.sysname().to_string_lossy(), kernel.release().to_string_lossy());
        Ok(Self {
            processor: processor().unwrap_or_else(|| "unknown".to_owned()),
            cores: std::thread::available_parallelism()?.get(),
            kernel: format!("{name} {release}"),
            file_system: file_system(dir).unwrap_or_else(|| "unknown".to_owned()),
            flush: flush(dir)?,
        })
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "- processor: {}, {} cores", self.processor, self.cores)?;
        writeln!(f, "- kernel: {}", self.kernel)?;
        writeln!(f, "- file system: {}", self.file_system)?;
        writeln!(f, "- one flush (4 KiB appended, fdatasync, median of {FLUSHES}): {}", duration(self.flush))
    }
}

fn flush(dir: &Path) -> Result<Duration> {
    let path = dir.join("flush");
    let mut file = File::create(&path).with_context(|| format!("create {}", path.display()))?;
    let mut times = Vec::with_capacity(FLUSHES);
    for _ in 0..FLUSHES {
        let begun = Instant::now();
        file.write_all(&[7; 4096])?;
        file.sync_data()?;
        times.push(begun.elapsed());
    }
    fs::remove_file(&path)?;
    times.sort();
    Ok(median(&times))
}

fn processor() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(": ")?.1.to_owned())
}

/// The kind of the mount that holds `dir`: the longest mount point above it.
pub fn file_system(dir: &Path) -> Option<String> {
    let dir = dir.canonicalize().ok()?;
    kind_of_mount(&fs::read_to_string("/proc/self/mounts").ok()?, &dir)
}

fn kind_of_mount(mounts: &str, dir: &Path) -> Option<String> {
    let fields = mounts.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(1);
        Some((fields.next()?, fields.next()?))
    });
    let above = fields.filter(|(point, _)| dir.starts_with(point));
    above.max_by_key(|(point, _)| point.len()).map(|(_, kind)| kind.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_mount_names_the_file_system() {
        let mounts = "/dev/a / ext4 rw 0 0\nnone /tmp tmpfs rw 0 0\n/dev/b /tmp/x/y xfs rw 0 0\n";
        let kind = |dir: &str| kind_of_mount(mounts, Path::new(dir)).unwrap();
        assert_eq!(
            (kind("/home"), kind("/tmp/x"), kind("/tmp/x/y/z")),
            ("ext4".into(), "tmpfs".into(), "xfs".into())
        );
    }

    #[test]
    fn a_flush_takes_time() {
        let dir = tempfile::tempdir().unwrap();
        let machine = Machine::look(dir.path()).unwrap();
        assert!(machine.flush > Duration::ZERO && machine.cores > 0, "{machine}");
    }
}
