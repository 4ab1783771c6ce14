//! Logs as earlier versions wrote them. Each must fold to the view beside it, and
//! is kept for ever from the first format that is released; until then records
//! that change their shape change here, too.

use std::path::Path;

use windlass_core::event::Decision;
use windlass_core::id::Seq;
use windlass_core::state::State;

use crate::show;

pub fn old_log(file: &Path) -> datatest_stable::Result<()> {
    let name = file.display();
    let log = std::fs::read_to_string(file)?;
    let mut state: Option<State> = None;
    for (seq, line) in (1..).zip(log.lines()) {
        let decision: Decision =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{name}, record {seq}: {error}"));
        match &mut state {
            Some(state) => state.apply(Seq(seq), &decision),
            None => state = Some(State::found(&decision).expect("the first record creates the loop")),
        }
    }
    let state = state.expect("the log has records");
    let view = std::fs::read_to_string(file.with_extension("txt"))?;
    assert_eq!(show::view(&state), view, "{name}");
    if file.ends_with("before-hardened-checks.jsonl") {
        before_hardened_checks(&log, &state);
    }
    Ok(())
}

/// The log stays as old as its name says, and what it does not know is empty.
fn before_hardened_checks(log: &str, state: &State) {
    for new in ["tally", "control", "again", "flaky", "junit", "retry", "chain", "cache", "diff"] {
        assert!(!log.contains(&format!("\"{new}\":")), "the log is not from before {new}");
    }
    assert!(state.tallies.earlier("test").is_none(), "nothing was counted then");
    assert!(state.findings.values().all(|finding| finding.diff.is_empty()));
}
