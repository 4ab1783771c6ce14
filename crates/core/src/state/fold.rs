//! Events into state. Every arm copies facts; no arm decides.

mod revised;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::event::{
    AttemptEvent, AttemptFinished, Decision, Event, FindingEvent, GateEvent, IterationEvent, IterationResult,
    LandingEvent, LoopEvent, OperatorEvent, PauseEvent, Phase, ReviewRecorded, RunEvent, TaskEvent,
    TreeRecorded,
};
use crate::finding::Life;
use crate::gate::{CheckRun, FailingCheck, GateKey, GateSummary, LastGate, Purpose, Trial, Trials};
use crate::id::{AttemptId, CommandId, CommitId, EffectId, FindingId, Seq, TaskId, TreeId};
use crate::input::{AttemptEnd, AttemptResult, CONFINED, Change, Creation};
use crate::limit::Limit;
use crate::outcome::{Outcome, Reason};
use crate::policy::Role;
use crate::proposal::AmendmentState;
use crate::regression::RegressionTrial;
use crate::setback::{Setback, one_line};
use crate::state::{
    Attempt, AwaitedApproval, Conversation, Current, Head, Lifecycle, Pause, Run, State, TaskState,
    TaskStatus, Wait, Work,
};
use crate::stop::StopReport;
use crate::tally::Tally;
use crate::time::{Millis, Timestamp};
use crate::usage::Ledger;
use crate::verdict::{AuthorSaid, Verdict};
use revised::{fresh_task, places, plan_changed, policy_changed, revision_kept};

pub(super) fn created_by(decision: &Decision) -> Option<State> {
    let Some(Event::Loop(LoopEvent::Created(creation))) = decision.events.first() else { return None };
    let mut state = blank(creation, decision.at);
    apply(&mut state, Seq(1), decision);
    Some(state)
}

pub(super) fn apply(state: &mut State, seq: Seq, decision: &Decision) {
    state.spend(decision.elapsed);
    for event in &decision.events {
        record(state, decision.at, event);
    }
    if let Some(closed) = decision.closes {
        state.outstanding.remove(&closed);
    }
    for issued in &decision.effects {
        state.outstanding.insert(issued.id, issued.effect.clone());
        state.next_effect = issued.id.next();
    }
    state.seq = seq;
    state.events += decision.events.len() as u64;
    state.updated_at = decision.at;
}

pub(super) fn record(state: &mut State, at: Timestamp, event: &Event) {
    match event {
        Event::Loop(event) => loop_event(state, event),
        Event::Run(event) => run_event(state, at, event),
        Event::Pause(event) => pause_event(state, at, event),
        Event::Iteration(event) => iteration_event(state, event),
        Event::Attempt(event) => attempt_event(state, at, event),
        Event::Gate(event) => gate_event(state, event),
        Event::Finding(event) => finding_event(state, event),
        Event::Task(event) => task_event(state, event),
        Event::Landing(event) => landing_event(state, event),
        Event::Operator(event) => operator_event(state, event),
    }
}

fn loop_event(state: &mut State, event: &LoopEvent) {
    match event {
        LoopEvent::Created(_) => {}
        LoopEvent::PlanChanged(revision) => plan_changed(state, revision),
        LoopEvent::PolicyChanged(revision) => policy_changed(state, revision),
        LoopEvent::RevisionKept(revision) => revision_kept(state, revision),
        LoopEvent::AmendmentProposed { amendment, attempt, proposed } => {
            let (id, proposed) = (amendment.clone(), Arc::new(proposed.as_ref().clone()));
            let new = AmendmentState { id, attempt: *attempt, proposed, answer: None, added: Vec::new() };
            Arc::make_mut(&mut state.amendments).push(new);
        }
        LoopEvent::AmendmentAnswered { amendment, answer, added, .. } => {
            let known = Arc::make_mut(&mut state.amendments).iter_mut().find(|known| known.id == *amendment);
            if let Some(known) = known {
                known.answer = Some(*answer);
                known.added.clone_from(added);
            }
        }
    }
}

