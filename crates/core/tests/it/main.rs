//! The rules of the loop as transcripts, a test for each file. A file under
//! `tests/scenarios` says what it is for, sets a loop up, lists what happens,
//! and after `----` holds every event, effect and the view that must come of it.
//! `UPDATE_SCENARIOS=1` rewrites the expectations: read what changed.
#![allow(clippy::disallowed_methods, reason = "a switch in the environment rewrites the expectations")]

mod history;
mod input;
mod old_logs;
mod play;
mod script;
mod setup;
mod show;

use std::path::Path;

use old_logs::old_log;

datatest_stable::harness! {
    { test = scenario, root = "tests/scenarios", pattern = r"\.txt$" },
    { test = old_log, root = "tests/logs", pattern = r"\.jsonl$" },
}

fn scenario(file: &Path) -> datatest_stable::Result<()> {
    let text = std::fs::read_to_string(file)?;
    let scenario = script::Scenario::parse(&text);
    let transcript = play::play(&scenario);
    if std::env::var_os("UPDATE_SCENARIOS").is_some() {
        std::fs::write(file, format!("{}----\n{transcript}", scenario.head))?;
    } else {
        assert!(transcript == scenario.expected, "{}", difference(&scenario.expected, &transcript));
    }
    Ok(())
}

/// The first place where they part, with a little of what led there.
fn difference(expected: &str, got: &str) -> String {
    let (expected, got): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), got.lines().collect());
    let same = expected.iter().zip(&got).take_while(|(left, right)| left == right).count();
    let before = expected[same.saturating_sub(6)..same].iter().map(|line| format!("    {line}\n"));
    let wanted = expected[same..].iter().take(8).map(|line| format!("  - {line}\n"));
    let came = got[same..].iter().take(8).map(|line| format!("  + {line}\n"));
    let lines: String = before.chain(wanted).chain(came).collect();
    format!("line {} of the transcript:\n{lines}", same + 1)
}
