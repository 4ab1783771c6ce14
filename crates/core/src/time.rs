//! Points in time and spans of it. Core never asks what time it is: stamps
//! arrive with each input.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Milliseconds since 1970-01-01 UTC; written as RFC 3339.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Timestamp(pub i64);

impl Timestamp {
    pub fn plus(self, span: Millis) -> Self {
        Self(self.0.saturating_add_unsigned(span.0))
    }

    /// How long after `earlier` this is; nothing if the clock went backwards.
    pub fn since(self, earlier: Self) -> Millis {
        Millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// The date in UTC, such as 2026-01-31.
    pub fn day(self) -> String {
        self.to_string().split('T').next().unwrap_or_default().to_owned()
    }
}

/// A span of time in milliseconds.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Millis(pub u64);

impl Millis {
    pub const fn seconds(n: u64) -> Self {
        Self(n * 1000)
    }

    pub const fn minutes(n: u64) -> Self {
        Self(n * 60_000)
    }

    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.0;
        match ms {
            0..1_000 => write!(f, "{ms} ms"),
            1_000..60_000 => write!(f, "{}.{} s", ms / 1000, ms % 1000 / 100),
            60_000..3_600_000 => write!(f, "{} min {:02} s", ms / 60_000, ms % 60_000 / 1000),
            _ => write!(f, "{} h {:02} min", ms / 3_600_000, ms % 3_600_000 / 60_000),
        }
    }
}

const DAY_MS: i64 = 86_400_000;

impl fmt::Display for Timestamp {
    /// Years have four digits, or as many as they need.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = civil_from_days(self.0.div_euclid(DAY_MS));
        let ms = self.0.rem_euclid(DAY_MS);
        let (sign, year) = (if year < 0 { "-" } else { "" }, year.unsigned_abs());
        write!(
            f,
            "{sign}{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:03}Z",
            ms / 3_600_000,
            ms / 60_000 % 60,
            ms / 1000 % 60,
            ms % 1000
        )
    }
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0:?} is not a UTC time like 2026-01-31T08:00:00.000Z")]
pub struct TimestampError(String);

impl FromStr for Timestamp {
    type Err = TimestampError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text.as_bytes()).ok_or_else(|| TimestampError(text.to_owned()))
    }
}

impl TryFrom<String> for Timestamp {
    type Error = TimestampError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Timestamp> for String {
    fn from(at: Timestamp) -> Self {
        at.to_string()
    }
}

impl JsonSchema for Timestamp {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Timestamp".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "format": "date-time" })
    }
}

/// Whatever `Display` writes is read back, also far out: an agent may report
/// any time, and a log that holds it must stay readable.
fn parse(text: &[u8]) -> Option<Timestamp> {
    let shape = b"-dd-ddTdd:dd:dd.dddZ";
    let (year, text) = text.split_at_checked(text.len().checked_sub(shape.len())?)?;
    let fits = text.iter().zip(shape).all(|(c, s)| if *s == b'd' { c.is_ascii_digit() } else { c == s });
    let year = parse_year(year).filter(|_| fits)?;
    let number =
        |from: usize, to: usize| text[from..to].iter().fold(0i64, |n, c| n * 10 + i64::from(c - b'0'));
    let (month, day) = (number(1, 3), number(4, 6));
    let (hour, minute, second) = (number(7, 9), number(10, 12), number(13, 15));
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let within = hour * 3_600_000 + minute * 60_000 + second * 1000 + number(16, 19);
    let ms = i128::from(days_from_civil(year, month, day)) * i128::from(DAY_MS) + i128::from(within);
    i64::try_from(ms).ok().map(Timestamp)
}

fn parse_year(text: &[u8]) -> Option<i64> {
    let (sign, digits) = match text {
        [b'-', digits @ ..] => (-1, digits),
        digits => (1, digits),
    };
    let plain = (4..=9).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
    plain.then(|| sign * digits.iter().fold(0i64, |n, c| n * 10 + i64::from(c - b'0')))
}

/// Days since 1970-01-01 to a proleptic Gregorian date, by counting in years
/// that begin in March, so that the leap day is the last of its year.
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_index = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_index + 2) / 5 + 1;
    let month = if month_index < 10 { month_index + 3 } else { month_index - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_index = if month > 2 { month - 3 } else { month + 9 };
    let day_of_year = (153 * month_index + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_reads_back_what_it_wrote() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_123, "2000-02-29T00:00:00.123Z"),
            (1_794_770_294_000, "2026-11-15T19:18:14.000Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (253_402_300_800_000, "10000-01-01T00:00:00.000Z"),
            (i64::MAX, "292278994-08-17T07:12:55.807Z"),
            (i64::MIN, "-292275055-05-16T16:47:04.192Z"),
        ] {
            assert_eq!(Timestamp(ms).to_string(), text);
            assert_eq!(text.parse(), Ok(Timestamp(ms)));
        }
        for day in -200_000..200_000 {
            let (y, m, d) = civil_from_days(day);
            assert_eq!(days_from_civil(y, m, d), day);
        }
    }

    #[test]
    fn a_broken_timestamp_is_refused() {
        for bad in [
            "",
            "2026-13-01T00:00:00.000Z",
            "2026-01-01",
            "2026-01-01T00:00:00.000+",
            "x",
            "999999999-01-01T00:00:00.000Z",
        ] {
            assert!(bad.parse::<Timestamp>().is_err(), "{bad}");
        }
    }

    #[test]
    fn spans_read_like_prose() {
        assert_eq!(Millis(12).to_string(), "12 ms");
        assert_eq!(Millis(12_340).to_string(), "12.3 s");
        assert_eq!(Millis(125_000).to_string(), "2 min 05 s");
        assert_eq!(Millis(7_260_000).to_string(), "2 h 01 min");
    }
}
