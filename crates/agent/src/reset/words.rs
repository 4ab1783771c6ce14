//! The shapes of times in prose.

use jiff::civil::{Date, Time, Weekday};
use windlass_core::time::Timestamp;

use super::{ClockTime, Day, Unit};

/// RFC 3339, or the date of HTTP and mail, anywhere in the text.
pub fn standard_date(text: &str) -> Option<Timestamp> {
    let of_jiff = |at: jiff::Timestamp| Timestamp(at.as_millisecond());
    let trimmed = |word: &str| word.trim_matches(|c: char| !c.is_ascii_alphanumeric()).to_owned();
    let rfc3339 = text.split([' ', '\n', '"', ',', '|', '(', ')']).map(trimmed).find_map(|word| {
        let shaped = word.len() >= 20 && word.as_bytes()[4] == b'-' && word.as_bytes()[10] == b'T';
        shaped.then(|| word.parse::<jiff::Timestamp>().ok()).flatten()
    });
    rfc3339.map(of_jiff).or_else(|| mail_date(text).map(of_jiff))
}

/// `Sun, 15 Nov 2026 17:53:46 GMT`
fn mail_date(text: &str) -> Option<jiff::Timestamp> {
    const DAYS: [&str; 7] = ["Mon, ", "Tue, ", "Wed, ", "Thu, ", "Fri, ", "Sat, ", "Sun, "];
    let start = DAYS.iter().filter_map(|day| text.find(day)).min()?;
    let words: Vec<&str> = text[start..].split_whitespace().take(6).collect();
    let date = words.join(" ");
    let date = date.trim_end_matches(['.', ')', ']', ';', '"']);
    jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(date).ok()
}

/// Ten digits are seconds, thirteen are milliseconds.
pub fn epoch_in(text: &str) -> Option<Timestamp> {
    let numbers = text.split(|c: char| !c.is_ascii_digit());
    numbers.filter(|digits| matches!(digits.len(), 10 | 13)).find_map(|digits| epoch(digits.parse().ok()?))
}

pub fn epoch(number: i64) -> Option<Timestamp> {
    match number {
        1_000_000_000..=9_999_999_999 => Some(Timestamp(number * 1000)),
        1_000_000_000_000..=9_999_999_999_999 => Some(Timestamp(number)),
        _ => None,
    }
}

/// `in 2 hours 5 minutes`, `in 1.5s`, `after 1h2m3s`: milliseconds.
pub fn span_in(text: &str) -> Option<i64> {
    let lower = text.to_ascii_lowercase();
    ["in ", "after ", "retry-after: "].iter().find_map(|lead| {
        let starts = lower.match_indices(lead).filter(|(at, _)| {
            lower[..*at].chars().next_back().is_none_or(|before| !before.is_ascii_alphanumeric())
        });
        let mut spans = starts.filter_map(|(at, lead)| span(&lower[at + lead.len()..]));
        spans.next()
    })
}

/// A span at the start of the text.
pub fn span(text: &str) -> Option<i64> {
    let lower = text.to_ascii_lowercase();
    let mut rest = lower.trim_start();
    let mut total = None::<f64>;
    loop {
        rest = rest.trim_start_matches([' ', ',']);
        rest = rest.strip_prefix("and ").or_else(|| rest.strip_prefix("about ")).unwrap_or(rest);
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at(digits);
        let after = after.trim_start();
        let letters = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at(letters);
        let part = number.parse::<f64>().ok().zip(unit_ms(unit)).map(|(number, ms)| number * ms);
        let Some(part) = part else { break };
        total = Some(total.unwrap_or(0.0) + part);
        rest = after;
    }
    total.filter(|ms| (0.0..9e15).contains(ms)).map(|ms| ms.ceil() as i64)
}

fn unit_ms(unit: &str) -> Option<f64> {
    match unit {
        "ms" | "millisecond" | "milliseconds" => Some(1.0),
        "s" | "sec" | "secs" | "second" | "seconds" => Some(1e3),
        "m" | "min" | "mins" | "minute" | "minutes" => Some(60e3),
        "h" | "hr" | "hrs" | "hour" | "hours" => Some(3600e3),
        "d" | "day" | "days" => Some(86400e3),
        "w" | "week" | "weeks" => Some(7.0 * 86400e3),
        _ => None,
    }
}

/// `at 3pm`, `resets 3:30 PM (Europe/Berlin)`, `resets Mar 5 at 10am (UTC)`, `at Nov 16th, 2026 3:47 AM`.
pub fn clock_in(text: &str) -> Option<ClockTime> {
    let words = split(text);
    let leads = words.iter().enumerate().filter(|(_, word)| {
        matches!(
            word.to_ascii_lowercase().as_str(),
            "at" | "resets" | "reset" | "until" | "on" | "after" | "by"
        )
    });
    leads.filter_map(|(at, _)| clock(&words[at + 1..])).next()
}

