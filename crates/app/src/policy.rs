//! The policy of a project, all layers merged.

use std::path::{Path, PathBuf};

use windlass_agent::registry;
use windlass_config::{AgentNames, ConfigError, PolicyFormat, Resolved, Sources, Styling};
use windlass_core::policy::Policy;

use crate::{AppError, Caller, OpenProject};

/// What a request adds to the policy's files.
#[derive(Clone, Debug, Default)]
pub struct PolicyArguments {
    /// A file that overrides windlass.toml.
    pub policy_file: Option<PathBuf>,
    /// Single keys, as in `loop.max_iterations=5`.
    pub set: Vec<String>,
}

/// What windlass.toml may say in this build.
pub fn policy_format() -> PolicyFormat {
    let adapters = registry::adapter_names().collect();
    PolicyFormat::new(&AgentNames { known: registry::names().collect(), adapters })
}

impl Caller {
    /// The policy in a directory, which need not be a repository yet.
    pub fn policy(&self, project: &Path, arguments: &PolicyArguments) -> Result<Resolved, AppError> {
        let PolicyArguments { policy_file, set } = arguments.clone();
        let sources =
            Sources { user_file: self.user_file.clone(), project: project.to_owned(), policy_file, set };
        policy_format().load(&sources).map_err(bad_policy)
    }
}

impl OpenProject {
    /// A policy with these arguments on top of it.
    pub(crate) fn policy_on_top(
        &self,
        policy: &Policy,
        arguments: &PolicyArguments,
    ) -> Result<Resolved, AppError> {
        let PolicyArguments { policy_file, set } = arguments;
        policy_format().revise(policy, policy_file.as_deref(), set).map_err(bad_policy)
    }
}

fn bad_policy(error: ConfigError) -> AppError {
    let refused = AppError::refused(error.render(Styling::Plain, usize::MAX));
    AppError { config: Some(error), ..refused }
}
