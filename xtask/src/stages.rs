//! The stages of a task: each timed, all run even when one failed, and a
//! summary at the end that hides nothing.

use std::io;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::tally::{self, Runner, Tally};

pub struct Stages {
    /// Where the output of test runners goes.
    shown: Box<dyn io::Write>,
    begun: Instant,
    done: Vec<Done>,
    not_run: Vec<String>,
    tally: Tally,
}

#[derive(Debug)]
struct Done {
    name: String,
    took: Duration,
    failure: Option<String>,
}

impl Stages {
    pub fn new() -> Self {
        Self::showing(Box::new(io::stdout()))
    }

    fn showing(shown: Box<dyn io::Write>) -> Self {
        Self { shown, begun: Instant::now(), done: Vec::new(), not_run: Vec::new(), tally: Tally::default() }
    }

    /// Runs one stage. Its failure is kept for the end.
    pub fn run(&mut self, name: &str, stage: impl FnOnce(&mut Self) -> Result<()>) {
        println!("\n== {name}");
        let begun = Instant::now();
        let result = stage(self);
        let failure = result.err().map(|error| format!("{error:#}"));
        if let Some(failure) = &failure {
            println!("{name} failed: {failure}");
        }
        self.done.push(Done { name: name.to_owned(), took: begun.elapsed(), failure });
    }

    /// A stage that is one command, its output shown as it comes.
    pub fn command(&mut self, name: &str, mut command: Command) {
        self.run(name, |_| {
            let status = command.status().with_context(|| format!("start {command:?}"))?;
            if status.success() { Ok(()) } else { bail!("{command:?}: {status}") }
        });
    }

    /// A stage that is one run of tests, counted.
    pub fn tests(&mut self, name: &str, command: Command, runner: Runner) {
        self.run(name, |stages| stages.count(command, runner));
    }

    /// Runs tests inside a stage.
    pub fn count(&mut self, command: Command, runner: Runner) -> Result<()> {
        let shown = format!("{command:?}");
        let (status, mut counted) =
            tally::run(command, runner, &mut *self.shown).with_context(|| format!("start {shown}"))?;
        // A runner that fails with no failed test did not come to run them all.
        if !status.success() && counted.failed == 0 {
            counted.failed = 1;
        }
        self.tally.add(counted);
        if status.success() { Ok(()) } else { bail!("{status}") }
    }

    /// What a stage counted itself.
    pub fn add(&mut self, counted: Tally) {
        self.tally.add(counted);
    }

    /// Something that could not be run here, and why.
    pub fn not_run(&mut self, what: &str, why: &str) {
        println!("not run: {what}: {why}");
        self.not_run.push(format!("{what}: {why}"));
    }

    /// Prints the summary. `tests_not_run` is what tests reported themselves.
    pub fn finish(mut self, tests_not_run: &[String]) -> ExitCode {
        println!("\n== summary");
        for done in &self.done {
            let mark = if done.failure.is_some() { "FAILED" } else { "ok" };
            println!("{:>8.1} s  {mark:6}  {}", done.took.as_secs_f64(), done.name);
        }
        println!("{:>8.1} s          in all", self.begun.elapsed().as_secs_f64());
        self.not_run.extend_from_slice(tests_not_run);
        self.not_run.sort();
        self.not_run.dedup();
        for line in &self.not_run {
            println!("not run: {line}");
        }
        println!("{} not run", self.not_run.len());
        let failed = self.failed();
        println!("{} passed, {failed} failed", self.tally.passed);
        if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    /// Failed tests, or failed stages where those are more: a stage that fails
    /// before any test of it ran must not read as "0 failed".
    fn failed(&self) -> usize {
        self.tally.failed.max(self.done.iter().filter(|done| done.failure.is_some()).count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_failed_stage_is_a_failure_even_without_a_failed_test() {
        // Shown, these lines would be counted by the run this test is part of.
        let mut stages = Stages::showing(Box::new(io::sink()));
        stages.command("good", shell("exit 0"));
        assert_eq!(stages.failed(), 0);
        stages.command("bad", shell("exit 1"));
        stages.tests("did not compile", shell("exit 101"), Runner::Libtest);
        assert_eq!(stages.failed(), 2);
        stages.tests("red", shell("echo 'test result: x. 1 passed; 4 failed'; exit 101"), Runner::Libtest);
        assert_eq!((stages.tally.passed, stages.failed()), (1, 5));
        stages.run("counts for itself", |stages| {
            stages.add(Tally { passed: 7, failed: 2 });
            bail!("2 got through")
        });
        assert_eq!((stages.tally.passed, stages.failed()), (8, 7));
        assert_eq!(stages.finish(&[]), ExitCode::FAILURE);
    }
}
