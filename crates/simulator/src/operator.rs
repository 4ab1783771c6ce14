//! The operator: commands and signals at random moments while the loop runs,
//! and what a person does once it rests.

use std::sync::Arc;

use windlass_core::command::Command;
use windlass_core::id::TaskId;
use windlass_core::input::Asked;
use windlass_core::outcome::OutcomeKind;
use windlass_core::revision::{PolicyRevision, Revision};
use windlass_core::state::{Lifecycle, State, TaskStatus};
use windlass_core::task::Plan;
use windlass_driver::operate::{Answer, OperateError, operate};
use windlass_store::{Inbox, NewCommand, Store};

use crate::chance::Chance;
use crate::options::Operator;
use crate::simulation::{Books, LoopEnd, Situation, loop_name};
use crate::storage::locked;
use crate::world::SimulatedWorlds;

const RESTARTS: u32 = 3;

/// What an operator did while the loop is driven.
pub(crate) enum Act {
    Sent,
    Signalled,
}

impl Books {
    /// Sends a command now and then, or a signal.
    pub(crate) fn operator_acts(&mut self) -> Option<Act> {
        if self.options.operator == Operator::Asleep {
            return None;
        }
        if self.chance.one_in(40) {
            let command = command(&mut self.chance, &self.state);
            let new = NewCommand { loop_name: loop_name(), at: self.facts.now, command };
            self.inbox.send(new).expect("the loop is there");
            return Some(Act::Sent);
        }
        self.chance.one_in(90).then_some(Act::Signalled)
    }

    /// The operator comes back to a drive that waits for him.
    pub(crate) fn operator_ends_pause(&mut self) -> Act {
        let command = match self.chance.below(4) {
            0 => return Act::Signalled,
            1 => Command::Cancel,
            _ => Command::Resume,
        };
        let new = NewCommand { loop_name: loop_name(), at: self.facts.now, command };
        self.inbox.send(new).expect("the loop is there");
        Act::Sent
    }

    /// Nobody drives the loop: a command is taken at once, and a cancel ends the
    /// run, unless a fault keeps it from recording what was left.
    fn answered(&mut self, answer: &Answer, cancels: bool) {
        let over = matches!(self.state.lifecycle, Lifecycle::Ended(_)) || self.state.paused.is_some();
        if *answer == Answer::Recorded {
            self.break_with("nobody drives the loop, and a command waits");
        } else if *answer == Answer::Done && cancels && !over {
            self.break_with("a cancelled loop that nobody drives goes on");
        }
    }
}

/// What a person does with a loop that rests; whether there is another drive.
pub(crate) fn between_drives(
    store: &Arc<dyn Store>,
    worlds: &mut SimulatedWorlds,
    end: Option<LoopEnd>,
) -> Result<bool, OperateError> {
    let commands = {
        let mut books = locked(&worlds.books);
        if books.options.operator == Operator::Asleep {
            return Ok(end.is_none());
        }
        let asked = wish(&mut books.chance);
        books.asked = asked;
        match end {
            None => at_rest(&mut books),
            Some(LoopEnd::Paused) => paused(&mut books),
            Some(LoopEnd::Ended(OutcomeKind::Completed)) => None,
            Some(LoopEnd::Ended(OutcomeKind::Stopped)) => stopped(&mut books),
            Some(LoopEnd::Ended(_)) => restart(&mut books),
        }
    };
    let Some(commands) = commands else { return Ok(false) };
    for command in commands {
        let cancels = command == Command::Cancel;
        let answer = operate(store, &loop_name(), command, worlds);
        let mut books = locked(&worlds.books);
        let recorded = books.state.cancelling || books.state.outcome().is_some();
        if matches!(answer, Err(OperateError::WindDown(_))) {
            books.reached.insert(Situation::WindDownFailed);
            if !recorded {
                books.break_with("a cancel is said to be recorded, and is not");
            }
        }
        books.answered(&answer?, cancels);
    }
    Ok(true)
}

/// Interrupted, or its driver died: most go on, some cancel at once.
fn at_rest(books: &mut Books) -> Option<Vec<Command>> {
    Some(if books.chance.one_in(8) { vec![Command::Cancel] } else { Vec::new() })
}

