//! Fifty thousand files, one of them changed.

use std::time::Duration;

use anyhow::Result;

use super::iteration::scratch;
use super::page::{Limit, Row};
use super::programs::Readings;
use super::project::{Level, Project};
use super::rounds::{Comparison, Measured};
use super::{Ground, failed};

const FILES: &str = "50000";
const TASKS: usize = 16;
/// The iterations at either end of the run do not count.
const EDGE: usize = 3;

pub fn large(ground: &Ground) -> Result<Vec<Row>> {
    let dir = scratch(ground, "large", 0)?;
    let rounds = (ground.rounds.count + ground.rounds.warm_up).to_string();
    let shown = dir.display().to_string();
    let found = ground.programs.measure("snapshot_bench", &dir, &[FILES, &rounds, &shown])?;
    let warm = |name| found.warm(name, ground.rounds.warm_up);
    let mut rows = Comparison {
        reference: Measured::of("git add -A && git write-tree".to_owned(), warm("git")?),
        subjects: vec![Measured::of("snapshot of one change".to_owned(), warm("snapshot")?)],
    }
    .rows(Some(0.5));
    rows.extend(
        Comparison {
            reference: Measured::of("git add -A && git write-tree".to_owned(), found.times("first_git")?),
            subjects: vec![Measured::of("the first snapshot".to_owned(), found.times("first")?)],
        }
        .rows(Some(0.35)),
    );
    rows.push(Measured::of("the gate's tree, one change".to_owned(), warm("delta")?).row_in_ms(10.0));
    for (level, name, bound) in [
        (Level::None, "iteration", 100.0),
        (Level::Namespaces, "iteration, agent and gate inside namespaces", 130.0),
    ] {
        let row =
            whole(ground, &dir, level).map(|found| Measured::of(name.to_owned(), found).row_in_ms(bound));
        rows.push(row.unwrap_or_else(|error| failed(&error)));
    }
    rows.extend(beside(&found)?);
    Ok(rows)
}

fn whole(ground: &Ground, dir: &std::path::Path, level: Level) -> Result<Vec<Duration>> {
    let project = Project::in_repository(dir, dir.join("repo"), &ground.programs.windlass).tasked(TASKS)?;
    let times = project.at(level)?.drive()?;
    Ok(times[EDGE.min(times.len())..].to_vec())
}

/// What is reported without a bound.
fn beside(found: &Readings) -> Result<Vec<Row>> {
    let named = [
        ("verify", "the gate's tree, every file compared"),
        ("landing", "landing"),
        ("ref", "a ref in the vault"),
        ("import", "import into the vault"),
        ("create", "making the workspace"),
        ("first_checkout", "the gate's tree from nothing"),
    ];
    named
        .into_iter()
        .map(|(name, what)| Ok(Measured::of(what.to_owned(), found.times(name)?).row(None)))
        .collect()
}

impl Measured {
    /// Held against milliseconds.
    fn row_in_ms(&self, bound: f64) -> Row {
        self.row(Some(Limit::at_most(self.median.as_secs_f64() * 1e3, bound, "ms")))
    }
}
