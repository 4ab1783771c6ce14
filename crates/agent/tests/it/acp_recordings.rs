//! Conversations with the real agents of the protocol, as they were recorded: each has its class, written by
//! hand from what was measured, and no damage to one makes a success of it.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use windlass_agent::cli::{ProgramEnd, ReaderSetup, SessionStart, TurnEnding, acp};
use windlass_agent::reset::Zone;
use windlass_agent::{WallSource, failure};
use windlass_core::input::AttemptEnd;
use windlass_core::live::Live;
use windlass_core::time::Timestamp;
use windlass_process::ProgramExit;

use crate::disturbed::{apply, damage};

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

struct Recording {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

fn recording(name: &str) -> Recording {
    let file = |kind: &str| dir().join(format!("{name}.{kind}"));
    Recording {
        stdout: fs::read(file("jsonl")).unwrap(),
        // Not every program printed something there.
        stderr: fs::read(file("stderr")).unwrap_or_default(),
    }
}

struct Read {
    heard: Vec<Live>,
    /// What was certain before the program was dead.
    hopeless: Option<AttemptEnd>,
    ending: TurnEnding,
}

fn read(recording: &Recording, exit: &ProgramExit) -> Read {
    let setup = ReaderSetup {
        model: String::new(),
        schema: false,
        start: SessionStart::Fresh,
        zone: Zone::utc(),
        env: Vec::new(),
    };
    let mut reader = acp::reader(setup);
    let mut heard = Vec::new();
    for line in recording.stderr.split(|byte| *byte == b'\n') {
        heard.extend(reader.error_line(line, NOW));
    }
    for line in recording.stdout.split(|byte| *byte == b'\n') {
        heard.extend(reader.line(line, NOW));
    }
    let hopeless = reader.hopeless();
    let outside = failure::class(exit, WallSource::Agent, &[]);
    let ending = reader.end(&ProgramEnd { exit, outside: &outside, stderr: &recording.stderr, now: NOW });
    Read { heard, hopeless, ending }
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
        let ending = read(&recording(name), &ProgramExit::Code(0)).ending;
        assert_eq!(class(&ending.end), expected, "{name}: {:?}", ending.end);
    }
}

/// Two of them tell of their retries, one in the protocol and one beside it.
#[test]
fn who_tries_over_and_over_is_ended_with_what_it_told() {
    for (name, expected) in [
        ("gemini-http500", "overloaded"),
        ("codex-acp-http401", "auth"),
        ("codex-acp-http500", "overloaded"),
        ("codex-acp2-http500", "overloaded"),
    ] {
        let hopeless = read(&recording(name), &ProgramExit::Cancelled).hopeless;
        assert_eq!(hopeless.as_ref().map(class).as_deref(), Some(expected), "{name}");
    }
    for (name, _) in CLASSES.iter().filter(|(_, expected)| *expected == "normal") {
        assert_eq!(read(&recording(name), &ProgramExit::Code(0)).hopeless, None, "{name}");
    }
}

/// `WINDLASS_BLESS=1` writes it anew.
#[test]
fn what_is_read_of_every_recording_is_a_text() {
    let mut shown = String::new();
    for (name, _) in CLASSES {
        let Read { heard, ending, .. } = read(&recording(name), &ProgramExit::Code(0));
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
        for exit in [
            ProgramExit::Code(1),
            ProgramExit::Signal(9),
            ProgramExit::Stalled,
            ProgramExit::TimedOut,
            ProgramExit::Cancelled,
        ] {
            let ending = read(&recording(name), &exit).ending;
            assert_ne!(class(&ending.end), *expected, "{name} by {exit:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damage_makes_no_success(
        which in 0..CLASSES.len(),
        damages in prop::collection::vec(damage(), 1..8),
        beside in prop::collection::vec(damage(), 0..3),
    ) {
        let (name, expected) = CLASSES[which];
        let mut recording = recording(name);
        damages.iter().for_each(|one| apply(one, &mut recording.stdout));
        beside.iter().for_each(|one| apply(one, &mut recording.stderr));
        let ending = read(&recording, &ProgramExit::Code(0)).ending;
        let well = ending.end == AttemptEnd::Normal;
        prop_assert!(!well || expected == "normal", "{name}: {:?}", ending);
        let has_end = String::from_utf8_lossy(&recording.stdout).contains("end_turn");
        prop_assert!(!well || has_end, "{name} ended well without its end");
    }

    #[test]
    fn any_bytes_are_read(stdout in prop::collection::vec(any::<u8>(), 0..2000), stderr in prop::collection::vec(any::<u8>(), 0..400)) {
        let ending = read(&Recording { stdout, stderr }, &ProgramExit::Code(0)).ending;
        prop_assert!(ending.end != AttemptEnd::Normal);
    }
}

/// Every recording that ended well, as lines without what comes after its end.
#[test]
fn an_end_that_is_missing_cut_or_doubled_is_no_success() {
    for (name, _) in CLASSES.iter().filter(|(_, expected)| *expected == "normal") {
        let whole = recording(name);
        let lines: Vec<&[u8]> = whole.stdout.split(|byte| *byte == b'\n').collect();
        let end =
            lines.iter().rposition(|line| String::from_utf8_lossy(line).contains("\"end_turn\"")).unwrap();
        let ends_well = |lines: &[&[u8]]| {
            let changed = Recording { stdout: lines.join(&b'\n'), stderr: whole.stderr.clone() };
            read(&changed, &ProgramExit::Code(0)).ending.end == AttemptEnd::Normal
        };
        assert!(ends_well(&lines), "{name}");
        assert!(!ends_well(&lines[..end]), "{name}: missing");
        let cut = [&lines[..end], &[&lines[end][..lines[end].len() - 1]]].concat();
        assert!(!ends_well(&cut), "{name}: cut");
        let doubled = [&lines[..=end], &lines[end..]].concat();
        assert!(!ends_well(&doubled), "{name}: doubled");
    }
}

#[test]
fn giant_lines_and_deep_ones_are_passed_over() {
    let giant =
        format!("{{\"dir\":\"agent->client\",\"msg\":{{\"x\":\"{}\"}}}}", "y".repeat(9 * 1024 * 1024));
    let deep =
        format!("{{\"dir\":\"agent->client\",\"msg\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    for line in [giant, deep] {
        let mut disturbed = recording("codex-acp2-ok");
        disturbed.stdout.splice(0..0, format!("{line}\n").into_bytes());
        let ending = read(&disturbed, &ProgramExit::Code(0)).ending;
        assert_eq!(ending.end, AttemptEnd::Normal);
        assert_eq!(ending.notes, ["1 line of its output was not read"]);
    }
}
