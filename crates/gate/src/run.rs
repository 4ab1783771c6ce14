//! Running checks, in order, each under its own warden.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::time::Duration;

use windlass_core::gate::{CheckResult, Control, TellNumbers};
use windlass_core::id::BlobId;
use windlass_core::policy::{CheckPolicy, ResourcePolicy};
use windlass_core::time::Millis;
use windlass_process::{
    Canceller, Capture, Confinement, Finished, Program, ProgramExit, ProgramLimits, Spawner,
};
use windlass_redact::Redactor;

use crate::excerpt::{OutputTail, excerpt};

/// Kept of each stream of a check.
const OUTPUT_CAP: u64 = 4 * 1024 * 1024;
/// Enough for the lines of an excerpt, whatever they are made of.
const EXCERPT_READ: u64 = 64 * 1024;
const GRACE: Duration = Duration::from_secs(1);

/// One run of a gate. With a throwaway tree in the confinement every check begins with the tree as it was;
/// without one, bringing it back between checks is the caller's, by way of [`run_check`].
#[derive(Clone, Copy, Debug)]
pub struct GateRun<'a> {
    pub checks: &'a [CheckPolicy],
    pub cwd: &'a Path,
    /// The whole environment of a check.
    pub env: &'a [(OsString, OsString)],
    pub confinement: &'a Confinement,
    pub resources: ResourcePolicy,
    /// Where attempts have their directories; each check makes its own in it, `<name>-<number>`.
    pub attempts: &'a Path,
    /// Unique among attempts.
    pub name: &'a str,
    /// By which recovery finds strays. The commands see it: it tells them nothing.
    pub marker: &'a str,
    pub spawner: &'a Spawner,
    /// Cleans what was captured before anything is read of it.
    pub redactor: &'a Redactor,
    /// What reads the commands: absolute, and where no agent can write.
    pub shell: &'a Path,
}

/// One command of a gate: a check, a second run of it, or its control.
#[derive(Clone, Copy, Debug)]
pub struct CheckCommand<'a> {
    pub check: &'a str,
    pub run: &'a str,
    pub timeout: Millis,
    /// Unique in this run of the gate; names its directory among those of attempts.
    pub number: usize,
}

/// One check that ran, or could not.
#[derive(Clone, Debug)]
pub struct Checked {
    pub check: String,
    /// None when it did not exit by itself.
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
    pub timed_out: bool,
    pub duration: Duration,
    pub strays: u32,
    /// Processes that could not be ended: while there are any, the check is not over.
    pub survivors: u32,
    /// None when nothing was started.
    pub stdout: Option<Capture>,
    pub stderr: Option<Capture>,
    /// The last useful lines of both streams, after the error if there is one.
    pub excerpt: String,
    /// Why it did not run, or how it was lost: no fault of the work.
    pub error: Option<String>,
}

impl Checked {
    /// Nothing is known of its end: it was not started, or was lost.
    pub fn never_ran(&self) -> bool {
        self.error.is_some() && self.exit_code.is_none() && self.signal.is_none() && !self.timed_out
    }
}

/// Runs every check, also after a red one, so that the next brief can show all that is wrong. `None`: it was
/// cancelled. `started` is called for each check; a caller that has already been told to stop cancels it
/// there.
pub fn run(gate: &GateRun<'_>, started: &mut dyn FnMut(Canceller)) -> Option<Vec<Checked>> {
    (0..gate.checks.len()).map(|index| run_check(gate, index, started)).collect()
}

/// Runs the check of this place in the list. `None`: it was cancelled, or there is no such check.
pub fn run_check(gate: &GateRun<'_>, index: usize, started: &mut dyn FnMut(Canceller)) -> Option<Checked> {
    let check = gate.checks.get(index)?;
    let command =
        CheckCommand { check: &check.name, run: &check.run, timeout: check.timeout, number: index + 1 };
    let mut checked = run_command(gate, &command, started)?;
    let discarded = gate.confinement.tree.as_ref().map_or(Ok(()), |tree| tree.discard());
    if let Err(error) = discarded {
        checked.fail(format!("cannot throw away what it changed: {error}"));
    }
    Some(checked)
}

/// Runs one command and leaves the tree as that left it. `None`: it was cancelled.
pub fn run_command(
    gate: &GateRun<'_>,
    command: &CheckCommand<'_>,
    started: &mut dyn FnMut(Canceller),
) -> Option<Checked> {
    let name = format!("{}-{}", gate.name, command.number);
    let dir = gate.attempts.join(&name);
    let program = Program {
        argv: vec![gate.shell.into(), "-c".into(), command.run.into()],
        cwd: gate.cwd.to_path_buf(),
        env: gate.env.to_vec(),
        stdin: Vec::new(),
        limits: ProgramLimits {
            wall: Duration::from_millis(command.timeout.0),
            silence: Duration::ZERO,
            grace: GRACE,
            resources: gate.resources,
            output_cap: OUTPUT_CAP,
        },
        confinement: gate.confinement.clone(),
        dir: dir.clone(),
        marker: gate.marker.to_owned(),
    };
    if let Err(error) = windlass_process::clear_attempt(&dir) {
        return Some(not_run(command.check, format!("cannot make {}: {error}", dir.display())));
    }
    let finished = match gate.spawner.start(&program) {
        Ok(running) => {
            started(running.canceller());
            running.wait()
        }
        Err(error) => return Some(not_run(command.check, error.to_string())),
    };
    if let Err(error) = clean(gate.redactor, &finished) {
        return Some(not_run(command.check, error));
    }
    checked(command.check, finished)
}

