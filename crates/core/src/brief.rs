//! What an agent is told, as data: ids and bounded excerpts drawn from the
//! state. The agent crate renders it; the text itself never enters the core.

use serde::Serialize;

use crate::acceptance::CriterionAnswer;
use crate::event::Phase;
use crate::finding::Finding;
use crate::gate::FailingCheck;
use crate::id::{BlobId, LoopName, TaskId, TreeId};
use crate::input::{AttemptEnd, Change, PathList, UnmergedWork};
use crate::policy::{OwnText, Role};
use crate::proposal::AmendmentRule;
use crate::scope::ScopeLimits;
use crate::state::State;
use crate::summary::Summary;
use crate::task::TaskMode;
use crate::verdict::AuthorSaid;

/// How many items of each list a brief carries.
const ITEMS: usize = 30;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BriefSpec {
    pub name: LoopName,
    pub goal: String,
    pub role: Role,
    pub mode: Mode,
    /// The task repeats, and this iteration is for one step of it.
    pub one_step: bool,
    pub iteration: u32,
    pub max_iterations: u32,
    pub task: Option<TaskBrief>,
    /// For the whole plan: every task's title.
    pub plan: Vec<String>,
    /// Checks that will judge the work, as commands.
    pub checks: Vec<String>,
    pub protected: Vec<String>,
    /// What agents may change freely; empty where the policy does not say.
    pub product: Vec<String>,
    /// For a reviewer: the terms to judge.
    pub changed_terms: PathList,
    /// Whether the checks are green only with them.
    pub needs_terms: bool,
    pub change: Change,
    /// For an author: earlier work that is not in the workspace.
    pub unmerged: Option<UnmergedWork>,
    pub failing: Vec<FailingCheck>,
    pub findings: Vec<Finding>,
    pub pending: Vec<String>,
    pub last_review: String,
    /// What the author's last attempt at this work did, as its stream told.
    pub summary: Summary,
    /// What the author said at the end of its last turn: a claim.
    pub author: AuthorSaid,
    /// What the attempt before this one did wrong, if it did not end by itself.
    pub last_end: String,
    pub steering: Vec<String>,
    /// What a reviewer compares the tree under review with.
    pub base_tree: TreeId,
    /// None for all but a reviewer.
    pub tree_under_review: Option<TreeId>,
    pub finish_prompt: String,
    /// A skill of the agent that the finisher is to use; empty for none.
    pub finish_skill: String,
    /// For an author: it may propose to change the plan.
    pub may_amend: bool,
    pub short: bool,
    /// The conversation that the attempt goes on with has the task and the rules in it.
    pub resumed: bool,
    /// The operator's words for the mode of the task, in place of windlass's.
    pub own_words: Option<OwnText>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    Implement,
    /// Find out and report: nothing is changed.
    Explore,
    /// Mend a defect, with a test that fails without the fix.
    FixTask,
    /// Mend what the final phases found.
    Fix,
    ReviewTask,
    /// Of a report instead of a change.
    ReviewReport,
    ReviewWhole,
    Finish,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskBrief {
    pub id: TaskId,
    pub title: String,
    pub text: BlobId,
    /// Each criterion with what is known of it.
    pub acceptance: Vec<CriterionAnswer>,
    pub allow: Vec<String>,
    /// How much it may change and read, and where.
    pub scope: ScopeLimits,
    pub within: Vec<String>,
    pub mode: TaskMode,
}

impl BriefSpec {
    /// The brief of the attempt that is to start now.
    pub fn of(state: &State, role: Role) -> Self {
        let creation = &state.creation;
        let policy = state.policy();
        let task = state.current_task();
        let work = state.current_work();
        let checks = state.checks_for(task);
        let judging = state.judging_policy();
        let gate = &judging.gate;
        Self {
            name: creation.name.clone(),
            goal: state.goal(),
            role,
            mode: mode(state, role),
            one_step: state.repeats(task),
            iteration: state.iterations,
            max_iterations: state.last_iteration(),
            task: task.and_then(|id| state.task(id)).map(|task| TaskBrief {
                id: task.task.id.clone(),
                title: task.task.title.clone(),
                text: task.task.text.clone(),
                acceptance: task.criteria(),
                allow: task.task.allow.clone(),
                scope: policy.scope_of(&task.task),
                within: task.task.scope.within.clone(),
                mode: task.task.mode.clone(),
            }),
            plan: first(state.tasks.iter().map(|task| format!("{}: {}", task.task.id, task.task.title))),
            checks: gate.every_check().filter(|c| checks.contains(&c.name)).map(|c| c.run.clone()).collect(),
            protected: gate.protect.clone(),
            product: gate.product.clone(),
            changed_terms: changed_terms(state, role),
            needs_terms: work.gate.as_ref().is_some_and(|gate| gate.needs_terms),
            change: work.change.clone(),
            unmerged: work.unmerged.as_deref().filter(|_| role == Role::Author).cloned(),
            failing: work.gate.as_ref().map_or_else(Vec::new, |gate| gate.failing.clone()),
            findings: first(open_findings(state, task).cloned()),
            pending: first(work.pending.iter().cloned()),
            last_review: work.objection.clone(),
            summary: work.summary.as_ref().clone(),
            author: work.author.as_ref().clone(),
            last_end: last_end(state),
            steering: last(&state.steering),
            base_tree: base_tree(state, role),
            tree_under_review: state.tree_under_review().filter(|_| role == Role::Reviewer).cloned(),
            finish_prompt: policy.finish.prompt.clone(),
            finish_skill: policy.finish.skill.clone(),
            may_amend: role == Role::Author
                && policy.plan.amendments != AmendmentRule::Ignore
                && !policy.is_open_ended(),
            short: state.short_brief,
            resumed: state.knows_task(role),
            own_words: own_words(state, role),
        }
    }
}

fn changed_terms(state: &State, role: Role) -> PathList {
    match role {
        Role::Reviewer => state.terms_under_review().clone(),
        Role::Author | Role::Finisher | Role::Planner => PathList::default(),
    }
}

fn mode(state: &State, role: Role) -> Mode {
    match role {
        Role::Author if state.phase == Some(Phase::Fix) => Mode::Fix,
        Role::Author if state.explores() => Mode::Explore,
        Role::Author if state.fixes() => Mode::FixTask,
        Role::Author | Role::Planner => Mode::Implement,
        Role::Reviewer if state.phase == Some(Phase::FinalReview) => Mode::ReviewWhole,
        Role::Reviewer if state.explores() => Mode::ReviewReport,
        Role::Reviewer => Mode::ReviewTask,
        Role::Finisher => Mode::Finish,
    }
}

fn own_words(state: &State, role: Role) -> Option<OwnText> {
    let task = state.current_task().and_then(|id| state.task(id))?;
    let own = state.policy().modes.get(task.task.mode.name())?;
    let text = match role {
        Role::Author => &own.author,
        Role::Reviewer => &own.reviewer,
        Role::Finisher | Role::Planner => return None,
    };
    (!text.file.is_empty()).then(|| text.clone())
}

/// The whole is compared with what the loop started from, a fix included.
fn base_tree(state: &State, role: Role) -> TreeId {
    let whole = role == Role::Reviewer && state.phase == Some(Phase::FinalReview);
    if whole { state.creation.base_tree.clone() } else { state.base().tree.clone() }
}

fn open_findings<'a>(state: &'a State, task: Option<&TaskId>) -> impl Iterator<Item = &'a Finding> {
    state.findings.values().filter(move |finding| finding.is_open() && finding.task.as_ref() == task)
}

