//! The supervisor dies; the next one makes sure.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use windlass_process::{Containment, LeftoverEnd, LeftoversError, Program, ProgramExit, end_leftovers};

use crate::stage::{SOON, Stage, WARDEN, carriers, containments, eventually, spawner};

const TREE: &str =
    "trap '' TERM; (trap '' TERM; setsid sleep 60; :) & setsid sleep 60 & touch started; sleep 60; :";

#[test]
fn everything_is_dead_soon_after_the_supervisor_is_killed() {
    let stage = Stage::new();
    for containment in containments() {
        let (mut supervisor, program) = supervised(&stage, containment);
        let killed = Instant::now();
        supervisor.kill().unwrap();
        supervisor.wait().unwrap();
        eventually("all dead", || carriers(&program.marker).is_empty());
        let stage_path = stage.path().display().to_string();
        eventually("the warden too", || windlass_testkit::alive::carrying(&stage_path).is_empty());
        assert!(killed.elapsed() < Duration::from_secs(2), "{:?}", killed.elapsed());
        let left = end_leftovers(&stage.attempts(), SOON).unwrap();
        assert!(
            left.ended.iter().all(|ended| ended.how == LeftoverEnd::ByItself),
            "nothing was left to end: {left:?}"
        );
    }
}

#[test]
fn leftovers_are_waited_for() {
    let stage = Stage::new();
    for containment in containments() {
        let (mut supervisor, program) = supervised(&stage, containment);
        supervisor.kill().unwrap();
        let left = end_leftovers(&stage.attempts(), SOON).unwrap();
        eventually("all dead", || carriers(&program.marker).is_empty());
        assert!(left.ended.iter().all(|ended| ended.how == LeftoverEnd::ByItself), "{left:?}");
        supervisor.wait().unwrap();
    }
}

#[test]
fn leftovers_whose_warden_hangs_are_killed_and_named() {
    let stage = Stage::new();
    for containment in containments() {
        let program = stage.shell(TREE);
        let running = spawner(containment).start(&program).unwrap();
        await_tree(&stage, &program);
        let [warden, _] = recorded(&program);
        kill_process(warden, Signal::STOP).unwrap();
        let left = end_leftovers(&stage.attempts(), Duration::from_millis(50)).unwrap();
        let [ended] = &left.ended[..] else { panic!("{left:?}") };
        assert_eq!(ended.dir, program.dir);
        let LeftoverEnd::Killed { pids } = &ended.how else { panic!("{left:?}") };
        assert!(pids.contains(&warden.as_raw_pid()) && pids.len() >= 2, "{pids:?}");
        assert_eq!(end_leftovers(&stage.attempts(), SOON).unwrap().ended, [], "once is enough");
        assert!(matches!(running.wait().exit, ProgramExit::WardenLost { .. }));
        eventually("all dead", || carriers(&program.marker).is_empty());
    }
}

#[test]
fn a_namespace_dies_with_its_warden() {
    let stage = Stage::new();
    if !containments().contains(&Containment::PidNamespace) {
        return;
    }
    let (mut supervisor, program) = supervised(&stage, Containment::PidNamespace);
    let [warden, _] = recorded(&program);
    kill_process(Pid::from_child(&supervisor), Signal::STOP).unwrap();
    kill_process(warden, Signal::KILL).unwrap();
    eventually("all dead", || carriers(&program.marker).is_empty());
    supervisor.kill().unwrap();
    supervisor.wait().unwrap();
}

