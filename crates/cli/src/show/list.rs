//! Loops in columns.

use std::io::IsTerminal as _;

use windlass_core::state::TaskStatus;
use windlass_core::view::View;

use super::moment::age;
use super::text::{columns, fit, width};
use super::view::outcome_words;

/// Name, status, tasks, age, branch and goal of each.
pub fn loops(views: &[View]) -> String {
    let rows: Vec<Vec<String>> = views.iter().map(row).collect();
    aligned(&rows)
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

/// Columns side by side. Only a terminal has an end.
pub fn aligned(rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widest = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| columns(cell)).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..count).map(widest).collect();
    let most = if std::io::stdout().is_terminal() { width() } else { usize::MAX / 16 };
    let line = |row: &Vec<String>| {
        let padded = row.iter().zip(&widths).map(|(cell, width)| {
            let blank = width - columns(cell);
            format!("{cell}{:blank$}", "")
        });
        let line = padded.collect::<Vec<_>>().join("  ");
        format!("{}\n", fit(line.trim_end(), most))
    };
    rows.iter().map(line).collect()
}

fn row(view: &View) -> Vec<String> {
    let is_done = |status: TaskStatus| matches!(status, TaskStatus::Done | TaskStatus::Waived);
    let done = view.tasks.iter().filter(|task| is_done(task.status)).count();
    let branch = if view.commit.is_some() { view.branch.clone() } else { "nothing landed".to_owned() };
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
    fn bytes_are_told_in_the_unit_that_fits() {
        for (bytes, told) in
            [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (5 << 20, "5.0 MiB"), (3 << 30, "3.0 GiB")]
        {
            assert_eq!(human(bytes), told);
        }
    }
}
