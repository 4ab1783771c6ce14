//! Whether a level holds on this machine: found out by attack, not by asking for versions.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{CWD, Mode, OFlags, openat};
use serde::{Deserialize, Serialize};
use windlass_core::policy::{NetworkKind, NetworkPolicy, SandboxLevel};

use crate::container::Image;
use crate::finished::{Containment, ProgramExit};
use crate::procfs::ProcessId;
use crate::program::{Program, ProgramLimits};
use crate::record;
use crate::sandbox::attack::{DAEMON_FILE, Escape, SECRET, Targets, Tried, socket_in};
use crate::sandbox::{Confinement, Inspection, Reach};
use crate::spawner::Spawner;
use crate::warden::attack_arguments;

const PROOF_LIMIT: Duration = Duration::from_secs(60);
const UNTOUCHED: &str = "untouched";

/// What was tried inside a level, and whether the level held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxProof {
    pub level: SandboxLevel,
    /// The level can be made here, and every attempt was stopped.
    pub held: bool,
    /// Why nothing could be tried.
    pub refused: Option<String>,
    pub attempts: Vec<Attempted>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempted {
    pub what: String,
    /// The attack was stopped; or, for what a program must be able to do, it was not.
    pub held: bool,
    pub detail: String,
}

impl SandboxProof {
    fn refused(level: SandboxLevel, why: String) -> SandboxProof {
        SandboxProof { level, held: false, refused: Some(why), attempts: Vec::new() }
    }
}

impl Spawner {
    /// Runs a program of ours at `level`, with no network, that tries to get out; then looks what it did.
    /// `scratch` is an existing directory, which is left as it was.
    pub fn prove(&self, level: SandboxLevel, scratch: &Path) -> SandboxProof {
        self.prove_in(level, None, scratch)
    }

    /// The same attacks, from inside a container of this image.
    pub fn prove_container(&self, image: &Image, scratch: &Path) -> SandboxProof {
        self.prove_in(SandboxLevel::Container, Some(image), scratch)
    }

    fn prove_in(&self, level: SandboxLevel, image: Option<&Image>, scratch: &Path) -> SandboxProof {
        let proven = self.in_probe_dir(scratch, |place| self.prove_at(level, image, place));
        proven.unwrap_or_else(|error| {
            let why = format!("cannot prepare a test of the level in {}: {error}", scratch.display());
            SandboxProof::refused(level, why)
        })
    }

    fn prove_at(&self, level: SandboxLevel, image: Option<&Image>, place: &Path) -> io::Result<SandboxProof> {
        let ground = Ground::lay(level, place)?;
        let mut program = self.attacker(level, &ground)?;
        if let Some(image) = image {
            housed(&mut program, image, place)?;
        }
        // Only without a PID namespace does an unconfined program see the supervisor it attacks.
        let spawner = match level {
            SandboxLevel::None => self.clone().contained_by(Containment::Subreaper),
            SandboxLevel::Landlock | SandboxLevel::Namespaces | SandboxLevel::Container => self.clone(),
        };
        let finished = spawner.start_with_every_defence(&program).map_err(io::Error::other)?.wait();
        let why = match finished.exit {
            ProgramExit::Code(0) => match finished.stdout.write_error {
                Some(error) => format!("cannot keep what the test of the level says: {error}"),
                None => return ground.judge(level, &finished.stdout.path),
            },
            ProgramExit::NotStarted { why } => why,
            ended @ (ProgramExit::Code(_)
            | ProgramExit::Signal(_)
            | ProgramExit::TimedOut
            | ProgramExit::Stalled
            | ProgramExit::Cancelled
            | ProgramExit::WardenLost { .. }) => {
                let said = [record::stderr_path(&program.dir), record::log_path(&program.dir)]
                    .map(|path| std::fs::read(path).unwrap_or_default())
                    .concat();
                format!(
                    "the test of the level ended with {ended:?}: {}",
                    String::from_utf8_lossy(&said).trim()
                )
            }
        };
        Ok(SandboxProof::refused(level, why))
    }

