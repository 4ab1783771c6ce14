//! Starts programs, each under a warden of its own.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use windlass_core::policy::SandboxLevel;

use crate::finished::{Containment, ProgramExit};
use crate::orphans;
use crate::program::{Program, ProgramLimits, ThrowawayTree, remove_tree};
use crate::record;
use crate::running::RunningProgram;
use crate::sandbox::{Confinement, SandboxDefence, Weakened};
use crate::warden::{WARDEN_ARG, probe_arguments};
use crate::wire::{self, WantedContainment, WardenRequest};

#[derive(Clone, Debug)]
pub struct Spawner {
    warden: PathBuf,
    containment: Option<Containment>,
    known: Arc<Known>,
}

/// What this machine lets us do, found out by doing it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    pub pid_namespace: bool,
    /// A [`ThrowawayTree`] can be mounted with its `upper` on the file system that was probed.
    pub overlay: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("there is no command to run")]
    NoCommand,
    #[error("cannot use the attempt's directory {dir}: {source}")]
    Directory { dir: PathBuf, source: io::Error },
    #[error("cannot start the warden {warden} for {program}: {source}")]
    Spawn { warden: PathBuf, program: String, source: io::Error },
    #[error("cannot hand {program} to its warden: {source}")]
    Request { program: String, source: io::Error },
}

#[derive(Debug, Default)]
struct Known {
    pid_namespace: OnceLock<bool>,
    /// By device: whether an overlay works depends on the file system that carries it.
    overlay: Mutex<BTreeMap<u64, bool>>,
}

impl Default for Spawner {
    fn default() -> Spawner {
        Spawner::new()
    }
}

impl Spawner {
    /// The warden is this very program, even if its file has been replaced by an upgrade meanwhile.
    pub fn new() -> Spawner {
        Spawner::with_warden("/proc/self/exe")
    }

    /// The warden is another binary, which calls [`crate::warden_main`] when its first argument is
    /// [`WARDEN_ARG`].
    pub fn with_warden(warden: impl Into<PathBuf>) -> Spawner {
        Spawner { warden: warden.into(), containment: None, known: Arc::default() }
    }

    /// This containment or [`ProgramExit::NotStarted`], instead of the best there is.
    pub fn contained_by(self, containment: Containment) -> Spawner {
        Spawner { containment: Some(containment), ..self }
    }

    /// Returns once a warden has the program in hand; whether it could be started is for [`RunningProgram::wait`] to
    /// say. The first call of a spawner also finds out whether there are PID namespaces.
    pub fn start(&self, program: &Program) -> Result<RunningProgram, StartError> {
        self.start_as(program, self.asked_for(program), Weakened::from_environment())
    }

    /// A level is proven for the machine, whatever a test then does without.
    pub(crate) fn start_with_every_defence(&self, program: &Program) -> Result<RunningProgram, StartError> {
        self.start_as(program, self.asked_for(program), Weakened::for_a_proof())
    }

    fn asked_for(&self, program: &Program) -> WantedContainment {
        match self.containment {
            Some(containment) => WantedContainment::Exactly(containment),
            None if program.confinement.level != SandboxLevel::None => WantedContainment::Best,
            None if self.has_pid_namespace(&program.dir) => WantedContainment::Best,
            None if program.confinement.tree.is_some() => WantedContainment::Best,
            None => WantedContainment::Exactly(Containment::Subreaper),
        }
    }

    /// `scratch` is an existing directory on the file system that will carry throwaway trees. Remembered, so
    /// that asking again costs nothing.
    pub fn probe(&self, scratch: &Path) -> Capabilities {
        let pid_namespace = self.has_pid_namespace(scratch);
        let device = std::fs::metadata(scratch).map(|found| found.dev()).ok();
        let mut known = self.known.overlay.lock().unwrap_or_else(PoisonError::into_inner);
        let overlay = match device {
            Some(device) if pid_namespace => {
                *known.entry(device).or_insert_with(|| self.try_in(scratch, Trial::Overlay))
            }
            Some(_) | None => false,
        };
        Capabilities { pid_namespace, overlay }
    }

    fn has_pid_namespace(&self, scratch: &Path) -> bool {
        *self.known.pid_namespace.get_or_init(|| self.try_in(scratch, Trial::PidNamespace))
    }

