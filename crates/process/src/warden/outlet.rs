//! The process that serves the proxy of one attempt, outside of the program's network.
//!
//! A process, because a warden that has entered a PID namespace for its next child can start no threads; and
//! forked before that, because afterwards it would be the namespace's init.

use std::fs::File;
use std::io::{self, Write};
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::path::Path;

use rustix::process::{
    Pid, Signal, WaitOptions, getpid, getppid, kill_process, set_parent_process_death_signal, waitpid,
};
use windlass_proxy::{self as proxy, AllowList};

use crate::record;
use crate::sandbox;
#[cfg(feature = "weaken")]
use crate::sandbox::{SandboxDefence, Weakened};
use crate::sys;

/// Where the outlet finds its end of the handover, behind the usual three.
const HANDOVER: RawFd = 3;
const REFUSALS: RawFd = 4;

pub struct Outlet {
    pid: Pid,
    /// Where the leader hands in its listener.
    inside: OwnedFd,
}

impl Outlet {
    /// In a warden that has entered nothing and opened nothing. What is refused is written down in `dir`.
    pub fn start(hosts: &[String], dir: &Path) -> Result<Outlet, String> {
        let allow = AllowList::parse(hosts).map_err(|error| error.to_string())?;
        let unable = |error| format!("cannot start a process for the proxy: {error}");
        let (inside, outside) = sandbox::handover().map_err(unable)?;
        let refusals = File::create(record::refusals_path(dir)).map_err(unable)?;
        let warden = getpid();
        // SAFETY: a warden has one thread.
        let pid = unsafe { sys::fork(|| serve(warden, &outside, &refusals, allow)) }.map_err(unable)?;
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

fn serve(warden: Pid, outside: &OwnedFd, refusals: &File, allow: AllowList) {
    set_parent_process_death_signal(Some(Signal::KILL)).ok();
    if getppid() != Some(warden) {
        return;
    }
    rustix::thread::set_name(c"windlass-outlet").ok();
    let usual = [rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr()];
    let keep = [usual[0], usual[1], usual[2], outside.as_fd(), refusals.as_fd()];
    if sys::keep_only(&keep).is_err() || sys::default_signals().is_err() {
        return;
    }
    // SAFETY: put there by `keep_only`, and taken once.
    let (outside, refusals) = unsafe { (OwnedFd::from_raw_fd(HANDOVER), File::from_raw_fd(REFUSALS)) };
    match sandbox::take_listener(&outside) {
        Ok(Some(listener)) => serve_until_killed(listener, allow, refusals),
        // The leader went away, and has said why.
        Ok(None) => {}
        Err(error) => sys::note(&format!("cannot take the listener of a proxy: {error}")),
    }
}

fn serve_until_killed(listener: TcpListener, allow: AllowList, mut refusals: File) {
    let log = move |refusal: proxy::RefusedRequest| {
        // A disk that is full hides a refusal, and allows nothing.
        writeln!(refusals, "{}: {}", refusal.what, refusal.why).ok();
    };
    #[cfg(feature = "weaken")]
    if !Weakened::from_environment().keeps(SandboxDefence::LaterRequests) {
        return go_on_serving(proxy::serve_later_requests(listener, allow, log));
    }
    go_on_serving(proxy::serve(listener, allow, log));
}

fn go_on_serving(served: io::Result<proxy::ProxyHandle>) {
    match served {
        Ok(_proxy) => loop {
            std::thread::park();
        },
        Err(error) => sys::note(&format!("cannot serve a proxy: {error}")),
    }
}
