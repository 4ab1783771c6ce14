//! The lines between `---` at the top of a task file.

use windlass_core::nearest::nearest;

use crate::value::{Commas, FaultKind, LineRest, Placed, SyntaxFault, Written, read_scalar, read_value};

pub const KEYS: [&str; 7] = ["title", "depends_on", "priority", "allow", "checks", "acceptance", "done"];

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrontMatter {
    pub title: Option<String>,
    pub depends_on: Vec<Placed<String>>,
    pub priority: i64,
    pub allow: Vec<Placed<String>>,
    pub checks: Vec<Placed<String>>,
    pub acceptance: Vec<String>,
    /// The task was done before windlass came.
    pub done: bool,
    /// How many lines of the text are front matter, the `---` lines included.
    pub lines: usize,
}

/// Reads the front matter of a whole text; a text without any has an empty one.
pub fn read_front_matter(text: &str) -> Result<FrontMatter, SyntaxFault> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = (1..).zip(text.split('\n').map(|line| line.trim_end()));
    match lines.next() {
        Some((_, "---")) => {}
        Some((line, "+++")) => return Err(SyntaxFault { line, column: 1, kind: FaultKind::TomlFrontMatter }),
        Some(_) | None => return Ok(FrontMatter::default()),
    }
    let mut reader = Reader::default();
    for (line, text) in lines {
        if text == "---" {
            reader.close()?;
            return Ok(FrontMatter { lines: line, ..reader.read });
        }
        reader.line(LineRest { text, line, column: 1 })?;
    }
    Err(SyntaxFault { line: 1, column: 1, kind: FaultKind::NeverClosed })
}

#[derive(Default)]
struct Reader {
    read: FrontMatter,
    seen: Vec<(Key, usize)>,
    /// A key whose value is the `- item` lines below it.
    open: Option<OpenKey>,
}

struct OpenKey {
    key: Key,
    line: usize,
    items: Vec<Placed<String>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    Title,
    DependsOn,
    Priority,
    Allow,
    Checks,
    Acceptance,
    Done,
}

impl Key {
    const ALL: [Self; 7] = [
        Self::Title,
        Self::DependsOn,
        Self::Priority,
        Self::Allow,
        Self::Checks,
        Self::Acceptance,
        Self::Done,
    ];

    fn name(self) -> &'static str {
        KEYS[self as usize]
    }

    fn commas(self) -> Commas {
        match self {
            Self::DependsOn | Self::Checks => Commas::Separate,
            Self::Title | Self::Priority | Self::Allow | Self::Acceptance | Self::Done => {
                Commas::BelongToTheText
            }
        }
    }
}

impl Reader {
    fn line(&mut self, piece: LineRest<'_>) -> Result<(), SyntaxFault> {
        let content = piece.trim_start();
        if content.text.is_empty() || content.text.starts_with('#') {
            return Ok(());
        }
        if content.text == "-" || content.text.starts_with("- ") || content.text.starts_with("-\t") {
            return self.item(content);
        }
        if content.column > 1 {
            return Err(content.fault(FaultKind::Stray));
        }
        self.close()?;
        let (key, value) = self.key(content)?;
        let written = read_value(value, key.commas())?;
        if written == Written::Nothing {
            self.open = Some(OpenKey { key, line: piece.line, items: Vec::new() });
            return Ok(());
        }
        self.keep(key, written, content)
    }

    fn key<'a>(&mut self, piece: LineRest<'a>) -> Result<(Key, LineRest<'a>), SyntaxFault> {
        let Some(colon) = piece.text.find(':') else {
            return Err(piece.fault(FaultKind::NotAKey));
        };
        let name = piece.text[..colon].trim_end();
        let Some(key) = Key::ALL.into_iter().find(|key| key.name() == name) else {
            let nearest = nearest(name, KEYS);
            return Err(piece.fault(FaultKind::UnknownKey { key: name.to_owned(), nearest }));
        };
        if let Some((_, first)) = self.seen.iter().find(|(seen, _)| *seen == key) {
            return Err(piece.fault(FaultKind::KeyTwice { key: key.name(), first: *first }));
        }
        self.seen.push((key, piece.line));
        Ok((key, piece.skip(colon + 1)))
    }

    fn item(&mut self, piece: LineRest<'_>) -> Result<(), SyntaxFault> {
        let Some(open) = &mut self.open else {
            return Err(piece.fault(FaultKind::Stray));
        };
        let item = read_scalar(piece.skip(1))?;
        if item.value.is_empty() {
            return Err(piece.fault(FaultKind::EmptyItem));
        }
        open.items.push(item);
        Ok(())
    }

    /// The lines of a block list are over.
    fn close(&mut self) -> Result<(), SyntaxFault> {
        let Some(OpenKey { key, line, items }) = self.open.take() else {
            return Ok(());
        };
        let written = if items.is_empty() { Written::Nothing } else { Written::List(items) };
        self.keep(key, written, LineRest { text: "", line, column: 1 })
    }

    fn keep(&mut self, key: Key, written: Written, at: LineRest<'_>) -> Result<(), SyntaxFault> {
        match key {
            Key::Title => self.read.title = Some(one(key, written, at)?.value),
            Key::Priority => {
                let number = one(key, written, at)?;
                let fault = SyntaxFault {
                    line: number.line,
                    column: number.column,
                    kind: FaultKind::NotANumber(key.name()),
                };
                self.read.priority = number.value.parse().map_err(|_| fault)?;
            }
            Key::Done => {
                let word = one(key, written, at)?;
                let kind = FaultKind::NotAFlag(key.name());
                let fault = SyntaxFault { line: word.line, column: word.column, kind };
                self.read.done = word.value.parse().map_err(|_| fault)?;
            }
            Key::DependsOn => self.read.depends_on = many(written),
            Key::Allow => self.read.allow = many(written),
            Key::Checks => self.read.checks = many(written),
            Key::Acceptance => {
                self.read.acceptance = many(written).into_iter().map(|item| item.value).collect();
            }
        }
        Ok(())
    }
}

