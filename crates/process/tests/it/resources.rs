//! Programs that take more than their share.

use std::process::Command;
use std::time::Duration;

use windlass_core::policy::ResourcePolicy;
use windlass_process::{Containment, Program, ProgramExit, Trip};
use windlass_testkit::capability;

use crate::ordinary_user::{as_nobody, user_namespaces_work};
use crate::stage::{
    Stage, carriers, containments, eventually, given, kill_warden_of, run, spawner, stderr, stdout,
};

const MIB: u64 = 1 << 20;

fn limited(mut program: Program, resources: ResourcePolicy) -> Program {
    program.limits.resources = resources;
    program
}

fn memory(bytes: u64) -> ResourcePolicy {
    ResourcePolicy { memory_bytes: bytes, ..ResourcePolicy::default() }
}

fn processes(most: u64) -> ResourcePolicy {
    ResourcePolicy { processes: most, ..ResourcePolicy::default() }
}

/// A shell that holds this much memory, until the end of its input.
fn holds(mib: u64) -> String {
    format!("{{ head -c {0} /dev/zero; sleep 30; }} | tail -c {0} >/dev/null", mib * MIB)
}

/// The name of the cgroup that a program of ours is put into. `None`, and said so, where there is none.
fn group_name(stage: &Stage) -> Option<String> {
    let both = ResourcePolicy { memory_bytes: 512 * MIB, processes: 64, ..ResourcePolicy::default() };
    let finished = run(&limited(stage.shell("cat /proc/self/cgroup"), both), Containment::Subreaper);
    assert_eq!((finished.exit.clone(), finished.trips.as_slice()), (ProgramExit::Code(0), &[][..]));
    let found = stdout(&finished).lines().find_map(|line| Some(line[line.find("windlass-")?..].to_owned()));
    if found.is_none() {
        capability::not_run("no cgroup can be made here; rlimits and the warden's own count hold");
    }
    found
}

fn group_exists(name: &str) -> bool {
    let found =
        Command::new("find").args(["/sys/fs/cgroup", "-maxdepth", "8", "-name", name]).output().unwrap();
    !found.stdout.is_empty()
}

#[test]
fn what_stays_within_its_limits_notices_nothing() {
    let stage = Stage::new();
    let resources = ResourcePolicy {
        memory_bytes: 2048 * MIB,
        processes: 100,
        open_files: 100,
        file_bytes: 10 * MIB,
        workspace_bytes: 100 * MIB,
        ..ResourcePolicy::default()
    };
    for containment in containments() {
        let script = "head -c 1000000 /dev/zero >file; ls | cat; (sleep 0.3 &); wait; exit 7";
        let finished = run(&limited(stage.shell(script), resources), containment);
        assert_eq!(finished.exit, ProgramExit::Code(7), "{}", stderr(&finished));
        assert_eq!(finished.trips, []);
    }
}

#[test]
fn nothing_ever_writes_a_core_file() {
    let stage = Stage::new();
    for containment in containments() {
        let finished = run(&stage.shell("ulimit -Hc; ulimit -Sc"), containment);
        assert_eq!(stdout(&finished), "0\n0\n");
    }
}

#[test]
fn a_fork_bomb_is_bounded_and_ended() {
    let stage = Stage::new();
    let counted_by_kernel = group_name(&stage).is_some();
    for containment in containments() {
        let bomb = "bomb() { bomb | bomb & }; bomb; sleep 30";
        let mut program = limited(stage.shell(bomb), processes(24));
        program.limits.wall = Duration::from_secs(3);
        let running = spawner(containment).start(&program).unwrap();
        let mut most = 0;
        let waiting = std::thread::spawn(move || running.wait());
        eventually("its end", || {
            most = most.max(carriers(&program.marker).len());
            waiting.is_finished()
        });
        let finished = waiting.join().unwrap();
        assert_eq!(finished.survivor_count, 0);
        assert_eq!(given(&program.marker), Vec::<String>::new());
        assert!(finished.duration < Duration::from_secs(10), "the warden still has time for its limits");
        if counted_by_kernel {
            assert_eq!(finished.trips, [Trip::Processes], "{:?}: {}", finished.exit, stderr(&finished));
            assert!(most < 50, "{most} at once");
        }
    }
}