fn paused(books: &mut Books) -> Option<Vec<Command>> {
    if books.state.approval.is_some() && !books.chance.one_in(5) {
        return Some(vec![decision(&mut books.chance, &books.state)]);
    }
    match books.chance.below(5) {
        0 => None,
        1 | 2 => Some(vec![Command::Cancel]),
        _ => Some(vec![Command::Resume]),
    }
}

fn stopped(books: &mut Books) -> Option<Vec<Command>> {
    books.restarts += 1;
    (books.restarts < RESTARTS).then(Vec::new)
}

fn restart(books: &mut Books) -> Option<Vec<Command>> {
    if books.restarts >= RESTARTS || books.chance.one_in(3) {
        return None;
    }
    books.restarts += 1;
    let blocked = books.state.tasks.iter().filter(|task| task.status == TaskStatus::Blocked);
    let blocked: Vec<TaskId> = blocked.map(|task| task.task.id.clone()).collect();
    let mut commands = Vec::new();
    for task in blocked {
        commands.push(match books.chance.one_in(3) {
            true => Command::WaiveTask { task, why: "not needed".to_owned() },
            false => Command::Unblock { task },
        });
    }
    commands.push(Command::Restart);
    Some(commands)
}

fn command(chance: &mut Chance, state: &State) -> Command {
    let at = usize::try_from(chance.below(state.tasks.len() as u64)).expect("an index fits");
    let task = state.tasks[at].task.id.clone();
    let why = "because".to_owned();
    let finding = state.findings.keys().next_back().cloned();
    match chance.below(15) {
        14 => decision(chance, state),
        12 => Command::Revise(Box::new(other_policy(chance, state))),
        13 => Command::Revise(Box::new(other_plan(chance, state))),
        0 | 1 => Command::Pause,
        2 | 3 => Command::Resume,
        4 => Command::Cancel,
        5 => Command::Restart,
        6 => Command::Unblock { task },
        7 => Command::WaiveTask { task, why },
        8 => finding.map_or(Command::Pause, |finding| Command::WaiveFinding { finding, why }),
        9 | 10 => Command::Steer { text: why },
        _ => Command::Note { text: why },
    }
}

/// On a landing that waits; now and then about a tree that is not the one.
fn decision(chance: &mut Chance, state: &State) -> Command {
    let waits = state.approval.as_ref().filter(|_| !chance.one_in(8));
    match (waits, chance.one_in(3)) {
        (_, true) => Command::Reject { why: "not like this".to_owned() },
        (Some(asked), false) => Command::Approve { tree: asked.tree.clone() },
        (None, false) => Command::Approve { tree: state.creation.base_tree.clone() },
    }
}

/// Other limits, or another gate.
fn other_policy(chance: &mut Chance, state: &State) -> Revision {
    let mut policy = state.policy().clone();
    let more = u32::try_from(chance.below(5)).expect("below 5");
    policy.limits.max_iterations += more;
    policy.limits.max_rejections = 1 + more;
    if chance.one_in(2) {
        policy.review.tasks = !policy.review.tasks;
    }
    if let Some(check) = policy.gate.checks.first_mut().filter(|_| chance.one_in(2)) {
        check.timeout.0 += 1;
    }
    Revision {
        plan: None,
        policy: Some(PolicyRevision { number: state.policy_changes + 1, keys: Vec::new(), policy }),
    }
}

/// Another order, or a task less; one that was taken out comes back.
fn other_plan(chance: &mut Chance, state: &State) -> Revision {
    let mut tasks = state.creation.plan.tasks.clone();
    if let Some(last) = tasks.last_mut() {
        last.priority = 2 - last.priority;
    }
    if chance.one_in(2) && tasks.len() > 1 {
        tasks.pop();
    }
    Revision { plan: Some(Plan { tasks, tools: Vec::new() }), policy: None }
}

fn wish(chance: &mut Chance) -> Asked {
    let task = || Some(TaskId::new("t0"));
    match chance.below(10) {
        0 => Asked { task: task(), ..Asked::default() },
        1 => Asked { until: task(), ..Asked::default() },
        2 => Asked { max: 2, ..Asked::default() },
        3 => Asked { no_review: true, ..Asked::default() },
        _ => Asked::default(),
    }
}
