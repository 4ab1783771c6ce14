//! Rust source as far as the rules need it: enough to count the lines of a function,
//! to see which code is for tests, and to find the paths it names. Comments
//! and the insides of literals are gone, so words in them break no rule.

use std::ops::Range;

use super::lexer::{self, Kind, Token};

/// One file, read once for all rules.
#[derive(Debug)]
pub struct Source<'t> {
    pub path: &'t str,
    pub text: &'t str,
    pub tokens: Vec<Token<'t>>,
    tests: Vec<Range<usize>>,
    is_for_tests: bool,
}

/// A path as far as the source spells it: `std::fs::read`, or `fs::read` after
/// a `use`. Groups of a `use` are spelt out.
#[derive(Debug, PartialEq, Eq)]
pub struct NamedPath<'t> {
    pub segments: Vec<&'t str>,
    pub line: usize,
    /// The token the path begins at.
    pub at: usize,
}

impl<'t> Source<'t> {
    pub fn read(path: &'t str, text: &'t str) -> Self {
        let tokens = lexer::tokens(text);
        let part = |name| path.split('/').any(|part| part == name);
        let is_for_tests = part("tests") || part("benches") || path.ends_with("/tests.rs");
        let mut source = Self { path, text, tokens, tests: Vec::new(), is_for_tests };
        source.tests = source.find_tests();
        source
    }

    /// The same file, known from elsewhere to be compiled for tests only.
    pub fn for_tests(self) -> Self {
        Self { is_for_tests: true, ..self }
    }

    /// The files of modules declared here for tests only: `#[cfg(test)] mod name;`.
    pub fn test_files(&self) -> Vec<String> {
        let (dir, file) = self.path.rsplit_once('/').unwrap_or(("", self.path));
        let below = match file {
            "lib.rs" | "main.rs" | "mod.rs" => dir.to_owned(),
            file => format!("{dir}/{}", file.trim_end_matches(".rs")),
        };
        let declared = self.tests.iter().flat_map(Clone::clone).filter_map(|at| {
            let name = self.word(at + 1).filter(|_| self.is(at, "mod") && self.is(at + 2, ";"))?;
            Some([format!("{below}/{}.rs", name.text), format!("{below}/{}/mod.rs", name.text)])
        });
        declared.flatten().collect()
    }

    /// The whole file is compiled for tests only.
    pub fn is_test_file(&self) -> bool {
        self.is_for_tests
    }

    /// The token lies in a `#[test]` function or a `#[cfg(test)]` item.
    pub fn in_test(&self, at: usize) -> bool {
        self.is_test_file() || self.tests.iter().any(|range| range.contains(&at))
    }

    /// The token lies in a function or an item marked as a test, whatever the file.
    pub fn in_marked_test(&self, at: usize) -> bool {
        self.tests.iter().any(|range| range.contains(&at))
    }

    pub fn is(&self, at: usize, text: &str) -> bool {
        self.tokens.get(at).is_some_and(|token| token.kind != Kind::Literal && token.text == text)
    }

