//! System calls that are answered with a refusal, made for real.

use windlass_core::policy::SandboxLevel::{self, Landlock, Namespaces};

use crate::confined::{Ground, on_each};

const REFUSED: &str = "Operation not permitted (os error 1)\n";

fn call(ground: &Ground, words: &[i64]) -> String {
    let binary = ground.at("warden").display().to_string();
    let words: Vec<String> = words.iter().map(ToString::to_string).collect();
    let mut argv = vec![binary.as_str(), "call"];
    argv.extend(words.iter().map(String::as_str));
    let ran = ground.run_argv(&argv);
    if ran.exit == "Code(0)" { ran.text } else { ran.exit }
}

fn prepared(ground: &mut Ground) {
    ground.set("read", ground.at("warden"));
}

#[test]
fn calls_that_change_the_boundary_are_refused() {
    on_each(&[Landlock, Namespaces], |mut ground| {
        prepared(&mut ground);
        let (null, user, time) = (0, i64::from(libc::CLONE_NEWUSER), i64::from(libc::CLONE_NEWTIME));
        for words in [
            &[libc::SYS_unshare, user][..],
            &[libc::SYS_unshare, time],
            &[libc::SYS_clone, user | i64::from(libc::SIGCHLD), null],
            &[libc::SYS_setns, 0, 0],
            &[libc::SYS_mount, null, null, null, 0, null],
            &[libc::SYS_fsopen, null, 0],
            &[libc::SYS_open_tree, 0, null, 0],
            &[libc::SYS_pivot_root, null, null],
            &[libc::SYS_keyctl, 0, 0],
            &[libc::SYS_bpf, 0, null, 0],
            &[libc::SYS_perf_event_open, null, 0, 0, 0],
            &[libc::SYS_userfaultfd, 0],
            &[libc::SYS_io_uring_setup, 1, null],
            &[libc::SYS_open_by_handle_at, 0, null, 0],
            &[libc::SYS_finit_module, 0, null, 0],
            &[libc::SYS_reboot, 0, 0, 0],
            &[libc::SYS_ioctl, 0, libc::TIOCSTI as i64, null],
            &[libc::SYS_socket, i64::from(libc::AF_VSOCK), 1, 0],
            &[libc::SYS_socket, i64::from(libc::AF_PACKET), 3, 0],
            &[libc::SYS_socket, i64::from(libc::AF_NETLINK), 3, i64::from(libc::NETLINK_AUDIT)],
            // The upper half of an argument does not hide the lower one.
            &[libc::SYS_unshare, (1 << 32) | user],
        ] {
            assert_eq!(call(&ground, words), REFUSED, "{words:?} {:?} {:?}", ground.who, ground.level);
        }
        assert_eq!(call(&ground, &[libc::SYS_clone3, 0, 0]), "Function not implemented (os error 38)\n");
        assert_eq!(call(&ground, &[libc::SYS_socket, i64::from(libc::AF_NETLINK), 3, 0]), "allowed\n");
        assert_eq!(call(&ground, &[libc::SYS_socket, i64::from(libc::AF_INET), 1, 0]), "allowed\n");
        assert_eq!(call(&ground, &[libc::SYS_getpid]), "allowed\n");
    });
}

#[test]
fn ways_into_other_processes_are_refused_where_one_judges_another() {
    let calls = [
        [libc::SYS_ptrace, 0, 0],
        [libc::SYS_process_vm_readv, 1, 0],
        [libc::SYS_process_vm_writev, 1, 0],
        [libc::SYS_process_madvise, 0, 0],
        [libc::SYS_process_mrelease, 0, 0],
        [libc::SYS_pidfd_getfd, 0, 0],
        [libc::SYS_kcmp, 1, 1],
        // Out of a tracer's sight.
        [libc::SYS_clone, i64::from(libc::CLONE_UNTRACED | libc::SIGCHLD), 0],
    ];
    on_each(&[Landlock, Namespaces], |mut ground| {
        prepared(&mut ground);
        for words in &calls {
            assert_eq!(call(&ground, words), REFUSED, "{words:?} {:?} {:?}", ground.who, ground.level);
        }
        ground.set("inspection", "allowed");
        // A child and its parent both say so.
        assert!(call(&ground, &calls[7]).starts_with("allowed\n"), "{:?} {:?}", ground.who, ground.level);
        assert_eq!(call(&ground, &calls[0]), "allowed\n", "{:?} {:?}", ground.who, ground.level);
    });
}

