//! Text of others made safe to show: on a terminal, in a brief, in a log.

use std::borrow::Cow;
use std::iter::Peekable;
use std::str::Chars;

/// Without escape sequences, control characters, and characters that are invisible or turn the order of
/// others around. Newline and tab stay. A carriage return inside a line means what it does on a terminal:
/// what follows it stands in the place of what came before.
pub fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            out.push('\n');
        }
        push_line(line, &mut out);
    }
    out
}

/// The same of bytes that need not be UTF-8.
pub fn plain_bytes(bytes: &[u8]) -> String {
    match String::from_utf8_lossy(bytes) {
        Cow::Borrowed(text) => plain(text),
        Cow::Owned(text) => plain(&text),
    }
}

/// One line: what would end it or jump in it is a space.
pub fn plain_line(text: &str) -> String {
    plain(text).replace(['\n', '\t'], " ")
}

/// A word as it can be pasted into a shell.
pub fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/+@".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// Nothing is taken out: what could not be seen, or would make a line read differently, is spelled. Newline and
/// tab stay.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => out.push(c),
            c if c.is_control() || is_deceptive(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

/// A text of JSON that shows on a terminal what it holds: what `plain` would take out stands there as `\u…`,
/// so that its reader gets it unchanged.
pub fn escaped(json: &str) -> Cow<'_, str> {
    let hidden = |c: char| is_deceptive(c) || c.is_control() && c != '\n';
    if !json.contains(hidden) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if hidden(c) {
            let units = &mut [0; 2];
            out.extend(c.encode_utf16(units).iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Characters that a reader does not see, or that make a line read differently from what it is. Joiners stay:
/// scripts and pictures are made with them.
pub fn is_deceptive(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{034f}' | '\u{061c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0e}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff9}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

fn push_line(line: &str, out: &mut String) {
    let start = out.len();
    let mut chars = line.trim_end_matches('\r').chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => skip_escape(&mut chars),
            '\u{9b}' => skip_control_sequence(&mut chars),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => skip_string(&mut chars),
            '\r' => out.truncate(start),
            '\t' => out.push(c),
            c if c.is_control() || is_deceptive(c) => {}
            c => out.push(c),
        }
    }
}

fn skip_escape(chars: &mut Peekable<Chars<'_>>) {
    match chars.next_if(|c| ('\u{20}'..='\u{7e}').contains(c)) {
        Some('[') => skip_control_sequence(chars),
        Some(']' | 'P' | 'X' | '^' | '_') => skip_string(chars),
        Some('\u{20}'..='\u{2f}') => {
            while chars.next_if(|c| ('\u{20}'..='\u{2f}').contains(c)).is_some() {}
            chars.next_if(|c| ('\u{30}'..='\u{7e}').contains(c));
        }
        Some(_) | None => {}
    }
}

fn skip_control_sequence(chars: &mut Peekable<Chars<'_>>) {
    while chars.next_if(|c| ('\u{20}'..='\u{3f}').contains(c)).is_some() {}
    chars.next_if(|c| ('\u{40}'..='\u{7e}').contains(c));
}

/// A title, a link, an image. One that is never closed ends with its line, so that it hides no other.
fn skip_string(chars: &mut Peekable<Chars<'_>>) {
    while let Some(c) = chars.next() {
        match c {
            '\u{7}' | '\u{9c}' => return,
            '\u{1b}' => return skip_escape(chars),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_gone() {
        for (given, shown) in [
            ("plain é 漢 👩‍👩‍👧\tx", "plain é 漢 👩‍👩‍👧\tx"),
            ("\u{1b}[1;31mred\u{1b}[0m", "red"),
            ("\u{1b}]0;title\u{7}a\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", "alink"),
            ("\u{1b}]0;never closed\nnext", "\nnext"),
            ("\u{1b}(Ba\u{1b}7b\u{1b}", "ab"),
            ("\u{9b}31mc\u{90}q\u{9c}d", "cd"),
            ("10 %\r20 %\r\n30 %\r", "20 %\n30 %"),
            ("a\u{0}b\u{8}c\u{7f}", "abc"),
            ("user\u{202e}nimda\u{2066}\u{e0041}", "usernimda"),
            ("a\u{1b}[31é", "aé"),
            ("\u{1b}]52;c;ZXZpbA==\u{7}a\u{1b}Pq#0\u{1b}\\b\u{1b}[2J\u{7}c", "abc"),
            ("\u{202a}\u{202b}\u{202c}\u{202d}\u{2067}\u{2068}\u{2069}\u{200e}\u{200f}\u{61c}x", "x"),
            ("pay\u{ad}pal\u{3164}\u{ffa0}\u{e0100}\u{fe01}\u{200b}", "paypal"),
        ] {
            assert_eq!(plain(given), shown, "{given:?}");
        }
    }

    #[test]
    fn json_is_escaped_and_means_the_same() {
        let text = "a\u{9b}2J\u{202e}b\u{e0041}\u{7f}é";
        let json = format!("[\n\"{text}\"]");
        assert_eq!(escaped(&json), "[\n\"a\\u009b2J\\u202eb\\udb40\\udc41\\u007fé\"]");
        assert!(matches!(escaped("{\"a\": \"é\"}"), Cow::Borrowed(_)));
    }

    #[test]
    fn bytes_that_are_not_text_are_marked() {
        assert_eq!(plain_bytes(b"a\xffb\x1b[0m"), "a\u{fffd}b");
    }
}
