//! System calls no confined program needs, refused.
//!
//! Everything else is allowed: a list of what is allowed would break programs nobody has thought of, and the
//! boundary is made of namespaces and Landlock. What is refused here are the ways to change that boundary,
//! parts of the kernel with a long record of holes, and what the other two cannot see.

use std::collections::BTreeMap;

use seccompiler::SeccompCmpArgLen::Dword;
use seccompiler::SeccompCmpOp::{Eq, MaskedEq, Ne};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
    apply_filter, sock_filter,
};
use windlass_core::policy::{NetworkKind, SandboxLevel};

use crate::sandbox::{Inspection, MemoryFiles};

/// One program for all of it: the kernel translates every filter anew for every program that is started.
pub struct SyscallFilter(BpfProgram);

type SyscallRules = BTreeMap<i64, Vec<SeccompRule>>;

impl SyscallFilter {
    /// `network` is what remains to be refused by this means: see the callers.
    pub fn new(
        level: SandboxLevel,
        network: NetworkKind,
        inspection: Inspection,
        memory_files: MemoryFiles,
    ) -> Result<SyscallFilter, String> {
        let build = || -> Result<BpfProgram, seccompiler::BackendError> {
            let arch = TargetArch::try_from(std::env::consts::ARCH)?;
            let refusal = SeccompAction::Errno(libc::EPERM as u32);
            // Kills on a foreign architecture, whose system calls have other numbers, unless one was refused before.
            let rest: BpfProgram = SeccompFilter::new(
                refused(level, network, inspection)?,
                SeccompAction::Allow,
                refusal,
                arch,
            )?
            .try_into()?;
            let missing: &[i64] = match memory_files {
                MemoryFiles::Allowed => &[libc::SYS_clone3],
                MemoryFiles::Refused => &[libc::SYS_clone3, libc::SYS_memfd_create, libc::SYS_memfd_secret],
            };
            let missing = missing.iter().flat_map(|&number| absent(number)).collect();
            Ok([other_numbers(), missing, always_refused(level, inspection), rest].concat())
        };
        build().map(SyscallFilter).map_err(|error| format!("cannot make a system call filter: {error}"))
    }

    /// For this process and all that come from it, for ever.
    pub fn apply(&self) -> Result<(), String> {
        apply_filter(&self.0).map_err(|error| format!("cannot filter system calls (seccomp): {error}"))
    }
}

const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
/// Where the number of the system call lies.
const NUMBER: u32 = 0;

fn step(code: u32, jt: u8, jf: u8, k: u32) -> sock_filter {
    sock_filter { code: code as u16, jt, jf, k }
}

/// x86_64 has a second set of numbers, x32, which would pass by every rule.
#[cfg(target_arch = "x86_64")]
fn other_numbers() -> BpfProgram {
    const X32: u32 = 0x4000_0000;
    vec![
        step(LOAD, 0, 0, NUMBER),
        step(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 0, 1, X32),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_KILL_PROCESS),
    ]
}

#[cfg(not(target_arch = "x86_64"))]
fn other_numbers() -> BpfProgram {
    Vec::new()
}

/// As in a kernel that has no such call. `clone3` always: its arguments lie in memory, where a filter cannot see
/// namespace flags, and every libc falls back to `clone` then.
fn absent(number: i64) -> BpfProgram {
    vec![
        step(LOAD, 0, 0, NUMBER),
        step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, number as u32),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32),
    ]
}

/// One step each: a filter is walked through for every number there is when it is installed, at each start of a
/// program.
fn always_refused(level: SandboxLevel, inspection: Inspection) -> BpfProgram {
    let looks = if inspection == Inspection::Refused { INTO_OTHERS } else { &[] };
    let shared = if level == SandboxLevel::Landlock { OF_THE_USER } else { &[] };
    let numbers: Vec<i64> = ALWAYS.iter().chain(OF_THIS_ARCH).chain(looks).chain(shared).copied().collect();
    debug_assert!(numbers.len() < 256, "a jump reaches no further");
    let mut steps = vec![step(LOAD, 0, 0, NUMBER)];
    // To the refusal behind the last of them, over the jump that leads around it.
    let ways = (1..=numbers.len() as u8).rev();
    steps.extend(
        numbers
            .iter()
            .zip(ways)
            .map(|(&number, way)| step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, way, 0, number as u32)),
    );
    steps.push(step(libc::BPF_JMP | libc::BPF_JA, 0, 0, 1));
    steps.push(step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32));
    steps
}

