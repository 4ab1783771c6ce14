//! A turn that is over, told again from what its program printed.

use windlass_core::live::Live;
use windlass_core::time::Timestamp;

use crate::cli::{self, OutputReader, ReaderSetup, SessionStart};
use crate::registry;
use crate::reset::Zone;

/// Where the stored lines of standard error begin.
pub const STDERR_MARK: &str = "\n---- stderr ----\n";

/// What was heard of it; none for a program whose lines have no known meaning.
pub fn retell(adapter: &str, transcript: &str, at: Timestamp) -> Option<Vec<Live>> {
    let mut reader = reader(adapter)?;
    let (out, errors) = transcript.split_once(STDERR_MARK).unwrap_or((transcript, ""));
    let mut heard: Vec<Live> = out.lines().flat_map(|line| reader.line(line.as_bytes(), at)).collect();
    heard.extend(errors.lines().flat_map(|line| reader.error_line(line.as_bytes(), at)));
    Some(heard)
}

fn reader(adapter: &str) -> Option<Box<dyn OutputReader>> {
    let setup = ReaderSetup {
        model: String::new(),
        schema: false,
        start: SessionStart::Fresh,
        zone: Zone::utc(),
        env: Vec::new(),
    };
    match adapter {
        "acp" => Some(cli::acp::reader(setup)),
        known => registry::named(known).map(|agent| agent.cli.reader(setup)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_a_known_program_become_what_was_heard() {
        let lines = concat!(
            r#"{"type":"thread.started","thread_id":"x"}"#,
            "\n",
            r#"{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"It is done."}}"#,
            "\n",
        );
        let heard = retell("codex", lines, Timestamp(0)).unwrap();
        assert!(heard.contains(&Live::Text { text: "It is done.".to_owned() }), "{heard:?}");
        assert_eq!(retell("command", "plain words", Timestamp(0)), None);
    }
}