fn run_event(state: &mut State, at: Timestamp, event: &RunEvent) {
    match event {
        RunEvent::Started { run, asked } => run_started(state, at, *run, asked),
        RunEvent::Resumed { asked, .. } => run_resumed(state, at, asked),
        RunEvent::Restarted { run } => run_restarted(state, *run),
        RunEvent::Interrupted { .. } => state.lifecycle = Lifecycle::Interrupted,
        RunEvent::Ended { outcome } => run_ended(state, at, outcome),
    }
}

fn pause_event(state: &mut State, at: Timestamp, event: &PauseEvent) {
    match event {
        PauseEvent::WaitStarted { until, why } => {
            let left = (*why == Reason::Backoff).then(|| until.since(at));
            state.waiting = Some(Wait { until: *until, why: *why, detail: failed(state), left });
        }
        PauseEvent::WaitEnded => state.waiting = None,
        PauseEvent::Paused { why, detail, undone } => {
            state.paused = Some(Pause { why: *why, detail: detail.clone(), undone: undone.clone() });
        }
        PauseEvent::Resumed => resumed(state),
    }
}

/// What the attempt that a wait follows failed of. When a usage limit ends, the wait says itself.
fn failed(state: &State) -> String {
    state.attempt.as_ref().map_or_else(String::new, |attempt| match attempt.end {
        Some(AttemptEnd::UsageLimit { .. }) => attempt.failure.clone(),
        Some(_) | None => attempt.ending(),
    })
}

fn iteration_event(state: &mut State, event: &IterationEvent) {
    match event {
        IterationEvent::WorkMerged { task, tree, change, .. } => {
            work_rebased(state, task.as_ref(), tree, change);
        }
        IterationEvent::WorkNotMerged { task, head, work } => {
            work_rebased(state, task.as_ref(), head, &Change::default());
            state.work_mut(task.as_ref()).unmerged = Some(Arc::new((**work).clone()));
        }
        IterationEvent::Opened { iteration, task, tree } => {
            iteration_opened(state, *iteration, task.as_ref(), tree)
        }
        IterationEvent::PhaseEntered { phase } => phase_entered(state, *phase),
        IterationEvent::Closed { task, result, .. } => iteration_closed(state, task.as_ref(), *result),
    }
}

fn attempt_event(state: &mut State, at: Timestamp, event: &AttemptEvent) {
    match event {
        AttemptEvent::Started { attempt, role, task, .. } => {
            attempt_started(state, *attempt, *role, task.as_ref());
            if let Some(begun) = state.attempt.as_mut().map(Arc::make_mut) {
                begun.started_at = at;
            }
        }
        AttemptEvent::Finished(finished) => attempt_finished(state, finished),
        AttemptEvent::AgentReplaced { role, .. } => agent_replaced(state, *role),
        AttemptEvent::FailureCounted { limit, .. } => failure_counted(state, *limit),
        AttemptEvent::BriefShortened => state.short_brief = true,
        AttemptEvent::TreeRecorded(recorded) => tree_recorded(state, recorded),
        AttemptEvent::ReviewRecorded(review) => review_recorded(state, review),
    }
}

fn gate_event(state: &mut State, event: &GateEvent) {
    match event {
        GateEvent::CheckFinished(run) => check_finished(state, run),
        GateEvent::Passed { purpose, tree, trusted, regression, checks, flaky } => {
            let summary = GateSummary { flaky: flaky.clone(), ..green(checks) };
            gate_reported(
                state,
                *purpose,
                key(trials(tree, trusted.as_ref(), regression.as_ref()), checks),
                summary,
            );
        }
        GateEvent::Failed { purpose, tree, trusted, regression, checks, exits, failing } => {
            let (exits, failing) = (exits.clone(), failing.clone());
            let summary =
                GateSummary { passed: false, flaky: Vec::new(), exits, failing, needs_terms: false };
            gate_reported(
                state,
                *purpose,
                key(trials(tree, trusted.as_ref(), regression.as_ref()), checks),
                summary,
            );
        }
        GateEvent::NeedsTerms { purpose, tree, trusted, regression, checks, failing } => {
            let failing = failing.clone();
            let summary = GateSummary { passed: false, failing, needs_terms: true, ..green(checks) };
            gate_reported(
                state,
                *purpose,
                key(trials(tree, Some(trusted), regression.as_ref()), checks),
                summary,
            );
        }
        GateEvent::Reused { tree, trusted, regression, checks, .. } => {
            gate_reused(state, &key(trials(tree, trusted.as_ref(), regression.as_ref()), checks));
        }
    }
}

