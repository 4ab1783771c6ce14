//! Defects: seen by a reviewer, or measured by windlass itself.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::{FindingId, TaskId};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    pub id: FindingId,
    /// The task it was found in; none for the whole loop's final phases.
    pub task: Option<TaskId>,
    pub origin: Origin,
    pub severity: Severity,
    pub file: String,
    /// 0 when the finding is about the whole file.
    pub line: u32,
    pub description: String,
    pub scenario: String,
    pub life: Life,
    /// The iteration it was opened in.
    pub iteration: u32,
}

impl Finding {
    pub fn is_open(&self) -> bool {
        match self.life {
            Life::Open | Life::Carried => true,
            Life::Resolved | Life::Waived => false,
        }
    }

    pub fn is_open_bug(&self) -> bool {
        self.is_open() && self.severity == Severity::Bug
    }

    /// What to do where no review will come.
    pub fn needs_review(&self) -> String {
        format!(
            "finding {} is open ({}) and reviews are off: review it or waive it",
            self.id, self.description
        )
    }

    /// The same defect seen again keeps its id.
    pub fn is_same(&self, origin: Origin, file: &str, description: &str) -> bool {
        self.origin == origin && self.file == file && self.description == description
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Bug,
    Warning,
}

impl Severity {
    pub fn name(self) -> &'static str {
        match self {
            Self::Bug => "bug",
            Self::Warning => "warning",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Life {
    Open,
    /// Open, and seen again by a later review.
    Carried,
    Resolved,
    Waived,
}

impl Life {
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Carried => "carried",
            Self::Resolved => "resolved",
            Self::Waived => "waived",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    Reviewer,
    Evidence(Rule),
}

/// What windlass measures on every snapshot. Such a finding holds as long as
/// the tree shows it and resolves by itself when the tree does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    ProtectedChanged,
    EscapingSymlink,
    GitlinkChanged,
    FilteredPathChanged,
    FileTooLarge,
    SpecialFile,
    UnsafeName,
    Unreadable,
    CollisionAttack,
}

impl Rule {
    pub fn severity(self) -> Severity {
        match self {
            Self::ProtectedChanged
            | Self::EscapingSymlink
            | Self::GitlinkChanged
            | Self::FilteredPathChanged
            | Self::FileTooLarge
            | Self::UnsafeName
            | Self::Unreadable
            | Self::CollisionAttack => Severity::Bug,
            Self::SpecialFile => Severity::Warning,
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ProtectedChanged => "a protected path was changed; the gate used the base's version",
            Self::EscapingSymlink => "a symbolic link leads out of the tree",
            Self::GitlinkChanged => "a submodule entry was changed",
            Self::FilteredPathChanged => "a path with a git filter was changed; its stored form is unknown",
            Self::FileTooLarge => "a file is over the size limit and was not taken",
            Self::SpecialFile => "a socket, pipe or device was not taken",
            Self::UnsafeName => "a name that git refuses was not taken",
            Self::Unreadable => "a file could not be read and was not taken",
            Self::CollisionAttack => "a file was made to share its hash with another and was not taken",
        })
    }
}

/// One measured violation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    pub rule: Rule,
    pub path: String,
}
