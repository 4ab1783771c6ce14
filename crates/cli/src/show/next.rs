//! What to type next: for each way in which a loop can stand, the commands that
//! really lead on.

use windlass_core::outcome::{OutcomeKind, Reason};
use windlass_core::state::TaskStatus;
use windlass_core::view::{Status, View};

/// Lines that begin with `next:`.
pub fn next(view: &View) -> String {
    let name = &view.name;
    let blocked: Vec<&str> =
        view.tasks.iter().filter(|t| t.status == TaskStatus::Blocked).map(|t| t.id.as_str()).collect();
    match (view.status, view.outcome.as_ref()) {
        (Status::Ended, Some(outcome)) if outcome.kind == OutcomeKind::Completed => {
            format!("next: windlass take {name}   (brings {} into your checkout)", view.branch)
        }
        (Status::Ended, Some(outcome)) if outcome.kind == OutcomeKind::Stopped => {
            format!("next: windlass run {name}   (goes on with the rest)")
        }
        (Status::Ended, Some(outcome)) if outcome.kind == OutcomeKind::Limit => {
            after_limit(view, outcome.reason)
        }
        (Status::Ended, _) if !blocked.is_empty() => format!(
            "next: windlass log {name} -n 20           (what happened)\n      \
             windlass unblock {name} {}   (try the task again)\n      \
             windlass waive {name} {}     (do without it)\n      \
             then windlass restart {name} and windlass run {name}",
            blocked[0], blocked[0]
        ),
        (Status::Ended, _) => format!("next: windlass restart {name}, then windlass run {name}"),
        (Status::Paused, _) => {
            view.paused.as_ref().map_or_else(String::new, |paused| paused_by(view, paused.why))
        }
        (Status::Idle | Status::Interrupted, _) => {
            format!("next: windlass run {name}   (goes on where it was)")
        }
        (Status::Running | Status::Waiting, _) => {
            format!("next: windlass attach {name}   (watch it)   windlass pause {name}")
        }
    }
}

/// A budget counts over all runs: only a larger one leads on.
#[expect(clippy::wildcard_enum_match_arm, reason = "most reasons have the same way out")]
fn after_limit(view: &View, reason: Reason) -> String {
    let name = &view.name;
    let key = match reason {
        Reason::MaxIterations => "loop.max_iterations",
        Reason::Wall => "budget.wall",
        Reason::Tokens => "budget.tokens",
        Reason::Cost => "budget.cost_usd",
        _ => return format!("next: windlass restart {name}, then windlass run {name}"),
    };
    format!(
        "next: windlass set {name} {key}=VALUE   (more than it is, or 0 for no limit)\n      \
         then windlass restart {name} and windlass run {name}"
    )
}

#[expect(clippy::wildcard_enum_match_arm, reason = "most reasons have the same way out")]
fn paused_by(view: &View, why: Reason) -> String {
    let name = &view.name;
    let on = format!("windlass resume {name} && windlass run {name}");
    let first = match why {
        Reason::Operator => {
            return format!(
                "next: windlass resume {name}   (then windlass run {name}, if it is not running)"
            );
        }
        Reason::Auth => "windlass agents   (says how to sign in)".to_owned(),
        Reason::ModelNotFound => {
            format!("windlass set {name} agent.model=MODEL   (one that the agent knows)")
        }
        Reason::BranchMoved => format!("git log --oneline -3 {}   (mend it as the pause says)", view.branch),
        Reason::DiskFull => "df -h   (free some space)".to_owned(),
        Reason::SandboxUnavailable => "windlass doctor   (what this machine lacks)".to_owned(),
        Reason::Transient => "windlass agents   (is the agent's service there again?)".to_owned(),
        _ => format!("windlass log {name} -n 20   (mend what it names)"),
    };
    format!("next: {first}\n      then {on}")
}
