//! The rules of the loop as transcripts. Each file under `tests/scenarios` says
//! what it is for, sets a loop up, lists what happens, and after `----` holds
//! every event, effect and the view that must come of it.
//! `UPDATE_SCENARIOS=1` rewrites the expectations: read what changed.
#![allow(clippy::disallowed_methods, reason = "a switch in the environment rewrites the expectations")]

mod input;
mod old_logs;
mod play;
mod script;
mod setup;
mod show;

use std::path::{Path, PathBuf};

#[test]
fn every_scenario_gives_its_transcript() {
    let update = std::env::var_os("UPDATE_SCENARIOS").is_some();
    let files = files();
    assert!(files.len() > 20, "the scenarios are missing");
    let mut wrong = Vec::new();
    for file in &files {
        let text = std::fs::read_to_string(file).expect("a scenario is readable");
        let scenario = script::Scenario::parse(&text);
        let transcript = play::play(&scenario);
        if update {
            let whole = format!("{}----\n{transcript}", scenario.head);
            std::fs::write(file, whole).expect("a scenario is writable");
        } else if transcript != scenario.expected {
            wrong.push(difference(file, &scenario.expected, &transcript));
        }
    }
    assert!(wrong.is_empty(), "{} scenarios differ\n\n{}", wrong.len(), wrong.join("\n"));
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
    let entries = std::fs::read_dir(folder).expect("the scenarios are there");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("a readable entry").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "txt"));
    files.sort();
    files
}

/// The first place where they part, with a little of what led there.
fn difference(file: &Path, expected: &str, got: &str) -> String {
    let (expected, got): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), got.lines().collect());
    let same = expected.iter().zip(&got).take_while(|(left, right)| left == right).count();
    let before = expected[same.saturating_sub(6)..same].iter().map(|line| format!("    {line}\n"));
    let wanted = expected[same..].iter().take(8).map(|line| format!("  - {line}\n"));
    let came = got[same..].iter().take(8).map(|line| format!("  + {line}\n"));
    let lines: String = before.chain(wanted).chain(came).collect();
    format!("{}, line {} of its transcript:\n{lines}", file.display(), same + 1)
}
