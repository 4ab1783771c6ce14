//! JSON with comments: what JSON does not allow becomes blanks, so that everything keeps its line and column.

use std::ops::Range;

/// The text as JSON: without comments, and without a comma behind the last item.
pub(crate) fn plain_json(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut from = 0;
    for comment in comments(text) {
        plain.push_str(&text[from..comment.start]);
        plain.extend(text[comment.clone()].chars().map(|c| if c == '\n' { c } else { ' ' }));
        from = comment.end;
    }
    plain.push_str(&text[from..]);
    for comma in last_commas(&plain) {
        plain.replace_range(comma..=comma, " ");
    }
    plain
}

/// `// …` and `/* … */` outside of texts.
pub(crate) fn comments(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find(['"', '/']).map(|start| at + start) {
        let rest = &text[start..];
        let (is_comment, length) = if rest.starts_with('"') {
            (false, text_length(rest))
        } else if rest.starts_with("//") {
            (true, rest.find('\n').unwrap_or(rest.len()))
        } else if let Some(inner) = rest.strip_prefix("/*") {
            (true, inner.find("*/").map_or(rest.len(), |end| 2 + end + 2))
        } else {
            (false, 1)
        };
        at = start + length;
        if is_comment {
            found.push(start..at);
        }
    }
    found
}

fn last_commas(text: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let mut comma = None;
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let length = if c == '"' { text_length(&text[at..]) } else { c.len_utf8() };
        match c {
            ',' => comma = Some(at),
            ']' | '}' => found.extend(comma.take()),
            c if c.is_whitespace() => {}
            _ => comma = None,
        }
        at += length;
    }
    found
}

/// How long a text is that starts here, with its quotes.
fn text_length(text: &str) -> usize {
    let mut is_escaped = false;
    let closes = |(_, c): &(usize, char)| {
        let closes = *c == '"' && !is_escaped;
        is_escaped = *c == '\\' && !is_escaped;
        closes
    };
    text.char_indices().skip(1).find(closes).map_or(text.len(), |(at, _)| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_json_does_not_allow_becomes_blanks() {
        for (text, plain) in [
            ("{\"a\": 1} // é", "{\"a\": 1}     "),
            ("/* a\nb */[1, 2,]", "    \n    [1, 2 ]"),
            ("[\"// no\", \"/* \\\" no */\",\n]", "[\"// no\", \"/* \\\" no */\" \n]"),
            ("{\"a\": [1, /* é */ ], \"b\": \",]\",}", "{\"a\": [1          ], \"b\": \",]\" }"),
            ("[1,,2]", "[1,,2]"),
            ("[1 /* open", "[1        "),
            ("\"open \\", "\"open \\"),
            ("a / b", "a / b"),
        ] {
            assert_eq!(plain_json(text), plain, "{text}");
        }
    }
}
