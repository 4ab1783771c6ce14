//! The newest change below a directory.

use std::ffi::CStr;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, Timespec, Timestamps, UTIME_NOW, fstat, openat, statat,
    utimensat,
};

/// Each level is a descriptor; a deeper one is not looked at.
const DEEPEST: usize = 200;
/// A tree that takes longer is seen in part.
const PATIENCE: Duration = Duration::from_secs(3);
/// Entries between two looks at the clock.
const STRIDE: u32 = 64;

/// Counts the moment at which anything about a file changed, which a program cannot set back. No link is
/// followed. `None`: there is nothing to read.
pub fn newest_change(root: &Path) -> Option<SystemTime> {
    let until = Instant::now() + PATIENCE;
    let mut newest = None;
    let root = open(CWD, root)?;
    note(&mut newest, &fstat(root.fd().ok()?).ok()?);
    let mut levels = vec![root];
    let mut steps = 0u32;
    while let Some(level) = levels.last_mut() {
        match level.read() {
            Some(Ok(entry)) => {
                let below = look(level, entry.file_name(), &mut newest);
                levels.extend(below.filter(|_| levels.len() < DEEPEST));
            }
            Some(Err(_)) | None => drop(levels.pop()),
        }
        steps += 1;
        if steps.is_multiple_of(STRIDE) && Instant::now() >= until {
            break;
        }
    }
    newest
}

/// The moment that a change would have if it were made now: a file system's clock is its own. `dir` is
/// touched for it.
pub fn clock(dir: &Path) -> Option<SystemTime> {
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    utimensat(CWD, dir, &Timestamps { last_access: now, last_modification: now }, AtFlags::empty()).ok()?;
    changed(&statat(CWD, dir, AtFlags::empty()).ok()?)
}

/// What disappears meanwhile, or may not be read, is left out.
fn look(level: &Dir, name: &CStr, newest: &mut Option<SystemTime>) -> Option<Dir> {
    if matches!(name.to_bytes(), b"." | b"..") {
        return None;
    }
    let dir = level.fd().ok()?;
    let stat = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    note(newest, &stat);
    if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
        return None;
    }
    open(dir, name)
}

fn open(at: impl std::os::fd::AsFd, path: impl rustix::path::Arg) -> Option<Dir> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(at, path, flags, Mode::empty()).ok().and_then(|fd| Dir::new(fd).ok())
}

fn note(newest: &mut Option<SystemTime>, stat: &Stat) {
    *newest = (*newest).max(changed(stat));
}

fn changed(stat: &Stat) -> Option<SystemTime> {
    let seconds = u64::try_from(stat.st_ctime).unwrap_or(0);
    let nanos = u32::try_from(stat.st_ctime_nsec).unwrap_or(0);
    SystemTime::UNIX_EPOCH.checked_add(Duration::new(seconds, nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed_after(root: &Path, change: impl FnOnce()) -> bool {
        let before = newest_change(root).unwrap();
        // The clock of a file system stands still for some milliseconds.
        let touched = tempfile::tempdir().unwrap();
        let moved = || clock(touched.path()).unwrap() > before;
        assert!(windlass_testkit::poll::until(Duration::from_secs(10), moved));
        change();
        newest_change(root).unwrap() > before
    }

    #[test]
    fn whatever_changes_below_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("root");
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        std::fs::write(root.join("a/b/file"), "text").unwrap();
        std::fs::write(root.join("other"), "text").unwrap();
        let append = || {
            use std::io::Write;
            let mut file = std::fs::File::options().append(true).open(root.join("a/b/file")).unwrap();
            file.write_all(b"x").unwrap();
        };
        assert!(!changed_after(&root, || ()), "nothing");
        assert!(changed_after(&root, append), "a byte more");
        assert!(changed_after(&root, || std::fs::remove_file(root.join("other")).unwrap()), "a file less");
        assert!(changed_after(&root, || std::fs::create_dir(root.join("a/b/c")).unwrap()), "a directory");
        let back = || {
            let file = std::fs::File::options().write(true).open(root.join("a/b/file")).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        };
        assert!(changed_after(&root, back), "a time that was set back");
    }

    #[test]
    fn no_link_is_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (root, outside) = (dir.path().join("root"), dir.path().join("outside"));
        std::fs::create_dir(&root).unwrap();
        std::fs::create_dir(&outside).unwrap();
        std::os::unix::fs::symlink(&outside, root.join("link")).unwrap();
        std::os::unix::fs::symlink(".", root.join("itself")).unwrap();
        assert!(!changed_after(&root, || std::fs::write(outside.join("file"), "text").unwrap()));
        assert_eq!(newest_change(&root.join("nothing")), None);
        assert_eq!(newest_change(&root.join("link")), None);
    }
}
