//! What to type next: for each way in which a loop can stand, the commands that
//! really lead on.

use windlass_core::event::Phase;
use windlass_core::outcome::{OutcomeKind, Reason};
use windlass_core::policy::Role;
use windlass_core::state::TaskStatus;
use windlass_core::view::{LimitView, PauseView, Status, View};

use super::counts;
use super::text::clean;
use super::view::{changed_nothing, decide};

/// Lines that begin with `next:`.
pub fn next(view: &View) -> String {
    let Some(back) = branch_back(view).filter(|_| !pause_puts_it_back(view)) else {
        return next_of_loop(view);
    };
    let is_completed = view.outcome.as_ref().is_some_and(|outcome| outcome.kind == OutcomeKind::Completed);
    let then = match is_completed {
        true if !view.branch_gone => {
            format!("windlass take {}   (brings {} into your checkout)", view.name, view.branch)
        }
        true => format!("windlass rm {}   (forgets the loop, if you have what it made)", view.name),
        false => without_branch_back(view, &next_of_loop(view)),
    };
    format!("next: {back}\n      {then}")
}

/// The same of a completed loop whose work the checkout has.
pub fn after_take(view: &View) -> String {
    match view.branch_gone || changed_nothing(view) {
        true => next(view),
        false => format!("next: windlass rm {}   (its work is taken; this removes its records)", view.name),
    }
}

/// The pause of a branch that was moved keeps first what it has now.
fn pause_puts_it_back(view: &View) -> bool {
    let names_it = |paused: &PauseView| {
        paused.why == Reason::BranchMoved
            && paused.detail.contains(&format!("&& git branch -f {} ", view.branch))
    };
    view.branch_elsewhere.is_some() && view.paused.as_ref().is_some_and(names_it)
}

/// The pause of a branch that is gone, or elsewhere, names the same command.
fn without_branch_back(view: &View, next: &str) -> String {
    let next = next.trim_start_matches("next: ");
    match next.split_once('\n') {
        Some((first, rest))
            if ["", "-f "]
                .iter()
                .any(|how| first.starts_with(&format!("git branch {how}{} ", view.branch))) =>
        {
            rest.trim_start().to_owned()
        }
        Some(_) | None => next.to_owned(),
    }
}

/// The command that brings back a branch that is gone, or lacks what landed.
pub fn branch_back(view: &View) -> Option<String> {
    let (commit, branch) = (view.commit.as_ref()?, &view.branch);
    match view.branch_gone {
        true => Some(format!("git branch {branch} {commit}   (brings it back)")),
        false if view.branch_elsewhere.is_some() => {
            Some(format!("git branch -f {branch} {commit}   (puts it back)"))
        }
        false => None,
    }
}

fn next_of_loop(view: &View) -> String {
    let name = &view.name;
    let blocked: Vec<&str> =
        view.tasks.iter().filter(|t| t.status == TaskStatus::Blocked).map(|t| t.id.as_str()).collect();
    match (view.status, view.outcome.as_ref()) {
        (Status::Ended, Some(outcome)) if outcome.kind == OutcomeKind::Completed && changed_nothing(view) => {
            format!("next: windlass prove {name}   (by what it was found done without a change)")
        }
        (Status::Ended, Some(outcome)) if outcome.kind == OutcomeKind::Completed => {
            format!("next: windlass take {name}   (brings {} into your checkout)", view.branch)
        }
        (Status::Ended, Some(outcome)) if outcome.kind == OutcomeKind::Stopped => {
            after_a_part(view, &blocked)
        }
        (Status::Ended, Some(outcome)) if outcome.kind == OutcomeKind::Limit => {
            after_limit(view, outcome.reason, blocked.first().copied())
        }
        (Status::Ended, Some(outcome)) if outcome.kind == OutcomeKind::Cancelled => {
            after_cancel(view, &blocked)
        }
        (Status::Ended, _) if view.failed_role == Some(Role::Reviewer) => {
            after_failed_reviews(view, &blocked)
        }
        (Status::Ended, Some(_)) if view.may_be_run_on() || counts::was_opened_since(view) => {
            on_with_the_ready(view, &blocked)
        }
        (Status::Ended, Some(outcome)) if !blocked.is_empty() && outcome.reason != Reason::GateFailed => {
            after_blocked(view, outcome.reason, blocked[0])
        }
        (Status::Ended, Some(outcome)) if outcome.reason == Reason::ReviewFailed => {
            after_failed_reviews(view, &blocked)
        }
        (Status::Ended, Some(outcome)) if outcome.kind == OutcomeKind::Failed && view.commit.is_none() => {
            format!(
                "next: windlass restart {name}, then windlass run {name}\n      \
             windlass rm {name}   (then run it anew: it begins with the commits that you made since)"
            )
        }
        (Status::Ended, _) => match failed_attempt(view).filter(|_| view.final_gate.is_some()) {
            Some(attempt) => format!(
                "next: windlass show {name} {attempt}   (how the agent failed)\n      \
                 mend that, then windlass restart {name} && windlass run {name}"
            ),
            None => format!("next: windlass restart {name}, then windlass run {name}"),
        },
        (Status::Paused, _) if view.approval.is_some() => {
            let look = format!("windlass show {name} --diff   (what would land)");
            let lines: Vec<String> = [look].into_iter().chain(decide(view)).collect();
            format!("next: {}", lines.join("\n      "))
        }
        (Status::Paused, _) => {
            view.paused.as_ref().map_or_else(String::new, |paused| paused_by(view, paused))
        }
        (Status::Idle | Status::Interrupted, _) => {
            format!("next: windlass run {name}   (goes on where it was)")
        }
        (Status::Running | Status::Waiting, _) => {
            format!("next: windlass attach {name}   (watch it)   windlass pause {name}")
        }
    }
}

