//! What a program would do that wants out, really tried: the inner half of [`SandboxProof`](crate::SandboxProof).

mod neighbour;

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FlockOperation, Mode, OFlags, flock, openat};
use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_change, unmount};
use rustix::process::{Pid, Signal, WaitOptions, geteuid, kill_process, setsid, waitpid};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use serde::{Deserialize, Serialize};
use windlass_core::policy::SandboxLevel;

use crate::procfs::ProcessId;
use crate::program::os_path;
use crate::sys;
pub use neighbour::act_as_neighbour;

/// How long a daemon may take to come up, and how long it stays if nobody ends it.
const DAEMON_PATIENCE: Duration = Duration::from_secs(10);
const DAEMON_LIFE: Duration = Duration::from_secs(60);

/// What every planted secret begins with.
pub const SECRET: &str = "planted secret";
pub const DAEMON_FILE: &str = "daemon";
pub const SOCKET_FILE: &str = "socket";

/// In the order in which they are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Escape {
    /// No attack: a level under which nothing works proves nothing.
    OwnWork,
    WriteBeside,
    WriteHome,
    ReadSecret,
    ReadHidden,
    ReadEnvironment,
    ConnectTcp,
    ConnectUnix,
    ConnectAbstract,
    Signal,
    UserNamespace,
    Mount,
    TraceNeighbour,
    ReadMemory,
    ChangeMemory,
    TakeDescriptor,
    Daemon,
}

/// Where the attacks go. Planted by the prover, who looks at each afterwards.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Targets {
    pub level: SandboxLevel,
    #[serde(with = "os_path")]
    pub work: PathBuf,
    /// Readable, with a file `open`, and a file and a directory that are hidden.
    #[serde(with = "os_path")]
    pub shared: PathBuf,
    #[serde(with = "os_path")]
    pub beside: PathBuf,
    #[serde(with = "os_path")]
    pub home: PathBuf,
    /// The directory of a listening [`SOCKET_FILE`].
    #[serde(with = "os_path")]
    pub sockets: PathBuf,
    pub abstract_name: String,
    pub tcp_port: u16,
    pub supervisor: ProcessId,
}

/// What became of one attack: how it went through, or what stopped it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Tried {
    pub attack: Escape,
    pub went_through: bool,
    pub detail: String,
}

type EscapeResult = io::Result<String>;

impl Escape {
    const ALL: [Escape; 17] = [
        Escape::OwnWork,
        Escape::WriteBeside,
        Escape::WriteHome,
        Escape::ReadSecret,
        Escape::ReadHidden,
        Escape::ReadEnvironment,
        Escape::ConnectTcp,
        Escape::ConnectUnix,
        Escape::ConnectAbstract,
        Escape::Signal,
        Escape::UserNamespace,
        Escape::Mount,
        Escape::TraceNeighbour,
        Escape::ReadMemory,
        Escape::ChangeMemory,
        Escape::TakeDescriptor,
        Escape::Daemon,
    ];

    /// An engine does not keep the processes of a container from one another.
    pub fn tried_at(level: SandboxLevel) -> impl Iterator<Item = Escape> {
        Escape::ALL.into_iter().filter(move |escape| match escape {
            Escape::TraceNeighbour | Escape::ReadMemory | Escape::ChangeMemory | Escape::TakeDescriptor => {
                level != SandboxLevel::Container
            }
            Escape::OwnWork
            | Escape::WriteBeside
            | Escape::WriteHome
            | Escape::ReadSecret
            | Escape::ReadHidden
            | Escape::ReadEnvironment
            | Escape::ConnectTcp
            | Escape::ConnectUnix
            | Escape::ConnectAbstract
            | Escape::Signal
            | Escape::UserNamespace
            | Escape::Mount
            | Escape::Daemon => true,
        })
    }

