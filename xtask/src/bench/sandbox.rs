//! What confinement costs: a program's start, an iteration, and the gate's own work.

use anyhow::Result;

use super::Ground;
use super::iteration::{ENOUGH_MS, middle, scratch};
use super::page::{Limit, Row};
use super::programs::Readings;
use super::project::{Level, Project};
use super::rounds::{Comparison, Measured, Rounds, Subject};

const SPAWNS: &str = "60";
const WARM_UP: usize = 5;
const TASKS: usize = 40;

pub fn sandbox(ground: &Ground) -> Result<Vec<Row>> {
    let mut rows = spawns(ground)?;
    rows.push(iteration(ground)?);
    rows.extend(work(ground)?);
    Ok(rows)
}

/// What a level adds to a plain start, in milliseconds. Root has more to be kept from, so both are told.
fn spawns(ground: &Ground) -> Result<Vec<Row>> {
    let mut rows = levels(&ground.programs.measure("spawn_cost", &ground.scratch, &["spawn", SPAWNS])?, "")?;
    if rustix::process::geteuid().is_root() {
        let found = ground.programs.measure_as_nobody("spawn_cost", &["spawn", SPAWNS])?;
        rows.extend(levels(&found, ", as an ordinary user")?);
    }
    Ok(rows)
}

fn levels(found: &Readings, whose: &str) -> Result<Vec<Row>> {
    let of = |name: &str| {
        Ok::<_, anyhow::Error>(Measured::of(format!("{name}{whose}"), found.warm(name, WARM_UP)?))
    };
    let plain = of("plain")?;
    let mut rows = vec![plain.row(None), of("warden")?.row(None)];
    for name in ["landlock", "namespaces"] {
        // A level that this machine does not have is not measured, and said so.
        let Ok(level) = of(name) else {
            let name = format!("{name}{whose}");
            rows.push(Row::plain(&name, "not run: this machine does not have it".to_owned(), None));
            continue;
        };
        let over = level.median.saturating_sub(plain.median).as_secs_f64() * 1e3;
        let mut row = level.row(None);
        row.value = format!("{}, {over:.2} ms over plain", row.value);
        rows.push(row);
    }
    Ok(rows)
}

fn iteration(ground: &Ground) -> Result<Row> {
    let mut nth = 0..;
    let mut fresh = || scratch(ground, "confined", nth.next().unwrap_or(0));
    let whole = Subject::measured("iteration, 5 files, agent and gate inside namespaces", || {
        let dir = fresh()?;
        middle(&Project::small(&dir, &ground.programs.windlass, TASKS)?.at(Level::Namespaces)?.drive()?)
    });
    let rounds = Rounds { warm_up: 1, ..ground.rounds };
    let found = rounds.compare(whole, Vec::new())?.reference;
    Ok(found.row(Some(Limit::at_most(found.median.as_secs_f64() * 1e3, ENOUGH_MS, "ms"))))
}

fn work(ground: &Ground) -> Result<Vec<Row>> {
    let dir = scratch(ground, "work", 0)?;
    // A tenth is asked for, and a reading is off by as much: many readings.
    let rounds = (4 * ground.rounds.count + WARM_UP).to_string();
    let shown = dir.display().to_string();
    let found = ground.programs.measure("spawn_cost", &dir, &["work", &rounds, &shown])?;
    let of = |name: &str, what: &str| {
        Ok::<_, anyhow::Error>(Measured::of(what.to_owned(), found.warm(name, WARM_UP)?))
    };
    let against = |subject| -> Result<Comparison> {
        Ok(Comparison { reference: of("plain", "20,000 files read plainly")?, subjects: vec![subject] })
    };
    let mut rows = against(of("bind", "the same through the read-only bind")?)?.rows(None);
    rows.extend(against(of("overlay", "the same through the overlay")?)?.rows(None));
    Ok(rows)
}
