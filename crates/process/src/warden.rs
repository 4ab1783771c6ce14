//! The process that stands over one attempt. Started by [`crate::Spawner`], never by a person.
//!
//! Order of duties: take the lock; start a leader that waits; write the record; look whether the supervisor
//! still lives; say go; watch; end the tree; put the output in order; remove the record; answer; leave.

mod capture;
mod housed;
mod launch;
mod namespace;
mod outlet;
mod overlay;
mod pulse;
mod report;
mod terminate;
mod tracer;
mod watch;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::RawFd;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use rustix::process::{DumpableBehavior, getpid, getppid, set_child_subreaper, set_dumpable_behavior};

use crate::finished::{Containment, Finished, ProgramExit};
use crate::procfs::{self, ProcessId};
use crate::program::Program;
use crate::record::{self, ProcessRecord};
use crate::resources::ResourceGuard;
use crate::sandbox::{SandboxDefence, Weakened};
use crate::sys;
use crate::wire::{self, WantedContainment, WardenRequest};
use housed::Housed;
use launch::Launched;
use outlet::Outlet;
use terminate::{Left, ProcessTree};
use watch::ProgramWatch;

/// The first argument of the binary that means: call [`warden_main`] with what follows, and do nothing else.
pub const WARDEN_ARG: &str = "__warden";

const PROBE_ARG: &str = "probe";
const ATTACK_ARG: &str = "attack";
const NEIGHBOUR_ARG: &str = "neighbour";

/// Descriptors of a leader, behind the program's own three.
const REPORT: RawFd = 3;
const GO: RawFd = 4;
/// Behind the lock: where the leader hands out the listener of a proxy, if there is one.
const HANDOVER: RawFd = 6;

/// The hidden mode of the binary. Must be called before any thread is started, since it forks.
pub fn warden_main(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    match args.next() {
        Some(word) if word == PROBE_ARG => act_as_probe(args.next()),
        Some(word) => {
            sys::note(&format!("the warden does not know {}", word.display()));
            ExitCode::from(2)
        }
        None => match attend() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                sys::note(&format!("warden: {error}"));
                ExitCode::FAILURE
            }
        },
    }
}

/// The arguments that make this binary a probe: a program that only shows whether it is contained, and that
/// it may write in the current directory.
pub(crate) fn probe_arguments(writes: Option<&str>) -> Vec<OsString> {
    [WARDEN_ARG, PROBE_ARG].into_iter().chain(writes).map(OsString::from).collect()
}

/// The arguments that make this binary a program that tries to get out of its confinement.
pub(crate) fn attack_arguments() -> Vec<OsString> {
    probe_arguments(Some(ATTACK_ARG))
}

/// The arguments that make this binary a program beside it, which it tries to look into.
pub(crate) fn neighbour_arguments() -> Vec<OsString> {
    probe_arguments(Some(NEIGHBOUR_ARG))
}

