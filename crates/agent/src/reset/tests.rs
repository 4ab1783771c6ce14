use super::*;

/// A Monday noon in UTC.
const NOW: &str = "2026-11-16T12:00:00.000Z";

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn found(text: &str, now: &str, zone: &str) -> Option<String> {
    find(text, at(now), &Zone::named(zone).unwrap()).map(|time| time.to_string())
}

#[test]
fn every_form_that_is_printed_is_read() {
    for (text, zone, meant) in [
        ("Claude AI usage limit reached|1794837600", "UTC", "2026-11-16T14:00:00.000Z"),
        ("resets_at: 1794837600123", "UTC", "2026-11-16T14:00:00.123Z"),
        ("quota resets 2026-11-16T15:00:00Z.", "UTC", "2026-11-16T15:00:00.000Z"),
        ("until \"2026-11-16T15:00:00+02:00\"", "UTC", "2026-11-16T13:00:00.000Z"),
        ("try again after Mon, 16 Nov 2026 17:53:46 GMT", "UTC", "2026-11-16T17:53:46.000Z"),
        ("or try again at 3pm.", "UTC", "2026-11-16T15:01:00.000Z"),
        ("or try again at 3:47 AM.", "UTC", "2026-11-17T03:48:00.000Z"),
        ("try again at Nov 18th, 2026 3:47 AM.", "Europe/Berlin", "2026-11-18T02:48:00.000Z"),
        ("5-hour limit reached ∙ resets 3pm", "Europe/Berlin", "2026-11-16T14:01:00.000Z"),
        ("You've hit your limit · resets 3:30 PM (Europe/Berlin)", "UTC", "2026-11-16T14:31:00.000Z"),
        ("limit reached ∙ resets Dec 5 at 10am (UTC)", "Asia/Tokyo", "2026-12-05T10:01:00.000Z"),
        ("Weekly limit reached ∙ resets Nov 20, 5pm (America/New_York)", "UTC", "2026-11-20T22:01:00.000Z"),
        ("resets Thursday at 9:00", "UTC", "2026-11-19T09:01:00.000Z"),
        ("resets mon 11am", "UTC", "2026-11-23T11:01:00.000Z"),
        ("try again at 15:30", "Europe/Berlin", "2026-11-16T14:31:00.000Z"),
        ("try again at 15:30:20", "UTC", "2026-11-16T15:30:20.000Z"),
        ("resets 12am", "UTC", "2026-11-17T00:01:00.000Z"),
        ("resets 12pm", "Europe/London", "2026-11-16T12:01:00.000Z"),
        ("try again in 2 hours 5 minutes", "UTC", "2026-11-16T14:05:00.000Z"),
        ("Try again in 1 day, 3 hours and 2 minutes.", "UTC", "2026-11-17T15:02:00.000Z"),
        ("Your quota will reset after 1h2m3s.", "UTC", "2026-11-16T13:02:03.000Z"),
        ("Please try again in 1.5s", "UTC", "2026-11-16T12:00:01.500Z"),
        ("Please retry in 34.074824224s.", "UTC", "2026-11-16T12:00:34.075Z"),
        ("Please try again in 20ms", "UTC", "2026-11-16T12:00:00.020Z"),
    ] {
        assert_eq!(found(text, NOW, zone).as_deref(), Some(meant), "{text}");
    }
}

#[test]
fn no_time_is_made_of_what_names_none() {
    for text in [
        "",
        "Rate limit reached. Please try again later.",
        "at least 3 of 5 requests failed in 2 places",
        "try again at 25:00",
        "try again at 13pm",
        "resets Feb 30 at 10am",
        "resets 3pm (Nowhere/City)",
        "Claude AI usage limit reached|1731700800",
        "Claude AI usage limit reached|9999999999",
        "try again in 40 days",
        "try again in 99999999999999999999 hours",
        "try again in -5 seconds",
        "resets Aug 5 at 10am",
        "2026-11-16T99:00:00Z is no time at all",
        "unexpected status 429, request id 12345",
    ] {
        assert_eq!(found(text, NOW, "UTC"), None, "{text}");
    }
}

#[test]
fn a_time_of_day_that_is_past_is_tomorrows_and_one_just_past_is_now() {
    assert_eq!(found("resets 11:30am", NOW, "UTC").as_deref(), Some("2026-11-17T11:31:00.000Z"));
    assert_eq!(found("resets 11:58am", NOW, "UTC").as_deref(), Some(NOW));
    let new_year = "2026-12-31T20:00:00.000Z";
    assert_eq!(found("resets Jan 2 at 10am", new_year, "UTC").as_deref(), Some("2027-01-02T10:01:00.000Z"));
}

#[test]
fn clocks_that_are_changed_do_not_lose_a_time() {
    let before_spring = "2026-03-29T00:00:00.000Z";
    // 02:30 does not exist on that day in Berlin; an hour later does.
    let spring = found("resets 2:30am", before_spring, "Europe/Berlin");
    assert_eq!(spring.as_deref(), Some("2026-03-29T01:31:00.000Z"));
    // 02:30 comes twice; the second is meant.
    let autumn = found("resets 2:30am", "2026-10-24T23:00:00.000Z", "Europe/Berlin");
    assert_eq!(autumn.as_deref(), Some("2026-10-25T01:31:00.000Z"));
}

