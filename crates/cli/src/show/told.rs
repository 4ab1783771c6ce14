//! The events a person follows a drive by, as lines; `windlass log` has all of them.

use windlass_core::event::{
    AttemptEvent, AttemptFinished, Event, FindingEvent, GateEvent, IterationEvent, IterationResult,
    LandingEvent, LoopEvent, Novelty, OperatorEvent, PauseEvent, Phase, RunEvent, TaskEvent,
};
use windlass_core::gate::{FailingCheck, Purpose};
use windlass_core::id::TaskId;
use windlass_core::input::AttemptEnd;
use windlass_core::outcome::Reason;
use windlass_core::view::{View, WaitView};

use super::counts;
use super::text::Colour;
use super::times;

/// What a drive found out about its machine when it began.
#[expect(clippy::wildcard_enum_match_arm, reason = "a surface picks the events it shows")]
pub fn warnings(event: &Event) -> Vec<String> {
    match event {
        Event::Run(RunEvent::Started { asked, .. }) | Event::Run(RunEvent::Resumed { asked, .. }) => {
            asked.sandbox.warnings()
        }
        _ => Vec::new(),
    }
}

/// What is said of an event, if anything is. Checks are told by whoever knows what was told of them.
#[expect(clippy::wildcard_enum_match_arm, reason = "a surface picks the events it shows")]
pub fn told(view: &View, event: &Event) -> Option<(String, Colour)> {
    let told = match event {
        Event::Iteration(IterationEvent::Opened { iteration, task, .. }) => {
            (opened(view, *iteration, task.as_ref()), Colour::Bold)
        }
        Event::Iteration(IterationEvent::WorkMerged { .. }) => (event.to_string(), Colour::Good),
        Event::Iteration(IterationEvent::WorkNotMerged { .. }) => (event.to_string(), Colour::Bad),
        Event::Attempt(AttemptEvent::Finished(finished)) => {
            (format!("  {event}{}", begun_again(view, finished)), Colour::Faint)
        }
        Event::Loop(event) => return told_of_plan(event),
        Event::Operator(event) => return told_of_operator(event),
        Event::Attempt(AttemptEvent::TreeRecorded(recorded)) => match recorded.novelty {
            Some(Novelty::New) | None => return None,
            Some(Novelty::Unchanged | Novelty::Seen) => (format!("  {event}"), Colour::Busy),
        },
        Event::Gate(GateEvent::Failed { purpose: Purpose::Baseline, failing, .. }) => {
            (red_base(failing), Colour::Bad)
        }
        Event::Gate(GateEvent::Failed { failing, .. }) => (odd_reasons(failing)?, Colour::Bad),
        Event::Gate(GateEvent::Reused { .. }) => (format!("  {event}"), Colour::Faint),
        Event::Attempt(AttemptEvent::ReviewRecorded(review)) => {
            let good = review.verdict == windlass_core::verdict::Verdict::Accept;
            (format!("  {event}"), if good { Colour::Good } else { Colour::Bad })
        }
        Event::Finding(FindingEvent::Opened(_)) => (format!("  {event}"), Colour::Bad),
        Event::Finding(FindingEvent::Resolved { .. }) => (format!("  {event}"), Colour::Good),
        Event::Landing(LandingEvent::Rejected { .. }) => (format!("  {event}"), Colour::Bad),
        Event::Landing(LandingEvent::Approved { .. } | LandingEvent::Landed { .. })
        | Event::Task(TaskEvent::Done { .. }) => (format!("  {event}"), Colour::Good),
        Event::Task(TaskEvent::StopChecked { holds, .. }) => {
            (format!("  {event}"), if *holds { Colour::Good } else { Colour::Faint })
        }
        Event::Task(TaskEvent::Reopened { .. }) => (format!("  {event}"), Colour::Busy),
        Event::Iteration(IterationEvent::Closed { result: IterationResult::Stepped, .. }) => return None,
        Event::Task(TaskEvent::Blocked { .. }) => (format!("  {event}"), Colour::Bad),
        Event::Iteration(IterationEvent::Closed { result, .. }) if *result != IterationResult::Done => {
            (format!("  {event}"), Colour::Busy)
        }
        Event::Iteration(IterationEvent::PhaseEntered { phase }) => {
            (final_phase(view, *phase)?.to_owned(), Colour::Bold)
        }
        Event::Pause(PauseEvent::WaitStarted { until, why }) => {
            let (until, left) = (times::local(*until), times::left(*until));
            let why = view.waiting.as_ref().map_or_else(|| why.words().to_owned(), WaitView::words);
            (format!("waiting until {until} ({left} from now): {why}"), Colour::Busy)
        }
        Event::Pause(PauseEvent::WaitEnded) => ("the wait is over; going on".to_owned(), Colour::Busy),
        Event::Pause(PauseEvent::Paused { why: Reason::Operator, .. }) => {
            ("pausing: what runs finishes first".to_owned(), Colour::Busy)
        }
        Event::Pause(PauseEvent::Resumed) => (format!("{} goes on", view.name), Colour::Busy),
        Event::Attempt(AttemptEvent::AgentReplaced { .. })
        | Event::Pause(PauseEvent::Paused { .. })
        | Event::Run(RunEvent::Interrupted { .. })
        | Event::Landing(LandingEvent::FinishDropped { .. })
        | Event::Task(TaskEvent::Unblocked { .. } | TaskEvent::Waived { .. })
        | Event::Finding(FindingEvent::Waived { .. }) => (event.to_string(), Colour::Busy),
        Event::Run(RunEvent::Resumed { .. }) => (event.to_string(), Colour::Faint),
        _ => return None,
    };
    Some(told)
}

