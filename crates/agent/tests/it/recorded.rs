//! A recording, read as the program's output would have been.

use std::path::{Path, PathBuf};

use serde_json::Value;
use windlass_agent::WallSource;
use windlass_agent::cli::{ProgramEnd, ReaderSetup, SessionStart, TurnEnding};
use windlass_agent::failure;
use windlass_agent::registry;
use windlass_agent::reset::Zone;
use windlass_core::input::AttemptEnd;
use windlass_core::live::Live;
use windlass_core::time::Timestamp;
use windlass_core::usage::{ModelUsage, Usage};
use windlass_process::ProgramExit;

pub struct Recording {
    pub name: &'static str,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub exit: ProgramExit,
}

pub struct Read {
    pub told: Vec<Live>,
    /// Before the program was dead.
    pub hopeless: Option<AttemptEnd>,
    pub ending: TurnEnding,
}

pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings")
}

pub fn recording(name: &'static str, exit: ProgramExit) -> Recording {
    let part = |kind: &str| std::fs::read(folder().join(format!("{name}.{kind}"))).unwrap_or_default();
    let (stdout, stderr) = (part("jsonl"), part("stderr"));
    assert!(!stdout.is_empty() || !stderr.is_empty(), "{name} is recorded");
    let stdout = if name == "claude-bidi" { outward(&stdout) } else { stdout };
    Recording { name, stdout, stderr, exit }
}

/// That recording holds both directions of a conversation, each line wrapped.
fn outward(both: &[u8]) -> Vec<u8> {
    let lines = both.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let wrapped = lines.map(|line| serde_json::from_slice::<Value>(line).unwrap());
    let out = wrapped.filter(|line| line["dir"] == "out").map(|line| format!("{}\n", line["msg"]));
    out.collect::<String>().into_bytes()
}

pub fn now() -> Timestamp {
    "2026-11-15T18:00:00.000Z".parse().unwrap()
}

pub fn read(recording: &Recording) -> Read {
    read_as(recording, start(recording.name))
}

/// What had been spent in a session before it was resumed, as other recordings and the server tell.
fn start(name: &str) -> SessionStart {
    let usage = |input, output, reasoning, cache_read| Usage {
        input_tokens: input,
        output_tokens: output,
        reasoning_tokens: reasoning,
        cache_read_tokens: cache_read,
        ..Usage::default()
    };
    let before = match name {
        "codex-resume" => vec![("asked", usage(2100, 105, 21, 900))],
        "qwen-resume" => vec![("asked", usage(2100, 126, 0, 900))],
        _ if name.contains("-resume") => Vec::new(),
        _ => return SessionStart::Fresh,
    };
    let known = |(model, usage): (&str, Usage)| ModelUsage { model: model.to_owned(), usage, messages: 0 };
    SessionStart::Resumed { before: before.into_iter().map(known).collect() }
}

pub fn read_as(recording: &Recording, start: SessionStart) -> Read {
    let program = recording.name.split('-').next().unwrap();
    let setup =
        ReaderSetup { model: "asked".to_owned(), schema: true, start, zone: Zone::utc(), env: Vec::new() };
    let mut reader = registry::named(program).unwrap().cli.reader(setup);
    let mut told = Vec::new();
    for line in recording.stdout.split(|byte| *byte == b'\n') {
        told.extend(reader.line(line, now()));
    }
    for line in recording.stderr.split(|byte| *byte == b'\n') {
        told.extend(reader.error_line(line, now()));
    }
    let hopeless = reader.hopeless();
    let outside = failure::class(&recording.exit, WallSource::Agent, &[]);
    let over = ProgramEnd { exit: &recording.exit, outside: &outside, stderr: &recording.stderr, now: now() };
    Read { told, hopeless, ending: reader.end(&over) }
}