/// What cannot be cleaned is not kept.
fn clean(redactor: &Redactor, finished: &Finished) -> Result<(), String> {
    [&finished.stdout, &finished.stderr].into_iter().try_for_each(|stream| {
        let cleaned = redactor.file(&stream.path, stream.truncated.then_some(stream.kept_bytes));
        cleaned.map_err(|error| format!("cannot clean {}: {error}", stream.path.display()))
    })
}

impl Checked {
    /// As the core takes it; `output` is where the caller stored the captured streams.
    pub fn result(&self, output: BlobId) -> CheckResult {
        CheckResult {
            check: self.check.clone(),
            exit_code: self.exit_code,
            signal: self.signal,
            timed_out: self.timed_out,
            duration_ms: Millis(u64::try_from(self.duration.as_millis()).unwrap_or(u64::MAX)),
            output,
            excerpt: self.excerpt.clone(),
            without_hidden: None,
            tell_numbers: TellNumbers::All,
            strays: self.strays,
            again: false,
            tally: None,
            writes: None,
            control: None,
            broken_tests: None,
            caught: None,
        }
    }

    /// The same of a check's control.
    pub fn control(&self, output: BlobId) -> Control {
        let CheckResult { exit_code, signal, timed_out, duration_ms, output, excerpt, .. } =
            self.result(output);
        Control { exit_code, signal, timed_out, duration_ms, output, excerpt }
    }

    /// Whatever it exited with, it is not green.
    fn fail(&mut self, error: String) {
        self.exit_code = None;
        self.excerpt = match self.excerpt.is_empty() {
            true => error.clone(),
            false => format!("{error}\n{}", self.excerpt),
        };
        self.error = Some(error);
    }
}

fn checked(check: &str, finished: Finished) -> Option<Checked> {
    let trips: Vec<&str> = finished.trips.iter().map(|trip| trip.words()).collect();
    let mut checked = Checked {
        check: check.to_owned(),
        exit_code: None,
        signal: None,
        timed_out: false,
        duration: finished.duration,
        strays: finished.stray_count,
        survivors: finished.survivor_count,
        excerpt: excerpt_of(&finished),
        stdout: Some(finished.stdout),
        stderr: Some(finished.stderr),
        error: None,
    };
    match finished.exit {
        ProgramExit::Code(code) => checked.exit_code = Some(code),
        ProgramExit::Signal(signal) => checked.signal = Some(signal),
        ProgramExit::TimedOut => checked.timed_out = true,
        ProgramExit::Cancelled => return None,
        ProgramExit::Stalled => checked.fail("it went silent, although silence was not limited".to_owned()),
        ProgramExit::NotStarted { why } | ProgramExit::WardenLost { why } => checked.fail(why),
    }
    if checked.exit_code != Some(0) && !trips.is_empty() {
        checked.fail(trips.join("; "));
    }
    if checked.survivors > 0 {
        checked.fail(format!("{} of its processes could not be ended", checked.survivors));
    }
    Some(checked)
}

fn not_run(check: &str, error: String) -> Checked {
    Checked {
        check: check.to_owned(),
        exit_code: None,
        signal: None,
        timed_out: false,
        duration: Duration::ZERO,
        strays: 0,
        survivors: 0,
        stdout: None,
        stderr: None,
        excerpt: error.clone(),
        error: Some(error),
    }
}

fn excerpt_of(finished: &Finished) -> String {
    let (stdout, stderr) = (end_of(&finished.stdout), end_of(&finished.stderr));
    excerpt(stdout.stream("stdout"), stderr.stream("stderr"))
}

#[derive(Default)]
struct End {
    bytes: Vec<u8>,
    more_before: bool,
}

impl End {
    fn stream<'a>(&'a self, name: &'a str) -> OutputTail<'a> {
        OutputTail { name, bytes: &self.bytes, more_before: self.more_before }
    }
}

/// Nothing, where the file cannot be read: the exit code is the judge.
fn end_of(capture: &Capture) -> End {
    let read = || -> io::Result<End> {
        let mut file = File::open(&capture.path)?;
        let from = file.metadata()?.len().saturating_sub(EXCERPT_READ);
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        file.take(EXCERPT_READ).read_to_end(&mut bytes)?;
        Ok(End { bytes, more_before: from > 0 })
    };
    read().unwrap_or_default()
}
