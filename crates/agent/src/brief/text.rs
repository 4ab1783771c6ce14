//! Texts of others inside a brief: none of them ends the block, the line or the item that it stands in.

use windlass_core::plain::visible;

/// A block that its own content cannot close.
pub(super) fn fenced(text: &str) -> String {
    let fence = "`".repeat(longest_backticks(text).max(2) + 1);
    format!("{fence}\n{text}\n{fence}")
}

/// A name, a path or a command on one line, that its own content cannot close.
pub(super) fn code(text: &str) -> String {
    let text = visible(text).replace('\n', "\\n");
    match longest_backticks(&text) {
        0 => format!("`{text}`"),
        n => {
            let fence = "`".repeat(n + 1);
            format!("{fence} {text} {fence}")
        }
    }
}

fn longest_backticks(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// Several lines inside one item of a list.
pub(super) fn indented(text: &str) -> String {
    text.trim().replace('\n', "\n  ").replace("\n  \n", "\n\n")
}
