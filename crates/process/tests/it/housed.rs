//! Programs in a container of an engine that is stood in for: see `windlass_testkit::stand_in`.

use std::time::Duration;

use windlass_core::policy::{NetworkKind, NetworkPolicy, SandboxLevel};
use windlass_process::{
    Client, Confinement, Engine, Finished, Image, Inspection, Program, ProgramExit, Reach, Spawner,
};
use windlass_testkit::stand_in::StandIn;

use crate::stage::{Stage, WARDEN, carriers, eventually, given, kill_warden_of, stderr, stdout};

/// A stand-in, and the image that it has.
fn image(stage: &Stage) -> Option<(StandIn, Image)> {
    let engine = StandIn::install(&stage.path().join("engine"), "docker")?;
    let client = Client {
        engine: Engine::Docker,
        program: engine.dir().join("docker"),
        env: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
    };
    Some((engine, Image { client, id: "sha256:0123abcd".to_owned() }))
}

/// In the container, with the work directory writable.
fn housed(stage: &Stage, image: &Image, script: &str) -> Program {
    let mut program = stage.shell(script);
    let reach = Reach { write: vec![stage.work()], ..Reach::default() };
    program.env = Vec::new();
    program.confinement = Confinement {
        level: SandboxLevel::Container,
        reach,
        network: NetworkPolicy { kind: NetworkKind::None, allow: Vec::new() },
        inspection: Inspection::Refused,
        tree: None,
        layers: Vec::new(),
        image: Some(image.clone()),
        counted: Vec::new(),
    };
    program
}

fn run(program: &Program) -> Finished {
    let finished = Spawner::with_warden(WARDEN).start(program).unwrap().wait();
    assert_eq!(finished.survivor_count, 0, "{finished:?}");
    assert_eq!(given(&program.marker), Vec::<String>::new());
    finished
}

#[test]
fn every_attack_is_stopped_inside() {
    let stage = Stage::new();
    let Some((_engine, image)) = image(&stage) else { return };
    let proof = Spawner::with_warden(WARDEN).prove_container(&image, &stage.work());
    let broken: Vec<_> = proof.attempts.iter().filter(|attempt| !attempt.held).collect();
    assert!(proof.held && broken.is_empty() && proof.attempts.len() == 13, "{proof:?}");
    assert_eq!(std::fs::read_dir(stage.work()).unwrap().count(), 0, "nothing is left");
}

#[test]
fn a_program_has_its_input_its_output_and_its_exit() {
    let stage = Stage::new();
    let Some((engine, image)) = image(&stage) else { return };
    let mut program = housed(&stage, &image, "cat; echo \"$WORD $INVOCATION_ID\" >made; ls / >&2; exit 7");
    program.stdin = b"a brief\n".to_vec();
    program.env = vec![("WORD".into(), "s3cret $x".into())];
    let finished = run(&program);
    assert_eq!(
        (&finished.exit, stdout(&finished).as_str()),
        (&ProgramExit::Code(7), "a brief\n"),
        "{}",
        stderr(&finished)
    );
    let made = std::fs::read_to_string(stage.work().join("made")).unwrap();
    assert_eq!(made, format!("s3cret $x {}\n", program.marker));
    assert!(!stderr(&finished).contains("home"), "{}", stderr(&finished));
    let asked = engine.asked();
    let name = asked[0].split(' ').find_map(|word| word.strip_prefix("--name=")).unwrap();
    assert!(!asked[0].contains("s3cret"), "{asked:?}");
    let ending = [
        format!("kill --signal KILL {name}"),
        format!("rm --force --volumes {name}"),
        format!("inspect --type container --format {{{{.State.Status}}}} {name}"),
    ];
    assert_eq!(asked[1..], ending);
}

#[test]
fn what_outlives_its_program_or_its_time_is_ended_by_the_engine() {
    let stage = Stage::new();
    let Some((engine, image)) = image(&stage) else { return };
    let finished = run(&housed(&stage, &image, "setsid sleep 60 & exit 0"));
    assert_eq!(finished.exit, ProgramExit::Code(0));
    let mut program = housed(&stage, &image, "trap '' TERM; touch up; sleep 60 & while :; do wait; done");
    program.limits.wall = Duration::from_secs(2);
    let finished = run(&program);
    assert_eq!(finished.exit, ProgramExit::TimedOut, "{}", stderr(&finished));
    assert!(stage.work().join("up").exists());
    assert!(engine.asked().last().unwrap().starts_with("inspect"), "{:?}", engine.asked());
}

#[test]
fn a_client_that_makes_no_container_has_run_nothing() {
    let stage = Stage::new();
    let Some((_engine, image)) = image(&stage) else { return };
    let other = Image { id: "sha256:ffff".to_owned(), ..image.clone() };
    let finished = run(&housed(&stage, &other, "touch ran"));
    let why = "docker made no container: stand-in: another image: sha256:ffff".to_owned();
    assert_eq!(finished.exit, ProgramExit::NotStarted { why });
    assert!(!stage.work().join("ran").exists());
    // A program may end with the same number.
    assert_eq!(run(&housed(&stage, &image, "exit 125")).exit, ProgramExit::Code(125));
    let mut allow = housed(&stage, &image, "touch ran");
    allow.confinement.network =
        NetworkPolicy { kind: NetworkKind::Allow, allow: vec!["a.org:443".to_owned()] };
    let ProgramExit::NotStarted { why } = run(&allow).exit else { panic!("it was started") };
    assert!(why.contains("network.allow does not work at level container"), "{why}");
}

#[test]
fn a_container_whose_warden_was_killed_is_ended_before_anything_new_starts() {
    let stage = Stage::new();
    let Some((engine, image)) = image(&stage) else { return };
    let program = housed(&stage, &image, "touch up; sleep 60");
    let running = Spawner::with_warden(WARDEN).start(&program).unwrap();
    stage.await_file("up");
    kill_warden_of(&program);
    let finished = running.wait();
    assert!(matches!(finished.exit, ProgramExit::WardenLost { .. }), "{finished:?}");
    assert!(engine.asked().iter().any(|line| line.starts_with("kill --signal KILL windlass-")));
    eventually("nothing of it is alive", || carriers(&program.marker).is_empty());
}
