//! What a program prints, told line by line while it runs: an agent that has no language of its own is heard
//! all the same. It is bounded, cleaned and redacted, and the transcript has all of it.

use std::borrow::Cow;
use std::path::Path;
use std::time::Duration;

use windlass_core::live::Live;
use windlass_process::{Finished, RunningProgram};
use windlass_redact::Redactor;

use crate::agent::TurnRequest;
use crate::bound;
use crate::follow::{Follower, StopFlag};

/// How long a line may lie unread.
const LISTEN: Duration = Duration::from_millis(200);
/// Of more lines in that time, the last ones are told.
const LINES: usize = 20;
/// A longer line is passed over.
const LONGEST_LINE: usize = 16 * 1024;
/// Of more bytes in that time nothing is told but how many lines they were.
const FLOOD: usize = 64 * 1024;
/// How much of what came before is looked at for the beginning of a secret: more than any key takes.
const BEFORE: usize = 72 * 1024;

/// Waits for the end of the program and tells its lines meanwhile.
pub fn relay(call: &TurnRequest<'_>, running: RunningProgram) -> Finished {
    let (stdout, stderr) = running.streams();
    let over = StopFlag::default();
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let mut streams = [Relay::of(&stdout, call), Relay::of(&stderr, call)];
            while !over.is_set_within(LISTEN) {
                streams.iter_mut().for_each(Relay::tell_new_lines);
            }
            streams
        });
        let finished = running.wait();
        over.set();
        match thread.join() {
            Ok(mut streams) => streams.iter_mut().for_each(Relay::tell_the_rest),
            Err(panic) => std::panic::resume_unwind(panic),
        }
        finished
    })
}

struct Relay<'a> {
    follower: Follower,
    call: &'a TurnRequest<'a>,
    /// The end of what was read so far, as it was printed.
    before: Vec<u8>,
}

/// What was printed since the last look.
#[derive(Default)]
struct Printed {
    raw: Vec<u8>,
    lines: usize,
    /// The beginning is not held any more.
    is_flood: bool,
}

impl Printed {
    fn push(&mut self, line: &[u8]) {
        self.lines += 1;
        self.raw.extend_from_slice(line);
        self.raw.push(b'\n');
        if self.raw.len() > FLOOD + BEFORE {
            self.is_flood = true;
            let cut = self.raw.len() - BEFORE;
            self.raw.drain(..cut);
        }
    }
}

impl<'a> Relay<'a> {
    fn of(path: &Path, call: &'a TurnRequest<'a>) -> Self {
        Self { follower: Follower::of_short_lines(path, LONGEST_LINE), call, before: Vec::new() }
    }

    fn tell_new_lines(&mut self) {
        let mut printed = Printed::default();
        self.follower.each_line(&mut |line| printed.push(line));
        self.tell(&printed);
    }

    /// The program is dead.
    fn tell_the_rest(&mut self) {
        let mut printed = Printed::default();
        self.follower.each_line(&mut |line| printed.push(line));
        if let Some(line) = self.follower.unended_line() {
            printed.push(&line);
        }
        self.tell(&printed);
    }

    fn tell(&mut self, printed: &Printed) {
        let text = cleaned(self.call.redactor, &mut self.before, &printed.raw);
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let told = if printed.is_flood { &[][..] } else { &lines[lines.len().saturating_sub(LINES)..] };
        let left_out = if printed.is_flood { printed.lines } else { lines.len() - told.len() };
        if left_out > 0 {
            let lines = if left_out == 1 { "line" } else { "lines" };
            let text = format!("… {left_out} {lines} of output left out …");
            (self.call.live)(Live::Text { text });
        }
        for line in told {
            let text = bound::shown_line(line);
            // The report on its way is nothing to see twice.
            if !text.is_empty() && !text.contains(self.call.nonce.as_str()) {
                (self.call.live)(Live::Text { text });
            }
        }
    }
}

/// What is new, without secrets. One that began before, such as a key of many lines, hides its rest.
fn cleaned(redactor: &Redactor, before: &mut Vec<u8>, raw: &[u8]) -> String {
    if raw.is_empty() {
        return String::new();
    }
    let shown = redactor.bytes(before).into_owned();
    let known = before.len();
    before.extend_from_slice(raw);
    let all = redactor.bytes(before);
    let new = match (&all, all.strip_prefix(shown.as_slice())) {
        (Cow::Borrowed(_), _) => before[known..].to_vec(),
        (Cow::Owned(_), Some(new)) => new.to_vec(),
        // A secret ends in what is new: it is not told where.
        (Cow::Owned(_), None) => Vec::new(),
    };
    let cut = before.len().saturating_sub(BEFORE);
    before.drain(..cut);
    String::from_utf8_lossy(&new).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_many_lines_is_hidden_in_whatever_pieces_it_comes() {
        let redactor = Redactor::new(&[]);
        let body = "MIIEpAIBAAKCAQEA7bq2Jx1vXkP0oWqN5c1zF8yQ3rT6uYiOpAsDfGhJkLzXcVbN";
        let printed = [
            "before".to_owned(),
            "-----BEGIN RSA PRIVATE KEY-----".to_owned(),
            body.to_owned(),
            body.to_owned(),
            "-----END RSA PRIVATE KEY-----".to_owned(),
            "after".to_owned(),
        ];
        let mut before = Vec::new();
        let told: String = printed
            .iter()
            .map(|line| cleaned(&redactor, &mut before, format!("{line}\n").as_bytes()))
            .collect();
        assert!(told.contains("before") && told.contains("after"), "{told}");
        assert!(!told.contains(body), "{told}");
        let mut open = Vec::new();
        let bare: String = printed
            .iter()
            .map(|line| cleaned(&Redactor::off(), &mut open, format!("{line}\n").as_bytes()))
            .collect();
        assert!(bare.contains(body), "nothing else hides it");
    }

    #[test]
    fn what_was_read_long_ago_is_not_kept() {
        let mut before = Vec::new();
        for _ in 0..100 {
            assert_eq!(cleaned(&Redactor::new(&[]), &mut before, &[b'x'; 1000]).len(), 1000);
        }
        assert_eq!(before.len(), BEFORE);
    }
}
