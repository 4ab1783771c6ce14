//! What the body of a task says to windlass: its first heading, its `depends_on`
//! comments and its acceptance list. Code is the author's own business.

use std::ops::Range;

use windlass_core::nearest::nearest;

use crate::fault::{FaultKind, SyntaxFault};
use crate::markdown::{Comment, MarkdownText};
use crate::place::Placed;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    pub title: Option<String>,
    pub depends_on: Vec<Placed<String>>,
    pub acceptance: Vec<String>,
}

/// Reads a part of a text, with every fault.
pub(crate) fn outline(text: &MarkdownText<'_>, range: &Range<usize>) -> (Outline, Vec<SyntaxFault>) {
    let mut read = Outline::default();
    let mut faults = Vec::new();
    for comment in text.comments_in(range) {
        match dependencies(text, comment) {
            Ok(found) => read.depends_on.extend(found),
            Err(fault) => faults.push(fault),
        }
    }
    read.title = text.headings_in(range).map(|heading| heading.text.clone()).find(|title| !title.is_empty());
    for part in parts(text, range, &["acceptance", "acceptance criteria"]) {
        let items = text.items_in(&part).filter(|item| item.depth == 0);
        let texts = items.map(|item| text.item_text(item.range.clone()));
        read.acceptance.extend(texts.filter(|item| !item.is_empty()));
    }
    (read, faults)
}

/// Where the comments are that name a dependency.
pub(crate) fn dependency_comments(text: &MarkdownText<'_>, range: &Range<usize>) -> Vec<Range<usize>> {
    let names_one = |comment: &&Comment| dependencies(text, comment).is_ok_and(|found| !found.is_empty());
    text.comments_in(range).filter(names_one).map(|comment| comment.range.clone()).collect()
}

/// What stands below each heading with one of these names, up to the next as high.
pub(crate) fn parts(text: &MarkdownText<'_>, range: &Range<usize>, names: &[&str]) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let headings: Vec<_> = text.headings_in(range).collect();
    for (at, heading) in headings.iter().enumerate() {
        let name = heading.text.trim_end_matches(':').trim().to_lowercase();
        let inside = found.last().is_some_and(|part| heading.range.start < part.end);
        if inside || !names.contains(&name.as_str()) {
            continue;
        }
        let next = headings[at + 1..].iter().find(|next| next.level <= heading.level);
        found.push(heading.range.end..next.map_or(range.end, |next| next.range.start));
    }
    found
}

const KEY: &str = "depends_on";

fn dependencies(text: &MarkdownText<'_>, comment: &Comment) -> Result<Vec<Placed<String>>, SyntaxFault> {
    let inner = comment.inner();
    let content = &text.text[inner.clone()];
    let at = text.index.placed(comment.range.start, ());
    let key = content.split_once(':').map(|(key, _)| key);
    let Some(key) = key.filter(|key| key.trim().eq_ignore_ascii_case(KEY)) else {
        return match meant(content) {
            Some(word) => Err(FaultKind::MisspeltComment(word.to_owned()).at(at.line, at.column)),
            None => Ok(Vec::new()),
        };
    };
    if !comment.closed {
        return Err(FaultKind::CommentNeverClosed.at(at.line, at.column));
    }
    let mut found = Vec::new();
    let mut offset = inner.start + key.len() + 1;
    for line in text.text[offset..inner.end].split_inclusive('\n') {
        names(text, offset, line, &mut found)?;
        offset += line.len();
    }
    Ok(found)
}

/// The words of a comment that were meant as its key: nearly right before a colon, or as a name where the colon
/// was left out. Other words are the author's.
fn meant(content: &str) -> Option<&str> {
    const NEARLY: [&str; 6] =
        ["dependson", "dependon", "dependencies", "dependency", "dependsupon", "dependend"];
    let is_nearly = |word: &&str| {
        let letters: String = word.chars().filter(char::is_ascii_alphabetic).collect();
        NEARLY.contains(&letters.to_ascii_lowercase().as_str()) || nearest(word, [KEY]).is_some()
    };
    let before_colon = content.split_once(':').map(|(key, _)| key.trim());
    let first = content.split_whitespace().next().filter(|word| word.contains(['_', '-']));
    before_colon.filter(is_nearly).or_else(|| first.filter(is_nearly))
}

