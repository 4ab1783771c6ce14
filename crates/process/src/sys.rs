//! The system calls that need `unsafe`, each behind a safe or narrowly stated face.

use std::ffi::{CString, c_int};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::time::{Duration, Instant};

use rustix::process::Pid;

/// Runs `child` in a forked process, which ends there: it never returns into the parent's frames.
///
/// # Safety
/// The calling process has one thread only; otherwise the child may find a lock of the allocator taken for
/// ever.
pub unsafe fn fork(child: impl FnOnce()) -> io::Result<Pid> {
    // SAFETY: the caller promises a single thread.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            let _guard = ExitOnUnwind;
            child();
            exit_now(70)
        }
        pid => Pid::from_raw(pid).ok_or_else(|| io::Error::other("fork returned no pid")),
    }
}

struct ExitOnUnwind;

impl Drop for ExitOnUnwind {
    fn drop(&mut self) {
        exit_now(70);
    }
}

/// Bytes of memory, files included, that the largest of our reaped descendants had at its peak. Whom nobody
/// waited for is not among them.
pub fn peak_of_children() -> u64 {
    // SAFETY: all zeroes are a value of this type.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel fills a structure of ours.
    let asked = unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage) };
    if asked == 0 { usage.ru_maxrss as u64 * 1024 } else { 0 }
}

/// Ends this process without running anything of the parent's that was copied by fork.
pub fn exit_now(code: i32) -> ! {
    // SAFETY: `_exit` touches no memory.
    unsafe { libc::_exit(code) }
}

/// Makes `keep[i]` descriptor `i` and closes every other. The first three are for a program to inherit,
/// the rest close on exec.
pub fn keep_only(keep: &[BorrowedFd<'_>]) -> io::Result<()> {
    keep_first(keep)?;
    close_from(keep.len() as u32)
}

/// Makes `keep[i]` descriptor `i`, as [`keep_only`] does, and leaves all others as they are.
pub fn keep_first(keep: &[BorrowedFd<'_>]) -> io::Result<()> {
    const ABOVE: c_int = 64;
    let raise = |fd: &BorrowedFd<'_>| {
        // SAFETY: a plain descriptor operation on an open descriptor.
        check(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_DUPFD_CLOEXEC, ABOVE) })
    };
    let raised: Vec<RawFd> = keep.iter().map(raise).collect::<io::Result<_>>()?;
    for (slot, &fd) in (0..).zip(&raised) {
        let flags = if slot < 3 { 0 } else { libc::O_CLOEXEC };
        // SAFETY: whoever owned descriptor `slot` never runs again in this process: see the callers.
        check(unsafe { libc::dup3(fd, slot, flags) })?;
    }
    Ok(())
}

/// A line for a warden's log, which is its standard error. A full disk takes none, and is no reason to die.
pub fn note(line: &str) {
    io::Write::write_fmt(&mut io::stderr(), format_args!("{line}\n")).ok();
}

/// Closes every descriptor from `first` on, whoever opened it.
pub fn close_from(first: u32) -> io::Result<()> {
    // SAFETY: nothing in this process uses a descriptor it was not given.
    let closed = unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, 0) };
    if closed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The warden's own signals: deaf to what a terminal or an operator sends to a group, woken by SIGCHLD only
/// inside [`wait_for`].
pub fn settle_signals() -> io::Result<()> {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGPIPE] {
        // SAFETY: SIG_IGN runs no code.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    extern "C" fn wake(_: c_int) {}
    let handler: extern "C" fn(c_int) = wake;
    // SAFETY: the function does nothing. `signal` in glibc restarts system calls, but never `ppoll`.
    unsafe { libc::signal(libc::SIGCHLD, handler as libc::sighandler_t) };
    block(&[libc::SIGCHLD])
}

pub fn block(signals: &[c_int]) -> io::Result<()> {
    let set = signal_set(signals);
    // SAFETY: `set` is initialised, the old mask is not asked for.
    check(unsafe { libc::sigprocmask(libc::SIG_BLOCK, &set, std::ptr::null_mut()) }).map(drop)
}

