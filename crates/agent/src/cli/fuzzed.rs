//! Any bytes as the output of any of the programs. A fuzzer calls this, and so does a test on every recording.

use windlass_core::time::Timestamp;
use windlass_process::ProgramExit;

use super::{ProgramEnd, ReaderSetup, SessionStart, acp};
use crate::agent::WallSource;
use crate::failure;
use crate::registry::AGENTS;
use crate::reset::Zone;

/// Those with a reader of their own, and any that speaks the Agent Client Protocol.
pub const PROGRAMS: usize = AGENTS.len() + 1;

/// The first byte chooses the program, the second the exit; what follows is its output, and after a line of
/// its own with one `~` its standard error.
///
/// # Panics
/// Where a reader breaks a promise.
pub fn readers(data: &[u8]) {
    let [program, exit, output @ ..] = data else { return };
    let exit = match exit % 8 {
        0..=3 => ProgramExit::Code(0),
        4 => ProgramExit::Code(1),
        5 => ProgramExit::Code(173),
        6 => ProgramExit::Signal(9),
        _ => ProgramExit::Stalled,
    };
    let (round, which) = (usize::from(*program) / PROGRAMS, usize::from(*program) % PROGRAMS);
    let start =
        if round % 2 == 0 { SessionStart::Fresh } else { SessionStart::Resumed { before: Vec::new() } };
    let setup = ReaderSetup { model: String::new(), schema: true, start, zone: Zone::utc(), env: Vec::new() };
    let mut reader = match AGENTS.get(which) {
        Some(agent) => agent.cli.reader(setup),
        None => acp::reader(setup),
    };
    let now = Timestamp(1_794_765_600_000);
    let mut lines = output.split(|byte| *byte == b'\n');
    let stdout: Vec<&[u8]> = lines.by_ref().take_while(|line| *line != b"~").collect();
    let stderr: Vec<&[u8]> = lines.collect();
    for line in &stdout {
        reader.line(line, now);
    }
    for line in &stderr {
        reader.error_line(line, now);
    }
    let outside = failure::class(&exit, WallSource::Agent, &[]);
    let ending =
        reader.end(&ProgramEnd { exit: &exit, outside: &outside, stderr: &stderr.join(&b'\n'), now });
    let well = ending.end == windlass_core::input::AttemptEnd::Normal;
    assert!(!well || exit == ProgramExit::Code(0), "no turn ends well by another exit");
    assert!(well || ending.structured.is_none(), "only a turn that ended well has a report");
    let last = stdout.iter().rev().find(|line| !line.trim_ascii().is_empty());
    let marked = |line: &&[u8]| {
        let says = |word: &[u8]| line.windows(word.len()).any(|part| part == word);
        says(b"turn.completed")
            || says(b"result")
            || says(b"step_finish")
            || says(b"end_turn")
            || line.contains(&b'\\')
    };
    assert!(!well || stdout.iter().any(marked), "a turn ends well by its end marker: {last:?}");
}
