//! Times as people type them, and the age of things.

use jiff::civil;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, Zoned};
use windlass_core::time::Timestamp;

/// Always with the date.
pub fn dated(at: Timestamp) -> String {
    let at = jiff::Timestamp::from_millisecond(at.0).unwrap_or_default().to_zoned(TimeZone::system());
    at.strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// How long ago, in one unit.
pub fn age(at: Timestamp) -> String {
    let seconds = Zoned::now().timestamp().as_millisecond().saturating_sub(at.0).max(0) / 1000;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// A span before now (`2h`, `1d 12h`), a time of today (`14:30`), a date, or both.
pub fn parse_since(typed: &str) -> Option<Timestamp> {
    since(typed.trim(), &Zoned::now())
}

fn since(typed: &str, now: &Zoned) -> Option<Timestamp> {
    let zone = now.time_zone().clone();
    let at_date = |date: civil::DateTime| date.to_zoned(zone.clone()).ok().map(|at| at.timestamp());
    let found = if let Ok(at) = typed.parse::<jiff::Timestamp>() {
        Some(at)
    } else if let Ok(date) = typed.parse::<civil::DateTime>() {
        at_date(date)
    } else if let Ok(time) = typed.parse::<civil::Time>() {
        at_date(now.date().to_datetime(time))
    } else {
        let span: Span = typed.parse().ok()?;
        let length = span.to_duration(now).ok().filter(|length| *length >= SignedDuration::ZERO)?;
        now.timestamp().checked_sub(length).ok()
    };
    found.map(|at| Timestamp(at.as_millisecond()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_a_time_and_a_date_are_understood() {
        let now: Zoned = "2026-03-04T12:00:00+01:00[Europe/Berlin]".parse().unwrap();
        let read = |typed: &str| since(typed, &now).map(|at| at.to_string());
        for (typed, at) in [
            ("2h", "2026-03-04T09:00:00.000Z"),
            ("90m", "2026-03-04T09:30:00.000Z"),
            ("1d 2h", "2026-03-03T09:00:00.000Z"),
            ("08:30", "2026-03-04T07:30:00.000Z"),
            ("2026-03-03", "2026-03-02T23:00:00.000Z"),
            ("2026-03-03 10:00", "2026-03-03T09:00:00.000Z"),
            ("2026-03-03T10:00:00Z", "2026-03-03T10:00:00.000Z"),
        ] {
            assert_eq!(read(typed).as_deref(), Some(at), "{typed}");
        }
        for typed in ["", "yesterday", "-2h", "25:00", "2"] {
            assert_eq!(read(typed), None, "{typed}");
        }
    }
}
