//! A snapshot: the workspace's files as a commit in the vault, whatever the
//! agent's own git says.

use gix_object::Kind;
use windlass_core::id::{CommitId, TreeId};

use crate::commit::{CommitText, encode_commit};
use crate::evidence::{self, WorkspaceEvidence};
use crate::fault::abort_point;
use crate::id::{commit_id, commit_oid, tree_id};
use crate::objects::hash;
use crate::pack::NewObject;
use crate::space::{ReadFiles, SnapshotRules, Space, SpaceError};
use crate::trees;
use crate::vault::Vault;

pub struct SnapshotRequest<'a> {
    pub rules: &'a SnapshotRules,
    pub parents: &'a [CommitId],
    pub text: &'a CommitText,
    pub reading: ReadFiles,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredSnapshot {
    pub commit: CommitId,
    pub tree: TreeId,
    /// Objects the vault did not have.
    pub new_objects: usize,
    pub evidence: Vec<WorkspaceEvidence>,
}

impl Space {
    /// Every process of the attempt must be dead. The commit is durable when
    /// this returns; giving it a ref is the caller's next step.
    pub fn snapshot(
        &mut self,
        vault: &Vault,
        request: &SnapshotRequest<'_>,
    ) -> Result<StoredSnapshot, SpaceError> {
        let parents = request.parents.iter().map(commit_oid).collect::<Result<Vec<_>, _>>()?;
        let sink = vault.sink();
        let walked = self.walk(vault, request.rules, request.reading, &sink)?;
        let commit = encode_commit(walked.tree, &parents, request.text);
        let oid = hash(Kind::Commit, &commit)?;
        sink.put(&mut vault.worker(), &NewObject { oid, kind: Kind::Commit, content: &commit })?;
        let new_objects = sink.finish()?;
        abort_point("workspace::pack");
        if new_objects > 0 {
            vault.see(oid)?;
        }
        let mut reader = vault.reader();
        let changes = trees::diff(&mut reader, walked.base.tree, walked.tree)?;
        let mut evidence = walked.skipped.clone();
        evidence.extend(evidence::of_changes(&mut reader, &walked.base, walked.tree, &changes)?);
        let snapshot =
            StoredSnapshot { commit: commit_id(oid), tree: tree_id(walked.tree), new_objects, evidence };
        self.keep(walked, new_objects)?;
        Ok(snapshot)
    }
}