fn act_as_probe(writes: Option<OsString>) -> ExitCode {
    let part = match writes.as_ref().and_then(|word| word.to_str()) {
        Some(ATTACK_ARG) => Some(crate::sandbox::act_as_attacker()),
        Some(NEIGHBOUR_ARG) => Some(crate::sandbox::act_as_neighbour()),
        Some(_) | None => None,
    };
    if let Some(played) = part {
        return match played {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                sys::note(&format!("cannot test a confinement: {error}"));
                ExitCode::FAILURE
            }
        };
    }
    let contained = getppid().is_some_and(|parent| parent.is_init());
    let written = writes.is_none_or(|name| std::fs::write(name, "probe").is_ok());
    if contained && written { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn attend() -> io::Result<()> {
    sys::settle_signals()?;
    if Weakened::from_environment().keeps(SandboxDefence::Descriptors) {
        sys::close_from(3)?;
    }
    set_child_subreaper(Some(getpid()))?;
    rustix::thread::set_name(c"windlass-warden").ok();
    let (mut control, mut result) = take_pipes()?;
    let Some(request) = wire::read_request(&mut control)? else { return Ok(()) };
    rustix::io::ioctl_fionbio(&control, true)?;
    let finished = stand_over(request, control);
    // A supervisor that is gone reads nothing; that is no failure of ours.
    result.write_all(&serde_json::to_vec(&finished)?).ok();
    Ok(())
}

/// Moves our two pipes out of the way of stdin and stdout, so that nothing that is started inherits them.
fn take_pipes() -> io::Result<(File, File)> {
    let control = File::from(rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?);
    let result = File::from(rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?);
    let null = File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    Ok((control, result))
}

fn stand_over(mut request: WardenRequest, control: File) -> Finished {
    let prepared = match prepare(&mut request) {
        Ok(prepared) => prepared,
        Err(why) => {
            // Before a program is contained, all that can be said is what was asked for.
            let containment = match request.containment {
                WantedContainment::Exactly(containment) => containment,
                WantedContainment::Best => Containment::Subreaper,
            };
            return Finished::without_output(
                &request.program.dir,
                ProgramExit::NotStarted { why },
                containment,
            );
        }
    };
    // Nobody else of this user may look into a warden, whose result pipe decides what is believed. Until here it needs its
    // own files in /proc, which are root's from now on.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).ok();
    run(request.program, control, prepared)
}

struct Prepared {
    /// Held until the tree is empty.
    lock: File,
    guard: ResourceGuard,
    launched: Launched,
    housed: Option<Housed>,
}

fn prepare(request: &mut WardenRequest) -> Result<Prepared, String> {
    let dir = &request.program.dir;
    let path = record::lock_path(dir);
    let lock = File::options().write(true).create(true).truncate(false).open(&path);
    let lock = lock
        .and_then(record::try_lock)
        .map_err(|error| format!("cannot lock {}: {error}", path.display()))?;
    let lock = lock.ok_or_else(|| format!("{} is locked: the attempt has a warden", path.display()))?;
    let cwd = request.program.cwd.clone();
    let housed = Housed::wrap(request)?;
    // Before a namespace is entered: a group is made with the rights this user has outside.
    let guard = ResourceGuard::new(&request.program, cwd);
    match launch::launch(request, &guard, &lock) {
        Ok(launched) => Ok(Prepared { lock, guard, launched, housed }),
        Err(why) => {
            guard.finish(&ProgramExit::Cancelled);
            Err(why)
        }
    }
}

/// Writes the record, starts the program if there is still someone to start it for, and sees it through.
fn run(mut program: Program, control: File, prepared: Prepared) -> Finished {
    let Prepared { lock, mut guard, launched, housed } = prepared;
    let Launched { tree, go, pipes, outlet } = launched;
    let containment = tree.containment;
    let begun = write_record(&program, tree.leader.as_raw_pid(), housed.as_ref())
        .and_then(|()| guard.adopt(tree.leader))
        .and_then(|()| ProgramWatch::new(&mut program, control, pipes));
    let mut watch = match begun {
        Ok(watch) => watch,
        Err(why) => {
            outlet.into_iter().for_each(Outlet::end);
            tree.end(Left::Program, &guard).ok();
            guard.finish(&ProgramExit::Cancelled);
            return Finished::without_output(&program.dir, ProgramExit::NotStarted { why }, containment);
        }
    };
    let started = Instant::now();
    // The last look before the program exists: a supervisor that died meanwhile has perhaps been replaced
    // by one that believes nothing is running.
    let (exit, left) = match watch.supervisor_is_waiting() {
        true => {
            rustix::io::write(&go, b"g").ok();
            drop(go);
            watch.until_the_end(&tree, &mut guard, started)
        }
        false => (ProgramExit::Cancelled, Left::Program),
    };
    outlet.into_iter().for_each(Outlet::end);
    let finished = EndedProgram { dir: &program.dir, tree, guard, watch, housed }.finish(exit, left, started);
    drop(lock);
    finished
}

/// A program that has ended or must be killed, with whatever it left.
struct EndedProgram<'a> {
    dir: &'a Path,
    tree: ProcessTree,
    guard: ResourceGuard,
    watch: ProgramWatch,
    housed: Option<Housed>,
}

impl EndedProgram<'_> {
    /// Ends the tree, puts the output in order, and removes the record once nothing is alive.
    fn finish(mut self, exit: ProgramExit, left: Left, started: Instant) -> Finished {
        let containment = self.tree.containment;
        if left != Left::Nothing {
            self.guard.look_at_strays(self.tree.leader, containment);
        }
        let ended = self.tree.end(left, &self.guard).unwrap_or_else(|error| {
            sys::note(&format!("cannot end the tree of {}: {error}", self.dir.display()));
            terminate::TreeEnd { stray_count: 0, survivor_count: 1 }
        });
        // Once nobody is left to be reaped: podman's containers are children of its client.
        let left_in_engine = self.housed.as_ref().map_or(0, Housed::end);
        let duration = started.elapsed();
        let stall = self.watch.stall();
        let (stdout, stderr) = self.watch.finish();
        let (trips, left_in_group) = self.guard.finish(&exit);
        let survivor_count = ended.survivor_count.max(left_in_group).max(left_in_engine);
        if survivor_count == 0 {
            ProcessRecord::remove(self.dir).ok();
        }
        let (exit, stray_count) = match &self.housed {
            // Beside a client there are helpers of the engine's, and nothing of the program's.
            Some(housed) => (housed.exit(exit, self.dir), 0),
            None => (exit, ended.stray_count),
        };
        Finished {
            stdout,
            stderr,
            duration,
            stray_count,
            survivor_count,
            trips,
            stall,
            refusals: record::refusals(self.dir),
            ..Finished::without_output(self.dir, exit, containment)
        }
    }
}

fn write_record(program: &Program, leader: i32, housed: Option<&Housed>) -> Result<(), String> {
    let failed = |error| format!("cannot write {}: {error}", record::record_path(&program.dir).display());
    make_record(program, leader, housed).map_err(failed)
}

fn make_record(program: &Program, leader: i32, housed: Option<&Housed>) -> io::Result<()> {
    let of =
        |pid| ProcessId::of(pid).ok_or_else(|| io::Error::other(format!("process {pid} is not in /proc")));
    let record = ProcessRecord {
        warden: of(getpid().as_raw_pid())?,
        boot_id: procfs::boot_id()?,
        leader: of(leader)?,
        marker: program.marker.clone(),
        container: housed.map(Housed::named),
    };
    record.write(&program.dir)
}