/// Where everything that is left is blocked, or waits for what is, a run alone starts nothing.
fn after_a_part(view: &View, blocked: &[&str]) -> String {
    let name = &view.name;
    let on = format!("windlass run {name}   (goes on with the rest)");
    let Some(blocked) = blocked.first() else { return format!("next: {on}") };
    let look = format!("windlass show {name} {blocked}   (why it is blocked)");
    match view.ready_tasks().next() {
        Some(_) => format!("next: {on}\n      {look}"),
        None => format!(
            "next: {look}\n      windlass run {name} --retry-blocked   (try what is blocked again)\n      \
             windlass waive {name} {blocked}   (do without it, then windlass run {name})"
        ),
    }
}

/// What landed before is there, whether or not the rest is gone on with.
fn after_cancel(view: &View, blocked: &[&str]) -> String {
    let name = &view.name;
    let retry = if blocked.is_empty() { "" } else { " --retry-blocked" };
    let again = format!("next: windlass restart {name}, then windlass run {name}{retry}");
    match view.commit.is_some() && !changed_nothing(view) {
        true => format!("{again}\n      windlass take {name}   (brings what landed into your checkout)"),
        false => again,
    }
}

fn on_with_the_ready(view: &View, blocked: &[&str]) -> String {
    let name = &view.name;
    let is_all_over = view.tasks.iter().all(|task| task.status.is_over());
    let what = if is_all_over { "the last gate" } else { "what is ready" };
    let mut lines = format!("next: windlass run {name}   (goes on with {what})");
    if let Some(blocked) = blocked.first().filter(|_| view.may_be_run_on()) {
        lines += &format!(
            "\n      windlass show {name} {blocked}   (why it is blocked)\n      \
             windlass run {name} --retry-blocked   (try what is blocked again)"
        );
    }
    lines
}

fn after_blocked(view: &View, reason: Reason, task: &str) -> String {
    let name = &view.name;
    let first = format!("next: windlass show {name} {task}   (why it is blocked)");
    match reason == Reason::Unproven {
        true => format!(
            "{first}\n      add a [[gate.check]] to windlass.toml, or leave reviews on,\n      \
             then windlass run {name} --retry-blocked\n      \
             windlass waive {name} {task}   (do without it, then the same)"
        ),
        false => format!(
            "{first}\n      windlass run {name} --retry-blocked   (try what is blocked again)\n      \
             windlass waive {name} {task}   (do without it, then as above)"
        ),
    }
}

fn failed_attempt(view: &View) -> Option<String> {
    view.failed_attempt.map(|id| format!("attempt:{id}"))
}

