//! The house rules, as pure functions over (path, text). `tests/tidy.rs` runs
//! them on this repository; the tests beside each rule show it failing.
//!
//! A rule with exceptions lists them beside it, each with its reason. An
//! exception is an entry there, never a comment in the code it excuses.

pub mod arrows;
pub mod length;
pub mod lexer;
pub mod names;
pub mod parameters;
pub mod places;
pub mod policy_keys;
pub mod share;
pub mod source;
pub mod text;
pub mod trust;
pub mod unique;

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

/// Every rule that looks at one file at a time, on all of them.
pub fn check_each(files: &[(String, String)]) -> Vec<Problem> {
    let mut found: Vec<_> = files.iter().flat_map(|(path, text)| text::check(path, text)).collect();
    for source in sources(files) {
        found.extend(length::check(&source));
        found.extend(names::check(&source));
        found.extend(places::check(&source));
        found.extend(trust::check(&source));
    }
    found.sort();
    found
}

/// Every rule that compares files with one another.
pub fn check_together(files: &[(String, String)]) -> Vec<Problem> {
    let sources = sources(files);
    let mut found =
        [unique::check(&sources), parameters::check(&sources), policy_keys::check(&sources)].concat();
    found.sort();
    found
}

/// The Rust files. Whether one is for tests can be written in another one, as
/// `#[cfg(test)] mod name;`.
fn sources(files: &[(String, String)]) -> Vec<Source<'_>> {
    let rust = files.iter().filter(|(path, _)| path.ends_with(".rs"));
    let sources: Vec<_> = rust.map(|(path, text)| Source::read(path, text)).collect();
    let for_tests: BTreeSet<_> = sources.iter().flat_map(Source::test_files).collect();
    let marked = sources
        .into_iter()
        .map(|source| if for_tests.contains(source.path) { source.for_tests() } else { source });
    marked.collect()
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
        let body = "fn f() { println!(); }";
        let found = |declared: &str| {
            let files = [
                file("crates/x/src/lib.rs", declared),
                file("crates/x/src/a.rs", body),
                file("crates/x/src/b.rs", "#[cfg(test)] mod c;"),
                file("crates/x/src/b/c.rs", body),
            ];
            check_each(&files).into_iter().map(|problem| problem.path).collect::<Vec<_>>()
        };
        assert_eq!(found("mod a;"), ["crates/x/src/a.rs"]);
        assert_eq!(found("#[cfg(test)]\nmod a;"), [""; 0]);
    }
}
