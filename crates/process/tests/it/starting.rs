//! What a program finds when it starts, and what happens when it cannot.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;

use windlass_process::{Containment, ProgramExit, Spawner, StartError};

use crate::stage::{Stage, WARDEN, containments, run, spawner, stdout};

#[test]
fn exit_codes_and_signals_are_told_apart() {
    let stage = Stage::new();
    for containment in containments() {
        assert_eq!(run(&stage.program(&["true"]), containment).exit, ProgramExit::Code(0));
        assert_eq!(run(&stage.shell("exit 37"), containment).exit, ProgramExit::Code(37));
        assert_eq!(run(&stage.shell("kill -SEGV $$"), containment).exit, ProgramExit::Signal(11));
        assert_eq!(run(&stage.shell("kill -KILL $$"), containment).exit, ProgramExit::Signal(9));
    }
}

#[test]
fn the_environment_is_exactly_what_was_given() {
    let stage = Stage::new();
    for containment in containments() {
        let mut program = stage.program(&["/usr/bin/env", "-0"]);
        program.env = vec![
            ("A".into(), "1\n2".into()),
            ("B".into(), OsStringExt::from_vec(vec![0xff, b'='])),
            ("INVOCATION_ID".into(), "of another attempt".into()),
        ];
        let finished = run(&program, containment);
        let printed = std::fs::read(&finished.stdout.path).unwrap();
        let printed: BTreeSet<&[u8]> =
            printed.split(|&byte| byte == 0).filter(|line| !line.is_empty()).collect();
        let marker = format!("INVOCATION_ID={}", program.marker);
        assert_eq!(printed, BTreeSet::from([&b"A=1\n2"[..], b"B=\xff=", marker.as_bytes()]));
    }
}

#[test]
fn nothing_of_ours_reaches_a_program() {
    let stage = Stage::new();
    let leaked = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 40).unwrap();
    rustix::io::fcntl_setfd(&leaked, rustix::io::FdFlags::empty()).unwrap();
    for containment in containments() {
        let script =
            "ls /proc/$$/fd; grep -E '^Sig(Blk|Ign)' /proc/self/status; cut -d' ' -f1,5,6 /proc/$$/stat; pwd";
        let text = stdout(&run(&stage.shell(script), containment));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[..3], ["0", "1", "2"], "{text}");
        assert_eq!(lines[3], "SigBlk:\t0000000000000000");
        assert_eq!(lines[4], "SigIgn:\t0000000000000000");
        let ids: BTreeSet<&str> = lines[5].split(' ').collect();
        assert_eq!(ids.len(), 1, "pid, group and session are one: {text}");
        assert_eq!(lines[6], stage.work().to_str().unwrap());
        assert_eq!(lines.len(), 7, "{text}");
    }
}

#[test]
fn a_namespace_shows_only_the_attempt() {
    let stage = Stage::new();
    if !containments().contains(&Containment::PidNamespace) {
        return;
    }
    let text = stdout(&run(
        &stage.shell("echo $$ $PPID; tr '\\0' '\\n' </proc/1/environ; ls -d /proc/[0-9]*"),
        Containment::PidNamespace,
    ));
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("2 1"), "{text}");
    assert!(lines.clone().filter(|line| line.starts_with("/proc/")).count() <= 4, "{text}");
    assert!(lines.all(|line| line.starts_with("/proc/") || line.starts_with("INVOCATION_ID=")), "{text}");
}

#[test]
fn stdin_is_given_whole_and_then_ends() {
    let stage = Stage::new();
    for containment in containments() {
        let mut program = stage.program(&["cat"]);
        program.stdin = (0..700_000u32).map(|n| (n % 251) as u8).collect();
        let finished = run(&program, containment);
        assert_eq!(finished.exit, ProgramExit::Code(0));
        assert!(std::fs::read(&finished.stdout.path).unwrap() == program.stdin);
    }
}

#[test]
fn stdin_that_nobody_reads_holds_nothing_up() {
    let stage = Stage::new();
    for containment in containments() {
        for script in ["exec true", "exec 0<&-; echo closed", "head -c 10 >/dev/null; echo enough"] {
            let mut program = stage.shell(script);
            program.stdin = vec![b'x'; 900_000];
            assert_eq!(run(&program, containment).exit, ProgramExit::Code(0), "{script}");
        }
    }
}

#[test]
fn what_cannot_start_says_why() {
    let stage = Stage::new();
    std::fs::write(stage.work().join("text"), "not a program").unwrap();
    std::fs::write(stage.work().join("script"), "#!/no/such/interpreter\n").unwrap();
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(stage.work().join("script"), executable).unwrap();
    let why = |program, containment| match run(&program, containment).exit {
        ProgramExit::NotStarted { why } => why,
        other => panic!("{other:?}"),
    };
    for containment in containments() {
        let said = why(stage.program(&["/no/such/program"]), containment);
        assert!(said.contains("/no/such/program") && said.contains("No such file"), "{said}");
        let said = why(stage.program(&["no-such-program"]), containment);
        assert!(said.contains("no-such-program") && said.contains("PATH"), "{said}");
        let said = why(stage.program(&["./script"]), containment);
        assert!(said.contains("interpreter"), "{said}");
        let said = why(stage.program(&["./text"]), containment);
        assert!(said.contains("./text") && said.contains("ermission denied"), "{said}");
        let mut elsewhere = stage.program(&["true"]);
        elsewhere.cwd = stage.path().join("nowhere");
        let said = why(elsewhere, containment);
        assert!(said.contains("nowhere"), "{said}");
        let said = why(stage.program(&["true", "a\0b"]), containment);
        assert!(said.contains("NUL"), "{said}");
    }
}

