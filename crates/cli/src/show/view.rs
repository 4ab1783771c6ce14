//! A View as a page of text.

use std::fmt::Write as _;

use windlass_core::acceptance;
use windlass_core::finding::Finding;
use windlass_core::gate::Purpose;
use windlass_core::outcome::{Outcome, OutcomeKind, Reason};
use windlass_core::policy::MissedLevel;
use windlass_core::state::TaskStatus;
use windlass_core::view::{GateView, StopCheckView, TaskView, UsageView, View};

use super::counts::counts;
use super::held_up;
pub use super::next::{after_take, next};
use super::text::{Colour, clean_lines, clock, fit, paint, width, wrap};
use super::times;

/// Before the further lines of a row.
const MARGIN: &str = "            ";

/// A page, and what to type next.
pub fn ending_with(page: &str, next: &str) -> String {
    let lines: Vec<String> = next.lines().map(|line| wrap(line, "        ")).collect();
    format!("{page}\n{}\n", lines.join("\n"))
}

/// How one loop stands, in a screenful. `behind` is what stands behind its completion, if it is completed.
pub fn page(view: &View, behind: &str) -> String {
    let mut page = String::new();
    let _ = writeln!(page, "{}  {}", paint(view.name.as_str(), Colour::Bold), headline(view));
    let _ = writeln!(page, "{}", wrap(&format!("  goal      {}", view.goal), MARGIN));
    let _ = writeln!(page, "{}", wrap(&format!("  {:<10}{}", "tasks", counts(view)), MARGIN));
    let _ = writeln!(page, "{}", wrap(&format!("  {:<10}{}", "iteration", iterations(view)), MARGIN));
    let _ = writeln!(page, "{}", wrap(&format!("  {:<10}{}", "branch", branch(view)), MARGIN));
    if view.started_at.is_some() {
        let _ = writeln!(page, "  {:<10}{}", "sandbox", view.sandbox.name());
        for MissedLevel { level, why, remedy } in &view.sandbox_missed {
            let warning = format!("not {}: {why}\n{remedy}", level.name());
            let _ = writeln!(page, "  {:<10}{}", "warning", clean_lines(&warning, "            "));
        }
    }
    if !behind.is_empty() {
        let _ = writeln!(page, "{}", wrap(&format!("  {behind}"), MARGIN));
    }
    for line in notes(view) {
        let _ = writeln!(page, "{}", wrap(&format!("  {line}"), MARGIN));
    }
    page.push('\n');
    let held_up = held_up::held_up(&view.tasks);
    for task in &view.tasks {
        page.push_str(&task_lines(task));
        if let Some(blocked) = held_up.get(&task.id) {
            let _ = writeln!(page, "{MARGIN}waits for {blocked}, which is blocked");
        }
    }
    page.push('\n');
    let counted =
        |count: u32, what: &str| format!("{count} open {what}{}", if count == 1 { "" } else { "s" });
    let bugs = counted(view.findings.open_bugs, "bug");
    let _ = writeln!(page, "  findings  {bugs}, {}", counted(view.findings.open_warnings, "warning"));
    let _ = writeln!(page, "{}", wrap(&format!("  usage     {}", usage(&view.usage)), MARGIN));
    if let Some(summary) = &view.completion_summary {
        let _ = writeln!(page, "{}", wrap(&format!("  summary   {summary}"), MARGIN));
    }
    page
}

/// How to let work land that waits for it, or not: a command each.
pub fn decide(view: &View) -> [String; 3] {
    let (name, asked) = (&view.name, view.approval.as_ref());
    let tree = asked.map_or("", |asked| asked.tree.as_str().get(..10).unwrap_or(asked.tree.as_str()));
    [
        format!("windlass approve {name} --tree {tree}   (land it)"),
        format!("windlass reject {name} \"why\"   (send it back)"),
        format!("then windlass run {name}"),
    ]
}

