//! How many simulated loops a second of processor time holds.

use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use super::Ground;
use super::page::{Limit, Row};

const TURNS: usize = 3;

pub fn simulator(ground: &Ground) -> Result<Vec<Row>> {
    let mut rates = Vec::new();
    for _ in 0..TURNS {
        let mut command = Command::new(ground.programs.example("throughput")?);
        let output = command.output().with_context(|| format!("start {command:?}"))?;
        ensure!(output.status.success(), "{command:?}: {}", output.status);
        rates.push(first_number(&String::from_utf8_lossy(&output.stdout)).context("no number was printed")?);
    }
    rates.sort_by(f64::total_cmp);
    let rate = rates[TURNS / 2];
    let limit = Limit::at_least(rate, 200.0, "loops");
    Ok(vec![Row::plain("simulated loops in a second of processor time", format!("{rate:.0}"), Some(limit))])
}

fn first_number(text: &str) -> Option<f64> {
    text.split_whitespace().find_map(|word| word.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_the_first_number() {
        assert_eq!(first_number("7123 loops per processor second\n"), Some(7123.0));
        assert_eq!(first_number("none"), None);
    }
}
