//! Whether a line says something new.
//!
//! A line is reduced to its *form*: its words, without those that hold a digit (a counter, a time, a hash),
//! the unit behind a number, everything that is no letter (dots, bars, spinners, emoji), repetitions of one
//! letter, and what commands a terminal. A line with no words has no form and says nothing.

/// How many different forms a spinner or a heartbeat may go through and still be known.
const REMEMBERED: usize = 16;

/// Behind a number: "1 minute 3 seconds", "3:05 PM".
const UNITS: [&str; 21] = [
    "ms", "s", "sec", "secs", "second", "seconds", "m", "min", "mins", "minute", "minutes", "h", "hr", "hrs",
    "hour", "hours", "d", "day", "days", "am", "pm",
];
const LONGEST_UNIT: usize = 7;

/// FNV-1a: small, and nobody gains by a collision but a program that wants to be ended.
const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineForm(u64);

/// The forms seen last.
#[derive(Debug, Default)]
pub struct Recent {
    forms: [Option<LineForm>; REMEMBERED],
    next: usize,
}

impl Recent {
    /// Not among the last few; from now on it is.
    pub fn is_new(&mut self, form: LineForm) -> bool {
        if self.forms.contains(&Some(form)) {
            return false;
        }
        self.forms[self.next] = Some(form);
        self.next = (self.next + 1) % REMEMBERED;
        true
    }
}

/// The line that is being printed, however its bytes arrive.
#[derive(Clone, Copy, Debug)]
pub struct OutputLine {
    /// Of the words that are complete.
    form: u64,
    word: Word,
    after_number: bool,
    escape: EscapeSequence,
    /// Some of it was not heard.
    torn: bool,
}

#[derive(Clone, Copy, Debug)]
struct Word {
    /// Of the line up to here.
    form: u64,
    letters: usize,
    has_digit: bool,
    previous: char,
    start: [u8; LONGEST_UNIT],
}

/// Where we are in a command to a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EscapeSequence {
    No,
    Begun,
    /// CSI, up to its last letter.
    Control,
    /// A title, a link and the like, up to BEL or the next escape.
    Text,
}

impl Default for OutputLine {
    fn default() -> OutputLine {
        OutputLine {
            form: FNV_START,
            word: Word::new(FNV_START),
            after_number: false,
            escape: EscapeSequence::No,
            torn: false,
        }
    }
}

impl OutputLine {
    /// Calls `ended` for each line that has come to its end and has a form.
    pub fn feed(&mut self, bytes: &[u8], mut ended: impl FnMut(LineForm)) {
        for chunk in bytes.utf8_chunks() {
            for char in chunk.valid().chars() {
                if self.take(char)
                    && let Some(form) = self.end()
                {
                    ended(form);
                }
            }
        }
    }

    /// The form that the line has, if it ends here.
    pub fn so_far(mut self) -> Option<LineForm> {
        self.end()
    }

    /// Bytes were left out: nothing is said about this line.
    pub fn lose(&mut self) {
        *self = OutputLine { torn: true, ..OutputLine::default() };
    }

    fn end(&mut self) -> Option<LineForm> {
        self.end_word();
        let ended = std::mem::take(self);
        (ended.form != FNV_START && !ended.torn).then_some(LineForm(ended.form))
    }

    /// Whether the line ends here. A terminal that goes back, or anywhere else, begins a new one.
    fn take(&mut self, char: char) -> bool {
        match self.escape {
            EscapeSequence::No => match char {
                '\x1b' => self.escape = EscapeSequence::Begun,
                '\n' | '\r' | '\x08' | '\x0b' | '\x0c' => return true,
                '-' | '_' => {}
                _ if char.is_alphabetic() || char.is_numeric() => self.word.take(char),
                _ => self.end_word(),
            },
            EscapeSequence::Begun => match char {
                '[' => self.escape = EscapeSequence::Control,
                ']' | 'P' | 'X' | '^' | '_' => self.escape = EscapeSequence::Text,
                ' '..='/' => {}
                _ => {
                    self.escape = EscapeSequence::No;
                    return true;
                }
            },
            EscapeSequence::Control if ('@'..='~').contains(&char) => {
                self.escape = EscapeSequence::No;
                // Colours are part of a line.
                return char != 'm';
            }
            EscapeSequence::Control => {}
            EscapeSequence::Text => match char {
                '\x07' => self.escape = EscapeSequence::No,
                '\x1b' => self.escape = EscapeSequence::Begun,
                _ => {}
            },
        }
        false
    }

    fn end_word(&mut self) {
        if self.word.has_digit {
            self.after_number = true;
        } else if self.word.letters > 0 {
            if !(self.after_number && self.word.is_unit()) {
                self.form = self.word.form;
            }
            self.after_number = false;
        }
        self.word = Word::new(self.form);
    }
}

impl Word {
    fn new(form: u64) -> Word {
        Word { form, letters: 0, has_digit: false, previous: '\0', start: [0; LONGEST_UNIT] }
    }

