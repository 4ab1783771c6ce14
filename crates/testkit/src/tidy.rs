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

use std::collections::BTreeSet;
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

/// Every rule that looks at files, on all of them: whether a file is for tests
/// can be written in another one, as `#[cfg(test)] mod name;`.
pub fn check_all(files: &[(String, String)]) -> Vec<Problem> {
    let rust = files.iter().filter(|(path, _)| path.ends_with(".rs"));
    let for_tests: BTreeSet<String> =
        rust.flat_map(|(path, text)| Source::read(path, text).test_files()).collect();
    let mut found = Vec::new();
    for (path, text) in files {
        found.extend(text::check(path, text));
        if path.ends_with(".rs") {
            let source = Source::read(path, text);
            let source = if for_tests.contains(path) { source.for_tests() } else { source };
            found.extend(length::check(&source));
            found.extend(names::check(&source));
            found.extend(places::check(&source));
            found.extend(trust::check(&source));
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_declared_for_tests_is_test_code_in_its_own_file() {
        let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
        let body = "fn f() { x.unwrap(); }";
        let found = |declared: &str| {
            let files = [
                file("crates/x/src/lib.rs", declared),
                file("crates/x/src/a.rs", body),
                file("crates/x/src/b.rs", "#[cfg(test)] mod c;"),
                file("crates/x/src/b/c.rs", body),
            ];
            check_all(&files).into_iter().map(|problem| problem.path).collect::<Vec<_>>()
        };
        assert_eq!(found("mod a;"), ["crates/x/src/a.rs"]);
        assert_eq!(found("#[cfg(test)]\nmod a;"), [""; 0]);
    }
}
