//! When a tree of processes last did something, told by what was seen of it.
//!
//! Three things are activity, whichever process of the tree does them:
//!
//! - **new output**: a line that is none of the last few. What changes in a spinner, a clock, a counter or
//!   a heartbeat is left out before lines are compared ([`lines`]).
//! - **CPU**: at least [`BUSY_PERCENT`] of one core over a window. An event loop that waits is below that.
//! - **files**: any change below the program's own directories, and [`BUSY_BYTES`] given to storage in a
//!   window, wherever they go. Less than that is what agents keep as a diary while they wait.
//!
//! A wait for the network alone is none of them. Everything here but [`files`] and [`tree`] is a function of
//! its arguments: time comes with each call.

pub mod files;
mod lines;
pub mod tree;

use std::collections::VecDeque;
use std::fmt;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use lines::{OutputLine, Recent};

/// Of one core. In twenty minutes of waiting for a model that never answered, the most that was used over half
/// a minute was 0.5 % by Claude Code, 1.0 % by Qwen, 1.4 % by Gemini, 2.2 % by Codex and 2.5 % by opencode; a
/// shell that polls with `sleep 0.1` uses 2 %. Compilers and test runs use whole cores.
const BUSY_PERCENT: u32 = 5;
/// The same five wrote 4 to 20 KiB about their waiting every one to ten minutes, outside of the workspace.
const BUSY_BYTES: u64 = 64 * 1024;
/// Long enough that a garbage collection or a timer is no work.
const LONGEST_WINDOW: Duration = Duration::from_secs(30);
const SHORTEST_WINDOW: Duration = Duration::from_millis(500);
/// /proc counts in clock ticks, which are 10 ms long: fewer than three say nothing.
const LEAST_CPU: Duration = Duration::from_millis(30);

const SHORTEST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Bytes that are looked at between two samples. What prints more than this with nothing new at its
/// beginning is judged by its CPU.
const HEARING: usize = 64 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputStream {
    Stdout,
    Stderr,
}

/// What a tree has used since it began, as far as it can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActivitySample {
    pub at: Instant,
    /// Of the living and of the dead. It may be smaller than before: a process whose parent never asked for
    /// it takes its count away. `None`: it could not be read.
    pub cpu: Option<Duration>,
    /// Bytes given to storage; the same holds.
    pub written: u64,
}

/// What was seen of a program that did nothing for too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stall {
    pub silent_for: Duration,
    /// It did print, but only what it had printed before.
    pub repeated_itself: bool,
    /// Thousandths of one core, on average while it was silent.
    pub cpu_permille: u32,
}

#[derive(Debug)]
pub struct Activity {
    silence: Duration,
    window: Duration,
    last: Instant,
    /// CPU used up to `last`.
    used_at_last: Duration,
    repeated_itself: bool,
    /// As the last sample had them.
    cpu: Duration,
    written: u64,
    sum: Sum,
    /// The sum at each sample of the last window, and at the one before.
    history: VecDeque<(Instant, Sum)>,
    recent: Recent,
    streams: [Stream; 2],
    hearing: usize,
}

/// Of everything that the counts of a sample grew by. It never goes back.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    cpu: Duration,
    written: u64,
}

#[derive(Debug, Default)]
struct Stream {
    line: OutputLine,
    /// When the line that is not at its end was last added to.
    grew: Option<Instant>,
}

impl Activity {
    pub fn new(silence: Duration, started: Instant) -> Activity {
        Activity {
            silence,
            window: (silence / 4).clamp(SHORTEST_WINDOW, LONGEST_WINDOW).min(silence),
            last: started,
            used_at_last: Duration::ZERO,
            repeated_itself: false,
            cpu: Duration::ZERO,
            written: 0,
            sum: Sum::default(),
            history: VecDeque::from([(started, Sum::default())]),
            recent: Recent::default(),
            streams: Default::default(),
            hearing: HEARING,
        }
    }

    /// When it last did something.
    pub fn last(&self) -> Instant {
        self.last
    }

    /// Between two samples.
    pub fn pause(&self) -> Duration {
        (self.silence / 20).clamp(SHORTEST_PAUSE, LONGEST_PAUSE).min(self.silence)
    }

