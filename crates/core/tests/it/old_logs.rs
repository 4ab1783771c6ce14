//! Logs as earlier versions wrote them. Each is kept for ever, and must fold to
//! the view beside it.

use std::path::Path;

use windlass_core::event::Decision;
use windlass_core::id::Seq;
use windlass_core::state::State;

use crate::show;

#[test]
fn a_log_from_before_checks_were_hardened_folds() {
    folds("before-hardened-checks");
}

fn folds(name: &str) {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/logs").join(name);
    let read = |extension: &str| {
        let file = beside.with_extension(extension);
        std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
    };
    let log = read("jsonl");
    for new in ["tally", "control", "again", "flaky", "junit", "retry", "chain", "cache", "diff"] {
        let key = format!("\"{new}\":");
        assert!(!log.contains(&key), "{name} is not from before {new}");
    }
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
    assert_eq!(show::view(&state), read("txt"), "{name}");
    assert!(state.tallies.earlier("test").is_none(), "nothing was counted then");
    assert!(state.findings.values().all(|finding| finding.diff.is_empty()));
}
