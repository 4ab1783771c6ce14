//! Starts wardens by forking one that waits, instead of loading the program anew for each: a start is most of
//! what a warden costs.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::Pid;

use crate::handing;
use crate::running::Handle;
use crate::warden::{NURSERY_ARG, WARDEN_ARG};

/// One that has not answered by then is stuck, or was stopped.
const PATIENCE: Duration = Duration::from_secs(10);

/// The process that waits, seen from the supervisor. Ends when this is dropped, or the supervisor dies; the
/// wardens live on, each as long as its own supervisor.
#[derive(Debug)]
pub struct Nursery {
    /// Taken before the process is waited for.
    socket: Option<OwnedFd>,
    child: Child,
}

impl Nursery {
    pub fn start(warden: &Path) -> io::Result<Nursery> {
        let (ours, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        set_socket_timeout(&ours, Timeout::Recv, Some(PATIENCE))?;
        let child = Command::new(warden)
            .arg0("windlass-nursery")
            .args([WARDEN_ARG, NURSERY_ARG])
            .env_clear()
            .stdin(theirs)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Out of reach of a terminal's Ctrl-C, as every warden.
            .process_group(0)
            .spawn()?;
        Ok(Nursery { socket: Some(ours), child })
    }

    /// A warden with these as its stdin, stdout and stderr.
    pub fn fork(&self, stdio: [BorrowedFd<'_>; 3]) -> io::Result<Handle> {
        let socket = self.socket.as_ref().ok_or(Errno::PIPE)?;
        handing::send(socket, b"f", &stdio)?;
        let (note, fds) = handing::receive(socket)?.ok_or(Errno::PIPE)?;
        let number = i32::from_ne_bytes(note.try_into().map_err(|_| Errno::BADMSG)?);
        match (Pid::from_raw(number), fds.into_iter().next()) {
            (Some(pid), Some(fd)) => Ok(Handle { pid, fd }),
            _ => Err(io::Error::from_raw_os_error(-number)),
        }
    }
}

impl Drop for Nursery {
    fn drop(&mut self) {
        drop(self.socket.take());
        let ended = Handle::of_child(&self.child).is_ok_and(|handle| handle.ends_within(PATIENCE));
        if !ended {
            self.child.kill().ok();
        }
        self.child.wait().ok();
    }
}
