//! Opening a run, choosing what it does next, and ending it.

use super::{Draft, attempt, finding, last, limit, propose, revise, stop};
use crate::effect::Effect;
use crate::event::{
    IterationEvent, IterationResult, LandingEvent, OperatorEvent, PauseEvent, RunEvent, TaskEvent,
};
use crate::gate::{Purpose, Trials};
use crate::id::{CommitId, TaskId, TreeId};
use crate::input::{Asked, Input, WorkMerge};
use crate::limit::{LimitCheck, is_reached};
use crate::outcome::{OutcomeKind, Reason};
use crate::policy::Rejected;
use crate::state::{Deadline, Lifecycle, State, TaskState, TaskStatus, Work};

/// The operator drives the loop. What is outstanding goes on; an idle loop
/// begins, and one that did as it was asked, or has tasks beside the one it ended for,
/// goes on as a further run with the counters it has: only `restart` sets them back.
pub(super) fn asked(draft: &mut Draft, asked: &Asked) {
    let run = draft.state.run.number;
    if let Some(why) = refusal(&draft.state, asked) {
        return draft.emit(OperatorEvent::InputRefused { input: "run_asked".to_owned(), why });
    }
    match draft.state.lifecycle {
        Lifecycle::Ended(_) => {
            draft.emit(RunEvent::Started { run: run + 1, asked: asked.clone() });
            begin(draft);
        }
        Lifecycle::Driving | Lifecycle::Interrupted => {
            draft.emit(RunEvent::Resumed { run, asked: asked.clone() });
            if !revise::take_up_at_start(draft) && draft.state.outstanding().next().is_none() {
                choose(draft);
            }
        }
        Lifecycle::Idle => {
            draft.emit(RunEvent::Started { run, asked: asked.clone() });
            begin(draft);
        }
    }
}

fn refusal(state: &State, asked: &Asked) -> Option<String> {
    if let Some(outcome) = state.outcome().filter(|_| !state.may_be_run_on()) {
        return Some(format!("the run ended as {}", outcome.kind.name()));
    }
    if let Some(pause) = &state.paused {
        return Some(format!("it is paused ({}): {}", pause.why.name(), pause.detail));
    }
    let unknown = [&asked.task, &asked.until].into_iter().flatten().find(|id| state.task(id).is_none())?;
    Some(format!("there is no task {unknown}"))
}

fn begin(draft: &mut Draft) {
    revise::take_up(draft);
    if !run_baseline(draft) {
        choose(draft);
    }
}

/// The baseline says what the checks made of the base; red is recorded, not
/// refused. False: it is known, or there is no check.
fn run_baseline(draft: &mut Draft) -> bool {
    let checks: Vec<String> = draft.state.policy().gate.checks.iter().map(|c| c.name.clone()).collect();
    if draft.state.baseline.is_some() || checks.is_empty() {
        return false;
    }
    let tree = draft.state.creation.base_tree.clone();
    draft.run_gate(Purpose::Baseline, Trials::only(tree), checks);
    true
}

/// The next task, or the final phases, or the end.
pub(super) fn choose(draft: &mut Draft) {
    revise::take_up(draft);
    propose::apply(draft);
    if draft.state.cancelling {
        return draft.end(OutcomeKind::Cancelled, Reason::Operator, String::new());
    }
    if stop::is_due(&draft.state) {
        return stop::check(draft);
    }
    if let Some(done) = fulfilled(&draft.state) {
        return draft.end(OutcomeKind::Stopped, Reason::Asked, done);
    }
    if !limit::allows(draft, LimitCheck::Choosing) {
        return;
    }
    if run_baseline(draft) {
        return;
    }
    let mut next = next_task(&draft.state);
    while let Next::Task(task) = &next {
        let Some((reason, words)) = draft.state.why_in_vain(task) else { break };
        draft.emit(TaskEvent::Blocked { task: task.clone(), reason, words });
        next = next_task(&draft.state);
    }
    match next {
        Next::Task(task) => open_iteration(draft, Some(task)),
        Next::AllDone => last::begin(draft),
        Next::Blocked(reason, detail) => draft.end(OutcomeKind::Blocked, reason, detail),
        Next::NotAsked(reason, detail) => draft.end(OutcomeKind::Stopped, reason, detail),
    }
}

