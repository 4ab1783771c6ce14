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
use super::text::{Colour, paint, wrap};

const MARGIN: &str = "            ";

/// Lines to print before the first event.
pub fn banner(view: &View, style: ProgressStyle) -> Vec<String> {
    let commands = commands(&view.name, style).map(|(what, words)| row(what, &words));
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

/// Ctrl-C ends a run, and leaves the screen of somebody else's.
fn commands(name: &LoopName, style: ProgressStyle) -> [(&'static str, String); 2] {
    match style {
        ProgressStyle::Watching => [
            ("leave", "Ctrl-C (the run goes on)".to_owned()),
            ("stop", format!("windlass pause {name}, or windlass cancel {name}")),
        ],
        ProgressStyle::WithBanner | ProgressStyle::Plain | ProgressStyle::Quiet => [
            ("stop", format!("Ctrl-C (everything is saved), or windlass pause {name}")),
            ("watch", format!("windlass attach {name}, from another terminal")),
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
