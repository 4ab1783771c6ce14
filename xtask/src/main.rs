//! Tasks for developers and CI: `cargo xtask test | lint | bench | hostile | honest | captures | fuzz | model | ci`.
//!
//! Each sets up what a fresh machine lacks, as far as it may, and says at its
//! end what it could not run. Nothing of the user is read or written: programs
//! run here get a home of their own. Not shipped; no crate depends on this one.

#![allow(
    clippy::disallowed_methods,
    reason = "a developer's tool runs cargo, reads the clock and the environment"
)]

mod agents;
mod args;
mod bench;
mod binaries;
mod captures;
mod fuzz;
mod honest;
mod hostile;
mod link_tree;
mod lint;
mod model;
mod ordinary_user;
mod players;
mod stages;
mod suite;
mod surroundings;
mod tally;
mod toolchain;
mod tools;
mod wheels;

use std::process::ExitCode;

use anyhow::Result;

use args::Task;
use stages::Stages;
use surroundings::Surroundings;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let task = match args::parse(&words) {
        Ok(task) => task,
        Err(wrong) => {
            eprintln!("{wrong}\n\n{}", args::USAGE);
            return ExitCode::from(2);
        }
    };
    match run(task) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> Result<ExitCode> {
    match task {
        Task::Captures(mode) => captures::run(mode),
        Task::Bench(wanted) => bench::run(&Surroundings::new()?, &wanted),
        Task::Fuzz(asked) => fuzz::run(asked),
        Task::Hostile(asked) => hostile::run(&asked),
        Task::Honest(asked) => honest::run(&asked),
        Task::Lint => in_stages(lint::run),
        Task::Model(asked) => model::run(&asked),
        Task::Test(asked) => in_stages(|around, stages| test(around, stages, asked)),
        Task::Ci(asked) => in_stages(|around, stages| {
            test(around, stages, asked);
            bench::instructions(around, stages, bench::Baseline::Compare);
        }),
    }
}

fn in_stages(work: impl FnOnce(&Surroundings, &mut Stages)) -> Result<ExitCode> {
    let around = Surroundings::new()?;
    let mut stages = Stages::new();
    work(&around, &mut stages);
    Ok(stages.finish(&around.not_run()))
}

fn test(around: &Surroundings, stages: &mut Stages, asked: args::Tests) {
    let extent = asked.extent;
    tools::set_up(around, stages);
    agents::set_up(around, stages, asked.agents);
    wheels::set_up(around, stages);
    lint::run(around, stages);
    suite::run(around, stages, extent);
    ordinary_user::run(around, stages, extent);
    hostile::stage(around, stages, extent);
    honest::stage(around, stages, extent);
    captures::stage(around, stages);
}
