//! Wall, silence, grace and cancelling.

use std::time::{Duration, Instant};

use windlass_process::{Program, ProgramExit, ProgramLimits};

use crate::stage::{CAP, Stage, containments, eventually, given, run, spawner, stdout, warden_of};

const GRACE: Duration = Duration::from_millis(300);

fn limited(mut program: Program, wall_ms: u64, silence_ms: u64) -> Program {
    let (wall, silence) = (Duration::from_millis(wall_ms), Duration::from_millis(silence_ms));
    program.limits = ProgramLimits { wall, silence, grace: GRACE, ..ProgramLimits::none(CAP) };
    program
}

#[test]
fn a_program_that_never_ends_hits_the_wall() {
    let stage = Stage::new();
    for containment in containments() {
        let finished = run(&limited(stage.shell("echo started; exec sleep 60"), 1000, 0), containment);
        assert_eq!(finished.exit, ProgramExit::TimedOut);
        assert_eq!(stdout(&finished), "started\n");
        assert!(finished.duration >= Duration::from_secs(1));
        assert!(finished.duration < Duration::from_secs(1) + GRACE + Duration::from_secs(2));
    }
}

#[test]
fn a_silent_program_stalls() {
    let stage = Stage::new();
    for containment in containments() {
        let finished = run(&limited(stage.shell("echo started; exec sleep 60"), 60_000, 300), containment);
        assert_eq!(finished.exit, ProgramExit::Stalled);
        assert!(finished.duration < Duration::from_secs(10), "{:?}", finished.duration);
    }
}

#[test]
fn what_keeps_working_hits_the_wall() {
    let stage = Stage::new();
    for containment in containments() {
        let finished = run(&limited(stage.shell("while :; do :; done"), 2000, 700), containment);
        assert_eq!((finished.exit, finished.stall), (ProgramExit::TimedOut, None));
    }
}

#[test]
fn what_stalled_is_told() {
    let stage = Stage::new();
    for containment in containments() {
        let spinner = stage.shell("while :; do printf . >&2; sleep 0.1; done");
        let finished = run(&limited(spinner, 60_000, 700), containment);
        assert_eq!(finished.exit, ProgramExit::Stalled);
        assert!(finished.stderr.total_bytes > 1);
        let stall = finished.stall.unwrap();
        assert!(stall.repeated_itself && stall.cpu_permille < 100, "{stall:?}");
        assert!(stall.silent_for >= Duration::from_millis(700), "{stall:?}");
        assert!(stall.to_string().starts_with("no new output for "), "{stall}");
    }
}

#[test]
fn a_program_may_use_its_grace() {
    let stage = Stage::new();
    for containment in containments() {
        let script = "trap 'echo cleaned; exit 3' TERM; echo ready; while :; do sleep 0.01; done";
        let mut program = limited(stage.shell(script), 0, 0);
        program.limits.grace = Duration::from_secs(30);
        let running = spawner(containment).start(&program).unwrap();
        eventually("ready", || {
            std::fs::read(program.dir.join("stdout")).is_ok_and(|text| text == b"ready\n")
        });
        running.canceller().cancel();
        let finished = running.wait();
        assert_eq!(finished.exit, ProgramExit::Cancelled);
        assert_eq!(stdout(&finished), "ready\ncleaned\n");
        assert!(finished.duration < Duration::from_secs(20), "the end of the program ends the grace");
    }
}

#[test]
fn ignoring_sigterm_buys_only_the_grace() {
    let stage = Stage::new();
    for containment in containments() {
        let script = "trap '' TERM; (trap '' TERM; sleep 60) & echo ready; while :; do sleep 60; done";
        let finished = run(&limited(stage.shell(script), 1000, 0), containment);
        assert_eq!(finished.exit, ProgramExit::TimedOut);
        assert!(finished.duration >= Duration::from_secs(1) + GRACE);
        assert!(finished.duration < Duration::from_secs(1) + GRACE + Duration::from_secs(2));
    }
}