pub fn usage(usage: &UsageView) -> String {
    let tokens = usage.tokens();
    let attempts =
        if usage.attempts == 1 { "1 attempt".to_owned() } else { format!("{} attempts", usage.attempts) };
    let known = usage.attempts - usage.attempts_unknown.min(usage.attempts);
    let cost = match usage.costs_unknown {
        0 => format!("{:.4} USD", usage.cost_usd),
        unknown if unknown == known => "cost unknown".to_owned(),
        unknown => format!("{:.4} USD and {unknown} without a price", usage.cost_usd),
    };
    match usage.attempts_unknown {
        0 => format!("{tokens} tokens, {cost} in {attempts}"),
        1 if usage.attempts == 1 => "unknown: 1 attempt, which did not say".to_owned(),
        unknown if unknown == usage.attempts => format!("unknown: {attempts}, none of them said"),
        unknown => format!("{tokens} tokens, {cost} in {attempts}, and {unknown} of them did not say"),
    }
}

pub fn finding(finding: &Finding) -> String {
    let place =
        if finding.line == 0 { finding.file.clone() } else { format!("{}:{}", finding.file, finding.line) };
    let task = finding.task.as_ref().map_or("the whole", |task| task.as_str());
    let head = format!(
        "{:<5} {:<8} {:<9} {task}  {place}",
        finding.id.as_str(),
        finding.severity.name(),
        finding.life.name()
    );
    let mut text = fit(&head, width());
    let _ = write!(text, "\n      {}", super::text::clean(&finding.description));
    if !finding.scenario.is_empty() {
        let _ = write!(text, "\n      {}", super::text::clean(&finding.scenario));
    }
    for line in finding.diff.lines() {
        let _ = write!(text, "\n        {}", fit(line, width().saturating_sub(8)));
    }
    text
}

fn headline(view: &View) -> String {
    let words = outcome_words(view);
    let colour = match &view.outcome {
        Some(outcome) if outcome.kind == OutcomeKind::Completed => Colour::Good,
        Some(outcome) if outcome.reason == Reason::Asked => Colour::Good,
        Some(_) => Colour::Bad,
        None => Colour::Busy,
    };
    let mut line = paint(&words, colour);
    if let Some(phase) = view.phase.filter(|_| view.outcome.is_none()) {
        let _ = write!(line, "  {}", phase.name());
    }
    line
}

pub fn outcome_words(view: &View) -> String {
    match &view.outcome {
        Some(outcome) => format!("{} ({})", outcome.kind.name(), outcome.reason.name()),
        None => view.status.name().to_owned(),
    }
}

fn iterations(view: &View) -> String {
    let of = if view.max_iterations == 0 { "no limit".to_owned() } else { view.max_iterations.to_string() };
    format!("{} of {of}, run {}, {} worked", view.iteration, view.run, view.worked_ms)
}

fn branch(view: &View) -> String {
    let short = |hash: &str| hash.get(..10).unwrap_or(hash).to_owned();
    match &view.commit {
        Some(commit) if view.branch_gone => {
            let (at, base) = (short(commit.as_str()), short(view.base.as_str()));
            format!("{} is gone; it was at {at} (base {base})", view.branch)
        }
        Some(commit) if view.branch_elsewhere.is_some() => {
            let (at, base) = (short(commit.as_str()), short(view.base.as_str()));
            let now = view.branch_elsewhere.as_ref().map_or_else(String::new, |now| short(now.as_str()));
            format!("{} is at {now}, not at {at}, which landed (base {base})", view.branch)
        }
        Some(commit) if changed_nothing(view) => {
            format!("{} at {}, the base: nothing was changed", view.branch, short(commit.as_str()))
        }
        Some(commit) => {
            format!("{} at {} (base {})", view.branch, short(commit.as_str()), short(view.base.as_str()))
        }
        None => format!("{} (nothing landed yet; base {})", view.branch, short(view.base.as_str())),
    }
}

/// What was asked was found to be done already.
pub fn changed_nothing(view: &View) -> bool {
    view.commit.as_ref().is_some_and(|commit| commit.as_str() == view.base.as_str())
}

