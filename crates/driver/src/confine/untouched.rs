//! Directories that a program finds empty. One that nobody has touched since it was made is given again: to make
//! and to remove directories is slow where much was removed just before.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, StatxFlags, statx};
use windlass_process::remove_tree;

const MODE: u32 = 0o700;

/// Leaves these directories in `dir`, each empty, and nothing else.
pub fn clear(dir: &Path, kept: &[PathBuf]) -> io::Result<()> {
    match fs::read_dir(dir) {
        Ok(entries) => {
            for entry in entries {
                let path = entry?.path();
                if !kept.contains(&path) {
                    remove(&path)?;
                }
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        // Whatever is wrong with it is gone with it.
        Err(_) => remove(dir)?,
    }
    kept.iter().try_for_each(|dir| renew(dir))
}

/// As if it had just been made.
pub fn renew(dir: &Path) -> io::Result<()> {
    if is_untouched(dir) {
        return Ok(());
    }
    remove(dir)?;
    make(dir)
}

pub fn make(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(MODE).create(dir)
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => remove_tree(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Whatever is put there, taken away, allowed or noted on it changes the time of its last change. Where a file
/// system does not say when a directory was made, none is untouched.
fn is_untouched(dir: &Path) -> bool {
    let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
    let Ok(found) = statx(CWD, dir, AtFlags::SYMLINK_NOFOLLOW, wanted) else { return false };
    let tells = StatxFlags::from_bits_retain(found.stx_mask).contains(wanted);
    let (made, changed) = (found.stx_btime, found.stx_ctime);
    let is_unchanged = (made.tv_sec, made.tv_nsec) == (changed.tv_sec, changed.tv_nsec);
    let mode = u32::from(found.stx_mode);
    let is_plain = FileType::from_raw_mode(mode) == FileType::Directory && mode & 0o7777 == MODE;
    // The clock of a file system stands still for a few milliseconds, so what can be seen is looked at too.
    tells && is_unchanged && is_plain && is_empty(dir)
}

fn is_empty(dir: &Path) -> bool {
    fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    struct Stage(tempfile::TempDir);

    impl Stage {
        fn new() -> Self {
            let stage = Self(tempfile::tempdir().unwrap());
            make(&stage.home()).unwrap();
            stage
        }

        fn home(&self) -> PathBuf {
            self.0.path().join("home")
        }

        fn inode(&self) -> u64 {
            fs::metadata(self.home()).unwrap().ino()
        }

        /// Until the file system's clock has gone on, what is done to a directory cannot be told by time.
        fn after_a_tick(&self) {
            let now = || fs::metadata(tempfile::NamedTempFile::new_in(self.0.path()).unwrap()).unwrap();
            let first = (now().ctime(), now().ctime_nsec());
            while (now().ctime(), now().ctime_nsec()) == first {
                std::thread::yield_now();
            }
        }
    }

    #[test]
    fn one_that_nobody_touched_is_given_again() {
        let stage = Stage::new();
        let first = stage.inode();
        if !is_untouched(&stage.home()) {
            return windlass_testkit::capability::not_run(
                "this file system does not say when a file was made",
            );
        }
        renew(&stage.home()).unwrap();
        assert_eq!(stage.inode(), first);
    }

    #[test]
    fn what_was_done_to_one_does_not_last() {
        let deeds: [fn(&Path); 5] = [
            |home| fs::write(home.join("planted"), "x").unwrap(),
            |home| {
                fs::write(home.join("planted"), "x").unwrap();
                fs::remove_file(home.join("planted")).unwrap();
            },
            |home| fs::set_permissions(home, fs::Permissions::from_mode(0o000)).unwrap(),
            |home| {
                let at = std::time::SystemTime::UNIX_EPOCH;
                fs::File::open(home).unwrap().set_modified(at).unwrap();
            },
            |home| {
                let _ = rustix::fs::setxattr(home, "user.note", b"x", rustix::fs::XattrFlags::empty());
                fs::create_dir(home.join("deep")).unwrap();
            },
        ];
        for (nth, deed) in deeds.into_iter().enumerate() {
            let stage = Stage::new();
            stage.after_a_tick();
            deed(&stage.home());
            assert!(!is_untouched(&stage.home()), "deed {nth}");
            clear(stage.0.path(), &[stage.home()]).unwrap();
            let left: Vec<_> = fs::read_dir(stage.home()).unwrap().collect();
            assert!(left.is_empty(), "deed {nth}: {left:?}");
            let found = fs::metadata(stage.home()).unwrap();
            assert_eq!(found.permissions().mode() & 0o777, MODE, "deed {nth}");
            assert!(found.modified().unwrap() > std::time::SystemTime::UNIX_EPOCH, "deed {nth}");
        }
    }

    #[test]
    fn nothing_else_is_left_beside_them() {
        let stage = Stage::new();
        fs::write(stage.0.path().join("seeded"), "x").unwrap();
        std::os::unix::fs::symlink("/nowhere", stage.0.path().join("link")).unwrap();
        clear(stage.0.path(), &[stage.home()]).unwrap();
        assert_eq!(fs::read_dir(stage.0.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_link_in_the_place_of_one_is_replaced() {
        let stage = Stage::new();
        let victim = tempfile::tempdir().unwrap();
        fs::write(victim.path().join("kept"), "x").unwrap();
        fs::remove_dir(stage.home()).unwrap();
        std::os::unix::fs::symlink(victim.path(), stage.home()).unwrap();
        renew(&stage.home()).unwrap();
        assert!(fs::symlink_metadata(stage.home()).unwrap().is_dir());
        assert!(victim.path().join("kept").exists());
    }
}
