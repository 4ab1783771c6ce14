//! Logs as each format of the log was written. They stay for ever as they are;
//! each must fold to the view beside it. How they were made:
//! `crates/simulator/examples/format_logs.rs`.

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
            None => state = Some(State::created_by(&decision).expect("the first record creates the loop")),
        }
    }
    let found = show::view(&state.expect("the log has records"));
    let expected = file.with_extension("txt");
    if std::env::var_os("UPDATE_SCENARIOS").is_some() {
        std::fs::write(&expected, &found)?;
    }
    assert_eq!(found, std::fs::read_to_string(&expected)?, "{name}");
    Ok(())
}
