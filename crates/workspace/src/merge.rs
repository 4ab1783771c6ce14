//! A merge of three trees, in the vault and by git itself. Nothing that an agent
//! could write takes part but the trees: the vault has its own configuration, no
//! attributes, no hooks, and no file is checked out.

use std::time::Duration;

use gix_object::bstr::BString;
use windlass_core::id::{CommitId, TreeId};

use crate::commit::CommitText;
use crate::git::GitError;
use crate::id::{parse, tree_id};
use crate::repository::Identity;
use crate::vault::{Vault, VaultError};

/// It grows with what changed on both sides, and with the search for renamed files.
const MERGE_TIMEOUT: Duration = Duration::from_secs(300);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TreeMerge {
    Clean(TreeId),
    Conflicts(Vec<BString>),
    /// Git could not tell.
    Failed(String),
}

impl Vault {
    /// What changed from `base` to `theirs`, on top of `ours`.
    pub fn merge(&self, base: &TreeId, ours: &TreeId, theirs: &TreeId) -> Result<TreeMerge, VaultError> {
        if base == ours {
            return Ok(TreeMerge::Clean(theirs.clone()));
        }
        // Git before 2.45 merges commits only, and looks for their base itself.
        let from = self.side(base, &[])?;
        let sides = [ours, theirs].map(|tree| self.side(tree, std::slice::from_ref(&from)));
        let [ours, theirs] = sides;
        let asked = self
            .git_here()
            .config("core.fsync=objects")
            .config("merge.renameLimit=1000")
            .timeout(MERGE_TIMEOUT)
            .args(["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages"])
            .args([ours?.as_str(), theirs?.as_str()])
            .or_answer(1);
        let printed = match asked.run() {
            Ok(printed) => printed,
            Err(
                error
                @ (GitError::TimedOut { .. } | GitError::Failed { .. } | GitError::TooMuchOutput { .. }),
            ) => {
                return Ok(TreeMerge::Failed(error.to_string()));
            }
            Err(error) => return Err(error.into()),
        };
        let mut fields = printed.stdout.split(|byte| *byte == 0).filter(|field| !field.is_empty());
        let tree = parse(&String::from_utf8_lossy(fields.next().unwrap_or_default()))?;
        if printed.answered {
            return Ok(TreeMerge::Conflicts(fields.map(BString::from).collect()));
        }
        self.see(tree)?;
        Ok(TreeMerge::Clean(tree_id(tree)))
    }

    fn side(&self, tree: &TreeId, parents: &[CommitId]) -> Result<CommitId, VaultError> {
        let author = Identity { name: "windlass".to_owned(), email: "windlass@localhost".to_owned() };
        self.commit(
            tree,
            parents,
            &CommitText { message: "A side of a merge\n".to_owned(), author, date_ms: 0 },
        )
    }
}
