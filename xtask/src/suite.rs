//! Every test of the workspace, with whichever runner is installed.

use std::path::PathBuf;
use std::process::Command;

use crate::args::Extent;
use crate::stages::Stages;
use crate::surroundings::Surroundings;
use crate::tally::Runner;
use crate::tools;

pub fn run(around: &Surroundings, stages: &mut Stages, extent: Extent) {
    // A target directory of its own: another set of features in the same one
    // would rebuild half the workspace at each turn.
    let mut build = around.cargo(["build", "--package", "windlass", "--features", "failpoints", "--locked"]);
    build.arg("--target-dir").arg(around.target.join("failpoints"));
    stages.command("the binary with failpoints", build);

    let (mut tests, runner) = if tools::has_subcommand(around, "nextest") {
        let args = ["nextest", "run", "--workspace", "--locked", "--no-fail-fast", "--no-tests=pass"];
        (around.cargo(args), Runner::Nextest)
    } else {
        let args = ["test", "--workspace", "--all-targets", "--locked", "--no-fail-fast"];
        (around.cargo(args), Runner::Libtest)
    };
    tell(&mut tests, around, extent);
    stages.tests("tests", tests, runner);

    let mut doc_tests = around.cargo(["test", "--workspace", "--doc", "--locked", "--no-fail-fast"]);
    tell(&mut doc_tests, around, extent);
    stages.tests("documentation tests", doc_tests, Runner::Libtest);
}

pub fn failpoints_binary(around: &Surroundings) -> PathBuf {
    around.target.join("failpoints/debug/windlass")
}

/// What tests are told, beyond their surroundings; testkit reads it.
fn tell(tests: &mut Command, around: &Surroundings, extent: Extent) {
    let binary = failpoints_binary(around);
    if binary.is_file() {
        tests.env("WINDLASS_FAILPOINTS_BIN", binary);
    }
    if extent == Extent::Full {
        tests.env("WINDLASS_FULL", "1");
    }
}
