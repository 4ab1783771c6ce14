//! The nursery's own side: it waits, and forks a warden whenever one is asked for.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::process::{
    DumpableBehavior, Pid, PidfdFlags, WaitOptions, getpid, pidfd_open, set_dumpable_behavior, setpgid, wait,
};

use crate::handing;
use crate::sys;

/// Returns when the supervisor is gone or wants no more; never in a forked warden, which runs `warden`.
pub fn tend(warden: fn() -> io::Result<()>) -> io::Result<()> {
    let socket = rustix::stdio::stdin();
    sys::close_from(3)?;
    rustix::thread::set_name(c"windlass-nursery").ok();
    sys::settle_signals()?;
    // Nobody else of this user may look into what decides what is believed.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    while let Some((_, fds)) = next_question(socket)? {
        let forked = fork(&fds, warden);
        drop(fds);
        match forked {
            Ok((pid, handle)) => {
                handing::send(socket, &pid.as_raw_pid().to_ne_bytes(), &[handle.as_fd()])?;
            }
            Err(error) => {
                let number = -error.raw_os_error().unwrap_or(libc::EIO);
                handing::send(socket, &number.to_ne_bytes(), &[])?;
            }
        }
    }
    Ok(())
}

/// Wardens that have ended are waited for meanwhile, so that what they used counts as the supervisor's.
fn next_question(socket: BorrowedFd<'_>) -> io::Result<Option<(Vec<u8>, Vec<OwnedFd>)>> {
    loop {
        while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
        let mut slots = [libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLIN, revents: 0 }];
        sys::wait_for(&mut slots, None)?;
        if slots[0].revents != 0 {
            return handing::receive(socket);
        }
    }
}

fn fork(fds: &[OwnedFd], warden: fn() -> io::Result<()>) -> io::Result<(Pid, OwnedFd)> {
    let stdio: Vec<BorrowedFd<'_>> = fds.iter().map(AsFd::as_fd).chain([rustix::stdio::stderr()]).collect();
    let child = || {
        setpgid(Some(getpid()), Some(getpid())).ok();
        if let Err(error) = sys::keep_only(&stdio).and_then(|()| warden()) {
            eprintln!("warden: {error}");
            sys::exit_now(1);
        }
        sys::exit_now(0);
    };
    // SAFETY: this process has one thread.
    let pid = unsafe { sys::fork(child) }?;
    // One that has ended already was not waited for yet, so the number is its own.
    Ok((pid, pidfd_open(pid, PidfdFlags::empty())?))
}
