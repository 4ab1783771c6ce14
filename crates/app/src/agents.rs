//! Which agents this machine has, and whether one answers.

use std::path::Path;

use windlass_agent::registry;
use windlass_core::input::AttemptResult;
use windlass_core::policy::{AgentPolicy, Policy};
use windlass_driver::agents::{self, AgentStatus, Probe};

use crate::error::Classify as _;
use crate::{AppError, Caller, OpenProject, PolicyArguments};

/// Every agent that windlass knows, the best first. They say their versions below `scratch`.
pub fn agents(directory: &Path, caller: &Caller, scratch: &Path) -> Vec<AgentStatus> {
    agents::installed_agents(&caller.surroundings(directory), scratch)
}

/// Calls one for real, with the keys of `[agent]` where that is the one.
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
    let policy = match OpenProject::open(directory, caller.clone()) {
        Ok(place) => place.policy(&PolicyArguments::default())?.policy,
        Err(_) => Policy::default(),
    };
    let named = [&policy.agent].into_iter().chain(policy.roles.values()).find(|agent| agent.adapter == name);
    let plain = AgentPolicy { adapter: name.to_owned(), ..AgentPolicy::default() };
    let agent = named.cloned().unwrap_or(plain);
    let surroundings = caller.surroundings(directory);
    let probe = Probe { agent: &agent, policy: &policy, surroundings: &surroundings, scratch };
    agents::probe(&probe, &|_| {}).or_broken()
}