#[test]
fn a_time_told_to_the_minute_ends_with_that_minute() {
    for (text, now, zone, meant) in [
        // Codex at a limit that ends at 12:00:40.
        ("try again at 12:00 PM.", "2026-11-16T12:00:05.000Z", "UTC", "2026-11-16T12:01:00.000Z"),
        ("try again at 12:00 PM.", "2026-11-16T12:00:59.999Z", "UTC", "2026-11-16T12:01:00.000Z"),
        ("try again at 12:00 PM.", "2026-11-16T12:01:00.000Z", "UTC", "2026-11-16T12:01:00.000Z"),
        // The minute's end is another day, month and year.
        ("try again at 11:59 PM.", "2026-11-16T23:59:50.000Z", "UTC", "2026-11-17T00:00:00.000Z"),
        ("resets Dec 31 at 11:59pm (UTC)", "2026-12-31T23:59:50.000Z", "UTC", "2027-01-01T00:00:00.000Z"),
        // Midnight of today, which has just begun, and of tomorrow.
        ("resets 12am", "2026-11-16T00:00:30.000Z", "UTC", "2026-11-16T00:01:00.000Z"),
        ("resets 12am", "2026-11-16T23:59:30.000Z", "UTC", "2026-11-17T00:01:00.000Z"),
        // An hour is skipped after 01:59, and 02:59 comes twice.
        ("resets 1:59am", "2026-03-29T00:59:10.000Z", "Europe/Berlin", "2026-03-29T01:00:00.000Z"),
        ("resets 2:59am", "2026-10-24T23:00:00.000Z", "Europe/Berlin", "2026-10-25T02:00:00.000Z"),
        // Zones that are no whole hours from the others.
        ("try again at 5:45 PM.", "2026-11-16T12:00:10.000Z", "Asia/Kathmandu", "2026-11-16T12:01:00.000Z"),
        ("resets 11:59pm (Asia/Tokyo)", "2026-11-16T14:59:10.000Z", "UTC", "2026-11-16T15:00:00.000Z"),
    ] {
        assert_eq!(found(text, now, zone).as_deref(), Some(meant), "{text} at {now}");
    }
}

#[test]
fn the_header_is_seconds_or_a_date() {
    let after = |value: &str| retry_after(value, at(NOW)).map(|time| time.to_string());
    assert_eq!(after("20").as_deref(), Some("2026-11-16T12:00:20.000Z"));
    assert_eq!(after(" 1.5 ").as_deref(), Some("2026-11-16T12:00:01.500Z"));
    assert_eq!(after("Mon, 16 Nov 2026 12:10:00 GMT").as_deref(), Some("2026-11-16T12:10:00.000Z"));
    for bad in ["", "-1", "soon", "1e300", "NaN", "inf", "9999999999"] {
        assert_eq!(after(bad), None, "{bad}");
    }
    assert_eq!(after_span("7500s", at(NOW)), Some(at("2026-11-16T14:05:00.000Z")));
    assert_eq!(epoch(1_794_837_600, at(NOW)), Some(at("2026-11-16T14:00:00.000Z")));
    assert_eq!(epoch(-5, at(NOW)), None);
}

#[test]
fn a_daily_quota_ends_at_midnight_where_it_is_counted() {
    let pacific = Zone::named("America/Los_Angeles").unwrap();
    assert_eq!(next_midnight(&pacific, at(NOW)), Some(at("2026-11-17T08:00:00.000Z")));
}

proptest::proptest! {
    /// As Codex prints it: the true end, cut to the minute.
    #[test]
    fn a_wait_is_never_over_before_the_limit_and_never_a_minute_longer(
        since in 0..400 * 86_400_000_i64,
        ahead in 0..6 * 3_600_000_i64,
        zone in proptest::sample::select(vec!["UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Pacific/Auckland"]),
    ) {
        let now = Timestamp(at(NOW).0 + since);
        let zone = Zone::named(zone).unwrap();
        let ends = Timestamp(now.0 + ahead);
        let shown = local(ends, &zone).unwrap();
        let half = if shown.hour() < 12 { "AM" } else { "PM" };
        let text = format!("try again at {}:{:02} {half}.", (shown.hour() + 11) % 12 + 1, shown.minute());
        let found = find(&text, now, &zone).unwrap();
        proptest::prop_assert!(found >= ends, "{text}: {found} before {ends}");
        // Where the clocks show an hour twice, the later one is taken.
        let twice = zone.0.to_ambiguous_timestamp(shown).is_ambiguous();
        proptest::prop_assert!(twice || found.0 - ends.0 <= 60_000, "{text}: {found}, and the limit ends {ends}");
    }

    #[test]
    fn any_text_has_a_time_ahead_or_none(text in "\\PC{0,60}", words in "((in|at|resets|[0-9]{1,13}|[0-9]{1,2}[ap]m|hours|Mar|[a-z]{1,6}|[:/|.,é]) ?){0,8}") {
        for text in [text, words] {
            let now = at(NOW);
            if let Some(found) = find(&text, now, &Zone::utc()) {
                proptest::prop_assert!(found >= now && found.0 - now.0 <= FURTHEST_MS);
            }
            retry_after(&text, now);
        }
    }
}
