//! What the body of a task file says to windlass: its first heading, its
//! `depends_on` comments and its acceptance list. Code fences are the author's
//! own business and are skipped.

use crate::value::{FaultKind, LineRest, Placed, SyntaxFault, read_list};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    pub title: Option<String>,
    pub depends_on: Vec<Placed<String>>,
    pub acceptance: Vec<String>,
}

/// Reads a text from the line after its front matter.
pub fn outline(text: &str, skip_lines: usize) -> Result<Outline, SyntaxFault> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = Reader::default();
    for (line, text) in (1..).zip(text.split('\n')).skip(skip_lines) {
        reader.line(LineRest { text: text.trim_end(), line, column: 1 })?;
    }
    if let Some(comment) = &reader.comment
        && comment.is_ours()
    {
        return Err(SyntaxFault {
            line: comment.line,
            column: comment.column,
            kind: FaultKind::CommentNeverClosed,
        });
    }
    Ok(reader.read)
}

#[derive(Default)]
struct Reader<'a> {
    read: Outline,
    fence: Option<Fence>,
    comment: Option<Comment<'a>>,
    acceptance: Option<Acceptance>,
}

/// The opening of a code fence: it ends with at least as many of the same.
struct Fence {
    mark: char,
    length: usize,
}

struct Comment<'a> {
    line: usize,
    column: usize,
    pieces: Vec<LineRest<'a>>,
}

struct Acceptance {
    /// The level of its heading: the section ends at the next as high.
    level: usize,
    /// Where its items start; what is indented deeper belongs to an item.
    indent: Option<usize>,
}

impl<'a> Reader<'a> {
    fn line(&mut self, piece: LineRest<'a>) -> Result<(), SyntaxFault> {
        if let Some(fence) = &self.fence {
            if fence.is_closed_by(piece.text) {
                self.fence = None;
            }
            return Ok(());
        }
        if self.comment.is_none()
            && let Some(fence) = Fence::opened_by(piece.text)
        {
            self.fence = Some(fence);
            return Ok(());
        }
        let visible = self.take_comments(piece)?;
        match heading(&visible) {
            Some((level, text)) => self.heading(level, text),
            None => self.text(&visible),
        }
        Ok(())
    }

    /// Reads the comments of a line and returns the line without them.
    fn take_comments(&mut self, piece: LineRest<'a>) -> Result<String, SyntaxFault> {
        let mut visible = String::new();
        let mut rest = piece;
        loop {
            if let Some(mut comment) = self.comment.take() {
                let Some(end) = rest.text.find("-->") else {
                    comment.pieces.push(rest);
                    self.comment = Some(comment);
                    return Ok(visible);
                };
                comment.pieces.push(LineRest { text: &rest.text[..end], ..rest });
                self.read.depends_on.extend(comment.dependencies()?);
                rest = rest.skip(end + 3);
            }
            let Some(start) = comment_start(rest.text) else {
                visible.push_str(rest.text);
                return Ok(visible);
            };
            visible.push_str(&rest.text[..start]);
            let opening = rest.skip(start);
            self.comment = Some(Comment { line: opening.line, column: opening.column, pieces: Vec::new() });
            rest = opening.skip(4);
        }
    }

    fn heading(&mut self, level: usize, text: &str) {
        if self.read.title.is_none() && !text.is_empty() {
            self.read.title = Some(text.to_owned());
        }
        if matches!(text.trim_end_matches(':').to_lowercase().as_str(), "acceptance" | "acceptance criteria")
        {
            self.acceptance = Some(Acceptance { level, indent: None });
        } else if self.acceptance.as_ref().is_some_and(|section| level <= section.level) {
            self.acceptance = None;
        }
    }

    fn text(&mut self, line: &str) {
        let Some(section) = &mut self.acceptance else {
            return;
        };
        let indent = line.len() - line.trim_start().len();
        let text = line.trim();
        match list_item(text) {
            Some(item) if section.indent.is_none_or(|first| indent <= first + 1) => {
                section.indent.get_or_insert(indent);
                self.read.acceptance.push(item.to_owned());
            }
            Some(_) | None if text.is_empty() || section.indent.is_none() => {}
            Some(_) | None if indent > 0 => {
                if let Some(last) = self.read.acceptance.last_mut() {
                    last.push(' ');
                    last.push_str(text);
                }
            }
            Some(_) | None => {}
        }
    }
}

impl Fence {
    fn opened_by(line: &str) -> Option<Self> {
        let line = line.trim_start();
        let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let length = line.len() - line.trim_start_matches(mark).len();
        let inline = mark == '`' && line[length..].contains('`');
        (length >= 3 && !inline).then_some(Self { mark, length })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let line = line.trim();
        line.len() >= self.length && line.chars().all(|c| c == self.mark)
    }
}

