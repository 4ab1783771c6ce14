//! A text that is looked for in another one.

use std::ops::Range;

use tree_sitter::Node;

use super::Draw;
use crate::broken::Edit;
use crate::syntax::named_children;

/// All that stands between the quotes, which has no escapes.
#[derive(Clone, Debug)]
pub(super) struct Part(Range<usize>);

/// So many drawn signs are in no text by chance.
const ENOUGH: usize = 12;

impl Part {
    pub fn read(node: Node<'_>, source: &[u8]) -> Option<Self> {
        let mut fragments = named_children(node);
        fragments.retain(|fragment| !matches!(fragment.kind(), "string_start" | "string_end"));
        let [only] = fragments.as_slice() else { return None };
        let is_text = matches!(
            only.kind(),
            "string_content"
                | "string_fragment"
                | "interpreted_string_literal_content"
                | "raw_string_literal_content"
        );
        let written = source.get(only.byte_range())?;
        let is_plain = !written.iter().any(|byte| matches!(byte, b'\\' | b'\n' | b'\r'));
        let has_letters = written.iter().any(u8::is_ascii_alphanumeric);
        (is_text && is_plain && has_letters).then(|| Self(only.byte_range()))
    }

    /// Of the same signs, and longer where it is short.
    pub fn change(&self, source: &[u8], draw: &mut Draw<'_>) -> Edit {
        let written = &source[self.0.clone()];
        let mut text: Vec<u8> = written.iter().map(|byte| like(*byte, draw)).collect();
        let has_letters = written.iter().any(u8::is_ascii_alphabetic);
        let count = written.iter().filter(|byte| byte.is_ascii_alphanumeric()).count();
        for _ in count..ENOUGH {
            text.push(like(if has_letters { b'a' } else { b'0' }, draw));
        }
        Edit { from: self.0.start, to: self.0.end, text: String::from_utf8_lossy(&text).into_owned() }
    }
}

fn like(byte: u8, draw: &mut Draw<'_>) -> u8 {
    let (first, count) = match byte {
        b'0'..=b'9' => (b'0', 10),
        b'a'..=b'z' => (b'a', 26),
        b'A'..=b'Z' => (b'A', 26),
        other => return other,
    };
    first + draw.numbers.index(count) as u8
}
