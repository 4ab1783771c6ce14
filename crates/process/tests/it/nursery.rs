//! The process that forks wardens.

use rustix::process::{Pid, Signal, kill_process};
use windlass_process::{Exit, Spawner};
use windlass_testkit::alive;

use crate::stage::{Stage, WARDEN, eventually};

fn nurseries() -> Vec<u32> {
    let name = |id: &u32| std::fs::read_to_string(format!("/proc/{id}/comm")).unwrap_or_default();
    let mine = alive::children(std::process::id());
    mine.into_iter().filter(|id| name(id).starts_with("windlass-nurser")).collect()
}

/// Wardens that have no request yet.
fn waiting() -> Vec<u32> {
    nurseries().into_iter().flat_map(alive::children).collect()
}

fn one_ahead() -> u32 {
    eventually("one is forked ahead", || waiting().len() == 1);
    waiting()[0]
}

fn exit(spawner: &Spawner, stage: &Stage, script: &str) -> Exit {
    spawner.start(&stage.shell(script)).unwrap().wait().exit
}

#[test]
fn one_serves_a_spawner_and_ends_with_it() {
    let stage = Stage::new();
    let spawner = Spawner::with_warden(WARDEN);
    assert_eq!(nurseries().len(), 0, "none before the first program");
    for code in [0, 7] {
        assert_eq!(exit(&spawner, &stage, &format!("exit {code}")), Exit::Code(code));
    }
    assert_eq!(nurseries().len(), 1);
    let running = spawner.start(&stage.shell("read line; exit 3")).unwrap();
    drop(spawner);
    assert_eq!(nurseries().len(), 0);
    assert_eq!(running.wait().exit, Exit::Code(3), "a warden lives on");
}

#[test]
fn one_that_was_killed_is_replaced() {
    let stage = Stage::new();
    let spawner = Spawner::with_warden(WARDEN);
    let running = spawner.start(&stage.shell("sleep 0.2; exit 4")).unwrap();
    for _ in 0..2 {
        let [nursery] = nurseries()[..] else { panic!("one nursery, not {:?}", nurseries()) };
        kill_process(Pid::from_raw(nursery.cast_signed()).unwrap(), Signal::KILL).unwrap();
        eventually("it is dead", || nurseries().is_empty());
        // The first is served by the warden that was forked ahead.
        for code in [5, 6] {
            assert_eq!(exit(&spawner, &stage, &format!("exit {code}")), Exit::Code(code));
        }
    }
    assert_eq!(running.wait().exit, Exit::Code(4), "its wardens live on");
}

#[test]
fn a_warden_that_was_killed_while_it_waited_is_replaced() {
    let stage = Stage::new();
    let spawner = Spawner::with_warden(WARDEN);
    assert_eq!(exit(&spawner, &stage, "exit 5"), Exit::Code(5));
    kill_process(Pid::from_raw(one_ahead().cast_signed()).unwrap(), Signal::KILL).unwrap();
    eventually("it is dead", || waiting().is_empty());
    assert_eq!(exit(&spawner, &stage, "exit 6"), Exit::Code(6));
}

#[test]
fn one_that_waits_ends_with_its_spawner() {
    let stage = Stage::new();
    let spawner = Spawner::with_warden(WARDEN);
    assert_eq!(exit(&spawner, &stage, "exit 0"), Exit::Code(0));
    let ahead = one_ahead();
    drop(spawner);
    eventually("it is dead", || alive::program(ahead).is_none());
}

#[test]
fn many_start_at_one_moment() {
    let stage = Stage::new();
    let spawner = Spawner::with_warden(WARDEN);
    std::thread::scope(|scope| {
        let started: Vec<_> = (0..16)
            .map(|code| {
                let (spawner, stage) = (&spawner, &stage);
                scope.spawn(move || (code, exit(spawner, stage, &format!("exit {code}"))))
            })
            .collect();
        for thread in started {
            let (code, exit) = thread.join().unwrap();
            assert_eq!(exit, Exit::Code(code));
        }
    });
    assert_eq!(nurseries().len(), 1);
}

#[test]
fn what_is_no_warden_is_told() {
    let stage = Stage::new();
    let error = Spawner::with_warden("/bin/true").start(&stage.shell("exit 0")).unwrap_err();
    assert!(error.to_string().contains("cannot start the warden /bin/true"), "{error}");
}
