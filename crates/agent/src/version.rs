//! Which version of a program was called. Each program is asked once: its
//! answer may take seconds.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use windlass_process::{Confinement, Program, ProgramLimits, Spawner};

use crate::attempt;
use crate::cli::line;
use crate::registry::KnownAgent;

/// Slow programs need a second or two; one that does not answer at all has no version.
const PATIENCE: Duration = Duration::from_secs(20);
const PRINTED: u64 = 4096;

type Key = (PathBuf, Option<SystemTime>);

static KNOWN: Mutex<Vec<(Key, String)>> = Mutex::new(Vec::new());

pub enum VersionAnswer {
    Known(String),
    Waiting(Receiver<Option<String>>),
}

/// How a program is asked.
pub struct VersionRequest<'a> {
    pub program: &'a Path,
    pub path: &'a OsStr,
    pub spawner: &'a Spawner,
    pub confinement: &'a Confinement,
    /// Some write into it before they say anything.
    pub home: PathBuf,
    /// Its own; made for it.
    pub dir: PathBuf,
}

pub fn ask(request: VersionRequest<'_>) -> VersionAnswer {
    let changed = request.program.metadata().and_then(|found| found.modified()).ok();
    let key: Key = (request.program.to_owned(), changed);
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, version)) = known.iter().find(|(known, _)| *known == key) {
        return VersionAnswer::Known(version.clone());
    }
    drop(known);
    let (to, from) = channel();
    let (program, spawner) = (program(&request), request.spawner.clone());
    let home = request.home;
    let work = move || {
        let version = run(&spawner, &program, &home).and_then(|printed| line::version(&printed));
        if let Some(version) = &version {
            KNOWN.lock().unwrap_or_else(PoisonError::into_inner).push((key, version.clone()));
        }
        // Whoever asked may not wait any more.
        let _ = to.send(version);
    };
    match std::thread::Builder::new().name("version".to_owned()).spawn(work) {
        Ok(_) | Err(_) => VersionAnswer::Waiting(from),
    }
}

/// None when the program does not say.
pub fn heard(asked: VersionAnswer) -> Option<String> {
    match asked {
        VersionAnswer::Known(version) => Some(version),
        VersionAnswer::Waiting(from) => from.recv_timeout(PATIENCE).ok().flatten(),
    }
}

/// The name with the version, and what is to be said of a version that was never tried or is not known: once, not
/// at each attempt.
pub fn words(agent: &KnownAgent, asked: VersionAnswer) -> (String, Option<String>) {
    let name = agent.name;
    let Some(version) = heard(asked) else {
        let silent = is_first(name).then(|| format!("{name} did not say its version"));
        return (name.to_owned(), silent);
    };
    let tried = agent.tried_versions;
    let named = format!("{name} {version}");
    let is_news = !tried.contains(&version.as_str()) && is_first(&named);
    let untried = is_news.then(|| format!("{named} was never tried with windlass; {} was", tried.join(", ")));
    (named, untried)
}

/// Whether this process has not said it of this version.
fn is_first(named: &str) -> bool {
    static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    let first = !said.iter().any(|one| one == named);
    if first {
        said.push(named.to_owned());
    }
    first
}

fn program(request: &VersionRequest<'_>) -> Program {
    let mut argv: Vec<OsString> = vec![request.program.into(), "--version".into()];
    if request.program.extension().is_some_and(|extension| extension == "js") {
        argv.insert(0, "node".into());
    }
    Program {
        argv,
        cwd: PathBuf::from("/"),
        env: vec![("PATH".into(), request.path.into()), ("HOME".into(), request.home.clone().into())],
        stdin: Vec::new(),
        limits: ProgramLimits { wall: PATIENCE, ..ProgramLimits::none(PRINTED) },
        confinement: request.confinement.clone(),
        marker: format!("version of {}", request.program.display()),
        dir: request.dir.clone(),
    }
}

fn run(spawner: &Spawner, program: &Program, home: &Path) -> Option<String> {
    std::fs::create_dir_all(&program.dir).ok()?;
    std::fs::create_dir_all(home).ok()?;
    let finished = spawner.start(program).ok()?.wait();
    let printed = attempt::end_of(&finished.stdout.path, PRINTED).ok()?;
    Some(String::from_utf8_lossy(&printed).into_owned())
}