/// A process of windlass's that was killed took its attempt with it.
fn begun_again(view: &View, finished: &AttemptFinished) -> &'static str {
    let is_again = finished.result.end == AttemptEnd::Lost && view.outcome.is_none();
    if is_again { "; it is begun again" } else { "" }
}

fn told_of_plan(event: &LoopEvent) -> Option<(String, Colour)> {
    let words = match event {
        LoopEvent::PolicyChanged(revision) => {
            let keys =
                revision.keys.iter().map(|key| format!("{}: {} to {}", key.key, key.before, key.after));
            format!("in force: {}", keys.collect::<Vec<_>>().join("; "))
        }
        LoopEvent::PlanChanged(_) | LoopEvent::RevisionKept(_) | LoopEvent::AmendmentAnswered { .. } => {
            event.to_string()
        }
        LoopEvent::Created(_) | LoopEvent::AmendmentProposed { .. } => return None,
    };
    Some((words, Colour::Busy))
}

fn told_of_operator(event: &OperatorEvent) -> Option<(String, Colour)> {
    let words = match event {
        // What follows from a command is told, with what it changes.
        OperatorEvent::CommandTaken { .. } => return None,
        OperatorEvent::CancelAsked => "cancelling: what runs is ended, what landed stays".to_owned(),
        OperatorEvent::Steered { .. }
        | OperatorEvent::Noted { .. }
        | OperatorEvent::TermsTrusted { .. }
        | OperatorEvent::InputRefused { .. } => event.to_string(),
    };
    Some((words, Colour::Busy))
}

/// Which task, and how far the plan is.
fn opened(view: &View, iteration: u32, task: Option<&TaskId>) -> String {
    let of = match view.max_iterations {
        0 => String::new(),
        max => format!(" of {max}"),
    };
    let task = match task.and_then(|id| view.tasks.iter().find(|task| task.id == *id)) {
        Some(task) if task.title.is_empty() => task.id.to_string(),
        Some(task) => format!("{}  {}", task.id, task.title),
        None => task.map_or_else(|| "fix of the whole".to_owned(), ToString::to_string),
    };
    format!("iteration {iteration}{of}: {task}  ({})", counts::done(view))
}

/// What the iteration before this one of the same work came to.
#[expect(clippy::wildcard_enum_match_arm, reason = "one event has such a line")]
pub fn told_before(view: &View, event: &Event) -> Option<String> {
    let setback = match event {
        Event::Iteration(IterationEvent::Opened { task: Some(id), .. }) => {
            view.tasks.iter().find(|task| task.id == *id)?.setback.as_ref()
        }
        Event::Iteration(IterationEvent::Opened { task: None, .. }) => view.setback.as_ref(),
        _ => None,
    }?;
    Some(format!("  last time (iteration {}): {}", setback.iteration, setback.words()))
}