fn key(trials: Trials, checks: &[String]) -> GateKey {
    GateKey { trials, checks: checks.to_vec() }
}

fn trials(tree: &TreeId, trusted: Option<&TreeId>, regression: Option<&RegressionTrial>) -> Trials {
    Trials { landing: tree.clone(), trusted: trusted.cloned(), regression: regression.cloned() }
}

fn green(checks: &[String]) -> GateSummary {
    let exits = checks.iter().map(|check| (check.clone(), Some(0))).collect();
    GateSummary { passed: true, flaky: Vec::new(), exits, failing: Vec::new(), needs_terms: false }
}

fn finding_event(state: &mut State, event: &FindingEvent) {
    match event {
        FindingEvent::Opened(finding) => {
            let findings = Arc::make_mut(&mut state.findings);
            findings.insert(finding.id.clone(), (**finding).clone());
        }
        FindingEvent::Carried { finding } => set_life(state, finding, Life::Carried),
        FindingEvent::Remeasured { finding, diff } => {
            if let Some(finding) = Arc::make_mut(&mut state.findings).get_mut(finding) {
                finding.diff.clone_from(diff);
            }
        }
        FindingEvent::Resolved { finding } => set_life(state, finding, Life::Resolved),
        FindingEvent::Waived { finding, .. } => finding_waived(state, finding),
    }
}

fn task_event(state: &mut State, event: &TaskEvent) {
    match event {
        TaskEvent::Done { task, commit, reviewed, checked } => {
            let Some(task) = state.task_mut(task) else { return };
            task.commit = Some(commit.clone());
            task.reviewed = *reviewed;
            task.checked = *checked;
            set_status(task, TaskStatus::Done, None, "");
        }
        TaskEvent::Blocked { task, reason, words } => {
            let Some(task) = state.task_mut(task) else { return };
            set_status(task, TaskStatus::Blocked, Some(*reason), words);
        }
        TaskEvent::Unblocked { task } => {
            let Some(task) = state.task_mut(task) else { return };
            task.failures = 0;
            task.no_progress = 0;
            task.rejections = 0;
            set_status(task, TaskStatus::Pending, None, "");
        }
        TaskEvent::Waived { task, why } => {
            let Some(task) = state.task_mut(task) else { return };
            set_status(task, TaskStatus::Waived, None, why);
        }
        TaskEvent::StepLanded { task, commit, reviewed, checked } => {
            step_landed(state, task, commit, ProvenBy { reviewed: *reviewed, checked: *checked });
        }
        TaskEvent::StopChecked { tree, holds, results, .. } => {
            let (tree, results) = (tree.clone(), results.clone());
            state.stop = Some(Arc::new(StopReport { tree, holds: *holds, results }));
        }
        TaskEvent::Reopened { task } => {
            let Some(task) = state.task_mut(task) else { return };
            set_status(task, TaskStatus::Pending, None, "");
        }
    }
}

/// What spoke for a step.
struct ProvenBy {
    reviewed: bool,
    checked: bool,
}

/// What one step lacks, the task lacks. The next one begins from the branch's head.
fn step_landed(state: &mut State, id: &TaskId, commit: &CommitId, by: ProvenBy) {
    let Some(task) = state.task_mut(id) else { return };
    let is_first = task.steps == 0;
    task.steps += 1;
    task.commit = Some(commit.clone());
    task.reviewed = by.reviewed && (is_first || task.reviewed);
    task.checked = by.checked && (is_first || task.checked);
    let work = Arc::make_mut(&mut task.work);
    (work.tree, work.unmerged) = (None, None);
}