#[test]
fn too_many_processes_that_stay_are_named() {
    let stage = Stage::new();
    for containment in containments() {
        let script = "(while :; do sleep 30 & done); sleep 1; exit 5";
        let finished = run(&limited(stage.shell(script), processes(24)), containment);
        assert_eq!(finished.trips, [Trip::Processes], "{:?}: {}", finished.exit, stderr(&finished));
    }
}

#[test]
fn twice_the_memory_is_not_had() {
    let stage = Stage::new();
    let Some(_) = group_name(&stage) else { return };
    for containment in containments() {
        let script = "head -c 134217728 /dev/zero | tail -c 134217728 >/dev/null";
        let finished = run(&limited(stage.shell(script), memory(64 * MIB)), containment);
        assert_eq!(finished.trips, [Trip::Memory], "{:?} {}", finished.exit, stderr(&finished));
        let finished =
            run(&limited(stage.shell("exec head -c 1000 /dev/zero"), memory(64 * MIB)), containment);
        assert_eq!((finished.exit, finished.trips), (ProgramExit::Code(0), Vec::new()));
    }
}

#[test]
fn a_group_is_gone_when_its_tree_is_dead() {
    let stage = Stage::new();
    let Some(name) = group_name(&stage) else { return };
    assert!(!group_exists(&name), "{name}");
}

#[test]
fn the_group_of_a_killed_warden_is_swept_by_the_next() {
    let stage = Stage::new();
    let Some(_) = group_name(&stage) else { return };
    for containment in containments() {
        let program = limited(stage.shell("cat /proc/self/cgroup >group; sleep 60"), processes(20));
        let running = spawner(containment).start(&program).unwrap();
        let path = stage.work().join("group");
        let mut text = String::new();
        eventually("a group", || {
            text = std::fs::read_to_string(&path).unwrap_or_default();
            text.contains("windlass-")
        });
        std::fs::remove_file(path).unwrap();
        let name = text.lines().find_map(|line| Some(&line[line.find("windlass-")?..])).unwrap().to_owned();
        assert!(group_exists(&name));
        kill_warden_of(&program);
        assert!(matches!(running.wait().exit, ProgramExit::WardenLost { .. }));
        run(&limited(stage.shell("true"), processes(20)), containment);
        assert!(!group_exists(&name), "{name}");
    }
}

#[test]
fn a_file_ends_at_its_size() {
    let stage = Stage::new();
    let resources = ResourcePolicy { file_bytes: MIB, ..ResourcePolicy::default() };
    for containment in containments() {
        for script in [
            "exec head -c 3000000 /dev/zero >big",
            "head -c 3000000 /dev/zero >big",
            "trap '' XFSZ; head -c 3000000 /dev/zero >big; exit 3",
        ] {
            let finished = run(&limited(stage.shell(script), resources), containment);
            assert_eq!(finished.trips, [Trip::FileSize], "{script}: {:?}", finished.exit);
            assert_eq!(std::fs::metadata(stage.work().join("big")).unwrap().len(), MIB);
            std::fs::remove_file(stage.work().join("big")).unwrap();
        }
    }
}

