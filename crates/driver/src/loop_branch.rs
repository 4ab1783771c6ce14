//! Whether the branch of a loop is still in the operator's repository, and where, found without running git: commands
//! that only read must be quick. Git is asked only of a branch that is not where the loop left it.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use windlass_core::id::CommitId;
use windlass_workspace::Repository;

use crate::setup::{count_commits, is_commit, locate_git};
use crate::surroundings::Surroundings;

/// A branch, as far as files tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BranchPlace {
    Gone,
    At(CommitId),
    /// Its repository has a format that only git reads, or the branch stands for another one.
    OnlyGitKnows,
}

pub fn place(common_dir: &Path, branch: &str) -> BranchPlace {
    let name = format!("refs/heads/{}", branch.strip_prefix("refs/heads/").unwrap_or(branch));
    if common_dir.join("reftable").is_dir() {
        return BranchPlace::OnlyGitKnows;
    }
    let file = common_dir.join(&name);
    match fs::symlink_metadata(&file) {
        Ok(found) if !found.is_dir() => at(&fs::read(file).unwrap_or_default()),
        Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            BranchPlace::OnlyGitKnows
        }
        Ok(_) | Err(_) => match fs::read(common_dir.join("packed-refs")) {
            Ok(packed) => packed_at(&packed, name.as_bytes()).map_or(BranchPlace::Gone, at),
            Err(error) if error.kind() == ErrorKind::NotFound => BranchPlace::Gone,
            Err(_) => BranchPlace::OnlyGitKnows,
        },
    }
}

/// Whether there is a branch of this name.
pub fn is_there(common_dir: &Path, surroundings: &Surroundings, branch: &str) -> bool {
    match place(common_dir, branch) {
        BranchPlace::Gone => false,
        BranchPlace::At(_) => true,
        BranchPlace::OnlyGitKnows => tip_by_git(surroundings, branch).is_some(),
    }
}

/// The commit of a branch that does not hold what landed. One that has commits on top of it holds it: they are the
/// operator's.
pub fn elsewhere(
    place: BranchPlace,
    landed: &CommitId,
    surroundings: &Surroundings,
    branch: &str,
) -> Option<CommitId> {
    let tip = match place {
        BranchPlace::Gone => return None,
        BranchPlace::At(tip) => tip,
        BranchPlace::OnlyGitKnows => tip_by_git(surroundings, branch)?,
    };
    let holds = || {
        is_commit(surroundings, landed.as_str()) && count_commits(surroundings, landed.as_str(), &[&tip]) == 0
    };
    (tip != *landed && !holds()).then_some(tip)
}

fn tip_by_git(surroundings: &Surroundings, branch: &str) -> Option<CommitId> {
    let git = locate_git(surroundings).ok()?;
    let repository = Repository::discover(&git, &surroundings.project).ok()?;
    let short = branch.strip_prefix("refs/heads/").unwrap_or(branch);
    repository.resolve(&format!("refs/heads/{short}")).ok()
}

fn at(object: &[u8]) -> BranchPlace {
    match std::str::from_utf8(object.trim_ascii()) {
        Ok(hash) if !hash.is_empty() && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            BranchPlace::At(CommitId::new(hash))
        }
        Ok(_) | Err(_) => BranchPlace::OnlyGitKnows,
    }
}

/// A line is an object and a name, or a comment.
fn packed_at<'a>(packed: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    packed.split(|byte| *byte == b'\n').find_map(|line| {
        let blank = line.iter().position(|byte| *byte == b' ')?;
        (line[blank + 1..].trim_ascii_end() == name).then(|| &line[..blank])
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
        let at = |hash: &str| BranchPlace::At(CommitId::new(hash));
        assert_eq!(place(git, "windlass/demo"), BranchPlace::Gone);
        write(&git.join("refs/heads/windlass/demo"), "1\n");
        assert_eq!(place(git, "windlass/demo"), at("1"));
        assert_eq!(place(git, "refs/heads/windlass/demo"), at("1"));
        let packed =
            "# pack-refs with: peeled\n3 refs/heads/windlass/demo\n1a refs/heads/windlass/other\n^2\n";
        write(&git.join("packed-refs"), packed);
        assert_eq!((place(git, "windlass/demo"), place(git, "windlass/other")), (at("1"), at("1a")));
        for absent in ["windlass/othe", "windlass"] {
            assert_eq!(place(git, absent), BranchPlace::Gone, "{absent}");
        }
        write(&git.join("refs/heads/windlass/demo"), "ref: refs/heads/main\n");
        assert_eq!(place(git, "windlass/demo"), BranchPlace::OnlyGitKnows);
        fs::create_dir(git.join("reftable")).unwrap();
        assert_eq!(place(git, "windlass"), BranchPlace::OnlyGitKnows);
    }
}