/// `a, b`, `[a, b]` or `- a` on one line.
fn names(
    text: &MarkdownText<'_>,
    offset: usize,
    line: &str,
    found: &mut Vec<Placed<String>>,
) -> Result<(), SyntaxFault> {
    let bare = line.trim();
    let bare = bare.strip_prefix("- ").unwrap_or(bare).trim_start();
    let bare = bare.strip_prefix('[').and_then(|list| list.strip_suffix(']')).unwrap_or(bare).trim();
    let mut start = line.find(bare).unwrap_or(0);
    let end = start + bare.len();
    for piece in bare.split(',') {
        let blank = piece.len() - piece.trim_start().len();
        let at = offset + start + blank;
        start += piece.len() + 1;
        let name = piece.trim().trim_matches(['"', '\'', '`']);
        if !name.is_empty() {
            found.push(text.index.placed(at, name.to_owned()));
        } else if start <= end {
            let at = text.index.placed(at, ());
            return Err(FaultKind::EmptyItem.at(at.line, at.column));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A whole text, with its first fault.
    fn read(text: &str, skip_lines: usize) -> Result<Outline, SyntaxFault> {
        let markdown = MarkdownText::new(text, skip_lines);
        let (read, faults) = outline(&markdown, &(0..markdown.text.len()));
        faults.into_iter().next().map_or(Ok(read), Err)
    }

    fn dependencies(text: &str) -> Vec<String> {
        let found = read(text, 0).unwrap().depends_on;
        found.iter().map(|d| format!("{}@{}:{}", d.value, d.line, d.column)).collect()
    }

    #[test]
    fn the_first_heading_outside_code_and_comments_is_the_title() {
        for (text, title) in [
            ("text\n\n## Parse it ##\n# Later", Some("Parse it")),
            ("```sh\n# not this\n```\n# This", Some("This")),
            ("~~~~\n# no\n~~~\n# still no\n~~~~\n# Yes", Some("Yes")),
            ("<!-- # no\n# no\n-->\n# Yes", Some("Yes")),
            ("#hashtag\n####### seven\n    # code\n#\n   # Yes", Some("Yes")),
            ("# C#", Some("C#")),
            ("# Title <!-- note -->", Some("Title")),
            ("plain", None),
        ] {
            assert_eq!(read(text, 0).unwrap().title.as_deref(), title, "{text}");
        }
    }

    #[test]
    fn comments_name_dependencies_outside_code() {
        assert_eq!(
            dependencies("# T\n\ntext <!-- depends_on: a, b.md --> and <!-- DEPENDS_ON:c -->\n"),
            ["a@3:23", "b.md@3:26", "c@3:55"]
        );
        assert_eq!(dependencies("<!--\n  Depends_On:\n  - a\n  - b, c\n-->"), ["a@3:5", "b@4:5", "c@4:8"]);
        assert_eq!(dependencies("```\n<!-- depends_on: a -->\n```\n`<!-- depends_on: b -->`"), [""; 0]);
        assert_eq!(dependencies("<!-- TODO: depends_on is not set -->\n<!-- depends_on: -->"), [""; 0]);
    }

    #[test]
    fn a_comment_that_was_meant_but_not_written_is_a_fault() {
        let fault = read("a\n <!-- depends-on: b -->", 0).unwrap_err();
        assert_eq!((fault.line, fault.column), (2, 2));
        assert_eq!(fault.to_string(), "`depends-on` in a comment names no dependency");
        for (comment, word) in [
            ("depend_on: x", "depend_on"),
            ("depends_on x", "depends_on"),
            ("Depends-On x, y", "Depends-On"),
            ("dependencies: x", "dependencies"),
            ("depnds_on: x", "depnds_on"),
        ] {
            let fault = read(&format!("<!-- {comment} -->"), 0).unwrap_err();
            assert_eq!(fault.kind, FaultKind::MisspeltComment(word.to_owned()), "{comment}");
        }
        for words in ["depends on the weather", "what it depends on: nothing", "see depends_on", "note: x"] {
            assert_eq!(read(&format!("<!-- {words} -->"), 0), Ok(Outline::default()), "{words}");
        }
        let fault = read("<!-- depends_on: b\n\n# Title\n", 0).unwrap_err();
        assert_eq!(fault.kind, FaultKind::CommentNeverClosed);
        assert_eq!(read("<!-- never closed", 0), Ok(Outline::default()));
    }

    #[test]
    fn an_acceptance_section_is_a_list() {
        let text = "# T\n- not this\n## Acceptance criteria:\nAll of:\n- [ ] one\n  goes on\n  * deeper\n* [x] two\n\n1. three\n### Detail\n2) four\n```\n- code\n```\n## Next\n- nor this\n";
        assert_eq!(read(text, 0).unwrap().acceptance, ["one goes on * deeper", "two", "three", "four"]);
        assert_eq!(read("## acceptance\n- a\n", 0).unwrap().acceptance, ["a"]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_text_is_read_or_refused(
            parts in prop::collection::vec(
                prop::sample::select(vec![
                    "<!--", "-->", "depends_on", ":", " ", "\n", "```", "~~~", "`", "# ", "## Acceptance\n",
                    "- ", "1. ", "é", "\"", ",", "[ ]", "\r\n", "\t", "\u{feff}", "a", "\u{a0}",
                ]),
                0..40,
            ),
            skip in 0usize..5,
        ) {
            let _ = read(&parts.concat(), skip);
        }
    }
}
