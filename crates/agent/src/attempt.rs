//! One program under its warden, with the `command` contract around it.

use std::ffi::OsString;
use std::fs::{DirBuilder, File};
use std::io::{self, Read, Seek, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use windlass_core::input::{AgentFinished, AttemptEnd, AttemptResult, Report};
use windlass_core::policy::Role;
use windlass_core::time::Millis;
use windlass_process::{Canceller, Capture, Finished, Program, ProgramExit, ProgramLimits, RunningProgram};

use crate::agent::{TurnRequest, TurnResult};
use crate::report::{self, ParsedReport};
use windlass_core::plain;

use crate::{bound, claim, failure, relay};

/// Set in every attempt, so that `windlass run` inside one can refuse.
pub const INSIDE_VARIABLE: &str = "WINDLASS_INSIDE";

/// Inside the attempt's directory; its own directory is written by this attempt alone.
pub const REPORT_PATH: &str = "report/report.json";

/// Kept of each stream.
const OUTPUT_CAP: u64 = 4 * 1024 * 1024;
const MESSAGE_BYTES: usize = 16 * 1024;

/// What an adapter starts.
pub struct AgentProgram {
    pub argv: Vec<OsString>,
    /// On top of what every attempt has.
    pub env: Vec<(OsString, OsString)>,
    pub output_cap: u64,
}

/// Runs `argv` for this call, then hears what it reports, however it ended: a turn that was cut short has
/// spent its tokens all the same.
pub fn run(call: &TurnRequest<'_>, argv: Vec<OsString>, started: &mut dyn FnMut(Canceller)) -> TurnResult {
    let running = match start(call, AgentProgram { argv, env: set_by_policy(call), output_cap: OUTPUT_CAP }) {
        Ok(running) => running,
        Err(what) => return not_started(call.role, what),
    };
    started(running.canceller());
    let finished = relay::relay(call, running);
    if let Err(what) = clean(call, &finished) {
        return not_started(call.role, what);
    }
    let report = report::read(&call.dir.join(REPORT_PATH), call.role, call.nonce, call.redactor);
    let words = last_words(&finished.stdout);
    let is_written = report.report != Report::None;
    let report = report.or_claim(call.role, || claim::of(&words));
    let end = failure::told_by_code(&finished.exit).filter(|_| finished.trips.is_empty());
    let end = end.unwrap_or_else(|| with_cause(outside(call, &finished), &finished));
    let failure = if end.is_wordless() { last_line(&finished) } else { String::new() };
    let mut told = result(finished, report, end);
    if !failure.is_empty() {
        told.finished.result.notes.push(failure);
    }
    if !is_written {
        told.finished.result.message = words;
    }
    told
}

/// What the operator set for the agent; windlass's own variables are not theirs.
fn set_by_policy(call: &TurnRequest<'_>) -> Vec<(OsString, OsString)> {
    let set = call.policy.extra.set.iter().filter(|(name, _)| !name.starts_with("WINDLASS_"));
    set.map(|(name, value)| (name.into(), value.into())).collect()
}

pub fn start(call: &TurnRequest<'_>, own: AgentProgram) -> Result<RunningProgram, String> {
    let report_path = call.dir.join(REPORT_PATH);
    make_parent(&report_path)?;
    let mut env = environment(call, &report_path);
    env.retain(|(name, _)| !own.env.iter().any(|(own, _)| own == name));
    env.extend(own.env);
    let program = Program {
        argv: own.argv,
        cwd: call.workspace.to_path_buf(),
        env,
        stdin: call.brief.as_bytes().to_vec(),
        limits: ProgramLimits {
            wall: call.wall.limit,
            silence: Duration::from_millis(call.policy.silence.0),
            grace: Duration::from_millis(call.policy.grace.0),
            resources: call.resources,
            output_cap: own.output_cap,
        },
        confinement: call.confinement.clone(),
        dir: call.dir.to_path_buf(),
        marker: call.marker.to_owned(),
    };
    call.spawner.start(&program).map_err(|error| error.to_string())
}

/// A file of an adapter's own, in place of whatever is there.
pub fn put(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let put = || -> io::Result<()> {
        if let Some(dir) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        }
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let mut file = File::options().write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(bytes)
    };
    put().map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// What the exit alone says of a turn.
pub fn outside(call: &TurnRequest<'_>, finished: &Finished) -> AttemptEnd {
    failure::class(&finished.exit, call.wall.source, &trips(finished))
}

fn trips(finished: &Finished) -> Vec<&str> {
    finished.trips.iter().map(|trip| trip.words()).collect()
}

/// It must not exist: what lies in one that does was written by someone else.
fn make_parent(report_path: &Path) -> Result<(), String> {
    let Some(dir) = report_path.parent() else { return Ok(()) };
    let made = DirBuilder::new().mode(0o700).create(dir);
    made.map_err(|error| format!("cannot make {}: {error}", dir.display()))
}

/// What cannot be cleaned is not kept.
pub fn clean(call: &TurnRequest<'_>, finished: &Finished) -> Result<(), String> {
    [&finished.stdout, &finished.stderr].into_iter().try_for_each(|stream| {
        let cleaned = call.redactor.file(&stream.path, stream.truncated.then_some(stream.kept_bytes));
        cleaned.map_err(|error| format!("cannot clean {}: {error}", stream.path.display()))
    })
}

pub fn result(finished: Finished, report: ParsedReport, end: AttemptEnd) -> TurnResult {
    let message = match summary(&report.report) {
        Some(summary) => summary.to_owned(),
        None => last_words(&finished.stdout),
    };
    let trips: Vec<String> = trips(&finished).into_iter().map(str::to_owned).collect();
    let refused = finished.refusals.iter().map(|refusal| format!("no connection to {refusal}"));
    let stalled = finished.stall.map(|stall| stall.to_string());
    TurnResult {
        finished: AgentFinished {
            report: report.report,
            result: AttemptResult {
                usage: report.usage,
                message,
                duration_ms: Millis(u64::try_from(finished.duration.as_millis()).unwrap_or(u64::MAX)),
                strays: finished.stray_count,
                notes: trips.into_iter().chain(refused).chain(stalled).collect(),
                ..AttemptResult::ended(end)
            },
            tree_changed: false,
            left: Vec::new(),
        },
        unread: report.unread,
        answer: report.answer,
        stdout: Some(finished.stdout),
        stderr: Some(finished.stderr),
        survivors: finished.survivor_count,
        began_afresh: false,
    }
}

pub fn not_started(role: Role, what: String) -> TurnResult {
    let ended = AgentFinished::ended(AttemptEnd::Crashed { what });
    TurnResult {
        finished: AgentFinished { report: report::absent(role).report, ..ended },
        unread: None,
        answer: None,
        stdout: None,
        stderr: None,
        survivors: 0,
        began_afresh: false,
    }
}

fn environment(call: &TurnRequest<'_>, report: &Path) -> Vec<(OsString, OsString)> {
    let names = call.names;
    let task = names.task.map_or("", |task| task.as_str());
    let ours: [(&str, OsString); 7] = [
        ("WINDLASS_LOOP", names.name.as_str().into()),
        ("WINDLASS_TASK", task.into()),
        ("WINDLASS_ITERATION", names.iteration.to_string().into()),
        ("WINDLASS_ROLE", call.role.name().into()),
        ("WINDLASS_TRAIL", call.trail.into()),
        ("WINDLASS_REPORT", report.into()),
        (INSIDE_VARIABLE, "1".into()),
    ];
    let foreign = call.env.iter().filter(|(name, _)| !name.as_encoded_bytes().starts_with(b"WINDLASS_"));
    foreign.cloned().chain(ours.map(|(name, value)| (name.into(), value))).collect()
}

fn summary(report: &Report) -> Option<&str> {
    let summary = match report {
        Report::Author(claim) => &claim.summary,
        Report::Review(Ok(review)) => &review.summary,
        Report::Review(Err(_)) | Report::None => return None,
    };
    (!summary.trim().is_empty()).then_some(summary)
}

fn last_words(stdout: &Capture) -> String {
    // Escape sequences and the like are taken out, so more is read than is kept.
    let bytes = end_of(&stdout.path, 4 * MESSAGE_BYTES as u64).unwrap_or_default();
    bound::tail(plain::plain_bytes(&bytes).trim(), MESSAGE_BYTES).to_owned()
}

/// What a program without an adapter of its own said last: of its errors, or else of its output.
fn last_line(finished: &Finished) -> String {
    match last_useful_line(&finished.stderr) {
        none if none.is_empty() => last_useful_line(&finished.stdout),
        line => line,
    }
}

/// An exit code alone says little: what the program said last of its errors is told with it.
fn with_cause(end: AttemptEnd, finished: &Finished) -> AttemptEnd {
    let said = last_useful_line(&finished.stderr);
    match (end, &finished.exit) {
        (AttemptEnd::Crashed { what }, ProgramExit::Code(_))
            if finished.trips.is_empty() && !said.is_empty() =>
        {
            AttemptEnd::Crashed { what: format!("{what}: {said}") }
        }
        (end, _) => end,
    }
}

fn last_useful_line(from: &Capture) -> String {
    let words = last_words(from);
    let line = words.lines().rev().map(str::trim).find(|line| !line.is_empty());
    line.map(bound::shown_line).unwrap_or_default()
}

pub fn end_of(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let size = file.metadata()?.len();
    file.seek(SeekFrom::Start(size.saturating_sub(max)))?;
    let mut bytes = Vec::new();
    file.take(max).read_to_end(&mut bytes)?;
    Ok(bytes)
}
