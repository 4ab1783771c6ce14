//! Whether the branch of a loop is still in the operator's repository, found without running git: commands that
//! only read must be quick.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// No, where it cannot be told.
pub fn is_gone(common_dir: &Path, branch: &str) -> bool {
    let name = format!("refs/heads/{}", branch.strip_prefix("refs/heads/").unwrap_or(branch));
    // Only git reads the tables of this format.
    if common_dir.join("reftable").is_dir() {
        return false;
    }
    match fs::symlink_metadata(common_dir.join(&name)) {
        Ok(found) if !found.is_dir() => false,
        Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => false,
        Ok(_) | Err(_) => match fs::read(common_dir.join("packed-refs")) {
            Ok(packed) => !is_packed(&packed, name.as_bytes()),
            Err(error) => error.kind() == ErrorKind::NotFound,
        },
    }
}

/// A line is an object and a name, or a comment.
fn is_packed(packed: &[u8], name: &[u8]) -> bool {
    packed.split(|byte| *byte == b'\n').any(|line| {
        let blank = line.iter().position(|byte| *byte == b' ');
        blank.is_some_and(|blank| line[blank + 1..].trim_ascii_end() == name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(file: &Path, text: &str) {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    #[test]
    fn a_branch_is_a_file_or_a_line_of_the_packed_ones() {
        let temp = tempfile::tempdir().unwrap();
        let git = temp.path();
        assert!(is_gone(git, "windlass/demo"));
        write(&git.join("refs/heads/windlass/demo"), "1\n");
        assert!(!is_gone(git, "windlass/demo") && !is_gone(git, "refs/heads/windlass/demo"));
        write(&git.join("packed-refs"), "# pack-refs with: peeled\n1 refs/heads/windlass/other\n^2\n");
        assert!(!is_gone(git, "windlass/other"));
        assert!(is_gone(git, "windlass/othe") && is_gone(git, "windlass"));
        fs::create_dir(git.join("reftable")).unwrap();
        assert!(!is_gone(git, "windlass"), "it cannot be told");
    }
}
