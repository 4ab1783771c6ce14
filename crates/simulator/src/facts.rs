//! What survives a crash besides the log: the vault, the workspace, the branch,
//! and time. Effects are performed the way the real crates do it, over trees
//! that are a few numbers.

use std::collections::BTreeMap;

use windlass_core::broken_tests::BrokenTests;
use windlass_core::effect::Snapshot;
use windlass_core::finding::{Evidence, Rule};
use windlass_core::gate::{CheckResult, GateReport, TellNumbers, Trials};
use windlass_core::id::{BlobId, CommitId, TreeId};
use windlass_core::input::{Change, Input, PathList, Snapshotted, UnmergedWork, WorkMerge};
use windlass_core::outcome::{Fault, Reason};
use windlass_core::policy::STEP_CHECK;
use windlass_core::stop::{StopCheck, StopPolicy, StopResult};
use windlass_core::time::{Millis, Timestamp};

use crate::options::Terms;
use crate::tree::{Tree, commit};

pub(crate) struct Facts {
    pub terms: Terms,
    /// What the wall clock shows, which anybody may set.
    pub now: Timestamp,
    /// What passed since the loop was made.
    pub passed: Millis,
    pub workspace: Tree,
    pub branch: Option<CommitId>,
    /// An agent may have changed the workspace since its tree was recorded.
    pub unrecorded: bool,
    vault: BTreeMap<TreeId, Tree>,
}

impl Facts {
    pub(crate) fn new(terms: Terms) -> Self {
        let base = Tree::default();
        let vault = BTreeMap::from([(base.id(), base)]);
        Self {
            terms,
            now: Timestamp(1_767_225_600_000),
            passed: Millis(0),
            workspace: base,
            branch: None,
            unrecorded: false,
            vault,
        }
    }

    pub(crate) fn pass(&mut self, span: Millis) {
        self.now = self.now.plus(span);
        self.passed = Millis(self.passed.0 + span.0);
    }

    /// A tree is in the vault before anything asks for it.
    pub(crate) fn tree(&self, id: &TreeId) -> Result<Tree, String> {
        self.vault.get(id).copied().ok_or_else(|| format!("tree {id} was never recorded"))
    }

    pub(crate) fn prepare(&mut self, tree: &TreeId) -> Result<Input, String> {
        if self.unrecorded {
            return Err("what an agent left is overwritten before it was recorded".to_owned());
        }
        self.workspace = self.tree(tree)?;
        Ok(Input::WorkspaceReady)
    }

    pub(crate) fn merge(&mut self, base: &TreeId, work: &TreeId, head: &TreeId) -> Result<Input, String> {
        let [from, theirs, ours] = [self.tree(base)?, self.tree(work)?, self.tree(head)?];
        let merged = match theirs.merged(from, ours) {
            Some(tree) => {
                self.vault.insert(tree.id(), tree);
                WorkMerge::Clean { tree: tree.id(), change: Change::default() }
            }
            None => WorkMerge::NotMerged(UnmergedWork {
                base: base.clone(),
                work: work.clone(),
                conflicts: PathList { count: 1, paths: vec!["a.rs".to_owned()] },
                failure: String::new(),
                files: 1,
            }),
        };
        Ok(Input::WorkMerged(Box::new(merged)))
    }

    pub(crate) fn snapshot(&mut self, asked: &Snapshot) -> Result<Input, String> {
        let (tree, restored) = (self.workspace, self.workspace.restored());
        let trusted = tree.on_trusted_terms();
        for tree in [tree, restored, trusted] {
            self.vault.insert(tree.id(), tree);
        }
        self.unrecorded = false;
        let from = self.tree(&asked.from)?;
        let tampered = Evidence::new(Rule::ProtectedChanged, "test.sh");
        let changed = if tree.weakened { vec!["Makefile".to_owned()] } else { Vec::new() };
        Ok(Input::Snapshotted(Box::new(Snapshotted {
            gate_tree: restored.id(),
            trusted_tree: tree.weakened.then(|| trusted.id()),
            changed_terms: PathList { count: changed.len() as u64, paths: changed },
            whitespace_only: tree.differs_in_spaces_only(from),
            evidence: tree.tampered.then_some(tampered).into_iter().collect(),
            ..Snapshotted::of(commit(&tree.id(), &asked.parent, asked.date), tree.id())
        })))
    }

    /// `before` is the tree that the work in hand stands on.
    pub(crate) fn gate(&self, trials: &Trials, checks: &[String], before: &TreeId) -> Result<Input, String> {
        let before = self.tree(before)?;
        let landing = self.tree(&trials.landing)?;
        let mut report = GateReport::from(self.results(landing, before, checks));
        if let Some(trusted) = trials.trusted.as_ref().filter(|_| report.landing_exited_well()) {
            report.trusted = self.results(self.tree(trusted)?, before, checks);
        }
        Ok(Input::GateReported(report))
    }

    fn results(&self, tree: Tree, before: Tree, checks: &[String]) -> Vec<CheckResult> {
        let passes = |check: &String| match check.as_str() {
            STEP_CHECK => tree.work[0] == before.work[0] + 1,
            check => self.terms.passes(check, tree),
        };
        let result = |check: &String| CheckResult {
            check: check.clone(),
            exit_code: Some(i32::from(!tree.weakened && !passes(check))),
            signal: None,
            timed_out: false,
            duration_ms: Millis::seconds(10),
            output: BlobId::new("output"),
            excerpt: String::new(),
            without_hidden: None,
            tell_numbers: TellNumbers::All,
            strays: 0,
            again: false,
            tally: None,
            writes: None,
            control: None,
            broken_tests: Some(BrokenTests::default()),
            caught: None,
        };
        checks.iter().map(result).collect()
    }

    /// Each stop check asks whether the first task has come as far as it goes.
    pub(crate) fn stop(&self, tree: &TreeId, policy: &StopPolicy) -> Result<Input, String> {
        let holds = self.tree(tree)?.work[0] >= self.terms.needs[0];
        let result = |check: &StopCheck| StopResult {
            check: check.name.clone(),
            holds,
            why: String::new(),
            output: None,
        };
        Ok(Input::StopChecked(policy.checks.iter().map(result).collect()))
    }

    /// Compare and swap; landing what is there already is landing.
    pub(crate) fn land(&mut self, commit: &CommitId, expected: Option<&CommitId>) -> Input {
        if self.branch.as_ref() == Some(commit) || self.branch.as_ref() == expected {
            self.branch = Some(commit.clone());
            return Input::Landed;
        }
        Input::EffectFailed(Fault { reason: Reason::BranchMoved, detail: "the branch moved".to_owned() })
    }
}