fn landing_event(state: &mut State, event: &LandingEvent) {
    match event {
        LandingEvent::ApprovalAsked { commit, tree, base } => {
            let (commit, tree, base) = (commit.clone(), tree.clone(), base.clone());
            state.approval = Some(Arc::new(AwaitedApproval { commit, tree, base }));
        }
        LandingEvent::Approved { .. } => state.approval = None,
        LandingEvent::Rejected { tree, .. } => landing_rejected(state, tree),
        LandingEvent::Landed { commit, tree, trusted } => {
            landed(state, commit, tree);
            trusted_from_here(state, trusted.as_ref().unwrap_or(tree));
        }
        LandingEvent::TermsAccepted { tree } => trusted_from_here(state, tree),
        LandingEvent::FinishRecorded { summary } => state.completion_summary = Some(summary.clone()),
        LandingEvent::FinishDropped { .. } => {}
    }
}

fn operator_event(state: &mut State, event: &OperatorEvent) {
    match event {
        OperatorEvent::CommandTaken { command, .. } => state.last_command = *command,
        OperatorEvent::CancelAsked => cancel_asked(state),
        OperatorEvent::Steered { text } => state.steering.push(text.clone()),
        OperatorEvent::TermsTrusted { tree } => state.trusted_later = Some(tree.clone()),
        OperatorEvent::InputRefused { .. } | OperatorEvent::Noted { .. } => {}
    }
}

fn blank(creation: &Creation, at: Timestamp) -> State {
    let tasks: Vec<TaskState> = creation.plan.tasks.iter().map(fresh_task).collect();
    State {
        places: Arc::new(places(&tasks)),
        seq: Seq(0),
        events: 0,
        created_at: at,
        lifecycle: Lifecycle::Idle,
        run: Run { number: 1, ..Run::default() },
        tasks: Arc::new(tasks),
        tools: Arc::new(creation.plan.tools.clone()),
        whole: Arc::default(),
        current: None,
        attempt: None,
        recorded: None,
        phase: None,
        short_brief: false,
        head: Head { commit: creation.base.clone(), tree: creation.base_tree.clone(), landed: false },
        trusted: creation.trusted.as_ref().unwrap_or(&creation.base_tree).clone(),
        changed_terms: Arc::default(),
        trusted_later: None,
        baseline: None,
        last_gate: None,
        gates: Arc::default(),
        tallies: Arc::default(),
        baseline_writes: Arc::default(),
        baseline_terms: Arc::default(),
        findings: Arc::default(),
        pending: Vec::new(),
        steering: Vec::new(),
        reviews: 0,
        last_review: None,
        ledger: Ledger::default(),
        waiting: None,
        paused: None,
        approval: None,
        cancelling: false,
        last_command: CommandId(0),
        completion_summary: None,
        stop: None,
        worked: Millis(0),
        updated_at: at,
        ended_at: None,
        next_attempt: AttemptId(1),
        iterations: 0,
        outstanding: BTreeMap::new(),
        next_effect: EffectId(1),
        policy: Arc::new(creation.policy.clone()),
        policy_changes: 0,
        judged_by: None,
        revision: Arc::default(),
        amendments: Arc::default(),
        creation: Arc::new(creation.clone()),
    }
}

fn run_started(state: &mut State, at: Timestamp, run: u32, asked: &crate::input::Asked) {
    if let Lifecycle::Ended(outcome) = &state.lifecycle {
        // The task that these counts were about is blocked; what is left begins without them.
        if outcome.reason == Reason::Stalled {
            state.run.stalls = 0;
        }
        if outcome.reason == Reason::AgentFailed {
            (state.run.agent_failures, state.run.killed) = (0, 0);
        }
    }
    state.lifecycle = Lifecycle::Driving;
    state.run.number = run;
    state.run.asked = asked.clone();
    state.run.started_at = Some(at);
    state.run.drive_iterations = 0;
    state.run.tried.clear();
    state.ended_at = None;
}