    pub fn word(&self, at: usize) -> Option<&Token<'t>> {
        self.tokens.get(at).filter(|token| token.kind == Kind::Word)
    }

    /// The tokens from `at` on read exactly so.
    pub fn reads(&self, at: usize, texts: &[&str]) -> bool {
        texts.iter().enumerate().all(|(offset, text)| self.is(at + offset, text))
    }

    /// The end of the item that begins at `at`: past its closing brace or its semicolon.
    pub fn item_end(&self, at: usize) -> usize {
        let mut depth = 0usize;
        for (index, token) in self.tokens.iter().enumerate().skip(at) {
            if token.kind != Kind::Mark {
                continue;
            }
            match token.text {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 && token.text == "}" {
                        return index + 1;
                    }
                }
                ";" if depth == 0 => return index + 1,
                _ => {}
            }
        }
        self.tokens.len()
    }

    /// The bounds of every attribute: from `#` to past its `]`.
    pub fn attributes(&self) -> impl Iterator<Item = Range<usize>> {
        (0..self.tokens.len()).filter_map(|at| {
            let open = at + if self.is(at + 1, "!") { 2 } else { 1 };
            (self.is(at, "#") && self.is(open, "[")).then(|| at..self.group_end(open))
        })
    }

    /// Every path the file names, in order.
    pub fn paths(&self) -> Vec<NamedPath<'t>> {
        let mut found = Vec::new();
        let mut at = 0;
        while at < self.tokens.len() {
            let opens_use = self.is(at, "use") && !self.is(at + 1, "<");
            if opens_use {
                at = self.use_tree(at + 1, &[], &mut found);
            } else if self.word(at).is_some() {
                at = self.plain_path(at, &mut found);
            } else {
                at += 1;
            }
        }
        found
    }

    fn plain_path(&self, begin: usize, found: &mut Vec<NamedPath<'t>>) -> usize {
        let mut at = begin + 1;
        let mut segments = vec![self.tokens[begin].text];
        while self.is(at, "::") {
            let Some(next) = self.word(at + 1) else { break };
            segments.push(next.text);
            at += 2;
        }
        found.push(NamedPath { segments, line: self.tokens[begin].line, at: begin });
        at
    }

    /// Reads one tree of a `use` that begins at `at` and returns where it ends.
    fn use_tree(&self, mut at: usize, above: &[&'t str], found: &mut Vec<NamedPath<'t>>) -> usize {
        let begin = at;
        let mut segments = above.to_vec();
        while let Some(token) = self.tokens.get(at) {
            match token.text {
                "::" => {}
                "{" => {
                    at += 1;
                    while at < self.tokens.len() && !self.is(at, "}") {
                        at = self.use_tree(at, &segments, found);
                        at += usize::from(self.is(at, ","));
                    }
                    return at + 1;
                }
                "as" => at += 1,
                "self" if !segments.is_empty() => {}
                "," | "}" | ";" => break,
                segment => segments.push(segment),
            }
            at += 1;
        }
        let line = self.tokens.get(begin).map_or(0, |token| token.line);
        found.push(NamedPath { segments, line, at: begin });
        at
    }

    /// Past the angle brackets that begin at `at`, or `at` where none do.
    pub fn past_angles(&self, at: usize) -> usize {
        let mut depth = 0usize;
        for index in at..self.tokens.len() {
            match self.tokens[index].text {
                "<" => depth += 1,
                // Of an arrow.
                ">" if index > 0 && self.is(index - 1, "-") => {}
                ">" => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                return if index == at { at } else { index + 1 };
            }
        }
        self.tokens.len()
    }

    pub fn group_end(&self, open: usize) -> usize {
        let mut depth = 0usize;
        for (index, token) in self.tokens.iter().enumerate().skip(open) {
            match (token.kind, token.text) {
                (Kind::Mark, "(" | "[" | "{") => depth += 1,
                (Kind::Mark, ")" | "]" | "}") => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                return index + 1;
            }
        }
        self.tokens.len()
    }

    fn find_tests(&self) -> Vec<Range<usize>> {
        let marks_a_test = |range: &Range<usize>| {
            let words: Vec<_> = range.clone().filter_map(|at| self.word(at)).map(|word| word.text).collect();
            match words.as_slice() {
                ["cfg", rest @ ..] => rest.contains(&"test") && !rest.contains(&"not"),
                path => path.last() == Some(&"test"),
            }
        };
        let item = |range: Range<usize>| {
            if self.is(range.start + 1, "!") {
                return 0..self.tokens.len();
            }
            let mut at = range.end;
            while self.reads(at, &["#", "["]) {
                at = self.group_end(at + 1);
            }
            range.start..self.item_end(at)
        };
        self.attributes().filter(marks_a_test).map(item).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_use_spells_out_its_groups() {
        let source = Source::read(
            "x.rs",
            "use std::{fs, io::{self, Read as R}, time::*}; fn f() { ::a::b::<u8>::c(); }",
        );
        let paths: Vec<_> = source.paths().iter().map(|path| path.segments.join("::")).collect();
        assert_eq!(paths[..4], ["std::fs", "std::io", "std::io::Read", "std::time::*"]);
        assert!(paths.contains(&"a::b".to_owned()), "{paths:?}");
    }

    #[test]
    fn test_code_is_known_by_its_attribute() {
        let text = "fn a() {}\n#[test]\n#[should_panic]\nfn b() { x; }\n#[cfg(test)]\nmod t { y; }\n\
                    #[cfg(not(test))]\nfn c() { z; }\n#[cfg(all(test, unix))]\nuse w;";
        let source = Source::read("crates/x/src/x.rs", text);
        let marked: Vec<_> = (0..source.tokens.len())
            .filter(|at| source.in_test(*at))
            .map(|at| source.tokens[at].text)
            .filter(|text| text.len() == 1 && text.starts_with(|c: char| c.is_alphabetic()))
            .collect();
        assert_eq!(marked, ["b", "x", "t", "y", "w"]);
        assert!(Source::read("crates/x/tests/y.rs", "x").in_test(0));
        assert!(Source::read("crates/x/src/y.rs", "#![cfg(test)] x").in_test(7));
    }
}
