//! Keeps the head and the tail of a stream in one file, with no memory of its own.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::finished::Capture;

/// The file grows as output arrives, so others may follow it, until it has `cap` bytes. From then on its
/// second half is a ring, put in order by [`CaptureWriter::finish`].
pub struct CaptureWriter {
    path: PathBuf,
    file: File,
    cap: u64,
    total: u64,
    error: Option<io::Error>,
}

impl CaptureWriter {
    pub fn create(path: &Path, cap: u64) -> io::Result<CaptureWriter> {
        let file = File::options().read(true).write(true).create(true).truncate(true).open(path)?;
        Ok(CaptureWriter { path: path.to_path_buf(), file, cap, total: 0, error: None })
    }

    /// Never fails: a program is not stopped because its output cannot be kept. See [`Capture::write_error`].
    pub fn take(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (offset, room) = self.place();
            let size = room.min(bytes.len() as u64);
            let (now, rest) = bytes.split_at(size as usize);
            if self.error.is_none()
                && let Err(error) = self.file.write_all_at(now, offset)
            {
                self.error = Some(error);
            }
            self.total += size;
            bytes = rest;
            if self.tail() == 0 && self.total >= self.cap {
                self.total += bytes.len() as u64;
                return;
            }
        }
    }

    pub fn finish(mut self, buffer: &mut [u8]) -> Capture {
        if self.total > self.cap
            && self.error.is_none()
            && let Err(error) = self.put_in_order(buffer)
        {
            self.error = Some(error);
        }
        let kept_bytes = match self.error {
            Some(_) => self.file.metadata().map_or(0, |found| found.len()).min(self.cap),
            None => self.total.min(self.cap),
        };
        let unwritable = |error| format!("cannot write {}: {error}", self.path.display());
        Capture {
            total_bytes: self.total,
            kept_bytes,
            truncated: kept_bytes < self.total,
            write_error: self.error.map(unwritable),
            path: self.path,
        }
    }

    fn head(&self) -> u64 {
        self.cap - self.tail()
    }

    fn tail(&self) -> u64 {
        self.cap / 2
    }

    /// Where the next byte goes, and how many fit there in one piece.
    fn place(&self) -> (u64, u64) {
        if self.total < self.cap {
            return (self.total, self.cap - self.total);
        }
        if self.tail() == 0 {
            return (self.cap, 0);
        }
        let offset = self.head() + (self.total - self.head()) % self.tail();
        (offset, self.cap - offset)
    }

    fn put_in_order(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        let unfinished = self.path.with_extension("tmp");
        let mut ordered = Ordered { file: File::create(&unfinished)?, end: 0 };
        let marker = format!("\n… {} bytes left out …\n", self.total - self.cap);
        let (oldest, _) = self.place();
        ordered.copy(&self.file, 0..self.head(), buffer)?;
        ordered.append(marker.as_bytes())?;
        ordered.copy(&self.file, oldest..self.cap, buffer)?;
        ordered.copy(&self.file, self.head()..oldest, buffer)?;
        std::fs::rename(unfinished, &self.path)
    }
}

struct Ordered {
    file: File,
    end: u64,
}

impl Ordered {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, self.end)?;
        self.end += bytes.len() as u64;
        Ok(())
    }

    fn copy(&mut self, from: &File, range: Range<u64>, buffer: &mut [u8]) -> io::Result<()> {
        let mut at = range.start;
        while at < range.end {
            let size = (range.end - at).min(buffer.len() as u64) as usize;
            let size = from.read_at(&mut buffer[..size], at)?;
            if size == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.append(&buffer[..size])?;
            at += size as u64;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keep(cap: u64, chunks: &[&[u8]]) -> (Vec<u8>, Capture) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("stdout");
        let mut keeper = CaptureWriter::create(&path, cap).unwrap();
        chunks.iter().for_each(|chunk| keeper.take(chunk));
        let kept = keeper.finish(&mut [0; 7]);
        (std::fs::read(path).unwrap(), kept)
    }

    #[test]
    fn what_fits_is_kept_as_it_is() {
        let (text, kept) = keep(10, &[b"01234", b"56789"]);
        assert_eq!(text, b"0123456789");
        assert_eq!((kept.total_bytes, kept.kept_bytes, kept.truncated), (10, 10, false));
    }

    #[test]
    fn head_and_tail_are_kept_however_the_output_is_cut() {
        let alphabet: Vec<u8> = (b'a'..=b'z').collect();
        for chunk in 1..=26 {
            let (text, kept) = keep(7, &alphabet.chunks(chunk).collect::<Vec<_>>());
            assert_eq!(String::from_utf8(text).unwrap(), "abcd\n… 19 bytes left out …\nxyz", "{chunk}");
            assert_eq!((kept.total_bytes, kept.kept_bytes, kept.truncated), (26, 7, true));
        }
    }

    #[test]
    fn a_cap_too_small_for_a_tail_still_counts() {
        let (text, kept) = keep(1, &[b"ab", b"cd"]);
        assert_eq!(String::from_utf8(text).unwrap(), "a\n… 3 bytes left out …\n");
        assert_eq!((kept.total_bytes, kept.kept_bytes), (4, 1));
        let (text, kept) = keep(0, &[b"ab"]);
        assert_eq!(String::from_utf8(text).unwrap(), "\n… 2 bytes left out …\n");
        assert_eq!((kept.total_bytes, kept.kept_bytes), (2, 0));
    }

    #[test]
    fn a_file_that_cannot_be_written_is_reported_and_the_rest_is_counted() {
        let path = Path::new("/dev/full");
        let mut keeper = CaptureWriter::create(path, 100).unwrap();
        keeper.take(b"0123456789");
        keeper.take(b"0123456789");
        let kept = keeper.finish(&mut [0; 7]);
        assert_eq!((kept.total_bytes, kept.truncated), (20, true));
        assert!(kept.write_error.unwrap().contains("/dev/full"));
    }
}
