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
