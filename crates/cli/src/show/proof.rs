//! A proof as a page of text.

use std::fmt::Write as _;

use windlass_core::state::TaskStatus;
use windlass_core::verdict::Verdict;
use windlass_driver::prove::{Check, Proof, Record, Review, Step, Task};

use super::text::{Colour, clean, fit, paint, width};

/// Where the values of the page begin.
const INDENT: usize = 12;

pub fn page(proof: &Proof) -> String {
    let mut page = String::new();
    let (words, colour) = match proof.holds {
        true => ("the proof of completion holds", Colour::Good),
        false => ("the proof of completion does not hold", Colour::Bad),
    };
    let _ = writeln!(page, "{}  {}", paint(proof.name.as_str(), Colour::Bold), paint(words, colour));
    if let Some(record) = &proof.record {
        page.push('\n');
        for (name, value) in facts(record) {
            let _ = writeln!(page, "  {name:<10}{}", fit(&value, width().saturating_sub(INDENT)));
        }
        evidence(&mut page, record);
    }
    page.push('\n');
    for step in &proof.steps {
        page.push_str(&step_lines(step));
    }
    page
}

fn facts(record: &Record) -> Vec<(&'static str, String)> {
    let landed = |part: fn(&windlass_driver::prove::Point) -> &str| {
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

fn evidence(page: &mut String, record: &Record) {
    let width = width();
    let mut section = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            let _ = writeln!(page, "\n  {title}");
        }
        for line in lines {
            let _ = writeln!(page, "    {}", fit(&line, width.saturating_sub(4)));
        }
    };
    section("checks on the landed tree", record.checks.iter().map(check).collect());
    section("tasks", record.tasks.iter().map(task).collect());
    section("reviews", record.reviews.iter().map(review).collect());
}

fn check(check: &Check) -> String {
    let ending = match (check.timed_out, check.exit_code) {
        (true, _) => "timed out".to_owned(),
        (false, Some(code)) => format!("exit {code}"),
        (false, None) => "no exit code".to_owned(),
    };
    format!(
        "{ending:<9} {:>8}  output {}  {}",
        check.duration_ms.to_string(),
        short(check.output.as_str()),
        check.check
    )
}

fn task(task: &Task) -> String {
    let status = match task.status {
        TaskStatus::Pending => "pending",
        TaskStatus::Active => "active",
        TaskStatus::Done => "done",
        TaskStatus::Blocked => "blocked",
        TaskStatus::Waived => "waived",
    };
    let commit = task.commit.as_ref().map_or("", |commit| short(commit.as_str()));
    let green = task.checks.iter().filter(|check| check.exit_code == Some(0)).count();
    let reviewed = if task.reviewed { "reviewed" } else { "not reviewed" };
    format!("{status:<9} {commit:<12}  {green} green, {reviewed:<12}  {}  {}", task.id, task.title)
}

fn review(review: &Review) -> String {
    let verdict = match (&review.verdict, review.failure.as_str()) {
        (Verdict::Accept, _) => "accept",
        (Verdict::Reject, "") => "reject",
        (Verdict::Reject, _) => "none",
    };
    let why = if review.failure.is_empty() { String::new() } else { format!("  {}", review.failure) };
    format!("{verdict:<9} tree {}  iteration {}{why}", short(review.tree.as_str()), review.iteration)
}

/// What holds is one line; what does not is told in full, below its name.
fn step_lines(step: &Step) -> String {
    let name = step.step.name();
    if step.holds {
        let room = width().saturating_sub(INDENT + 8);
        return format!("  {}  {name:<10}{}\n", paint("holds ", Colour::Good), fit(&step.detail, room));
    }
    let mut text = format!("  {}  {name}\n", paint("BROKEN", Colour::Bad));
    for line in wrapped(&clean(&step.detail), width().saturating_sub(INDENT)) {
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
    use windlass_driver::prove::StepName;

    use super::*;

    #[test]
    fn a_broken_step_is_told_in_full_and_fits() {
        let hash = "0123456789abcdef".repeat(4);
        let detail = format!(
            "the output of check test (event 12): blob {hash} is not in the vault, and more is wrong"
        );
        let step = Step { step: StepName::Branch, holds: false, detail: detail.clone() };
        let text = step_lines(&step).replace("\u{f8f0}31\u{f8f1}", "").replace("\u{f8f0}0\u{f8f1}", "");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let words: Vec<&str> = text.split_whitespace().skip(2).collect();
        assert_eq!(words.join(" "), detail);
    }
}
