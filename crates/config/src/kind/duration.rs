//! Spans of time as people write them: `"250ms"`, `"20s"`, `"1h30m"`.

use windlass_core::time::Millis;

const UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];

/// Reads whole numbers with units, the larger unit first; `0` needs none.
pub fn parse(text: &str) -> Result<Millis, &'static str> {
    let text = text.trim();
    if text == "0" {
        return Ok(Millis(0));
    }
    if text.is_empty() {
        return Err("it is empty");
    }
    let mut total: u64 = 0;
    let mut rest = text;
    let mut units = UNITS.iter();
    while !rest.is_empty() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let number: u64 = rest[..digits]
            .parse()
            .map_err(|_| if digits == 0 { "a number is missing" } else { "it is too long" })?;
        rest = rest[digits..].trim_start();
        let letters = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_alphabetic()).len();
        if letters == 0 {
            return Err(if rest.is_empty() {
                "a unit is missing"
            } else {
                "only whole numbers and units are known"
            });
        }
        let (name, after) = rest.split_at(letters);
        if !UNITS.iter().any(|(unit, _)| *unit == name) {
            return Err("the unit is unknown");
        }
        let (_, size) =
            units.find(|(unit, _)| *unit == name).ok_or("the units are not in order, largest first")?;
        let span = number.checked_mul(*size).and_then(|span| total.checked_add(span));
        total = span.filter(|span| i64::try_from(*span).is_ok()).ok_or("it is too long")?;
        rest = after.trim_start();
    }
    Ok(Millis(total))
}

/// The shortest text that reads back as the same span.
pub fn write(span: Millis) -> String {
    if span.is_zero() {
        return "0".to_owned();
    }
    let mut left = span.0;
    let mut text = String::new();
    for (unit, size) in UNITS.iter().filter(|(unit, _)| *unit != "d") {
        if left >= *size {
            text.push_str(&format!("{}{unit}", left / size));
            left %= size;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_and_written() {
        for (text, ms, written) in [
            ("250ms", 250, "250ms"),
            ("20s", 20_000, "20s"),
            ("5m", 300_000, "5m"),
            ("1h30m", 5_400_000, "1h30m"),
            (" 1h 30m ", 5_400_000, "1h30m"),
            ("90m", 5_400_000, "1h30m"),
            ("2d", 172_800_000, "48h"),
            ("1m250ms", 60_250, "1m250ms"),
            ("0", 0, "0"),
            ("0s", 0, "0"),
        ] {
            assert_eq!(parse(text), Ok(Millis(ms)), "{text}");
            assert_eq!(write(Millis(ms)), written);
        }
    }

    #[test]
    fn everything_else_is_refused_with_a_reason() {
        for (text, why) in [
            ("", "it is empty"),
            ("20", "a unit is missing"),
            ("s", "a number is missing"),
            ("-5s", "a number is missing"),
            ("1.5h", "only whole numbers and units are known"),
            ("5 minutes", "the unit is unknown"),
            ("5M", "the unit is unknown"),
            ("30m1h", "the units are not in order, largest first"),
            ("1s1s", "the units are not in order, largest first"),
            ("99999999999999999999s", "it is too long"),
            ("9223372036854775807s", "it is too long"),
        ] {
            assert_eq!(parse(text), Err(why), "{text}");
        }
    }
}