pub(super) fn open_iteration(draft: &mut Draft, task: Option<TaskId>) {
    if !limit::allows(draft, LimitCheck::BeforeIteration) {
        return;
    }
    if let Some((reason, detail)) = limit::budget_spent(&draft.state) {
        return draft.end(OutcomeKind::Limit, reason, detail);
    }
    if let Some(merge) = merge_due(&draft.state, task.as_ref()) {
        return draft.perform(merge);
    }
    let tree = start_tree(&draft.state, task.as_ref());
    let iteration = draft.state.iterations + 1;
    draft.emit(IterationEvent::Opened { iteration, task, tree: tree.clone() });
    draft.enter(match draft.state.current_task() {
        Some(_) => crate::event::Phase::Execute,
        None => crate::event::Phase::Fix,
    });
    draft.perform(Effect::PrepareWorkspace { tree });
}

/// From the last tree of its task, protected paths restored; from the head
/// when the task has none on it, or was rejected and the policy says so.
pub(super) fn start_tree(state: &State, task: Option<&TaskId>) -> TreeId {
    let work = work_of(state, task);
    let on_head = work.base.as_ref() == Some(&state.head);
    let kept = kept_tree(state, work).filter(|_| on_head);
    kept.unwrap_or(&state.head.tree).clone()
}

/// Something landed since the task was last worked on: its work is brought onto
/// that first.
fn merge_due(state: &State, task: Option<&TaskId>) -> Option<Effect> {
    let work = work_of(state, task);
    let base = work.base.as_ref().filter(|base| **base != state.head)?;
    let tree = kept_tree(state, work).filter(|tree| **tree != base.tree)?;
    Some(Effect::MergeWork {
        task: task.cloned(),
        base: base.tree.clone(),
        work: tree.clone(),
        head: state.head.tree.clone(),
    })
}

pub(super) fn work_merged(draft: &mut Draft, task: Option<TaskId>, head: TreeId, merge: &WorkMerge) {
    let whole = task.is_none();
    draft.emit(match merge.clone() {
        WorkMerge::Clean { tree, change } => IterationEvent::WorkMerged { task, head, tree, change },
        WorkMerge::NotMerged(work) => IterationEvent::WorkNotMerged { task, head, work: Box::new(work) },
    });
    match whole && !draft.state.cancelling {
        true => last::fix(draft),
        false => choose(draft),
    }
}

fn work_of<'a>(state: &'a State, task: Option<&TaskId>) -> &'a Work {
    task.and_then(|id| state.task(id)).map_or(&state.whole, |task| &task.work)
}

/// What the policy lets a task go on from, whatever landed since.
fn kept_tree<'a>(state: &State, work: &'a Work) -> Option<&'a TreeId> {
    let reset = state.policy().review.rejected == Rejected::Reset;
    let gone = |tree: &TreeId| (reset && work.rejected.contains(tree)) || stop::is_no_step(state, work);
    work.tree.as_ref().filter(|tree| !gone(tree))
}

pub(super) fn close_iteration(draft: &mut Draft, result: IterationResult) {
    let Some(current) = draft.state.current.clone() else { return };
    let (iteration, task) = (current.iteration, current.task);
    draft.emit(IterationEvent::Closed { iteration, task, result });
}

/// The open iteration's task is blocked; the loop goes on with its siblings.
pub(super) fn block_task(draft: &mut Draft, reason: Reason, words: String) {
    let task = draft.state.current_task().cloned();
    if let Some(task) = task {
        draft.emit(TaskEvent::Blocked { task, reason, words });
    }
}

/// The open iteration's task was waived meanwhile: nothing of it is judged.
pub(super) fn give_up(draft: &mut Draft) {
    close_iteration(draft, IterationResult::Waived);
    choose(draft);
}

pub(super) fn landed(draft: &mut Draft, commit: &CommitId) {
    let tree = match &draft.state.recorded {
        Some(recorded) if recorded.commit == *commit => recorded.tree.clone(),
        Some(_) | None => draft.state.head.tree.clone(),
    };
    let trusted = trusted_with(&draft.state, commit);
    draft.emit(LandingEvent::Landed { commit: commit.clone(), tree, trusted });
    let task = draft.state.current_task().cloned();
    let Some(task) = task else { return last::landed(draft) };
    let reviewed = accepted(&draft.state);
    let policy = draft.state.judged_by.as_deref().unwrap_or(draft.state.policy());
    let judged = draft.state.task(&task).map(|task| &*task.task);
    let checked = !policy.gate.checks_for(judged).is_empty();
    let commit = commit.clone();
    if draft.state.repeats(Some(&task)) {
        draft.emit(TaskEvent::StepLanded { task, commit, reviewed, checked });
        close_iteration(draft, IterationResult::Stepped);
    } else {
        draft.emit(TaskEvent::Done { task, commit, reviewed, checked });
        close_iteration(draft, IterationResult::Done);
    }
    choose(draft);
}

