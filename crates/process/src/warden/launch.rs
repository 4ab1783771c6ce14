//! From a request to a leader that waits for its `go`: the namespace's init, or the program's own process.

use std::cell::RefCell;
use std::ffi::{CString, NulError, OsStr};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use rustix::process::{
    Pid, Signal, WaitOptions, chdir, kill_process, set_parent_process_death_signal, setsid, waitpid,
};
use windlass_core::policy::SandboxLevel;

use crate::finished::Containment;
use crate::program::Program;
use crate::ptrace::TracerDeath;
use crate::record::ATTEMPT_VARIABLE;
use crate::resources::{ResourceGuard, Rlimits};
use crate::sandbox::{self, Enclosure, Inspection, SandboxDefence, Weakened};
use crate::sys;
use crate::warden::outlet::Outlet;
use crate::warden::report;
use crate::warden::terminate::{ProcessTree, Strays};
use crate::warden::tracer::Tracer;
use crate::warden::watch::Pipes;
use crate::warden::{REPORT, namespace};
use crate::wire::{WantedContainment, WardenRequest};

/// Large enough that a flood costs few wake-ups; refusal by a per-user limit is harmless.
const OUTPUT_PIPE: usize = 256 * 1024;

/// A leader that has not been told to go, and our ends of its pipes.
pub struct Launched {
    pub tree: ProcessTree,
    pub go: OwnedFd,
    pub pipes: Pipes,
    /// Serves the program's proxy, if its network has one.
    pub outlet: Option<Outlet>,
}

/// `lock` stays open in the leader, so that it is not free while the namespace's init lives.
pub fn launch(request: &WardenRequest, guard: &ResourceGuard, lock: &File) -> Result<Launched, String> {
    let (program, weakened) = (&request.program, &request.weakened);
    let mut command = PreparedCommand::prepare(
        program,
        Enclosure::prepare(&program.confinement, guard.memory_files(), weakened)?,
    )?;
    let hosts = command.enclosure.as_ref().and_then(Enclosure::hosts);
    let outlet = hosts.map(|hosts| Outlet::start(hosts, &program.dir)).transpose()?;
    let (namespace, containment) = contain(request)?;
    command.limits = Some(guard.rlimits(containment));
    let LeaderPipes { theirs, go, ours } =
        LeaderPipes::make().map_err(|error| format!("cannot make a pipe: {error}"))?;

    let lead = || {
        let mut keep: Vec<BorrowedFd<'_>> = theirs.iter().map(AsFd::as_fd).chain([lock.as_fd()]).collect();
        keep.extend(outlet.as_ref().map(Outlet::inside));
        let kept = match weakened.keeps(SandboxDefence::Descriptors) {
            true => sys::keep_only(&keep),
            false => sys::keep_first(&keep),
        };
        if let Err(error) = kept {
            // The report pipe may not be where it is looked for; the warden sees a leader that died.
            sys::note(&format!("cannot arrange the descriptors of a program: {error}"));
            sys::exit_now(70);
        }
        match namespace {
            Some(entered) if entered.pid_namespace => namespace::lead(entered, program, &command),
            entered => lead_alone(entered, program, &command),
        }
    };
    // SAFETY: a warden has one thread: `warden_main` is called before any other is started.
    let leader = unsafe { sys::fork(lead) }.map_err(|error| format!("cannot fork: {error}"))?;
    let strays = match weakened.keeps(SandboxDefence::Processes) {
        true => Strays::AreEnded,
        false => Strays::LiveOn,
    };
    // The init of a namespace does the same for its own program.
    let tracer = match containment == Containment::Subreaper && command.is_kept_apart() {
        true => Some(keep_apart(leader, weakened)?),
        false => None,
    };
    let tree = ProcessTree { leader, containment, strays, tracer: tracer.map(RefCell::new) };
    Ok(Launched { tree, go, pipes: ours, outlet })
}

fn keep_apart(leader: Pid, weakened: &Weakened) -> Result<Tracer, String> {
    Tracer::seize(leader, death_of_tracer(weakened)).inspect_err(|_| {
        kill_process(leader, Signal::KILL).ok();
        waitpid(Some(leader), WaitOptions::empty()).ok();
    })
}

pub fn death_of_tracer(weakened: &Weakened) -> TracerDeath {
    match weakened.keeps(SandboxDefence::Processes) {
        true => TracerDeath::KillsAll,
        false => TracerDeath::SetsFree,
    }
}

struct LeaderPipes {
    /// In the order in which a leader finds them.
    theirs: [OwnedFd; 5],
    go: OwnedFd,
    ours: Pipes,
}

