//! The texts of briefs that an operator may write.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Section `[brief]`: texts of the operator's in place of windlass's own. The
/// rest of a brief, the task, the evidence and the report, is always windlass's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct BriefPolicy(pub(super) BTreeMap<BriefPart, OwnText>);

/// A part of a brief that the operator may write: what every agent is to keep
/// to, and what an agent is asked to do in each mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BriefPart {
    Rules,
    Implement,
    Explore,
    FixTask,
    Fix,
    ReviewTask,
    ReviewReport,
    ReviewWhole,
    Finish,
}

impl BriefPart {
    pub const ALL: [Self; 9] = [
        Self::Rules,
        Self::Implement,
        Self::Explore,
        Self::FixTask,
        Self::Fix,
        Self::ReviewTask,
        Self::ReviewReport,
        Self::ReviewWhole,
        Self::Finish,
    ];

    /// As it is called on the command line.
    pub fn name(self) -> &'static str {
        self.key().trim_start_matches("brief.")
    }

    /// The key that names its file.
    pub fn key(self) -> &'static str {
        match self {
            Self::Rules => "brief.rules",
            Self::Implement => "brief.implement",
            Self::Explore => "brief.explore",
            Self::FixTask => "brief.fix_task",
            Self::Fix => "brief.fix",
            Self::ReviewTask => "brief.review_task",
            Self::ReviewReport => "brief.review_report",
            Self::ReviewWhole => "brief.review_whole",
            Self::Finish => "brief.finish",
        }
    }
}

impl BriefPolicy {
    pub(super) fn is_default(&self) -> bool {
        self.0.values().all(|own| own.file.is_empty())
    }

    /// None: windlass's own.
    pub fn part(&self, part: BriefPart) -> Option<&OwnText> {
        self.0.get(&part).filter(|own| !own.file.is_empty())
    }

    pub fn part_mut(&mut self, part: BriefPart) -> &mut OwnText {
        self.0.entry(part).or_default()
    }

    /// An empty file is windlass's own text, as no file is.
    pub fn forget_unwritten(&mut self) {
        self.0.retain(|_, own| !own.file.is_empty());
    }

    /// Each part that the operator wrote.
    pub fn written_mut(&mut self) -> impl Iterator<Item = (BriefPart, &mut OwnText)> {
        self.0.iter_mut().filter(|(_, own)| !own.file.is_empty()).map(|(part, own)| (*part, own))
    }
}

/// A template in a file of the operator's, as it was when the loop was created.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct OwnText {
    /// Empty: windlass's own.
    pub file: String,
    pub text: String,
}

/// The texts of a mode of the operator's, as they were when the loop was created.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct OwnMode {
    pub author: OwnText,
    /// Without a file: what any task's reviewer is told.
    pub reviewer: OwnText,
}