/// The same reviewer would fail again: it must be mended, or left out. To waive a task does not help, for the
/// whole is reviewed too.
fn after_failed_reviews(view: &View, blocked: &[&str]) -> String {
    let name = &view.name;
    let is_of_agent = |reason| matches!(reason, Reason::ReviewFailed | Reason::AgentFailed | Reason::Stalled);
    let failed = view.tasks.iter().find(|task| task.reason.is_some_and(is_of_agent));
    let task = failed.map(|task| task.id.as_str()).or(blocked.first().copied());
    let about = failed_attempt(view).or(task.map(str::to_owned));
    let about = about.map(|about| format!(" {about}")).unwrap_or_default();
    let attempts = format!("next: windlass show {name}{about}   (what the reviewer wrote)");
    let own = match is_own_program(view) {
        true => {
            "\n      a reviewer writes into the file $WINDLASS_REPORT: the nonce, a verdict (accept or reject), a summary"
        }
        false => "",
    };
    format!(
        "{attempts}{own}\n      windlass run {name} --retry-blocked   (asks the reviewer again)\n      \
         windlass run {name} --no-review --retry-blocked   (goes on without reviews; the proof says so)"
    )
}

/// A budget counts over all runs: only a larger one leads on. A blocked task stays so in a new run, unless it is
/// asked for.
fn after_limit(view: &View, reason: Reason, blocked: Option<&str>) -> String {
    let name = &view.name;
    let retry = if blocked.is_some() { " --retry-blocked" } else { "" };
    let look = blocked.map(|task| format!("windlass show {name} {task}   (why it is blocked)"));
    let key = spent_key(reason).filter(|key| {
        let is_raised = |limit: &LimitView| limit.key == *key && limit.max.is_none_or(|max| max > limit.used);
        !view.limits.iter().any(is_raised)
    });
    let again = match key {
        Some(key) => vec![
            format!("windlass set {name} {key}=VALUE   (more than it is, or 0 for no limit)"),
            format!("then windlass restart {name} and windlass run {name}{retry}"),
        ],
        None => vec![format!("windlass restart {name}, then windlass run {name}{retry}")],
    };
    let lines: Vec<String> = look.into_iter().chain(again).collect();
    format!("next: {}", lines.join("\n      "))
}

/// The limit that is spent, where a larger one leads on.
#[expect(clippy::wildcard_enum_match_arm, reason = "most reasons are of no limit that counts over all runs")]
fn spent_key(reason: Reason) -> Option<&'static str> {
    match reason {
        Reason::MaxIterations => Some("loop.max_iterations"),
        Reason::Wall => Some("budget.wall"),
        Reason::Tokens => Some("budget.tokens"),
        Reason::Cost => Some("budget.cost_usd"),
        _ => None,
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "most reasons have the same way out")]
fn paused_by(view: &View, paused: &PauseView) -> String {
    let name = &view.name;
    let named = named_command(&paused.detail);
    let first = match paused.why {
        Reason::Operator => {
            return format!(
                "next: windlass resume {name}   (then windlass run {name}, if it is not running)"
            );
        }
        Reason::Auth if paused.detail.contains(" wants its key") => {
            "give the agent the key that the pause names".to_owned()
        }
        Reason::Auth if named.is_none() && is_own_program(view) => {
            "sign in to what your agent's command calls".to_owned()
        }
        Reason::Auth => named.unwrap_or_else(|| "windlass agents   (says how to sign in)".to_owned()),
        Reason::ModelNotFound => {
            format!("windlass set {name} {}=MODEL   (one that the agent knows)", model_key(view))
        }
        Reason::BranchMoved => named.unwrap_or_else(|| format!("mend {} as the pause says", view.branch)),
        Reason::DiskFull => "free some space".to_owned(),
        Reason::SandboxUnavailable => "windlass doctor   (what this machine lacks)".to_owned(),
        Reason::Transient => "wait until the agent's service works again".to_owned(),
        Reason::InternalError => "report the defect that the pause names".to_owned(),
        _ => "mend what the pause names".to_owned(),
    };
    format!("next: {first}\n      then windlass resume {name} && windlass run {name}")
}

/// Whether windlass knows no more of the agent than its command.
fn is_own_program(view: &View) -> bool {
    view.agents.get(&Role::Author).is_some_and(|agent| agent.adapter == "command")
}

/// The command that a pause names itself. To resume comes after it, and alone leads back to the same pause.
fn named_command(detail: &str) -> Option<String> {
    let mut commands = detail.split('`').skip(1).step_by(2);
    let command = commands.find(|command| command.contains(' ') && !command.starts_with("windlass "))?;
    Some(format!("{}   (as the pause says)", clean(command)))
}