    fn take(&mut self, char: char) {
        if char.is_numeric() {
            self.has_digit = true;
            return;
        }
        if let Some(place) = self.start.get_mut(self.letters) {
            *place = u8::try_from(char).unwrap_or(0).to_ascii_lowercase();
        }
        self.letters += 1;
        if char != self.previous {
            self.previous = char;
            let mut bytes = [0; 4];
            for byte in char.encode_utf8(&mut bytes).bytes() {
                self.form = (self.form ^ u64::from(byte)).wrapping_mul(FNV_PRIME);
            }
        }
    }

    fn is_unit(&self) -> bool {
        let Some(word) = self.start.get(..self.letters) else { return false };
        UNITS.iter().any(|unit| unit.as_bytes() == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forms(text: &str) -> Vec<LineForm> {
        let mut forms = Vec::new();
        let mut line = OutputLine::default();
        line.feed(text.as_bytes(), |form| forms.push(form));
        forms.extend(line.so_far());
        forms
    }

    /// How many of these lines say something new.
    fn news(text: &str) -> usize {
        let mut recent = Recent::default();
        forms(text).into_iter().filter(|form| recent.is_new(*form)).count()
    }

    #[test]
    fn what_changes_in_a_heartbeat_is_left_out() {
        for beats in [
            "still working (12s)\nstill working (13s)\nstill working (1m 3s)\nstill working... (1h)",
            "waited 59 seconds\nwaited 1 minute 0 seconds\nwaited 2 hours 1 min",
            "[01:37:11] waiting\n[23:59:59.123] waiting\n2026-11-16T01:02:03Z waiting",
            "at 3:05 PM: busy\nat 11:05 am: busy",
            "{\"type\":\"ping\",\"id\":\"4f3a9c-ab12\",\"n\":1}\n{\"type\":\"ping\",\"id\":\"99d1f0-cc07\",\"n\":27}",
            "\r⠋ thinking\r⠙ thinking\r⠹ thinking",
            "\x1b[2K\x1b[1G\x1b[36m|\x1b[0m Loading\x1b[2K\x1b[1G\x1b[35m/\x1b[0m Loading",
            "\x1b7Retry 1/10 in 5s\x1b8\x1b7Retry 2/10 in 10s\x1b8",
            "\x1b]0;title one\x07run\r\x1b]0;title two\x1b\\run",
            "🕐 hold on\n🕑 hold on\n…hold on…",
            "loading\nloadiiing\nloading....",
            "one\ntwo\none\ntwo\none 1\ntwo 2",
        ] {
            let all = forms(beats);
            let first = all[0];
            let expected = if beats.starts_with("one") { 2 } else { 1 };
            assert!(all.len() > 1 && news(beats) == expected, "{beats:?}: {first:?} of {all:?}");
        }
    }

    #[test]
    fn what_has_no_words_says_nothing() {
        for text in [
            "...........",
            "|\r/\r-\r\\\r",
            "⠋\r⠙\r",
            "12 %\n13 %\n",
            "####====>   ",
            "\n\n\n",
            "1\n2\n3\n",
            "✨ 🚀",
        ] {
            assert_eq!(forms(text), [], "{text:?}");
        }
    }

    #[test]
    fn new_words_are_new() {
        for text in [
            "Compiling serde v1.0.2\nCompiling windlass-core v0.1.0\nFinished",
            "reads a file\nwrites a file\nreads it again",
            "正在编译\n正在测试\n完成",
            "étape\netape\nÉtape",
            "{\"text\":\"I look\"}\n{\"text\":\"I see\"}\n{\"text\":\"I do\"}",
        ] {
            assert_eq!(news(text), 3, "{text:?}");
        }
    }

    #[test]
    fn a_line_is_the_same_however_it_arrives() {
        let text = "still working \x1b[1m(12s)\x1b[0m at 3 PM\nnext, it is done";
        let whole = forms(text);
        assert_eq!(whole.len(), 2);
        for size in 1..text.len() {
            let (mut line, mut found) = (OutputLine::default(), Vec::new());
            text.as_bytes().chunks(size).for_each(|chunk| line.feed(chunk, |form| found.push(form)));
            found.extend(line.so_far());
            assert_eq!(found, whole, "in pieces of {size}");
        }
    }

    #[test]
    fn a_torn_line_says_nothing_and_the_next_one_does() {
        let mut line = OutputLine::default();
        let mut found = Vec::new();
        line.feed(b"the first half", |form| found.push(form));
        line.lose();
        line.feed(b" and a piece\nwhole\n", |form| found.push(form));
        assert_eq!(found, forms("whole"));
    }

    #[test]
    fn only_the_last_few_are_known() {
        let mut recent = Recent::default();
        let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q"];
        let many: Vec<LineForm> = names.iter().flat_map(|name| forms(name)).collect();
        assert_eq!(many.len(), REMEMBERED + 1);
        assert!(many.iter().all(|form| recent.is_new(*form)));
        assert!(!recent.is_new(many[1]), "known");
        assert!(recent.is_new(many[0]), "forgotten");
    }
}
