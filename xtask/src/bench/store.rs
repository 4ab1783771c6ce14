//! The log of decisions beside a bare file, and many loops beside one.

use anyhow::Result;

use super::Ground;
use super::page::Row;
use super::rounds::{Comparison, Measured};

pub fn store(ground: &Ground) -> Result<Vec<Row>> {
    let rounds = (2 * ground.rounds.count + ground.rounds.warm_up).to_string();
    let found = ground.programs.measure("append_cost", &ground.scratch, &[rounds])?;
    let of = |name: &str, what: &str| {
        Ok::<_, anyhow::Error>(Measured::of(what.to_owned(), found.warm(name, ground.rounds.warm_up)?))
    };
    let one = of("one", "8 decisions of one loop")?;
    let many = of("many", "16 loops at once, 8 decisions each")?;
    let raw = of("raw", "8 raw appends of 4 KiB, each with fdatasync")?;
    let mut rows = Comparison { reference: one.clone(), subjects: vec![many] }.rows(Some(3.0));
    rows.extend(Comparison { reference: raw, subjects: vec![one] }.rows(None));
    rows.push(of("hundred_polls", "100 looks for an operator's command")?.row(None));
    Ok(rows)
}
