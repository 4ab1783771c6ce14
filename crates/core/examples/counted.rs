//! Work whose instructions are counted: a loop of twenty tasks, decided and
//! folded again and again.
//!
//! `counted step|apply|fold|choose-first|choose-late REPEATS`
#![allow(clippy::unwrap_used, reason = "a measurement that fails has nothing to report")]

use std::hint::black_box;

use windlass_core::broken_tests::BrokenTests;
use windlass_core::effect::Effect;
use windlass_core::event::{Decision, TaskEvent};
use windlass_core::gate::{CheckResult, TellNumbers};
use windlass_core::id::{BlobId, CommitId, LoopName, Nonce, Seq, TaskId, TreeId};
use windlass_core::input::{
    AgentFinished, Asked, AttemptEnd, AttemptResult, Change, Creation, Input, Snapshotted, Stamped, WorkMerge,
};
use windlass_core::policy::{CheckPolicy, CheckWhen, Policy};
use windlass_core::state::State;
use windlass_core::step::{create, step};
use windlass_core::task::{Plan, Task};
use windlass_core::time::{Millis, Timestamp};

const TASKS: usize = 20;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [what, repeats] = words.as_slice() else { panic!("counted WHAT REPEATS") };
    if let Some(done) = [("choose-first", 0), ("choose-late", 900)].into_iter().find(|(name, _)| name == what)
    {
        return choose(done.1, repeats.parse().unwrap());
    }
    let played = Played::new();
    let bodies: Vec<String> =
        played.decisions.iter().map(|decision| serde_json::to_string(decision).unwrap()).collect();
    for _ in 0..repeats.parse::<u32>().unwrap() {
        match what.as_str() {
            "step" => played.taken.iter().for_each(|(state, input)| drop(black_box(step(state, input)))),
            "apply" => drop(black_box(folded(played.decisions.iter().cloned()))),
            "fold" => {
                drop(black_box(folded(bodies.iter().map(|body| serde_json::from_str(body).unwrap()))));
            }
            other => panic!("there is no {other}"),
        }
    }
}

/// The first choice of a drive over a thousand tasks, of which so many are done.
fn choose(done: usize, repeats: u32) {
    const LARGE: usize = 1_000;
    let id = |n: usize| TaskId::new(format!("task-{n:04}"));
    let task = |n: usize| Task {
        depends_on: (n.saturating_sub(3)..n).map(id).collect(),
        ..Task::plain(id(n), format!("Do {n}"), BlobId::new("text"))
    };
    let plan = Plan { tasks: (0..LARGE).map(task).collect(), tools: Vec::new() };
    let policy = Policy::default();
    let mut first = create(Timestamp(0), Creation { plan, policy, ..creation() });
    let finished = |n: usize| TaskEvent::Done {
        task: id(n),
        commit: CommitId::new("c".repeat(40)),
        reviewed: true,
        checked: true,
    };
    first.events.extend((0..done).map(|n| finished(n).into()));
    let state = State::created_by(&first).unwrap();
    let what = Input::RunAsked(Asked::default());
    let fresh = Nonce::new("0".repeat(32));
    let asked = Stamped { at: Timestamp(1), elapsed: Millis(0), fresh, closes: None, what };
    (0..repeats).for_each(|_| drop(black_box(step(&state, &asked))));
}

fn folded(mut decisions: impl Iterator<Item = Decision>) -> State {
    let mut state = State::created_by(&decisions.next().unwrap()).unwrap();
    decisions.for_each(|decision| state.apply(state.seq.next(), &decision));
    state
}

/// A whole loop: every input with the state it met, and every decision.
struct Played {
    taken: Vec<(State, Stamped<Input>)>,
    decisions: Vec<Decision>,
}

