//! A file that grows while a program runs, line by line.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use windlass_process::Capture;

/// A longer line is passed over: no program whose lines are read writes one.
const LONGEST_LINE: usize = 8 * 1024 * 1024;

pub struct Follower {
    path: PathBuf,
    file: Option<File>,
    heard: u64,
    partial: Vec<u8>,
    longest: usize,
    /// The line in hand is too long, and the rest of it is passed over.
    skipping: bool,
}

impl Follower {
    pub fn of(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            file: None,
            heard: 0,
            partial: Vec::new(),
            longest: LONGEST_LINE,
            skipping: false,
        }
    }

    /// One that passes over lines that are longer than this.
    pub fn of_short_lines(path: &Path, longest: usize) -> Self {
        Self { longest, ..Self::of(path) }
    }

    /// What came since the last call, as whole lines without their line feeds.
    pub fn lines(&mut self) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        self.each_line(&mut |line| lines.push(line.to_owned()));
        lines
    }

    /// The same, one at a time: nothing is held but the line in hand.
    pub fn each_line(&mut self, tell: &mut dyn FnMut(&[u8])) {
        let mut buffer = vec![0; 64 * 1024];
        let mut lines = Vec::new();
        while let Ok(size @ 1..) = self.read(&mut buffer) {
            self.take(&buffer[..size], &mut lines);
            lines.drain(..).for_each(|line| tell(&line));
        }
    }

    /// The last line of a program that is dead, where it has no end.
    pub fn unended_line(&mut self) -> Option<Vec<u8>> {
        (!self.partial.is_empty() && !self.skipping).then(|| std::mem::take(&mut self.partial))
    }

    /// The program is dead: what is left of its stream, the last line also where it has no end.
    pub fn rest(&mut self, capture: &Capture) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        match capture.truncated {
            false => lines = self.lines(),
            // What cannot be read is as good as left out.
            true => drop(self.around_the_gap(capture, &mut lines)),
        }
        lines.extend(self.unended_line());
        lines
    }

    /// Of a stream that was too long its beginning and its end are kept.
    fn around_the_gap(&mut self, capture: &Capture, lines: &mut Vec<Vec<u8>>) -> io::Result<()> {
        let file = File::open(&capture.path)?;
        let tail = capture.kept_bytes / 2;
        let (head, begins) = (capture.kept_bytes - tail, capture.total_bytes - tail);
        if self.heard < head {
            let bytes = piece(&file, self.heard, head - self.heard)?;
            self.heard = head;
            self.take(&bytes, lines);
        }
        if self.heard < begins {
            // Nobody knows the beginning of the first line behind the gap.
            self.partial.clear();
            self.skipping = true;
            self.heard = begins;
        }
        let left = capture.total_bytes - self.heard;
        let size = file.metadata()?.len();
        let bytes = piece(&file, size.saturating_sub(left), left)?;
        self.heard = capture.total_bytes;
        self.take(&bytes, lines);
        Ok(())
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.file.is_none() {
            self.file = Some(File::open(&self.path)?);
        }
        let Some(file) = &self.file else { return Ok(0) };
        let size = file.read_at(buffer, self.heard)?;
        self.heard += size as u64;
        Ok(size)
    }

    fn take(&mut self, bytes: &[u8], lines: &mut Vec<Vec<u8>>) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let ended = part.ends_with(b"\n");
            if !self.skipping {
                self.partial.extend_from_slice(part.strip_suffix(b"\n").unwrap_or(part));
            }
            self.skipping |= self.partial.len() > self.longest;
            if ended {
                let line = std::mem::take(&mut self.partial);
                if !std::mem::take(&mut self.skipping) {
                    lines.push(line);
                }
            } else if self.skipping {
                self.partial.clear();
            }
        }
    }
}

/// Set when what is followed has ended.
#[derive(Default)]
pub struct StopFlag {
    is_set: Mutex<bool>,
    changed: Condvar,
}

impl StopFlag {
    pub fn set(&self) {
        *self.is_set.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    pub fn is_set_within(&self, span: Duration) -> bool {
        let is_set = self.is_set.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(is_set, span, |is_set| !*is_set);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

fn piece(file: &File, from: u64, size: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(size).unwrap_or(0)];
    file.read_exact_at(&mut bytes, from)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(lines: Vec<Vec<u8>>) -> Vec<String> {
        lines.into_iter().map(|line| String::from_utf8(line).unwrap()).collect()
    }

    fn capture(path: &Path, total: u64, kept: u64) -> Capture {
        let path = path.to_owned();
        Capture { path, total_bytes: total, kept_bytes: kept, truncated: kept < total, write_error: None }
    }

    #[test]
    fn lines_come_whole_and_the_last_at_the_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("stdout");
        let mut follower = Follower::of(&path);
        assert!(follower.lines().is_empty(), "there is no such file yet");
        std::fs::write(&path, "one\ntw").unwrap();
        assert_eq!(shown(follower.lines()), ["one"]);
        std::fs::write(&path, "one\ntwo\n\nthree").unwrap();
        assert_eq!(shown(follower.lines()), ["two", ""]);
        assert_eq!(shown(follower.rest(&capture(&path, 14, 14))), ["three"]);
    }

    #[test]
    fn a_stream_without_its_middle_goes_on_at_its_next_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("stdout");
        // Of 60 bytes the first and the last 20 are kept.
        let kept = "first\nsecond........\n… 20 bytes left out …\nf line\nlast line\nend";
        for heard in ["", "first\nsec", "first\nsecond........"] {
            std::fs::write(&path, heard).unwrap();
            let mut follower = Follower::of(&path);
            let mut lines = follower.lines();
            let ordered = dir.path().join("ordered");
            std::fs::write(&ordered, kept).unwrap();
            lines.extend(follower.rest(&capture(&ordered, 60, 40)));
            assert_eq!(shown(lines), ["first", "last line", "end"], "{heard:?}");
        }
        // All but the last line was heard already.
        let mut follower = Follower::of(&path);
        follower.heard = 57;
        assert_eq!(shown(follower.rest(&capture(&dir.path().join("ordered"), 60, 40))), ["end"]);
    }

    #[test]
    fn a_line_without_end_is_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("stdout");
        std::fs::write(&path, format!("a\n{}\nb\n", "x".repeat(LONGEST_LINE + 70_000))).unwrap();
        assert_eq!(shown(Follower::of(&path).lines()), ["a", "b"]);
    }
}