    fn attacker(&self, level: SandboxLevel, ground: &Ground) -> io::Result<Program> {
        let binary = self.own_binary(&ground.place)?;
        let targets = &ground.targets;
        let mut reach = if level == SandboxLevel::Container { Reach::default() } else { Reach::system() };
        reach.read.extend([binary.clone(), targets.shared.clone()]);
        reach.write.push(targets.work.clone());
        reach.hide.extend(["hidden-file", "hidden"].map(|name| targets.shared.join(name)));
        reach.scratch = Some(ground.place.join("scratch"));
        Ok(Program {
            argv: [binary.into_os_string()].into_iter().chain(attack_arguments()).collect(),
            cwd: targets.work.clone(),
            env: Vec::new(),
            stdin: serde_json::to_vec(targets)?,
            limits: ProgramLimits { wall: PROOF_LIMIT, ..ProgramLimits::none(1 << 20) },
            confinement: Confinement {
                level,
                reach,
                network: NetworkPolicy { kind: NetworkKind::None, allow: Vec::new() },
                inspection: Inspection::Refused,
                tree: None,
                layers: Vec::new(),
                image: None,
                counted: Vec::new(),
            },
            dir: ground.place.join("attempt"),
            marker: format!("proof {}", ground.place.display()),
        })
    }

    /// By its path, which can be shown inside a level; copied where an upgrade has removed it.
    fn own_binary(&self, place: &Path) -> io::Result<PathBuf> {
        std::fs::canonicalize(self.warden_path()).or_else(|_| {
            let (from, copy) = (self.warden_path(), place.join("probe"));
            let copied = std::fs::copy(from, &copy);
            copied.map_err(|error| io::Error::other(format!("{}: {error}", from.display())))?;
            Ok(copy)
        })
    }
}

/// An image need not have the C library that this binary is linked with, so the attacker brings its own.
fn housed(program: &mut Program, image: &Image, place: &Path) -> io::Result<()> {
    program.confinement.image = Some(image.clone());
    let dir = place.join("libraries");
    std::fs::create_dir(&dir)?;
    let mut loader = None;
    for library in libraries()? {
        let Some(name) = library.file_name() else { continue };
        std::fs::copy(&library, dir.join(name))?;
        if name.as_encoded_bytes().starts_with(b"ld-") {
            loader = Some(dir.join(name));
        }
    }
    if let Some(loader) = loader {
        let first = [loader.into_os_string(), "--library-path".into(), dir.clone().into_os_string()];
        program.argv.splice(0..0, first);
    }
    program.confinement.reach.read.push(dir);
    Ok(())
}

/// What this process is made of, beside its binary.
fn libraries() -> io::Result<BTreeSet<PathBuf>> {
    let maps = std::fs::read_to_string("/proc/self/maps")?;
    let mapped = maps.lines().filter_map(|line| line.find('/').map(|at| PathBuf::from(&line[at..])));
    let is_library = |path: &PathBuf| {
        path.file_name()
            .and_then(|name| name.to_str())
            .is_some_and(|name| name.ends_with(".so") || name.contains(".so."))
    };
    Ok(mapped.filter(is_library).filter(|path| path.is_file()).collect())
}

/// What is planted for one proof.
struct Ground {
    place: PathBuf,
    targets: Targets,
    tcp: TcpListener,
    unix: UnixListener,
    by_name: UnixListener,
}

