//! An event in one line of words, for people and for tests that read like
//! prose.

use std::fmt;

use crate::acceptance;
use crate::event::{
    AttemptEvent, AttemptFinished, Event, FindingEvent, GateEvent, IterationEvent, LandingEvent, LoopEvent,
    Novelty, OperatorEvent, PauseEvent, ReviewRecorded, RunEvent, TaskEvent, TreeRecorded,
};
use crate::finding::Finding;
use crate::gate::{CheckRun, Purpose, TellNumbers};
use crate::id::TaskId;
use crate::input::{AttemptEnd, CONFINED};
use crate::policy::{ProvenSandbox, Role};
use crate::revision::{PlanRevision, PolicyRevision, Revision};
use crate::stop::StopResult;
use crate::tally::Tally;

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loop(event) => event.fmt(f),
            Self::Run(event) => event.fmt(f),
            Self::Pause(event) => event.fmt(f),
            Self::Iteration(event) => event.fmt(f),
            Self::Attempt(event) => event.fmt(f),
            Self::Gate(event) => event.fmt(f),
            Self::Finding(event) => event.fmt(f),
            Self::Task(event) => event.fmt(f),
            Self::Landing(event) => event.fmt(f),
            Self::Operator(event) => event.fmt(f),
        }
    }
}

impl fmt::Display for LoopEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Created(c) => {
                let count = c.plan.tasks.len();
                write!(f, "loop {} created: {count} {}", c.name, if count == 1 { "task" } else { "tasks" })
            }
            Self::PlanChanged(revision) => plan_changed(f, revision),
            Self::PolicyChanged(revision) => policy_changed(f, revision),
            Self::RevisionKept(revision) => revision_kept(f, revision),
            Self::AmendmentProposed { amendment, proposed, .. } => {
                write!(f, "amendment {amendment} proposed: {} {}", proposed.action.name(), proposed.subject())
            }
            Self::AmendmentAnswered { amendment, answer, why, .. } if why.is_empty() => {
                write!(f, "amendment {amendment} {}", answer.name())
            }
            Self::AmendmentAnswered { amendment, answer, why, .. } => {
                write!(f, "amendment {amendment} {}: {why}", answer.name())
            }
        }
    }
}

impl fmt::Display for RunEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Started { run, asked } => {
                write!(f, "run {run} started, sandbox {}", sandbox(&asked.sandbox))
            }
            Self::Resumed { run, asked } => resumed(f, *run, &asked.sandbox),
            Self::Restarted { run } => write!(f, "run {run} opened"),
            Self::Interrupted { signal } => f.write_str(&interrupted(signal)),
            Self::Ended { outcome } => {
                let (kind, reason) = (outcome.kind.name(), outcome.reason.name());
                write!(f, "run ended: {kind} ({reason}): {}", outcome.detail)
            }
        }
    }
}

/// A person knows what was done, and rarely the name of the signal that it sends.
fn interrupted(signal: &str) -> String {
    match signal {
        "SIGINT" => "interrupted (Ctrl-C)".to_owned(),
        "SIGHUP" => "interrupted (the terminal was closed)".to_owned(),
        other => format!("interrupted by {other}"),
    }
}

impl fmt::Display for PauseEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WaitStarted { until, why } => write!(f, "waiting until {until} ({})", why.name()),
            Self::WaitEnded => write!(f, "wait over"),
            Self::Paused { why, detail, .. } => write!(f, "paused ({}): {detail}", why.name()),
            Self::Resumed => write!(f, "resumed"),
        }
    }
}

impl fmt::Display for IterationEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WorkMerged { task, .. } => {
                write!(f, "{}: earlier work merged onto what landed since", name(task.as_ref()))
            }
            Self::WorkNotMerged { task, work, .. } => {
                let (name, why) = (name(task.as_ref()), work.words());
                write!(f, "{name}: earlier work {why}; it starts from what landed, with that work as a patch")
            }
            Self::Opened { iteration, task, .. } => {
                write!(f, "iteration {iteration} opened: {}", name(task.as_ref()))
            }
            Self::PhaseEntered { phase } => write!(f, "phase {}", phase.name()),
            Self::Closed { iteration, result, .. } => {
                write!(f, "iteration {iteration} closed: {}", result.words())
            }
        }
    }
}