#[test]
fn a_relative_entry_of_path_is_never_searched() {
    let stage = Stage::new();
    let planted = stage.work().join("planted");
    std::fs::copy("/bin/true", &planted).unwrap();
    let mut program = stage.program(&["planted"]);
    program.env = vec![("PATH".into(), ".:/usr/bin:".into())];
    let exit = run(&program, Containment::Subreaper).exit;
    assert!(matches!(exit, ProgramExit::NotStarted { .. }), "{exit:?}");
}

#[test]
fn a_supervisor_without_a_warden_or_a_directory_is_told() {
    let stage = Stage::new();
    let missing = Spawner::with_warden(stage.path().join("no-warden")).contained_by(Containment::Subreaper);
    let error = missing.start(&stage.program(&["true"])).unwrap_err();
    assert!(matches!(error, StartError::Spawn { .. }) && error.to_string().contains("no-warden"), "{error}");
    let error = spawner(Containment::Subreaper).start(&stage.program(&[])).unwrap_err();
    assert!(matches!(error, StartError::NoCommand));
    let mut program = stage.program(&["true"]);
    program.dir = stage.path().join("no-attempt");
    let error = spawner(Containment::Subreaper).start(&program).unwrap_err();
    assert!(error.to_string().contains("no-attempt"), "{error}");
}

#[test]
fn an_attempt_has_one_warden() {
    let stage = Stage::new();
    let program = stage.shell("touch started; exec sleep 60");
    let first = spawner(Containment::Subreaper).start(&program).unwrap();
    stage.await_file("started");
    let second = spawner(Containment::Subreaper).start(&program).unwrap().wait();
    assert!(
        matches!(&second.exit, ProgramExit::NotStarted { why } if why.contains("lock")),
        "{:?}",
        second.exit
    );
    first.canceller().cancel();
    assert_eq!(first.wait().exit, ProgramExit::Cancelled);
}

#[test]
fn many_start_at_one_moment() {
    let stage = Stage::new();
    let spawner = Spawner::with_warden(WARDEN);
    let exit = |code: i32| spawner.start(&stage.shell(&format!("exit {code}"))).unwrap().wait().exit;
    std::thread::scope(|scope| {
        let started: Vec<_> = (0..16).map(|code| (code, scope.spawn(move || exit(code)))).collect();
        for (code, thread) in started {
            assert_eq!(thread.join().unwrap(), ProgramExit::Code(code));
        }
    });
}

#[test]
fn what_is_no_warden_is_told() {
    let stage = Stage::new();
    match Spawner::with_warden("/bin/true").start(&stage.shell("exit 0")) {
        Ok(running) => {
            let exit = running.wait().exit;
            assert!(matches!(exit, ProgramExit::WardenLost { .. }), "{exit:?}");
        }
        // It had ended before it was told what to do.
        Err(error) => assert!(matches!(error, StartError::Request { .. }), "{error}"),
    }
}

#[test]
fn without_being_told_the_best_containment_is_taken() {
    let stage = Stage::new();
    let finished = Spawner::with_warden(WARDEN).start(&stage.program(&["true"])).unwrap().wait();
    assert_eq!(finished.containment, containments()[0]);
    assert_eq!(finished.exit, ProgramExit::Code(0));
}

#[test]
fn a_used_directory_is_cleared_and_nothing_planted_in_it_is_followed() {
    let stage = Stage::new();
    let program = stage.program(&["sh", "-c", "echo first"]);
    run(&program, containments()[0]);
    let victim = stage.path().join("victim");
    std::fs::write(&victim, "precious").unwrap();
    std::fs::remove_file(program.dir.join("stderr")).unwrap();
    std::os::unix::fs::symlink(&victim, program.dir.join("stderr")).unwrap();
    std::fs::create_dir_all(program.dir.join("report/deep")).unwrap();
    windlass_process::clear_attempt(&program.dir).unwrap();
    let left: BTreeSet<_> = std::fs::read_dir(&program.dir)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|e| (e.file_name(), e.metadata().unwrap().len()))
        .collect();
    // A record that was removed is one byte long.
    let own = [("lock", 0), ("record.json", 1), ("stdout", 0), ("warden.log", 0)];
    let own = own.map(|(name, length)| (name.into(), length));
    assert_eq!(left, own.into());
    assert_eq!(std::fs::read(&victim).unwrap(), b"precious");
}
