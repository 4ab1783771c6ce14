//! Cutting texts to size, at a character, and saying so.

use windlass_core::plain;

const SHOWN_TEXT: usize = 8 * 1024;
const SHOWN_LINE: usize = 400;

/// A message of an agent as it is shown: safe on a terminal, and bounded.
pub fn shown_text(text: &str) -> String {
    block(&plain::plain(head(text, 4 * SHOWN_TEXT)), SHOWN_TEXT)
}

/// A command, a path or a reason as it is shown: safe on a terminal, bounded, and on one line.
pub fn shown_line(text: &str) -> String {
    let shown = plain::plain(head(text, 4 * SHOWN_LINE));
    line(shown.trim(), SHOWN_LINE).replace('\n', " ⏎ ")
}

/// The first `max` bytes at most, at a character boundary.
pub fn head(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}

/// The last `max` bytes at most, at a character boundary.
pub fn tail(text: &str, max: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(max))..]
}

/// The text, or its beginning and a note of what is missing, on one line.
pub fn line(text: &str, max: usize) -> String {
    let kept = head(text, max);
    match text.len() - kept.len() {
        0 => text.to_owned(),
        left_out => format!("{kept} … [{left_out} bytes left out]"),
    }
}

/// The text, or its beginning and a line that says how much of it is missing.
pub fn block(text: &str, max: usize) -> String {
    let kept = head(text, max);
    match text.len() - kept.len() {
        0 => text.to_owned(),
        left_out => format!("{kept}\n[… {left_out} of {} bytes left out here, for length …]", text.len()),
    }
}

/// The text, or its end, after a line that says how much of it is missing.
pub fn block_end(text: &str, max: usize) -> String {
    let kept = tail(text, max);
    match text.len() - kept.len() {
        0 => text.to_owned(),
        left_out => format!("[… {left_out} of {} bytes left out here, for length …]\n{kept}", text.len()),
    }
}

/// What an item costs beside its text.
const PER_ITEM: usize = 4;

/// The items that fit, each cut to `each` bytes, and a last one that counts the rest.
pub fn list(items: impl IntoIterator<Item = String>, each: usize, total: usize) -> Vec<String> {
    let mut kept = Vec::new();
    let mut size = 0;
    let mut items = items.into_iter();
    while let Some(item) = items.next() {
        let item = line(&item, each);
        size += item.len() + PER_ITEM;
        if size > total {
            kept.push(format!("… and {} more, left out here for length", items.count() + 1));
            break;
        }
        kept.push(item);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_falls_between_characters_and_is_said() {
        assert_eq!(head("aé", 2), "a");
        assert_eq!(tail("éa", 2), "a");
        assert_eq!(line("abc", 3), "abc");
        assert_eq!(line("abcd", 3), "abc … [1 bytes left out]");
        assert_eq!(block("abcdef", 2), "ab\n[… 4 of 6 bytes left out here, for length …]");
        assert_eq!(block_end("abcdef", 2), "[… 4 of 6 bytes left out here, for length …]\nef");
    }

    #[test]
    fn a_list_counts_what_it_leaves_out() {
        let items = || ["aaaa", "bbbb", "cccc"].map(str::to_owned);
        assert_eq!(list(items(), 10, 24), items());
        assert_eq!(list(items(), 10, 16), ["aaaa", "bbbb", "… and 1 more, left out here for length"]);
        assert_eq!(list(items(), 10, 3), ["… and 3 more, left out here for length"]);
    }
}