#[cfg(target_arch = "x86_64")]
#[test]
fn the_second_set_of_numbers_is_death() {
    on_each(&[Landlock, Namespaces], |mut ground| {
        prepared(&mut ground);
        let x32 = 0x4000_0000 | libc::SYS_getpid;
        assert_eq!(call(&ground, &[x32]), format!("Signal({})", libc::SIGSYS));
    });
}

#[test]
fn without_namespaces_there_are_no_unix_sockets_and_no_limits_for_others() {
    let answers = |level: SandboxLevel, expected: &str| {
        on_each(&[level], |mut ground| {
            prepared(&mut ground);
            let unix = i64::from(libc::AF_UNIX);
            assert_eq!(call(&ground, &[libc::SYS_socket, unix, 1, 0]), expected, "{:?}", ground.who);
            let limit = [libc::SYS_prlimit64, 1, i64::from(libc::RLIMIT_CPU), 0, 0];
            assert_eq!(call(&ground, &limit) == REFUSED, level == Landlock, "{:?}", ground.who);
            let own = [libc::SYS_prlimit64, 0, i64::from(libc::RLIMIT_CPU), 0, 0];
            assert_eq!(call(&ground, &own), "allowed\n");
        });
    };
    answers(Landlock, REFUSED);
    answers(Namespaces, "allowed\n");
}

/// Shared memory that outlives its maker; with namespaces it is gone with its own.
#[test]
fn no_shared_memory_is_left_behind() {
    if windlass_testkit::capability::program("ipcmk").is_none() {
        return;
    }
    on_each(&[Landlock, Namespaces], |mut ground| {
        let made = |ground: &Ground| ground.run("ipcmk -M 4096 && ipcmk -S 1 && ipcmk -Q");
        let ran = made(&ground);
        assert_eq!(ran.exit == "Code(0)", ground.level == Namespaces, "{:?}: {}", ground.who, ran.text);
        assert!(left_of(&ran).is_empty(), "{:?} {:?}: {}", ground.who, ground.level, ran.text);
        if cfg!(feature = "weaken") && ground.level == Landlock {
            ground.environment = vec![("WINDLASS_WEAKEN".into(), "seccomp".into())];
            let ran = made(&ground);
            let left = left_of(&ran);
            for (kind, id) in &left {
                let option = ["shm", "sem", "msg"].iter().position(|name| name == kind).unwrap();
                std::process::Command::new("ipcrm").args([["-m", "-s", "-q"][option], id]).status().unwrap();
            }
            assert_eq!(left.len(), 3, "{:?}: {}", ground.who, ran.text);
        }
    });
}

/// The objects whose ids a program told, and that the host has.
fn left_of(ran: &crate::confined::Ran) -> Vec<(&'static str, String)> {
    let kinds = [("shm", "Shared memory id: "), ("sem", "Semaphore id: "), ("msg", "Message queue id: ")];
    let told = |words: &str| ran.text.lines().find_map(|line| line.strip_prefix(words)).map(str::to_owned);
    let is_there = |kind: &str, id: &str| {
        let list = std::fs::read_to_string(format!("/proc/sysvipc/{kind}")).unwrap();
        list.lines().skip(1).any(|line| line.split_whitespace().nth(1) == Some(id))
    };
    let found = kinds.into_iter().filter_map(|(kind, words)| Some((kind, told(words)?)));
    found.filter(|(kind, id)| is_there(kind, id)).collect()
}
