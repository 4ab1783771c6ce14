//! Which languages can be broken, and by what name a file is known to be one.

/// A language with a grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Language {
    Python,
    JavaScript,
    TypeScript,
    /// TypeScript with elements, which is another grammar.
    Tsx,
    Rust,
    Go,
}

impl Language {
    /// By the extension of a path.
    pub fn of(path: &[u8]) -> Option<Self> {
        let name = path.rsplit(|byte| *byte == b'/').next()?;
        let dot = name.iter().rposition(|byte| *byte == b'.')?;
        match &name[dot + 1..] {
            b"py" => Some(Self::Python),
            b"js" | b"mjs" | b"cjs" | b"jsx" => Some(Self::JavaScript),
            b"ts" | b"mts" | b"cts" => Some(Self::TypeScript),
            b"tsx" => Some(Self::Tsx),
            b"rs" => Some(Self::Rust),
            b"go" => Some(Self::Go),
            _ => None,
        }
    }

    /// Whether a file of this language can hold tests by the habits of its runners. Rust has them beside
    /// the code, where only the text tells.
    pub fn may_hold_tests(self, path: &[u8], text: &[u8]) -> bool {
        let path = String::from_utf8_lossy(path);
        let name = path.rsplit('/').next().unwrap_or_default();
        let stem = name.split('.').next().unwrap_or_default();
        let has = |word: &str| text.windows(word.len()).any(|part| part == word.as_bytes());
        match self {
            Self::Python => stem.starts_with("test") || stem.ends_with("_test") || stem.ends_with("_tests"),
            Self::JavaScript | Self::TypeScript | Self::Tsx => {
                let below = |dir: &str| path.split('/').rev().skip(1).any(|part| part == dir);
                name.contains(".test.")
                    || name.contains(".spec.")
                    || matches!(stem, "test" | "tests" | "spec")
                    || stem.starts_with("test-")
                    || stem.ends_with("-test")
                    || ["test", "tests", "__tests__", "spec"].into_iter().any(below)
            }
            Self::Rust => has("test]") || has("#[test") || has("test("),
            Self::Go => stem.ends_with("_test"),
        }
    }

    pub(crate) fn grammar(self) -> tree_sitter::Language {
        match self {
            Self::Python => tree_sitter_python::LANGUAGE.into(),
            Self::JavaScript => tree_sitter_javascript::LANGUAGE.into(),
            Self::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
            Self::Tsx => tree_sitter_typescript::LANGUAGE_TSX.into(),
            Self::Rust => tree_sitter_rust::LANGUAGE.into(),
            Self::Go => tree_sitter_go::LANGUAGE.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_where_runners_look_for_them() {
        for (path, text, holds) in [
            ("tests/test_a.py", "", true),
            ("pkg/a_test.py", "", true),
            ("pkg/latest.py", "", false),
            ("a.test.js", "", true),
            ("test/a.js", "", true),
            ("src/contest.js", "", false),
            ("lib/a.spec.ts", "", true),
            ("src/lib.rs", "#[test]\nfn a() {}", true),
            ("src/lib.rs", "#[tokio::test]\nasync fn a() {}", true),
            ("src/lib.rs", "fn a() {}", false),
            ("a_test.go", "", true),
            ("a.go", "", false),
        ] {
            let language = Language::of(path.as_bytes()).unwrap();
            assert_eq!(language.may_hold_tests(path.as_bytes(), text.as_bytes()), holds, "{path} {text}");
        }
    }

    #[test]
    fn a_language_is_known_by_the_extension() {
        for (path, language) in [
            ("tests/test_a.py", Some(Language::Python)),
            ("a.test.js", Some(Language::JavaScript)),
            ("a.mjs", Some(Language::JavaScript)),
            ("src/a.spec.ts", Some(Language::TypeScript)),
            ("a.tsx", Some(Language::Tsx)),
            ("src/lib.rs", Some(Language::Rust)),
            ("a_test.go", Some(Language::Go)),
            ("tests.py/Makefile", None),
            ("README", None),
            ("", None),
        ] {
            assert_eq!(Language::of(path.as_bytes()), language, "{path}");
        }
    }
}
