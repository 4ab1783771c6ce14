//! What a drive and a proof both stand on: git, the operator's repository and
//! the vault.

use windlass_store::VaultDir;
use windlass_workspace::{DiscoverError, Git, GitError, Repository, Vault, VaultError};

use crate::project::Project;
use crate::setup::locate_git;
use crate::surroundings::Surroundings;

pub(crate) struct Repositories {
    pub git: Git,
    pub repository: Repository,
    pub vault: Vault,
}

#[derive(Debug, thiserror::Error)]
pub enum RepositoriesError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Repository(#[from] DiscoverError),
    #[error(transparent)]
    Vault(#[from] VaultError),
}

impl Repositories {
    pub fn open(
        surroundings: &Surroundings,
        project: &Project,
        vault: &VaultDir,
    ) -> Result<Self, RepositoriesError> {
        let git = locate_git(surroundings)?;
        let repository = Repository::discover(&git, &project.top)?;
        let vault = Vault::open_or_create(&git, &vault.vault_git())?;
        Ok(Self { git, repository, vault })
    }
}
