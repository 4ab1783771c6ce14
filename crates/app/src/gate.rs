//! What the gate makes of a project's paths.

use windlass_core::policy::Policy;
use windlass_driver::terms::{self, PathExplained};

use crate::{AppError, OpenProject, PolicyArguments};

impl OpenProject {
    /// What each of these paths is to the gate, by the policy in the project.
    pub fn explain_paths(&self, paths: &[String]) -> Result<Vec<PathExplained>, AppError> {
        terms::explain(&self.gate_policy()?, &self.surroundings(), paths).map_err(AppError::refused)
    }

    /// The policy whose gate judges a loop that is created here now.
    pub fn gate_policy(&self) -> Result<Policy, AppError> {
        Ok(self.caller.policy(&self.project.top, &PolicyArguments::default())?.policy)
    }
}
