//! Sockets whose every wait has a deadline and ends when the proxy is stopped.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with, sockopt};

/// Why a wait did not bring what was waited for.
#[derive(Debug)]
pub enum WaitError {
    Stopped,
    Late,
    Broken(io::Error),
}

/// Once raised it stays raised, for everyone who looks.
#[derive(Debug)]
pub struct EventFlag(OwnedFd);

impl EventFlag {
    pub fn new() -> io::Result<EventFlag> {
        Ok(EventFlag(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    pub fn raise(&self) {
        rustix::io::write(&self.0, &1u64.to_ne_bytes()).ok();
    }

    pub fn lower(&self) {
        rustix::io::read(&self.0, &mut [0; 8]).ok();
    }

    pub fn slot(&self) -> PollFd<'_> {
        PollFd::new(&self.0, PollFlags::IN)
    }
}

/// Returns when one of `slots` is ready. The first of them is the stop signal.
pub fn wait(slots: &mut [PollFd<'_>], until: Instant) -> Result<(), WaitError> {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).ok();
        match poll(slots, timeout.as_ref()) {
            Ok(0) if Instant::now() >= until => return Err(WaitError::Late),
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) if !slots[0].revents().is_empty() => return Err(WaitError::Stopped),
            Ok(_) => return Ok(()),
            Err(error) => return Err(WaitError::Broken(error.into())),
        }
    }
}

/// One end of a connection, never blocking by itself.
pub struct Socket<'a> {
    pub stream: TcpStream,
    stop: &'a EventFlag,
}

impl<'a> Socket<'a> {
    pub fn new(stream: TcpStream, stop: &'a EventFlag) -> io::Result<Socket<'a>> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true).ok();
        Ok(Socket { stream, stop })
    }

    /// `Ok(0)`: the other side has said everything.
    pub fn read(&self, buffer: &mut [u8], until: Instant) -> Result<usize, WaitError> {
        loop {
            match (&self.stream).read(buffer) {
                Ok(size) => return Ok(size),
                Err(error) => self.retry(error, PollFlags::IN, until)?,
            }
        }
    }

    pub fn write_all(&self, mut bytes: &[u8], until: Instant) -> Result<(), WaitError> {
        while !bytes.is_empty() {
            match (&self.stream).write(bytes) {
                Ok(0) => return Err(WaitError::Broken(io::ErrorKind::WriteZero.into())),
                Ok(size) => bytes = &bytes[size..],
                Err(error) => self.retry(error, PollFlags::OUT, until)?,
            }
        }
        Ok(())
    }

    fn retry(&self, error: io::Error, flags: PollFlags, until: Instant) -> Result<(), WaitError> {
        if error.kind() == io::ErrorKind::Interrupted {
            Ok(())
        } else if error.kind() == io::ErrorKind::WouldBlock {
            wait(&mut [self.stop.slot(), PollFd::new(&self.stream, flags)], until)
        } else {
            Err(WaitError::Broken(error))
        }
    }

    /// Closes so that what was written last is read: a socket closed with unread input would cut it off.
    pub fn close_gently(self, patience: Duration) {
        let until = Instant::now() + patience;
        self.stream.shutdown(Shutdown::Write).ok();
        let mut buffer = [0; 4096];
        for _ in 0..256 {
            if !self.read(&mut buffer, until).is_ok_and(|size| size > 0) {
                return;
            }
        }
    }
}

pub fn connect(address: SocketAddr, stop: &EventFlag, until: Instant) -> Result<Socket<'_>, WaitError> {
    let broken = |error: Errno| WaitError::Broken(error.into());
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family, SocketType::STREAM, flags, None).map_err(broken)?;
    match rustix::net::connect(&socket, &address) {
        Ok(()) => {}
        Err(Errno::INPROGRESS | Errno::INTR) => {
            wait(&mut [stop.slot(), PollFd::new(&socket, PollFlags::OUT)], until)?;
            sockopt::socket_error(&socket).map_err(broken)?.map_err(broken)?;
        }
        Err(error) => return Err(broken(error)),
    }
    Socket::new(TcpStream::from(socket), stop).map_err(WaitError::Broken)
}

pub type Resolver = dyn Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync;

/// Resolving cannot be interrupted, so it has a thread of its own, which may outlive the question.
const MOST_RESOLVING: usize = 64;
static RESOLVING: AtomicUsize = AtomicUsize::new(0);

pub struct Lookup<'a> {
    pub name: &'a str,
    pub port: u16,
    pub until: Instant,
}

pub fn resolve(
    resolver: &Arc<Resolver>,
    lookup: &Lookup<'_>,
    stop: &EventFlag,
) -> Result<Vec<SocketAddr>, WaitError> {
    let ready = Arc::new(EventFlag::new().map_err(WaitError::Broken)?);
    if RESOLVING.fetch_add(1, Ordering::Relaxed) >= MOST_RESOLVING {
        RESOLVING.fetch_sub(1, Ordering::Relaxed);
        return Err(WaitError::Broken(io::Error::other("too many names are being resolved")));
    }
    let answer = Arc::new(Mutex::new(None));
    let thread = std::thread::Builder::new().name("proxy-resolve".to_owned()).spawn({
        let (answer, ready, resolver) = (Arc::clone(&answer), Arc::clone(&ready), Arc::clone(resolver));
        let (name, port) = (lookup.name.to_owned(), lookup.port);
        move || {
            let found = resolver(&name, port);
            *answer.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
            RESOLVING.fetch_sub(1, Ordering::Relaxed);
            ready.raise();
        }
    });
    if let Err(error) = thread {
        RESOLVING.fetch_sub(1, Ordering::Relaxed);
        return Err(WaitError::Broken(error));
    }
    wait(&mut [stop.slot(), ready.slot()], lookup.until)?;
    let found = answer.lock().unwrap_or_else(PoisonError::into_inner).take();
    found.unwrap_or_else(|| Err(io::Error::other("the name was not resolved"))).map_err(WaitError::Broken)
}

/// Reads until `is_there` has something to say about what was read, which is kept in `seen`.
pub fn read_until<T>(
    socket: &Socket<'_>,
    seen: &mut Vec<u8>,
    until: Instant,
    mut is_there: impl FnMut(&[u8]) -> Option<T>,
) -> Result<Option<T>, WaitError> {
    let mut buffer = [0; 8192];
    loop {
        if let Some(found) = is_there(seen) {
            return Ok(Some(found));
        }
        match socket.read(&mut buffer, until)? {
            0 => return Ok(None),
            size => seen.extend_from_slice(&buffer[..size]),
        }
    }
}

/// A descriptor among others to be waited for; left out when nothing is wanted of it, since poll reports a
/// hang-up even then, over and over.
pub fn wanted<'f>(fd: &'f impl AsFd, read: bool, write: bool) -> Option<PollFd<'f>> {
    let mut flags = PollFlags::empty();
    flags.set(PollFlags::IN, read);
    flags.set(PollFlags::OUT, write);
    (!flags.is_empty()).then(|| PollFd::new(fd, flags))
}