    fn start_as(
        &self,
        program: &Program,
        asked: WantedContainment,
        weakened: Weakened,
    ) -> Result<RunningProgram, StartError> {
        let first = program.argv.first().ok_or(StartError::NoCommand)?;
        let name = first.display().to_string();
        let unusable = |source| StartError::Directory { dir: program.dir.clone(), source };
        let dir = std::path::absolute(&program.dir).map_err(unusable)?;
        let log = File::create(record::log_path(&dir)).map_err(unusable)?;
        let cwd = std::path::absolute(&program.cwd).map_err(unusable)?;
        let mut program = Program { dir, cwd, ..program.clone() };
        program.env.extend(weakened.leaked_environment());

        orphans::adopt();
        abort_point("process::spawn");
        let mut warden = self.start_warden(log, &weakened).map_err(|source| StartError::Spawn {
            warden: self.warden.clone(),
            program: name.clone(),
            source,
        })?;
        let request = WardenRequest { program, containment: asked, weakened };
        let sent = match warden.stdin.as_mut() {
            Some(control) => wire::write_request(control, &request),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        };
        let running = RunningProgram::new(warden, &request.program)
            .map_err(|source| StartError::Request { program: name.clone(), source })?;
        // On failure `running` is dropped, which ends and reaps the warden.
        sent.map_err(|source| StartError::Request { program: name, source })?;
        abort_point("process::started");
        tracing::debug!(
            warden = running.warden_id(),
            program = ?Path::new(&request.program.argv[0]).file_name(),
            dir = ?request.program.dir,
            containment = ?request.containment,
            "program starts"
        );
        Ok(running)
    }

    fn start_warden(&self, log: File, weakened: &Weakened) -> io::Result<Child> {
        let mut command = Command::new(&self.warden);
        if weakened.keeps(SandboxDefence::Environment) {
            command.env_clear();
        }
        weakened.tell_early(&mut command);
        command
            .arg0("windlass-warden")
            .arg(WARDEN_ARG)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            // Out of reach of a terminal's Ctrl-C, which must not end a warden before its tree.
            .process_group(0)
            .spawn()
    }

    pub fn warden_path(&self) -> &Path {
        &self.warden
    }

    /// With a fresh path in `scratch` of which nothing is left afterwards.
    pub(crate) fn in_probe_dir<T>(
        &self,
        scratch: &Path,
        probe: impl FnOnce(&Path) -> io::Result<T>,
    ) -> io::Result<T> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let turn = COUNT.fetch_add(1, Ordering::Relaxed);
        sweep_probes(scratch);
        // Without links, so that what is shown inside a level is found by the same name.
        let place =
            std::fs::canonicalize(scratch)?.join(format!("{PROBE_PREFIX}{}-{turn}", std::process::id()));
        let found = probe(&place);
        remove_tree(&place).ok();
        found
    }

    fn try_in(&self, scratch: &Path, trial: Trial) -> bool {
        self.in_probe_dir(scratch, |place| self.try_at(place, trial)).unwrap_or(false)
    }

    fn try_at(&self, place: &Path, trial: Trial) -> io::Result<bool> {
        let made = |name: &str| std::fs::create_dir_all(place.join(name)).map(|()| place.join(name));
        let (lower, at) = (made("lower")?, made("at")?);
        std::fs::write(lower.join("seed"), "seed")?;
        let tree = ThrowawayTree {
            over: Vec::new(),
            shown_at: None,
            upper: made("upper")?,
            hide: vec![lower.clone()],
            read_only: Vec::new(),
            lower,
            at,
        };
        let (cwd, tree, writes) = match trial {
            Trial::PidNamespace => (place.to_path_buf(), None, None),
            Trial::Overlay => (tree.at.clone(), Some(tree), Some("seed")),
        };
        let program = Program {
            argv: [self.warden.clone().into()].into_iter().chain(probe_arguments(writes)).collect(),
            cwd,
            env: Vec::new(),
            stdin: Vec::new(),
            limits: ProgramLimits { wall: PROBE_LIMIT, ..ProgramLimits::none(4096) },
            confinement: Confinement::none_with(tree.clone()),
            dir: made("attempt")?,
            marker: format!("probe {}", place.display()),
        };
        let asked = WantedContainment::Exactly(Containment::PidNamespace);
        let finished = self.start_as(&program, asked, Weakened::default()).map_err(io::Error::other)?.wait();
        let kept = match &tree {
            Some(tree) => {
                let unchanged = std::fs::read(tree.lower.join("seed"))? == b"seed";
                tree.discard()?;
                unchanged
            }
            None => true,
        };
        Ok(finished.exit == ProgramExit::Code(0) && kept)
    }
}

const PROBE_PREFIX: &str = "probe-";

/// Removes what probes of dead processes left: one that is killed cannot clear up after itself.
fn sweep_probes(scratch: &Path) {
    for entry in std::fs::read_dir(scratch).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(PROBE_PREFIX)?.split('-').next());
        let owner: Option<u32> = owner.and_then(|owner| owner.parse().ok());
        if owner.is_some_and(|id| !Path::new(&format!("/proc/{id}")).exists()) {
            remove_tree(&entry.path()).ok();
        }
    }
}

const PROBE_LIMIT: std::time::Duration = std::time::Duration::from_secs(20);

#[derive(Clone, Copy)]
enum Trial {
    PidNamespace,
    Overlay,
}

/// Where a test may end this process; nothing without the `failpoints` feature.
fn abort_point(_name: &str) {
    fail::fail_point!(_name, |_| -> () { std::process::abort() });
}
