//! `cargo xtask honest`: agents that do honest work in small real projects, under the policy that `windlass
//! init` proposes. Each must end as its case says, and none with a false alarm.

mod case;
mod cases;
mod play;
mod table;

use std::fs;
use std::process::ExitCode;

use anyhow::{Context as _, Result, ensure};

use crate::args::{Extent, Honest};
use crate::binaries;
use crate::hostile::{NO_LEVEL, has_level};
use crate::players;
use crate::stages::Stages;
use crate::surroundings::Surroundings;
use crate::tally::Tally;
use crate::tools;
use case::Case;
pub use case::ProjectKind;
pub use cases::project_files;
use play::Place;
use table::{CaseResult, Row};

const PAGE: &str = "docs/guide/honest-work.md";
const STAGE: &str = "honest work";

pub fn run(asked: &Honest) -> Result<ExitCode> {
    let around = Surroundings::new()?;
    let windlass = binaries::plain(&around)?;
    ensure!(has_level(&windlass), "{NO_LEVEL}");
    let place = Place::new(&around, &windlass);
    let cases = cases::all();
    let rows = rows(&place, cases.iter().filter(|case| asked.wants(case.id)).collect(), asked.players);
    if asked.cases.is_empty() && !asked.only_print {
        fs::write(around.root.join(PAGE), table::page(&rows)).with_context(|| format!("write {PAGE}"))?;
    }
    let counted = told(&rows);
    println!("{}", table::totals(&rows));
    println!("{} passed, {} failed", counted.passed, counted.failed);
    Ok(if counted.failed == 0 && counted.passed > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// One stage of several, its cases counted with the tests. The page stays as it is.
pub fn stage(around: &Surroundings, stages: &mut Stages, extent: Extent) {
    stages.run(STAGE, |stages| {
        let windlass = binaries::plain(around)?;
        if !has_level(&windlass) {
            stages.not_run(STAGE, NO_LEVEL);
            return Ok(());
        }
        let cases = cases::all();
        let wanted = cases.iter().filter(|case| extent == Extent::Full || case.is_quick).collect();
        let rows = rows(&Place::new(around, &windlass), wanted, 3);
        for row in &rows {
            if let CaseResult::NotRun(why) = &row.result {
                stages.not_run(STAGE, &format!("{}: {why}", row.case.project.name()));
            }
        }
        let counted = told(&rows);
        stages.add(counted);
        ensure!(counted.failed == 0, "{} did not end as they must", counted.failed);
        Ok(())
    });
}

/// In the order in which the cases are listed.
fn rows<'c>(place: &Place<'_>, cases: Vec<&'c Case>, players: usize) -> Vec<Row<'c>> {
    players::play_all(&cases, players, |case| {
        let row = Row { case, result: result(place, case) };
        println!("{}", row.line());
        row
    })
}

fn result(place: &Place<'_>, case: &Case) -> CaseResult {
    let needed = case.project.needs();
    if tools::find(needed).is_none() {
        return CaseResult::NotRun(format!("there is no {needed}"));
    }
    players::caught(|| place.play(case)).map_or_else(CaseResult::Broken, CaseResult::Ended)
}

/// Says what went wrong, and counts.
fn told(rows: &[Row<'_>]) -> Tally {
    println!();
    let failures: Vec<String> = rows.iter().filter_map(Row::failure).collect();
    for failure in &failures {
        println!("FAILED: {failure}\n");
    }
    let not_run = rows.iter().filter(|row| matches!(row.result, CaseResult::NotRun(_))).count();
    println!("{not_run} not run");
    Tally { passed: rows.len() - not_run - failures.len(), failed: failures.len() }
}