fn notes(view: &View) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(outcome) = view.outcome.as_ref().filter(|outcome| !is_told_by_tasks(view, outcome)) {
        notes.push(format!("{:<10}{}", "because", outcome.detail));
    }
    if let Some(paused) = &view.paused {
        let why =
            if paused.why == Reason::Operator { String::new() } else { format!("{}: ", paused.why.name()) };
        notes.push(format!("{:<10}{why}{}", "paused", paused.detail));
    }
    if let Some(waiting) = &view.waiting {
        let (until, left) = (times::local(waiting.until), times::left(waiting.until));
        let what = if waiting.detail.is_empty() { String::new() } else { format!(": {}", waiting.detail) };
        let why = waiting.why.name();
        notes.push(format!("{:<10}until {until}, {left} left ({why}){what}", "waiting"));
    }
    let red = |gate: &&GateView| !gate.passed && gate.purpose != Purpose::Baseline;
    notes.extend(view.gate.as_ref().filter(red).map(red_gate));
    if let Some(attempt) = &view.attempt {
        let seen =
            attempt.last_activity.map_or_else(String::new, |at| format!(", last active {}", clock(at)));
        let since = clock(attempt.started_at);
        notes.push(format!("{:<10}{} {}, since {since}{seen}", "attempt", attempt.id, attempt.role));
    }
    if !view.amendments.is_empty() {
        let count = view.amendments.len();
        let what = if count == 1 { "change of the plan waits" } else { "changes of the plan wait" };
        notes.push(format!("{:<10}{count} {what} for you: windlass task list {}", "proposed", view.name));
    }
    if view.unchecked {
        notes.push(format!("{:<10}{}", "unchecked", unchecked(view)));
    }
    if let Some(terms) = view.terms.as_ref().filter(|terms| !terms.changed.is_empty()) {
        let said = if terms.trusted_later { "you trust it in later loops" } else { "accepted by nobody" };
        notes.push(format!("{:<10}changed and landed, {said}: {}", "terms", terms.changed.words()));
    }
    if let Some(stop) = &view.stop {
        let steps =
            if stop.steps == 1 { "1 step landed".to_owned() } else { format!("{} steps landed", stop.steps) };
        let words = if stop.holds { "all stop checks hold" } else { "the stop checks do not all hold" };
        notes.push(format!("{:<10}{steps}; {words}", "steps"));
        let line = |check: &StopCheckView| {
            let mark = if check.holds { "holds" } else { "open" };
            format!("{:<10}{mark}, {}: {}", "stop", check.check, check.why)
        };
        notes.extend(stop.checks.iter().map(line));
    }
    for item in &view.pending {
        notes.push(format!("{:<10}{item}", "pending"));
    }
    notes
}

/// Whether the reason of a run that ended is the one of its blocked tasks, which have it beside them.
fn is_told_by_tasks(view: &View, outcome: &Outcome) -> bool {
    let mut blocked = view.tasks.iter().filter(|task| task.status == TaskStatus::Blocked).peekable();
    outcome.kind == OutcomeKind::Blocked
        && blocked.peek().is_some()
        && (outcome.detail.starts_with("blocked: ") || blocked.any(|task| task.detail == outcome.detail))
}

fn red_gate(gate: &GateView) -> String {
    let whose = gate.task.as_ref().map_or(gate.purpose.name(), |task| task.as_str());
    let red = gate.checks.iter().filter(|check| !check.passed);
    let red: Vec<String> = red.map(|check| format!("{}: {}", check.check, check.ending)).collect();
    format!("{:<10}red ({whose}), {}", "gate", red.join(", "))
}

/// Where some of the work is proven, only the rest is named.
fn unchecked(view: &View) -> String {
    let done = || view.tasks.iter().filter(|task| task.status == TaskStatus::Done && !task.done_before);
    let names: Vec<&str> = done().filter(|task| !task.checked).map(|task| task.id.as_str()).collect();
    match names.len() {
        all if all == done().count() => "no check proves what is done".to_owned(),
        0 => "the gate has no check".to_owned(),
        _ => format!("no check proves {}", names.join(", ")),
    }
}

