//! A proof as a page of text.

use std::fmt::Write as _;

use windlass_app::prove::{
    Check, CompletionRecord, Grade, PolicyProof, Proof, RegressionProof, ReviewProof, Step, Strength,
    TaskProof, WaivedFinding,
};
use windlass_core::broken_tests::BrokenTests;
use windlass_core::state::TaskStatus;
use windlass_core::tally::{Comparison, Counts, Earlier, Tally};
use windlass_core::verdict::Verdict;

use super::story::criterion;
use super::terminal;
use super::text::{Colour, clean, fit, paint, wrap_at};
use super::times;

/// Where the values of the page begin.
const INDENT: usize = 12;

/// In a pipe the page is as wide as most screens; nothing of it is cut.
fn width() -> usize {
    terminal::columns().unwrap_or(80)
}

pub fn page(proof: &Proof) -> String {
    let mut page = String::new();
    let (words, colour) = match proof.holds {
        true => ("the proof of completion holds", Colour::Good),
        false => ("the proof of completion does not hold", Colour::Bad),
    };
    let _ = writeln!(page, "{}  {}", paint(proof.name.as_str(), Colour::Bold), paint(words, colour));
    if !proof.grades.is_empty() {
        page.push_str("\n  what stands behind it\n");
        for grade in &proof.grades {
            let _ =
                writeln!(page, "{}", wrap_at(&format!("    {}", clean(&graded(grade))), "      ", width()));
        }
    }
    if let Some(record) = &proof.record {
        page.push('\n');
        for (name, value) in facts(record) {
            let row = format!("  {name:<10}{}", clean(&value));
            let _ = writeln!(page, "{}", wrap_at(&row, &" ".repeat(INDENT), width()));
        }
        evidence(&mut page, record);
    }
    page.push('\n');
    for step in &proof.steps {
        page.push_str(&step_lines(step, width()));
    }
    page
}

/// What stands behind a completion, in one line under the loop's page.
pub fn behind(grades: &[Grade]) -> String {
    let of = |strength: Strength| {
        let names = grades.iter().filter(|grade| grade.strength == strength).map(|grade| grade.of.name());
        names.collect::<Vec<_>>().join(", ")
    };
    let kinds =
        [Strength::Full, Strength::Weaker, Strength::Nothing].map(|strength| (strength, of(strength)));
    let told = kinds.iter().filter(|(_, names)| !names.is_empty());
    let told: Vec<String> = told.map(|(strength, names)| format!("{}: {names}", strength.name())).collect();
    format!("{:<10}{}", "behind it", told.join("; "))
}

fn graded(grade: &Grade) -> String {
    format!("{:<9} {:<8} {}", grade.of.name(), grade.strength.name(), grade.words)
}

fn facts(record: &CompletionRecord) -> Vec<(&'static str, String)> {
    let landed = |part: fn(&windlass_app::prove::Point) -> &str| {
        record.landed.as_ref().map_or_else(|| "nothing".to_owned(), |at| part(at).to_owned())
    };
    let tested = match record.sandbox.stopped.len() {
        0 => "nothing was confined".to_owned(),
        attacks => format!("proven by {attacks} attacks that failed"),
    };
    let mut facts = vec![
        ("base", record.base.commit.to_string()),
        ("commit", landed(|at| at.commit.as_str())),
        ("tree", landed(|at| at.tree.as_str())),
        ("branch", record.branch.clone()),
        ("gate", record.gate.hash.clone()),
        ("protected", record.protected.hash.clone()),
        ("log", record.head.clone()),
        ("sandbox", format!("{} ({tested})", record.sandbox.level.name())),
    ];
    facts.extend(
        record
            .sandbox
            .missed
            .iter()
            .map(|missed| ("", format!("not {}: {}", missed.level.name(), missed.why))),
    );
    facts
}

fn evidence(page: &mut String, record: &CompletionRecord) {
    let width = width();
    let mut section = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            let _ = writeln!(page, "\n  {title}");
        }
        for line in lines {
            let _ = writeln!(page, "{}", wrap_at(&format!("    {}", clean(&line)), "      ", width));
        }
    };
    section("checks on the landed tree", record.checks.iter().flat_map(check).collect());
    section("policy changes", record.policies.iter().skip(1).flat_map(policy_change).collect());
    section("tasks", record.tasks.iter().flat_map(|of| task(of, record)).collect());
    section("reviews", record.reviews.iter().map(review).collect());
    section("waived findings", record.waived.iter().flat_map(waived).collect());
}

