//! `cargo xtask bench`: numbers as ratios inside one run, and instruction counts.
//!
//! A benchmark is a function in [`list::BENCHES`] that gives rows; most rows
//! come from [`rounds::Rounds::compare`], which measures a reference and its
//! subjects in turn. A counted piece of work is an entry of [`list::COUNTED`].

mod callgrind;
mod codex;
mod collatz;
mod gate;
mod iteration;
mod large;
mod list;
mod machine;
mod memory;
mod page;
mod programs;
mod project;
mod rounds;
mod sandbox;
mod shown;
mod simulator;
mod store;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result, ensure};
use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};

use crate::args;
use crate::stages::Stages;
use crate::surroundings::Surroundings;
use crate::tools;
use machine::Machine;
use page::{Limit, Row, Section};
use programs::Programs;
use rounds::Rounds;

/// The name that asks for instruction counts.
const INSTRUCTIONS: &str = "instructions";

/// What a benchmark stands on.
pub struct Ground {
    pub rounds: Rounds,
    pub programs: Programs,
    /// A directory on the disk that is measured.
    pub scratch: PathBuf,
    pub machine: Machine,
    /// Where `cargo xtask test` installed it.
    pub codex: Option<PathBuf>,
    /// What real projects need in their environment.
    pub toolchain: Vec<(String, String)>,
}

/// A named set of measurements.
pub struct Bench {
    pub name: &'static str,
    /// What is promised, in words, with the bound.
    pub claim: &'static str,
    pub run: fn(&Ground) -> Result<Vec<Row>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Baseline {
    Compare,
    Rewrite,
}

pub fn run(around: &Surroundings, wanted: &args::Bench) -> Result<ExitCode> {
    if cfg!(debug_assertions) {
        return again_in_release(around);
    }
    let mut stages = Stages::new();
    tools::set_up(around, &mut stages);
    let counted = wanted.names.is_empty() || wanted.names.iter().any(|name| name == INSTRUCTIONS);
    let only_counted = wanted.names == [INSTRUCTIONS];
    let sections = if only_counted { Vec::new() } else { measure(around, wanted)? };
    let baseline = if wanted.rebaseline { Baseline::Rewrite } else { Baseline::Compare };
    if counted {
        instructions(around, &mut stages, baseline);
    }
    let missed: Vec<_> = sections.iter().flat_map(Section::missed).collect();
    for line in &missed {
        println!("missed: {line}");
    }
    let code = stages.finish(&[]);
    Ok(if missed.is_empty() { code } else { ExitCode::FAILURE })
}

/// Compares instruction counts with the committed ones, or rewrites those.
pub fn instructions(around: &Surroundings, stages: &mut Stages, baseline: Baseline) {
    stages.run("instruction counts", |stages| {
        if cfg!(debug_assertions) {
            let mut again =
                around.cargo(["run", "--release", "--quiet", "--locked", "--package", "xtask", "--"]);
            let status = again.args(["bench", INSTRUCTIONS]).status().context("start cargo")?;
            ensure!(status.success(), "cargo xtask bench {INSTRUCTIONS}: {status}");
            return Ok(());
        }
        let Some(valgrind) = tools::find("valgrind") else {
            stages.not_run("instruction counts", "no valgrind");
            return Ok(());
        };
        let counts = callgrind::count_all(&valgrind, list::COUNTED, &Programs::build(around)?)?;
        callgrind::settle(&around.root.join("xtask/instructions.txt"), &counts, baseline, stages)
    });
}

fn measure(around: &Surroundings, wanted: &args::Bench) -> Result<Vec<Section>> {
    let chosen =
        |bench: &&Bench| wanted.names.is_empty() || wanted.names.iter().any(|name| name == bench.name);
    let benches: Vec<_> = list::BENCHES.iter().filter(chosen).collect();
    let mut names: Vec<_> = list::BENCHES.iter().map(|bench| bench.name).collect();
    names.push(INSTRUCTIONS);
    let strange = wanted.names.iter().find(|name| !names.contains(&name.as_str()));
    ensure!(strange.is_none(), "no benchmark {strange:?}; there are: {}", names.join(", "));
    let scratch = scratch(around)?;
    let ground = Ground {
        rounds: Rounds { count: wanted.rounds, warm_up: 2 },
        programs: Programs::build(around)?,
        scratch: scratch.path().to_owned(),
        machine: Machine::look(scratch.path())?,
        codex: crate::agents::program(around, "codex"),
        toolchain: around.toolchain(),
    };
    print!("{}", ground.machine);
    let mut sections = Vec::new();
    for bench in benches {
        println!("\n== {}: {}", bench.name, bench.claim);
        let rows = (bench.run)(&ground).unwrap_or_else(|error| vec![failed(&error)]);
        let section = Section { name: bench.name.to_owned(), claim: bench.claim.to_owned(), rows };
        print!("{}", section.table());
        sections.push(section);
    }
    if wanted.names.is_empty() {
        let file = around.root.join("docs/benchmarks.md");
        fs::create_dir_all(around.root.join("docs"))?;
        fs::write(&file, page::write(&ground.machine, &sections))
            .with_context(|| format!("write {}", file.display()))?;
    }
    Ok(sections)
}

/// Where builds do not delete: for minutes ext4 passes over the inodes of
/// deleted files when it looks for new ones, one by one. For the same reason
/// nothing is removed between rounds, and each project is put in a region of
/// its own, as far as the file system can.
fn scratch(around: &Surroundings) -> Result<tempfile::TempDir> {
    let temporary = std::env::temp_dir();
    let in_memory = machine::file_system(&temporary).is_none_or(|kind| kind == "tmpfs" || kind == "ramfs");
    let place = if in_memory { &around.target } else { &temporary };
    let scratch = tempfile::Builder::new().prefix("bench-").tempdir_in(place).context("scratch directory")?;
    let dir = fs::File::open(scratch.path())?;
    let _ = ioctl_getflags(&dir).and_then(|flags| ioctl_setflags(&dir, flags | IFlags::TOPDIR));
    Ok(scratch)
}

/// A benchmark that could not be run is a promise not kept; the others go on.
fn failed(error: &anyhow::Error) -> Row {
    let limit = Limit { text: "measured".to_owned(), held: false, over_percent: 100.0 };
    Row::plain("not measured", format!("{error:#}").replace('\n', " "), Some(limit))
}

/// Numbers of an unoptimised build mean nothing.
fn again_in_release(around: &Surroundings) -> Result<ExitCode> {
    let mut command = around.cargo(["run", "--release", "--quiet", "--locked", "--package", "xtask", "--"]);
    command.args(std::env::args_os().skip(1));
    let status = command.status().with_context(|| format!("start {command:?}"))?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
