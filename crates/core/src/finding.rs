//! Defects: seen by a reviewer, or measured by windlass itself.

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
    /// The beginning of what shows it, where windlass measured it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub diff: String,
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
    /// The operator rejected the work with these words.
    Operator,
    Evidence(Rule),
}

/// What windlass measures, on every snapshot and every run of the gate. Such a
/// finding holds as long as it is measured and resolves by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    ProtectedChanged,
    /// The checks are green only with terms that the work changed.
    TermsChanged,
    EscapingSymlink,
    GitlinkChanged,
    FilteredPathChanged,
    FileTooLarge,
    SpecialFile,
    UnsafeName,
    Unreadable,
    CollisionAttack,
    LockfileChanged,
    CiChanged,
    TestsVanished,
    /// A path that judges was written while a check ran.
    WrittenDuringCheck,
    GateNotSensitive,
    FlakyCheck,
    /// No test was seen that fails without the fix and passes with it.
    NoRegressionTest,
    ReviewerChangedTree,
    /// It was deleted while an attempt ran.
    WorkspaceGone,
    /// More is changed or read than the task may, or something that it may not.
    ScopeExceeded,
    /// A task that was to change nothing did.
    ReadOnlyTask,
    /// A limit of the scope that nothing measures.
    ScopeNotMeasured,
}

/// What a rule is measured on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    Tree,
    Gate,
    Review,
}

impl Rule {
    pub fn severity(self) -> Severity {
        match self {
            Self::ProtectedChanged
            | Self::TermsChanged
            | Self::EscapingSymlink
            | Self::GitlinkChanged
            | Self::FilteredPathChanged
            | Self::FileTooLarge
            | Self::UnsafeName
            | Self::Unreadable
            | Self::CollisionAttack
            | Self::TestsVanished
            | Self::WrittenDuringCheck
            | Self::GateNotSensitive
            | Self::NoRegressionTest
            | Self::ScopeExceeded
            | Self::ReadOnlyTask => Severity::Bug,
            Self::SpecialFile
            | Self::LockfileChanged
            | Self::CiChanged
            | Self::FlakyCheck
            | Self::ReviewerChangedTree
            | Self::WorkspaceGone
            | Self::ScopeNotMeasured => Severity::Warning,
        }
    }

    pub fn subject(self) -> Subject {
        match self {
            Self::ProtectedChanged
            | Self::EscapingSymlink
            | Self::GitlinkChanged
            | Self::FilteredPathChanged
            | Self::FileTooLarge
            | Self::SpecialFile
            | Self::UnsafeName
            | Self::Unreadable
            | Self::CollisionAttack
            | Self::LockfileChanged
            | Self::CiChanged
            | Self::WorkspaceGone
            | Self::ScopeExceeded
            | Self::ReadOnlyTask
            | Self::ScopeNotMeasured => Subject::Tree,
            Self::TermsChanged
            | Self::TestsVanished
            | Self::WrittenDuringCheck
            | Self::GateNotSensitive
            | Self::FlakyCheck
            | Self::NoRegressionTest => Subject::Gate,
            Self::ReviewerChangedTree => Subject::Review,
        }
    }
}

/// How a path differs from the base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    Added,
    Edited,
    Deleted,
}

/// One measured violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    pub rule: Rule,
    /// The path; of what a run of the gate showed, the check's name.
    pub path: String,
    /// None where the change is of another kind, or of no file.
    pub touch: Option<Touch>,
    /// The words, where they say more than the rule does: of what a run of the gate showed, and with the line that
    /// allows a change. A waiver is for them alone.
    pub detail: String,
    /// The beginning of what shows it, bounded.
    pub diff: String,
}

impl Evidence {
    pub fn new(rule: Rule, path: impl Into<String>) -> Self {
        Self { rule, path: path.into(), touch: None, detail: String::new(), diff: String::new() }
    }

    pub fn words(&self) -> String {
        let done = match self.touch {
            Some(Touch::Added) => "added",
            Some(Touch::Edited) => "edited",
            Some(Touch::Deleted) => "deleted",
            None => "changed",
        };
        if !self.detail.is_empty() {
            return self.detail.clone();
        }
        match (self.rule, self.touch) {
            (Rule::ProtectedChanged, Some(Touch::Added)) => {
                "a protected path was added; the gate ran without it".to_owned()
            }
            (Rule::ProtectedChanged, _) => {
                format!("a protected path was {done}; the gate used the base's version")
            }
            (Rule::TermsChanged, _) => "the checks are green only with changed terms".to_owned(),
            (Rule::EscapingSymlink, _) => "a symbolic link leads out of the tree".to_owned(),
            (Rule::GitlinkChanged, _) => "a submodule entry was changed".to_owned(),
            (Rule::FilteredPathChanged, _) => {
                format!("a path with a git filter was {done}; its stored form is unknown")
            }
            (Rule::FileTooLarge, _) => "a file is over the size limit and was not taken".to_owned(),
            (Rule::SpecialFile, _) => "a socket, pipe or device was not taken".to_owned(),
            (Rule::UnsafeName, _) => "a name that git refuses was not taken".to_owned(),
            (Rule::Unreadable, _) => "a file could not be read and was not taken".to_owned(),
            (Rule::CollisionAttack, _) => {
                "a file was made to share its hash with another and was not taken".to_owned()
            }
            (Rule::LockfileChanged, _) => {
                format!("a lockfile was {done}: what is built may come from elsewhere")
            }
            (Rule::CiChanged, _) => {
                format!("a CI file was {done}: once pushed, it runs with rights of its own")
            }
            (Rule::TestsVanished, _) => "tests that were there are gone or skipped".to_owned(),
            (Rule::WrittenDuringCheck, _) => "what judges was written while the check ran".to_owned(),
            (Rule::GateNotSensitive, _) => "the check has not shown that it can fail".to_owned(),
            (Rule::FlakyCheck, _) => "the check was red, then green on the same tree".to_owned(),
            (Rule::NoRegressionTest, _) => "no added test fails without the fix".to_owned(),
            (Rule::WorkspaceGone, _) => {
                "the workspace was deleted while the attempt ran; what the attempt did is lost".to_owned()
            }
            (Rule::ScopeExceeded, _) => "more is changed than this task may".to_owned(),
            (Rule::ReadOnlyTask, _) => {
                format!("it was {done}, and this task changes nothing: undo it, and report instead")
            }
            (Rule::ScopeNotMeasured, _) => "a limit of the scope cannot be measured".to_owned(),
            (Rule::ReviewerChangedTree, _) => format!("the reviewer left this path {done}"),
        }
    }
}
