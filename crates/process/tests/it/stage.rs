//! A temporary directory, programs in it, and a view of what is alive.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use windlass_process::{
    ATTEMPT_VARIABLE, Confinement, Containment, Finished, Program, ProgramLimits, Spawner,
};

pub const WARDEN: &str = env!("CARGO_BIN_EXE_warden");
pub const CAP: u64 = 1 << 20;
/// For what must come, on a machine that may be busy.
pub const SOON: Duration = Duration::from_secs(20);

/// One for all tests, so that the machine is probed once.
static SPAWNER: LazyLock<Spawner> = LazyLock::new(|| Spawner::with_warden(WARDEN));

pub fn spawner(containment: Containment) -> Spawner {
    SPAWNER.clone().contained_by(containment)
}

/// Every containment this machine has. One it lacks is reported, not passed over.
pub fn containments() -> Vec<Containment> {
    let scratch = tempfile::tempdir().unwrap();
    if SPAWNER.probe(scratch.path()).pid_namespace {
        return vec![Containment::PidNamespace, Containment::Subreaper];
    }
    eprintln!("not run with a PID namespace: this machine gives none");
    vec![Containment::Subreaper]
}

pub fn overlay_works() -> bool {
    let scratch = tempfile::tempdir().unwrap();
    let works = SPAWNER.probe(scratch.path()).overlay;
    if !works {
        eprintln!("not run: this machine mounts no overlay");
    }
    works
}

pub struct Stage {
    root: TempDir,
    attempts: AtomicU32,
}

impl Stage {
    pub fn new() -> Stage {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("work")).unwrap();
        std::fs::create_dir(root.path().join("attempts")).unwrap();
        Stage { root, attempts: AtomicU32::new(0) }
    }

    pub fn path(&self) -> &Path {
        self.root.path()
    }

    pub fn work(&self) -> PathBuf {
        self.path().join("work")
    }

    pub fn attempts(&self) -> PathBuf {
        self.path().join("attempts")
    }

    pub fn program(&self, argv: &[&str]) -> Program {
        let number = self.attempts.fetch_add(1, Ordering::Relaxed);
        let dir = self.attempts().join(number.to_string());
        std::fs::create_dir(&dir).unwrap();
        Program {
            argv: argv.iter().map(OsString::from).collect(),
            cwd: self.work(),
            env: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
            stdin: Vec::new(),
            limits: ProgramLimits { wall: Duration::from_secs(60), ..ProgramLimits::none(CAP) },
            confinement: Confinement::none(),
            marker: format!("{}/{number}", self.path().display()),
            dir,
        }
    }

    pub fn shell(&self, script: &str) -> Program {
        self.program(&["/bin/sh", "-c", script])
    }

    /// Waits until the program has made this file in its directory.
    pub fn await_file(&self, name: &str) {
        let path = self.work().join(name);
        eventually(&format!("{} appears", path.display()), || path.exists());
    }
}

/// The pid of a program's warden, from the record that it writes before the program starts.
pub fn warden_of(program: &Program) -> u32 {
    let recorded = || -> Option<u32> {
        let text = std::fs::read(program.dir.join("record.json")).ok()?;
        let record: serde_json::Value = serde_json::from_slice(&text).ok()?;
        record["warden"]["pid"].as_u64()?.try_into().ok()
    };
    eventually("the warden writes its record", || recorded().is_some());
    recorded().unwrap()
}

pub fn kill_warden_of(program: &Program) {
    let warden = Pid::from_raw(warden_of(program).cast_signed()).unwrap();
    kill_process(warden, Signal::KILL).unwrap();
}

pub fn run(program: &Program, containment: Containment) -> Finished {
    let finished = spawner(containment).start(program).unwrap().wait();
    assert_eq!(finished.containment, containment);
    assert_eq!(finished.survivor_count, 0);
    assert_eq!(given(&program.marker), Vec::<String>::new(), "nothing is alive once `wait` has returned");
    let record = std::fs::read(program.dir.join("record.json")).unwrap_or_default();
    assert!(record.len() < 2, "the record of a dead tree is removed");
    finished
}

pub fn stdout(finished: &Finished) -> String {
    String::from_utf8(std::fs::read(&finished.stdout.path).unwrap()).unwrap()
}

pub fn stderr(finished: &Finished) -> String {
    String::from_utf8(std::fs::read(&finished.stderr.path).unwrap()).unwrap()
}

/// Every living process of an attempt: those that were given its marker, and the warden, which has its files open.
pub fn carriers(marker: &str) -> Vec<String> {
    let dir = marker.rsplit_once('/').map(|(stage, number)| Path::new(stage).join("attempts").join(number));
    found(marker, dir.as_deref())
}

/// The same without the warden, which has yet to end when it has answered.
pub fn given(marker: &str) -> Vec<String> {
    found(marker, None)
}

fn found(marker: &str, dir: Option<&Path>) -> Vec<String> {
    let entry = format!("{ATTEMPT_VARIABLE}={marker}");
    let mut found = Vec::new();
    for process in std::fs::read_dir("/proc").unwrap().filter_map(Result::ok) {
        let environment = std::fs::read(process.path().join("environ")).unwrap_or_default();
        let was_given = environment.split(|&byte| byte == 0).any(|have| have == entry.as_bytes());
        if was_given || (is_other(&process.path()) && holds(&process.path(), dir)) {
            let command = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
            let command = String::from_utf8_lossy(&command).replace('\0', " ");
            found.push(format!("{}: {command}", process.file_name().display()));
        }
    }
    found
}

fn is_other(process: &Path) -> bool {
    process.file_name().is_some_and(|id| *id != *std::process::id().to_string())
}

fn holds(process: &Path, dir: Option<&Path>) -> bool {
    let files = std::fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
    let mut names = files.filter_map(|file| std::fs::read_link(file.path()).ok());
    dir.is_some_and(|dir| names.any(|name| name.starts_with(dir)))
}

pub fn eventually(what: &str, holds: impl FnMut() -> bool) {
    assert!(windlass_testkit::poll::until(SOON, holds), "not within {SOON:?}: {what}");
}