/// As a program expects to find them: every signal at its default, none blocked.
pub fn default_signals() -> io::Result<()> {
    // The kernel's own structure: handler, flags, restorer, mask. glibc's `signal` refuses 32 and 33, which
    // its `posix_spawn` leaves ignored.
    let default = [0u64; 4];
    for signal in 1..=64 {
        // SAFETY: all zero is SIG_DFL, which runs no code. KILL and STOP refuse, which is right.
        unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, &default, std::ptr::null::<u64>(), 8) };
    }
    let none = signal_set(&[]);
    // SAFETY: `none` is initialised, the old mask is not asked for.
    check(unsafe { libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut()) }).map(drop)
}

/// A signal that was taken, and whether its sender is outside of this PID namespace.
pub struct TakenSignal {
    pub signal: c_int,
    pub from_outside: bool,
}

/// Takes the next of these blocked signals.
pub fn take_signal(signals: &[c_int]) -> TakenSignal {
    let set = signal_set(signals);
    loop {
        // SAFETY: both point to initialised values that live through the call.
        let taken = unsafe {
            let mut origin: libc::siginfo_t = std::mem::zeroed();
            let signal = libc::sigwaitinfo(&set, &mut origin);
            TakenSignal { signal, from_outside: origin.si_pid() == 0 }
        };
        if taken.signal > 0 {
            return taken;
        }
    }
}

/// Waits until a descriptor is ready, a child has changed, or `until` has come. A slot whose descriptor is
/// negative is left out.
pub fn wait_for(slots: &mut [libc::pollfd], until: Option<Instant>) -> io::Result<()> {
    let timeout = until.map(|until| timespec(until.saturating_duration_since(Instant::now())));
    let timeout = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    let none = signal_set(&[]);
    // SAFETY: the slots, the time and the mask live through the call.
    let ready = unsafe { libc::ppoll(slots.as_mut_ptr(), slots.len() as libc::nfds_t, timeout, &none) };
    if ready >= 0 {
        return Ok(());
    }
    slots.iter_mut().for_each(|slot| slot.revents = 0);
    match io::Error::last_os_error() {
        error if error.kind() == io::ErrorKind::Interrupted => Ok(()),
        error => Err(error),
    }
}

/// Signals every process this one can see, but itself: inside a PID namespace, all of it.
pub fn signal_everyone(signal: c_int) {
    // SAFETY: sends a signal. No process but the namespace's init calls this.
    unsafe { libc::kill(-1, signal) };
}

/// Flags of a mount, as `mount_setattr` takes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MountAttributes(u64);

impl MountAttributes {
    pub const RDONLY: MountAttributes = MountAttributes(1);
    pub const NOSUID: MountAttributes = MountAttributes(2);
    pub const NODEV: MountAttributes = MountAttributes(4);
    pub const NOEXEC: MountAttributes = MountAttributes(8);