impl Played {
    fn new() -> Self {
        let first = create(Timestamp(1_700_000_000_000), creation());
        let mut state = State::created_by(&first).unwrap();
        let mut played = Self { taken: Vec::new(), decisions: vec![first] };
        let mut closes = None;
        let mut what = Input::RunAsked(Asked::default());
        loop {
            let at = Timestamp(1_700_000_000_000 + 1000 * played.decisions.len() as i64);
            let fresh = Nonce::new(format!("{:032x}", played.decisions.len()));
            let input = Stamped { at, elapsed: Millis(1000), fresh, closes, what };
            let decision = step(&state, &input);
            played.taken.push((state.clone(), input));
            state.apply(Seq(state.seq.0 + 1), &decision);
            played.decisions.push(decision);
            let Some((id, effect)) = state.outstanding().next() else { break };
            (closes, what) = (Some(id), answer(effect, played.decisions.len()));
        }
        assert!(state.tasks.len() == TASKS && state.outcome().is_some(), "the loop came to no end");
        played
    }
}

fn answer(effect: &Effect, n: usize) -> Input {
    let id = |letter: char| format!("{letter}{n:039x}");
    match effect {
        Effect::MergeWork { head, .. } => {
            Input::WorkMerged(Box::new(WorkMerge::Clean { tree: head.clone(), change: Change::default() }))
        }
        Effect::PrepareWorkspace { .. } => Input::WorkspaceReady,
        Effect::CallAgent { .. } => Input::AgentFinished(Box::new(AgentFinished {
            result: AttemptResult {
                message: "The function is written and its tests pass.".to_owned(),
                transcript: Some(BlobId::new("d".repeat(64))),
                brief: Some(BlobId::new("e".repeat(64))),
                duration_ms: Millis(900),
                ..AttemptResult::ended(AttemptEnd::Normal)
            },
            ..AgentFinished::ended(AttemptEnd::Normal)
        })),
        Effect::Snapshot(_) => Input::Snapshotted(Box::new(Snapshotted {
            change: Change {
                files: 2,
                edited: vec!["src/lib.rs".into(), "src/main.rs".into()],
                ..Change::default()
            },
            ..Snapshotted::of(CommitId::new(id('c')), TreeId::new(id('a')))
        })),
        Effect::RunGate { checks, .. } => {
            let results: Vec<CheckResult> = checks.iter().map(|check| passed(check)).collect();
            Input::GateReported(results.into())
        }
        Effect::Land { .. } => Input::Landed,
        Effect::CheckStop { .. } => Input::StopChecked(Vec::new()),
    }
}

fn passed(check: &str) -> CheckResult {
    CheckResult {
        check: check.to_owned(),
        exit_code: Some(0),
        signal: None,
        timed_out: false,
        duration_ms: Millis(40),
        output: BlobId::new("f".repeat(64)),
        excerpt: "ok".to_owned(),
        without_hidden: None,
        tell_numbers: TellNumbers::All,
        strays: 0,
        again: false,
        tally: None,
        writes: None,
        control: None,
        broken_tests: Some(BrokenTests::default()),
        caught: None,
    }
}

fn creation() -> Creation {
    let mut policy = Policy::default();
    (policy.review.tasks, policy.review.whole, policy.limits.max_iterations) = (false, false, 0);
    policy.gate.checks = ["build", "test"]
        .map(|name| CheckPolicy {
            name: name.to_owned(),
            run: format!("sh ./{name}.sh"),
            when: CheckWhen::Both,
            timeout: Millis::minutes(5),
            ..CheckPolicy::default()
        })
        .into();
    let task = |n: usize| Task {
        depends_on: n
            .checked_sub(1)
            .map(|before| TaskId::new(format!("task-{before:02}")))
            .into_iter()
            .collect(),
        acceptance: vec!["it works".to_owned()],
        ..Task::plain(
            TaskId::new(format!("task-{n:02}")),
            format!("Write part {n}"),
            BlobId::new("a".repeat(64)),
        )
    };
    Creation {
        name: LoopName::new("counted").unwrap(),
        goal: String::new(),
        plan: Plan { tasks: (0..TASKS).map(task).collect(), tools: Vec::new() },
        policy,
        base: CommitId::new("c".repeat(40)),
        base_tree: TreeId::new("b".repeat(40)),
        trusted: None,
        branch: "windlass/counted".to_owned(),
        workspace: "/space".to_owned(),
    }
}
