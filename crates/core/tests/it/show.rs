//! Effects and views in a few words.

use std::fmt::Write;

use windlass_core::acceptance::{self, CriterionAnswer};
use windlass_core::brief::BriefSpec;
use windlass_core::effect::Effect;
use windlass_core::id::CommitId;
use windlass_core::policy::Role;
use windlass_core::state::State;
use windlass_core::time::Timestamp;
use windlass_core::verdict::{Claim, Met};
use windlass_core::view::{TaskView, View};

pub fn effect(state: &State, effect: &Effect) -> String {
    match effect {
        Effect::MergeWork { base, work, head, .. } => {
            format!("    => merge {base}..{work} onto {head}\n")
        }
        Effect::PrepareWorkspace { tree } => format!("    => prepare {tree}\n"),
        Effect::CallAgent { attempt, role, .. } => {
            let brief = BriefSpec::of(state, *role);
            format!("    => call {}, attempt {attempt}{}\n", role.name(), told(&brief))
        }
        Effect::Snapshot(snapshot) => {
            let (from, parent) = (&snapshot.from, &snapshot.parent);
            let terms =
                snapshot.trusted.as_ref().map_or_else(String::new, |tree| format!(", terms of {tree}"));
            format!("    => snapshot from {from} on {parent}{terms}\n")
        }
        Effect::RunGate { purpose, tree, trusted, regression, checks } => {
            let and = trusted.as_ref().map_or_else(String::new, |tree| format!(" and {tree}"));
            let without = regression.as_ref().map_or_else(String::new, |asked| match asked.adds_tests() {
                true => format!(", without the fix on {} and {}", asked.with_tests, asked.base),
                false => ", without a test".to_owned(),
            });
            format!("    => {} gate on {tree}{and}{without}: {}\n", purpose.name(), checks.join(" "))
        }
        Effect::Land { commit, expected, .. } => {
            let expected = expected.as_ref().map_or("nothing", CommitId::as_str);
            format!("    => land {commit} over {expected}\n")
        }
        Effect::CheckStop { tree } => format!("    => look at the stop checks on {tree}\n"),
    }
}

/// What of the brief depends on what happened before.
fn told(brief: &BriefSpec) -> String {
    let mut told = String::new();
    let mut add = |what: &str, value: &str| {
        if !value.is_empty() {
            write!(told, "\n         {what}: {value}").expect("a string takes it");
        }
    };
    if let Some(tree) = &brief.tree_under_review {
        add("compare", &format!("{} with {tree}", brief.base_tree));
    }
    if let Some(work) = &brief.unmerged {
        add("earlier work", &format!("{}..{}, {}", work.base, work.work, work.words()));
    }
    for failing in &brief.failing {
        add("failing", &format!("{}, {}: {}", failing.check, failing.reason.words(), failing.excerpt));
    }
    let criteria = brief.task.as_ref().map_or(&[][..], |task| &task.acceptance);
    let answered = criteria.iter().filter(|criterion| criterion.met != Met::Unknown);
    for CriterionAnswer { number, text, met, place, check } in answered {
        let shown = [place, check].into_iter().filter(|by| !by.is_empty());
        let shown: String = shown.map(|by| format!(", {by}")).collect();
        add("criterion", &format!("{number} {text}: {}{shown}", met.name()));
    }
    for finding in &brief.findings {
        add("finding", &format!("{} {}: {}", finding.id, finding.file, finding.description));
    }
    add("changed terms", &brief.changed_terms.words());
    add("terms", if brief.needs_terms { "needed" } else { "" });
    add("pending", &brief.pending.join("; "));
    add("rejected because", &brief.last_review);
    let of_words = |claim: &&Claim| brief.role == Role::Reviewer && !claim.summary.is_empty();
    if let Some(claim) = brief.author.claim.as_ref().filter(of_words) {
        add("the author says", &format!("{}: {}", claim.status.name(), claim.summary));
    }
    let next = brief.author.claim.as_ref().map_or(&[][..], |claim| &claim.next);
    add("the author's next steps", &next.join("; "));
    add("last attempt", &brief.last_end);
    add("one step", if brief.one_step { "and no more" } else { "" });
    add("steering", &brief.steering.join("; "));
    add("brief", if brief.short { "short" } else { "" });
    told
}