fn check(check: &Check) -> Vec<String> {
    let line = format!(
        "{:<9} {:>8}  output {}  {}",
        ending(check.timed_out, check.exit_code),
        check.duration_ms.to_string(),
        short(check.output.as_str()),
        check.check
    );
    std::iter::once(line).chain(judged(check).iter().map(|words| below(words))).collect()
}

fn ending(timed_out: bool, exit_code: Option<i32>) -> String {
    match (timed_out, exit_code) {
        (true, _) => "timed out".to_owned(),
        (false, Some(code)) => format!("exit {code}"),
        (false, None) => "no exit code".to_owned(),
    }
}

fn below(words: &str) -> String {
    format!("{:10}{words}", "")
}

/// What was judged of a check beside its exit code.
fn judged(check: &Check) -> Vec<String> {
    let mut lines = Vec::new();
    match &check.tally {
        Some(Tally::Counted(counts)) => lines.push(counted(counts)),
        Some(Tally::Unreadable { why }) => lines.push(format!("its tests were not counted: {why}")),
        None => {}
    }
    if let Some(control) = &check.control {
        let ending = ending(control.timed_out, control.exit_code);
        lines.push(match control.is_sensitive() {
            true => format!("its control failed as it must ({ending})"),
            false => format!("its control did not fail as it must ({ending})"),
        });
    }
    let broken = [("", &check.broken_tests), ("on trusted terms: ", &check.broken_on_trusted_terms)];
    for (on, tests) in broken {
        let told = tests.iter().flat_map(BrokenTests::lines);
        lines.extend(told.map(|line| format!("{on}{line}")));
    }
    lines.extend(exceptions(check));
    lines
}

/// What is to be known of a check beside its exit code.
fn exceptions(check: &Check) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(first) = &check.first_try {
        lines
            .push(format!("this is the second try; the first: {}", ending(first.timed_out, first.exit_code)));
    }
    if let Some(trusted) = &check.on_trusted_terms {
        let how = ending(trusted.timed_out, trusted.exit_code);
        lines.push(format!("on trusted terms, without what it changed of them: {how}"));
    }
    match (&check.waived, check.red.as_str()) {
        (Some(finding), red) => lines.push(format!("red, waived as {finding}: {red}")),
        (None, "") => {}
        (None, red) => lines.push(format!("red: {red}")),
    }
    lines
}

fn counted(counts: &Counts) -> String {
    let tests = if counts.tests == 1 { "test" } else { "tests" };
    let mut words = format!("{} {tests}", counts.tests);
    for (count, what) in
        [(counts.failures.saturating_add(counts.errors), "failed"), (counts.skipped, "skipped")]
    {
        if count > 0 {
            let _ = write!(words, ", {count} {what}");
        }
    }
    if let Some(Comparison { with, tests, vanished, newly_skipped }) = &counts.compared {
        let then = match with {
            Earlier::Baseline => "the base",
            Earlier::Accepted => "what landed before",
            Earlier::TrustedTerms => "the trial on trusted terms",
        };
        let (gone, skipped) = (vanished.count, newly_skipped.count);
        let _ = write!(words, "; of the {tests} of {then}, {gone} gone, {skipped} newly skipped");
    }
    words
}

fn waived(finding: &WaivedFinding) -> Vec<String> {
    let whose = finding.task.as_ref().map_or("the whole", |task| task.as_str());
    let line = format!("{:<9} {whose}: {}", finding.id.as_str(), finding.description);
    std::iter::once(line).chain(reason(&finding.why)).collect()
}

fn reason(why: &str) -> Option<String> {
    (!why.is_empty()).then(|| below(&format!("waived: {why}")))
}

