//! Loops in columns.

use std::io::IsTerminal as _;

use windlass_core::state::TaskStatus;
use windlass_core::view::View;

use super::moment::age;
use super::next::branch_back;
use super::text::{columns, fit, width};
use super::view::outcome_words;

/// Name, status, tasks, age, branch and goal of each. Where a line would be cut before its goal, branch and
/// goal have a line of their own.
pub fn loops(views: &[View]) -> String {
    format!("{}{}", loops_at(views, page_width()), gone(views))
}

/// The way back for each branch that is gone, or lacks what landed.
fn gone(views: &[View]) -> String {
    let line = |view: &View| {
        let what = if view.branch_gone { "gone" } else { "elsewhere" };
        branch_back(view).map(|back| format!("a branch is {what}: {back}\n"))
    };
    views.iter().filter_map(line).collect()
}

fn loops_at(views: &[View], width: usize) -> String {
    let rows: Vec<Vec<String>> = views.iter().map(row).collect();
    let widest = |column: usize| rows.iter().map(|row| columns(&row[column])).max().unwrap_or(0);
    let needed: usize = (0..GOAL).map(|column| widest(column) + GAP.len()).sum();
    if needed + LEAST_GOAL <= width {
        return aligned_at(&rows, width);
    }
    let heads: Vec<Vec<String>> = rows.iter().map(|row| row[..BRANCH].to_vec()).collect();
    let heads = aligned_at(&heads, width);
    let pairs = heads.lines().zip(&rows);
    pairs
        .map(|(head, row)| {
            let rest = format!("    {}{GAP}{}", row[BRANCH], row[GOAL]);
            format!("{head}\n{}\n", fit(&rest, width))
        })
        .collect()
}

const GAP: &str = "  ";
/// Of a goal that stands beside the rest at least this much is seen.
const LEAST_GOAL: usize = 10;
/// Where these stand in a row.
const BRANCH: usize = 4;
const GOAL: usize = 5;

/// Only a terminal has an end.
fn page_width() -> usize {
    if std::io::stdout().is_terminal() { width() } else { usize::MAX / 16 }
}

/// Of each loop, of what all share, and of everything.
pub fn sizes(of_loops: &[(String, u64)], records: u64) -> String {
    let total = of_loops.iter().map(|(_, bytes)| bytes).sum::<u64>() + records;
    let shared = [("(records and snapshots of all)".to_owned(), records), ("(total)".to_owned(), total)];
    let rows: Vec<Vec<String>> = of_loops
        .iter()
        .chain(&shared)
        .map(|(name, bytes)| vec![name.clone(), format!("{:>10}", human(*bytes))])
        .collect();
    aligned(&rows)
}

/// Columns side by side.
pub fn aligned(rows: &[Vec<String>]) -> String {
    aligned_at(rows, page_width())
}

fn aligned_at(rows: &[Vec<String>], most: usize) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widest = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| columns(cell)).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..count).map(widest).collect();
    let line = |row: &Vec<String>| {
        let padded = row.iter().zip(&widths).map(|(cell, width)| {
            let blank = width - columns(cell);
            format!("{cell}{:blank$}", "")
        });
        let line = padded.collect::<Vec<_>>().join(GAP);
        format!("{}\n", fit(line.trim_end(), most))
    };
    rows.iter().map(line).collect()
}

fn row(view: &View) -> Vec<String> {
    let is_done = |status: TaskStatus| matches!(status, TaskStatus::Done | TaskStatus::Waived);
    let done = view.tasks.iter().filter(|task| is_done(task.status)).count();
    let branch = match &view.commit {
        None => "nothing landed".to_owned(),
        Some(_) if view.branch_gone => format!("{} (gone)", view.branch),
        Some(_) if view.branch_elsewhere.is_some() => format!("{} (elsewhere)", view.branch),
        Some(_) => view.branch.clone(),
    };
    vec![
        view.name.to_string(),
        outcome_words(view),
        format!("{done}/{} tasks", view.tasks.len()),
        format!("{} ago", age(view.updated_at)),
        branch,
        view.goal.clone(),
    ]
}

fn human(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let (mut left, mut unit) = (bytes / 1024, 0);
    let mut tenth = bytes % 1024 * 10 / 1024;
    while left >= 1024 && unit + 1 < UNITS.len() {
        tenth = left % 1024 * 10 / 1024;
        left /= 1024;
        unit += 1;
    }
    format!("{left}.{tenth} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_begin_at_one_place() {
        let rows = [vec!["a".to_owned(), "x".to_owned()], vec!["日本".to_owned(), "y".to_owned()]];
        assert_eq!(aligned(&rows), "a     x\n日本  y\n");
    }

    #[test]
    fn on_a_narrow_page_branch_and_goal_have_a_line_of_their_own() {
        let views = [View { goal: "Write the answer".to_owned(), ..super::super::sample::view() }];
        let wide = loops_at(&views, 200);
        assert_eq!(wide.lines().count(), 1, "{wide}");
        let narrow = loops_at(&views, columns(wide.trim_end()) - 20);
        let lines: Vec<&str> = narrow.lines().collect();
        assert_eq!(lines.len(), 2, "{narrow}");
        assert!(lines[1].starts_with("    ") && lines[1].contains(&views[0].goal), "{narrow}");
    }

    #[test]
    fn bytes_are_told_in_the_unit_that_fits() {
        for (bytes, told) in
            [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (5 << 20, "5.0 MiB"), (3 << 30, "3.0 GiB")]
        {
            assert_eq!(human(bytes), told);
        }
    }
}
