//! The regression test of each fix that landed: it was asked for, on the trees that it must be seen on.

use windlass_core::history::LandingRecord;
use windlass_core::id::TreeId;
use windlass_core::task::Task;
use windlass_workspace::VaultError;

use super::ProofSources;
use super::judged::{self, Wanted};
use super::protection::rules_of;
use crate::terms::with_added_tests;

/// How many were seen. What was red and green there is judged with the gate.
pub(super) fn seen(sources: &ProofSources<'_>) -> Result<usize, String> {
    let mut before = &sources.history.state.creation.base_tree;
    let mut count = 0;
    for landing in sources.history.past.landings.iter() {
        let policy = sources.history.policy_at(landing.event);
        if let Some(task) = landing.task.as_ref().filter(|task| policy.asks_for_regression_test(task)) {
            count += usize::from(seen_of(sources, landing, task, before)?);
        }
        before = &landing.tree;
    }
    Ok(count)
}

fn seen_of(
    sources: &ProofSources<'_>,
    landing: &LandingRecord,
    task: &Task,
    before: &TreeId,
) -> Result<bool, String> {
    let id = &task.id;
    let run = judged::find(sources.history, Wanted::landed(landing, &landing.tree))
        .ok_or_else(|| format!("task {id}: no gate is on record that saw its regression test"))?;
    let asked = run.regression.as_ref();
    let asked = asked.ok_or_else(|| format!("task {id} was not asked for a regression test"))?;
    let unread = |error: VaultError| format!("the tree of commit {}: {error}", landing.commit);
    let rules = rules_of(sources, landing, before)?;
    let with_tests = with_added_tests(sources.vault, &rules, before, &landing.tree).map_err(unread)?;
    if asked.base != *before || asked.with_tests != *with_tests.as_ref().unwrap_or(before) {
        return Err(format!(
            "task {id}: its regression test was looked for on other trees than it landed on"
        ));
    }
    Ok(judged::regression(sources.history, run).is_some())
}
