//! Trees that a loop recorded, for its operator: as a diff, and as a branch.

use windlass_core::id::{CommitId, TreeId};
use windlass_store::VaultDir;
use windlass_workspace::{LandError, LandRequest, VaultError, land};

use crate::project::Project;
use crate::repositories::{Repositories, RepositoriesError};
use crate::surroundings::Surroundings;

/// More of a diff nobody reads.
const DIFF_BYTES: usize = 16 << 20;

pub struct KeptTrees {
    repositories: Repositories,
}

/// A diff as git prints it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrintedDiff {
    pub bytes: Vec<u8>,
    /// The end of it is left out.
    pub is_cut: bool,
}

impl KeptTrees {
    pub fn open(
        surroundings: &Surroundings,
        project: &Project,
        vault: &VaultDir,
    ) -> Result<Self, RepositoriesError> {
        Ok(Self { repositories: Repositories::open(surroundings, project, vault)? })
    }

    pub fn diff(&self, old: &TreeId, new: &TreeId) -> Result<PrintedDiff, VaultError> {
        let text = self.repositories.vault.diff_text(old, new, DIFF_BYTES)?;
        Ok(PrintedDiff { bytes: text.bytes, is_cut: text.truncated })
    }

    /// Makes this branch of the operator's repository at this commit. It may be there
    /// already, but nowhere else.
    pub fn bring_out(&self, branch: &str, commit: &CommitId) -> Result<(), LandError> {
        let Repositories { repository, vault, .. } = &self.repositories;
        let request = LandRequest {
            branch: &format!("refs/heads/{branch}"),
            commit,
            expected: None,
            reflog: "windlass: brought out",
            identity: &repository.identity,
        };
        land(repository, vault, &request).map(|_| ())
    }
}