/// The tree whose terms are trusted once this commit has landed, where it is
/// not the landed tree itself: an accepting review of the tree speaks for the
/// tests it adds, and for the terms it changes only in so many words. The first
/// tests of a project have no others to stand beside.
fn trusted_with(state: &State, commit: &CommitId) -> Option<TreeId> {
    let Some(recorded) = state.recorded.as_ref().filter(|recorded| recorded.commit == *commit) else {
        return Some(state.trusted.clone()).filter(|trusted| *trusted != state.head.tree);
    };
    let judged = recorded.changed_terms.is_empty()
        || state.last_review.as_ref().is_some_and(|review| review.accepts_terms);
    let gate = state.current_work().gate.as_ref();
    let waived = gate.is_some_and(|gate| finding::terms_waived(state, gate));
    if waived || (accepted(state) && judged) { None } else { state.recorded_trials(recorded).trusted }
}

pub(super) fn deadline_passed(draft: &mut Draft) {
    let due = draft.state.next_deadline().is_some_and(|deadline| match deadline {
        Deadline::At(moment) => moment <= draft.at,
        Deadline::After(left) => left.is_zero(),
    });
    if due {
        draft.emit(PauseEvent::WaitEnded);
    } else {
        draft.refuse(&Input::DeadlinePassed, "no deadline is due");
    }
}

pub(super) fn interrupted(draft: &mut Draft, signal: &str) {
    let signal = signal.to_owned();
    match draft.state.lifecycle {
        Lifecycle::Driving | Lifecycle::Interrupted => draft.emit(RunEvent::Interrupted { signal }),
        Lifecycle::Idle | Lifecycle::Ended(_) => {
            draft.refuse(&Input::Interrupted { signal }, "it is not running");
        }
    }
}

/// An effect that was never started is given up because the run is ending.
pub(super) fn dropped(draft: &mut Draft, effect: &Effect) {
    let refused = match (draft.state.cancelling, effect.may_be_dropped()) {
        (false, _) => Some("the run is not being cancelled".to_owned()),
        (true, false) => Some(format!("{} is not left undone", effect.name())),
        (true, true) => None,
    };
    if let Some(why) = refused {
        draft.closes = None;
        return draft.refuse(&Input::EffectDropped, &why);
    }
    if let Effect::CallAgent { attempt, role, .. } = effect {
        attempt::never_started(draft, *attempt, *role);
    }
    end_cancelled(draft);
}

pub(super) fn end_cancelled(draft: &mut Draft) {
    close_iteration(draft, IterationResult::Ended);
    draft.end(OutcomeKind::Cancelled, Reason::Operator, String::new());
}

/// Whether the reviewer accepted exactly the tree that is recorded now.
fn accepted(state: &State) -> bool {
    let tree = state.recorded.as_ref().map(|recorded| &recorded.tree);
    state
        .last_review
        .as_ref()
        .is_some_and(|review| Some(&review.tree) == tree && review.verdict == crate::verdict::Verdict::Accept)
}

/// Whether what this drive was asked for is done.
fn fulfilled(state: &State) -> Option<String> {
    let asked = &state.run.asked;
    let done = |id: &&TaskId| state.task(id).is_some_and(is_done);
    if let Some(task) = asked.task.as_ref().filter(done) {
        return Some(format!("task {task} is done, as asked"));
    }
    if let Some(task) = asked.until.as_ref().filter(done) {
        return Some(format!("task {task} is done, as far as asked"));
    }
    if state.tasks.iter().all(is_done) { None } else { enough(state) }
}

/// Whether this drive has made as many iterations as it was asked for.
pub(super) fn enough(state: &State) -> Option<String> {
    let max = state.run.asked.max;
    let iterations = if max == 1 { "iteration" } else { "iterations" };
    is_reached(state.run.drive_iterations, max).then(|| format!("{max} {iterations}, as asked"))
}

/// Whether this drive was asked for another task than the open iteration's.
pub(super) fn unasked(state: &State) -> bool {
    let asked = &state.run.asked.task;
    asked.is_some() && state.current.as_ref().is_some_and(|current| current.task != *asked)
}