/// How long nobody drove is known by the wall clock only; whatever it says, no wait gets
/// longer by it.
fn run_resumed(state: &mut State, at: Timestamp, asked: &crate::input::Asked) {
    if let Some(wait) = &mut state.waiting {
        wait.left = wait.left.map(|left| left.min(wait.until.since(at)));
    }
    state.lifecycle = Lifecycle::Driving;
    state.run.asked = asked.clone();
    state.run.drive_iterations = u32::from(state.current.is_some());
    state.run.tried = state.current_task().cloned().into_iter().collect();
}

/// What stalls and crashes blocked, a restart opens again: those limits are
/// the run's, and its counters begin anew. Everything a task earned stays.
fn run_restarted(state: &mut State, run: u32) {
    state.lifecycle = Lifecycle::Idle;
    state.run = Run { number: run, ..Run::default() };
    state.current = None;
    state.attempt = None;
    state.recorded = None;
    state.judged_by = None;
    state.phase = None;
    state.waiting = None;
    state.paused = None;
    state.approval = None;
    state.cancelling = false;
    state.ended_at = None;
    state.outstanding.clear();
    for task in Arc::make_mut(&mut state.tasks) {
        task.failures = 0;
        task.no_progress = 0;
        let by_run = matches!(
            task.reason,
            Some(Reason::Stalled | Reason::AgentFailed | Reason::ReviewFailed | Reason::GateFailed)
        );
        if task.status == TaskStatus::Active || (task.status == TaskStatus::Blocked && by_run) {
            set_status(task, TaskStatus::Pending, None, "");
        }
    }
}

fn iteration_opened(state: &mut State, iteration: u32, task: Option<&TaskId>, tree: &TreeId) {
    state.iterations = iteration;
    state.judged_by = None;
    state.run.iterations += 1;
    state.run.drive_iterations += 1;
    state.run.tried.extend(task.cloned());
    let head = state.head.clone();
    if let Some(task) = task.and_then(|id| state.task_mut(id)) {
        set_status(task, TaskStatus::Active, None, "");
    } else {
        state.run.final_fixes += 1;
    }
    let starts_step = *tree == head.tree && state.repeats(task);
    let work = state.work_mut(task);
    if work.base.as_ref() != Some(&head) {
        *work = rebased(std::mem::take(work), head, task);
    }
    work.tree = Some(tree.clone());
    if starts_step {
        work.change = Change::default();
    }
    state.current = Some(Current { iteration, task: task.cloned(), start_tree: tree.clone() });
    state.recorded = None;
}

fn work_rebased(state: &mut State, task: Option<&TaskId>, tree: &TreeId, change: &Change) {
    let head = state.head.clone();
    let work = state.work_mut(task);
    *work = rebased(std::mem::take(work), head, task);
    work.tree = Some(tree.clone());
    work.change = change.clone();
}

/// Verifying begins anew, by the rules in force.
fn phase_entered(state: &mut State, phase: Phase) {
    state.phase = Some(phase);
    if matches!(phase, Phase::Verify | Phase::FinalVerify) {
        state.judged_by = None;
    }
    state.short_brief = false;
}

/// What was said of the work outlives the head it stood on. What the gate and
/// the final review said of the whole is about the head itself.
fn rebased(work: Work, head: Head, task: Option<&TaskId>) -> Work {
    let Work { pending, answers, objection, author, gate, rejected, insensitive, unmerged, setback, .. } =
        work;
    let base = Some(head);
    let said = Work { base, pending, answers, objection, author, unmerged, setback, ..Work::default() };
    match task {
        Some(_) => said,
        None => Work { gate, rejected, insensitive, ..said },
    }
}

