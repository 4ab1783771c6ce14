//! Files of root's, by a path that an ordinary user can go.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use anyhow::Result;

/// The same files by another path, which anybody can go. Copies, where a link cannot be made.
pub fn link_tree(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    fs::set_permissions(to, fs::Permissions::from_mode(0o755))?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, place) = (entry.path(), to.join(entry.file_name()));
        match entry.file_type()?.is_dir() {
            true => link_tree(&path, &place)?,
            false => link_file(&path, &place)?,
        }
    }
    Ok(())
}

/// The same for one file, or one link.
pub fn link_file(from: &Path, to: &Path) -> Result<()> {
    let found = fs::symlink_metadata(from)?;
    if found.is_symlink() {
        symlink(fs::read_link(from)?, to)?;
    } else if !is_for_all(&found) || fs::hard_link(from, to).is_err() {
        fs::copy(from, to)?;
        let mode = found.permissions().mode();
        let run = if mode & 0o100 == 0 { 0 } else { 0o111 };
        fs::set_permissions(to, fs::Permissions::from_mode(mode | 0o444 | run))?;
    }
    Ok(())
}

/// Whether anybody may do with a file what its owner may, but write it.
fn is_for_all(found: &fs::Metadata) -> bool {
    let mode = found.permissions().mode();
    mode & 0o004 != 0 && (mode & 0o100 == 0 || mode & 0o001 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_brought_readable_for_anybody() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        fs::create_dir_all(from.join("bin")).unwrap();
        for (name, mode) in [("bin/mine", 0o700), ("bin/all", 0o755), ("plain", 0o600)] {
            fs::write(from.join(name), name).unwrap();
            fs::set_permissions(from.join(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        fs::set_permissions(from.join("bin"), fs::Permissions::from_mode(0o700)).unwrap();
        symlink("bin/mine", from.join("link")).unwrap();
        link_tree(&from, &to).unwrap();
        let mode = |name: &str| fs::metadata(to.join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!(
            [mode("bin"), mode("bin/mine"), mode("bin/all"), mode("plain")],
            [0o755, 0o755, 0o755, 0o644]
        );
        assert_eq!(fs::read_to_string(to.join("link")).unwrap(), "bin/mine");
        let kept = fs::metadata(from.join("bin/mine")).unwrap().permissions().mode() & 0o777;
        assert_eq!(kept, 0o700, "the original is as it was");
    }
}