impl fmt::Display for AttemptEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Started { attempt, role, .. } => {
                write!(f, "attempt {attempt} started: {role}")
            }
            Self::Finished(finished) => attempt_finished(f, finished),
            Self::AgentReplaced { role, by, why } => write!(f, "{role} is {by} from now on: {why}"),
            Self::TreeRecorded(recorded) => tree_recorded(f, recorded),
            Self::ReviewRecorded(review) => review_recorded(f, review),
            Self::FailureCounted { limit, .. } => write!(f, "{} counted", limit.words()),
            Self::BriefShortened => write!(f, "next brief shortened"),
        }
    }
}

impl fmt::Display for GateEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CheckFinished(run) => check_finished(f, run),
            Self::Passed { purpose, flaky, .. } => gate_passed(f, *purpose, flaky),
            Self::Failed { purpose, failing, .. } => {
                let names: Vec<&str> = failing.iter().map(|failing| failing.check.as_str()).collect();
                write!(f, "{} gate red: {}", purpose.name(), names.join(", "))
            }
            Self::NeedsTerms { purpose, failing, .. } => {
                let names: Vec<&str> = failing.iter().map(|failing| failing.check.as_str()).collect();
                let gate = purpose.name();
                write!(f, "{gate} gate green only with changed terms; red without: {}", names.join(", "))
            }
            Self::Reused { passed, .. } => {
                write!(f, "gate {} (judged before)", if *passed { "green" } else { "red" })
            }
        }
    }
}

impl fmt::Display for FindingEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Opened(finding) => finding_opened(f, finding),
            Self::Carried { finding } => write!(f, "finding {finding} still open"),
            Self::Remeasured { finding, .. } => write!(f, "finding {finding} measured again"),
            Self::Resolved { finding } => write!(f, "finding {finding} resolved"),
            Self::Waived { finding, .. } => write!(f, "finding {finding} waived"),
        }
    }
}

impl fmt::Display for TaskEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done { task, .. } => write!(f, "task {task} done"),
            Self::Blocked { task, reason, words } => {
                write!(f, "task {task} blocked ({}): {words}", reason.name())
            }
            Self::Unblocked { task } => write!(f, "task {task} unblocked"),
            Self::Waived { task, .. } => write!(f, "task {task} waived"),
            Self::StepLanded { task, .. } => write!(f, "task {task}: a step landed"),
            Self::StopChecked { holds, results, .. } => stop_checked(f, *holds, results),
            Self::Reopened { task } => {
                write!(f, "task {task} goes on: its stop checks do not hold on what landed since")
            }
        }
    }
}

impl fmt::Display for LandingEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ApprovalAsked { tree, .. } => {
                write!(f, "tree {} waits for approval", short(tree.as_str()))
            }
            Self::Approved { tree } => write!(f, "tree {} approved", short(tree.as_str())),
            Self::Rejected { tree, why } => write!(f, "tree {} rejected: {why}", short(tree.as_str())),
            Self::Landed { commit, .. } => write!(f, "landed {}", short(commit.as_str())),
            Self::TermsAccepted { .. } => write!(f, "the changed terms are accepted"),
            Self::FinishRecorded { .. } => write!(f, "finish recorded"),
            Self::FinishDropped { why } => write!(f, "finish not kept: {why}"),
        }
    }
}

impl fmt::Display for OperatorEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CancelAsked => write!(f, "cancel asked"),
            Self::Steered { text } => write!(f, "steered: {text}"),
            Self::Noted { text } => write!(f, "note: {text}"),
            Self::TermsTrusted { .. } => write!(f, "the operator trusts the changed terms"),
            Self::CommandTaken { name, .. } => write!(f, "command {name}"),
            Self::InputRefused { input, why } => write!(f, "{input} refused: {why}"),
        }
    }
}

