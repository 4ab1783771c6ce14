//! How many tasks are done, ready and blocked, and which are blocked.

use windlass_core::outcome::{OutcomeKind, Reason};
use windlass_core::state::TaskStatus;
use windlass_core::view::View;

/// How many blocked tasks are named.
const NAMED: usize = 8;

/// `1 of 3 tasks done, 1 ready`, and what is blocked.
pub fn counts(view: &View) -> String {
    let ready = view.ready_tasks().count();
    let rest = match (is_over(view), ready) {
        (true, _) | (false, 0) => String::new(),
        (false, ready) => format!(", {ready} ready"),
    };
    format!("{}{rest}{}", done(view), blocked(view))
}

/// `1 of 3 tasks done`, and how many are waived.
pub fn done(view: &View) -> String {
    let count = |status| view.tasks.iter().filter(|task| task.status == status).count();
    let all = view.tasks.len();
    let waived = match count(TaskStatus::Waived) {
        0 => String::new(),
        waived => format!(", {waived} waived"),
    };
    format!("{} of {all} {} done{waived}", count(TaskStatus::Done), if all == 1 { "task" } else { "tasks" })
}

pub fn is_done(status: TaskStatus) -> bool {
    status.is_over()
}

fn is_over(view: &View) -> bool {
    view.outcome.is_some() || view.tasks.iter().all(|task| is_done(task.status))
}

/// A run that ended because of blocked tasks leaves none that is ready: somebody opened one since, or added it.
/// Red gates and unusable reviews end it with the tasks as they were, and want a restart.
pub fn was_opened_since(view: &View) -> bool {
    let ended_blocked = view.outcome.as_ref().is_some_and(|outcome| {
        outcome.kind == OutcomeKind::Blocked
            && !matches!(outcome.reason, Reason::GateFailed | Reason::ReviewFailed)
    });
    ended_blocked && !view.may_be_run_on() && view.ready_tasks().next().is_some()
}

/// Nothing is left to work on, whatever the run ended with.
pub fn is_all_done(view: &View) -> bool {
    view.tasks.iter().all(|task| task.status.is_over())
}

fn blocked(view: &View) -> String {
    let names: Vec<&str> =
        view.tasks.iter().filter(|t| t.status == TaskStatus::Blocked).map(|t| t.id.as_str()).collect();
    match names.len() {
        0 => String::new(),
        count if count > NAMED => {
            format!(", {count} blocked: {} and {} more", names[..NAMED].join(", "), count - NAMED)
        }
        count => format!(", {count} blocked: {}", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::id::TaskId;
    use windlass_core::view::TaskView;

    use super::super::sample::view;
    use super::*;

    fn with(tasks: &[(&str, TaskStatus, &[&str])]) -> View {
        let sample = view();
        let of = |(id, status, after): &(&str, TaskStatus, &[&str])| TaskView {
            id: TaskId::new(*id),
            status: *status,
            depends_on: after.iter().map(|id| TaskId::new(*id)).collect(),
            ..sample.tasks[0].clone()
        };
        View { tasks: tasks.iter().map(of).collect(), ..sample.clone() }
    }

    #[test]
    fn a_task_that_waits_for_another_is_not_ready() {
        use TaskStatus::{Blocked, Done, Pending};
        let some = with(&[("a", Done, &[]), ("b", Pending, &["a"]), ("c", Pending, &["b"])]);
        assert_eq!(counts(&some), "1 of 3 tasks done, 1 ready");
        let stuck = with(&[("a", Blocked, &[]), ("b", Pending, &["a"])]);
        assert_eq!(counts(&stuck), "0 of 2 tasks done, 1 blocked: a");
        assert_eq!(counts(&with(&[("a", Done, &[])])), "1 of 1 task done");
    }

    #[test]
    fn of_many_blocked_tasks_some_are_named() {
        let names: Vec<String> = (0..10).map(|n| format!("t{n}")).collect();
        let tasks: Vec<(&str, TaskStatus, &[&str])> =
            names.iter().map(|name| (name.as_str(), TaskStatus::Blocked, &[] as &[&str])).collect();
        let counts = counts(&with(&tasks));
        assert!(counts.ends_with(", 10 blocked: t0, t1, t2, t3, t4, t5, t6, t7 and 2 more"), "{counts}");
    }
}