/// Where the model of the agent is set that was called last.
fn model_key(view: &View) -> &'static str {
    let reviews = matches!(view.phase, Some(Phase::Review | Phase::FinalReview));
    let has_own = view.agents.get(&Role::Reviewer) != view.agents.get(&Role::Author);
    if reviews && has_own { "role.reviewer.model" } else { "agent.model" }
}

#[cfg(test)]
mod tests {
    use windlass_core::gate::Purpose;
    use windlass_core::id::{AttemptId, CommitId, TaskId};
    use windlass_core::outcome::Outcome;
    use windlass_core::view::{GateView, TaskView};

    use super::super::sample::view;
    use super::*;

    fn paused(why: Reason, detail: &str) -> String {
        let paused = Some(PauseView { why, detail: detail.to_owned() });
        next(&View { status: Status::Paused, paused, ..view() })
    }

    #[test]
    fn each_pause_has_its_own_way_out() {
        let on = "\n      then windlass resume demo && windlass run demo";
        for (why, detail, first) in [
            (
                Reason::ModelNotFound,
                "no such model",
                "windlass set demo agent.model=MODEL   (one that the agent knows)",
            ),
            (Reason::Auth, "not signed in; run `codex login`", "codex login   (as the pause says)"),
            (Reason::Auth, "not signed in", "sign in to what your agent's command calls"),
            (
                Reason::Auth,
                "Missing `KEY`; the provider wants its key in KEY",
                "give the agent the key that the pause names",
            ),
            (
                Reason::BranchMoved,
                "windlass/demo moved; `git branch -f windlass/demo 123` puts it back",
                "git branch -f windlass/demo 123   (as the pause says)",
            ),
            (Reason::BranchMoved, "it is locked", "mend windlass/demo as the pause says"),
            (
                Reason::BranchMoved,
                "it is checked out in /p; `git -C /p switch --detach` lets go of it; `windlass resume` and \
                 then `windlass run` try again",
                "git -C /p switch --detach   (as the pause says)",
            ),
            (
                Reason::BranchMoved,
                "git: no answer; `windlass resume` and then `windlass run` try again",
                "mend windlass/demo as the pause says",
            ),
            (Reason::EffectFailed, "no room", "mend what the pause names"),
        ] {
            assert_eq!(paused(why, detail), format!("next: {first}{on}"));
        }
        let mut known = view();
        if let Some(author) = known.agents.get_mut(&Role::Author) {
            author.adapter = "codex".to_owned();
        }
        let why = PauseView { why: Reason::Auth, detail: "not signed in".to_owned() };
        assert!(paused_by(&known, &why).starts_with("next: windlass agents "));
        let own = "next: windlass resume demo   (then windlass run demo, if it is not running)";
        assert_eq!(paused(Reason::Operator, "the operator paused it"), own);
    }

    #[test]
    fn a_branch_that_is_gone_is_brought_back_first() {
        let mut seen = View { branch_gone: true, commit: Some(CommitId::new("123")), ..view() };
        let back = "next: git branch windlass/demo 123   (brings it back)\n      ";
        assert_eq!(next(&seen), format!("{back}windlass run demo   (goes on where it was)"));
        let detail = "windlass/demo moved; `git branch windlass/demo 123` brings it back".to_owned();
        seen.paused = Some(PauseView { why: Reason::BranchMoved, detail });
        seen.status = Status::Paused;
        let on = "then windlass resume demo && windlass run demo";
        assert_eq!(next(&seen), format!("{back}{on}"), "the command stands once");
        let (kind, reason) = (OutcomeKind::Completed, Reason::Proven);
        seen.outcome = Some(Outcome { kind, reason, detail: String::new() });
        seen.status = Status::Ended;
        assert!(next(&seen).starts_with(&format!("{back}windlass rm demo ")), "{}", next(&seen));
    }

    #[test]
    fn a_branch_that_was_moved_is_put_back_by_one_command_which_keeps_what_it_has() {
        let keep = "git branch windlass/demo-kept windlass/demo && git branch -f windlass/demo 123";
        let detail = format!("windlass/demo moved; `{keep}` keeps what it has now and puts it back");
        let seen = View {
            branch_elsewhere: Some(CommitId::new("456")),
            commit: Some(CommitId::new("123")),
            paused: Some(PauseView { why: Reason::BranchMoved, detail }),
            status: Status::Paused,
            ..view()
        };
        let on = "then windlass resume demo && windlass run demo";
        assert_eq!(next(&seen), format!("next: {keep}   (as the pause says)\n      {on}"));
    }

