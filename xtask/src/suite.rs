//! Every test of the workspace, with whichever runner is installed.

use std::process::Command;

use crate::agents;
use crate::args::Extent;
use crate::binaries;
use crate::stages::Stages;
use crate::surroundings::Surroundings;
use crate::tally::Runner;
use crate::tools;
use crate::wheels;

/// Whose `tests/failpoints.rs` needs abort points compiled into the crate itself.
const FAILPOINTS: &str = "windlass-store/failpoints";

/// Real agents wait more than they work: for a model that fails, and for limits to end.
const AT_ONCE: &str = "5";

pub fn run(around: &Surroundings, stages: &mut Stages, extent: Extent) {
    stages.run("the binary, with failpoints and without", |_| {
        binaries::failpoints(around)?;
        binaries::weakened(around)?;
        binaries::plain(around).map(drop)
    });

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
    match runner {
        Runner::Nextest => {
            tests("tests", &["--all-targets", "-E", "not binary(=real)"]);
            tests("tests with real agents", &["--test", "real", "--test-threads", AT_ONCE]);
        }
        Runner::Libtest => tests("tests", &["--all-targets"]),
    }

    let mut doc_tests = around.cargo(["test", "--workspace", "--doc", "--locked", "--no-fail-fast"]);
    tell(&mut doc_tests, around, extent);
    stages.tests("documentation tests", doc_tests, Runner::Libtest);
}

/// What tests are told, beyond their surroundings; testkit reads it.
fn tell(tests: &mut Command, around: &Surroundings, extent: Extent) {
    let binary = binaries::failpoints_path(around);
    if binary.is_file() {
        tests.env("WINDLASS_FAILPOINTS_BIN", binary);
    }
    let binary = binaries::weakened_path(around);
    if binary.is_file() {
        tests.env("WINDLASS_WEAKENED_BIN", binary);
    }
    tests.env("WINDLASS_AGENTS_DIR", agents::dir(around));
    tests.env("WINDLASS_WHEELS_DIR", wheels::dir(around));
    if extent == Extent::Full {
        tests.env("WINDLASS_FULL", "1");
    }
}