#[test]
fn forking_on_sigterm_buys_nothing() {
    let stage = Stage::new();
    for containment in containments() {
        let script = "spawn() { for i in 1 2 3 4; do setsid sh -c 'trap \"\" TERM; sleep 60; :' & done; }
            trap spawn TERM; touch ready; while :; do sleep 0.02; done";
        let mut program = stage.shell(script);
        program.limits.grace = Duration::from_secs(1);
        let running = spawner(containment).start(&program).unwrap();
        stage.await_file("ready");
        std::fs::remove_file(stage.work().join("ready")).unwrap();
        let asked = Instant::now();
        running.canceller().cancel();
        let finished = running.wait();
        assert!(asked.elapsed() < program.limits.grace + Duration::from_secs(2), "{:?}", asked.elapsed());
        assert_eq!(finished.exit, ProgramExit::Cancelled);
        assert!(finished.stray_count >= 4, "{}", finished.stray_count);
        assert_eq!(given(&program.marker), Vec::<String>::new());
    }
}

#[test]
fn no_grace_means_at_once() {
    let stage = Stage::new();
    for containment in containments() {
        let mut program =
            limited(stage.shell("trap 'echo asked' TERM; while :; do sleep 0.01; done"), 300, 0);
        program.limits.grace = Duration::ZERO;
        let finished = run(&program, containment);
        assert_eq!(finished.exit, ProgramExit::TimedOut);
        assert_eq!(stdout(&finished), "");
    }
}

#[test]
fn a_stopped_program_can_be_ended() {
    let stage = Stage::new();
    for containment in containments() {
        let finished = run(&limited(stage.shell("kill -STOP $$"), 300, 0), containment);
        assert_eq!(finished.exit, ProgramExit::TimedOut);
    }
}

#[test]
fn cancelling_twice_or_too_late_does_no_harm() {
    let stage = Stage::new();
    for containment in containments() {
        let running = spawner(containment).start(&stage.program(&["true"])).unwrap();
        let canceller = running.canceller();
        assert_eq!(running.wait().exit, ProgramExit::Code(0));
        canceller.cancel();

        let running = spawner(containment).start(&stage.program(&["sleep", "60"])).unwrap();
        let canceller = running.canceller();
        canceller.cancel();
        canceller.clone().cancel();
        assert_eq!(running.wait().exit, ProgramExit::Cancelled);
    }
}

#[test]
fn closed_outputs_neither_end_nor_spin() {
    let stage = Stage::new();
    for containment in containments() {
        let program = limited(stage.shell("exec >&- 2>&-; touch closed; exec sleep 60"), 2000, 0);
        let running = spawner(containment).start(&program).unwrap();
        let warden = warden_of(&program);
        stage.await_file("closed");
        std::fs::remove_file(stage.work().join("closed")).unwrap();
        let waiting = std::thread::spawn(move || running.wait());
        let mut ticks = 0;
        eventually("the wall", || {
            ticks = cpu_ticks(warden).unwrap_or(ticks);
            waiting.is_finished()
        });
        assert_eq!(waiting.join().unwrap().exit, ProgramExit::TimedOut);
        assert!(ticks < 40, "the warden used {ticks} ticks of two seconds of waiting");
    }
}

#[test]
fn looking_for_activity_costs_next_to_nothing() {
    let stage = Stage::new();
    for containment in containments() {
        let program =
            limited(stage.shell("for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 60 & done; wait"), 0, 2000);
        let running = spawner(containment).start(&program).unwrap();
        let warden = warden_of(&program);
        let waiting = std::thread::spawn(move || running.wait());
        let mut ticks = 0;
        eventually("the end of its patience", || {
            ticks = cpu_ticks(warden).unwrap_or(ticks);
            waiting.is_finished()
        });
        assert_eq!(waiting.join().unwrap().exit, ProgramExit::Stalled);
        assert!(ticks < 20, "the warden used {ticks} ticks of two seconds");
    }
}

fn cpu_ticks(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    Some(fields[11].parse::<u64>().ok()? + fields[12].parse::<u64>().ok()?)
}