#[test]
fn strays_of_a_dead_warden_are_found_by_their_marker() {
    let stage = Stage::new();
    let (mut supervisor, program) = supervised(&stage, Containment::Subreaper);
    let [warden, leader] = recorded(&program);
    kill_process(Pid::from_child(&supervisor), Signal::STOP).unwrap();
    kill_process(warden, Signal::KILL).unwrap();
    supervisor.kill().unwrap();
    supervisor.wait().unwrap();
    eventually("the program dies with its warden", || !is_running(leader));
    assert!(!carriers(&program.marker).is_empty(), "without a namespace some live on");
    let left = end_leftovers(&stage.attempts(), SOON).unwrap();
    assert!(
        matches!(&left.ended[..], [ended] if matches!(&ended.how, LeftoverEnd::Killed { pids } if !pids.is_empty()))
    );
    eventually("all dead", || carriers(&program.marker).is_empty());
}

#[test]
fn a_recycled_pid_and_another_boot_are_left_alone() {
    let stage = Stage::new();
    let mut innocent = Command::new("sleep").arg("60").spawn().unwrap();
    let pid = innocent.id();
    let boot_id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let real_start: u64 = {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        stat.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap().parse().unwrap()
    };
    for (start, boot) in [(real_start - 1, boot_id.trim()), (real_start, "another boot")] {
        let program = stage.program(&["true"]);
        let process = format!(r#"{{"pid":{pid},"start_time":{start}}}"#);
        let record =
            format!(r#"{{"warden":{process},"leader":{process},"boot_id":"{boot}","marker":"none"}}"#);
        std::fs::write(program.dir.join("record.json"), record).unwrap();
        std::fs::write(program.dir.join("lock"), "").unwrap();
    }
    std::fs::write(stage.program(&["true"]).dir.join("record.json"), "").unwrap();
    assert_eq!(end_leftovers(&stage.attempts(), Duration::ZERO).unwrap().ended, []);
    assert!(innocent.try_wait().unwrap().is_none(), "it must not be killed");
    innocent.kill().unwrap();
    innocent.wait().unwrap();
}

#[test]
fn a_lock_without_a_record_is_an_error_that_names_it() {
    let stage = Stage::new();
    let program = stage.program(&["true"]);
    let lock = std::fs::File::create(program.dir.join("lock")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let error = end_leftovers(&stage.attempts(), Duration::from_millis(20)).unwrap_err();
    assert!(matches!(&error, LeftoversError::Locked { dir } if *dir == program.dir), "{error}");
    drop(lock);
    assert_eq!(end_leftovers(&stage.attempts(), Duration::ZERO).unwrap().ended, []);
    assert_eq!(end_leftovers(&stage.path().join("none"), Duration::ZERO).unwrap().ended, []);
}

/// A supervisor in a process of its own, with a stubborn tree that has started.
fn supervised(stage: &Stage, containment: Containment) -> (Child, Program) {
    let program = stage.shell(TREE);
    let contained = match containment {
        Containment::PidNamespace => "containment=namespace",
        Containment::Subreaper => "containment=subreaper",
    };
    let supervisor = Command::new(WARDEN)
        .args(["supervise", contained])
        .arg(format!("cwd={}", program.cwd.display()))
        .arg(format!("dir={}", program.dir.display()))
        .arg(format!("marker={}", program.marker))
        .arg("--")
        .args(&program.argv)
        .stdout(Stdio::null())
        // By which its warden is found.
        .current_dir(stage.path())
        .process_group(0)
        .spawn()
        .unwrap();
    await_tree(stage, &program);
    (supervisor, program)
}

fn await_tree(stage: &Stage, program: &Program) {
    stage.await_file("started");
    std::fs::remove_file(stage.work().join("started")).unwrap();
    eventually("all sleepers are there", || {
        carriers(&program.marker).iter().filter(|line| line.contains(": sleep 60")).count() >= 3
    });
}

/// The warden and the leader.
fn recorded(program: &Program) -> [Pid; 2] {
    let text = std::fs::read(program.dir.join("record.json")).unwrap();
    let record: serde_json::Value = serde_json::from_slice(&text).unwrap();
    ["warden", "leader"].map(|name| Pid::from_raw(record[name]["pid"].as_i64().unwrap() as i32).unwrap())
}

fn is_running(pid: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_pid())).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}