impl Ground {
    fn lay(level: SandboxLevel, place: &Path) -> io::Result<Ground> {
        let made = |name: &str| std::fs::create_dir_all(place.join(name)).map(|()| place.join(name));
        made("attempt")?;
        made("scratch")?;
        let (shared, beside, home) = (made("shared")?, made("beside")?, made("home")?);
        made("shared/hidden")?;
        std::fs::write(shared.join("open"), "for all")?;
        for secret in [shared.join("hidden-file"), shared.join("hidden/secret"), home.join("secret")] {
            std::fs::write(secret, SECRET)?;
        }
        std::fs::write(beside.join("canary"), UNTOUCHED)?;
        std::fs::write(home.join(".profile"), UNTOUCHED)?;
        let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let sockets = made("sockets")?;
        let dir = openat(CWD, &sockets, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        let unix = UnixListener::bind(socket_in(&dir))?;
        let this = std::process::id() as i32;
        let supervisor =
            ProcessId::of(this).ok_or_else(|| io::Error::other("this process is not in /proc"))?;
        let abstract_name = format!("windlass {this} {}", place.display());
        let abstract_name = abstract_name
            [abstract_name.floor_char_boundary(abstract_name.len().saturating_sub(100))..]
            .to_owned();
        let by_name = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&abstract_name)?)?;
        tcp.set_nonblocking(true)?;
        unix.set_nonblocking(true)?;
        by_name.set_nonblocking(true)?;
        let tcp_port = tcp.local_addr()?.port();
        let work = made("work")?;
        let targets =
            Targets { level, work, shared, beside, home, sockets, abstract_name, tcp_port, supervisor };
        Ok(Ground { place: place.to_path_buf(), targets, tcp, unix, by_name })
    }

    /// The probe's own word counts against the level, never for it: what can be seen from here is looked at.
    fn judge(&self, level: SandboxLevel, said: &Path) -> io::Result<SandboxProof> {
        let text = std::fs::read_to_string(said)?;
        let tried: Vec<Tried> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let mut attempts = Vec::new();
        for attack in Escape::tried_at(level) {
            let Some(tried) = tried.iter().find(|tried| tried.attack == attack) else {
                return Ok(SandboxProof::refused(
                    level,
                    format!("the test did not try to {}", attack.what()),
                ));
            };
            attempts.push(self.attempted(tried)?);
        }
        Ok(SandboxProof { level, held: attempts.iter().all(|attempt| attempt.held), refused: None, attempts })
    }

    fn attempted(&self, tried: &Tried) -> io::Result<Attempted> {
        let mut detail = tried.detail.clone();
        let held = if tried.attack == Escape::OwnWork {
            tried.went_through && self.targets.work.join("made").exists()
        } else if tried.attack == Escape::Daemon {
            // One that did not come up proves nothing.
            let dead = tried.went_through && self.daemon_is_dead()?;
            if tried.went_through {
                detail = if dead { "it was ended" } else { "it lives on" }.to_owned();
            }
            dead
        } else {
            !tried.went_through && !self.was_hit(tried.attack)?
        };
        Ok(Attempted { what: tried.attack.what().to_owned(), held, detail })
    }

    fn daemon_is_dead(&self) -> io::Result<bool> {
        let file = File::open(self.targets.work.join(DAEMON_FILE))?;
        Ok(record::try_lock(file)?.is_some())
    }

    fn was_hit(&self, attack: Escape) -> io::Result<bool> {
        let changed = |path: PathBuf| Ok(std::fs::read_to_string(path)? != UNTOUCHED);
        match attack {
            Escape::WriteBeside => changed(self.targets.beside.join("canary")),
            Escape::WriteHome => changed(self.targets.home.join(".profile")),
            Escape::ConnectTcp => Ok(self.tcp.accept().is_ok()),
            Escape::ConnectUnix => Ok(self.unix.accept().is_ok()),
            Escape::ConnectAbstract => Ok(self.by_name.accept().is_ok()),
            Escape::OwnWork
            | Escape::ReadSecret
            | Escape::ReadHidden
            | Escape::ReadEnvironment
            | Escape::Signal
            | Escape::UserNamespace
            | Escape::Mount
            | Escape::TraceNeighbour
            | Escape::ReadMemory
            | Escape::ChangeMemory
            | Escape::TakeDescriptor
            | Escape::Daemon => Ok(false),
        }
    }
}
