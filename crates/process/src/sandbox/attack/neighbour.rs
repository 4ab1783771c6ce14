//! A program of the same confinement that holds a secret, and every way into it.

use std::ffi::c_long;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::sandbox::attack::{EscapeResult, SECRET};
use crate::warden::neighbour_arguments;

const WRITTEN: &[u8] = b"written over it";

/// It became a program of its own before it came to its secret, as a judge does.
pub struct Neighbour {
    child: Child,
    /// Where its secret lies.
    address: u64,
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Neighbour {
    fn start() -> io::Result<Neighbour> {
        #[expect(clippy::disallowed_methods, reason = "a probe starts its neighbour in its own confinement")]
        let mut command = Command::new("/proc/self/exe");
        let mut child = command
            .args(neighbour_arguments())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut line = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout).read_line(&mut line)?;
        }
        let address = line.trim().parse().map_err(io::Error::other)?;
        Ok(Neighbour { child, address })
    }

    fn pid(&self) -> c_long {
        c_long::from(self.child.id())
    }

    fn file(&self, name: &str) -> String {
        format!("/proc/{}/{name}", self.child.id())
    }
}

/// The neighbour's whole life: tells where its secret lies, and waits for the end of its input.
pub fn act_as_neighbour() -> io::Result<()> {
    let secret = SECRET.as_bytes().to_vec();
    writeln!(io::stdout(), "{}", std::hint::black_box(secret.as_ptr()) as usize)?;
    io::stdin().read_to_end(&mut Vec::new())?;
    std::hint::black_box(secret);
    Ok(())
}

pub fn trace() -> EscapeResult {
    const ATTACH: c_long = 16;
    const DETACH: c_long = 17;
    let neighbour = Neighbour::start()?;
    call([libc::SYS_ptrace, ATTACH, neighbour.pid(), 0, 0, 0])?;
    call([libc::SYS_ptrace, DETACH, neighbour.pid(), 0, 0, 0]).ok();
    Ok("it was traced".to_owned())
}

pub fn read_memory() -> EscapeResult {
    let neighbour = Neighbour::start()?;
    let mut found = [0; SECRET.len()];
    let by_file = File::open(neighbour.file("mem"))
        .and_then(|memory| memory.read_exact_at(&mut found, neighbour.address));
    by_file.or_else(|_| vector_call(libc::SYS_process_vm_readv, &neighbour, &mut found))?;
    match found == SECRET.as_bytes() {
        true => Ok("its secret was read".to_owned()),
        false => Err(io::Error::other("something else was read")),
    }
}

pub fn change_memory() -> EscapeResult {
    let neighbour = Neighbour::start()?;
    let mut text = [0; WRITTEN.len()];
    text.copy_from_slice(WRITTEN);
    let by_file = File::options()
        .write(true)
        .open(neighbour.file("mem"))
        .and_then(|memory| memory.write_all_at(&text, neighbour.address));
    by_file.or_else(|_| vector_call(libc::SYS_process_vm_writev, &neighbour, &mut text))?;
    Ok("its secret was overwritten".to_owned())
}

pub fn take_descriptor() -> EscapeResult {
    let neighbour = Neighbour::start()?;
    let by_file = File::options().write(true).open(neighbour.file("fd/1")).map(drop);
    by_file.or_else(|_| {
        let pid = i32::try_from(neighbour.child.id()).ok().and_then(Pid::from_raw);
        let pinned = pidfd_open(pid.ok_or(io::ErrorKind::InvalidInput)?, PidfdFlags::empty())?;
        call([libc::SYS_pidfd_getfd, c_long::from(pinned.as_raw_fd()), 1, 0, 0, 0])
    })?;
    Ok("its standard output was taken".to_owned())
}

fn vector_call(number: c_long, neighbour: &Neighbour, ours: &mut [u8]) -> io::Result<()> {
    let local = libc::iovec { iov_base: ours.as_mut_ptr().cast(), iov_len: ours.len() };
    let remote = libc::iovec { iov_base: neighbour.address as *mut _, iov_len: ours.len() };
    let [local, remote] = [&local, &remote].map(|part| std::ptr::from_ref(part) as c_long);
    call([number, neighbour.pid(), local, 1, remote, 1])
}

/// A number and what it takes.
fn call(words: [c_long; 6]) -> io::Result<()> {
    let [number, first, second, third, fourth, fifth] = words;
    // SAFETY: the callers pass addresses of their own values, with the right sizes, or of another process.
    let done = unsafe { libc::syscall(number, first, second, third, fourth, fifth, 0) };
    if done == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
