//! What an attempt changed, file by file, as the vault has it.

use serde::Serialize;
use windlass_core::id::TreeId;
use windlass_core::plain::plain_bytes;
use windlass_store::VaultDir;
use windlass_workspace::{Vault, VaultError};

use crate::setup::locate_git;
use crate::surroundings::Surroundings;

/// One file that differs between two trees.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChangedFile {
    pub path: String,
    /// Lines; none for a file that is no text.
    pub added: Option<u64>,
    pub removed: Option<u64>,
}

/// The vault of a project, to be read.
pub struct TreeComparison(Vault);

impl TreeComparison {
    pub fn open(surroundings: &Surroundings, vault: &VaultDir) -> Result<Self, VaultError> {
        let git = locate_git(surroundings)?;
        Ok(Self(Vault::open_or_create(&git, &vault.vault_git())?))
    }

    pub fn files(&self, before: &TreeId, after: &TreeId) -> Result<Vec<ChangedFile>, VaultError> {
        let counts = self.0.line_counts(before, after)?.into_iter();
        Ok(counts
            .map(|of| ChangedFile {
                path: plain_bytes(&of.path).replace('\n', " "),
                added: of.lines.map(|lines| lines.added),
                removed: of.lines.map(|lines| lines.removed),
            })
            .collect())
    }
}