    pub fn what(self) -> &'static str {
        match self {
            Escape::OwnWork => "work in its own workspace",
            Escape::WriteBeside => "write a file beside its workspace",
            Escape::WriteHome => "write a file in the home directory",
            Escape::ReadSecret => "read a secret in the home directory",
            Escape::ReadHidden => "read what is hidden in a readable directory",
            Escape::ReadEnvironment => "read the environment of the supervisor",
            Escape::ConnectTcp => "connect to a TCP port of this machine",
            Escape::ConnectUnix => "connect to a Unix socket by its path",
            Escape::ConnectAbstract => "connect to an abstract Unix socket",
            Escape::Signal => "signal the supervisor",
            Escape::UserNamespace => "make a user namespace",
            Escape::Mount => "mount a file system",
            Escape::TraceNeighbour => "trace a process beside it",
            Escape::ReadMemory => "read the memory of a process beside it",
            Escape::ChangeMemory => "change the memory of a process beside it",
            Escape::TakeDescriptor => "take a descriptor of a process beside it",
            Escape::Daemon => "leave a daemon behind",
        }
    }

    fn go(self, targets: &Targets) -> EscapeResult {
        match self {
            Escape::OwnWork => own_work(targets),
            Escape::WriteBeside => overwrite(&targets.beside.join("canary")),
            Escape::WriteHome => overwrite(&targets.home.join(".profile")),
            Escape::ReadSecret => read_secret(&targets.home.join("secret")),
            Escape::ReadHidden => read_secret(&targets.shared.join("hidden-file"))
                .or_else(|_| read_secret(&targets.shared.join("hidden/secret"))),
            Escape::ReadEnvironment => read_environment(targets.supervisor),
            Escape::ConnectTcp => connect_tcp(targets.tcp_port),
            Escape::ConnectUnix => connect_unix(&targets.sockets),
            Escape::ConnectAbstract => connect_abstract(&targets.abstract_name),
            Escape::Signal => signal(targets.supervisor),
            Escape::UserNamespace => in_a_child(|| unshare(UnshareFlags::NEWUSER)),
            Escape::Mount => in_a_child(|| mount_something(&targets.work)),
            Escape::TraceNeighbour => neighbour::trace(),
            Escape::ReadMemory => neighbour::read_memory(),
            Escape::ChangeMemory => neighbour::change_memory(),
            Escape::TakeDescriptor => neighbour::take_descriptor(),
            Escape::Daemon => leave_daemon(&targets.work),
        }
    }
}

/// The probe's whole life: targets on standard input, what became of each attack on standard output. Called in
/// a process with one thread.
pub fn act() -> io::Result<()> {
    let mut text = Vec::new();
    io::stdin().read_to_end(&mut text)?;
    let targets: Targets = serde_json::from_slice(&text)?;
    for attack in Escape::tried_at(targets.level) {
        let outcome = attack.go(&targets);
        let went_through = outcome.is_ok();
        let (Ok(detail) | Err(detail)) = outcome.map_err(|error| error.to_string());
        let line = serde_json::to_string(&Tried { attack, went_through, detail })?;
        writeln!(io::stdout(), "{line}")?;
    }
    Ok(())
}

fn own_work(targets: &Targets) -> EscapeResult {
    std::fs::write(targets.work.join("made"), "made")?;
    let text = std::fs::read_to_string(targets.shared.join("open"))?;
    Ok(format!("wrote a file and read {} bytes", text.len()))
}

fn overwrite(path: &Path) -> EscapeResult {
    std::fs::write(path, "overwritten")?;
    Ok(format!("{} was overwritten", path.display()))
}

fn read_secret(path: &Path) -> EscapeResult {
    match std::fs::read_to_string(path)? {
        text if text.starts_with(SECRET) => Ok(format!("{} was read", path.display())),
        _ => Err(io::Error::other("it looks empty")),
    }
}

fn read_environment(of: ProcessId) -> EscapeResult {
    let text = std::fs::read(format!("/proc/{}/environ", of.pid))?;
    match ProcessId::of(of.pid) {
        Some(found) if found == of => Ok(format!("{} bytes were read", text.len())),
        Some(_) | None => Err(io::Error::other("it cannot be seen")),
    }
}

fn connect_tcp(port: u16) -> EscapeResult {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    TcpStream::connect_timeout(&address, Duration::from_secs(2))?;
    Ok(format!("connected to {address}"))
}

