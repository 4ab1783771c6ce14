//! What a loop leaves for its operator: its branch, its proof, its trail.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_core::history::AttemptRecord;
use windlass_core::id::{CommitId, TreeId};
use windlass_core::view::View;
use windlass_driver::kept_trees::{KeptTrees, PrintedDiff};
use windlass_driver::loop_branch;
use windlass_driver::prove::{self, Grade, Proof, ProofRequest, Rerun};
use windlass_driver::setup;
use windlass_driver::take::{self, FilterRule, TakeOutcome};
use windlass_driver::trail;
use windlass_store::Store;

use crate::error::Classify as _;
use crate::{AppError, OpenProject, StoredLoop};

/// What an attempt left, as a branch of the operator's repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptBranch {
    pub branch: String,
    pub commit: CommitId,
}

impl OpenProject {
    /// How two trees of a loop differ.
    pub fn diff(&self, old: &TreeId, new: &TreeId) -> Result<PrintedDiff, AppError> {
        self.kept_trees()?.diff(old, new).or_broken()
    }

    /// Makes a branch of what an attempt left. The checkout stays as it is.
    pub fn take_attempt(&self, stored: &StoredLoop, number: &str) -> Result<AttemptBranch, AppError> {
        let found = stored.attempt(number)?;
        let commit = found.commit.clone().ok_or_else(|| stored.left_nothing(&found))?;
        let branch = format!("windlass/{}-attempt-{}", stored.name, found.attempt);
        self.kept_trees()?.bring_out(&branch, &commit).or_refused()?;
        Ok(AttemptBranch { branch, commit })
    }

    fn kept_trees(&self) -> Result<KeptTrees, AppError> {
        KeptTrees::open(&self.surroundings(), &self.project, &self.vault).or_broken()
    }

    /// How many commits the operator's checkout has and the loop does not.
    pub fn commits_it_lacks(&self, view: &View) -> usize {
        let its: Vec<&CommitId> = std::iter::once(&view.base).chain(&view.commit).collect();
        setup::count_commits(&self.surroundings(), "HEAD", &its)
    }

    /// Whether the loop has every commit of a revision; no, where git cannot say.
    pub(crate) fn has_all_commits_of(&self, view: &View, revision: &str) -> bool {
        let surroundings = self.surroundings();
        // A commit that the repository lost is one it cannot have in common with the revision.
        let is_known = |commit: &&CommitId| setup::is_commit(&surroundings, commit.as_str());
        let its: Vec<&CommitId> = std::iter::once(&view.base).chain(&view.commit).filter(is_known).collect();
        setup::is_commit(&surroundings, revision) && setup::count_commits(&surroundings, revision, &its) == 0
    }

    /// Whether the checkout has all that the loop landed.
    pub fn is_taken(&self, view: &View) -> bool {
        let (surroundings, head) = (self.surroundings(), CommitId::new("HEAD"));
        view.commit.as_ref().map(CommitId::as_str).is_some_and(|commit| {
            setup::is_commit(&surroundings, commit)
                && setup::count_commits(&surroundings, commit, &[&head]) == 0
        })
    }

    /// The loop whose branch is to be taken: by its exact name, or the only one.
    pub fn to_take(&self, name: Option<&str>) -> Result<StoredLoop, AppError> {
        let refused = match self.exact(name) {
            Err(refused) if name.is_none() => refused,
            found => return found,
        };
        let head = CommitId::new("HEAD");
        let has_more = |view: &View| {
            let landed = view.commit.as_ref();
            landed.is_some_and(|commit| {
                setup::count_commits(&self.surroundings(), commit.as_str(), &[&head]) > 0
            })
        };
        let views = self.loops()?.iter().map(StoredLoop::view).collect::<Result<Vec<View>, _>>()?;
        let hint = |refused: AppError, view: &View| {
            refused.hint(format!("`windlass take {}` brings: {}", view.name, view.goal))
        };
        Err(views.iter().filter(|view| has_more(view)).fold(refused, hint))
    }

    /// Brings a loop's branch into the operator's checkout, if that is plain.
    pub fn take(&self, view: &View, filters: FilterRule) -> Result<TakeOutcome, AppError> {
        let name = &view.name;
        if view.commit.is_none() {
            return Err(AppError::refused(format!("{name} has landed nothing yet"))
                .hint(format!("windlass status {name}")));
        }
        let surroundings = self.surroundings();
        if let Some(commit) = view.commit.as_ref().filter(|_| !setup::is_commit(&surroundings, &view.branch))
        {
            let (branch, commit) = (view.branch.as_str(), commit.as_str());
            let short = branch.strip_prefix("refs/heads/").unwrap_or(branch);
            let gone = AppError::refused(format!("the branch {short} is gone"));
            return Err(match setup::is_commit(&surroundings, commit) {
                true => gone.hint(format!("`git branch {short} {commit}` brings it back")),
                false => gone
                    .hint(format!("the repository does not have its commit {commit} either"))
                    .hint(format!("`windlass rm {name} --force` forgets the loop")),
            });
        }
        if let Some(refused) = self.elsewhere(view).filter(|_| !self.is_taken(view)) {
            return Err(refused);
        }
        take::take(&surroundings, &view.branch, filters).or_broken()
    }

