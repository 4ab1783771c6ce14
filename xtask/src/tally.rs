//! Counts tests from what a runner prints, while passing it on.

use std::io::{self, BufRead as _, BufReader};
use std::process::{Command, ExitStatus, Stdio};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub passed: usize,
    pub failed: usize,
}

/// Whose words are counted. nextest shows the output of a failed test, which
/// has a line of libtest in it: counting both would count that test twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runner {
    Nextest,
    Libtest,
}

/// Runs a test runner, passes on to `shown` what it prints, and counts.
pub fn run(
    mut command: Command,
    runner: Runner,
    shown: &mut dyn io::Write,
) -> io::Result<(ExitStatus, Tally)> {
    let (reader, writer) = io::pipe()?;
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    let mut child = command.spawn()?;
    // The command owns our copies of the pipe's end; reading would never end.
    drop(command);
    let mut tally = Tally::default();
    let mut reader = BufReader::new(reader);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        shown.write_all(&line)?;
        tally.add(count(runner, &String::from_utf8_lossy(&line)));
        line.clear();
    }
    Ok((child.wait()?, tally))
}

impl Tally {
    pub fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

fn count(runner: Runner, line: &str) -> Tally {
    let counts = match runner {
        Runner::Libtest => line.strip_prefix("test result: ").and_then(|rest| rest.split_once(". ")),
        Runner::Nextest if line.trim_start().starts_with("Summary [") => line.split_once(" run: "),
        Runner::Nextest => None,
    };
    let mut tally = Tally::default();
    let Some((_, counts)) = counts else { return tally };
    for part in counts.split([',', ';']) {
        let mut words = part.split_whitespace();
        let Some(number) = words.next().and_then(|word| word.parse::<usize>().ok()) else { continue };
        match words.next() {
            Some("passed") => tally.passed += number,
            // "2 failed", "1 timed out", "1 exec failed"
            Some("failed" | "timed" | "exec") => tally.failed += number,
            _ => {}
        }
    }
    tally
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_runners_are_understood() {
        let libtest = "test result: FAILED. 6 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.4s";
        assert_eq!(count(Runner::Libtest, libtest), Tally { passed: 6, failed: 1 });
        assert_eq!(count(Runner::Nextest, libtest), Tally::default());
        let nextest =
            "     Summary [   0.261s] 21/40 tests run: 17 passed (1 slow), 2 failed, 1 timed out, 3 skipped";
        assert_eq!(count(Runner::Nextest, nextest), Tally { passed: 17, failed: 3 });
        assert_eq!(count(Runner::Libtest, nextest), Tally::default());
        assert_eq!(count(Runner::Nextest, "a summary, 9 passed"), Tally::default());
    }

    #[test]
    fn a_run_is_counted_over_both_streams() {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", "echo 'test result: ok. 2 passed; 0 failed'; echo 'test result: x. 0 passed; 1 failed' >&2; exit 3"]);
        let mut shown = Vec::new();
        let (status, tally) = run(shell, Runner::Libtest, &mut shown).unwrap();
        assert_eq!((status.code(), tally), (Some(3), Tally { passed: 2, failed: 1 }));
        assert_eq!(shown.iter().filter(|byte| **byte == b'\n').count(), 2);
    }
}