fn attempt_started(state: &mut State, id: AttemptId, role: Role, task: Option<&TaskId>) {
    state.next_attempt = id.next();
    let last = state.attempt.take().filter(|last| last.role == role && last.task.as_ref() == task);
    state.attempt = Some(Arc::new(Attempt {
        id,
        role,
        task: task.cloned(),
        started_at: Timestamp::default(),
        end: None,
        before: last.and_then(|last| last.end.clone()),
        claim: None,
        message: String::new(),
        failure: String::new(),
    }));
    if let Some(task) = task.and_then(|id| state.task_mut(id)).filter(|_| role == Role::Author) {
        task.attempts += 1;
    }
}

fn attempt_finished(state: &mut State, finished: &AttemptFinished) {
    let result = &finished.result;
    state.ledger.record(finished.role, result.usage.as_ref(), &result.models);
    match result.end {
        AttemptEnd::Normal => {
            state.run.agent_failures = 0;
            state.run.stalls = 0;
            state.run.transient = 0;
            state.run.killed = 0;
        }
        AttemptEnd::Killed => state.run.killed += 1,
        AttemptEnd::RateLimited { .. }
        | AttemptEnd::UsageLimit { .. }
        | AttemptEnd::Overloaded
        | AttemptEnd::Network
        | AttemptEnd::Auth { .. }
        | AttemptEnd::ModelNotFound { .. }
        | AttemptEnd::ContextOverflow
        | AttemptEnd::Refused { .. }
        | AttemptEnd::Crashed { .. }
        | AttemptEnd::TimedOut
        | AttemptEnd::Stalled
        | AttemptEnd::Protocol { .. }
        | AttemptEnd::Budget
        | AttemptEnd::Interrupted
        | AttemptEnd::Lost
        | AttemptEnd::Faulted(_) => {}
    }
    let task = state.attempt.as_ref().and_then(|attempt| attempt.task.clone());
    // A turn that went wrong is no place to go on from.
    match result.session.clone().filter(|_| result.end == AttemptEnd::Normal) {
        Some(session) => {
            let told = task.as_ref().and_then(|id| state.task(id)).map(|of| Arc::clone(&of.task));
            let of = Conversation { task: task.clone(), told, session };
            state.run.sessions.insert(finished.role, of);
        }
        None => drop(state.run.sessions.remove(&finished.role)),
    }
    if finished.role == Role::Author {
        let work = state.work_mut(task.as_ref());
        work.summary = Arc::new(result.summary.clone());
        work.files_read = result.files_read;
        if finished.claim.is_some() || result.end == AttemptEnd::Normal {
            let (claim, message) = (finished.claim.clone(), result.message.clone());
            work.author = Arc::new(AuthorSaid { claim, message });
        }
    }
    if let Some(attempt) = state.attempt.as_mut().map(Arc::make_mut) {
        attempt.end = Some(result.end.clone());
        attempt.claim.clone_from(&finished.claim);
        attempt.message.clone_from(&result.message);
        attempt.failure = told_of_failure(result);
    }
}

/// Such an end has no words of its own: those of the provider are beside it.
fn told_of_failure(result: &AttemptResult) -> String {
    if !result.end.is_wordless() {
        return String::new();
    }
    let notes: Vec<&str> =
        result.notes.iter().map(String::as_str).filter(|note| !note.ends_with(CONFINED)).collect();
    one_line(&notes.join("; "))
}

/// The other limits count what other events tell.
fn failure_counted(state: &mut State, limit: Limit) {
    match limit {
        Limit::AgentFailures => state.run.agent_failures += 1,
        Limit::Stalls => state.run.stalls += 1,
        Limit::Transient => state.run.transient += 1,
        Limit::Iterations
        | Limit::TaskFailures
        | Limit::GateFailures
        | Limit::NoProgress
        | Limit::Rejections
        | Limit::ReviewFailures
        | Limit::FinalFixes => {}
    }
}

/// Another program knows nothing of the conversation.
fn agent_replaced(state: &mut State, role: Role) {
    *state.run.replaced.entry(role).or_default() += 1;
    state.run.sessions.remove(&role);
}

