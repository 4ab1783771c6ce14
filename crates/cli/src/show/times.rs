//! Points in time and spans of it, as a person reads them.

use jiff::tz::TimeZone;
use windlass_app::clock;
use windlass_core::time::{Millis, Timestamp};

/// The local time of day; with the date where that is not today's.
pub fn local(at: Timestamp) -> String {
    local_seen(at, clock::wall(), &TimeZone::system())
}

fn local_seen(at: Timestamp, now: Timestamp, zone: &TimeZone) -> String {
    let zoned = |at: Timestamp| {
        let at = jiff::Timestamp::from_millisecond(at.0).ok()?;
        Some(at.to_zoned(zone.clone()))
    };
    // A time so far out that no calendar has it.
    let Some(moment) = zoned(at) else { return at.to_string() };
    let is_today = zoned(now).is_some_and(|now| now.date() == moment.date());
    let form = if is_today { "%H:%M:%S" } else { "%Y-%m-%d %H:%M:%S" };
    moment.strftime(form).to_string()
}

/// What is left until then: `0:42`, `12:05`, `3:00:00`.
pub fn left(until: Timestamp) -> String {
    counted(until.since(clock::wall()))
}

/// How long it is since then, in the same form.
pub fn since(begin: Timestamp) -> String {
    counted(clock::wall().since(begin))
}

pub fn counted(span: Millis) -> String {
    let seconds = span.0 / 1000;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_local_and_has_its_date_when_that_is_not_today() {
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        let shown = |at: &str, now: &str| local_seen(at.parse().unwrap(), now.parse().unwrap(), &zone);
        assert_eq!(shown("2026-11-16T11:57:53.948Z", "2026-11-16T10:00:00.000Z"), "13:57:53");
        assert_eq!(shown("2026-11-16T11:57:53.948Z", "2026-11-17T10:00:00.000Z"), "2026-11-16 13:57:53");
        assert_eq!(shown("2026-11-16T22:30:00.000Z", "2026-11-16T21:00:00.000Z"), "2026-11-17 00:30:00");
        let far = "292278994-08-17T07:12:55.807Z";
        assert_eq!(shown(far, "2026-11-16T21:00:00.000Z"), far);
    }

    #[test]
    fn a_span_is_counted_like_a_clock() {
        assert_eq!(counted(Millis(42_900)), "0:42");
        assert_eq!(counted(Millis::minutes(61)), "1:01:00");
    }
}
