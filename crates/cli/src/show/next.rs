//! What to type next: for each way in which a loop can stand, the commands that
//! really lead on.

use windlass_core::event::Phase;
use windlass_core::outcome::{OutcomeKind, Reason};
use windlass_core::policy::Role;
use windlass_core::state::TaskStatus;
use windlass_core::view::{PauseView, Status, View};

use super::text::clean;
use super::view::decide;

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
            let mut lines = format!("next: windlass run {name}   (goes on with the rest)");
            if let Some(blocked) = blocked.first() {
                lines += &format!("\n      windlass show {name} {blocked}   (why it is blocked)");
            }
            lines
        }
        (Status::Ended, Some(outcome)) if outcome.kind == OutcomeKind::Limit => {
            after_limit(view, outcome.reason)
        }
        (Status::Ended, _) if !blocked.is_empty() => format!(
            "next: windlass show {name} {task}   (why it is blocked)\n      \
             windlass run {name} --retry-blocked   (try what is blocked again)\n      \
             windlass waive {name} {task}   (do without it, then as above)",
            task = blocked[0]
        ),
        (Status::Ended, Some(outcome)) if outcome.reason == Reason::ReviewFailed => {
            after_failed_reviews(view)
        }
        (Status::Ended, _) => format!("next: windlass restart {name}, then windlass run {name}"),
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

/// The same reviewer would fail again: it must be mended, or left out.
fn after_failed_reviews(view: &View) -> String {
    let name = &view.name;
    let attempts = format!("next: windlass show {name}   (what each attempt wrote)");
    let own = match is_own_program(view) {
        true => "\n      a reviewer writes a verdict: docs/guide/agents.md, \"Reviewer\"",
        false => "",
    };
    format!(
        "{attempts}{own}\n      windlass restart {name}, then windlass run {name}   (asks it again)\n      \
         or, after the restart, windlass run {name} --no-review   (the proof says so)"
    )
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
fn paused_by(view: &View, paused: &PauseView) -> String {
    let name = &view.name;
    let named = named_command(&paused.detail);
    let first = match paused.why {
        Reason::Operator => {
            return format!(
                "next: windlass resume {name}   (then windlass run {name}, if it is not running)"
            );
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

/// The command that a pause names itself.
fn named_command(detail: &str) -> Option<String> {
    let command = detail.split('`').nth(1).filter(|command| command.contains(' '))?;
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
    use windlass_core::outcome::Outcome;

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
                Reason::BranchMoved,
                "windlass/demo moved; `git branch -f windlass/demo 123` puts it back",
                "git branch -f windlass/demo 123   (as the pause says)",
            ),
            (Reason::BranchMoved, "it is locked", "mend windlass/demo as the pause says"),
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
    fn failed_reviews_have_a_way_without_the_reviewer() {
        let outcome =
            Some(Outcome { kind: OutcomeKind::Blocked, reason: Reason::ReviewFailed, detail: String::new() });
        let next = next(&View { status: Status::Ended, outcome, tasks: Vec::new(), ..view() });
        assert!(
            next.contains("windlass run demo --no-review") && next.contains("docs/guide/agents.md"),
            "{next}"
        );
    }

    #[test]
    fn a_spent_budget_is_raised_first() {
        for (reason, key) in
            [(Reason::Cost, "budget.cost_usd"), (Reason::MaxIterations, "loop.max_iterations")]
        {
            let outcome = Some(Outcome { kind: OutcomeKind::Limit, reason, detail: String::new() });
            let next = next(&View { status: Status::Ended, outcome, ..view() });
            assert!(next.starts_with(&format!("next: windlass set demo {key}=VALUE ")), "{next}");
        }
    }
}
