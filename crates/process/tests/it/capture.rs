//! What is kept of what a program prints.

use windlass_process::{Containment, Finished, ProgramExit, ProgramLimits};
use windlass_testkit::alive;

use crate::stage::{CAP, Stage, containments, eventually, run, spawner, stderr, stdout, warden_of};

#[test]
fn both_streams_are_kept_apart_as_raw_bytes() {
    let stage = Stage::new();
    for containment in containments() {
        let finished = run(&stage.shell(r"printf 'a\377\376\000b'; printf 'only here' >&2"), containment);
        assert_eq!(std::fs::read(&finished.stdout.path).unwrap(), b"a\xff\xfe\0b");
        assert_eq!(stderr(&finished), "only here");
        assert_eq!((finished.stdout.total_bytes, finished.stdout.truncated), (5, false));
    }
}

#[test]
fn head_and_tail_of_long_output_are_kept() {
    let stage = Stage::new();
    for containment in containments() {
        let mut program = stage.program(&["seq", "1", "1000000"]);
        program.limits = ProgramLimits::none(1000);
        let finished = run(&program, containment);
        let text = stdout(&finished);
        assert!(text.starts_with("1\n2\n3\n"), "{text}");
        assert!(text.ends_with("\n999999\n1000000\n"), "{text}");
        assert!(text.contains(&format!("\n… {} bytes left out …\n", 6_888_896 - 1000)), "{text}");
        assert_eq!((finished.stdout.total_bytes, finished.stdout.kept_bytes), (6_888_896, 1000));
        assert!(finished.stdout.truncated);
        assert_eq!(text.len(), 1000 + "\n… 6887896 bytes left out …\n".len());
    }
}

#[test]
fn a_flood_leaves_the_warden_as_small_as_a_whisper() {
    let stage = Stage::new();
    for containment in containments() {
        let (_, whisper_peak) = run_and_measure(&stage, "echo hello", containment);
        // No newline in it: a line of 200 MB.
        let (flood, flood_peak) = run_and_measure(&stage, "head -c 200000000 /dev/zero", containment);
        assert_eq!(flood.exit, ProgramExit::Code(0));
        assert_eq!(flood.stdout.total_bytes, 200_000_000);
        assert_eq!(flood.stdout.kept_bytes, CAP);
        assert!(std::fs::metadata(&flood.stdout.path).unwrap().len() < CAP + 100);
        assert!(flood_peak < whisper_peak + 2048, "{flood_peak} after {whisper_peak}");
    }
}

/// The most memory the warden held until it had all of the output, in KiB.
fn run_and_measure(stage: &Stage, script: &str, containment: Containment) -> (Finished, u64) {
    let program = stage.shell(&format!("{script}; touch printed; while [ -e printed ]; do sleep 0.01; done"));
    let running = spawner(containment).start(&program).unwrap();
    stage.await_file("printed");
    let peak = alive::peak_kib(warden_of(&program)).unwrap();
    std::fs::remove_file(stage.work().join("printed")).unwrap();
    (running.wait(), peak)
}

#[test]
fn output_can_be_followed_while_it_is_printed() {
    let stage = Stage::new();
    for containment in containments() {
        let program = stage.shell("echo first; while [ ! -e seen ]; do sleep 0.01; done; rm seen");
        let running = spawner(containment).start(&program).unwrap();
        eventually("the first line can be read", || {
            std::fs::read(program.dir.join("stdout")).is_ok_and(|text| text == b"first\n")
        });
        std::fs::write(stage.work().join("seen"), "").unwrap();
        assert_eq!(running.wait().exit, ProgramExit::Code(0));
    }
}

#[test]
fn the_last_words_of_a_program_are_kept() {
    let stage = Stage::new();
    for containment in containments() {
        for _ in 0..20 {
            let finished = run(&stage.shell("head -c 200000 /dev/zero; printf end"), containment);
            assert_eq!(finished.stdout.total_bytes, 200_003);
        }
    }
}
