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

/// The name an operator gives a loop. It becomes a directory, a branch and an
/// argument, so only a plain set of characters is allowed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct LoopName(String);

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "loop name {0:?} must be 1 to 64 characters of a-z, A-Z, 0-9, '-', '_' or '.', start with a letter or digit, and end in neither '.' nor '.lock'"
)]
pub struct LoopNameError(String);

impl LoopName {
    pub fn new(text: &str) -> Result<Self, LoopNameError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let legal = (1..=64).contains(&text.len())
            && text.chars().all(plain)
            && text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && !text.contains("..")
            && !text.ends_with('.')
            && !text.ends_with(".lock");
        if legal { Ok(Self(text.to_owned())) } else { Err(LoopNameError(text.to_owned())) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
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
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_name_is_safe_as_a_path_and_a_branch() {
        for good in ["demo1", "a", "fix-42", "v1.2_x"] {
            assert!(LoopName::new(good).is_ok(), "{good}");
        }
        for bad in ["", "-x", ".x", "a/b", "a b", "a..b", "a.", "a.lock", "é", "a\n", &"x".repeat(65)] {
            assert!(LoopName::new(bad).is_err(), "{bad}");
        }
    }
}
