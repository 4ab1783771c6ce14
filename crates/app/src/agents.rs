//! Which agents this machine has, and whether one answers.

use std::path::Path;

use windlass_agent::registry;
use windlass_core::input::AttemptResult;
use windlass_core::policy::Policy;
use windlass_driver::agents::{self, AgentStatus, Probe};
use windlass_driver::project;

use crate::error::Classify as _;
use crate::{AppError, Caller, PolicyArguments};

/// Every agent that windlass knows, the best first. They say their versions below `scratch`.
pub fn agents(directory: &Path, caller: &Caller, scratch: &Path) -> Vec<AgentStatus> {
    // Which agents are installed can be told without a policy; what is wrong with that, `doctor` says.
    let policy = policy(directory, caller).unwrap_or_default();
    agents::installed_agents(&policy, &caller.surroundings(directory), scratch)
}

/// That of the project, or outside of one the operator's own.
fn policy(directory: &Path, caller: &Caller) -> Result<Policy, AppError> {
    let top = project::locate(directory).map_or_else(|_| directory.to_owned(), |project| project.top);
    Ok(caller.policy(&top, &PolicyArguments::default())?.policy)
}

/// Calls one for real, with what the policy says of it.
pub fn probe(
    directory: &Path,
    caller: &Caller,
    name: &str,
    scratch: &Path,
) -> Result<AttemptResult, AppError> {
    if registry::named(name).is_none() {
        let known = registry::names().collect::<Vec<_>>().join(", ");
        return Err(
            AppError::refused(format!("windlass knows no agent {name:?}")).hint(format!("it knows {known}"))
        );
    }
    let policy = policy(directory, caller)?;
    let agent = agents::named(&policy, name);
    let surroundings = caller.surroundings(directory);
    let probe = Probe { agent: &agent, policy: &policy, surroundings: &surroundings, scratch };
    agents::probe(&probe, &|_| {}).or_broken()
}
