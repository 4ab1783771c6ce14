//! After the end nothing of an attempt is alive. `run` checks that each time; here are the hard cases.

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
