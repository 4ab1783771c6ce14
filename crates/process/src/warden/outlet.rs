//! The process that serves the proxy of one attempt, outside of the program's network.
//!
//! A process, because a warden that has entered a PID namespace for its next child can start no threads; and
//! forked before that, because afterwards it would be the namespace's init.

use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use rustix::process::{
    Pid, Signal, WaitOptions, getpid, getppid, kill_process, set_parent_process_death_signal, waitpid,
};

use crate::sandbox::{self, Serve};
use crate::sys;

/// Called in the outlet's own process, which may start threads, with the listener that the leader made.
const SERVE: Serve = sandbox::refuse_all;

/// Where the outlet finds its end of the handover, behind the usual three.
const HANDOVER: RawFd = 3;

pub struct Outlet {
    pid: Pid,
    /// Where the leader hands in its listener.
    inside: OwnedFd,
}

impl Outlet {
    /// In a warden that has entered nothing and opened nothing.
    pub fn start() -> std::io::Result<Outlet> {
        let (inside, outside) = sandbox::handover()?;
        let warden = getpid();
        // SAFETY: a warden has one thread.
        let pid = unsafe { sys::fork(|| serve(warden, &outside)) }?;
        Ok(Outlet { pid, inside })
    }

    pub fn inside(&self) -> BorrowedFd<'_> {
        self.inside.as_fd()
    }

    /// Before the tree of the attempt is ended: a warden waits until it has no child left.
    pub fn end(self) {
        // One that has ended may have been reaped, and its pid be another's.
        if waitpid(Some(self.pid), WaitOptions::NOHANG).is_ok_and(|ended| ended.is_none()) {
            kill_process(self.pid, Signal::KILL).ok();
            waitpid(Some(self.pid), WaitOptions::empty()).ok();
        }
    }
}

fn serve(warden: Pid, outside: &OwnedFd) {
    set_parent_process_death_signal(Some(Signal::KILL)).ok();
    if getppid() != Some(warden) {
        return;
    }
    rustix::thread::set_name(c"windlass-outlet").ok();
    let keep = [rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr(), outside.as_fd()];
    if sys::keep_only(&keep).is_err() || sys::default_signals().is_err() {
        return;
    }
    // SAFETY: put there by `keep_only`, and taken once.
    let outside = unsafe { OwnedFd::from_raw_fd(HANDOVER) };
    match sandbox::take_listener(&outside) {
        Ok(Some(listener)) => SERVE(listener),
        // The leader went away, and has said why.
        Ok(None) => {}
        Err(error) => eprintln!("cannot take the listener of a proxy: {error}"),
    }
}