fn task(task: &TaskProof, record: &CompletionRecord) -> Vec<String> {
    if task.done_before {
        let line = format!("{:<9} before windlass came, not proven  {}  {}", "done", task.id, task.title);
        return vec![line];
    }
    let status = match task.status {
        TaskStatus::Pending => "pending",
        TaskStatus::Active => "active",
        TaskStatus::Done => "done",
        TaskStatus::Blocked => "blocked",
        TaskStatus::Waived => "waived",
    };
    let commit = task.commit.as_ref().map_or("", |commit| short(commit.as_str()));
    let green = task.checks.iter().filter(|check| check.red.is_empty()).count();
    let reviewed = if task.reviewed { "reviewed" } else { "not reviewed" };
    let line =
        format!("{status:<9} {commit:<12}  {green} green, {reviewed:<12}  {}  {}", task.id, task.title);
    let special = |check: &Check| {
        exceptions(check)
            .into_iter()
            .map(|words| below(&format!("{}: {words}", check.check)))
            .collect::<Vec<_>>()
    };
    let other_gate = task.gate.as_ref().filter(|gate| **gate != record.gate.hash);
    let other_gate = other_gate.map(|gate| below(&format!("judged by another gate, {}", short(gate))));
    let criteria = task.acceptance.iter().map(|of| below(&criterion(of)));
    let regression = task.regression.as_ref().map(|of| below(&regression(of)));
    let more =
        other_gate.into_iter().chain(regression).chain(criteria).chain(task.checks.iter().flat_map(special));
    std::iter::once(line).chain(reason(&task.why)).chain(more).collect()
}

fn regression(of: &RegressionProof) -> String {
    let tests = of.tests.told();
    let how = match of.without_fix.exit_code {
        Some(code) => format!("exit code {code}"),
        None if of.without_fix.timed_out => "timed out".to_owned(),
        None => "no exit code".to_owned(),
    };
    let (check, event) = (&of.check, of.without_fix.event);
    format!("its regression test was red without the fix: {check}, {how}, event {event}{tests}")
}

fn policy_change(policy: &PolicyProof) -> Vec<String> {
    let line =
        format!("event {:<4} {}  gate {}", policy.event, times::local(policy.at), short(&policy.gate.hash));
    let keys = policy.keys.iter().map(|of| below(&format!("{}: {} to {}", of.key, of.before, of.after)));
    let dropped = policy.dropped.iter().map(|what| below(what));
    std::iter::once(line).chain(keys).chain(dropped).collect()
}

fn review(review: &ReviewProof) -> String {
    let verdict = match (&review.verdict, review.failure.as_str()) {
        (Verdict::Accept, _) => "accept",
        (Verdict::Reject, "") => "reject",
        (Verdict::Reject, _) => "none",
    };
    let why = if review.failure.is_empty() { String::new() } else { format!("  {}", review.failure) };
    format!("{verdict:<9} tree {}  iteration {}{why}", short(review.tree.as_str()), review.iteration)
}

/// What holds is one line; what does not is told in full, below its name.
fn step_lines(step: &Step, width: usize) -> String {
    let name = step.step.name();
    if step.holds {
        let margin = " ".repeat(INDENT + 8);
        let detail = wrap_at(&format!("{margin}{}", clean(&step.detail)), &margin, width);
        return format!("  {}  {name:<10}{}\n", paint("holds ", Colour::Good), detail.trim_start());
    }
    let mut text = format!("  {}  {name}\n", paint("BROKEN", Colour::Bad));
    for line in wrapped(&clean(&step.detail), width.saturating_sub(INDENT)) {
        let _ = writeln!(text, "{:INDENT$}{line}", "");
    }
    text
}

/// Words in lines of at most so many columns; a longer word stands alone and is cut.
fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let word = fit(word, columns);
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= columns => {
                line.push(' ');
                line.push_str(&word);
            }
            Some(_) | None => lines.push(word),
        }
    }
    lines
}

fn short(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}

#[cfg(test)]
mod tests {
    use windlass_app::prove::StepName;

    use super::*;

    #[test]
    fn a_broken_step_is_told_in_full_and_fits() {
        let hash = "0123456789abcdef".repeat(4);
        let detail = format!(
            "the output of check test (event 12): blob {hash} is not in the vault, and more is wrong"
        );
        let step = Step { step: StepName::Branch, holds: false, detail: detail.clone() };
        let text = step_lines(&step, 80).replace("\u{f8f0}31\u{f8f1}", "").replace("\u{f8f0}0\u{f8f1}", "");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let words: Vec<&str> = text.split_whitespace().skip(2).collect();
        assert_eq!(words.join(" "), detail);
    }
}
