//! What is kept of what a program prints.

use windlass_process::{Exit, Finished, Limits};

use crate::stage::{CAP, Stage, containments, eventually, run, spawner, stderr, stdout};

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
        program.limits = Limits::none(1000);
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
        let whisper = run(&stage.shell("echo hello"), containment);
        // No newline in it: a line of 200 MB.
        let flood = run(&stage.shell("head -c 200000000 /dev/zero"), containment);
        assert_eq!(flood.exit, Exit::Code(0));
        assert_eq!(flood.stdout.total_bytes, 200_000_000);
        assert_eq!(flood.stdout.kept_bytes, CAP);
        assert!(std::fs::metadata(&flood.stdout.path).unwrap().len() < CAP + 100);
        let peak = |finished: &Finished| finished.warden_peak_kib;
        assert!(peak(&whisper) > 0);
        assert!(peak(&flood) < peak(&whisper) + 2048, "{} after {}", peak(&flood), peak(&whisper));
    }
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
        assert_eq!(running.wait().exit, Exit::Code(0));
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
