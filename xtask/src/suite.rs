//! Every test of the workspace, with whichever runner is installed.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::args::Extent;
use crate::stages::Stages;
use crate::surroundings::Surroundings;
use crate::tally::Runner;
use crate::tools;

/// Whose `tests/failpoints.rs` needs abort points compiled into the crate itself.
const FAILPOINTS: &str = "windlass-store/failpoints";

pub fn run(around: &Surroundings, stages: &mut Stages, extent: Extent) {
    stages.run("the binary, with failpoints and without", |_| build_binaries(around));

    let (words, runner): (&[&str], _) = if tools::has_subcommand(around, "nextest") {
        (&["nextest", "run", "--no-tests=pass"], Runner::Nextest)
    } else {
        (&["test"], Runner::Libtest)
    };
    let mut tests = |name: &str, args: &[&str]| {
        let mut tests = around.cargo(words);
        tests.args(["--workspace", "--locked", "--no-fail-fast"]).args(args);
        tell(&mut tests, around, extent);
        stages.tests(name, tests, runner);
    };
    tests("tests at abort points", &["--features", FAILPOINTS, "--test", "failpoints"]);
    tests("tests", &["--all-targets"]);

    let mut doc_tests = around.cargo(["test", "--workspace", "--doc", "--locked", "--no-fail-fast"]);
    tell(&mut doc_tests, around, extent);
    stages.tests("documentation tests", doc_tests, Runner::Libtest);
}

pub fn failpoints_binary(around: &Surroundings) -> PathBuf {
    around.target.join("failpoints/windlass")
}

pub fn weakened_binary(around: &Surroundings) -> PathBuf {
    around.target.join("weaken/windlass")
}

/// All binaries share one target directory: cargo keeps what differs by
/// feature apart, so each dependency is built once. Only the last step, the
/// link to `debug/windlass`, is the same for all; hence the copies, and the
/// plain one last.
fn build_binaries(around: &Surroundings) -> Result<()> {
    let build = |features: &[&str]| {
        let mut build = around.cargo(["build", "--workspace", "--bin", "windlass", "--locked"]);
        build.args(features);
        let status = build.status().with_context(|| format!("start {build:?}"))?;
        ensure!(status.success(), "{build:?}: {status}");
        Ok(())
    };
    for (feature, copy) in
        [("windlass/failpoints", failpoints_binary(around)), ("windlass/weaken", weakened_binary(around))]
    {
        build(&["--features", feature])?;
        fs::create_dir_all(copy.parent().unwrap_or(&around.target))?;
        // Under another name first: an older copy may still be running.
        let fresh = copy.with_extension("fresh");
        fs::copy(around.target.join("debug/windlass"), &fresh)
            .with_context(|| format!("copy the binary with {feature}"))?;
        fs::rename(&fresh, &copy).with_context(|| format!("rename to {}", copy.display()))?;
    }
    build(&[])
}

/// What tests are told, beyond their surroundings; testkit reads it.
fn tell(tests: &mut Command, around: &Surroundings, extent: Extent) {
    let binary = failpoints_binary(around);
    if binary.is_file() {
        tests.env("WINDLASS_FAILPOINTS_BIN", binary);
    }
    let binary = weakened_binary(around);
    if binary.is_file() {
        tests.env("WINDLASS_WEAKENED_BIN", binary);
    }
    if extent == Extent::Full {
        tests.env("WINDLASS_FULL", "1");
    }
}