fn one(key: Key, written: Written, at: LineRest<'_>) -> Result<Placed<String>, SyntaxFault> {
    match written {
        Written::One(value) if !value.value.trim().is_empty() => Ok(value),
        Written::One(_) | Written::Nothing => Err(at.fault(FaultKind::NoValue(key.name()))),
        Written::List(_) => Err(at.fault(FaultKind::NotAList(key.name()))),
    }
}

fn many(written: Written) -> Vec<Placed<String>> {
    match written {
        Written::Nothing => Vec::new(),
        Written::One(value) => vec![value],
        Written::List(items) => items,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts(items: &[Placed<String>]) -> Vec<&str> {
        items.iter().map(|item| item.value.as_str()).collect()
    }

    fn fault(text: &str) -> String {
        let fault = read_front_matter(text).unwrap_err();
        format!("{}:{}: {fault}; {}", fault.line, fault.column, fault.kind.remedy())
    }

    #[test]
    fn every_key_in_every_form() {
        let read = read_front_matter(
            "---\n# who\ntitle: \"Parse: all\"\r\ndepends_on: a, b.md\npriority: -2 # first\nallow:\n  - tests/**\n  - \"{a,b}.rs\"\nchecks: [unit, 'lint it']\nacceptance:\n- it works: always\n- and is fast\n---\n# Body\n",
        )
        .unwrap();
        assert_eq!(read.title.as_deref(), Some("Parse: all"));
        assert_eq!(texts(&read.depends_on), ["a", "b.md"]);
        assert_eq!((read.depends_on[1].line, read.depends_on[1].column), (4, 16));
        assert_eq!(read.priority, -2);
        assert_eq!(texts(&read.allow), ["tests/**", "{a,b}.rs"]);
        assert_eq!(texts(&read.checks), ["unit", "lint it"]);
        assert_eq!(read.acceptance, ["it works: always", "and is fast"]);
        assert_eq!(read.lines, 13);
    }

    #[test]
    fn none_and_empty() {
        assert_eq!(read_front_matter("# Title\n---\n"), Ok(FrontMatter::default()));
        assert_eq!(read_front_matter(""), Ok(FrontMatter::default()));
        assert_eq!(read_front_matter("\u{feff}---\n---").map(|f| f.lines), Ok(2));
        assert_eq!(read_front_matter("---\ndepends_on:\nchecks: []\n---\n").map(|f| f.lines), Ok(4));
    }

    #[test]
    fn a_fault_has_its_place_and_its_remedy() {
        for (text, shown) in [
            ("---\ntitle: a\ndependson: b\n---", "3:1: unknown key `dependson`; did you mean `depends_on`?"),
            (
                "---\ncolour: b\n---",
                "2:1: unknown key `colour`; known keys: title, depends_on, priority, allow, checks, acceptance, done",
            ),
            (
                "---\nThe parser.\n---",
                "2:1: expected `key: value`; front matter is `key: value` lines between `---` lines",
            ),
            (
                "---\ntitle: a\n",
                "1:1: the front matter that starts here is never closed; close it with a line `---`; a rule at the top of a file can be written `***`",
            ),
            (
                "+++\n+++\n",
                "1:1: front matter between `+++` lines is not read; write it as `key: value` lines between `---` lines",
            ),
            (
                "---\npriority: high\n---",
                "2:11: `priority` must be a whole number; write a number such as 10; lower goes first",
            ),
            (
                "---\npriority:\n---",
                "2:1: `priority` has no value; give `priority` a value or remove the line",
            ),
            (
                "---\ntitle: [a]\n---",
                "2:1: `title` takes one value, not a list; write one value on the same line; put quotes around it if it starts with `[`",
            ),
            (
                "---\nchecks: a\nchecks: b\n---",
                "3:1: `checks` is written twice, first on line 2; keep one of them",
            ),
            (
                "---\nchecks: a\n  - b\n---",
                "3:3: this line belongs to no key; a list item is `- item` under a key without a value; a value stands on one line",
            ),
            (
                "---\nallow:\n  -\n---",
                "3:3: an item of the list is empty; remove the extra comma, or write the item",
            ),
            (
                "---\nallow: {a,b}.rs\n---",
                "2:8: a value cannot start with `{` here; put the whole value in double quotes",
            ),
        ] {
            assert_eq!(fault(text), shown);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_text_is_read_or_refused(text in any::<String>()) {
            let _ = read_front_matter(&text);
            let _ = read_front_matter(&format!("---\n{text}\n---\n"));
        }

        #[test]
        fn text_made_of_what_is_special_is_read_or_refused(
            parts in prop::collection::vec(
                prop::sample::select(vec![
                    "---\n", "title", "depends_on", "priority", "allow", ":", " ", "- ", "[", "]", "'", "\"",
                    "\\", ",", "#", "\n", "\r\n", "\t", "é", "\u{feff}", "9", "a", "|", "\u{2028}",
                ]),
                0..40,
            )
        ) {
            let text = format!("---\n{}\n---\n", parts.concat());
            if let Err(fault) = read_front_matter(&text) {
                prop_assert!(fault.line <= text.split('\n').count());
                prop_assert!(!fault.to_string().is_empty() && !fault.kind.remedy().is_empty());
            }
        }
    }
}
