//! Scope: what each task landed is within the limits that held for it, measured anew from its trees.

use windlass_core::finding::{Evidence, Finding, Origin, Rule};
use windlass_core::history::LandingRecord;
use windlass_core::id::TreeId;
use windlass_core::policy::Policy;
use windlass_core::task::Task;

use super::ProofSources;
use super::history::RecordedLoop;
use super::judged::{self, Wanted};
use super::steps::{StepResult, counted};
use crate::scope::{ScopeOf, exceeded, is_over};
use crate::terms::TreeDiff;

/// How many landings of tasks there were, and how many of them were limited in a way that trees show.
pub(super) fn limited(history: &RecordedLoop) -> (usize, usize) {
    let landed =
        || history.past.landings.iter().filter_map(|landing| Some((landing, landing.task.as_ref()?)));
    let is_limited = |(landing, task): &(&LandingRecord, &Task)| {
        ScopeOf::by_trees(judging_policy(history, landing), task).is_some()
    };
    (landed().count(), landed().filter(is_limited).count())
}

pub(super) fn kept(sources: &ProofSources<'_>) -> StepResult {
    let history = sources.history;
    let mut before = &history.state.creation.base_tree;
    let (mut measured, mut waived) = (0, Vec::new());
    for landing in history.past.landings.iter() {
        if let Some(task) = &landing.task {
            for seen in over(sources, before, landing, task)? {
                match waiver(history, task, &seen) {
                    Some(finding) => waived.push(format!("{} by {}", task.id, finding.id)),
                    None => return Err(broken(task, landing, &seen)),
                }
            }
            measured += usize::from(ScopeOf::by_trees(judging_policy(history, landing), task).is_some());
        }
        before = &landing.tree;
    }
    let words = format!("{} within its limits, measured anew", counted(measured, "landing"));
    Ok(match waived.as_slice() {
        [] => words,
        waived => format!("{words}, {} waived ({})", waived.len(), waived.join(", ")),
    })
}

/// The policy that was in force when the landed tree was judged.
fn judging_policy<'h>(history: &'h RecordedLoop, landing: &LandingRecord) -> &'h Policy {
    let judged = judged::find(history, Wanted::landed(landing, &landing.tree));
    history.policy_at(judged.map_or(landing.event, |run| run.event))
}

fn over(
    sources: &ProofSources<'_>,
    before: &TreeId,
    landing: &LandingRecord,
    task: &Task,
) -> Result<Vec<Evidence>, String> {
    let policy = judging_policy(sources.history, landing);
    let Some(of) = ScopeOf::by_trees(policy, task) else { return Ok(Vec::new()) };
    let unread = |error: &dyn std::fmt::Display| format!("the tree of commit {}: {error}", landing.commit);
    let changes = sources.vault.diff(before, &landing.tree).map_err(|error| unread(&error))?;
    let diff = TreeDiff { base: before, tree: &landing.tree, changes: &changes };
    let found = exceeded(sources.vault, of, &diff).map_err(|error| unread(&error))?;
    Ok(found.into_iter().filter(is_over).collect())
}

/// The operator's word on it: on this path, or on this limit whatever was counted then.
fn waiver<'h>(history: &'h RecordedLoop, task: &Task, seen: &Evidence) -> Option<&'h Finding> {
    history.waived().find(|finding| {
        finding.task.as_ref() == Some(&task.id)
            && finding.origin == Origin::Evidence(Rule::ScopeExceeded)
            && finding.file == seen.path
    })
}

fn broken(task: &Task, landing: &LandingRecord, seen: &Evidence) -> String {
    let commit = &landing.commit;
    match seen.path.as_str() {
        "" => format!("task {}, commit {commit}: {}", task.id, seen.detail),
        path => format!("task {}, commit {commit}: {path}: {}", task.id, seen.detail),
    }
}