fn refused(
    level: SandboxLevel,
    network: NetworkKind,
    inspection: Inspection,
) -> Result<SyscallRules, seccompiler::BackendError> {
    let mut rules = SyscallRules::new();
    let any_flag = |flags: &[i32]| {
        let rule = |flag: &i32| rule(&[(0, MaskedEq(*flag as u64), *flag as u64)]);
        flags.iter().map(rule).collect::<Result<Vec<_>, _>>()
    };
    let untraced: &[i32] = if inspection == Inspection::Refused { &[libc::CLONE_UNTRACED] } else { &[] };
    rules.insert(libc::SYS_clone, any_flag(&[&NAMESPACES[..], untraced].concat())?);
    rules.insert(libc::SYS_unshare, any_flag(&[&NAMESPACES[..], &[libc::CLONE_NEWTIME]].concat())?);
    // Typing into a terminal that is shared with others.
    let ioctl = |request: u64| rule(&[(1, Eq, request)]);
    rules.insert(libc::SYS_ioctl, vec![ioctl(TIOCSTI)?, ioctl(TIOCLINUX)?]);
    rules.insert(libc::SYS_socket, refused_sockets(level, network)?);
    if level == SandboxLevel::Landlock {
        // A limit of zero ends a process as surely as a signal, and Landlock does not look at it.
        rules.insert(libc::SYS_prlimit64, vec![rule(&[(0, Ne, 0)])?]);
    }
    Ok(rules)
}

/// All but the usual families. Landlock cannot tell one pathname socket from another (an agent of keys, the
/// socket of a container engine), so where there is no namespace that lacks them, a program makes no Unix
/// sockets but pairs.
fn refused_sockets(
    level: SandboxLevel,
    network: NetworkKind,
) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let mut families = vec![libc::AF_NETLINK];
    if level != SandboxLevel::Landlock {
        families.push(libc::AF_UNIX);
    }
    if level != SandboxLevel::Landlock || network != NetworkKind::None {
        families.extend([libc::AF_INET, libc::AF_INET6]);
    }
    let others: Vec<_> = families.iter().map(|&family| (0, Ne, family as u64)).collect();
    let netlink = [(0, Eq, libc::AF_NETLINK as u64), (2, Ne, libc::NETLINK_ROUTE as u64)];
    Ok(vec![rule(&others)?, rule(&netlink)?])
}

/// Every condition, on the low half of the argument: the kernel takes all of these as 32 bits.
fn rule(conditions: &[(u8, SeccompCmpOp, u64)]) -> Result<SeccompRule, seccompiler::BackendError> {
    let condition = |(index, op, value): &(u8, SeccompCmpOp, u64)| {
        SeccompCondition::new(*index, Dword, op.clone(), *value)
    };
    SeccompRule::new(conditions.iter().map(condition).collect::<Result<_, _>>()?)
}

/// libc gives them another type with each C library.
const TIOCSTI: u64 = 0x5412;
const TIOCLINUX: u64 = 0x541c;

const NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// The same number everywhere; libc does not name it yet.
const SYS_OPEN_TREE_ATTR: i64 = 467;

const ALWAYS: &[i64] = &[
    // Mounts and roots.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    SYS_OPEN_TREE_ATTR,
    libc::SYS_move_mount,
    libc::SYS_mount_setattr,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_setns,
    // Files by handle pass by every path.
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    // Keys belong to the user, not to the attempt.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Doors with a history; a ring also makes sockets that no filter sees.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_fanotify_init,
    // The machine itself.
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_acct,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
];

/// Shared memory, semaphores and queues that are no files. Where there is no namespace of their own for them, those of
/// the user's other programs can be taken by their number, and what is made outlives the program.
const OF_THE_USER: &[i64] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

/// Ways into the memory and the descriptors of another process, beside /proc.
const INTO_OTHERS: &[i64] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_process_mrelease,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
];

#[cfg(target_arch = "x86_64")]
const OF_THIS_ARCH: &[i64] = &[libc::SYS_iopl, libc::SYS_ioperm, libc::SYS_uselib];
#[cfg(not(target_arch = "x86_64"))]
const OF_THIS_ARCH: &[i64] = &[];
