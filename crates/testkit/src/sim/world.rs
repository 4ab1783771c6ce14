//! What survives a crash besides the log: the vault, the workspace, the branch,
//! and time. It performs effects the way the real crates do, over trees that
//! are a few numbers.

use std::collections::BTreeMap;

use windlass_core::effect::Snapshot;
use windlass_core::finding::{Evidence, Rule};
use windlass_core::gate::CheckResult;
use windlass_core::id::{BlobId, CommitId, TreeId};
use windlass_core::input::{Change, Input, Snapshotted};
use windlass_core::outcome::{Fault, Reason};
use windlass_core::time::{Millis, Timestamp};

use super::options::Terms;
use super::tree::{Tree, commit};

pub struct World {
    pub terms: Terms,
    pub now: Timestamp,
    pub workspace: Tree,
    pub branch: Option<CommitId>,
    vault: BTreeMap<TreeId, Tree>,
}

impl World {
    pub fn new(terms: Terms) -> Self {
        let base = Tree::default();
        let vault = BTreeMap::from([(base.id(), base)]);
        Self { terms, now: Timestamp(1_767_225_600_000), workspace: base, branch: None, vault }
    }

    pub fn pass(&mut self, span: Millis) {
        self.now = self.now.plus(span);
    }

    /// A tree is in the vault before anything asks for it.
    pub fn tree(&self, id: &TreeId) -> Result<Tree, String> {
        self.vault.get(id).copied().ok_or_else(|| format!("tree {id} was never recorded"))
    }

    pub fn prepare(&mut self, tree: &TreeId) -> Result<Input, String> {
        self.workspace = self.tree(tree)?;
        Ok(Input::WorkspaceReady)
    }

    pub fn snapshot(&mut self, asked: &Snapshot) -> Result<Input, String> {
        let (tree, restored) = (self.workspace, self.workspace.restored());
        for tree in [tree, restored] {
            self.vault.insert(tree.id(), tree);
        }
        let from = self.tree(&asked.from)?;
        let tampered = Evidence::new(Rule::ProtectedChanged, "test.sh");
        Ok(Input::Snapshotted(Box::new(Snapshotted {
            commit: commit(&tree.id(), &asked.parent, asked.date),
            tree: tree.id(),
            gate_tree: restored.id(),
            change: Change::default(),
            whitespace_only: tree.differs_in_spaces_only(from),
            evidence: tree.tampered.then_some(tampered).into_iter().collect(),
        })))
    }

    pub fn gate(&self, tree: &TreeId, checks: &[String]) -> Result<Input, String> {
        let tree = self.tree(tree)?;
        let result = |check: &String| CheckResult {
            check: check.clone(),
            exit_code: Some(i32::from(!self.terms.passes(check, tree))),
            signal: None,
            timed_out: false,
            duration_ms: Millis::seconds(10),
            output: BlobId::new("output"),
            excerpt: String::new(),
            strays: 0,
            again: false,
            tally: None,
            control: None,
        };
        Ok(Input::GateReported(checks.iter().map(result).collect()))
    }

    /// Compare and swap; landing what is there already is landing.
    pub fn land(&mut self, commit: &CommitId, expected: Option<&CommitId>) -> Input {
        if self.branch.as_ref() == Some(commit) || self.branch.as_ref() == expected {
            self.branch = Some(commit.clone());
            return Input::Landed;
        }
        Input::EffectFailed(Fault { reason: Reason::BranchMoved, detail: "the branch moved".to_owned() })
    }
}