fn tree_recorded(state: &mut State, recorded: &TreeRecorded) {
    state.recorded = Some(Arc::new(recorded.clone()));
    if state.current.is_some() {
        state.judged_by = None;
    }
    let task = state.current_task().cloned();
    let of_iteration = state.current.is_some();
    // Nobody can tell whether an attempt that was cut short has made its step.
    let goes_on = recorded.novelty.is_some() || !state.repeats(task.as_ref());
    let work = state.work_mut(task.as_ref());
    // What a finisher leaves is no work to go on with.
    if of_iteration && goes_on {
        work.tree = Some(recorded.gate_tree.clone());
    }
    if goes_on {
        work.change = recorded.change.clone();
    }
    if recorded.novelty.is_some() {
        work.seen.insert(recorded.tree.clone());
    }
}

fn check_finished(state: &mut State, run: &CheckRun) {
    if let Some(writes) = &run.result.writes {
        Arc::make_mut(&mut state.baseline_writes).extend(writes.all.clone());
        Arc::make_mut(&mut state.baseline_terms).extend(writes.terms.clone());
    }
    let Some(Tally::Counted(counts)) = &run.result.tally else { return };
    if run.trial != Trial::Landing {
        return;
    }
    let tallies = Arc::make_mut(&mut state.tallies);
    let of = match run.purpose {
        Purpose::Baseline => &mut tallies.baseline,
        Purpose::Task | Purpose::Final => tallies.judged.entry(run.tree.clone()).or_default(),
    };
    of.insert(run.result.check.clone(), counts.names.clone());
}

fn landed(state: &mut State, commit: &CommitId, tree: &TreeId) {
    state.head = Head { commit: commit.clone(), tree: tree.clone(), landed: true };
    if state.current.as_ref().is_some_and(|current| current.task.is_none()) {
        let whole = Arc::make_mut(&mut state.whole);
        (whole.tree, whole.unmerged) = (None, None);
    }
    // A step check compared other trees with the head before this one.
    if state.policy.gate.step.is_some() {
        state.gates = Arc::default();
    }
    if let Some(judged) = state.tallies.judged.get(tree).cloned() {
        Arc::make_mut(&mut state.tallies).accepted.extend(judged);
        // Other trees were compared with what was accepted before this one.
        Arc::make_mut(&mut state.gates).retain(|key, _| key.trials.landing == *tree);
    }
}

/// Where rejected work is reset, a tree that the operator rejected is too.
fn landing_rejected(state: &mut State, tree: &TreeId) {
    state.approval = None;
    let task = state.current_task().cloned();
    if state.current.is_some() {
        state.work_mut(task.as_ref()).rejected.insert(tree.clone());
    }
}

fn trusted_from_here(state: &mut State, trusted: &TreeId) {
    state.trusted = trusted.clone();
    let recorded = state.recorded.as_ref().filter(|recorded| recorded.tree == state.head.tree);
    state.changed_terms = match recorded {
        Some(recorded) if *trusted != state.head.tree => Arc::new(recorded.changed_terms.clone()),
        Some(_) | None => Arc::default(),
    };
}

fn gate_reported(state: &mut State, purpose: Purpose, key: GateKey, summary: GateSummary) {
    let summary = Arc::new(summary);
    note_gate(state, purpose, &summary);
    match purpose {
        Purpose::Baseline => state.baseline = Some(summary.clone()),
        Purpose::Task => task_gate(state, summary.clone()),
        Purpose::Final => {
            let whole = Arc::make_mut(&mut state.whole);
            if summary.failing.iter().any(FailingCheck::is_about_control) {
                whole.insensitive.insert(key.trials.landing);
            }
            whole.gate = Some(summary);
            state.judged_by = None;
            return;
        }
    }
    Arc::make_mut(&mut state.gates).insert(key, summary);
}

fn gate_reused(state: &mut State, key: &GateKey) {
    if let Some(summary) = state.gates.get(key).cloned() {
        note_gate(state, Purpose::Task, &summary);
        task_gate(state, summary);
    }
}

