//! What can be wrong with front matter and with the marks in a Markdown text.

use std::fmt;
use std::path::Path;

use crate::error::PlanError;
use crate::place::FilePosition;

/// What is wrong with a text, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxFault {
    pub line: usize,
    pub column: usize,
    pub kind: FaultKind,
}

impl SyntaxFault {
    pub(crate) fn in_file(self, file: &Path) -> PlanError {
        let place = FilePosition { file: file.to_owned(), line: self.line, column: self.column };
        PlanError::Syntax { place, fault: self }
    }
}

impl fmt::Display for SyntaxFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FaultKind {
    #[error("the front matter that starts here is never closed")]
    NeverClosed,
    #[error("front matter between `+++` lines is not read")]
    TomlFrontMatter,
    #[error("expected `key: value`")]
    NotAKey,
    #[error("unknown key `{key}`")]
    UnknownKey { key: String, known: &'static [&'static str], nearest: Option<&'static str> },
    #[error("`{key}` is written twice, first on line {first}")]
    KeyTwice { key: String, first: usize },
    #[error("`{0}` has no value")]
    NoValue(&'static str),
    #[error("`{0}` takes one value, not a list")]
    NotAList(&'static str),
    #[error("`{0}` must be a whole number")]
    NotANumber(&'static str),
    #[error("`{0}` is neither true nor false")]
    NotAFlag(&'static str),
    #[error("`{0}` must have keys of its own")]
    NotAMap(&'static str),
    #[error("{0:?} is no name of a mode")]
    NotAMode(String),
    #[error("an item of `{0}` must be a text")]
    NotAText(&'static str),
    #[error("this line belongs to no key")]
    Stray,
    #[error("a value cannot start with `{0}` here")]
    Reserved(char),
    #[error("a value cannot have `: ` in it without quotes")]
    Colon,
    #[error("the quote is never closed")]
    QuoteNeverClosed,
    #[error("the list is never closed")]
    ListNeverClosed,
    #[error("there is something after the end of the value")]
    AfterValue,
    #[error("a tab cannot indent")]
    Tab,
    #[error("an item of the list is empty")]
    EmptyItem,
    #[error("this is not YAML: {0}")]
    Yaml(String),
    #[error("the comment that starts here is never closed")]
    CommentNeverClosed,
    #[error("`{0}` in a comment names no dependency")]
    MisspeltComment(String),
}

impl FaultKind {
    pub(crate) fn at(self, line: usize, column: usize) -> SyntaxFault {
        SyntaxFault { line, column, kind: self }
    }

    /// What the operator can do about it.
    pub fn remedy(&self) -> String {
        match self {
            Self::NeverClosed => {
                "close it with a line `---`; a rule at the top of a file can be written `***`".to_owned()
            }
            Self::TomlFrontMatter => "write it as `key: value` lines between `---` lines".to_owned(),
            Self::NotAKey => "front matter is `key: value` lines between `---` lines".to_owned(),
            Self::UnknownKey { nearest: Some(key), .. } => format!("did you mean `{key}`?"),
            Self::UnknownKey { nearest: None, known, .. } => format!("known keys: {}", known.join(", ")),
            Self::KeyTwice { .. } => "keep one of them".to_owned(),
            Self::NoValue(key) => format!("give `{key}` a value or remove the line"),
            Self::NotAList(_) => {
                "write one value on the same line; put quotes around it if it starts with `[`".to_owned()
            }
            Self::NotAFlag(_) => {
                "write true for a task that is done already; nothing of it is proven then".to_owned()
            }
            Self::NotANumber("priority") => "write a number such as 10; lower goes first".to_owned(),
            Self::NotANumber(_) => "write a number such as 10; 0 means no limit".to_owned(),
            Self::NotAMap(key) => {
                format!("write the keys of `{key}` on lines of their own below it, indented")
            }
            Self::NotAMode(_) => {
                "write implement, explore or fix, or the name of a mode of yours: letters, digits, `-` and `_`"
                    .to_owned()
            }
            Self::NotAText(_) => {
                "write one text for each item; put quotes around it if it has `: ` in it".to_owned()
            }
            Self::Stray => {
                "a list item is `- item` under a key without a value; a value stands on one line".to_owned()
            }
            Self::Reserved(_) | Self::Colon | Self::AfterValue => {
                "put the whole value in double quotes".to_owned()
            }
            Self::Yaml(_) => {
                "write `key: value` lines, and put a value with special characters in double quotes"
                    .to_owned()
            }
            Self::QuoteNeverClosed => "close the quote on the same line".to_owned(),
            Self::ListNeverClosed => {
                "close it with `]`, or write one `- item` on each following line".to_owned()
            }
            Self::Tab => "indent with blanks".to_owned(),
            Self::EmptyItem => "remove the extra comma, or write the item".to_owned(),
            Self::CommentNeverClosed => "close it with `-->`".to_owned(),
            Self::MisspeltComment(_) => "write `<!-- depends_on: id, id -->`".to_owned(),
        }
    }
}
