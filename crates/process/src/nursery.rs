//! Starts wardens by forking one that waits, instead of loading the program anew for each: a start is most of
//! what a warden costs.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Pid;

use crate::handing;
use crate::running::{Handle, Warden};
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
    /// Our ends of the one that was asked for ahead, whose answer was not looked at yet.
    ahead: Option<Pipes>,
}

#[derive(Debug)]
struct Pipes {
    control: OwnedFd,
    answer: OwnedFd,
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
        Ok(Nursery { socket: Some(ours), child, ahead: None })
    }

    /// A warden that waits for its request. After an error, this nursery is of no more use.
    pub fn warden(&mut self) -> io::Result<Warden> {
        let pipes = match self.ahead.take() {
            Some(pipes) => pipes,
            None => self.ask()?,
        };
        let (note, fds) = handing::receive(self.socket()?)?.ok_or(Errno::PIPE)?;
        let number = i32::from_ne_bytes(note.try_into().map_err(|_| Errno::BADMSG)?);
        let handle = match (Pid::from_raw(number), fds.into_iter().next()) {
            (Some(_), Some(fd)) => Handle { fd },
            _ => return Err(io::Error::from_raw_os_error(-number)),
        };
        Ok(Warden { handle, control: pipes.control.into(), answer: pipes.answer.into() })
    }

    /// Has the next one forked while nobody waits for it.
    pub fn look_ahead(&mut self) {
        if self.ahead.is_none() {
            self.ahead = self.ask().ok();
        }
    }

    fn ask(&self) -> io::Result<Pipes> {
        let (theirs, control) = pipe_with(PipeFlags::CLOEXEC)?;
        let (answer, result) = pipe_with(PipeFlags::CLOEXEC)?;
        handing::send(self.socket()?, b"f", &[theirs.as_fd(), result.as_fd()])?;
        Ok(Pipes { control, answer })
    }

    fn socket(&self) -> io::Result<&OwnedFd> {
        Ok(self.socket.as_ref().ok_or(Errno::PIPE)?)
    }
}

impl Drop for Nursery {
    fn drop(&mut self) {
        if self.ahead.is_some() {
            // It has nothing to do, and ends when it is told so.
            if let Ok(Warden { handle, control, .. }) = self.warden() {
                drop(control);
                handle.ends_within(PATIENCE);
            }
        }
        drop(self.socket.take());
        let ended = Handle::of_child(&self.child).is_ok_and(|handle| handle.ends_within(PATIENCE));
        if !ended {
            self.child.kill().ok();
        }
        self.child.wait().ok();
    }
}