/// Through a descriptor, since a path of a socket may not be long.
fn connect_unix(dir: &Path) -> EscapeResult {
    let opened = openat(CWD, dir, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    UnixStream::connect(socket_in(&opened))?;
    Ok(format!("connected to {}", dir.join(SOCKET_FILE).display()))
}

pub fn socket_in(dir: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}/{SOCKET_FILE}", dir.as_raw_fd()))
}

fn connect_abstract(name: &str) -> EscapeResult {
    UnixStream::connect_addr(&std::os::unix::net::SocketAddr::from_abstract_name(name)?)?;
    Ok(format!("connected to @{name}"))
}

/// With a signal that everyone ignores who does not ask for it.
fn signal(to: ProcessId) -> EscapeResult {
    let pid = Pid::from_raw(to.pid).ok_or(io::ErrorKind::InvalidInput)?;
    kill_process(pid, Signal::URG)?;
    match ProcessId::of(to.pid) {
        Some(found) if found == to => Ok(format!("SIGURG was sent to process {}", to.pid)),
        Some(_) | None => Err(io::Error::other("it cannot be seen")),
    }
}

fn unshare(flags: UnshareFlags) -> io::Result<()> {
    // SAFETY: no descriptor table is unshared, and a probe has one thread.
    Ok(unsafe { unshare_unsafe(flags) }?)
}

/// In a mount namespace of its own if one can be had, so that a success does not touch the host.
fn mount_something(at: &Path) -> io::Result<()> {
    let mut flags = UnshareFlags::NEWNS;
    flags.set(UnshareFlags::NEWUSER, !geteuid().is_root());
    let alone = unshare(flags)
        .and_then(|()| Ok(mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?));
    mount("none", at, "tmpfs", MountFlags::empty(), c"size=4k")?;
    if alone.is_err() {
        unmount(at, UnmountFlags::DETACH).ok();
    }
    Ok(())
}

fn in_a_child(attempt: impl FnOnce() -> io::Result<()>) -> EscapeResult {
    let child = || match attempt() {
        Ok(()) => sys::exit_now(0),
        Err(error) => sys::exit_now(error.raw_os_error().unwrap_or(libc::EIO)),
    };
    // SAFETY: a probe has one thread.
    let pid = unsafe { sys::fork(child) }?;
    match waitpid(Some(pid), WaitOptions::empty())?.map(|(_, status)| status) {
        Some(status) if status.exit_status() == Some(0) => Ok("it was made".to_owned()),
        Some(status) => Err(match status.exit_status() {
            Some(errno) => io::Error::from_raw_os_error(errno),
            None => io::Error::other(format!("ended with signal {:?}", status.terminating_signal())),
        }),
        None => Err(io::Error::other("the child cannot be found")),
    }
}

/// Twice forked and in a session of its own. It holds a lock as long as it lives, which the prover tries.
fn leave_daemon(work: &Path) -> EscapeResult {
    let path = work.join(DAEMON_FILE);
    let file = std::fs::File::create(&path)?;
    let grandchild = || {
        setsid().ok();
        flock(&file, FlockOperation::LockExclusive).ok();
        // Whoever waits for the end of our output must not wait for this process.
        for fd in 0..3 {
            // SAFETY: this process neither reads nor prints.
            unsafe { libc::close(fd) };
        }
        (&file).write_all(b"up").ok();
        std::thread::sleep(DAEMON_LIFE);
        sys::exit_now(0);
    };
    let child = || {
        setsid().ok();
        // SAFETY: a forked probe has one thread, as the probe had.
        unsafe { sys::fork(grandchild) }.ok();
        sys::exit_now(0);
    };
    // SAFETY: a probe has one thread.
    let pid = unsafe { sys::fork(child) }?;
    waitpid(Some(pid), WaitOptions::empty())?;
    let deadline = Instant::now() + DAEMON_PATIENCE;
    while std::fs::read(&path)? != b"up" {
        if Instant::now() > deadline {
            return Err(io::Error::other("it did not come up"));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok("it was alive when its parent ended".to_owned())
}
