//! What the operator asks for. A command that makes no sense now is refused,
//! on the record, with the reason.

use super::{Draft, approval, execute, fault, propose, revise, run};
use crate::command::Command;
use crate::event::{FindingEvent, OperatorEvent, PauseEvent, RunEvent, TaskEvent};
use crate::finding::{Origin, Rule};
use crate::id::{CommandId, FindingId, TaskId};
use crate::outcome::{OutcomeKind, Reason};
use crate::proposal::AmendmentAnswer;
use crate::revision::Revision;
use crate::state::TaskStatus;
use crate::task::how_to_allow;

/// Commands are taken in order, each once: an id that is not new is no command.
pub(super) fn taken(draft: &mut Draft, id: CommandId, command: &Command) {
    if !take(draft, id, command.name()) {
        return;
    }
    let refused = match command {
        Command::Pause => pause(draft),
        Command::Resume => resume(draft),
        Command::Cancel => cancel(draft),
        Command::Restart => restart(draft),
        Command::Unblock { task } => unblock(draft, task),
        Command::WaiveTask { task, why } => waive_task(draft, task, why),
        Command::WaiveFinding { finding, why } => waive_finding(draft, finding, why),
        Command::Steer { text } => steer(draft, text),
        Command::Note { text } => {
            draft.emit(OperatorEvent::Noted { text: text.clone() });
            Ok(())
        }
        Command::Trust => trust(draft),
        Command::Approve { tree } => approval::approve(draft, tree),
        Command::Reject { why } => approval::reject(draft, why),
        Command::Revise(revision) => revised(draft, revision),
        Command::AcceptAmendment { amendment } => {
            propose::answered(draft, amendment, AmendmentAnswer::Accepted, "")
        }
        Command::RejectAmendment { amendment, why } => {
            propose::answered(draft, amendment, AmendmentAnswer::Rejected, why)
        }
        Command::Amend(amendment) => {
            revise::amended(&draft.state, amendment).and_then(|revision| revised(draft, &revision))
        }
    };
    if let Err(why) = refused {
        draft.emit(OperatorEvent::InputRefused { input: command.name().to_owned(), why });
    }
}

/// It is answered all the same: those after it wait behind it.
pub(super) fn unreadable(draft: &mut Draft, id: CommandId, why: &str) {
    const NAME: &str = "unknown";
    if take(draft, id, NAME) {
        draft.emit(OperatorEvent::InputRefused { input: NAME.to_owned(), why: why.to_owned() });
    }
}

fn take(draft: &mut Draft, id: CommandId, name: &str) -> bool {
    let name = name.to_owned();
    let fresh = id > draft.state.last_command;
    match fresh {
        true => draft.emit(OperatorEvent::CommandTaken { command: id, name }),
        false => {
            let why = format!("command {id} was taken before");
            draft.emit(OperatorEvent::InputRefused { input: name, why });
        }
    }
    fresh
}

type Refusal = Result<(), String>;

fn revised(draft: &mut Draft, revision: &Revision) -> Refusal {
    match not_completed(draft) {
        Ok(()) => revise::asked(draft, revision),
        Err(_) => revise::reopen(draft, revision),
    }
}

fn pause(draft: &mut Draft) -> Refusal {
    not_ended(draft)?;
    if draft.state.cancelling {
        return Err("it is being cancelled".to_owned());
    }
    if draft.state.paused.is_none() {
        draft.pause(Reason::Operator, "the operator paused it".to_owned());
    }
    Ok(())
}

fn resume(draft: &mut Draft) -> Refusal {
    let Some(pause) = &draft.state.paused else {
        return Err("it is not paused".to_owned());
    };
    if pause.why == Reason::Approval {
        let name = &draft.state.creation.name;
        return Err(format!(
            "it waits for your word: `windlass approve {name}` lands the work, `windlass reject {name} \"why\"` \
             sends it back"
        ));
    }
    draft.emit(PauseEvent::Resumed);
    approval::hold(draft);
    Ok(())
}

/// A running attempt is ended first; the run ends when nothing is outstanding.
/// Where a step that may not be left out failed, only a second cancel ends it.
fn cancel(draft: &mut Draft) -> Refusal {
    not_ended(draft)?;
    let pause = draft.state.paused.clone().filter(|_| draft.state.cancelling);
    draft.emit(OperatorEvent::CancelAsked);
    if let Some(undone) = pause.and_then(|pause| pause.undone) {
        fault::give_up(draft, &undone);
    } else if draft.state.outstanding().next().is_none() {
        run::end_cancelled(draft);
    }
    Ok(())
}

