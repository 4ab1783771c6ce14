//! Sizes as people write them.

const UNITS: [(&str, u64); 8] = [
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("B", 1),
];

pub fn parse(text: &str) -> Option<u64> {
    let text = text.trim();
    let (unit, factor) = UNITS.iter().find(|(unit, _)| {
        text.len() > unit.len()
            && text.is_char_boundary(text.len() - unit.len())
            && text[text.len() - unit.len()..].eq_ignore_ascii_case(unit)
    })?;
    let number: u64 = text[..text.len() - unit.len()].trim_end().parse().ok()?;
    number.checked_mul(*factor)
}

/// As it would be written in a file: with the largest unit that loses nothing.
pub fn show(bytes: u64) -> String {
    if bytes == 0 {
        return "0".to_owned();
    }
    let fitting =
        UNITS.iter().filter(|(_, factor)| bytes.is_multiple_of(*factor)).max_by_key(|(_, factor)| *factor);
    let (unit, factor) = fitting.unwrap_or(&("B", 1));
    format!("\"{}{unit}\"", bytes / factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_shown() {
        for (text, bytes) in
            [("512MB", 512_000_000), ("4GiB", 4 << 30), ("4 gib", 4 << 30), ("7B", 7), ("1kB", 1000)]
        {
            assert_eq!(parse(text), Some(bytes), "{text}");
        }
        for wrong in ["", "GB", "4", "1.5GB", "-1MB", "4 XB", "99999999999TB", "é"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
        for (bytes, shown) in [
            (0, "0"),
            (4 << 30, "\"4GiB\""),
            (512_000_000, "\"512MB\""),
            (1536, "\"1536B\""),
            (1000, "\"1kB\""),
        ] {
            assert_eq!(show(bytes), shown);
        }
    }
}
