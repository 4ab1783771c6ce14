//! What is heard of a drive, kept for others who follow it: a file that is never larger than two halves, of
//! which the older is dropped. It is redacted before it comes here, is readable for its owner alone, and
//! nothing is decided from it: a file that is torn, missing or strange is a screen with less on it.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use windlass_core::id::LoopName;
use windlass_core::live::Live;
use windlass_core::time::Timestamp;
use windlass_store::VaultDir;

use crate::clock;

/// Together never more than 256 KiB.
const HALF: u64 = 128 * 1024;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeardLine {
    pub at: Timestamp,
    /// How many events the log had when it was heard.
    pub after: u64,
    pub live: Live,
}

/// Where the two halves are.
#[derive(Clone, Debug)]
struct Halves {
    newer: PathBuf,
    older: PathBuf,
}

impl Halves {
    fn of(vault: &VaultDir, name: &LoopName) -> Self {
        Self { newer: vault.cache_file(name, "live"), older: vault.cache_file(name, "live-older") }
    }
}

/// The end that is written.
pub struct LiveRing {
    halves: Halves,
    half: u64,
    file: Option<File>,
    size: u64,
    after: u64,
}

impl LiveRing {
    /// Begins anew: what an earlier drive left becomes the older half.
    pub fn open(vault: &VaultDir, name: &LoopName) -> Self {
        Self::at(Halves::of(vault, name), HALF)
    }

    fn at(halves: Halves, half: u64) -> Self {
        let mut ring = Self { halves, half, file: None, size: 0, after: 0 };
        ring.turn();
        ring
    }

    /// The log has so many events from here on.
    pub fn decided(&mut self, events: u64) {
        self.after = events;
    }

    pub fn keep(&mut self, live: &Live) {
        let heard = HeardLine { at: clock::wall(), after: self.after, live: live.clone() };
        let mut line = serde_json::to_vec(&heard).expect("what is heard is plain data");
        line.push(b'\n');
        let size = line.len() as u64;
        if size > self.half {
            return;
        }
        if self.size + size > self.half {
            self.turn();
        }
        let Some(file) = &mut self.file else { return };
        match file.write_all(&line) {
            Ok(()) => self.size += size,
            Err(error) => {
                tracing::debug!(%error, "what is heard is not kept");
                self.file = None;
            }
        }
    }

    fn turn(&mut self) {
        self.size = 0;
        self.file = match anew(&self.halves) {
            Ok(file) => Some(file),
            Err(error) => {
                tracing::debug!(%error, "what is heard is not kept");
                None
            }
        };
    }
}

fn anew(halves: &Halves) -> io::Result<File> {
    match fs::rename(&halves.newer, &halves.older) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    File::options().append(true).create_new(true).mode(0o600).open(&halves.newer)
}

/// The end that is read, by any process of the owner.
pub struct LiveFollower {
    halves: Halves,
    open: Option<OpenHalf>,
    begun: bool,
}

struct OpenHalf {
    file: File,
    inode: u64,
    read: u64,
    partial: Vec<u8>,
}

impl LiveFollower {
    pub fn of(vault: &VaultDir, name: &LoopName) -> Self {
        Self::at(Halves::of(vault, name))
    }

    fn at(halves: Halves) -> Self {
        Self { halves, open: None, begun: false }
    }

    /// What came since the last call; at first all that is there.
    pub fn lines(&mut self) -> Vec<HeardLine> {
        let mut lines = Vec::new();
        if !std::mem::replace(&mut self.begun, true) {
            lines.extend(OpenHalf::open(&self.halves.older).into_iter().flat_map(|mut half| half.lines()));
        }
        loop {
            if self.open.is_none() {
                self.open = OpenHalf::open(&self.halves.newer);
            }
            let Some(half) = &mut self.open else { return lines };
            // Asked first: nothing is written to a half after the next one is there.
            let is_over = fs::metadata(&self.halves.newer).is_ok_and(|found| found.ino() != half.inode);
            lines.extend(half.lines());
            if !is_over {
                return lines;
            }
            self.open = None;
        }
    }
}

impl OpenHalf {
    fn open(path: &Path) -> Option<Self> {
        let file = File::open(path).ok()?;
        let found = file.metadata().ok().filter(fs::Metadata::is_file)?;
        Some(Self { file, inode: found.ino(), read: 0, partial: Vec::new() })
    }

    /// Whole lines that can be read; any other is passed over.
    fn lines(&mut self) -> Vec<HeardLine> {
        let mut bytes = std::mem::take(&mut self.partial);
        let mut buffer = vec![0; 64 * 1024];
        // Whoever wrote more than the ring holds is not the ring.
        while self.read <= 2 * HALF {
            match self.file.read_at(&mut buffer, self.read) {
                Ok(0) | Err(_) => break,
                Ok(size) => {
                    bytes.extend_from_slice(&buffer[..size]);
                    self.read += size as u64;
                }
            }
        }
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        self.partial = bytes.split_off(whole);
        bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn halves(dir: &Path) -> Halves {
        Halves { newer: dir.join("live"), older: dir.join("live-older") }
    }

    fn said(n: u32) -> Live {
        Live::Text { text: format!("word {n}") }
    }

    fn words(lines: Vec<HeardLine>) -> Vec<Live> {
        lines.into_iter().map(|line| line.live).collect()
    }

    #[test]
    fn what_is_kept_is_heard_across_turns_and_stays_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let mut ring = LiveRing::at(halves(dir.path()), 500);
        let mut follower = LiveFollower::at(halves(dir.path()));
        let mut heard = Vec::new();
        for n in 0..100 {
            ring.decided(u64::from(n));
            ring.keep(&said(n));
            if n % 3 == 0 {
                heard.extend(words(follower.lines()));
            }
            let size = |name: &str| fs::metadata(dir.path().join(name)).map_or(0, |found| found.len());
            assert!(size("live") + size("live-older") <= 1000);
        }
        heard.extend(words(follower.lines()));
        assert_eq!(heard, (0..100).map(said).collect::<Vec<_>>());
        let late = LiveFollower::at(halves(dir.path())).lines();
        assert_eq!(late.last().map(|line| line.after), Some(99));
        let mode = fs::metadata(dir.path().join("live")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_torn_strange_or_missing_file_is_less_to_hear() {
        let dir = tempfile::tempdir().unwrap();
        let mut follower = LiveFollower::at(halves(dir.path()));
        assert!(follower.lines().is_empty());
        let mut ring = LiveRing::at(halves(dir.path()), HALF);
        ring.keep(&said(1));
        fs::File::options()
            .append(true)
            .open(dir.path().join("live"))
            .unwrap()
            .write_all(b"\xff not a line\n{\"at\":")
            .unwrap();
        assert_eq!(words(follower.lines()), [said(1)]);
        fs::remove_file(dir.path().join("live")).unwrap();
        ring.keep(&said(2));
        assert!(follower.lines().is_empty(), "it was appended to the torn line");
        let mut next = LiveRing::at(halves(dir.path()), HALF);
        next.keep(&said(3));
        assert_eq!(words(follower.lines()), [said(3)]);
        fs::remove_dir_all(dir.path()).unwrap();
        next.keep(&said(4));
        assert!(LiveFollower::at(halves(dir.path())).lines().is_empty());
    }
}
