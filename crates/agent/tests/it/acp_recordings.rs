//! Conversations with the real agents of the protocol, as they were recorded: each has its class, written by
//! hand from what was measured, and no damage to one makes a success of it.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use windlass_agent::cli::{Begun, Ending, Over, Start, acp};
use windlass_agent::live::Live;
use windlass_agent::reset::Zone;
use windlass_agent::{WallSource, failure};
use windlass_core::input::AttemptEnd;
use windlass_core::time::Timestamp;
use windlass_process::Exit;

const NOW: Timestamp = Timestamp(1_794_765_600_000);

/// What is recorded, and how it ended.
const CLASSES: [(&str, &str); 25] = [
    // No answer in a minute; then it was cancelled.
    ("claude-agent-acp-http401", "killed"),
    ("claude-agent-acp-http500", "killed"),
    ("claude-agent-acp-ok", "normal"),
    ("claude-agent-acp-ok-node22", "normal"),
    ("claude-agent-acp-sleep", "killed"),
    ("claude-code-acp-ok", "normal"),
    ("codex-acp-http401", "auth"),
    ("codex-acp-http500", "overloaded"),
    ("codex-acp-ok", "normal"),
    ("codex-acp-ok-opthome", "normal"),
    // Its tool failed in its own sandbox; its turn ended.
    ("codex-acp-sleep", "normal"),
    // It says that it was cancelled, and its tool runs on.
    ("codex-acp-sleep-opthome", "killed"),
    ("codex-acp2-http401", "auth"),
    // It says `end_turn`.
    ("codex-acp2-http500", "overloaded"),
    ("codex-acp2-ok", "normal"),
    ("codex-acp2-ok-opthome", "normal"),
    ("codex-acp2-sleep", "normal"),
    ("codex-acp2-sleep-opthome", "killed"),
    ("gemini-http401", "auth"),
    ("gemini-http500", "killed"),
    ("gemini-ok", "normal"),
    ("gemini-sleep", "killed"),
    // It says `end_turn` after it was cancelled.
    ("opencode-http500", "killed"),
    ("opencode-ok", "normal"),
    ("opencode-sleep", "killed"),
];

fn dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/acp")
}

fn recording(name: &str) -> Vec<Vec<u8>> {
    let bytes = fs::read(dir().join(format!("{name}.jsonl"))).unwrap();
    bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
}

fn read(lines: &[Vec<u8>], exit: &Exit) -> (Vec<Live>, Ending) {
    let begun = Begun { model: String::new(), schema: false, start: Start::Fresh, zone: Zone::utc() };
    let mut reader = acp::reader(begun);
    let heard = lines.iter().flat_map(|line| reader.line(line, NOW)).collect();
    let outside = failure::class(exit, WallSource::Agent, &[]);
    (heard, reader.end(&Over { exit, outside: &outside, stderr: b"", now: NOW }))
}

fn class(end: &AttemptEnd) -> String {
    serde_json::to_value(end).unwrap()["kind"].as_str().unwrap().to_owned()
}

#[test]
fn every_recording_has_its_class() {
    let mut found: Vec<String> = fs::read_dir(dir())
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str()?.strip_suffix(".jsonl").map(str::to_owned))
        .collect();
    found.sort();
    assert_eq!(found, CLASSES.map(|(name, _)| name), "each is in the table");
    for (name, expected) in CLASSES {
        let (_, ending) = read(&recording(name), &Exit::Code(0));
        assert_eq!(class(&ending.end), expected, "{name}: {:?}", ending.end);
    }
}

/// `WINDLASS_BLESS=1` writes it anew.
#[test]
fn what_is_read_of_every_recording_is_a_text() {
    let mut shown = String::new();
    for (name, _) in CLASSES {
        let (heard, ending) = read(&recording(name), &Exit::Code(0));
        writeln!(shown, "# {name}").unwrap();
        heard.iter().for_each(|event| writeln!(shown, "{event:?}").unwrap());
        writeln!(shown, "end: {:?}\nagent: {}\nmessage: {}", ending.end, ending.agent, ending.message)
            .unwrap();
        for model in &ending.usage {
            writeln!(shown, "used, whole {}: {model:?}", ending.usage_is_whole).unwrap();
        }
        ending.notes.iter().for_each(|note| writeln!(shown, "note: {note}").unwrap());
        writeln!(shown, "{:?}\n", ending.summary).unwrap();
    }
    let path = dir().join("read.txt");
    if std::env::var_os("WINDLASS_BLESS").is_some() {
        fs::write(&path, &shown).unwrap();
    }
    assert_eq!(shown, fs::read_to_string(&path).unwrap(), "look at it, then WINDLASS_BLESS=1");
}

#[test]
fn no_turn_ends_well_by_another_exit() {
    for (name, expected) in CLASSES.iter().filter(|(_, expected)| *expected == "normal") {
        for exit in [Exit::Code(1), Exit::Signal(9), Exit::Stalled, Exit::TimedOut, Exit::Cancelled] {
            let (_, ending) = read(&recording(name), &exit);
            assert_ne!(class(&ending.end), *expected, "{name} by {exit:?}");
        }
    }
}

#[derive(Clone, Debug)]
enum Damage {
    Cut(prop::sample::Index),
    Drop(prop::sample::Index),
    Twice(prop::sample::Index),
    Swap(prop::sample::Index, prop::sample::Index),
    Byte(prop::sample::Index, prop::sample::Index, u8),
}

fn damage() -> impl Strategy<Value = Damage> {
    use prop::sample::Index;
    prop_oneof![
        any::<Index>().prop_map(Damage::Cut),
        any::<Index>().prop_map(Damage::Drop),
        any::<Index>().prop_map(Damage::Twice),
        any::<(Index, Index)>().prop_map(|(one, other)| Damage::Swap(one, other)),
        any::<(Index, Index, u8)>().prop_map(|(line, at, byte)| Damage::Byte(line, at, byte)),
    ]
}

fn harm(lines: &mut Vec<Vec<u8>>, damage: &Damage) {
    let count = lines.len();
    if count == 0 {
        return;
    }
    match damage {
        Damage::Cut(at) => lines.truncate(at.index(count)),
        Damage::Drop(at) => drop(lines.remove(at.index(count))),
        Damage::Twice(at) => lines.insert(at.index(count), lines[at.index(count)].clone()),
        Damage::Swap(one, other) => lines.swap(one.index(count), other.index(count)),
        Damage::Byte(line, at, byte) => {
            let line = &mut lines[line.index(count)];
            if !line.is_empty() {
                let at = at.index(line.len());
                line[at] = *byte;
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damage_makes_no_success(which in 0..CLASSES.len(), damages in prop::collection::vec(damage(), 1..8)) {
        let (name, expected) = CLASSES[which];
        let mut lines = recording(name);
        damages.iter().for_each(|one| harm(&mut lines, one));
        let (_, ending) = read(&lines, &Exit::Code(0));
        let well = ending.end == AttemptEnd::Normal;
        prop_assert!(!well || expected == "normal", "{name}: {:?}", ending);
        let has_end = lines.iter().any(|line| String::from_utf8_lossy(line).contains("end_turn"));
        prop_assert!(!well || has_end, "{name} ended well without its end");
    }

    #[test]
    fn any_bytes_are_read(lines in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..20)) {
        let (_, ending) = read(&lines, &Exit::Code(0));
        prop_assert!(ending.end != AttemptEnd::Normal);
    }
}
