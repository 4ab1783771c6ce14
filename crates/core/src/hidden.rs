//! What judges the work and no agent sees.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::TreeId;

/// The keys of `[gate]` that name it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HiddenPolicy {
    /// Paths of the base that no workspace has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub globs: Vec<String>,
    /// A directory outside the repository; its files are put into each tree that is judged.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub dir: String,
    /// The files of the directory, as they were when the policy was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<TreeId>,
    #[serde(default, skip_serializing_if = "HiddenOutput::is_default")]
    pub output: HiddenOutput,
}

impl HiddenPolicy {
    pub fn is_off(&self) -> bool {
        self.globs.is_empty() && self.dir.is_empty()
    }
}

/// How much agents are told of a check that has hidden files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HiddenOutput {
    /// That it is red, and nothing of why.
    Nothing,
    /// The tests that failed, by name.
    #[default]
    Names,
    /// All that the check printed.
    All,
}

impl HiddenOutput {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
