//! Where the operator's project is, found without running git: commands that
//! only read must be quick.

use std::io;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// The top of the checkout.
    pub top: PathBuf,
    /// The directory all worktrees of the repository share: its identity.
    pub common_dir: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    #[error("{}: not a git repository, nor is any directory above it", .0.display())]
    NotARepository(PathBuf),
    #[error("{}: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
}

/// Looks upwards from a directory for the repository it belongs to.
pub fn locate(from: &Path) -> Result<Project, ProjectError> {
    let unreadable = |path: &Path| {
        let path = path.to_owned();
        move |source| ProjectError::Unreadable { path, source }
    };
    let start = from.canonicalize().map_err(unreadable(from))?;
    for top in start.ancestors() {
        let dot_git = top.join(".git");
        let Ok(meta) = dot_git.symlink_metadata() else { continue };
        let git_dir = if meta.is_file() {
            let text = std::fs::read_to_string(&dot_git).map_err(unreadable(&dot_git))?;
            let Some(target) = text.strip_prefix("gitdir:") else { continue };
            top.join(target.trim())
        } else {
            dot_git
        };
        if !git_dir.join("HEAD").exists() {
            continue;
        }
        let common_dir = match std::fs::read_to_string(git_dir.join("commondir")) {
            Ok(text) => git_dir.join(text.trim()),
            Err(_) => git_dir,
        };
        let common_dir = common_dir.canonicalize().map_err(unreadable(&common_dir))?;
        return Ok(Project { top: top.to_owned(), common_dir });
    }
    Err(ProjectError::NotARepository(start))
}
