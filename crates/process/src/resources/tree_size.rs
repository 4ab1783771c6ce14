//! The size of directory trees on disk, counted in slices, without following a link.

use std::collections::BTreeSet;
use std::ffi::CStr;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, openat, statat, statvfs};

/// Nobody needs more levels; each is a descriptor. A deeper tree counts as too large.
const DEEPEST: usize = 200;
/// Entries between two looks at the clock.
const STRIDE: u32 = 64;

pub struct TreeSize {
    levels: Vec<Dir>,
    /// The deepest that `levels` may become.
    most_levels: usize,
    bytes: u64,
    largest: u64,
    /// Files with several names, so that each is counted once.
    linked: BTreeSet<(u64, u64)>,
    too_deep: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountProgress {
    More,
    Within,
    Over,
}

impl TreeSize {
    /// All together.
    pub fn of<P: AsRef<Path>>(roots: &[P]) -> TreeSize {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open = |root: &P| Dir::new(openat(CWD, root.as_ref(), flags, Mode::empty()).ok()?).ok();
        let levels: Vec<Dir> = roots.iter().filter_map(open).collect();
        let most_levels = levels.len() + DEEPEST;
        TreeSize { levels, most_levels, bytes: 0, largest: 0, linked: BTreeSet::new(), too_deep: false }
    }

    /// The length of the longest file so far.
    pub fn largest(&self) -> u64 {
        self.largest
    }

    /// Counts until more than `bound` is found, everything is counted, or `slice` is used up. What
    /// disappears meanwhile, or may not be read, is not counted.
    pub fn go_on(&mut self, bound: u64, slice: Option<Duration>) -> CountProgress {
        let until = slice.map(|slice| Instant::now() + slice);
        let mut steps = 0u32;
        while let Some(level) = self.levels.last_mut() {
            match level.read() {
                Some(Ok(entry)) => self.count(entry.file_name()),
                Some(Err(_)) | None => drop(self.levels.pop()),
            }
            if self.bytes > bound || self.too_deep {
                return CountProgress::Over;
            }
            steps += 1;
            if steps.is_multiple_of(STRIDE) && until.is_some_and(|until| Instant::now() >= until) {
                return CountProgress::More;
            }
        }
        CountProgress::Within
    }

    fn count(&mut self, name: &CStr) {
        if matches!(name.to_bytes(), b"." | b"..") {
            return;
        }
        let Some(dir) = self.levels.last().and_then(|level| level.fd().ok()) else { return };
        let Ok(stat) = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) else { return };
        let kind = FileType::from_raw_mode(stat.st_mode);
        if stat.st_nlink > 1 && kind != FileType::Directory && !self.linked.insert((stat.st_dev, stat.st_ino))
        {
            return;
        }
        self.bytes = self.bytes.saturating_add((stat.st_blocks as u64).saturating_mul(512));
        if kind == FileType::RegularFile {
            self.largest = self.largest.max(stat.st_size as u64);
        }
        if kind == FileType::Directory {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let below = openat(dir, name, flags, Mode::empty()).ok().and_then(|fd| Dir::new(fd).ok());
            self.too_deep |= below.is_some() && self.levels.len() >= self.most_levels;
            self.levels.extend(below);
        }
    }
}

/// Of the file system that carries `dir`.
pub fn free_bytes(dir: &Path) -> Option<u64> {
    statvfs(dir).ok().map(|found| found.f_bfree.saturating_mul(found.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(root: &Path) -> u64 {
        let mut size = TreeSize::of(&[root]);
        assert_eq!(size.go_on(u64::MAX, None), CountProgress::Within);
        size.bytes
    }

    #[test]
    fn blocks_are_summed_and_links_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (inside, outside) = (dir.path().join("inside"), dir.path().join("outside"));
        std::fs::create_dir(&inside).unwrap();
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(outside.join("big"), vec![1; 1 << 20]).unwrap();
        std::os::unix::fs::symlink(&outside, inside.join("dir")).unwrap();
        std::os::unix::fs::symlink(outside.join("big"), inside.join("file")).unwrap();
        std::os::unix::fs::symlink(".", inside.join("itself")).unwrap();
        let empty = bytes(&inside);
        assert!(empty < 1 << 16, "{empty}");
        std::fs::create_dir(inside.join("sub")).unwrap();
        for number in 0..100 {
            std::fs::write(inside.join(format!("sub/{number}")), vec![1; 8192]).unwrap();
        }
        let full = bytes(&inside) - empty;
        assert!((100 * 8192..200 * 8192).contains(&full), "{full}");
        std::fs::hard_link(inside.join("sub/1"), inside.join("again")).unwrap();
        assert!(bytes(&inside) - empty < full + 8192, "a second name has no size");
        assert_eq!(bytes(&inside.join("nothing")), 0);
    }

    #[test]
    fn it_stops_early_and_goes_on_where_it_was() {
        let dir = tempfile::tempdir().unwrap();
        for number in 0..1000 {
            std::fs::write(dir.path().join(number.to_string()), vec![1; 4096]).unwrap();
        }
        let whole = bytes(dir.path());
        let mut size = TreeSize::of(&[dir.path()]);
        assert_eq!(size.go_on(10 * 4096, None), CountProgress::Over);
        assert!(size.bytes < 20 * 4096, "it stopped early");

        let mut size = TreeSize::of(&[dir.path()]);
        let mut slices = 1;
        while size.go_on(u64::MAX, Some(Duration::ZERO)) == CountProgress::More {
            slices += 1;
        }
        assert_eq!((size.bytes, size.largest()), (whole, 4096));
        assert!(slices > 10, "{slices}");
    }

    #[test]
    fn a_bottomless_tree_is_too_large() {
        let dir = tempfile::tempdir().unwrap();
        let mut deep = dir.path().to_path_buf();
        for _ in 0..DEEPEST + 5 {
            deep.push("d");
            std::fs::create_dir(&deep).unwrap();
        }
        assert_eq!(TreeSize::of(&[dir.path()]).go_on(u64::MAX, None), CountProgress::Over);
    }
}
