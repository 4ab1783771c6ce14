//! What choosing costs: how often a task is looked up by its id.

use std::cell::Cell;

use crate::event::TaskEvent;
use crate::id::{BlobId, CommitId, LoopName, TreeId};
use crate::input::{Asked, Creation, Input, Stamped};
use crate::policy::Policy;
use crate::state::State;
use crate::step::{create, step};
use crate::task::{Plan, Task};
use crate::time::{Millis, Timestamp};

use super::*;

thread_local! {
    pub static LOOKED_UP: Cell<u64> = const { Cell::new(0) };
}

const TASKS: usize = 1_000;
const AFTER: usize = 3;

/// Each task depends on the three before it.
fn large_plan() -> State {
    let id = |n: usize| TaskId::new(format!("task-{n:04}"));
    let task = |n: usize| Task {
        depends_on: (n.saturating_sub(AFTER)..n).map(id).collect(),
        ..Task::plain(id(n), format!("Do {n}"), BlobId::new("text"))
    };
    let creation = Creation {
        name: LoopName::new("large").unwrap(),
        goal: String::new(),
        plan: Plan { tasks: (0..TASKS).map(task).collect(), tools: Vec::new() },
        policy: Policy::default(),
        base: CommitId::new("base"),
        base_tree: TreeId::new("tree"),
        trusted: None,
        branch: "windlass/large".to_owned(),
        workspace: String::new(),
    };
    State::created_by(&create(Timestamp(0), creation)).unwrap()
}

/// The first choice of a drive, after so many tasks were done.
fn choosing_after(done: usize) -> u64 {
    let mut state = large_plan();
    for at in 0..done {
        let task = state.tasks[at].task.id.clone();
        let commit = CommitId::new("c");
        let event = TaskEvent::Done { task, commit, reviewed: true, checked: true };
        state.note(Timestamp(0), &event.into());
    }
    let asked = Stamped {
        at: Timestamp(1),
        elapsed: Millis(0),
        fresh: crate::id::Nonce::new("n"),
        closes: None,
        what: Input::RunAsked(Asked::default()),
    };
    LOOKED_UP.with(|count| count.set(0));
    let decision = step(&state, &asked);
    let chosen = decision.events.iter().any(|event| event.to_string().ends_with(&format!("task-{done:04}")));
    assert!(chosen, "{:?}", decision.events);
    LOOKED_UP.with(Cell::get)
}

#[test]
fn choosing_the_next_task_does_not_cost_more_the_more_are_done() {
    let (first, late) = (choosing_after(0), choosing_after(900));
    assert!(late <= first, "{first} lookups with nothing done, {late} with 900 of 1,000 done");
    assert!(first <= (TASKS * 2) as u64, "{first} lookups for {TASKS} tasks");
}

#[test]
fn a_task_is_found_where_it_is_after_the_plan_changed() {
    let mut state = large_plan();
    let mut tasks: Vec<Task> = state.tasks.iter().map(|task| (*task.task).clone()).collect();
    tasks.reverse();
    tasks.retain(|task| task.id.as_str() != "task-0500");
    let revision = crate::revision::PlanRevision::between(&state, &Plan { tasks, tools: Vec::new() });
    state.note(Timestamp(0), &crate::event::LoopEvent::PlanChanged(Box::new(revision)).into());
    assert_eq!(state.tasks.len(), TASKS - 1);
    assert!(state.task(&TaskId::new("task-0500")).is_none());
    for task in state.tasks.iter() {
        assert_eq!(state.task(&task.task.id).map(|found| &found.task.id), Some(&task.task.id));
    }
}

#[test]
fn a_goal_that_was_made_of_the_plan_follows_the_plan() {
    let mut state = large_plan();
    let mut tasks: Vec<Task> = state.tasks.iter().take(2).map(|task| (*task.task).clone()).collect();
    tasks[1].title = "The last".to_owned();
    let revision = crate::revision::PlanRevision::between(&state, &Plan { tasks, tools: Vec::new() });
    let event = crate::event::LoopEvent::PlanChanged(Box::new(revision)).into();
    let said = state.creation.goal.clone();
    state.note(Timestamp(0), &event);
    assert_eq!(state.goal(), said, "a document's own goal stays");
    let titles: Vec<String> = state.creation.plan.tasks.iter().map(|task| task.title.clone()).collect();
    let creation = std::sync::Arc::make_mut(&mut state.creation);
    creation.goal = goal_of_titles(titles.iter().map(String::as_str));
    assert!(
        state.goal().starts_with("2 tasks, from ") && state.goal().ends_with(" to “The last”"),
        "{}",
        state.goal()
    );
}