impl LeaderPipes {
    /// Our ends never block; the program's own ends do.
    fn make() -> io::Result<LeaderPipes> {
        let (stdin_read, stdin) = pipe_with(PipeFlags::CLOEXEC)?;
        let (stdout, stdout_write) = pipe_with(PipeFlags::CLOEXEC)?;
        let (stderr, stderr_write) = pipe_with(PipeFlags::CLOEXEC)?;
        let (report, report_write) = pipe_with(PipeFlags::CLOEXEC)?;
        let (go_read, go) = pipe_with(PipeFlags::CLOEXEC)?;
        for ours in [&stdin, &stdout, &stderr, &report] {
            rustix::io::ioctl_fionbio(ours, true)?;
        }
        fcntl_setpipe_size(&stdout, OUTPUT_PIPE).ok();
        fcntl_setpipe_size(&stderr, OUTPUT_PIPE).ok();
        let theirs = [stdin_read, stdout_write, stderr_write, report_write, go_read];
        Ok(LeaderPipes { theirs, go, ours: Pipes { report, stdin, stdout, stderr } })
    }
}

type Contained = (Option<namespace::Entered>, Containment);

/// Enters the containment that the level needs, or the best that was asked for.
fn contain(request: &WardenRequest) -> Result<Contained, String> {
    let confinement = &request.program.confinement;
    match (confinement.level, request.containment) {
        (SandboxLevel::None, asked) => contain_unconfined(asked, confinement.tree.is_some()),
        (SandboxLevel::Landlock, WantedContainment::Exactly(Containment::PidNamespace)) => {
            Err("level landlock has no PID namespace, and one was asked for".to_owned())
        }
        (
            SandboxLevel::Landlock,
            WantedContainment::Exactly(Containment::Subreaper) | WantedContainment::Best,
        ) => Ok((None, Containment::Subreaper)),
        (SandboxLevel::Namespaces, WantedContainment::Exactly(Containment::Subreaper)) => {
            Err("level namespaces needs a PID namespace, and a subreaper was asked for".to_owned())
        }
        (
            SandboxLevel::Namespaces,
            WantedContainment::Exactly(Containment::PidNamespace) | WantedContainment::Best,
        ) => contain_in_namespaces(&request.weakened)
            .map_err(|error| format!("no confinement at level namespaces: {error}")),
        (SandboxLevel::Container, _) => {
            Err("a program in a container is started by the engine's client, which is not confined"
                .to_owned())
        }
    }
}

fn contain_in_namespaces(weakened: &Weakened) -> Result<Contained, namespace::EnterError> {
    #[cfg(feature = "weaken")]
    if !weakened.keeps(SandboxDefence::Processes) {
        return namespace::enter_without_processes().map(|entered| (Some(entered), Containment::Subreaper));
    }
    debug_assert!(weakened.keeps(SandboxDefence::Processes));
    namespace::enter().map(|entered| (Some(entered), Containment::PidNamespace))
}

fn contain_unconfined(asked: WantedContainment, needs_namespace: bool) -> Result<Contained, String> {
    let optional = match asked {
        WantedContainment::Exactly(Containment::Subreaper) if needs_namespace => {
            return Err("a throwaway tree needs a namespace, and a subreaper was asked for".to_owned());
        }
        WantedContainment::Exactly(Containment::Subreaper) => return Ok((None, Containment::Subreaper)),
        WantedContainment::Exactly(Containment::PidNamespace) => false,
        WantedContainment::Best => !needs_namespace,
    };
    match namespace::enter() {
        Ok(entered) => Ok((Some(entered), Containment::PidNamespace)),
        Err(namespace::EnterError::Refused(_)) if optional => Ok((None, Containment::Subreaper)),
        Err(error) => Err(error.to_string()),
    }
}

/// The program's process where there is no namespace. It dies with the warden, at least by itself.
fn lead_alone(entered: Option<namespace::Entered>, program: &Program, command: &PreparedCommand) -> ! {
    set_parent_process_death_signal(Some(Signal::KILL)).ok();
    // Before the program is told to go, so that it can be asked to end from its first moment on.
    setsid().ok();
    sys::default_signals().ok();
    let prepare = || -> Result<Option<sandbox::ReadyEnclosure>, String> {
        if let (Some(entered), Some(enclosure)) = (entered, &command.enclosure) {
            namespace::own_world(entered, program, enclosure)?;
        }
        command.ready()
    };
    let ready = prepare().unwrap_or_else(|why| not_started(&why));
    wait_for_go();
    command.execute(ready)
}

/// Returns when the warden says so. If it is gone, its end of the pipe is closed, and so are we: a death
/// signal set after its death would never come.
pub fn wait_for_go() {
    let mut go = [0u8];
    let mut pipe = File::from(take(super::GO));
    if pipe.read_exact(&mut go).is_err() {
        sys::exit_now(0);
    }
}

/// The command, in the form the kernel takes.
pub struct PreparedCommand {
    /// Absolute, or below `cwd`: where the program may be, in order.
    candidates: Vec<CString>,
    argv: Vec<CString>,
    env: Vec<CString>,
    cwd: PathBuf,
    /// `None` where the program is not confined.
    pub enclosure: Option<Enclosure>,
    limits: Option<Rlimits>,
}