    pub const fn union(self, other: MountAttributes) -> MountAttributes {
        MountAttributes(self.0 | other.0)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MountExtent {
    ThisMount,
    AndAllBelow,
}

/// Adds flags to the mount whose root `mount` is.
pub fn set_mount_attributes(
    mount: BorrowedFd<'_>,
    extent: MountExtent,
    attributes: MountAttributes,
) -> io::Result<()> {
    #[repr(C)]
    struct MountAttr {
        set: u64,
        clear: u64,
        propagation: u64,
        userns: u64,
    }
    const RECURSIVE: c_int = 0x8000;
    let attr = MountAttr { set: attributes.0, clear: 0, propagation: 0, userns: 0 };
    let flags = match extent {
        MountExtent::ThisMount => libc::AT_EMPTY_PATH,
        MountExtent::AndAllBelow => libc::AT_EMPTY_PATH | RECURSIVE,
    };
    let size = std::mem::size_of::<MountAttr>();
    // SAFETY: the attributes live through the call, which is told their size.
    let done = unsafe {
        libc::syscall(libc::SYS_mount_setattr, mount.as_raw_fd(), c"".as_ptr(), flags, &attr, size)
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Gives up every capability this thread could ever have again. Without the right to do so nothing is done:
/// then there is nothing to give up that `no_new_privs` does not hold back.
pub fn drop_bounding_set() -> io::Result<()> {
    for capability in 0..64 {
        // SAFETY: changes this thread's own capabilities.
        let dropped = check(unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) });
        match dropped {
            Ok(_) => {}
            // The kernel knows no more of them.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => return Ok(()),
            Err(error) if error.raw_os_error() == Some(libc::EPERM) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// What the kernel says when it is asked for its version of Landlock; an error is negative.
pub fn landlock_version() -> i32 {
    const VERSION: u32 = 1;
    // SAFETY: with this flag nothing is read and nothing is made.
    let version =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0usize, VERSION) };
    match i32::try_from(version) {
        Ok(version) if version >= 0 => version,
        Ok(_) | Err(_) => -io::Error::last_os_error().raw_os_error().unwrap_or(libc::ENOSYS),
    }
}

/// What is `beneath` this descriptor, or it itself, may be used in these ways. Refused with EINVAL if some are for
/// directories and it is none.
pub fn landlock_add_rule(ruleset: BorrowedFd<'_>, rights: u64, beneath: BorrowedFd<'_>) -> io::Result<()> {
    const PATH_BENEATH: u32 = 1;
    #[repr(C, packed)]
    struct Rule {
        rights: u64,
        beneath: i32,
    }
    let rule = Rule { rights, beneath: beneath.as_raw_fd() };
    // SAFETY: the kernel reads the rule, which has the layout it asks for, and nothing else.
    let added = unsafe {
        libc::syscall(
            libc::SYS_landlock_add_rule,
            ruleset.as_raw_fd(),
            PATH_BENEATH,
            std::ptr::from_ref(&rule),
            0u32,
        )
    };
    if added == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// For this thread, and all that comes from it.
pub fn landlock_restrict_self(ruleset: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: nothing is read but the two numbers.
    let restricted = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0u32) };
    if restricted == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Brings up the loopback interface of this network namespace.
pub fn loopback_up() -> io::Result<()> {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    // SAFETY: all zero is a valid request; the name is shorter than its field.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = *from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: the request lives through the call.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &request) }).map(drop)
}

/// Replaces this process; returns only why it could not.
pub fn execute(path: &CString, argv: &[CString], env: &[CString]) -> io::Error {
    let terminated = |strings: &[CString]| -> Vec<*const libc::c_char> {
        strings.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect()
    };
    let (argv, env) = (terminated(argv), terminated(env));
    // SAFETY: both arrays are null-terminated and their strings outlive the call.
    unsafe { libc::execve(path.as_ptr(), argv.as_ptr(), env.as_ptr()) };
    io::Error::last_os_error()
}

fn timespec(duration: Duration) -> libc::timespec {
    libc::timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(duration.subsec_nanos()),
    }
}

fn signal_set(signals: &[c_int]) -> libc::sigset_t {
    // SAFETY: `sigemptyset` initialises the set.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        for &signal in signals {
            libc::sigaddset(&mut set, signal);
        }
        set
    }
}

fn check(returned: c_int) -> io::Result<c_int> {
    if returned == -1 { Err(io::Error::last_os_error()) } else { Ok(returned) }
}

/// From here on the process belongs to no terminal, and a hangup does nothing to it.
pub fn leave_session() -> io::Result<()> {
    rustix::process::setsid()?;
    // SAFETY: it only sets how one signal is handled.
    match unsafe { libc::signal(libc::SIGHUP, libc::SIG_IGN) } {
        libc::SIG_ERR => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