const ZONES: [&str; 10] = ["UTC", "GMT", "PT", "PST", "PDT", "ET", "EST", "EDT", "CET", "CEST"];

/// Words without the marks around them; a zone in brackets stays one word.
fn split(text: &str) -> Vec<&str> {
    let marks = |c: char| matches!(c, '(' | ')' | '[' | ']' | ',' | '.' | '!' | ';' | '"' | '\'');
    text.split_whitespace().map(|word| word.trim_matches(marks)).filter(|word| !word.is_empty()).collect()
}

fn clock(words: &[&str]) -> Option<ClockTime> {
    let skip = |words: &mut &[&str], word: &str| {
        if words.first().is_some_and(|first| first.eq_ignore_ascii_case(word)) {
            *words = &words[1..];
        }
    };
    let mut words = words;
    skip(&mut words, "on");
    let (day, used) = day(words);
    words = &words[used..];
    skip(&mut words, "at");
    let (time, told_to, used) = time(words)?;
    words = &words[used..];
    let named = |word: &&&str| word.contains('/') || ZONES.contains(word);
    Some(ClockTime { time, told_to, day, zone: words.first().filter(named).map(|word| (*word).to_owned()) })
}

/// What stands before the time of day, and how many words it is.
fn day(words: &[&str]) -> (Day, usize) {
    const MONTHS: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let lower: Vec<String> = words.iter().take(3).map(|word| word.to_ascii_lowercase()).collect();
    let [first, rest @ ..] = lower.as_slice() else { return (Day::Any, 0) };
    if let Some(weekday) = weekday(first) {
        return (Day::Weekday(weekday), 1);
    }
    let Some(month) = MONTHS.iter().position(|month| first.starts_with(month)) else { return (Day::Any, 0) };
    let month = month as i8 + 1;
    let number = rest.first().map(|word| word.trim_end_matches(|c: char| c.is_ascii_alphabetic()));
    let Some(day) = number.and_then(|number| number.parse::<i8>().ok()) else { return (Day::Any, 0) };
    match rest.get(1).and_then(|year| year.parse::<i16>().ok()).filter(|year| *year >= 2000) {
        Some(year) => match Date::new(year, month, day) {
            Ok(date) => (Day::Full(date), 3),
            Err(_) => (Day::Any, 0),
        },
        None => (Day::InYear { month, day }, 2),
    }
}

fn weekday(word: &str) -> Option<Weekday> {
    const DAYS: [(&str, Weekday); 7] = [
        ("monday", Weekday::Monday),
        ("tuesday", Weekday::Tuesday),
        ("wednesday", Weekday::Wednesday),
        ("thursday", Weekday::Thursday),
        ("friday", Weekday::Friday),
        ("saturday", Weekday::Saturday),
        ("sunday", Weekday::Sunday),
    ];
    let found = DAYS.iter().find(|(name, _)| word.len() >= 3 && name.starts_with(word));
    found.map(|(_, weekday)| *weekday)
}

/// `3pm`, `3 PM`, `3:30pm`, `15:30`, `12am`; a bare number is no time.
fn time(words: &[&str]) -> Option<(Time, Unit, usize)> {
    let first = words.first()?.to_ascii_lowercase();
    let (digits, half, used) = match (first.strip_suffix("am"), first.strip_suffix("pm")) {
        (Some(digits), _) => (digits.to_owned(), Some(Half::Before), 1),
        (_, Some(digits)) => (digits.to_owned(), Some(Half::After), 1),
        _ => match words.get(1).map(|word| word.to_ascii_lowercase()).as_deref() {
            Some("am" | "a.m") => (first, Some(Half::Before), 2),
            Some("pm" | "p.m") => (first, Some(Half::After), 2),
            _ => (first, None, 1),
        },
    };
    let mut parts = digits.split(':').map(|part| part.parse::<i8>().ok());
    let hour = parts.next()??;
    let minute = parts.next().unwrap_or(half.map(|_| 0))?;
    let (second, told_to) = match parts.next() {
        Some(second) => (second?, Unit::Second),
        None => (0, Unit::Minute),
    };
    let hour = match half {
        None => hour,
        Some(_) if !(1..=12).contains(&hour) => return None,
        Some(Half::Before) => hour % 12,
        Some(Half::After) => hour % 12 + 12,
    };
    Some((Time::new(hour, minute, second, 0).ok()?, told_to, used))
}

#[derive(Clone, Copy)]
enum Half {
    Before,
    After,
}