    /// When the program has been silent for too long, if nothing happens until then.
    pub fn deadline(&self) -> Instant {
        self.last + self.silence
    }

    /// Something was printed.
    pub fn hear(&mut self, at: Instant, source: OutputStream, bytes: &[u8]) {
        let stream = &mut self.streams[source as usize];
        self.repeated_itself = true;
        let (heard, unheard) = bytes.split_at(bytes.len().min(self.hearing));
        self.hearing -= heard.len();
        let mut is_new = false;
        stream.line.feed(heard, |form| is_new |= self.recent.is_new(form));
        stream.grew = Some(at);
        if !unheard.is_empty() {
            stream.line.lose();
        }
        if is_new {
            self.mark(at);
        }
    }

    pub fn sample(&mut self, sample: ActivitySample) {
        self.hearing = HEARING;
        self.judge_unfinished_lines();
        if let Some(cpu) = sample.cpu {
            self.sum.cpu += cpu.saturating_sub(self.cpu);
            self.cpu = cpu;
        }
        self.sum.written += sample.written.saturating_sub(self.written);
        self.written = sample.written;
        if self.was_busy(sample.at) {
            self.mark(sample.at);
        }
    }

    /// A file was found that was changed at this moment.
    pub fn changed(&mut self, at: Instant) {
        self.mark(at);
    }

    /// What to say of a program that is silent for too long; `None` while it is not.
    pub fn stall(&self, now: Instant) -> Option<Stall> {
        if now < self.deadline() {
            return None;
        }
        let silent_for = now - self.last;
        let used = self.sum.cpu.saturating_sub(self.used_at_last).as_micros();
        let permille = used * 1000 / silent_for.as_micros().max(1);
        Some(Stall {
            silent_for,
            repeated_itself: self.repeated_itself,
            cpu_permille: u32::try_from(permille).unwrap_or(u32::MAX),
        })
    }

    /// A line may stay without an end: words that arrive one by one are new text all the same.
    fn judge_unfinished_lines(&mut self) {
        for index in 0..self.streams.len() {
            let stream = &mut self.streams[index];
            let (grew, form) = (stream.grew.take(), stream.line.so_far());
            if let (Some(at), Some(form)) = (grew, form)
                && self.recent.is_new(form)
            {
                self.mark(at);
            }
        }
    }

    fn was_busy(&mut self, at: Instant) -> bool {
        while self.history.get(1).is_some_and(|(next, _)| *next + self.window <= at) {
            self.history.pop_front();
        }
        let Some(&(begun, before)) = self.history.front() else { return false };
        self.history.push_back((at, self.sum));
        let span = at.saturating_duration_since(begun).max(self.window);
        let computed = self.sum.cpu - before.cpu >= (span * BUSY_PERCENT / 100).max(LEAST_CPU);
        computed || self.sum.written - before.written >= BUSY_BYTES
    }

    fn mark(&mut self, at: Instant) {
        if at > self.last {
            self.last = at;
            self.used_at_last = self.sum.cpu;
            self.repeated_itself = false;
        }
    }
}

impl fmt::Display for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let new = if self.repeated_itself { "new " } else { "" };
        write!(f, "no {new}output for {}", Span(self.silent_for))?;
        write!(f, ", CPU {}.{} %, no file written", self.cpu_permille / 10, self.cpu_permille % 10)
    }
}

struct Span(Duration);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, millis) = (self.0.as_secs(), self.0.subsec_millis());
        match seconds {
            0 => write!(f, "{millis} ms"),
            1..60 => write!(f, "{seconds}.{} s", millis / 100),
            _ => {
                let parts = [(seconds / 3600, "h"), (seconds / 60 % 60, "m"), (seconds % 60, "s")];
                let parts: Vec<String> = parts
                    .iter()
                    .filter(|(count, _)| *count > 0)
                    .take(2)
                    .map(|(count, unit)| format!("{count} {unit}"))
                    .collect();
                f.write_str(&parts.join(" "))
            }
        }
    }
}

#[cfg(test)]
mod tests;