impl fmt::Display for AttemptEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Normal => write!(f, "ended"),
            Self::RateLimited { .. } => write!(f, "rate limited"),
            Self::UsageLimit { reset_at } => write!(f, "usage limit until {reset_at}"),
            Self::Overloaded => write!(f, "provider overloaded"),
            Self::Network => write!(f, "network failure"),
            Self::Killed => write!(f, "killed from outside"),
            Self::Auth { what } => write!(f, "not signed in: {what}"),
            Self::ModelNotFound { what } => write!(f, "model not found: {what}"),
            Self::ContextOverflow => write!(f, "brief too large"),
            Self::Refused { what } => write!(f, "refused: {what}"),
            Self::Crashed { what } => write!(f, "crashed: {what}"),
            Self::TimedOut => write!(f, "timed out"),
            Self::Stalled => write!(f, "went silent"),
            Self::Protocol { what } => write!(f, "broke the protocol: {what}"),
            Self::Budget => write!(f, "out of budget"),
            Self::Interrupted => write!(f, "interrupted"),
            Self::Lost => write!(f, "lost: its process was killed"),
            Self::Faulted(fault) => write!(f, "cut short by windlass ({})", fault.reason.name()),
        }
    }
}

fn attempt_finished(f: &mut fmt::Formatter<'_>, finished: &AttemptFinished) -> fmt::Result {
    write!(f, "attempt {} ", finished.attempt)?;
    // One must know whose program it was.
    if finished.role != Role::Author {
        write!(f, "({}) ", finished.role)?;
    }
    write!(f, "{}", finished.result.end)?;
    if finished.result.end == AttemptEnd::TimedOut && !finished.result.duration_ms.is_zero() {
        write!(f, " after {}", finished.result.duration_ms)?;
    }
    if let Some(claim) = &finished.claim {
        write!(f, ", claims {}", claim.status.name())?;
    }
    match finished.result.strays {
        // What windlass ends is ended with all that belongs to it.
        _ if was_ended(&finished.result.end) => Ok(()),
        0 => Ok(()),
        1 => write!(f, ", left a process behind (ended)"),
        strays => write!(f, ", left {strays} processes behind (ended)"),
    }?;
    let notes = finished.result.notes.iter().filter(|note| !note.ends_with(CONFINED));
    notes.into_iter().try_for_each(|note| write!(f, "; {note}"))
}

/// Whether windlass ended its program.
fn was_ended(end: &AttemptEnd) -> bool {
    matches!(end, AttemptEnd::Interrupted | AttemptEnd::TimedOut | AttemptEnd::Stalled | AttemptEnd::Budget)
}

fn check_finished(f: &mut fmt::Formatter<'_>, run: &CheckRun) -> fmt::Result {
    let result = &run.result;
    let how = match (result.timed_out, result.exit_code) {
        (true, _) => "timed out".to_owned(),
        (false, Some(code)) => format!("exit {code}"),
        (false, None) => "no exit code".to_owned(),
    };
    let again = if result.again { " again" } else { "" };
    let on = run.trial.after_check();
    let has_numbers = result.tell_numbers != TellNumbers::Nobody;
    match (has_numbers, result.exited_well()) {
        (true, _) => write!(f, "check {}{again}{on}: {how}, {}", result.check, result.duration_ms),
        (false, true) => write!(f, "check {}{again}{on}: green", result.check),
        (false, false) => write!(f, "check {}{again}{on}: red", result.check),
    }?;
    match &result.tally {
        Some(Tally::Counted(_)) if !has_numbers => {}
        Some(Tally::Counted(counts)) => {
            let tests = if counts.tests == 1 { "test" } else { "tests" };
            write!(f, ", {} {tests}, {} skipped", counts.tests, counts.skipped)?;
        }
        Some(Tally::Unreadable { .. }) => write!(f, ", tests not counted")?,
        None => {}
    }
    match &result.control {
        Some(control) if control.is_sensitive() => write!(f, ", control fails as it must")?,
        Some(_) => write!(f, ", control does not fail")?,
        None => {}
    }
    match &result.broken_tests {
        Some(tests) if tests.statement.broken > 0 => write!(f, ", {}", tests.words())?,
        Some(_) | None => {}
    }
    match &result.writes {
        // Of a check that exited well it is why that is red, and said there.
        Some(writes) if !writes.missed.is_empty() && !result.exited_well() => {
            write!(f, ", what it wrote could not be watched: {}", writes.missed)
        }
        Some(_) | None => Ok(()),
    }
}

