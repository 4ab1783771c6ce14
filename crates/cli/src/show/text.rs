//! Text that is safe to print and fits the width.

use unicode_width::UnicodeWidthChar;
use windlass_core::plain::{plain, visible};
use windlass_core::time::Timestamp;

use super::out::{CLOSE, OPEN};
use super::{terminal, times};

/// Wider than anything that is shown.
const NO_END: usize = 1 << 20;

/// One line of somebody else's words, safe to print: nothing in it moves the
/// cursor, recolours the screen or turns the order of text around.
pub fn clean(text: &str) -> String {
    plain(text).replace(['\n', '\t'], " ").replace([OPEN, CLOSE], "")
}

/// One line of a diff, with all that is in it: what could not be seen is spelled.
pub fn spelled(line: &str) -> String {
    visible(line).replace(OPEN, "\\u{f8f0}").replace(CLOSE, "\\u{f8f1}")
}

/// The same for lines to be copied by hand: each stays whole, and all but the first begin with `margin`.
pub fn clean_lines(text: &str, margin: &str) -> String {
    let lines: Vec<String> = text.lines().map(clean).collect();
    lines.join(&format!("\n{margin}"))
}

/// At most `width` columns, the cut shown.
pub fn fit(text: &str, width: usize) -> String {
    // Of an endless line, no more than could be shown; what takes no column is bounded too.
    let start = text.floor_char_boundary(width.saturating_mul(16).max(4096));
    let text = clean(&text[..start]) + if start < text.len() { "…" } else { "" };
    if columns(&text) <= width && text.len() <= width.saturating_mul(8) {
        return text;
    }
    let mut kept = String::new();
    let mut used = 0;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used >= width || kept.len() >= width.saturating_mul(8) {
            break;
        }
        kept.push(c);
    }
    kept.push('…');
    kept
}

/// How many columns a line takes.
pub fn columns(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// The local time, for lists of events.
pub fn clock(at: Timestamp) -> String {
    times::local(at)
}

/// How many columns a line may take. A pipe has no end.
pub fn width() -> usize {
    terminal::columns().unwrap_or(NO_END)
}

/// All of one line's words: broken between words where it is wider than the screen, with `margin` before
/// each further line. A word that is wider than the screen stays whole, so that it can be copied.
pub fn wrap(text: &str, margin: &str) -> String {
    wrap_at(&clean(text), margin, width())
}

/// The same for a line that is clean, on a page of this width.
pub fn wrap_at(text: &str, margin: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    let start = text.len() - text.trim_start().len();
    let (mut out, mut used) = (text[..start].to_owned(), start);
    let mut first = true;
    for word in text[start..].split(' ') {
        let room = columns(word) + usize::from(!first);
        if !first && used + room > width {
            out.push('\n');
            out.push_str(margin);
            used = columns(margin);
        } else if !first {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += columns(word);
        first = false;
    }
    out
}

/// Coloured when it reaches a terminal.
pub fn paint(text: &str, colour: Colour) -> String {
    let code = match colour {
        Colour::Good => 32,
        Colour::Bad => 31,
        Colour::Busy => 33,
        Colour::Faint => 2,
        Colour::Bold => 1,
    };
    format!("{OPEN}{code}{CLOSE}{text}{OPEN}0{CLOSE}")
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
    fn lines_to_be_copied_stay_whole_and_safe() {
        assert_eq!(clean_lines("do\n  a\u{1b}[2J\n", "> "), "do\n>   a");
    }

    #[test]
    fn a_wide_line_is_broken_between_words() {
        assert_eq!(wrap_at("  one two three four", "    ", 12), "  one two\n    three\n    four");
        assert_eq!(wrap_at("short", "    ", 12), "short");
        assert_eq!(wrap_at("a /a/path/that/is/wide b", "> ", 10), "a\n> /a/path/that/is/wide\n> b");
    }

    #[test]
    fn a_long_line_is_cut_and_says_so() {
        assert_eq!(fit("abcdef", 4), "abc…");
        assert_eq!(fit("abcd", 4), "abcd");
        assert_eq!(fit("漢字漢字", 6), "漢字…");
        assert_eq!(fit(&"x".repeat(1 << 20), 10), "xxxxxxxxx…");
        assert!(fit(&"e\u{301}".repeat(1 << 16), 10).len() < 100);
    }
}