#[test]
fn a_workspace_of_many_files_has_a_size() {
    let stage = Stage::new();
    let resources = ResourcePolicy { workspace_bytes: 4 * MIB, ..ResourcePolicy::default() };
    for containment in containments() {
        let endless = "i=0; while :; do mkdir $i; head -c 65536 /dev/zero >$i/f; i=$((i+1)); done";
        let finished = run(&limited(stage.shell(endless), resources), containment);
        assert_eq!(
            (&finished.exit, finished.trips.as_slice()),
            (&ProgramExit::Signal(9), &[Trip::WorkspaceBytes][..])
        );
        assert!(finished.duration < Duration::from_secs(30), "{:?}", finished.duration);
        std::fs::remove_dir_all(stage.work()).unwrap();
        std::fs::create_dir(stage.work()).unwrap();

        let quick = "for i in 1 2 3 4 5; do head -c 1048576 /dev/zero >$i; done";
        let finished = run(&limited(stage.shell(quick), resources), containment);
        // On a busy machine it is caught in the act.
        assert!(
            matches!(finished.exit, ProgramExit::Code(0) | ProgramExit::Signal(9)),
            "{:?}",
            finished.exit
        );
        assert_eq!(finished.trips, [Trip::WorkspaceBytes]);
        let finished = run(&limited(stage.shell("rm -f 1 2 3"), resources), containment);
        assert_eq!((finished.exit, finished.trips), (ProgramExit::Code(0), Vec::new()));
        std::fs::remove_dir_all(stage.work()).unwrap();
        std::fs::create_dir(stage.work()).unwrap();
    }
}

#[test]
fn what_is_beside_the_workspace_has_a_size_too() {
    let stage = Stage::new();
    let resources = ResourcePolicy { workspace_bytes: 4 * MIB, ..ResourcePolicy::default() };
    for containment in containments() {
        for name in ["home", "scratch", "report"] {
            let dir = stage.path().join(name);
            std::fs::create_dir(&dir).unwrap();
            let script = format!("head -c 5000000 /dev/zero >{}/big; sleep 30", dir.display());
            let mut program = limited(stage.shell(&script), resources);
            program.limits.wall = Duration::from_secs(2);
            let uncounted = run(&program, containment);
            assert_eq!((&uncounted.exit, uncounted.trips.len()), (&ProgramExit::TimedOut, 0), "{name}");

            program.confinement.counted =
                ["home", "scratch", "report"].map(|name| stage.path().join(name)).into();
            program.limits.wall = Duration::from_secs(20);
            let counted = run(&program, containment);
            assert_eq!(
                (&counted.exit, counted.trips.as_slice()),
                (&ProgramExit::Signal(9), &[Trip::WorkspaceBytes][..]),
                "{name}"
            );
            std::fs::remove_dir_all(dir).unwrap();
        }
    }
}

#[test]
fn open_files_are_bounded_for_each_process() {
    let Some(bash) = capability::program("bash") else { return };
    let stage = Stage::new();
    let resources = ResourcePolicy { open_files: 32, ..ResourcePolicy::default() };
    for containment in containments() {
        let script = "ulimit -n; for i in {3..60}; do eval \"exec $i</dev/null\" || break; done; while [ $SECONDS -lt 2 ]; do :; done";
        let program = stage.program(&[bash.to_str().unwrap(), "-c", script]);
        let finished = run(&limited(program, resources), containment);
        assert_eq!(stdout(&finished), "32\n");
        assert_eq!(finished.trips, [Trip::OpenFiles], "{}", stderr(&finished));
    }
}

/// Without a cgroup, and without root's immunity: rlimits, and the warden's own count.
#[test]
fn an_ordinary_user_is_held_by_rlimits_and_by_the_warden() {
    let stage = Stage::new();
    let namespaces = user_namespaces_work(&stage);
    let cwd = format!("cwd={}", stage.work().display());
    for containment in ["containment=subreaper", "containment=namespace"] {
        if containment.ends_with("namespace") && !namespaces {
            continue;
        }
        let as_user = |setting: &str, script: &str| as_nobody(&stage, &[&cwd, containment, setting], script);
        let bomb = "(while :; do sleep 30 & done); sleep 1; exit 5";
        let Some(text) = as_user("processes=24", bomb) else { return };
        assert!(text.contains("trips=[Processes]") && text.contains("survivors=0"), "{containment} {text}");

        let together = format!("for i in 1 2 3 4; do {} & done; wait", holds(40));
        let text = as_user("memory=104857600", &together).unwrap();
        assert!(text.contains("exit=Signal(9)") && text.contains("trips=[Memory]"), "{containment} {text}");

        let text = as_user("file_size=1048576", "head -c 3000000 /dev/zero >big; rm big").unwrap();
        assert!(text.contains("File size limit exceeded") || text.contains("exit=Code(0)"), "{text}");
        let text = as_user("workspace_bytes=1048576", "head -c 3000000 /dev/zero >big; sleep 30").unwrap();
        assert!(text.contains("exit=Signal(9)") && text.contains("trips=[WorkspaceBytes]"), "{text}");
        std::fs::remove_file(stage.work().join("big")).unwrap();
    }
}

