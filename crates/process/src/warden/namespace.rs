//! A PID namespace of the attempt's own, and its init.
//!
//! When the init dies the kernel kills everything in the namespace, however it forked, hid or left its
//! session; the init is reaped only after the last of them is gone. The warden stays outside.
//!
//! At [`SandboxLevel::Namespaces`](windlass_core::policy::SandboxLevel::Namespaces) the init also makes every other namespace, and the root
//! directory that the program will see.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::FromRawFd;

use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{
    DumpableBehavior, Pid, Signal, getegid, geteuid, set_dumpable_behavior, set_parent_process_death_signal,
    setsid,
};
use rustix::thread::{UnshareFlags, unshare_unsafe};

use crate::program::{Program, ThrowawayTree};
use crate::ptrace::TracerDeath;
use crate::sandbox::{self, Enclosure, SandboxDefence, Weakened};
use crate::sys;
use crate::warden::launch::{PreparedCommand, wait_for_go};
use crate::warden::tracer::{Tracer, next_ended};
use crate::warden::{HANDOVER, REPORT, overlay, report};

/// The next child of this process is the init of a namespace.
#[derive(Clone, Copy)]
pub struct Entered {
    pub user_namespace: bool,
    pub pid_namespace: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum EnterError {
    /// Nothing has changed: another containment may still be chosen.
    #[error("no PID namespace: {0}")]
    Refused(io::Error),
    /// This process is in a user namespace it cannot use, and cannot leave.
    #[error("cannot map the user of a namespace: {0}")]
    Unmapped(io::Error),
}

/// Root needs no user namespace, and must not get one: with a single mapped user it could no longer touch
/// the files of others. Anyone else needs one, keeps uid and gid, and loses set-uid programs such as sudo.
pub fn enter() -> Result<Entered, EnterError> {
    enter_with(UnshareFlags::NEWPID)
}

/// Everything but the PID namespace.
#[cfg(feature = "weaken")]
pub fn enter_without_processes() -> Result<Entered, EnterError> {
    enter_with(UnshareFlags::empty())
}

fn enter_with(mut flags: UnshareFlags) -> Result<Entered, EnterError> {
    let (uid, gid) = (geteuid(), getegid());
    let user_namespace = !uid.is_root();
    let pid_namespace = flags.contains(UnshareFlags::NEWPID);
    flags.set(UnshareFlags::NEWUSER, user_namespace);
    let halves = halves_of_watches();
    // SAFETY: no descriptor table is unshared, and a warden has one thread.
    unsafe { unshare_unsafe(flags) }.map_err(|error| EnterError::Refused(error.into()))?;
    if user_namespace {
        let map = || {
            std::fs::write("/proc/self/setgroups", "deny")?;
            std::fs::write("/proc/self/uid_map", format!("{0} {0} 1", uid.as_raw()))?;
            std::fs::write("/proc/self/gid_map", format!("{0} {0} 1", gid.as_raw()))
        };
        map().map_err(EnterError::Unmapped)?;
        leave_watches_to_others(&halves);
    }
    Ok(Entered { user_namespace, pid_namespace })
}

/// Half of what the account may have, and of what the user namespace that this process is in may have, if it is
/// one that somebody made with less.
fn halves_of_watches() -> Vec<(&'static str, u64)> {
    let number = |path: String| std::fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let both = [("max_user_instances", "max_inotify_instances"), ("max_user_watches", "max_inotify_watches")];
    both.into_iter()
        .filter_map(|(of_account, of_namespace)| {
            let account = number(format!("/proc/sys/fs/inotify/{of_account}"))?;
            let most = number(format!("/proc/sys/user/{of_namespace}")).unwrap_or(account).min(account);
            Some((of_namespace, (most / 2).max(1)))
        })
        .collect()
}

/// What a user namespace has of these counts for the account as well, and one attempt could take all of them from
/// whoever else works under it. Half is many more than any tool opens. A kernel that counts otherwise is left as it
/// is.
fn leave_watches_to_others(halves: &[(&str, u64)]) {
    if !Weakened::from_environment().keeps(SandboxDefence::FileWatches) {
        return;
    }
    for (name, half) in halves {
        std::fs::write(format!("/proc/sys/user/{name}"), half.to_string()).ok();
    }
}

/// The init's whole life: mounts, the program, and then nothing but reaping.
pub fn lead(entered: Entered, program: &Program, command: &PreparedCommand) -> ! {
    // The warden's only thread is its main one, so this means the warden's death and nothing else.
    set_parent_process_death_signal(Some(Signal::KILL)).ok();
    setsid().ok();
    // SAFETY: the leader's report pipe, taken once in this process.
    let mut pipe = unsafe { File::from_raw_fd(REPORT) };
    let prepare = || -> Result<Option<sandbox::ReadyEnclosure>, String> {
        sys::block(&[libc::SIGCHLD, libc::SIGTERM]).map_err(|error| error.to_string())?;
        match &command.enclosure {
            Some(enclosure) => own_world(entered, program, enclosure)?,
            None => own_mounts(entered, program.confinement.tree.as_ref())?,
        }
        command.ready()
    };
    let ready = match prepare() {
        Ok(ready) => ready,
        Err(why) => {
            pipe.write_all(&report::not_started(&why)).ok();
            sys::exit_now(70);
        }
    };
    wait_for_go();
    // SAFETY: a forked warden has one thread, as the warden had.
    let (program, tracer) = match unsafe { start(command, ready) } {
        Ok(started) => started,
        Err(why) => {
            pipe.write_all(&report::not_started(&why)).ok();
            sys::exit_now(70);
        }
    };
    let_go_of_stdio();
    reap_until_told(program, tracer, pipe)
}

/// The program's process, which is traced before it becomes the program if it is to be kept apart.
///
/// # Safety
/// As of [`sys::fork`].
unsafe fn start(
    command: &PreparedCommand,
    ready: Option<sandbox::ReadyEnclosure>,
) -> Result<(Pid, Option<Tracer>), String> {
    // SAFETY: the caller promises a single thread.
    let forked = |child: &mut dyn FnMut()| {
        unsafe { sys::fork(child) }.map_err(|error| format!("cannot fork: {error}"))
    };
    let mut ready = Some(ready);
    if !command.is_kept_apart() {
        close_to_program();
        return Ok((forked(&mut || command.execute(ready.take().flatten()))?, None));
    }
    let (mut waits, traced) = pipe_with(PipeFlags::CLOEXEC)
        .map(|(waits, traced)| (File::from(waits), File::from(traced)))
        .map_err(|error| format!("cannot make a pipe: {error}"))?;
    let mut traced = Some(traced);
    let program = forked(&mut || {
        drop(traced.take());
        if waits.read_exact(&mut [0]).is_err() {
            sys::exit_now(70);
        }
        command.execute(ready.take().flatten())
    })?;
    // Not before: only a copy of what is dumpable can be traced by an ordinary user.
    close_to_program();
    let tracer = Tracer::seize(program, TracerDeath::KillsAll)?;
    traced.take().map_or(Ok(()), |mut traced| traced.write_all(b"t")).map_err(|error| error.to_string())?;
    Ok((program, Some(tracer)))
}

/// Its own program must not look into an init: what it reports decides what is believed.
fn close_to_program() {
    set_dumpable_behavior(DumpableBehavior::NotDumpable).ok();
}

/// Every namespace but those of [`enter`], and nothing of the host but what the program may reach.
pub fn own_world(entered: Entered, program: &Program, enclosure: &Enclosure) -> Result<(), String> {
    // SAFETY: no descriptor table is unshared, and the leader has one thread.
    unsafe { unshare_unsafe(enclosure.namespaces()) }
        .map_err(|error| format!("no namespaces for mounts, messages, host name and network: {error}"))?;
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(|error| format!("cannot make the mounts private: {error}"))?;
    if let Some(tree) = &program.confinement.tree {
        overlay::mount_layers(tree, entered)?;
    }
    for layer in &program.confinement.layers {
        overlay::mount_layered_dir(layer, entered)?;
    }
    enclosure.enter_root(&program.dir, entered.pid_namespace)?;
    if enclosure.hosts().is_some() {
        // SAFETY: the leader's end of the handover, taken once in this process.
        let outside = unsafe { std::os::fd::OwnedFd::from_raw_fd(HANDOVER) };
        sandbox::hand_out_listener(outside).map_err(|error| format!("no listener for the proxy: {error}"))?;
    }
    Ok(())
}

fn own_mounts(entered: Entered, tree: Option<&ThrowawayTree>) -> Result<(), String> {
    // SAFETY: no descriptor table is unshared, and the init has one thread.
    let unshared = unsafe { unshare_unsafe(UnshareFlags::NEWNS) }
        .and_then(|()| mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC));
    match (unshared, tree) {
        (Ok(()), Some(tree)) => overlay::mount_tree(tree, entered)?,
        (Ok(()), None) => {}
        (Err(error), Some(_)) => return Err(format!("no mount namespace: {error}")),
        // Without one the program sees the host's /proc, where its pids have other numbers. It still runs,
        // and is still contained.
        (Err(_), None) => return Ok(()),
    }
    // A container may forbid it; the same holds.
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", "/proc", "proc", flags, None).ok();
    Ok(())
}

