//! What is said of a broken file, and of each test in it.

use std::fmt;

use crate::Language;

/// A file whose tests are to be broken.
#[derive(Clone, Copy, Debug)]
pub struct SourceFile<'s> {
    /// From the root of the tree, as runners print it.
    pub path: &'s str,
    pub language: Language,
    pub text: &'s [u8],
}

/// A file with its tests broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenFile {
    pub text: Vec<u8>,
    /// Every test that was found, in the order of the file.
    pub tests: Vec<BrokenTest>,
}

/// A test, and what was done to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenTest {
    pub file: String,
    pub language: Language,
    /// As the runner prints it, in parts: classes and method, titles from the outermost,
    /// modules inside the file and function.
    pub name: Vec<TitlePart>,
    /// Where the test begins in the honest file, from 1.
    pub line: usize,
    pub change: TestChange,
}

impl BrokenTest {
    /// Whether the test was changed at all.
    pub fn is_changed(&self) -> bool {
        !matches!(self.change, TestChange::Unchanged(_))
    }
}

impl fmt::Display for BrokenTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let between = match self.language {
            Language::Python | Language::Go => ".",
            Language::JavaScript | Language::TypeScript | Language::Tsx => " > ",
            Language::Rust => "::",
        };
        let name: Vec<String> = self.name.iter().map(ToString::to_string).collect();
        write!(f, "{}:{} {}", self.file, self.line, name.join(between))
    }
}

/// One part of a test's name. A title that is computed is known in pieces only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TitlePart {
    /// With anything between two pieces. One piece is the whole title.
    pieces: Vec<String>,
}

impl TitlePart {
    pub fn exactly(text: impl Into<String>) -> Self {
        Self { pieces: vec![text.into()] }
    }

    /// A title with unknown text between the pieces.
    pub fn in_pieces(pieces: Vec<String>) -> Self {
        Self { pieces }
    }

    /// Nothing is known of it.
    pub fn unknown() -> Self {
        Self { pieces: vec![String::new(), String::new()] }
    }

    /// Several titles with the same text between each two.
    pub(crate) fn joined(parts: &[Self], between: &str) -> Self {
        let mut pieces: Vec<String> = Vec::new();
        for part in parts {
            let mut own = part.pieces.iter();
            if let (Some(last), Some(first)) = (pieces.last_mut(), own.next()) {
                last.push_str(between);
                last.push_str(first);
                pieces.extend(own.cloned());
            } else {
                pieces.extend(part.pieces.iter().cloned());
            }
        }
        Self { pieces }
    }

    /// Whether there is anything to know a title by.
    pub fn is_known(&self) -> bool {
        self.pieces.iter().any(|piece| !piece.trim().is_empty())
    }

    /// Whether nothing of it is computed.
    pub(crate) fn is_whole(&self) -> bool {
        self.pieces.len() == 1
    }

    /// Whether a printed title can be this one.
    pub fn matches(&self, printed: &str) -> bool {
        let [first, between @ .., last] = self.pieces.as_slice() else {
            return self.pieces.first().is_some_and(|only| only == printed);
        };
        let Some(mut rest) = printed.strip_prefix(first.as_str()) else { return false };
        for piece in between {
            let Some(at) = rest.find(piece.as_str()) else { return false };
            rest = &rest[at + piece.len()..];
        }
        rest.ends_with(last.as_str())
    }
}

impl fmt::Display for TitlePart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.pieces.join("…"))
    }
}

/// What was done to a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TestChange {
    /// A statement that fails with these two numbers.
    Fails {
        left: u32,
        right: u32,
    },
    /// It must panic, and returns before it can.
    ReturnsEarly {
        left: u32,
        right: u32,
    },
    /// An expected literal has another value. The line is that of the literal, or of the assertion
    /// that names it.
    Literal {
        before: String,
        after: String,
        line: usize,
    },
    Unchanged(Obstacle),
}

/// Why a test was left as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Obstacle {
    /// Marked to be skipped, or to be written later.
    Skipped,
    /// Marked to fail: a failure more changes nothing.
    ExpectedToFail,
    /// No statement at its end is ever reached.
    AlwaysLeaves,
    /// Its body is in another place than the test.
    BodyElsewhere,
    /// A macro, or a kind of test whose end is not known.
    UnknownForm,
    /// No literal is surely compared.
    NoLiteral,
    /// It, or what would become of it, does not parse.
    Syntax,
    /// The caller left it out.
    NotChosen,
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Skipped => "it is marked to be skipped",
            Self::ExpectedToFail => "it is marked to fail",
            Self::AlwaysLeaves => "its end is never reached",
            Self::BodyElsewhere => "its body is in another place",
            Self::UnknownForm => "it has a form that is not known",
            Self::NoLiteral => "no literal is surely compared in it",
            Self::Syntax => "it does not parse",
            Self::NotChosen => "it was not chosen",
        })
    }
}

/// A file that was not read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unparsed;

impl fmt::Display for Unparsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the file is too hard to parse")
    }
}

impl std::error::Error for Unparsed {}

/// What is to be done to one test.
#[derive(Debug)]
pub(crate) struct Plan {
    pub name: Vec<TitlePart>,
    pub line: usize,
    pub change: TestChange,
    pub edits: Vec<Edit>,
}

/// Bytes in place of a range of the honest text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edit {
    pub from: usize,
    pub to: usize,
    pub text: String,
}

impl Edit {
    pub fn insert(at: usize, text: impl Into<String>) -> Self {
        Self { from: at, to: at, text: text.into() }
    }
}

impl Plan {
    pub fn give_up(&mut self, obstacle: Obstacle) {
        self.edits.clear();
        self.change = TestChange::Unchanged(obstacle);
    }

    pub fn as_test(&self, file: &SourceFile<'_>) -> BrokenTest {
        BrokenTest {
            file: file.path.to_owned(),
            language: file.language,
            name: self.name.clone(),
            line: self.line,
            change: self.change.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_in_pieces_matches_what_is_between() {
        let adds = TitlePart::in_pieces(vec!["adds ".to_owned(), " and ".to_owned(), String::new()]);
        assert!(adds.matches("adds 1 and 2"));
        assert!(!adds.matches("adds 1"));
        assert!(!TitlePart::exactly("adds").matches("adds 1"));
        assert!(TitlePart::unknown().matches("anything"));
        assert!(!TitlePart::unknown().is_known());
    }
}