/// It is recorded and not judged: what it means is for whoever watches.
fn red_base(failing: &[FailingCheck]) -> String {
    let names: Vec<&str> = failing.iter().map(|failing| failing.check.as_str()).collect();
    let fails = match names.as_slice() {
        [one] => format!("check {one} fails"),
        several => format!("checks {} fail", several.join(", ")),
    };
    format!(
        "the base is red: {fails} before any work. windlass goes on: a task is done only when its checks \
         are green, whoever broke them"
    )
}

/// Why a check is red that exited well.
fn odd_reasons(failing: &[FailingCheck]) -> Option<String> {
    let odd = failing.iter().filter(|failing| failing.reason.is_despite_exit_code());
    let lines: Vec<String> =
        odd.map(|failing| format!("  check {}: {}", failing.check, failing.reason.words())).collect();
    (!lines.is_empty()).then(|| lines.join("; "))
}

/// The phases that follow the last task.
fn final_phase(view: &View, phase: Phase) -> Option<&'static str> {
    let is_unjudged = view.unchecked && view.gate.is_none() && view.baseline.is_none();
    match phase {
        // There can be checks that are due only at the end: they are told of when they ran.
        Phase::FinalVerify if is_unjudged => Some("final gate: no check has judged what landed so far"),
        Phase::FinalVerify => Some("final gate: every check, on all that landed"),
        Phase::FinalReview => Some("final review: all that landed, as a whole"),
        Phase::Fix => Some("fix: what the final gate or review found"),
        Phase::Finish => Some("finish: the last change before the end"),
        Phase::Execute | Phase::Verify | Phase::Review | Phase::Land => None,
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::id::{AttemptId, CommandId};
    use windlass_core::input::AttemptResult;
    use windlass_core::policy::{Policy, Role};
    use windlass_core::revision::{KeyChange, PolicyRevision, Revision};

    use super::super::sample::view;
    use super::*;

    #[test]
    fn an_instruction_is_told_once_and_with_its_words() {
        let taken = OperatorEvent::CommandTaken { command: CommandId(1), name: "steer".to_owned() };
        assert_eq!(told(&view(), &Event::Operator(taken)), None);
        let steered = Event::Operator(OperatorEvent::Steered { text: "Use a table.".to_owned() });
        assert_eq!(told(&view(), &steered).unwrap().0, "steered: Use a table.");
    }

    #[test]
    fn a_change_of_the_policy_is_told_with_its_keys_and_no_command_by_its_name() {
        for name in ["revise", "cancel", "unblock"] {
            let taken = OperatorEvent::CommandTaken { command: CommandId(1), name: name.to_owned() };
            assert_eq!(told(&view(), &Event::Operator(taken)), None, "{name}");
        }
        let key = KeyChange { key: "loop.max_iterations".into(), before: "4".into(), after: "3".into() };
        let policy = PolicyRevision { number: 1, keys: vec![key], policy: Policy::default() };
        let kept = Revision { plan: None, policy: Some(policy.clone()) };
        let told = |event: LoopEvent| told(&view(), &Event::Loop(event)).unwrap().0;
        let waits = told(LoopEvent::RevisionKept(Box::new(kept)));
        assert_eq!(waits, "loop.max_iterations: 4 to 3, from the next iteration");
        let now = told(LoopEvent::PolicyChanged(Box::new(policy)));
        assert_eq!(now, "in force: loop.max_iterations: 4 to 3");
    }

    #[test]
    fn an_attempt_whose_process_was_killed_is_told_to_be_begun_again() {
        let result = AttemptResult::ended(AttemptEnd::Lost);
        let finished = AttemptFinished { attempt: AttemptId(5), role: Role::Author, claim: None, result };
        let event = Event::Attempt(AttemptEvent::Finished(Box::new(finished)));
        let words = "  attempt 5 lost: its process was killed; it is begun again";
        assert_eq!(told(&view(), &event).unwrap().0, words);
    }
}
