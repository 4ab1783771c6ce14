//! Recordings that no reader of lines takes, each through what would meet it: a program that windlass does not
//! know through the `command` agent, a file of somebody's through the report, an ACP agent's standard error
//! beside its conversation.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use windlass_agent::cli::{ProgramEnd, ReaderSetup, SessionStart, TurnEnding, acp};
use windlass_agent::report;
use windlass_agent::reset::Zone;
use windlass_agent::{WallSource, failure};
use windlass_core::id::Nonce;
use windlass_core::input::{AttemptEnd, Report};
use windlass_core::policy::Role;
use windlass_core::time::Timestamp;
use windlass_process::ProgramExit;

use crate::recordings::class_name;
use crate::stage::Stage;

const NOW: Timestamp = Timestamp(1_794_765_600_000);

fn dir(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

/// The files of a directory with this ending, by name.
fn recorded(of: &str, ending: &str) -> Vec<String> {
    let names = fs::read_dir(dir(of)).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> =
        names.filter_map(|name| name.strip_suffix(ending).map(str::to_owned)).collect();
    names.sort();
    names
}

#[track_caller]
fn compare(file: &Path, shown: &str) {
    if std::env::var_os("WINDLASS_BLESS").is_some() {
        fs::write(file, shown).unwrap();
    }
    let kept = fs::read_to_string(file).unwrap_or_default();
    assert_eq!(shown, kept, "look at it, then WINDLASS_BLESS=1: {}", file.display());
}

/// It prints what was recorded, and leaves the file where `report` says.
fn mini(name: &str, exit: i32, report: &str) -> Stage {
    let at = |kind: &str| dir("others").join(format!("{name}.{kind}")).display().to_string();
    let (out, err, file) = (at("stdout"), at("stderr"), at("traj.json"));
    Stage::shell(&format!("cat '{out}'; cat '{err}' >&2; cat '{file}' >\"{report}\"; exit {exit}"))
}

#[test]
fn a_program_that_windlass_does_not_know_is_heard_and_not_believed() {
    assert_eq!(recorded("others", ".stdout"), ["mini-http401", "mini-ok"]);
    let mut shown = String::new();
    for (name, exit, class) in [("mini-ok", 0, "normal"), ("mini-http401", 1, "crashed")] {
        for (role, place) in [
            (Role::Author, "out.traj.json"),
            (Role::Author, "$WINDLASS_REPORT"),
            (Role::Reviewer, "$WINDLASS_REPORT"),
        ] {
            let mut stage = mini(name, exit, place);
            stage.role = role;
            let told = stage.call();
            assert_eq!(
                class_name(&told.finished.result.end),
                class,
                "{name}: {:?}",
                told.finished.result.end
            );
            assert!(!matches!(told.finished.report, Report::Author(_)), "its own file is no report of ours");
            assert!(!matches!(told.finished.report, Report::Review(Ok(_))), "and no verdict");
            assert_eq!(told.finished.result.usage, None, "unknown is not zero");
            writeln!(shown, "# {name} as {role}, its file in {place}").unwrap();
            writeln!(shown, "end: {:?}\nreport: {:?}", told.finished.result.end, told.finished.report)
                .unwrap();
            told.finished.result.notes.iter().for_each(|note| writeln!(shown, "note: {note}").unwrap());
            let lines: Vec<&str> = told.finished.result.message.lines().collect();
            let (count, last) = (lines.len(), lines[lines.len().saturating_sub(4)..].join("\n"));
            writeln!(shown, "message of {count} lines, the last ones:\n{last}\n").unwrap();
        }
    }
    compare(&dir("others").join("read.txt"), &shown);
}

#[test]
fn the_last_message_of_another_turn_is_no_report() {
    let last = fs::read(dir("others").join("codex-schema.last")).unwrap();
    for role in Role::ALL {
        let heard = report::parse(&last, role, &Nonce::new("5ec7e7"));
        assert!(!matches!(heard.report, Report::Author(_) | Report::Review(Ok(_))), "{role}: {heard:?}");
        assert_eq!(heard.usage, None, "{role}");
    }
    let shown = format!("{:#?}\n", report::parse(&last, Role::Author, &Nonce::new("5ec7e7")));
    compare(&dir("others").join("codex-schema.txt"), &shown);
}

/// As a turn would end with this conversation, if any, and this standard error.
fn end_of(name: &str, stderr: &[u8], exit: &ProgramExit) -> TurnEnding {
    let setup = ReaderSetup {
        model: String::new(),
        schema: false,
        start: SessionStart::Fresh,
        zone: Zone::utc(),
        env: Vec::new(),
    };
    let mut reader = acp::reader(setup);
    let conversation = fs::read(dir("acp").join(format!("{name}.jsonl"))).unwrap_or_default();
    conversation.split(|byte| *byte == b'\n').for_each(|line| drop(reader.line(line, NOW)));
    stderr.split(|byte| *byte == b'\n').for_each(|line| drop(reader.error_line(line, NOW)));
    let outside = failure::class(exit, WallSource::Agent, &[]);
    reader.end(&ProgramEnd { exit, outside: &outside, stderr, now: NOW })
}

#[test]
fn an_acp_agents_standard_error_makes_no_other_end_of_its_conversation() {
    let names = recorded("acp", ".stderr");
    assert_eq!(names.len(), 15);
    let mut shown = String::new();
    for name in &names {
        let stderr = fs::read(dir("acp").join(format!("{name}.stderr"))).unwrap();
        let spoke = dir("acp").join(format!("{name}.jsonl")).exists();
        // Those without a conversation were recorded by their standard error alone: a program that dies so.
        let exit = if spoke { ProgramExit::Code(0) } else { ProgramExit::Code(1) };
        let (with, without) = (end_of(name, &stderr, &exit), end_of(name, b"", &exit));
        if spoke {
            assert_eq!(with.end, without.end, "{name}");
        } else {
            assert_ne!(with.end, AttemptEnd::Normal, "{name}");
        }
        writeln!(shown, "# {name}\nend: {:?}\nmessage: {}", with.end, with.message).unwrap();
        with.notes.iter().for_each(|note| writeln!(shown, "note: {note}").unwrap());
        with.summary.errors.iter().for_each(|error| writeln!(shown, "error: {error}").unwrap());
        shown.push('\n');
    }
    compare(&dir("acp").join("errors.txt"), &shown);
}