fn restart(draft: &mut Draft) -> Refusal {
    let Some(outcome) = draft.state.outcome() else {
        return Err("it has not ended; `windlass run` goes on with it".to_owned());
    };
    if outcome.kind == OutcomeKind::Completed {
        return Err(
            "the loop is completed and cannot be restarted; `windlass run --name NAME` starts a new one"
                .to_owned(),
        );
    }
    let run = draft.state.run.number + 1;
    draft.emit(RunEvent::Restarted { run });
    Ok(())
}

fn unblock(draft: &mut Draft, id: &TaskId) -> Refusal {
    let task = draft.state.task(id).ok_or_else(|| unknown_task(draft, id))?;
    match task.status {
        TaskStatus::Blocked => {
            draft.emit(TaskEvent::Unblocked { task: id.clone() });
            Ok(())
        }
        TaskStatus::Pending | TaskStatus::Active | TaskStatus::Done | TaskStatus::Waived => {
            Err(format!("task {id} is not blocked"))
        }
    }
}

/// Waiving a task gives up on what was found in it too.
fn waive_task(draft: &mut Draft, id: &TaskId, why: &str) -> Refusal {
    not_completed(draft)?;
    let task = draft.state.task(id).ok_or_else(|| unknown_task(draft, id))?;
    if matches!(task.status, TaskStatus::Done | TaskStatus::Waived) {
        return Err(format!("task {id} is already done or waived"));
    }
    draft.emit(TaskEvent::Waived { task: id.clone(), why: why.to_owned() });
    let open: Vec<FindingId> = draft
        .state
        .findings
        .values()
        .filter(|finding| finding.is_open() && finding.task.as_ref() == Some(id))
        .map(|finding| finding.id.clone())
        .collect();
    for finding in open {
        draft.emit(FindingEvent::Waived { finding, why: format!("task {id} was waived") });
    }
    if draft.state.approval.is_some() && execute::waived(&draft.state) {
        approval::give_up(draft);
    }
    Ok(())
}

/// A changed protected path cannot be waived: the gate judged another tree
/// than the one that would land.
fn waive_finding(draft: &mut Draft, id: &FindingId, why: &str) -> Refusal {
    not_completed(draft)?;
    let Some(finding) = draft.state.findings.get(id) else {
        return Err(format!("there is no finding {id}; `windlass findings` lists them"));
    };
    if !finding.is_open() {
        return Err(format!("finding {id} is already {}", finding.life.name()));
    }
    if finding.origin == Origin::Evidence(Rule::ProtectedChanged) {
        let (file, name) = (&finding.file, &draft.state.creation.name);
        let how = how_to_allow(name, finding.task.as_ref(), std::slice::from_ref(file));
        return Err(format!(
            "{file} is protected; {how}; `windlass run {name} --retry-blocked` then tries again"
        ));
    }
    draft.emit(FindingEvent::Waived { finding: id.clone(), why: why.to_owned() });
    Ok(())
}

fn steer(draft: &mut Draft, text: &str) -> Refusal {
    not_completed(draft)?;
    if text.trim().is_empty() {
        return Err("the text is empty".to_owned());
    }
    draft.emit(OperatorEvent::Steered { text: text.to_owned() });
    Ok(())
}

/// It is about later loops: what this one was judged by stays as it is.
fn trust(draft: &mut Draft) -> Refusal {
    let head = &draft.state.head;
    if !head.landed {
        return Err("nothing of it has landed".to_owned());
    }
    if draft.state.trusted == head.tree {
        return Err("it landed neither changed terms nor tests, or they were accepted".to_owned());
    }
    let tree = head.tree.clone();
    if draft.state.trusted_later.as_ref() != Some(&tree) {
        draft.emit(OperatorEvent::TermsTrusted { tree });
    }
    Ok(())
}

fn not_ended(draft: &Draft) -> Refusal {
    match draft.state.outcome() {
        Some(outcome) => Err(format!("the run has ended ({})", outcome.kind.name())),
        None => Ok(()),
    }
}

fn not_completed(draft: &Draft) -> Refusal {
    match draft.state.outcome() {
        Some(outcome) if outcome.kind == OutcomeKind::Completed => {
            Err("the loop is completed and cannot be changed; `windlass run --name NAME` starts a new one"
                .to_owned())
        }
        Some(_) | None => Ok(()),
    }
}

fn unknown_task(draft: &Draft, id: &TaskId) -> String {
    let names: Vec<&str> = draft.state.tasks.iter().map(|task| task.task.id.as_str()).collect();
    format!("there is no task {id}; the tasks are: {}", names.join(", "))
}
