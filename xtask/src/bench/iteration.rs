//! A whole iteration beside its parts, and how often it flushes.

use std::cell::RefCell;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use super::Ground;
use super::page::{Limit, Row};
use super::programs::Readings;
use super::project::{Project, finish};
use super::rounds::{Measured, Rounds, Subject, duration};

const PARTS: [&str; 7] = ["agent", "snapshot", "ref", "checkout", "check", "commits", "landing"];
const TASKS: usize = 40;
const FEW_TASKS: usize = 10;
/// At either end of a run, where a loop starts up and ends.
const EDGE: usize = 5;
const PART_ROUNDS: usize = 14;
const PART_WARM_UP: usize = 2;
/// Attempts take minutes: an iteration of its own is quick enough within this.
pub const ENOUGH_MS: f64 = 40.0;

pub fn iteration(ground: &Ground) -> Result<Vec<Row>> {
    let nth = RefCell::new(0..);
    let fresh = || scratch(ground, "iteration", nth.borrow_mut().next().unwrap_or(0));
    let readings = RefCell::new(Vec::new());
    let parts = Subject::measured("its parts, each alone", || {
        let dir = fresh()?;
        let project = Project::small(&dir, &ground.programs.windlass, 1)?;
        let found = parts(ground, &project, PART_ROUNDS)?;
        let sum = sum(&found)?;
        readings.borrow_mut().push(found);
        Ok(sum)
    });
    let whole = Subject::measured("iteration, 5 files", || {
        let dir = fresh()?;
        middle(&Project::small(&dir, &ground.programs.windlass, TASKS)?.drive()?)
    });
    let rounds = Rounds { warm_up: 1, ..ground.rounds };
    let found = rounds.compare(parts, vec![whole])?;
    let mut rows = found.rows(None);
    let took = found.subjects[0].median;
    rows.push(within(took));
    rows.push(match flushes(ground)? {
        Some(flushes) => {
            Row::plain("flushes in an iteration (fsync and fdatasync)", format!("{flushes:.1}"), None)
        }
        None => Row::plain("flushes in an iteration", "not counted: no strace".to_owned(), None),
    });
    for part in PARTS {
        let mut times = Vec::new();
        for found in readings.borrow().iter() {
            times.extend(found.warm(part, PART_WARM_UP)?);
        }
        rows.push(Measured::of(format!("part: {part}"), times).row(None));
    }
    Ok(rows)
}

/// The parts of an iteration in a project's repository.
pub fn parts(ground: &Ground, project: &Project, rounds: usize) -> Result<Readings> {
    let (state, agent) = (project.state().join("parts"), project.agent_script());
    let (repository, rounds) = (&project.repository, rounds.to_string());
    let args = [repository.as_os_str(), state.as_os_str(), agent.as_os_str(), rounds.as_ref()];
    ground.programs.measure("parts", repository, &args)
}

fn sum(readings: &Readings) -> Result<Duration> {
    PARTS.iter().map(|part| Ok(Measured::of(String::new(), readings.warm(part, PART_WARM_UP)?).median)).sum()
}

/// The median, as well as it can be told: the log knows milliseconds only, so it is the mean of the middle half.
pub fn middle(times: &[Duration]) -> Result<Duration> {
    ensure!(times.len() > 2 * EDGE, "the loop had only {} iterations", times.len());
    let mut inner = times[EDGE..times.len() - EDGE].to_vec();
    inner.sort_unstable();
    let half = &inner[inner.len() / 4..inner.len() - inner.len() / 4];
    Ok(half.iter().sum::<Duration>() / u32::try_from(half.len())?)
}

fn within(took: Duration) -> Row {
    let limit = Limit::at_most(took.as_secs_f64() * 1e3, ENOUGH_MS, "ms");
    Row::plain("iteration, 5 files, in all", duration(took), Some(limit))
}

/// What thirty more iterations flush more, divided by thirty.
fn flushes(ground: &Ground) -> Result<Option<f64>> {
    let Some(strace) = crate::tools::find("strace") else { return Ok(None) };
    let (many, few) = (flushed(ground, &strace, TASKS)?, flushed(ground, &strace, FEW_TASKS)?);
    Ok(Some((many as f64 - few as f64) / (TASKS - FEW_TASKS) as f64))
}

fn flushed(ground: &Ground, strace: &Path, tasks: usize) -> Result<usize> {
    let dir = scratch(ground, "flushes", tasks)?;
    let project = Project::small(&dir, &ground.programs.windlass, tasks)?;
    let trace = dir.join("trace");
    let shown = trace.display().to_string();
    let options = ["-f", "-qq", "-o", &shown, "-e", "trace=fsync,fdatasync,syncfs,sync,msync"];
    finish(project.watched(strace, &options, &["run", "--name", "bench"]))?;
    let text = fs::read_to_string(&trace).context("what strace wrote")?;
    Ok(text.lines().filter(|line| line.contains("sync") && !line.contains("resumed>")).count())
}

pub fn scratch(ground: &Ground, name: &str, nth: usize) -> Result<std::path::PathBuf> {
    let dir = ground.scratch.join(format!("{name}-{nth}"));
    fs::create_dir(&dir).with_context(|| format!("create {}", dir.display()))?;
    Ok(dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn forty_milliseconds_are_quick_enough() {
        assert!(within(39 * MS).limit.unwrap().held);
        assert!(!within(41 * MS).limit.unwrap().held);
    }

    #[test]
    fn the_ends_of_a_run_do_not_count() {
        let mut times = vec![90 * MS; 5];
        times.extend([4 * MS, 60 * MS, 6 * MS, MS]);
        times.extend([90 * MS; 5]);
        assert_eq!(middle(&times).unwrap(), 5 * MS);
        assert!(middle(&times[..10]).is_err());
    }
}