/// Where nobody but the warden counts it, memory beyond the limit is not had, and has a name.
#[test]
fn an_ordinary_user_is_told_of_every_way_to_too_much_memory() {
    let stage = Stage::new();
    let namespaces = user_namespaces_work(&stage);
    let cwd = format!("cwd={}", stage.work().display());
    let scripts = [
        // One that grows, in a pipe.
        "head -c 200000000 /dev/zero | tail -c 200000000 | wc -c",
        // One that asks for three times the limit at once, and then uses it.
        "perl -e '$x = \"x\" x 200_000_000; print length $x' || exit 1",
        // One whose memory is shared, and no file's.
        "python3 -c 'import mmap; m = mmap.mmap(-1, 200000000); m.write(b\"x\" * 4096 * 48000); print(len(m))'",
        // One that hides what is its own (157 is prctl on x86-64, 4 PR_SET_DUMPABLE).
        "perl -e 'syscall(157, 4, 0); $x = \"x\" x 200_000_000; print length $x'",
    ];
    for containment in ["containment=subreaper", "containment=namespace"] {
        if containment.ends_with("namespace") && !namespaces {
            continue;
        }
        for script in scripts.iter().filter(|script| capability::program(first_word(script)).is_some()) {
            let settings = [cwd.as_str(), containment, "memory=67108864"];
            let Some(text) = as_nobody(&stage, &settings, &format!("ulimit -d; {script}")) else { return };
            assert!(text.contains("trips=[Memory]"), "{containment} {script}: {text}");
            assert!(
                text.contains("262144\n") && !text.contains("200000000"),
                "{containment} {script}: {text}"
            );
        }
    }
}

/// Memory that belongs to no process: anonymous files, files in shared memory, System V segments.
const HOMELESS: [(&str, &str); 5] = [
    (
        "memfd",
        "import os, time\nfds = [os.memfd_create(str(i)) for i in range(10)]\n[os.write(fd, b'x' * 30_000_000) for fd in fds]",
    ),
    // Sent to itself, and in no table of descriptors.
    (
        "memfd in flight",
        "import os, time, socket, array\na, b = socket.socketpair(socket.AF_UNIX)\nfor i in range(10):\n  fd = os.memfd_create(str(i)); os.write(fd, b'x' * 30_000_000)\n  socket.send_fds(a, [b'x'], [fd]); os.close(fd)",
    ),
    ("file", "import os, time\nopen('/dev/shm/x', 'wb').write(b'x' * 200_000_000)"),
    (
        "unnamed file",
        "import os, time\nf = open('/dev/shm/x', 'wb'); os.unlink('/dev/shm/x')\nf.write(b'x' * 200_000_000); f.flush()",
    ),
    (
        "segment",
        "import ctypes, time\nc = ctypes.CDLL(None); c.shmat.restype = ctypes.c_void_p\nfor i in range(10):\n  s = c.shmget(0, 30_000_000, 0o1600); p = c.shmat(s, None, 0)\n  assert s >= 0; ctypes.memset(p, 1, 30_000_000); c.shmdt(ctypes.c_void_p(p))",
    ),
];

