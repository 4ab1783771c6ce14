//! The only door to the operator's terminal: `say!`, `say_part!` and
//! `complain!`. Whatever is said through it, no control character passes but
//! newline, tab and the colours that [`paint`](super::text::paint) put there. A
//! test of the house keeps every other way of printing out of this crate.

use std::io::{BufWriter, StdoutLock, Write};
use std::sync::OnceLock;

use windlass_core::plain::plain;

use super::terminal::takes_colours;

/// A colour is written as its number between these two, which `clean` takes out
/// of the words of others.
pub const OPEN: char = '\u{f8f0}';
pub const CLOSE: char = '\u{f8f1}';

/// A line for the operator.
macro_rules! say {
    () => { $crate::show::out::line("") };
    ($($words:tt)*) => { $crate::show::out::line(&format!($($words)*)) };
}

/// Without the end of the line.
macro_rules! say_part {
    ($($words:tt)*) => { $crate::show::out::part(&format!($($words)*)) };
}

/// What is wrong, on standard error; ends its line itself.
macro_rules! complain {
    ($($words:tt)*) => { $crate::show::out::error_line(&format!($($words)*)) };
}

pub(crate) use {complain, say, say_part};

/// The first write to standard output that failed. It is no reason to stop what is
/// being done: nothing below fails, and `main` tells it at the end.
static UNWRITTEN: OnceLock<std::io::Error> = OnceLock::new();

/// Why some of the output is missing, if it is.
pub fn unwritten() -> Option<&'static std::io::Error> {
    UNWRITTEN.get()
}

/// Whether standard output still takes what it is given.
fn written(result: std::io::Result<()>) -> bool {
    match result {
        Ok(()) => UNWRITTEN.get().is_none(),
        Err(error) => {
            // Only the first one is kept.
            let _ = UNWRITTEN.set(error);
            false
        }
    }
}

pub fn line(text: &str) {
    written(writeln!(std::io::stdout(), "{}", passed(text, takes_colours(&std::io::stdout()))));
}

pub fn part(text: &str) {
    write(&passed(text, takes_colours(&std::io::stdout())));
}

pub fn error_line(text: &str) {
    let text = text.trim_end_matches('\n');
    // There is no other place to say that it failed.
    let _ = writeln!(std::io::stderr(), "{}", passed(text, takes_colours(&std::io::stderr())));
}

/// JSON, or a script for a shell: text that its reader takes byte by byte.
pub fn machine(text: &str) {
    write(text);
}

/// Puts lines in the place of the last `drawn` ones, the cursor's among them.
pub fn redraw(drawn: usize, lines: &[String]) {
    let up = "\u{1b}[A\r\u{1b}[K".repeat(drawn.saturating_sub(1));
    write(&format!("\r\u{1b}[K{up}{}", passed(&lines.join("\n"), takes_colours(&std::io::stdout()))));
}

fn write(text: &str) {
    let mut out = std::io::stdout();
    written(write!(out, "{text}").and_then(|()| out.flush()));
}

/// Many lines, written together.
pub struct PagedOutput {
    to: BufWriter<StdoutLock<'static>>,
    coloured: bool,
}

impl PagedOutput {
    pub fn new() -> Self {
        let coloured = takes_colours(&std::io::stdout());
        Self { to: BufWriter::new(std::io::stdout().lock()), coloured }
    }

    /// Whether there is a point in going on.
    pub fn line(&mut self, text: &str) -> bool {
        written(writeln!(self.to, "{}", passed(text, self.coloured)))
    }

    /// The same.
    pub fn machine_line(&mut self, text: &str) -> bool {
        written(writeln!(self.to, "{text}"))
    }

    pub fn finish(mut self) {
        written(self.to.flush());
    }
}

/// What a library coloured itself, in the way that passes the door.
pub fn coloured(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b';').count();
        match part[end..].strip_prefix('m') {
            Some(rest) => {
                out.extend([OPEN.to_string().as_str(), &part[..end], CLOSE.to_string().as_str(), rest])
            }
            None => out.push_str(part),
        }
    }
    out
}

fn passed(text: &str, coloured: bool) -> String {
    let safe = plain(text);
    if !safe.contains(OPEN) {
        return safe;
    }
    let mut parts = safe.split(OPEN);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (code, rest) = part.split_once(CLOSE).unwrap_or(("", part));
        let legal = code.len() <= 16 && code.bytes().all(|byte| byte.is_ascii_digit() || byte == b';');
        if coloured && legal && !code.is_empty() {
            out.extend(["\u{1b}[", code, "m"]);
        }
        out.push_str(rest);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_colours_pass() {
        let given = format!("{OPEN}31{CLOSE}red{OPEN}0{CLOSE} \u{1b}]52;c;eA==\u{7}x\u{1b}[2J\tend\n");
        assert_eq!(passed(&given, true), "\u{1b}[31mred\u{1b}[0m x\tend\n");
        assert_eq!(passed(&given, false), "red x\tend\n");
    }

    #[test]
    fn a_mark_is_no_way_through() {
        for given in
            ["\u{f8f0}2J\u{f8f1}a", "\u{f8f0}\u{1b}[2J\u{f8f1}a", "\u{f8f0}\u{f8f1}a", "\u{f8f1}\u{f8f0}a"]
        {
            let shown = passed(given, true);
            assert!(!shown.contains('\u{1b}') && shown.ends_with('a'), "{given:?} {shown:?}");
        }
    }

    #[test]
    fn the_colours_of_a_library_pass() {
        assert_eq!(
            passed(&coloured("\u{1b}[1;91merror\u{1b}[0m: x\u{1b}[2Jy"), true),
            "\u{1b}[1;91merror\u{1b}[0m: x2Jy"
        );
    }
}
