//! The calls by which one process stands over others, and what of them differs between processors.

use std::ffi::{c_int, c_long, c_uint};
use std::io;

use rustix::process::Pid;

pub const EVENT_EXEC: c_int = libc::PTRACE_EVENT_EXEC;
/// A process that is new, or one of a group that was stopped.
pub const EVENT_STOP: c_int = 128;
/// Marks a stop at a system call; see [`OPTIONS`].
pub const AT_CALL: c_int = 0x80;

/// Whoever is forked or cloned is followed, and each exec is told of.
const OPTIONS: c_int = libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEEXEC
    | libc::PTRACE_O_TRACESYSGOOD;
const KILLED_WITH_TRACER: c_int = 0x10_0000;

const SEIZE: c_uint = 0x4206;
const LISTEN: c_uint = 0x4208;
const CONTINUE: c_uint = 7;
const CONTINUE_TO_CALL: c_uint = 24;
const GET_REGISTERS: c_uint = 0x4204;
const SET_REGISTERS: c_uint = 0x4205;
const GET_CALL: c_uint = 0x420e;
/// The general registers, as a set.
const GENERAL: usize = 1;

/// What becomes of the traced when the tracer dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TracerDeath {
    KillsAll,
    /// Never but in a build for adversarial tests.
    SetsFree,
}

/// Which side of a system call a thread is stopped at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallSide {
    Entry,
    Exit,
}

pub fn seize(pid: Pid, death: TracerDeath) -> io::Result<()> {
    let options = match death {
        TracerDeath::KillsAll => OPTIONS | KILLED_WITH_TRACER,
        TracerDeath::SetsFree => OPTIONS,
    };
    request(SEIZE, pid, 0, options as usize)
}

/// Goes on, with this signal unless it is zero.
pub fn go_on(pid: Pid, signal: c_int) -> io::Result<()> {
    request(CONTINUE, pid, 0, signal as usize)
}

/// The same, until the next side of a system call.
pub fn go_on_to_call(pid: Pid, signal: c_int) -> io::Result<()> {
    request(CONTINUE_TO_CALL, pid, 0, signal as usize)
}

/// Stays stopped with its group, and can be set going as one that nobody traces.
pub fn stay_stopped(pid: Pid) -> io::Result<()> {
    request(LISTEN, pid, 0, 0)
}

pub fn side_of_call(pid: Pid) -> io::Result<Option<CallSide>> {
    // Larger than what any kernel tells; the first byte is the side.
    let mut told = [0u8; 256];
    request(GET_CALL, pid, told.len(), told.as_mut_ptr() as usize)?;
    Ok(match told[0] {
        1 => Some(CallSide::Entry),
        2 => Some(CallSide::Exit),
        _ => None,
    })
}

/// What a thread had in its registers when it entered a system call, which it has yet to make.
pub struct PostponedCall(libc::user_regs_struct);

impl PostponedCall {
    /// At the entry of a call: makes it the call by which a process closes its memory and descriptors to others.
    pub fn replace_by_undumpable(pid: Pid) -> io::Result<PostponedCall> {
        let found = registers(pid)?;
        let mut changed = found;
        let arguments = [libc::PR_SET_DUMPABLE as u64, 0];
        arch::set_call(pid, &mut changed, libc::SYS_prctl, arguments)?;
        set_registers(pid, &mut changed)?;
        Ok(PostponedCall(found))
    }

    /// At the exit of the call that was made instead: the thread is put back to the instruction that it was at.
    pub fn restore(mut self, pid: Pid) -> io::Result<()> {
        arch::step_back(&mut self.0);
        set_registers(pid, &mut self.0)
    }
}

fn registers(pid: Pid) -> io::Result<libc::user_regs_struct> {
    // SAFETY: all zeroes are a value of this type.
    let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
    with_registers(GET_REGISTERS, pid, &mut registers)?;
    Ok(registers)
}

fn set_registers(pid: Pid, registers: &mut libc::user_regs_struct) -> io::Result<()> {
    with_registers(SET_REGISTERS, pid, registers)
}

fn with_registers(what: c_uint, pid: Pid, registers: &mut libc::user_regs_struct) -> io::Result<()> {
    let mut part = libc::iovec {
        iov_base: std::ptr::from_mut(registers).cast(),
        iov_len: size_of::<libc::user_regs_struct>(),
    };
    request(what, pid, GENERAL, std::ptr::from_mut(&mut part) as usize)
}

/// The addresses among the arguments are of values that the callers in this file own.
fn request(what: c_uint, pid: Pid, address: usize, data: usize) -> io::Result<()> {
    // SAFETY: the kernel writes no more than it is told the size of, and none of the requests touches other
    // memory of this process.
    let done = unsafe {
        libc::syscall(libc::SYS_ptrace, what as c_long, c_long::from(pid.as_raw_pid()), address, data)
    };
    if done == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(target_arch = "x86_64")]
mod arch {
    use super::{Pid, io};

    const INSTRUCTION: u64 = 2;

    pub fn set_call(
        _: Pid,
        registers: &mut libc::user_regs_struct,
        number: i64,
        [first, second]: [u64; 2],
    ) -> io::Result<()> {
        registers.orig_rax = number.cast_unsigned();
        registers.rdi = first;
        registers.rsi = second;
        Ok(())
    }

    pub fn step_back(registers: &mut libc::user_regs_struct) {
        registers.rax = registers.orig_rax;
        // Not in a call: nothing is restarted because of a signal that came meanwhile.
        registers.orig_rax = u64::MAX;
        registers.rip -= INSTRUCTION;
    }
}

#[cfg(target_arch = "aarch64")]
mod arch {
    use super::{Pid, SET_REGISTERS, io, request};

    const INSTRUCTION: u64 = 4;
    const CALL_NUMBER: usize = 0x404;

    pub fn set_call(
        pid: Pid,
        registers: &mut libc::user_regs_struct,
        number: i64,
        [first, second]: [u64; 2],
    ) -> io::Result<()> {
        let mut short = number as i32;
        let mut part = libc::iovec { iov_base: std::ptr::from_mut(&mut short).cast(), iov_len: 4 };
        request(SET_REGISTERS, pid, CALL_NUMBER, std::ptr::from_mut(&mut part) as usize)?;
        registers.regs[8] = number.cast_unsigned();
        registers.regs[0] = first;
        registers.regs[1] = second;
        Ok(())
    }

    pub fn step_back(registers: &mut libc::user_regs_struct) {
        registers.pc -= INSTRUCTION;
    }
}
