//! What differs from run to run, put the same in every run: times of day, counted spans, durations, and the
//! ids of commits and processes. All but durations and processes keep their width.

const CLOCK: &str = "12:00:00";
const DURATION: &str = "0.1 s";
const ID: &str = "0123456789abcdef";
const PROCESS: &str = "process 1234";

/// One line with nothing in it that time or chance chose.
pub fn steady(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    let mut before: Option<char> = None;
    while let Some(first) = rest.chars().next() {
        let at_word = !before.is_some_and(|c| c.is_alphanumeric() || c == ':' || c == '.');
        let found = if at_word { replaced(rest) } else { None };
        let length = match found {
            Some((placeholder, length)) => {
                out.push_str(&placeholder);
                length
            }
            None => {
                out.push(first);
                first.len_utf8()
            }
        };
        before = rest[..length].chars().next_back();
        rest = &rest[length..];
    }
    out
}

/// The placeholder for what the text begins with, and the length of that.
fn replaced(text: &str) -> Option<(String, usize)> {
    dated(text)
        .or_else(|| clock(text))
        .or_else(|| counted(text))
        .or_else(|| duration(text))
        .or_else(|| id(text))
        .or_else(|| process(text))
}

/// A time that is not today's. Near midnight that is chance.
fn dated(text: &str) -> Option<(String, usize)> {
    const DATE: &str = "0000-00-00 ";
    if !has_form(text, DATE) {
        return None;
    }
    let (placeholder, length) = clock(&text[DATE.len()..])?;
    Some((placeholder, DATE.len() + length))
}

fn clock(text: &str) -> Option<(String, usize)> {
    let is_clock = has_form(text, "00:00:00") && ends_word(&text[CLOCK.len()..]);
    is_clock.then(|| (CLOCK.to_owned(), CLOCK.len()))
}

/// `0:42`, `12:05`.
fn counted(text: &str) -> Option<(String, usize)> {
    let form = ["0:00", "00:00"].into_iter().find(|form| has_form(text, form))?;
    ends_word(&text[form.len()..]).then(|| (form.to_owned(), form.len()))
}

/// `7 ms`, `1.2 s`, `1 min 05 s`.
fn duration(text: &str) -> Option<(String, usize)> {
    let number = text.find(|c: char| !c.is_ascii_digit() && c != '.').filter(|length| *length > 0)?;
    let unit = text[number..].strip_prefix(' ')?;
    let end = unit.find(|c: char| !c.is_alphanumeric()).unwrap_or(unit.len());
    let length = number + 1 + end;
    match &unit[..end] {
        "ms" | "s" => Some((DURATION.to_owned(), length)),
        "min" => {
            let seconds = text[length..].strip_prefix(' ').and_then(duration);
            Some((DURATION.to_owned(), seconds.map_or(length, |(_, more)| length + 1 + more)))
        }
        _ => None,
    }
}

/// Of a commit or a tree, whole or as the screen shortens it.
fn id(text: &str) -> Option<(String, usize)> {
    let is_digit = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    let length = text.find(|c: char| !is_digit(c)).unwrap_or(text.len());
    let ends = !text[length..].starts_with(char::is_alphanumeric);
    let is_id = (length == 10 || length == 40) && ends;
    is_id.then(|| (ID.chars().cycle().take(length).collect(), length))
}

fn process(text: &str) -> Option<(String, usize)> {
    const WORD: &str = "process ";
    let number = text.strip_prefix(WORD)?;
    let digits = number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len());
    (digits > 0).then(|| (PROCESS.to_owned(), WORD.len() + digits))
}

/// Whether the text begins with digits where the form has zeros, and otherwise as the form does.
fn has_form(text: &str, form: &str) -> bool {
    let mut found = text.bytes();
    form.bytes().all(|wanted| {
        let byte = found.next();
        if wanted == b'0' { byte.is_some_and(|byte| byte.is_ascii_digit()) } else { byte == Some(wanted) }
    })
}

fn ends_word(rest: &str) -> bool {
    !rest.starts_with(|c: char| c.is_alphanumeric() || c == ':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_time_chose_is_the_same_in_every_run() {
        for (line, expected) in [
            ("20:51:46    check add: exit 1, 16 ms", "12:00:00    check add: exit 1, 0.1 s"),
            (
                "20:51:46  waiting until 20:51:51 (0:05 from now)",
                "12:00:00  waiting until 12:00:00 (0:00 from now)",
            ),
            ("2026-11-18 00:00:02  the wait is over", "12:00:00  the wait is over"),
            (
                "001-a (task 1 of 2)  execute  12:05  1540 tokens",
                "001-a (task 1 of 2)  execute  00:00  1540 tokens",
            ),
            ("iteration 6 of 30, run 1, 1 min 05 s worked", "iteration 6 of 30, run 1, 0.1 s worked"),
            ("59 min of it, 1.2 s, 0 ms", "0.1 s of it, 0.1 s, 0.1 s"),
            ("in the background (process 21060).", "in the background (process 1234)."),
            ("landed fa4dc24214", "landed 0123456789"),
            ("tree 14f4a7ad2e: nothing changed", "tree 0123456789: nothing changed"),
            (
                &format!("commit  {}", "9adc8c016f".repeat(4)),
                &format!("commit  {}", "0123456789abcdef".repeat(3)[..40].to_owned()),
            ),
        ] {
            assert_eq!(steady(line), expected);
        }
    }

    #[test]
    fn all_else_is_left_alone() {
        for line in [
            "left a process behind (ended)",
            "attempt 2 ended, claims complete",
            "FAILED  units 4: expected IV, got IIII",
            "0 of 2 tasks done; 30 of 30 iterations left; 4 millions",
            "roman.sh:4:12: 1:2:3 12:345 defaced add0123456789",
            "F1 (bug) test.sh  $0.02  1.2M tokens  “é漢”",
        ] {
            assert_eq!(steady(line), line);
        }
    }
}