    #[test]
    fn what_is_taken_is_not_to_be_taken_again() {
        let seen = View { commit: Some(CommitId::new("123")), ..view() };
        let rm = "next: windlass rm demo   (its work is taken; this removes its records)";
        assert_eq!(after_take(&seen), rm);
        assert!(after_take(&View { branch_gone: true, ..seen }).starts_with("next: git branch "));
    }

    #[test]
    fn failed_reviews_have_a_way_without_the_reviewer() {
        let outcome =
            Some(Outcome { kind: OutcomeKind::Blocked, reason: Reason::ReviewFailed, detail: String::new() });
        let next = next(&View { status: Status::Ended, outcome, tasks: Vec::new(), ..view() });
        assert!(
            next.contains("windlass run demo --no-review") && next.contains("$WINDLASS_REPORT"),
            "{next}"
        );
    }

    #[test]
    fn failed_reviews_name_the_task_that_was_reviewed() {
        let mut seen = view();
        let blocked = |id: &str, reason| TaskView {
            id: TaskId::new(id),
            status: TaskStatus::Blocked,
            reason: Some(reason),
            ..seen.tasks[0].clone()
        };
        seen.tasks =
            vec![blocked("by-plan", Reason::BlockedBefore), blocked("reviewed", Reason::ReviewFailed)];
        (seen.status, seen.failed_role) = (Status::Ended, Some(Role::Reviewer));
        assert!(next(&seen).starts_with("next: windlass show demo reviewed "), "{}", next(&seen));
        seen.failed_attempt = Some(AttemptId(7));
        assert!(next(&seen).starts_with("next: windlass show demo attempt:7 "), "{}", next(&seen));
    }

    #[test]
    fn a_reviewer_that_crashed_can_be_left_out_whether_or_not_it_blocked_a_task() {
        let mut seen = View { status: Status::Ended, failed_role: Some(Role::Reviewer), ..view() };
        let reason = Reason::AgentFailed;
        seen.outcome = Some(Outcome { kind: OutcomeKind::Blocked, reason, detail: String::new() });
        let out = "windlass run demo --no-review --retry-blocked ";
        assert!(next(&seen).contains(out), "{}", next(&seen));
        seen.tasks[0].status = TaskStatus::Blocked;
        assert!(next(&seen).contains(out), "{}", next(&seen));
        assert!(!next(&seen).contains("waive"), "it leads to the same end: {}", next(&seen));
        (seen.failed_role, seen.failed_attempt) = (Some(Role::Author), Some(AttemptId(7)));
        assert!(!next(&seen).contains("--no-review"), "{}", next(&seen));
        seen.tasks.clear();
        assert_eq!(
            next(&seen),
            "next: windlass restart demo, then windlass run demo",
            "its task is done without"
        );
        seen.final_gate =
            Some(GateView { purpose: Purpose::Final, task: None, passed: false, checks: Vec::new() });
        let of_a_fix = "next: windlass show demo attempt:7   (how the agent failed)\n      \
                        mend that, then windlass restart demo && windlass run demo";
        assert_eq!(next(&seen), of_a_fix);
    }

    #[test]
    fn what_is_ready_beside_a_crashing_task_is_gone_on_with() {
        let mut seen = View { status: Status::Ended, ..view() };
        seen.tasks.push(seen.tasks[0].clone());
        seen.tasks[1].id = windlass_core::id::TaskId::new("other");
        (seen.tasks[0].status, seen.tasks[0].reason) = (TaskStatus::Blocked, Some(Reason::AgentFailed));
        let ended = |reason| Some(Outcome { kind: OutcomeKind::Blocked, reason, detail: String::new() });
        seen.outcome = ended(Reason::AgentFailed);
        assert!(!seen.rests(), "run goes on");
        let on = "next: windlass run demo   (goes on with what is ready)\n      windlass show demo answer ";
        assert!(next(&seen).starts_with(on), "{}", next(&seen));
        seen.outcome = ended(Reason::GateFailed);
        assert!(seen.rests(), "run starts nothing");
        assert_eq!(next(&seen), "next: windlass restart demo, then windlass run demo");
    }