pub fn held(state: &State) -> String {
    if state.outstanding().next().is_none() || state.may_perform() {
        return String::new();
    }
    let why = match (&state.paused, &state.waiting) {
        (Some(pause), _) => format!("paused ({})", pause.why.name()),
        (None, Some(wait)) => format!("waiting ({})", wait.why.name()),
        (None, None) => "interrupted".to_owned(),
    };
    format!("    .. held back: {why}\n")
}

pub fn view(state: &State) -> String {
    let view = View::of(state);
    let mut out = String::from("view\n");
    let mut add = |line: String| writeln!(out, "    {line}").expect("a string takes it");
    let phase = view.phase.map_or("no phase", |phase| phase.name());
    let limit = view.max_iterations;
    add(format!(
        "{}, run {}, iteration {} of {limit}, {phase}",
        view.status.name(),
        view.run,
        view.iteration
    ));
    if let Some(outcome) = &view.outcome {
        add(format!("{} ({}): {}", outcome.kind.name(), outcome.reason.name(), outcome.detail));
    }
    if let Some(wait) = &view.waiting {
        add(format!("waiting until {} ({})", clock(wait.until), wait.why.name()));
    }
    if let Some(pause) = &view.paused {
        add(format!("paused ({}): {}", pause.why.name(), pause.detail));
    }
    for line in view.tasks.iter().map(task) {
        add(line);
    }
    match (&view.commit, &view.tree) {
        (Some(commit), Some(tree)) => add(format!("branch at {commit}, tree {tree}")),
        _ => add("no branch".to_owned()),
    }
    let (bugs, warnings) = (view.findings.open_bugs, view.findings.open_warnings);
    add(format!("{bugs} bugs, {warnings} warnings, {} reviews", view.reviews));
    if !view.pending.is_empty() {
        add(format!("pending: {}", view.pending.join("; ")));
    }
    let usage = &view.usage;
    let (known, unknown) = (usage.input_tokens, usage.attempts_unknown);
    add(format!("{} attempts, {known} tokens, {unknown} unknown, worked {}", usage.attempts, view.worked_ms));
    let flags = [("unchecked", view.unchecked), ("unreviewed", view.unreviewed)];
    for (flag, _) in flags.iter().filter(|(_, set)| *set) {
        add((*flag).to_owned());
    }
    if let Some(stop) = &view.stop {
        let words = if stop.holds { "they all hold" } else { "go on" };
        add(format!("{} steps landed, stop checks: {words}", stop.steps));
        for check in &stop.checks {
            add(format!("    {} {}: {}", if check.holds { "holds" } else { "open" }, check.check, check.why));
        }
    }
    if let Some(summary) = &view.completion_summary {
        add(format!("summary: {summary}"));
    }
    out
}

fn task(task: &TaskView) -> String {
    let status = serde_json::to_value(task.status).expect("a status is a word");
    let mut line = format!("{} {}", task.id, status.as_str().unwrap_or_default());
    if task.done_before {
        line.push_str(" before windlass came");
    }
    if let Some(reason) = task.reason {
        write!(line, " ({}): {}", reason.name(), task.detail).expect("a string takes it");
    }
    let counts = [
        ("attempts", task.attempts),
        ("failures", task.failures),
        ("no progress", task.no_progress),
        ("rejections", task.rejections),
    ];
    for (what, count) in counts.iter().filter(|(_, count)| *count > 0) {
        write!(line, ", {count} {what}").expect("a string takes it");
    }
    let criteria = acceptance::words(&task.acceptance);
    if !criteria.is_empty() {
        write!(line, ", {criteria}").expect("a string takes it");
    }
    line
}

fn clock(at: Timestamp) -> String {
    at.to_string()
}
