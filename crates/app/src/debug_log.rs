//! Where the debug log lies. What goes into it is up to the surface's process.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use crate::error::Classify as _;
use crate::{AppError, Caller};

/// A log that has grown past this is put aside when it is opened, as `debug.log.old`.
const LARGE: u64 = 32 << 20;

/// A file that many processes append to, for its owner's eyes only.
pub struct DebugLog {
    pub path: PathBuf,
    pub file: File,
}

pub fn open_debug_log(caller: &Caller) -> Result<DebugLog, AppError> {
    let state = caller.state()?;
    state.create_checked().or_broken()?;
    let path = state.root().join("debug.log");
    let file = open(&path, LARGE)
        .map_err(|error| AppError::broken(format!("the debug log {}: {error}", path.display())))?;
    Ok(DebugLog { path, file })
}

fn open(path: &Path, large: u64) -> io::Result<File> {
    if fs::metadata(path).is_ok_and(|found| found.len() > large) {
        fs::rename(path, path.with_extension("log.old"))?;
    }
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn it_is_private_is_appended_to_and_does_not_grow_without_end() {
        let temp = tempfile::tempdir().unwrap();
        let caller = Caller { state_dir: Some(temp.path().join("state")), ..Caller::default() };
        for line in ["one\n", "two\n"] {
            open_debug_log(&caller).unwrap().file.write_all(line.as_bytes()).unwrap();
        }
        let path = open_debug_log(&caller).unwrap().path;
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntwo\n");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);

        open(&path, 7).unwrap().write_all(b"three\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "three\n");
        assert_eq!(fs::read_to_string(temp.path().join("state/debug.log.old")).unwrap(), "one\ntwo\n");
    }
}