/// Until these are closed here, no one would see the end of the program's output.
fn let_go_of_stdio() {
    if let Ok(null) = File::options().read(true).write(true).open("/dev/null") {
        rustix::stdio::dup2_stdin(&null).ok();
        rustix::stdio::dup2_stdout(&null).ok();
        rustix::stdio::dup2_stderr(&null).ok();
    } else {
        for fd in 0..3 {
            // SAFETY: this process neither reads nor prints.
            unsafe { libc::close(fd) };
        }
    }
}

/// Reports the end of `program`, then leaves if it was the last. If it was not, the warden counts who is
/// left and ends this process, and with it the namespace.
fn reap_until_told(program: Pid, mut tracer: Option<Tracer>, mut pipe: File) -> ! {
    loop {
        let taken = sys::take_signal(&[libc::SIGCHLD, libc::SIGTERM]);
        if taken.signal == libc::SIGTERM {
            // A program may send one too; that is its own affair.
            if taken.from_outside {
                sys::signal_everyone(libc::SIGTERM);
                sys::signal_everyone(libc::SIGCONT);
            }
            continue;
        }
        let (ended, alone) = reap(program, tracer.as_mut());
        if let Some(status) = ended {
            pipe.write_all(&report::ended(status, alone)).ok();
            if alone {
                sys::exit_now(0);
            }
        }
    }
}

/// Every process of a namespace descends from its init, so an init without children is alone.
fn reap(program: Pid, mut tracer: Option<&mut Tracer>) -> (Option<i32>, bool) {
    let mut status_of_program = None;
    loop {
        match next_ended(tracer.as_deref_mut()) {
            Ok(Some((pid, status))) if pid == program => status_of_program = Some(status.as_raw()),
            Ok(Some(_)) => {}
            Ok(None) => return (status_of_program, false),
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return (status_of_program, true),
        }
    }
}
