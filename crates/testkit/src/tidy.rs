//! The house rules, as pure functions over (path, text). `tests/tidy.rs` runs
//! them on this repository; the tests beside each rule show it failing.
//!
//! A rule with exceptions lists them beside it, each with its reason. An
//! exception is an entry there, never a comment in the code it excuses.

pub mod arrows;
pub mod length;
pub mod lexer;
pub mod names;
pub mod places;
pub mod share;
pub mod source;
pub mod text;
pub mod trust;

use std::fmt;

use source::Source;

/// One rule broken at one place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    pub path: String,
    /// From 1; 0 where the whole file, or no file, is meant.
    pub line: usize,
    pub what: String,
}

/// Every rule that looks at one file.
pub fn check(path: &str, text: &str) -> Vec<Problem> {
    let mut found = text::check(path, text);
    if path.ends_with(".rs") {
        let source = Source::read(path, text);
        found.extend(length::check(&source));
        found.extend(names::check(&source));
        found.extend(places::check(&source));
        found.extend(trust::check(&source));
    }
    found.sort();
    found
}

impl Problem {
    fn new(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, what: what.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.what),
            line => write!(f, "{}:{line}: {}", self.path, self.what),
        }
    }
}

/// The samples of the rules' own tests: what each said, without the path.
#[cfg(test)]
fn said(found: &[Problem]) -> Vec<String> {
    found.iter().map(|problem| format!("{}: {}", problem.line, problem.what)).collect()
}
