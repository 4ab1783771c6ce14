//! Recordings that were damaged: no damage panics, and none makes a success that the recording did not have.

use std::path::Path;

use proptest::prelude::*;
use windlass_agent::cli::fuzzed;
use windlass_agent::registry;
use windlass_core::input::AttemptEnd;
use windlass_process::ProgramExit;

use crate::recorded::{Recording, read, recording};
use crate::recordings::TABLE;

#[derive(Clone, Debug)]
pub enum Damage {
    Truncate(prop::sample::Index),
    Drop(prop::sample::Index),
    Duplicate(prop::sample::Index, prop::sample::Index),
    Swap(prop::sample::Index, prop::sample::Index),
    Reverse,
    Noise(prop::sample::Index, Vec<u8>),
    Foreign(prop::sample::Index, usize),
}

pub fn damage() -> impl Strategy<Value = Damage> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        index().prop_map(Damage::Truncate),
        index().prop_map(Damage::Drop),
        (index(), index()).prop_map(|(from, to)| Damage::Duplicate(from, to)),
        (index(), index()).prop_map(|(a, b)| Damage::Swap(a, b)),
        Just(Damage::Reverse),
        (index(), prop::collection::vec(any::<u8>(), 1..6)).prop_map(|(at, bytes)| Damage::Noise(at, bytes)),
        (index(), 0..FOREIGN.len()).prop_map(|(at, which)| Damage::Foreign(at, which)),
    ]
}

/// Lines of nobody, and halves of end markers.
const FOREIGN: [&str; 11] = [
    "",
    "Warning: something",
    "{\"type\":\"result\"}",
    "{\"type\":\"turn.completed\"",
    "{\"type\":\"step_finish\",\"part\":null}",
    "{\"dir\":\"agent->client\",\"msg\":{\"result\":{\"stopReason\":\"end_turn\"}}}",
    "{\"dir\":\"agent->client\",\"msg\":{\"id\":3,\"result\":{\"stopReason\":\"end_turn\"}}",
    "{\"dir\":\"windlass\",\"msg\":{\"broken\":7}}",
    "{\"type\":7}",
    "null",
    "\u{fffd}\u{0}",
];

pub fn apply(damage: &Damage, bytes: &mut Vec<u8>) {
    let mut lines: Vec<Vec<u8>> = bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    let count = lines.len();
    match damage {
        Damage::Truncate(at) => return bytes.truncate(at.index(bytes.len() + 1)),
        Damage::Noise(at, noise) => {
            let start = at.index(bytes.len() + 1);
            let end = (start + noise.len()).min(bytes.len());
            bytes.splice(start..end, noise.iter().copied());
            return;
        }
        Damage::Drop(at) => drop(lines.remove(at.index(count))),
        Damage::Duplicate(from, to) => {
            let line = lines[from.index(count)].clone();
            lines.insert(to.index(count + 1), line);
        }
        Damage::Swap(a, b) => lines.swap(a.index(count), b.index(count)),
        Damage::Reverse => lines.reverse(),
        Damage::Foreign(at, which) => lines.insert(at.index(count + 1), FOREIGN[*which].into()),
    }
    *bytes = lines.join(&b'\n');
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn damage_never_makes_a_success(which in 0..TABLE.len(), damages in prop::collection::vec(damage(), 1..4)) {
        let (name, exit, class) = &TABLE[which];
        // The longest one is the same few lines over and over.
        prop_assume!(*name != "opencode-midcut");
        let whole = recording(name, exit.clone());
        let mut damaged = Recording { stdout: whole.stdout.clone(), stderr: whole.stderr.clone(), ..whole };
        damages.iter().for_each(|damage| apply(damage, &mut damaged.stdout));
        let before = read(&recording(name, exit.clone())).ending;
        let after = read(&damaged).ending;
        prop_assert!(after.end != AttemptEnd::Normal || *class == "normal", "{:?}", after.end);
        let noisy = damages.iter().any(|damage| matches!(damage, Damage::Noise(..)));
        prop_assert!(after.structured.is_none() || noisy && before.structured.is_some() || after.structured == before.structured);
    }

    #[test]
    fn any_bytes_are_read(data in prop::collection::vec(any::<u8>(), 0..400)) {
        fuzzed::readers(&data);
    }
}

/// Every recording that ended well.
fn good() -> impl Iterator<Item = Recording> {
    TABLE
        .iter()
        .filter(|(_, _, class)| *class == "normal")
        .map(|(name, exit, _)| recording(name, exit.clone()))
}

