//! What a loop leaves for its operator: its branch, its proof, its trail.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_core::view::View;
use windlass_driver::prove::{self, Grade, Proof, ProofRequest, Rerun};
use windlass_driver::setup::{self, FilterRule, TakeOutcome};
use windlass_driver::trail;
use windlass_store::Store;

use crate::error::Classify as _;
use crate::{AppError, OpenProject, StoredLoop};

impl OpenProject {
    /// Brings a loop's branch into the operator's checkout, if that is plain.
    pub fn take(&self, view: &View, filters: FilterRule) -> Result<TakeOutcome, AppError> {
        let name = &view.name;
        if view.commit.is_none() {
            return Err(AppError::refused(format!("{name} has landed nothing yet"))
                .hint(format!("windlass status {name}")));
        }
        setup::take(&self.surroundings(), &view.branch, filters).or_broken()
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