/// As its line begins.
pub fn status_word(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::Pending => "pending",
        TaskStatus::Active => "active",
        TaskStatus::Done => "done",
        TaskStatus::Blocked => "blocked",
        TaskStatus::Waived => "waived",
    }
}

fn status_colour(status: TaskStatus) -> Colour {
    match status {
        TaskStatus::Pending | TaskStatus::Waived => Colour::Faint,
        TaskStatus::Active => Colour::Busy,
        TaskStatus::Done => Colour::Good,
        TaskStatus::Blocked => Colour::Bad,
    }
}

fn task_lines(task: &TaskView) -> String {
    let (mark, colour) = (status_word(task.status), status_colour(task.status));
    let attempts = match task.attempts {
        0 => String::new(),
        1 => "  1 attempt".to_owned(),
        n => format!("  {n} attempts"),
    };
    let title = format!("{}  {}{attempts}", task.id, task.title);
    let padded = format!("{mark:<8}");
    let title = wrap(&format!("{MARGIN}{title}"), MARGIN);
    let mut text = format!("  {}  {}\n", paint(&padded, colour), title.trim_start());
    let why = match task.reason {
        Some(reason) => format!("{}: {}", reason.name(), task.detail),
        None => task.detail.clone(),
    };
    if task.done_before {
        text.push_str("            before windlass came, not proven\n");
    }
    let criteria = acceptance::words(&task.acceptance);
    if !criteria.is_empty() {
        let _ = writeln!(text, "{MARGIN}{criteria}");
    }
    if !why.is_empty() {
        let _ = writeln!(text, "{}", wrap(&format!("{MARGIN}{why}"), MARGIN));
    }
    text
}

#[cfg(test)]
mod tests {
    use windlass_core::id::TaskId;

    use super::super::sample::view;
    use super::*;

    #[test]
    fn the_reason_of_a_blocked_task_is_told_once() {
        let mut seen = view();
        let words = "3 attempts in a row failed; the last: crashed: exit code 1";
        let (kind, reason) = (OutcomeKind::Blocked, Reason::AgentFailed);
        seen.outcome = Some(Outcome { kind, reason, detail: words.to_owned() });
        assert!(page(&seen, "").contains("because"), "no task tells it");
        let task = &mut seen.tasks[0];
        (task.status, task.reason, task.detail) = (TaskStatus::Blocked, Some(reason), words.to_owned());
        assert_eq!(page(&seen, "").matches("3 attempts in a row").count(), 1, "{}", page(&seen, ""));
        seen.outcome = Some(Outcome { kind, reason, detail: "blocked: answer (agent_failed)".to_owned() });
        assert!(!page(&seen, "").contains("because"), "{}", page(&seen, ""));
    }

    #[test]
    fn a_task_that_waits_for_a_blocked_one_says_so() {
        let mut seen = view();
        for (id, after) in [("next", "answer"), ("last", "next")] {
            let mut task = seen.tasks[0].clone();
            (task.id, task.depends_on) = (TaskId::new(id), vec![TaskId::new(after)]);
            seen.tasks.push(task);
        }
        assert!(!page(&seen, "").contains("waits for"), "{}", page(&seen, ""));
        seen.tasks[0].status = TaskStatus::Blocked;
        let waits = "waits for answer, which is blocked";
        assert_eq!(page(&seen, "").matches(waits).count(), 2, "{}", page(&seen, ""));
    }

    #[test]
    fn tokens_beyond_all_numbers_are_shown() {
        let most = u64::MAX;
        let view = UsageView {
            input_tokens: most,
            output_tokens: most,
            attempts: 1,
            costs_unknown: 1,
            ..no_usage()
        };
        assert_eq!(usage(&view), format!("{most} tokens, cost unknown in 1 attempt"));
    }

    fn no_usage() -> UsageView {
        UsageView::of(&windlass_core::usage::UsageSum::default())
    }
}
