//! What is closed to everybody but root and its groups. A program of root's gives up every capability, but it
//! still owns such files, and would read what no ordinary user of the machine may.

use std::fs::DirEntry;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Where a machine keeps what is its own. The rest of the system is what its packages bring, for everybody.
pub const OF_THIS_MACHINE: [&str; 3] = ["/etc", "/opt", "/usr/local"];

/// Each hidden path is a mount at every start of a program; a directory with more of them is hidden as a whole.
const MOST_OF_ONE_DIR: usize = 64;

const OTHERS_READ: u32 = 0o004;
const OTHERS_SEARCH: u32 = 0o001;

/// Files that others may not read and directories that others may not enter, below any of `roots`. Links are
/// not followed, and what cannot be looked at is left out.
pub fn closed_to_others(roots: &[PathBuf]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending: Vec<PathBuf> = roots.to_vec();
    while let Some(dir) = pending.pop() {
        let entries: Vec<DirEntry> = std::fs::read_dir(&dir).into_iter().flatten().flatten().collect();
        let closed: Vec<PathBuf> =
            entries.iter().filter(|entry| is_closed(entry)).map(DirEntry::path).collect();
        if closed.len() > MOST_OF_ONE_DIR && !roots.contains(&dir) {
            found.push(dir);
            continue;
        }
        let is_dir = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.is_dir());
        let open = entries.iter().map(DirEntry::path).filter(|path| !closed.contains(path));
        pending.extend(open.filter(|path| is_dir(path)));
        found.extend(closed);
    }
    found
}

fn is_closed(entry: &DirEntry) -> bool {
    let Ok(meta) = entry.metadata() else { return false };
    let mode = meta.permissions().mode();
    match (meta.is_dir(), meta.is_file()) {
        (true, _) => mode & OTHERS_SEARCH == 0,
        (_, true) => mode & OTHERS_READ == 0,
        (false, false) => false,
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{Permissions, create_dir, set_permissions, write};
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_others_may_not_read_is_found_and_the_rest_is_not() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        for (dir, mode) in [("open", 0o755), ("shut", 0o750), ("nameless", 0o711), ("many", 0o755)] {
            create_dir(at(dir)).unwrap();
            for (file, mode) in [("public", 0o644), ("secret", 0o640)] {
                write(at(dir).join(file), "text").unwrap();
                set_permissions(at(dir).join(file), Permissions::from_mode(mode)).unwrap();
            }
            set_permissions(at(dir), Permissions::from_mode(mode)).unwrap();
        }
        for number in 0..=MOST_OF_ONE_DIR {
            let file = at("many").join(number.to_string());
            write(&file, "text").unwrap();
            set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        }
        symlink(at("open/secret"), at("link")).unwrap();
        symlink(".", at("itself")).unwrap();
        let mut found = closed_to_others(&[root.path().to_path_buf(), at("gone")]);
        found.sort();
        assert_eq!(found, ["many", "nameless/secret", "open/secret", "shut"].map(at));
    }
}
