//! Which version of a program was called. Asked beside the call, so that nobody waits for it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use crate::cli::Cli;

/// Slow programs need a second or two; one that does not answer at all has no version.
const PATIENCE: Duration = Duration::from_secs(20);

type Key = (PathBuf, Option<SystemTime>);

static KNOWN: Mutex<Vec<(Key, String)>> = Mutex::new(Vec::new());

pub enum Asked {
    Known(String),
    Waiting(Receiver<Option<String>>),
}

pub fn ask(cli: &'static dyn Cli, program: &Path, path: &OsStr) -> Asked {
    let changed = program.metadata().and_then(|found| found.modified()).ok();
    let key: Key = (program.to_owned(), changed);
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, version)) = known.iter().find(|(known, _)| *known == key) {
        return Asked::Known(version.clone());
    }
    drop(known);
    let (to, from) = channel();
    let path = path.to_owned();
    let program = program.to_owned();
    let work = move || {
        let version = run(&program, &path).and_then(|printed| cli.parse_version(&printed));
        if let Some(version) = &version {
            KNOWN.lock().unwrap_or_else(PoisonError::into_inner).push((key, version.clone()));
        }
        // Whoever asked may not wait any more.
        let _ = to.send(version);
    };
    match std::thread::Builder::new().name("version".to_owned()).spawn(work) {
        Ok(_) | Err(_) => Asked::Waiting(from),
    }
}

/// None when the program does not say.
pub fn heard(asked: Asked) -> Option<String> {
    match asked {
        Asked::Known(version) => Some(version),
        Asked::Waiting(from) => from.recv_timeout(PATIENCE).ok().flatten(),
    }
}

/// The name with the version, and what is to be said of a version that was never tried.
pub fn words(cli: &dyn Cli, asked: Asked) -> (String, Option<String>) {
    let version = heard(asked);
    let name = cli.name();
    let Some(version) = version else {
        return (name.to_owned(), Some(format!("{name} did not say its version")));
    };
    let tried = cli.tried_versions();
    let untried = (!tried.contains(&version.as_str()))
        .then(|| format!("{name} {version} was never tried with windlass; {} was", tried.join(", ")));
    (format!("{name} {version}"), untried)
}

/// Without a home: a version is all that is wanted of it.
fn run(program: &Path, path: &OsStr) -> Option<String> {
    let mut command = Command::new(program);
    command.arg("--version").env_clear().env("HOME", "/nonexistent").env("PATH", path).current_dir("/");
    command.stdin(Stdio::null()).stderr(Stdio::null());
    let output = command.output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}