enum Next {
    Task(TaskId),
    AllDone,
    Blocked(Reason, String),
    /// The one task that was asked for cannot be done; others can.
    NotAsked(Reason, String),
}

/// Lowest priority number first, then plan order, among the tasks whose
/// dependencies are all done or waived.
fn next_task(state: &State) -> Next {
    let ready = |task: &&TaskState| state.is_ready(task);
    let asked = state.run.asked.task.as_ref();
    let once = state.run.asked.once;
    let is_over = |task: &&TaskState| once && state.run.tried.contains(&task.task.id);
    let wanted = |task: &&TaskState| asked.is_none_or(|id| *id == task.task.id);
    let next = state
        .tasks
        .iter()
        .filter(wanted)
        .filter(ready)
        .filter(|task| !is_over(task))
        .min_by_key(|task| task.task.priority);
    if let Some(task) = next {
        return Next::Task(task.task.id.clone());
    }
    if state.tasks.iter().all(is_done) {
        return Next::AllDone;
    }
    if once && state.tasks.iter().any(|task| is_over(&task)) {
        return Next::NotAsked(Reason::OnePass, one_pass(state));
    }
    if let Some(task) = asked.and_then(|id| state.task(id)).filter(|_| state.has_ready_task()) {
        let (reason, detail) = why_not(state, task);
        return Next::NotAsked(reason, detail);
    }
    let (reason, detail) = blocked_by(state);
    Next::Blocked(reason, detail)
}

/// What one pass over the plan came to.
fn one_pass(state: &State) -> String {
    let done = state.tasks.iter().filter(|task| is_done(task)).count();
    let open = state.tasks.iter().filter(|task| !is_done(task));
    let open: Vec<&str> = open.map(|task| task.task.id.as_str()).collect();
    format!("one pass: {done} of {} done; not done: {}", state.tasks.len(), open.join(", "))
}

/// Why the only task that was asked for is blocked, where others could be worked on.
pub(super) fn only_asked_is_blocked(state: &State) -> Option<String> {
    let task = state.run.asked.task.as_ref().and_then(|id| state.task(id))?;
    let is_so = task.status == TaskStatus::Blocked && state.has_ready_task();
    is_so.then(|| why_not(state, task).1)
}

/// Why the task that was asked for is not worked on.
fn why_not(state: &State, task: &TaskState) -> (Reason, String) {
    let id = &task.task.id;
    match task.status {
        TaskStatus::Blocked => {
            let reason = task.reason.unwrap_or(Reason::Several);
            (reason, format!("task {id}, the only one asked for, is blocked: {}", task.words))
        }
        TaskStatus::Pending | TaskStatus::Active | TaskStatus::Done | TaskStatus::Waived => {
            let needed: Vec<&str> = waits_for(state, task).into_iter().map(TaskId::as_str).collect();
            (
                Reason::Dependency,
                format!("task {id}, the only one asked for, waits for {}", needed.join(", ")),
            )
        }
    }
}

/// What a task depends on and is neither done nor waived.
fn waits_for<'a>(state: &State, task: &'a TaskState) -> Vec<&'a TaskId> {
    let undone = |id: &&TaskId| !state.task(id).is_some_and(is_done);
    task.task.depends_on.iter().filter(undone).collect()
}

fn is_done(task: &TaskState) -> bool {
    task.status.is_over()
}

/// The one reason all blocked tasks share, or that they differ.
fn blocked_by(state: &State) -> (Reason, String) {
    let blocked: Vec<&TaskState> =
        state.tasks.iter().filter(|task| task.status == TaskStatus::Blocked).collect();
    let named = |task: &&TaskState| {
        let reason = task.reason.map_or("", Reason::name);
        format!("{} ({reason})", task.task.id)
    };
    let names: Vec<String> = blocked.iter().map(named).collect();
    let mut reasons: Vec<Reason> = blocked.iter().filter_map(|task| task.reason).collect();
    reasons.dedup();
    let reason = match reasons.as_slice() {
        [] => Reason::Dependency,
        [one] => *one,
        [_, ..] => Reason::Several,
    };
    let detail = match names.as_slice() {
        [] => "no task is ready: what was asked for waits for other tasks".to_owned(),
        [_, ..] => format!("blocked: {}", names.join(", ")),
    };
    (reason, detail)
}