fn with_lines<'a>(recording: &'a Recording, change: impl Fn(&mut Vec<&'a [u8]>)) -> Recording {
    let mut lines: Vec<&[u8]> = recording.stdout.split(|byte| *byte == b'\n').collect();
    while lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    change(&mut lines);
    let stdout = lines.join(&b'\n');
    Recording { stdout, stderr: recording.stderr.clone(), name: recording.name, exit: recording.exit.clone() }
}

#[test]
fn an_end_marker_that_is_missing_cut_doubled_or_early_is_no_success() {
    let ends_well = |recording: &Recording| read(recording).ending.end == AttemptEnd::Normal;
    let mut count = 0;
    for whole in good() {
        count += 1;
        let name = whole.name;
        assert!(ends_well(&whole), "{name}");
        let without = with_lines(&whole, |lines| lines.truncate(lines.len() - 1));
        assert!(!ends_well(&without), "{name}: missing");
        let cut = with_lines(&whole, |lines| {
            let last = lines.pop().unwrap();
            lines.push(&last[..last.len() - 1]);
        });
        assert!(!ends_well(&cut), "{name}: cut");
        let doubled = with_lines(&whole, |lines| lines.push(lines[lines.len() - 1]));
        assert!(!ends_well(&doubled), "{name}: doubled");
        let early = with_lines(&whole, |lines| {
            let at = lines.len();
            lines.swap(at - 1, at.saturating_sub(2));
        });
        // That one recording is the end marker and nothing else.
        assert!(!ends_well(&early) || name == "claude-json", "{name}: early");
    }
    assert!(count > 40, "the good recordings are there");
}

#[test]
fn a_good_stream_is_no_success_of_a_program_that_failed() {
    for whole in good() {
        for exit in [
            ProgramExit::Code(1),
            ProgramExit::Signal(9),
            ProgramExit::TimedOut,
            ProgramExit::Stalled,
            ProgramExit::Cancelled,
        ] {
            let failed = Recording { exit: exit.clone(), ..recording(whole.name, exit.clone()) };
            let ending = read(&failed).ending;
            assert!(
                ending.end != AttemptEnd::Normal && ending.structured.is_none(),
                "{} {exit:?}",
                whole.name
            );
        }
    }
}

#[test]
fn a_turn_that_ended_well_was_never_given_up() {
    for whole in good() {
        assert_eq!(read(&whole).hopeless, None, "{}", whole.name);
    }
}

#[test]
fn giant_lines_and_deep_ones_are_passed_over() {
    let giant = format!("{{\"type\":\"result\",\"x\":\"{}\"}}", "y".repeat(9 * 1024 * 1024));
    let deep = format!("{{\"type\":\"result\",\"x\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    for agent in registry::names() {
        let (name, ..) = TABLE.iter().find(|(name, ..)| *name == format!("{agent}-ok")).unwrap();
        let whole = recording(name, ProgramExit::Code(0));
        let undisturbed = read(&whole).ending.notes;
        for line in [&giant, &deep] {
            let disturbed = with_lines(&whole, |lines| lines.insert(1, line.as_bytes()));
            let ending = read(&disturbed).ending;
            assert_eq!(ending.end, AttemptEnd::Normal, "{name}");
            let mut notes = undisturbed.clone();
            notes.push("1 line of its output was not read".to_owned());
            assert_eq!(ending.notes, notes, "{name}");
        }
    }
}

#[test]
fn the_fuzz_target_holds_on_its_seeds_and_on_every_recording() {
    let programs = u8::try_from(fuzzed::PROGRAMS).unwrap();
    for (name, exit, _) in TABLE {
        let recording = recording(name, exit.clone());
        for program in 0..2 * programs {
            for exit in [0, 4, 6] {
                let whole = [&[program, exit], &recording.stdout[..], b"\n~\n", &recording.stderr].concat();
                if program % programs == 0 || *name != "opencode-midcut" {
                    fuzzed::readers(&whole);
                }
            }
        }
    }
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/readers");
    let seeds: Vec<_> = std::fs::read_dir(corpus).unwrap().map(|seed| seed.unwrap().path()).collect();
    assert!(seeds.len() >= 8, "the seeds are there");
    seeds.iter().for_each(|seed| fuzzed::readers(&std::fs::read(seed).unwrap()));
}