fn gate_passed(f: &mut fmt::Formatter<'_>, purpose: Purpose, flaky: &[String]) -> fmt::Result {
    write!(f, "{} gate green", purpose.name())?;
    if flaky.is_empty() { Ok(()) } else { write!(f, ", at the second try: {}", flaky.join(", ")) }
}

/// Those that do not hold say why the loop goes on.
fn stop_checked(f: &mut fmt::Formatter<'_>, holds: bool, results: &[StopResult]) -> fmt::Result {
    if holds {
        return write!(f, "stop checks: all hold");
    }
    let open = results.iter().filter(|result| !result.holds);
    let open: Vec<String> = open.map(|result| format!("{}: {}", result.check, result.why)).collect();
    write!(f, "stop checks: go on ({})", open.join("; "))
}

fn tree_recorded(f: &mut fmt::Formatter<'_>, recorded: &TreeRecorded) -> fmt::Result {
    let what = match (recorded.novelty, recorded.whitespace_only) {
        (None, _) => "kept, not judged",
        (Some(Novelty::New), true) => "only white space changed",
        (Some(Novelty::New), false) => "new",
        (Some(Novelty::Unchanged), _) => "nothing changed",
        (Some(Novelty::Seen), _) => "seen before",
    };
    write!(f, "tree {}: {what}", short(recorded.tree.as_str()))
}

fn review_recorded(f: &mut fmt::Formatter<'_>, review: &ReviewRecorded) -> fmt::Result {
    match &review.failure {
        Some(failure) => write!(f, "review: reject, {}", failure.words()),
        None => write!(f, "review: {}: {}", review.verdict.name(), review.summary),
    }?;
    match acceptance::words(&review.criteria).as_str() {
        "" => Ok(()),
        words => write!(f, "; {words}"),
    }
}

fn finding_opened(f: &mut fmt::Formatter<'_>, finding: &Finding) -> fmt::Result {
    let severity = finding.severity.name();
    let place = if finding.file.is_empty() { String::new() } else { format!(" {}", finding.file) };
    write!(f, "finding {} ({severity}){place}: {}", finding.id, finding.description)
}

fn resumed(f: &mut fmt::Formatter<'_>, run: u32, proven: &ProvenSandbox) -> fmt::Result {
    write!(f, "run {run} goes on")?;
    if proven.missed.is_empty() { Ok(()) } else { write!(f, ", sandbox {}", sandbox(proven)) }
}

/// The level, and why it is not a better one.
fn sandbox(proven: &ProvenSandbox) -> String {
    let missed = proven.missed.iter().map(|missed| format!(", not {}: {}", missed.level.name(), missed.why));
    proven.level.name().to_owned() + &missed.collect::<String>()
}

fn plan_changed(f: &mut fmt::Formatter<'_>, revision: &PlanRevision) -> fmt::Result {
    let names = |tasks: Vec<&TaskId>| tasks.iter().map(|id| id.as_str()).collect::<Vec<_>>().join(", ");
    let added = names(revision.added.iter().map(|task| &task.id).collect());
    let changed = names(revision.changed.iter().map(|task| &task.after.id).collect());
    let removed = names(revision.removed.iter().collect());
    let reopened = names(revision.reopened.iter().collect());
    let called_done = names(revision.called_done.iter().collect());
    write!(f, "plan changed")?;
    for (what, names) in [
        ("added", added),
        ("changed", changed),
        ("removed", removed),
        ("to be done again", reopened),
        ("called done", called_done),
    ] {
        if !names.is_empty() {
            write!(f, "; {what}: {names}")?;
        }
    }
    if let Some(tools) = &revision.tools {
        let (before, after) = tools.words();
        write!(f, "; tools: {before} to {after}")?;
    }
    Ok(())
}