impl Comment<'_> {
    const KEY: &'static str = "depends_on";

    /// What stands before the colon of a comment that looks like `key: value`.
    fn key(&self) -> Option<(usize, &str, LineRest<'_>)> {
        let at = self.pieces.iter().position(|piece| !piece.text.trim().is_empty())?;
        let piece = self.pieces[at].trim_start();
        let colon = piece.text.find(':')?;
        Some((at, piece.text[..colon].trim_end(), piece.skip(colon + 1)))
    }

    fn is_ours(&self) -> bool {
        self.key().is_some_and(|(_, key, _)| key.eq_ignore_ascii_case(Self::KEY))
    }

    fn dependencies(&self) -> Result<Vec<Placed<String>>, SyntaxFault> {
        let Some((at, key, first)) = self.key() else {
            return Ok(Vec::new());
        };
        if !key.eq_ignore_ascii_case(Self::KEY) {
            let letters: String = key.chars().filter(char::is_ascii_alphabetic).collect();
            if letters.eq_ignore_ascii_case("dependson") || letters.eq_ignore_ascii_case("dependencies") {
                let kind = FaultKind::MisspeltComment(key.to_owned());
                return Err(SyntaxFault { line: self.line, column: self.column, kind });
            }
            return Ok(Vec::new());
        }
        let mut found = read_list(first)?;
        for piece in &self.pieces[at + 1..] {
            let piece = piece.trim_start();
            found.extend(read_list(if piece.text.starts_with("- ") { piece.skip(2) } else { piece })?);
        }
        Ok(found)
    }
}

/// Where a comment opens, if not in an inline code span.
fn comment_start(text: &str) -> Option<usize> {
    let mut from = 0;
    while let Some(found) = text[from..].find("<!--") {
        let start = from + found;
        if text[..start].matches('`').count().is_multiple_of(2) {
            return Some(start);
        }
        from = start + 4;
    }
    None
}

/// The level and text of an ATX heading.
fn heading(line: &str) -> Option<(usize, &str)> {
    let unindented = line.trim_start_matches(' ');
    if line.len() - unindented.len() > 3 {
        return None;
    }
    let text = unindented.trim_start_matches('#');
    let level = unindented.len() - text.len();
    if !(1..=6).contains(&level) || !(text.is_empty() || text.starts_with([' ', '\t'])) {
        return None;
    }
    let text = text.trim();
    let closed = text.trim_end_matches('#');
    let text = if closed.is_empty() || closed.ends_with([' ', '\t']) { closed.trim_end() } else { text };
    Some((level, text))
}

/// The text of a list item, without its marker and its check box.
fn list_item(line: &str) -> Option<&str> {
    let after_number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let marked = if after_number.len() < line.len() {
        after_number.strip_prefix(['.', ')'])
    } else {
        line.strip_prefix(['-', '*', '+'])
    };
    let item = marked.filter(|rest| rest.starts_with([' ', '\t']))?.trim_start();
    let unboxed = ["[ ]", "[x]", "[X]"].iter().find_map(|mark| item.strip_prefix(mark));
    Some(unboxed.unwrap_or(item).trim()).filter(|item| !item.is_empty())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn dependencies(text: &str) -> Vec<String> {
        let found = outline(text, 0).unwrap().depends_on;
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
            assert_eq!(outline(text, 0).unwrap().title.as_deref(), title, "{text}");
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
        let fault = outline("a\n <!-- depends-on: b -->", 0).unwrap_err();
        assert_eq!((fault.line, fault.column), (2, 2));
        assert_eq!(fault.to_string(), "`depends-on` in a comment names no dependency");
        let fault = outline("<!-- depends_on: b\n\n# Title\n", 0).unwrap_err();
        assert_eq!(fault.kind, FaultKind::CommentNeverClosed);
        assert_eq!(outline("<!-- never closed", 0), Ok(Outline::default()));
    }

    #[test]
    fn an_acceptance_section_is_a_list() {
        let text = "# T\n- not this\n## Acceptance criteria:\nAll of:\n- [ ] one\n  goes on\n  * deeper\n* [x] two\n\n1. three\n### Detail\n2) four\n```\n- code\n```\n## Next\n- nor this\n";
        assert_eq!(outline(text, 0).unwrap().acceptance, ["one goes on * deeper", "two", "three", "four"]);
        assert_eq!(outline("## acceptance\n- a\n", 0).unwrap().acceptance, ["a"]);
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
            let _ = outline(&parts.concat(), skip);
        }
    }
}