    #[test]
    fn what_failed_before_anything_landed_can_begin_anew_elsewhere() {
        let (kind, reason) = (OutcomeKind::Failed, Reason::EffectFailed);
        let outcome = Some(Outcome { kind, reason, detail: String::new() });
        let mut seen = View { status: Status::Ended, outcome, commit: None, ..view() };
        let again = "next: windlass restart demo, then windlass run demo";
        let anew =
            "\n      windlass rm demo   (then run it anew: it begins with the commits that you made since)";
        assert_eq!(next(&seen), format!("{again}{anew}"));
        seen.commit = Some(CommitId::new("123"));
        assert_eq!(next(&seen), again);
    }

    #[test]
    fn a_spent_budget_is_raised_first() {
        for (reason, key) in
            [(Reason::Cost, "budget.cost_usd"), (Reason::MaxIterations, "loop.max_iterations")]
        {
            let outcome = Some(Outcome { kind: OutcomeKind::Limit, reason, detail: String::new() });
            let mut seen = View { status: Status::Ended, outcome, ..view() };
            set_limit(&mut seen, key, 2);
            let spent = next(&seen);
            assert!(spent.starts_with(&format!("next: windlass set demo {key}=VALUE ")), "{spent}");
            set_limit(&mut seen, key, 9);
            assert_eq!(next(&seen), "next: windlass restart demo, then windlass run demo", "it is raised");
        }
    }

    #[test]
    fn where_all_that_is_left_is_blocked_a_run_alone_is_not_the_next_thing() {
        let reason = Reason::OnePass;
        let outcome = Some(Outcome { kind: OutcomeKind::Stopped, reason, detail: String::new() });
        let mut seen = View { status: Status::Ended, outcome, ..view() };
        seen.tasks.push(seen.tasks[0].clone());
        seen.tasks[1].id = TaskId::new("other");
        seen.tasks[0].status = TaskStatus::Blocked;
        assert!(
            next(&seen).starts_with("next: windlass run demo   (goes on with the rest)"),
            "{}",
            next(&seen)
        );
        seen.tasks[1].depends_on = vec![TaskId::new("answer")];
        let lines = "next: windlass show demo answer   (why it is blocked)\n      \
                     windlass run demo --retry-blocked   (try what is blocked again)\n      \
                     windlass waive demo answer   (do without it, then windlass run demo)";
        assert_eq!(next(&seen), lines);
    }

    #[test]
    fn what_landed_before_a_cancel_can_be_taken() {
        let (kind, reason) = (OutcomeKind::Cancelled, Reason::Operator);
        let outcome = Some(Outcome { kind, reason, detail: String::new() });
        let mut seen = View { status: Status::Ended, outcome, ..view() };
        let again = "next: windlass restart demo, then windlass run demo";
        assert_eq!(next(&seen), again, "nothing landed");
        seen.commit = Some(CommitId::new("123"));
        let take = "windlass take demo   (brings what landed into your checkout)";
        assert_eq!(next(&seen), format!("{again}\n      {take}"));
        seen.tasks[0].status = TaskStatus::Blocked;
        assert!(next(&seen).starts_with(&format!("{again} --retry-blocked\n")), "{}", next(&seen));
    }

    #[test]
    fn after_a_limit_a_blocked_task_is_shown_and_tried_again() {
        let reason = Reason::MaxIterations;
        let outcome = Some(Outcome { kind: OutcomeKind::Limit, reason, detail: String::new() });
        let mut seen = View { status: Status::Ended, outcome, ..view() };
        seen.tasks[0].status = TaskStatus::Blocked;
        set_limit(&mut seen, "loop.max_iterations", 2);
        let lines = "next: windlass show demo answer   (why it is blocked)\n      \
                     windlass set demo loop.max_iterations=VALUE   (more than it is, or 0 for no limit)\n      \
                     then windlass restart demo and windlass run demo --retry-blocked";
        assert_eq!(next(&seen), lines);
        set_limit(&mut seen, "loop.max_iterations", 9);
        let restart = "\n      windlass restart demo, then windlass run demo --retry-blocked";
        assert!(next(&seen).ends_with(restart), "{}", next(&seen));
    }

    fn set_limit(view: &mut View, key: &str, max: u64) {
        for limit in view.limits.iter_mut().filter(|limit| limit.key == key) {
            (limit.used, limit.max) = (2, Some(max));
        }
    }
}