/// A plan is told by how it differs, which only the loop knows.
fn revision_kept(f: &mut fmt::Formatter<'_>, revision: &Revision) -> fmt::Result {
    let keys = revision.policy.iter().flat_map(|policy| &policy.keys);
    let keys = keys.map(|key| format!("{}: {} to {}", key.key, key.before, key.after));
    let plan = revision.plan.as_ref().map(|_| "another plan".to_owned());
    let what: Vec<String> = keys.chain(plan).collect();
    match what.is_empty() {
        true => write!(f, "a change of plan or policy waits"),
        false => write!(f, "{}, from the next iteration", what.join("; ")),
    }
}

fn policy_changed(f: &mut fmt::Formatter<'_>, revision: &PolicyRevision) -> fmt::Result {
    write!(f, "policy changed")?;
    revision.keys.iter().try_for_each(|key| write!(f, "; {}: {} to {}", key.key, key.before, key.after))
}

fn name(task: Option<&TaskId>) -> &str {
    task.map_or("fix", TaskId::as_str)
}

/// The first characters of a hash are enough for people.
fn short(hash: &str) -> &str {
    hash.get(..10).unwrap_or(hash)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::AttemptId;
    use crate::input::AttemptResult;
    use crate::time::Millis;

    #[test]
    fn what_is_so_in_every_attempt_is_not_told_with_each() {
        let notes =
            vec![format!("its own sandbox is {CONFINED}"), "3 lines of its output were not read".into()];
        let result = AttemptResult { notes, ..AttemptResult::ended(AttemptEnd::Normal) };
        let finished = AttemptFinished { attempt: AttemptId(2), role: Role::Author, claim: None, result };
        let told = crate::event::AttemptEvent::Finished(Box::new(finished)).to_string();
        assert_eq!(told, "attempt 2 ended; 3 lines of its output were not read");
    }

    #[test]
    fn whose_attempt_it_was_is_told_but_of_an_author() {
        let told = |role: Role| {
            let result = AttemptResult::ended(AttemptEnd::Normal);
            let finished = AttemptFinished { attempt: AttemptId(2), role, claim: None, result };
            crate::event::AttemptEvent::Finished(Box::new(finished)).to_string()
        };
        assert_eq!(told(Role::Author), "attempt 2 ended");
        assert_eq!(told(Role::Reviewer), "attempt 2 (reviewer) ended");
    }

    #[test]
    fn an_interrupt_is_told_by_what_a_person_did() {
        let told = |signal: &str| RunEvent::Interrupted { signal: signal.to_owned() }.to_string();
        assert_eq!(told("SIGINT"), "interrupted (Ctrl-C)");
        assert_eq!(told("SIGHUP"), "interrupted (the terminal was closed)");
        assert_eq!(told("SIGTERM"), "interrupted by SIGTERM");
    }

    #[test]
    fn a_process_that_windlass_ended_itself_was_not_left_behind() {
        let told = |end: AttemptEnd| {
            let duration_ms = Millis::minutes(1);
            let result = AttemptResult { strays: 1, duration_ms, ..AttemptResult::ended(end) };
            let finished = AttemptFinished { attempt: AttemptId(1), role: Role::Author, claim: None, result };
            crate::event::AttemptEvent::Finished(Box::new(finished)).to_string()
        };
        assert_eq!(told(AttemptEnd::Stalled), "attempt 1 went silent");
        assert_eq!(told(AttemptEnd::TimedOut), "attempt 1 timed out after 1 min 00 s");
        assert_eq!(told(AttemptEnd::Normal), "attempt 1 ended, left a process behind (ended)");
    }
}