fn note_gate(state: &mut State, purpose: Purpose, summary: &Arc<GateSummary>) {
    let task = state.current_task().cloned();
    state.last_gate = Some(LastGate { purpose, task, summary: Arc::clone(summary) });
}

fn task_gate(state: &mut State, summary: Arc<GateSummary>) {
    state.run.gate_failures = match (summary.passed, summary.needs_terms) {
        (true, _) => 0,
        (false, true) => state.run.gate_failures,
        (false, false) => state.run.gate_failures + 1,
    };
    let task = state.current_task().cloned();
    let work = state.work_mut(task.as_ref());
    work.previous_gate = work.gate.replace(summary);
}

fn review_recorded(state: &mut State, review: &ReviewRecorded) {
    state.reviews += 1;
    state.pending.clone_from(&review.pending);
    let task = state.current_task().cloned();
    let work = state.work_mut(task.as_ref());
    work.pending.clone_from(&review.pending);
    work.answers.clone_from(&review.criteria);
    work.objection = match review.verdict {
        Verdict::Accept => String::new(),
        Verdict::Reject => review.summary.clone(),
    };
    match (&review.failure, review.verdict) {
        (Some(_), _) => state.run.review_failures += 1,
        (None, Verdict::Accept) => state.run.review_failures = 0,
        (None, Verdict::Reject) => {
            state.run.review_failures = 0;
            state.work_mut(task.as_ref()).rejected.insert(review.tree.clone());
        }
    }
    state.last_review = Some(Arc::new(review.clone()));
}

fn iteration_closed(state: &mut State, task: Option<&TaskId>, result: IterationResult) {
    let setback = Setback::of(state, result).map(Arc::new);
    state.work_mut(task).setback = setback;
    state.current = None;
    state.phase = None;
    state.approval = None;
    let Some(task) = task.and_then(|id| state.task_mut(id)) else { return };
    match result {
        IterationResult::NoProgress => task.no_progress += 1,
        IterationResult::Failed => task.failures += 1,
        IterationResult::Rejected => {
            task.failures = 0;
            task.rejections += 1;
        }
        IterationResult::ReviewFailed | IterationResult::OperatorRejected | IterationResult::Done => {
            task.failures = 0;
        }
        IterationResult::Stepped => {
            task.failures = 0;
            task.no_progress = 0;
            task.rejections = 0;
        }
        IterationResult::AgentFailed
        | IterationResult::AgentBlocked
        | IterationResult::Unproven
        | IterationResult::Waived
        | IterationResult::Ended => {}
    }
    if task.status == TaskStatus::Active {
        task.status = TaskStatus::Pending;
    }
}

/// Nothing holds back what is left to do before the run may end.
fn cancel_asked(state: &mut State) {
    state.cancelling = true;
    state.paused = None;
    state.waiting = None;
}

fn resumed(state: &mut State) {
    state.paused = None;
    state.run.transient = 0;
    state.run.replaced.clear();
}

fn run_ended(state: &mut State, at: Timestamp, outcome: &Outcome) {
    state.lifecycle = Lifecycle::Ended(outcome.clone());
    state.ended_at = Some(at);
    state.waiting = None;
    state.paused = None;
    state.approval = None;
    state.cancelling = false;
}

fn set_status(task: &mut TaskState, status: TaskStatus, reason: Option<Reason>, words: &str) {
    task.status = status;
    task.reason = reason;
    task.words = words.to_owned();
}

/// With the operator's word on it, a tree that was rejected may be shown again.
fn finding_waived(state: &mut State, finding: &FindingId) {
    set_life(state, finding, Life::Waived);
    let task = state.findings.get(finding).and_then(|finding| finding.task.clone());
    state.work_mut(task.as_ref()).rejected.clear();
}

fn set_life(state: &mut State, finding: &FindingId, life: Life) {
    if let Some(finding) = Arc::make_mut(&mut state.findings).get_mut(finding) {
        finding.life = life;
    }
}
