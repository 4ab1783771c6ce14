//! When a limit ends, from every form that is printed: epochs, dates of two standards, spans, and times of
//! day with or without a date and a zone. What cannot be meant is none: a wait on a guess would hold a loop
//! for hours.
//!
//! A time of day is cut to the minute by those who print it (Codex 0.166.0, Claude 2.1.325): the limit ends
//! somewhere in that minute, so it is over at the minute's end.

mod words;

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use windlass_core::time::Timestamp;

/// No limit of a subscription is longer than a month.
const FURTHEST_MS: i64 = 31 * 24 * 3_600_000;
/// A message may be read a moment after the time it names.
const JUST_PAST_MS: i64 = 2 * 60_000;

/// The time zone in which a program prints times of day.
#[derive(Clone, Debug)]
pub struct Zone(TimeZone);

impl Zone {
    /// The machine's.
    pub fn system() -> Self {
        Self(TimeZone::system())
    }

    pub fn utc() -> Self {
        Self(TimeZone::UTC)
    }

    /// By a name like `Europe/Berlin`; a few abbreviations that mean one zone only.
    pub fn named(name: &str) -> Option<Self> {
        let known = match name.to_ascii_uppercase().as_str() {
            "UTC" | "GMT" | "Z" => return Some(Self::utc()),
            "PT" | "PST" | "PDT" => "America/Los_Angeles",
            "ET" | "EST" | "EDT" => "America/New_York",
            "CET" | "CEST" => "Europe/Berlin",
            _ => name,
        };
        TimeZone::get(known).ok().map(Self)
    }
}

/// The time that a text names.
pub fn find(text: &str, now: Timestamp, zone: &Zone) -> Option<Timestamp> {
    let found = words::standard_date(text)
        .or_else(|| words::epoch_in(text))
        .or_else(|| words::span_in(text).map(|ms| Timestamp(now.0.saturating_add(ms))))
        .or_else(|| words::clock_in(text).and_then(|clock| on_a_clock(&clock, now, zone)));
    plausible(found?, now)
}

/// The value of a `retry-after` header: seconds, or a date.
pub fn retry_after(value: &str, now: Timestamp) -> Option<Timestamp> {
    let value = value.trim();
    match value.parse::<f64>() {
        Ok(seconds) => after_seconds(seconds, now),
        Err(_) => plausible(words::standard_date(value)?, now),
    }
}

/// A span like `34.07s`, `1h2m3s` or `2 hours`, as APIs write it in a field of its own.
pub fn after_span(span: &str, now: Timestamp) -> Option<Timestamp> {
    plausible(Timestamp(now.0.saturating_add(words::span(span)?)), now)
}

pub fn after_seconds(seconds: f64, now: Timestamp) -> Option<Timestamp> {
    let sensible = (0.0..=FURTHEST_MS as f64 / 1000.0).contains(&seconds);
    let ms = sensible.then(|| (seconds * 1000.0).ceil() as i64)?;
    plausible(Timestamp(now.0.saturating_add(ms)), now)
}

/// Seconds or milliseconds since 1970.
pub fn epoch(number: i64, now: Timestamp) -> Option<Timestamp> {
    plausible(words::epoch(number)?, now)
}

/// The next midnight there: when daily quotas start anew.
pub fn next_midnight(zone: &Zone, now: Timestamp) -> Option<Timestamp> {
    let tomorrow = local(now, zone)?.date().tomorrow().ok()?;
    plausible(instant(tomorrow.at(0, 0, 0, 0), zone)?, now)
}

fn plausible(at: Timestamp, now: Timestamp) -> Option<Timestamp> {
    match at.0.saturating_sub(now.0) {
        ahead if ahead > FURTHEST_MS => None,
        ahead if ahead < -JUST_PAST_MS => None,
        _ => Some(at.max(now)),
    }
}

/// A time of day, and whatever else of its date was said.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ClockTime {
    time: Time,
    told_to: Unit,
    day: Day,
    zone: Option<String>,
}

/// The smallest unit that was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Minute,
    Second,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Day {
    /// The next such time of day.
    Any,
    Weekday(jiff::civil::Weekday),
    InYear {
        month: i8,
        day: i8,
    },
    Full(Date),
}

fn on_a_clock(clock: &ClockTime, now: Timestamp, zone: &Zone) -> Option<Timestamp> {
    let named;
    let zone = match &clock.zone {
        Some(name) => {
            named = Zone::named(name)?;
            &named
        }
        None => zone,
    };
    let today = local(now, zone)?.date();
    let candidates: Vec<Date> = match clock.day {
        Day::Full(date) => vec![date],
        Day::InYear { month, day } => {
            let in_year = |year: i16| Date::new(year, month, day).ok();
            [today.year(), today.year() + 1].into_iter().filter_map(in_year).collect()
        }
        Day::Any => [Some(today), today.tomorrow().ok()].into_iter().flatten().collect(),
        Day::Weekday(weekday) => {
            let week = std::iter::successors(Some(today), |day| day.tomorrow().ok()).take(8);
            week.filter(|day| day.weekday() == weekday).collect()
        }
    };
    // An instant's span, not the next time of day: there the clocks may be changed.
    let cut_ms = match clock.told_to {
        Unit::Minute => 60_000,
        Unit::Second => 0,
    };
    let times = candidates.into_iter().filter_map(|date| instant(date.to_datetime(clock.time), zone));
    times.map(|at| Timestamp(at.0.saturating_add(cut_ms))).find(|at| at.0 >= now.0 - JUST_PAST_MS)
}

fn local(now: Timestamp, zone: &Zone) -> Option<DateTime> {
    Some(jiff::Timestamp::from_millisecond(now.0).ok()?.to_zoned(zone.0.clone()).datetime())
}

/// A time that the clocks skip or show twice is taken as the later one: too long a wait costs minutes, too
/// short a one a failed turn.
fn instant(at: DateTime, zone: &Zone) -> Option<Timestamp> {
    let zoned = zone.0.to_ambiguous_zoned(at).later().ok()?;
    Some(Timestamp(zoned.timestamp().as_millisecond()))
}

#[cfg(test)]
mod tests;