fn last_end(state: &State) -> String {
    match state.attempt.as_ref().and_then(|attempt| attempt.before.as_ref()) {
        Some(AttemptEnd::TimedOut) => "it ran out of time".to_owned(),
        Some(AttemptEnd::Stalled) => "it went silent and was ended".to_owned(),
        Some(AttemptEnd::Crashed { what } | AttemptEnd::Protocol { what } | AttemptEnd::Refused { what }) => {
            what.clone()
        }
        Some(AttemptEnd::Interrupted | AttemptEnd::Lost | AttemptEnd::Killed | AttemptEnd::Faulted(_)) => {
            "it was interrupted from outside".to_owned()
        }
        Some(_) | None => String::new(),
    }
}

fn first<T>(items: impl Iterator<Item = T>) -> Vec<T> {
    items.take(ITEMS).collect()
}

fn last(items: &[String]) -> Vec<String> {
    items[items.len().saturating_sub(ITEMS)..].to_vec()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::id::CommitId;
    use crate::input::Creation;
    use crate::policy::Policy;
    use crate::state::{Conversation, Current};
    use crate::task::{Plan, Task};
    use crate::time::Timestamp;
    use crate::usage::Session;

    use super::*;

    fn at_work(policy: Policy) -> State {
        let task = Task::plain(TaskId::new("a"), "Do a".to_owned(), BlobId::new("text"));
        let creation = Creation {
            name: LoopName::new("demo").unwrap(),
            goal: String::new(),
            plan: Plan { tasks: vec![task], tools: Vec::new() },
            policy,
            base: CommitId::new("base"),
            base_tree: TreeId::new("tree"),
            trusted: None,
            branch: "windlass/demo".to_owned(),
            workspace: String::new(),
        };
        let mut state = State::created_by(&crate::step::create(Timestamp(0), creation)).unwrap();
        let task = Some(TaskId::new("a"));
        state.current = Some(Current { iteration: 2, task, start_tree: TreeId::new("tree") });
        state
    }

    #[test]
    fn a_brief_is_whole_unless_the_conversation_has_the_task_as_it_is() {
        let mut policy = Policy::default();
        policy.agent.extra.resume = true;
        let mut state = at_work(policy);
        let resumed = |state: &State| BriefSpec::of(state, Role::Author).resumed;
        assert!(!resumed(&state), "nobody has said anything yet");
        let told = Arc::clone(&state.tasks[0].task);
        let session = Session::default();
        let of = Conversation { task: Some(told.id.clone()), told: Some(Arc::clone(&told)), session };
        state.run.sessions.insert(Role::Author, of.clone());
        assert!(resumed(&state));
        let other = Task { acceptance: vec!["it is fast".to_owned()], ..(*told).clone() };
        state.run.sessions.insert(Role::Author, Conversation { told: Some(Arc::new(other)), ..of.clone() });
        assert!(!resumed(&state), "the task says something else since");
        state.run.sessions.insert(Role::Author, Conversation { task: None, told: None, ..of.clone() });
        assert!(!resumed(&state), "it was about the whole");
        state.run.sessions.insert(Role::Author, of);
        state.short_brief = true;
        assert!(!resumed(&state), "a brief that was too large is not added to a conversation");
    }
}
