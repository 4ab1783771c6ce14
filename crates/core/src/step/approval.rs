//! Where the policy says so, nothing lands before the operator has approved the
//! very tree that would land.

use super::{Draft, execute, finding, last, run, verify};
use crate::effect::Effect;
use crate::event::{FindingEvent, IterationResult, LandingEvent, PauseEvent, Phase};
use crate::finding::{Finding, Origin};
use crate::id::{CommitId, FindingId, TreeId};
use crate::outcome::Reason;
use crate::state::State;

/// Fewer digits of a tree's name do not tell which one is meant.
const LEAST_DIGITS: usize = 7;

/// The landing of a tree, at once or after the operator's word.
pub(super) fn land(draft: &mut Draft, commit: CommitId, tree: TreeId) {
    if !is_needed(&draft.state) || tree == draft.state.head.tree {
        return put_on_branch(draft, commit);
    }
    let base = draft.state.head.tree.clone();
    draft.emit(LandingEvent::ApprovalAsked { commit, tree, base });
    hold(draft);
}

/// Also where the policy was changed meanwhile: who rejected work looks at it again.
fn is_needed(state: &State) -> bool {
    state.policy().land.approve || rejections(state).next().is_some()
}

/// Until the operator decides, there is nothing to do.
pub(super) fn hold(draft: &mut Draft) {
    let Some(asked) = draft.state.approval.clone() else { return };
    let whose = match draft.state.current_task() {
        Some(task) => format!("task {task}"),
        None if draft.state.current.is_some() => "a fix of the whole".to_owned(),
        None => "the finisher's change".to_owned(),
    };
    let is_same = rejections(&draft.state).next().is_some()
        && draft.state.current_work().rejected.contains(&asked.tree);
    let again = if is_same { "; the author changed nothing since you rejected it" } else { "" };
    let detail = format!("{whose} is ready to land (tree {}){again}", asked.short_tree());
    draft.pause(Reason::Approval, detail);
}

fn put_on_branch(draft: &mut Draft, commit: CommitId) {
    let head = &draft.state.head;
    let expected = head.landed.then(|| head.commit.clone());
    let title = execute::commit_title(&draft.state);
    draft.perform(Effect::Land { commit, expected, title });
}

/// The operator names the tree that was looked at, or the beginning of its name.
pub(super) fn approve(draft: &mut Draft, tree: &TreeId) -> Result<(), String> {
    let asked = draft.state.approval.clone().ok_or_else(nothing_waits)?;
    let named = tree.as_str();
    if named.len() < LEAST_DIGITS || !asked.tree.as_str().starts_with(named) {
        return Err(format!(
            "tree {} waits for your approval, and not {named:?}; look at it with `windlass show {} --diff`",
            asked.short_tree(),
            draft.state.creation.name
        ));
    }
    draft.emit(LandingEvent::Approved { tree: asked.tree.clone() });
    let answered: Vec<FindingId> = rejections(&draft.state).map(|finding| finding.id.clone()).collect();
    for finding in answered {
        draft.emit(FindingEvent::Resolved { finding });
    }
    draft.emit(PauseEvent::Resumed);
    put_on_branch(draft, asked.commit.clone());
    Ok(())
}

/// The operator's words are a bug for the author; what a finisher did is dropped.
pub(super) fn reject(draft: &mut Draft, why: &str) -> Result<(), String> {
    let asked = draft.state.approval.clone().ok_or_else(nothing_waits)?;
    if why.trim().is_empty() {
        return Err("say why, so that the author knows what to change".to_owned());
    }
    draft.emit(LandingEvent::Rejected { tree: asked.tree.clone(), why: why.to_owned() });
    draft.emit(PauseEvent::Resumed);
    if draft.state.phase == Some(Phase::Finish) {
        last::drop_finish(draft, &format!("the operator rejected it: {why}"));
        return Ok(());
    }
    finding::rejected_by_operator(draft, why);
    match draft.state.current_task() {
        Some(_) => verify::fall_short(draft, IterationResult::OperatorRejected),
        None => {
            run::close_iteration(draft, IterationResult::OperatorRejected);
            last::fix(draft);
        }
    }
    Ok(())
}

/// The task whose work waits was waived: it does not land.
pub(super) fn give_up(draft: &mut Draft) {
    draft.emit(PauseEvent::Resumed);
    run::give_up(draft);
}

/// What the operator held against the work in hand.
fn rejections(state: &State) -> impl Iterator<Item = &Finding> {
    let task = state.current_task();
    state.findings.values().filter(move |finding| {
        finding.is_open() && finding.origin == Origin::Operator && finding.task.as_ref() == task
    })
}

fn nothing_waits() -> String {
    "nothing waits for approval".to_owned()
}
