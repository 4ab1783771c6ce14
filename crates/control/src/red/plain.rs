//! What a runner printed, without what is only for the eye.

use std::borrow::Cow;

/// Without the escape sequences that colour a text.
pub(super) fn without_colours(output: &str) -> Cow<'_, str> {
    if !output.contains('\u{1b}') {
        return Cow::Borrowed(output);
    }
    let mut plain = String::with_capacity(output.len());
    let mut rest = output.chars();
    while let Some(letter) = rest.next() {
        if letter != '\u{1b}' {
            plain.push(letter);
            continue;
        }
        // A sequence is `ESC [`, parameters, and a letter.
        if rest.next() == Some('[') {
            for parameter in rest.by_ref() {
                if parameter.is_ascii_alphabetic() {
                    break;
                }
            }
        }
    }
    Cow::Owned(plain)
}

/// Whole numbers with enough digits to be one of ours.
pub(super) fn numbers(line: &str) -> impl Iterator<Item = u32> {
    line.split(|letter: char| !letter.is_ascii_alphanumeric())
        .filter(|word| (5..=7).contains(&word.len()))
        .filter_map(|word| word.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_taken_out() {
        assert_eq!(without_colours("\u{1b}[31m×\u{1b}[39m a \u{1b}[1;2mb\u{1b}[0m\u{1b}"), "× a b");
    }

    #[test]
    fn only_numbers_of_our_length_count() {
        let found: Vec<u32> = numbers("left: 48213, 12, x91377, 1234567890 3000000)").collect();
        assert_eq!(found, [48213, 3_000_000]);
    }
}