    /// Why a branch has nothing to take that does not hold what landed.
    fn elsewhere(&self, view: &View) -> Option<AppError> {
        let (surroundings, landed) = (self.surroundings(), view.commit.as_ref()?);
        let place = loop_branch::place(self.vault.repository(), &view.branch);
        let tip = loop_branch::elsewhere(place, landed, &surroundings, &view.branch)?;
        let (branch, name) = (&view.branch, &view.name);
        let refused = AppError::refused(format!(
            "the branch {branch} is at {}, not at {}, which landed",
            tip.short(),
            landed.short()
        ));
        if !setup::is_commit(&surroundings, landed.as_str()) {
            return Some(
                refused
                    .hint(format!("the repository does not have the commit {landed} any more"))
                    .hint(format!("`windlass rm {name} --force` forgets the loop")),
            );
        }
        let refused = match setup::count_commits(&surroundings, tip.as_str(), &[&CommitId::new("HEAD")]) {
            0 => refused,
            _ => refused.hint(format!("what it has now is kept with `git branch OTHER-NAME {branch}`")),
        };
        Some(
            refused
                .hint(format!("`git branch -f {branch} {landed}` puts it back, then windlass take {name}")),
        )
    }

    /// The proof of completion, and whether it still holds.
    pub fn prove(&self, stored: &StoredLoop, rerun: Rerun) -> Result<Proof, AppError> {
        if rerun == Rerun::Yes && self.caller.is_inside_attempt {
            return Err(AppError::refused("`windlass prove --rerun` inside an attempt of a loop is refused")
                .hint("an attempt does its task; it runs no gate"));
        }
        let store = match rerun {
            Rerun::Yes => Some(self.store()?),
            Rerun::No => None,
        };
        prove::prove(&*stored.reader, &self.proof_request(stored, store)).or_broken()
    }

    /// What stands behind a completed loop, by its record.
    pub fn grades(&self, stored: &StoredLoop) -> Result<Vec<Grade>, AppError> {
        prove::grades_on_record(&*stored.reader, &self.proof_request(stored, None)).or_broken()
    }

    fn proof_request(&self, stored: &StoredLoop, rerun: Option<Arc<dyn Store>>) -> ProofRequest {
        ProofRequest {
            name: stored.name.clone(),
            surroundings: self.surroundings(),
            project: self.project.clone(),
            vault: self.vault.clone(),
            rerun,
        }
    }

    /// Writes the whole trail of a loop below a directory, from the log.
    pub fn export(&self, stored: &StoredLoop, below: &Path) -> Result<PathBuf, AppError> {
        std::fs::create_dir_all(below).map_err(|error| {
            AppError::broken(format!("{}: {error}", below.display()))
                .hint("choose another directory with --to")
        })?;
        trail::rebuild(&*stored.reader, &stored.name, below).or_broken()
    }
}

impl StoredLoop {
    /// An attempt that has ended, by its number in the log.
    pub fn attempt(&self, number: &str) -> Result<AttemptRecord, AppError> {
        let is_it = |of: &AttemptRecord| of.attempt.to_string() == number;
        let found = self.attempts().find(|read| read.as_ref().map_or(true, is_it)).transpose()?;
        found.ok_or_else(|| {
            AppError::refused(format!("{} has no finished attempt {number}", self.name))
                .hint(format!("`windlass log {}` has the numbers of its attempts", self.name))
        })
    }

    /// What it began with, and what it left.
    pub fn trees_of(&self, attempt: &AttemptRecord) -> Result<(TreeId, TreeId), AppError> {
        let trees = attempt.began_with.clone().zip(attempt.tree.clone());
        trees.ok_or_else(|| self.left_nothing(attempt))
    }

    fn left_nothing(&self, attempt: &AttemptRecord) -> AppError {
        let (number, role) = (attempt.attempt, attempt.role);
        AppError::refused(format!("no tree of attempt {number} ({role}) is on record"))
            .hint(format!("authors and finishers leave one; `windlass log {}` names the attempts", self.name))
    }
}
