//! Names and numbers that identify things. Newtypes, so that one kind is never
//! passed for another. States are copied at every step, so texts are shared.

use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into().into())
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

macro_rules! number_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
        )]
        #[serde(transparent)]
        pub struct $name(pub u64);

        impl $name {
            pub fn next(self) -> Self {
                Self(self.0 + 1)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

text_id! {
    /// A task's name inside its plan.
    TaskId
}
text_id! {
    /// A finding's name inside its loop: `F1`, `F2`, …
    FindingId
}
text_id! {
    /// A proposed amendment's name inside its loop: `A1`, `A2`, …
    AmendmentId
}
text_id! {
    /// A git commit, as lower-case hex.
    CommitId
}
text_id! {
    /// A git tree, as lower-case hex.
    TreeId
}
text_id! {
    /// The content hash of a stored blob.
    BlobId
}
text_id! {
    /// A secret an attempt must repeat in its report, so that a stale or
    /// forged report is never taken for its own.
    Nonce
}
number_id! {
    /// The place of a decision in its loop's log, from 1.
    Seq
}
number_id! {
    /// One thing the core asked the driver to do, dense per loop.
    EffectId
}
number_id! {
    /// One turn of an agent, dense per loop.
    AttemptId
}
number_id! {
    /// One row of the commands table.
    CommandId
}

impl CommitId {
    /// As people are shown it.
    pub fn short(&self) -> &str {
        self.0.get(..10).unwrap_or(&self.0)
    }
}

/// The name an operator gives a loop, in any script. It becomes a directory, a branch and an
/// argument, so only letters, digits and three more characters are allowed. Whoever takes one
/// from a person composes its letters first, so that two that look the same are the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct LoopName(String);

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "loop name {0:?} must be 1 to 64 letters, digits, '-', '_' or '.', start with a letter or digit, and end in neither '.' nor '.lock'"
)]
pub struct LoopNameError(String);

impl LoopName {
    pub const MOST_CHARACTERS: usize = 64;
    /// With what is put before and after it, a file may still have it as its name.
    const MOST_BYTES: usize = 200;

    pub fn new(text: &str) -> Result<Self, LoopNameError> {
        let legal = (1..=Self::MOST_BYTES).contains(&text.len())
            && text.chars().count() <= Self::MOST_CHARACTERS
            && text.chars().all(|c| Self::is_of_word(c) || matches!(c, '-' | '_' | '.'))
            && text.starts_with(char::is_alphanumeric)
            && !text.contains("..")
            && !text.ends_with('.')
            && !text.ends_with(".lock");
        if legal { Ok(Self(text.to_owned())) } else { Err(LoopNameError(text.to_owned())) }
    }

    /// A letter or digit of any script, or a mark on one.
    pub fn is_of_word(c: char) -> bool {
        c.is_alphanumeric() || is_mark(c)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A mark that stands on a letter and is none itself, in the scripts that need such marks: accents, points of Hebrew and
/// Arabic, viramas and nuktas of India, tones of Thai and Lao, and their like.
fn is_mark(c: char) -> bool {
    match c {
        '\u{300}'..='\u{34e}' | '\u{350}'..='\u{36f}' | '\u{483}'..='\u{487}' => true,
        '\u{591}'..='\u{5bd}' | '\u{610}'..='\u{61a}' | '\u{64b}'..='\u{65f}' | '\u{6d6}'..='\u{6dc}' => true,
        '\u{900}'..='\u{d7f}' => matches!(u32::from(c) & 0x7f, 0x3c | 0x4d),
        '\u{dca}' | '\u{e38}'..='\u{e3a}' | '\u{e47}'..='\u{e4e}' | '\u{eb8}'..='\u{ebc}' => true,
        '\u{ec8}'..='\u{ecd}' | '\u{f71}'..='\u{f84}' | '\u{1037}' | '\u{1039}'..='\u{103a}' => true,
        '\u{17d2}' | '\u{17dd}' | '\u{3099}'..='\u{309a}' => true,
        _ => false,
    }
}

impl TryFrom<String> for LoopName {
    type Error = LoopNameError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::new(&text)
    }
}

impl From<LoopName> for String {
    fn from(name: LoopName) -> Self {
        name.0
    }
}

impl fmt::Display for LoopName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_name_is_safe_as_a_path_and_a_branch() {
        for good in ["demo1", "a", "fix-42", "v1.2_x", "é", "исправь-тесты", "テストを直す", "परीक्षण-ठीक"]
        {
            assert!(LoopName::new(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "-x",
            ".x",
            "a/b",
            "a b",
            "a..b",
            "a.",
            "a.lock",
            "a\n",
            "\u{301}a",
            "a\u{200d}b",
            "a\u{202e}b",
            "💥",
        ] {
            assert!(LoopName::new(bad).is_err(), "{bad}");
        }
        for long in ["x".repeat(65), "テ".repeat(67), format!("e{}", "\u{301}".repeat(100_000))] {
            assert!(LoopName::new(&long).is_err());
        }
    }
}
