//! Text that is safe to print and fits the width.

use std::io::IsTerminal;

use windlass_core::plain::plain;
use windlass_core::time::Timestamp;

/// One line of somebody else's words, safe to print: nothing in it moves the
/// cursor, recolours the screen or turns the order of text around.
pub fn clean(text: &str) -> String {
    plain(text).replace(['\n', '\t'], " ")
}

/// At most `width` characters, the cut shown.
pub fn fit(text: &str, width: usize) -> String {
    let text = clean(text);
    if text.chars().count() <= width {
        return text;
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// The time of day, in UTC, for lists of events.
pub fn clock(at: Timestamp) -> String {
    at.to_string().get(11..19).unwrap_or_default().to_owned()
}

pub fn width() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stdout());
    size.ok().map(|size| usize::from(size.ws_col)).filter(|columns| *columns >= 40).unwrap_or(80)
}

/// Colour only on a terminal that wants it.
pub fn paint(text: &str, colour: Colour) -> String {
    if !std::io::stdout().is_terminal() {
        return text.to_owned();
    }
    let code = match colour {
        Colour::Good => 32,
        Colour::Bad => 31,
        Colour::Busy => 33,
        Colour::Faint => 2,
        Colour::Bold => 1,
    };
    format!("\u{1b}[{code}m{text}\u{1b}[0m")
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    Good,
    Bad,
    Busy,
    Faint,
    Bold,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_an_agent_says_moves_the_cursor() {
        assert_eq!(clean("a\u{1b}[2Jb\u{202e}d\ne"), "abd e");
    }

    #[test]
    fn a_long_line_is_cut_and_says_so() {
        assert_eq!(fit("abcdef", 4), "abc…");
        assert_eq!(fit("abcd", 4), "abcd");
    }
}