impl PreparedCommand {
    fn prepare(program: &Program, enclosure: Option<Enclosure>) -> Result<PreparedCommand, String> {
        let named = |what: &str, error: NulError| format!("the {what} holds a NUL byte: {error}");
        let argv: Vec<CString> = program
            .argv
            .iter()
            .map(|word| c_string(word))
            .collect::<Result<_, _>>()
            .map_err(|error| named("command", error))?;
        let mut env = Vec::with_capacity(program.env.len() + 1);
        let marker = (OsStr::new(ATTEMPT_VARIABLE), OsStr::new(&program.marker));
        let given = program.env.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
        for (name, value) in given.filter(|(name, _)| *name != ATTEMPT_VARIABLE).chain([marker]) {
            let entry = [name.as_bytes(), b"=", value.as_bytes()].concat();
            env.push(CString::new(entry).map_err(|error| named("environment", error))?);
        }
        let first = program.argv.first().ok_or("there is no command")?;
        let candidates = candidates(first, program)?;
        let seen = enclosure.as_ref().map(|enclosure| enclosure.seen_as(&program.cwd));
        let cwd = seen.unwrap_or_else(|| program.cwd.clone());
        Ok(PreparedCommand { candidates, argv, env, cwd, enclosure, limits: None })
    }

    /// What can be done for the program's confinement before it is told to go.
    pub fn ready(&self) -> Result<Option<sandbox::ReadyEnclosure>, String> {
        self.enclosure.as_ref().map(Enclosure::ready).transpose()
    }

    /// Whether its processes must be kept from looking into one another.
    pub fn is_kept_apart(&self) -> bool {
        self.enclosure.as_ref().is_some_and(|enclosure| enclosure.inspection() == Inspection::Refused)
    }

    /// Becomes the program, in a session of its own; what stops that goes to the report pipe.
    pub fn execute(&self, ready: Option<sandbox::ReadyEnclosure>) -> ! {
        let (Ok(why) | Err(why)) = self.become_program(ready);
        not_started(&why)
    }

    /// Returns only why it could not; `Ok` if it was looked for everywhere.
    fn become_program(&self, ready: Option<sandbox::ReadyEnclosure>) -> Result<String, String> {
        // A leader that is already alone in its session has what it needs.
        setsid().ok();
        sys::default_signals().map_err(|error| format!("cannot reset the signals: {error}"))?;
        chdir(&self.cwd).map_err(|error| format!("cannot enter {}: {error}", self.cwd.display()))?;
        if let (Some(enclosure), Some(ready)) = (&self.enclosure, ready) {
            enclosure.close(ready)?;
        }
        self.limits.as_ref().map_or(Ok(()), Rlimits::apply)?;
        self.candidates.iter().try_fold(self.not_found(), |why, path| {
            let error = sys::execute(path, &self.argv, &self.env);
            let path = Path::new(OsStr::from_bytes(path.as_bytes()));
            match error.raw_os_error() {
                Some(libc::ENOENT | libc::ENOTDIR) if !path.exists() => Ok(why),
                Some(libc::ENOENT) => {
                    Err(format!("cannot run {}: its interpreter is missing", path.display()))
                }
                Some(libc::EACCES) => Ok(format!("cannot run {}: {error}", path.display())),
                Some(_) | None => Err(format!("cannot run {}: {error}", path.display())),
            }
        })
    }

    fn not_found(&self) -> String {
        match &self.candidates[..] {
            [path] => format!("cannot run {}: No such file or directory", path.to_string_lossy()),
            _ => format!("cannot run {}: it is in no directory of PATH", self.argv[0].to_string_lossy()),
        }
    }
}

fn not_started(why: &str) -> ! {
    let mut pipe = File::from(take(REPORT));
    pipe.write_all(&report::not_started(why)).ok();
    sys::exit_now(127)
}

/// As a shell would look, but only in the program's own PATH, and never in a relative entry of it: the
/// current directory is an agent's.
fn candidates(first: &OsStr, program: &Program) -> Result<Vec<CString>, String> {
    if first.as_bytes().contains(&b'/') {
        return Ok(vec![c_string(first).map_err(|error| error.to_string())?]);
    }
    let path = program.env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
    let path = path.unwrap_or_default();
    let places: Vec<CString> = std::env::split_paths(path)
        .filter(|dir| dir.is_absolute())
        .map(|dir| c_string(dir.join(first).as_os_str()))
        .collect::<Result<_, _>>()
        .map_err(|error| error.to_string())?;
    if places.is_empty() {
        return Err(format!("cannot run {}: PATH has no absolute directory", first.display()));
    }
    Ok(places)
}

fn c_string(text: &OsStr) -> Result<CString, NulError> {
    CString::new(text.as_bytes())
}

/// A descriptor that [`sys::keep_only`] put there.
fn take(fd: std::os::fd::RawFd) -> OwnedFd {
    use std::os::fd::FromRawFd;
    // SAFETY: the leader owns its first descriptors, and takes each of them once.
    unsafe { OwnedFd::from_raw_fd(fd) }
}
