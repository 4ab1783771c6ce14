//! Keeps every process of a program closed to all others: its memory, and its descriptors.
//!
//! The kernel lets a process read and write whatever else runs as the same user, unless that is undumpable, and makes
//! each process dumpable again when it becomes another program. So whoever stands over the tree traces all of it,
//! and has each process make itself undumpable as its first system call after an exec. That is all a tracer does: every
//! signal is delivered, every stop kept. A process that is traced cannot be traced by another, and dies with its tracer.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::io;

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, wait};

use crate::ptrace::{self, AT_CALL, CallSide, EVENT_EXEC, EVENT_STOP, PostponedCall, TracerDeath};

const STOP_SIGNALS: [c_int; 4] = [libc::SIGSTOP, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];

/// Those that are on their way to being undumpable.
pub struct Tracer {
    underway: BTreeMap<i32, Step>,
}

enum Step {
    /// Has become another program, which has made no call of its own.
    Executed,
    /// In the call by which it becomes undumpable.
    Closing(Box<PostponedCall>),
}

impl Tracer {
    /// Of a process that is about to become a program, and of all that will come from it.
    pub fn seize(pid: Pid, death: TracerDeath) -> Result<Tracer, String> {
        let refused = |error: io::Error| {
            format!(
                "cannot keep the processes of the program from one another's memory: tracing them is refused: {error} \
                 (kernel.yama.ptrace_scope above 1, a debugger around windlass, or a container that forbids ptrace)"
            )
        };
        ptrace::seize(pid, death).map_err(refused)?;
        Ok(Tracer { underway: BTreeMap::new() })
    }

    /// A process that is gone meanwhile, killed, needs nothing more.
    fn pass_on(&mut self, pid: Pid, status: WaitStatus) {
        let signal = status.stopping_signal().unwrap_or(0);
        let stopped = match status.as_raw() >> 16 {
            EVENT_EXEC => {
                self.underway.insert(pid.as_raw_pid(), Step::Executed);
                self.go_on(pid, 0)
            }
            EVENT_STOP if STOP_SIGNALS.contains(&signal) => ptrace::stay_stopped(pid),
            0 if signal == libc::SIGTRAP | AT_CALL => self.at_call(pid),
            0 => self.go_on(pid, signal),
            _ => self.go_on(pid, 0),
        };
        match stopped {
            Err(error) if error.raw_os_error() != Some(libc::ESRCH) => {
                // Rather none than one that is open to others, or stopped for ever.
                kill_process(pid, Signal::KILL).ok();
            }
            Ok(()) | Err(_) => {}
        }
    }

    fn at_call(&mut self, pid: Pid) -> io::Result<()> {
        let step = self.underway.remove(&pid.as_raw_pid());
        match (step, ptrace::side_of_call(pid)?) {
            (Some(Step::Executed), Some(CallSide::Entry)) => {
                let postponed = PostponedCall::replace_by_undumpable(pid)?;
                self.underway.insert(pid.as_raw_pid(), Step::Closing(Box::new(postponed)));
            }
            (Some(Step::Closing(postponed)), Some(CallSide::Exit)) => postponed.restore(pid)?,
            // The exit of the exec itself.
            (Some(step), _) => drop(self.underway.insert(pid.as_raw_pid(), step)),
            (None, _) => {}
        }
        self.go_on(pid, 0)
    }

    fn go_on(&self, pid: Pid, signal: c_int) -> io::Result<()> {
        match self.underway.contains_key(&pid.as_raw_pid()) {
            true => ptrace::go_on_to_call(pid, signal),
            false => ptrace::go_on(pid, signal),
        }
    }
}

/// The next child, or traced process or thread, that has ended. `None`: all the others are alive. Fails with `CHILD`
/// if there are no others.
pub fn next_ended(tracer: Option<&mut Tracer>) -> rustix::io::Result<Option<(Pid, WaitStatus)>> {
    let Some(tracer) = tracer else { return wait(WaitOptions::NOHANG) };
    // Threads, too.
    let options = WaitOptions::NOHANG | WaitOptions::from_bits_retain(libc::__WALL.cast_unsigned());
    loop {
        match wait(options)? {
            Some((pid, status)) if status.stopped() => tracer.pass_on(pid, status),
            Some((pid, status)) => {
                tracer.underway.remove(&pid.as_raw_pid());
                return Ok(Some((pid, status)));
            }
            None => return Ok(None),
        }
    }
}
