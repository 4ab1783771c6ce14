//! How far an open-ended loop has come.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::TreeId;
use crate::state::State;
use crate::stop::{StopReport, StopResult};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StopView {
    /// How many steps have landed.
    pub steps: u32,
    /// Every stop check held when they were last looked at.
    pub holds: bool,
    /// The tree that they were looked at on; none before the first time.
    pub tree: Option<TreeId>,
    /// Each check of the policy, as it was then.
    pub checks: Vec<StopCheckView>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StopCheckView {
    pub check: String,
    pub holds: bool,
    pub why: String,
}

pub(super) fn stop(state: &State) -> Option<StopView> {
    let task = state.repeating_task()?;
    let last = state.stop.as_deref();
    let seen = |name: &str| last.and_then(|last| last.results.iter().find(|result| result.check == name));
    let check = |name: &String| match seen(name) {
        Some(StopResult { check, holds, why, output: _ }) => {
            StopCheckView { check: check.clone(), holds: *holds, why: why.clone() }
        }
        None => StopCheckView { check: name.clone(), holds: false, why: "not looked at yet".to_owned() },
    };
    Some(StopView {
        steps: task.steps,
        holds: last.is_some_and(|last| last.holds),
        tree: last.map(|StopReport { tree, .. }| tree.clone()),
        checks: state.policy().stop.checks.iter().map(|of| check(&of.name)).collect(),
    })
}