#[test]
fn an_ordinary_user_has_no_memory_beside_its_limit() {
    let Some(_) = capability::program("python3") else { return };
    for level in ["namespaces", "landlock"] {
        for (name, program) in HOMELESS {
            let stage = Stage::new();
            let script =
                format!("python3 -c \"$(printf '%s\\ntime.sleep(2)\\nprint(42000 + 1)' \"{program}\")\"");
            let write = format!("write={}", stage.work().display());
            let level = format!("level={level}");
            let cwd = format!("cwd={}", stage.work().display());
            let settings = [cwd.as_str(), &write, &level, "inspection=allowed", "network=none"];
            let Some(free) = as_nobody(&stage, &settings, &script) else { return };
            if free.contains("NotStarted") {
                capability::not_run(&format!("{level}: {free}"));
                break;
            }
            let limited: Vec<&str> = settings.into_iter().chain(["memory=104857600"]).collect();
            let text = as_nobody(&stage, &limited, &script).unwrap();
            assert!(!text.contains("42001"), "{level} {name}: {text}");
            // Without a limit it is had, but for what the level refuses in any case.
            let refused = level == "level=landlock" && !name.starts_with("memfd");
            assert_eq!(free.contains("42001"), !refused, "{level} {name}: {free}");
        }
    }
}

/// What the account has left of its inotify instances while an attempt takes all it can get.
#[test]
fn an_ordinary_user_keeps_half_of_its_watches() {
    let Some(_) = capability::program("python3") else { return };
    let all: u64 =
        std::fs::read_to_string("/proc/sys/fs/inotify/max_user_instances").unwrap().trim().parse().unwrap();
    let program =
        "import ctypes; c = ctypes.CDLL(None)\nn = 0\nwhile c.inotify_init() >= 0: n += 1\nprint(n)";
    let taken = |level: &str| {
        let stage = Stage::new();
        let (cwd, write) =
            (format!("cwd={}", stage.work().display()), format!("write={}", stage.work().display()));
        let text = as_nobody(
            &stage,
            &[&cwd, &write, level, "open_files=0"],
            &format!("ulimit -n 4096; python3 -c \"{program}\""),
        )?;
        if text.contains("NotStarted") {
            capability::not_run(&format!("{level}: {text}"));
            return None;
        }
        Some(text.lines().last()?.parse::<u64>().unwrap_or_else(|_| panic!("{text}")))
    };
    let Some(confined) = taken("level=namespaces") else { return };
    assert!(confined > 0 && confined <= all / 2, "{confined} of {all}");
    // The level landlock has no namespace that would bound it.
    let Some(unbounded) = taken("level=landlock") else { return };
    assert!(unbounded > all / 2, "{unbounded} of {all}");
}

fn first_word(script: &str) -> &str {
    script.split(' ').next().unwrap_or(script)
}

/// Faster than the warden looks, it is named by its peak once it ends badly; files in memory are no part of it.
#[test]
fn an_ordinary_user_s_quick_glutton_is_named_and_a_reader_of_files_is_not() {
    let stage = Stage::new();
    let cwd = format!("cwd={}", stage.work().display());
    let run = |memory: &str, script: &str| {
        as_nobody(&stage, &[&cwd, "containment=subreaper", &format!("memory={memory}")], script)
    };
    for _ in 0..4 {
        let quick = "head -c 16000000 /dev/zero | tail -c 16000000 >/dev/null; exit 3";
        let Some(text) = run("8388608", quick) else { return };
        assert!(text.contains("trips=[Memory]"), "{text}");
    }
    let text = run("8388608", "head -c 1000000 /dev/zero | tail -c 1000000 >/dev/null; exit 3").unwrap();
    assert!(text.contains("exit=Code(3)") && text.contains("trips=[]"), "{text}");
    let Some(_) = capability::program("python3") else { return };
    let reads = "head -c 200000000 /dev/zero >big; python3 -c 'import mmap, time; \
                 f = open(\"big\"); m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ); \
                 m.find(b\"x\"); time.sleep(0.5); raise SystemExit(3)'";
    let text = run("67108864", reads).unwrap();
    assert!(text.contains("exit=Code(3)") && text.contains("trips=[]"), "{text}");
}
