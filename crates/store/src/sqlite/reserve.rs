//! A megabyte kept aside, given back when the disk is full, so that the record
//! which says "paused: disk full" still finds room.

use std::fs::{self, OpenOptions};
use std::path::PathBuf;

const SIZE: u64 = 1024 * 1024;

pub(crate) struct Reserve {
    path: PathBuf,
    kept: bool,
}

impl Reserve {
    /// Sets the space aside, if there is enough of it.
    pub(crate) fn keep(path: PathBuf) -> Self {
        let kept = path.exists();
        let mut reserve = Self { path, kept };
        reserve.refill();
        reserve
    }

    pub(crate) fn refill(&mut self) {
        if !self.kept {
            self.kept = self.allocate();
            if !self.kept {
                // A half-filled reserve would only take what little space is left.
                let _ = fs::remove_file(&self.path);
            }
        }
    }

    pub(crate) fn release(&mut self) {
        self.kept = false;
        let _ = fs::remove_file(&self.path);
    }

    #[cfg(target_os = "linux")]
    fn allocate(&self) -> bool {
        let file = OpenOptions::new().write(true).create(true).truncate(true).open(&self.path);
        file.is_ok_and(|file| {
            rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, SIZE).is_ok()
        })
    }

    #[cfg(not(target_os = "linux"))]
    fn allocate(&self) -> bool {
        let _ = OpenOptions::new();
        fs::write(&self.path, vec![0; SIZE as usize]).is_ok()
    }
}
