//! The stop checks of an open-ended loop, looked at alone.

use serde::Serialize;
use windlass_core::id::{LoopName, TreeId};
use windlass_core::stop::StopResult;
use windlass_driver::Interrupts;
use windlass_driver::look_at_stop::look_at_stop;

use crate::error::Classify as _;
use crate::{AppError, OpenProject, StoredLoop};

/// The version of this shape. It changes when a field changes its meaning.
const SCHEMA: &str = "windlass.check.v1";

/// What the stop checks say of a loop's head now. `windlass check --json` prints it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StopCheckReport {
    pub schema: &'static str,
    #[serde(rename = "loop")]
    pub name: LoopName,
    /// The branch's head, or the base while nothing has landed.
    pub tree: TreeId,
    /// All hold: the loop is at its end.
    pub stop: bool,
    pub checks: Vec<StopResult>,
}

impl OpenProject {
    /// Nothing is recorded, whatever comes of it, and a loop that is driven meanwhile goes on.
    pub fn check_stop(
        &self,
        stored: &StoredLoop,
        interrupts: &Interrupts,
    ) -> Result<StopCheckReport, AppError> {
        if self.caller.is_inside_attempt {
            return Err(AppError::refused("`windlass check` inside an attempt of a loop is refused")
                .hint("an attempt makes its step; windlass looks at the stop checks itself"));
        }
        let state = windlass_store::fold(&*stored.reader, &stored.name).or_broken()?;
        if !state.policy().is_open_ended() {
            return Err(AppError::refused(format!("the loop {} has no stop checks", stored.name))
                .hint("a loop is open-ended if windlass.toml has a [[stop.check]] when it is created"));
        }
        let site = self.site(&stored.name);
        let report = look_at_stop(&site, &*stored.reader, &state, interrupts).or_broken()?;
        // The blob of what a command printed is kept nowhere.
        let told = |result: StopResult| StopResult { output: None, ..result };
        Ok(StopCheckReport {
            schema: SCHEMA,
            name: stored.name.clone(),
            tree: report.tree,
            stop: report.holds,
            checks: report.results.into_iter().map(told).collect(),
        })
    }
}
