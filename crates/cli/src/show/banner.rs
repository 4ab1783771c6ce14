//! What a drive begins with: which loop, who works on it, within which limits, and
//! how it is stopped and watched.

use windlass_core::event::Phase;
use windlass_core::id::LoopName;
use windlass_core::policy::Role;
use windlass_core::time::Millis;
use windlass_core::view::{LimitUnit, LimitView, View};

use super::counts::counts;
use super::live_line::agent;
use super::progress::ProgressStyle;
use super::text::{Colour, columns, paint, width, wrap};

const MARGIN: &str = "            ";

/// Lines to print before the first event.
pub fn banner(view: &View, style: ProgressStyle) -> Vec<String> {
    let commands =
        commands(&view.name, style).map(|(what, words, command)| command_row(what, words, &command));
    outline(view).into_iter().chain(commands).collect()
}

/// Which loop, who works on it, and within which limits.
pub fn outline(view: &View) -> Vec<String> {
    let head = format!("loop {}: {}", view.name, counts(view));
    let rows = [
        ("agent", format!("{}; {}", agent(view, Role::Author), reviews(view))),
        ("limits", limits(view)),
        ("sandbox", view.sandbox.name().to_owned()),
    ];
    let rows = rows.map(|(what, words)| row(what, &words));
    std::iter::once(paint(&wrap(&head, MARGIN), Colour::Bold)).chain(rows).collect()
}

fn row(what: &str, words: &str) -> String {
    wrap(&format!("  {what:<10}{words}"), MARGIN)
}

/// The command stays whole, so that it can be copied.
fn command_row(what: &str, words: &str, command: &str) -> String {
    match words.is_empty() || command.is_empty() {
        true => row(what, &format!("{words}{command}")),
        false => command_row_at(width(), &format!("  {what:<10}{words}"), command),
    }
}

fn command_row_at(width: usize, words: &str, command: &str) -> String {
    let line = format!("{words}{command}");
    match columns(&line) > width {
        true => format!("{}\n{MARGIN}{command}", words.trim_end()),
        false => line,
    }
}

/// Ctrl-C ends a run, and leaves the screen of somebody else's.
fn commands(name: &LoopName, style: ProgressStyle) -> [(&'static str, &'static str, String); 2] {
    match style {
        ProgressStyle::Watching => [
            ("leave", "Ctrl-C (the run goes on)", String::new()),
            ("stop", "", format!("windlass pause {name}, or windlass cancel {name}")),
        ],
        ProgressStyle::WithBanner | ProgressStyle::Plain | ProgressStyle::Quiet => [
            ("stop", "Ctrl-C (everything is saved), or ", format!("windlass pause {name}")),
            ("watch", "", format!("windlass attach {name}, from another terminal")),
        ],
    }
}

fn reviews(view: &View) -> String {
    let reviewer = agent(view, Role::Reviewer);
    match (view.reviews_tasks, view.reviews_whole) {
        (true, true) => format!("{reviewer} reviews every task and the whole"),
        (true, false) => format!("{reviewer} reviews every task"),
        (false, true) => format!("{reviewer} reviews the whole at the end"),
        (false, false) => "no reviews".to_owned(),
    }
}

/// Iterations and budgets, as far as they are limited.
fn limits(view: &View) -> String {
    let iterations = match view.max_iterations {
        0 => None,
        max => {
            let left = max.saturating_sub(view.iteration) + u32::from(is_iteration_open(view));
            let iterations = if max == 1 { "iteration" } else { "iterations" };
            Some(format!("{left} of {max} {iterations} left"))
        }
    };
    let budgets = view.limits.iter().filter_map(budget);
    let all: Vec<String> = iterations.into_iter().chain(budgets).collect();
    if all.is_empty() { "none".to_owned() } else { all.join(", ") }
}

fn is_iteration_open(view: &View) -> bool {
    matches!(view.phase, Some(Phase::Execute | Phase::Verify | Phase::Review | Phase::Land))
}

fn budget(limit: &LimitView) -> Option<String> {
    let (left, max) = (limit.left?, limit.max?);
    match limit.unit {
        LimitUnit::Count => None,
        LimitUnit::Milliseconds => Some(format!("{} of {} left", Millis(left), Millis(max))),
        LimitUnit::Tokens => Some(format!("{left} of {max} tokens left")),
        LimitUnit::MicroUsd => Some(format!("{:.2} of {:.2} USD left", usd(left), usd(max))),
    }
}

fn usd(micro: u64) -> f64 {
    micro as f64 / 1_000_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_not_broken_where_the_screen_ends() {
        let (words, command) = ("  stop      Ctrl-C (everything is saved), or ", "windlass pause parser");
        assert_eq!(command_row_at(80, words, command), format!("{words}{command}"));
        let narrow = "  stop      Ctrl-C (everything is saved), or\n            windlass pause parser";
        assert_eq!(command_row_at(50, words, command), narrow);
    }
}
