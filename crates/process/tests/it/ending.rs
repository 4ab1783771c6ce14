//! After the end nothing of an attempt is alive. `run` checks that each time; here are the hard cases.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use windlass_process::ProgramExit;

use crate::stage::{
    SOON, Stage, carriers, containments, eventually, given, kill_warden_of, run, spawner, stdout, warden_of,
};

#[test]
fn a_daemon_is_dead_before_wait_returns() {
    let stage = Stage::new();
    for containment in containments() {
        let script = "setsid sh -c '(trap \"\" TERM HUP; touch daemon; while :; do date >>written; sleep 0.01; done) &' &
            while [ ! -s written ]; do sleep 0.01; done; rm written";
        let finished = run(&stage.shell(script), containment);
        assert_eq!(finished.exit, ProgramExit::Code(0));
        assert!(finished.stray_count >= 1);
        std::fs::remove_file(stage.work().join("written")).ok();
    }
}

#[test]
fn strays_are_counted() {
    let stage = Stage::new();
    for containment in containments() {
        assert_eq!(run(&stage.shell("sleep 0.01; true | true"), containment).stray_count, 0);
        assert_eq!(run(&stage.shell("sleep 60 & sleep 60 & exit 0"), containment).stray_count, 2);
    }
}

#[test]
fn a_grandchild_that_holds_the_pipe_delays_nothing() {
    let stage = Stage::new();
    for containment in containments() {
        let finished = run(&stage.shell("(setsid sleep 60 &) ; echo done"), containment);
        assert_eq!((finished.exit.clone(), stdout(&finished)), (ProgramExit::Code(0), "done\n".to_owned()));
        assert!(finished.duration < SOON);
    }
}

#[test]
fn a_program_that_keeps_forking_is_dead_too() {
    let stage = Stage::new();
    for containment in containments() {
        // A chain in which each link starts the next and leaves: at any moment only one or two are alive.
        let script = "echo 'setsid sh ./link & exit 0' >link; sh ./link; sleep 0.05; exit 5";
        let finished = run(&stage.shell(script), containment);
        assert_eq!(finished.exit, ProgramExit::Code(5));
        let storm = "for i in 1 2 3 4 5 6 7 8; do (while :; do (sleep 5 &) ; sleep 0.01; done) & done; sleep 0.2; exit 6";
        let finished = run(&stage.shell(storm), containment);
        assert_eq!(finished.exit, ProgramExit::Code(6));
        assert!(finished.stray_count >= 8, "{}", finished.stray_count);
    }
}

#[test]
fn a_running_program_that_is_dropped_is_dead() {
    let stage = Stage::new();
    for containment in containments() {
        let program =
            stage.shell("trap '' TERM; setsid sleep 60 & touch started; while :; do sleep 60; done");
        let running = spawner(containment).start(&program).unwrap();
        stage.await_file("started");
        std::fs::remove_file(stage.work().join("started")).unwrap();
        let (warden, canceller) = (warden_of(&program), running.canceller());
        drop(running);
        assert_eq!(given(&program.marker), Vec::<String>::new());
        eventually("the warden is reaped", || !std::path::Path::new(&format!("/proc/{warden}")).exists());
        canceller.cancel();
    }
}

#[test]
fn a_warden_that_is_killed_takes_its_tree_along() {
    let stage = Stage::new();
    for containment in containments() {
        let program = stage.shell("setsid sh -c 'setsid sleep 60 & sleep 60' & touch started; sleep 60");
        let running = spawner(containment).start(&program).unwrap();
        stage.await_file("started");
        std::fs::remove_file(stage.work().join("started")).unwrap();
        eventually("all are there", || carriers(&program.marker).len() >= 4);
        kill_warden_of(&program);
        let finished = running.wait();
        assert!(matches!(finished.exit, ProgramExit::WardenLost { .. }), "{:?}", finished.exit);
        assert_eq!(finished.survivor_count, 0);
        assert_eq!(given(&program.marker), Vec::<String>::new());
    }
}

/// Stops the warden of a program from outside: once, or again and again until it is told that this is enough.
fn stop(warden: u32, enough: Option<&AtomicBool>) {
    let warden = Pid::from_raw(warden as i32).unwrap();
    let pinned = pidfd_open(warden, PidfdFlags::empty()).unwrap();
    pidfd_send_signal(&pinned, Signal::STOP).unwrap();
    while enough.is_some_and(|enough| !enough.load(Ordering::Relaxed)) {
        if pidfd_send_signal(&pinned, Signal::STOP).is_err() {
            return;
        }
        std::thread::yield_now();
    }
}

#[test]
fn a_stopped_warden_voids_no_limit() {
    let stage = Stage::new();
    for containment in containments() {
        let mut program = stage.shell("setsid sleep 60 & touch started; sleep 60");
        program.limits.wall = Duration::from_secs(2);
        let running = spawner(containment).start(&program).unwrap();
        stage.await_file("started");
        std::fs::remove_file(stage.work().join("started")).unwrap();
        stop(warden_of(&program), None);
        let finished = running.wait();
        assert_eq!((finished.exit, finished.survivor_count), (ProgramExit::TimedOut, 0));
        assert!(finished.duration < Duration::from_secs(6), "{:?}", finished.duration);
        assert_eq!(given(&program.marker), Vec::<String>::new());
    }
}

#[test]
fn a_warden_that_is_stopped_is_cancelled_all_the_same() {
    let stage = Stage::new();
    for containment in containments() {
        let program = stage.shell("setsid sleep 60 & touch started; sleep 60");
        let running = spawner(containment).start(&program).unwrap();
        stage.await_file("started");
        std::fs::remove_file(stage.work().join("started")).unwrap();
        stop(warden_of(&program), None);
        let began = Instant::now();
        running.canceller().cancel();
        assert_eq!(running.wait().exit, ProgramExit::Cancelled);
        assert!(began.elapsed() < Duration::from_secs(6), "{:?}", began.elapsed());
        assert_eq!(given(&program.marker), Vec::<String>::new());
    }
}

#[test]
fn a_warden_that_is_stopped_again_and_again_is_ended_with_its_tree() {
    let stage = Stage::new();
    for containment in containments() {
        let mut program = stage.shell("setsid sleep 60 & touch started; sleep 60");
        program.limits.wall = Duration::from_secs(2);
        let running = spawner(containment).start(&program).unwrap();
        stage.await_file("started");
        std::fs::remove_file(stage.work().join("started")).unwrap();
        let (warden, enough, began) = (warden_of(&program), AtomicBool::new(false), Instant::now());
        std::thread::scope(|scope| {
            scope.spawn(|| stop(warden, Some(&enough)));
            let finished = running.wait();
            enough.store(true, Ordering::Relaxed);
            let ended = matches!(finished.exit, ProgramExit::TimedOut | ProgramExit::WardenLost { .. });
            assert!(ended && finished.survivor_count == 0, "{finished:?}");
        });
        assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
        assert_eq!(given(&program.marker), Vec::<String>::new());
    }
}
