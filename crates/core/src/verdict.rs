//! What agents say. Every type here is a claim: it moves a loop only towards
//! caution, except for an accepting review, which is one of the conditions of
//! done and never the only one unless the operator configured no checks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::finding::Severity;
use crate::id::FindingId;
use crate::proposal::ProposedAmendment;

/// What an author says of its own turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    pub status: ClaimStatus,
    pub summary: String,
    pub blockers: Vec<String>,
    pub next: Vec<String>,
    /// What it followed, step by step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plan: Vec<String>,
    /// What it says it ran.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<ClaimedCheck>,
    /// What it would change in the plan. In the log each is an event of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub amendments: Vec<ProposedAmendment>,
}

/// A command that an author says it ran. windlass did not see it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClaimedCheck {
    pub command: String,
    /// None when it did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
}

/// Everything an author said at the end of its turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AuthorSaid {
    /// None where it wrote no report.
    pub claim: Option<Claim>,
    /// Its last words.
    pub message: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClaimStatus {
    Complete,
    #[default]
    Continue,
    Blocked,
}

impl ClaimStatus {
    pub fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Continue => "continue",
            Self::Blocked => "blocked",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Accept,
    Reject,
}

impl Verdict {
    pub fn name(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Reject => "reject",
        }
    }
}

/// A review as its reviewer wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Review {
    pub verdict: Verdict,
    pub summary: String,
    pub criteria: Vec<Criterion>,
    pub findings: Vec<ReportedFinding>,
    pub resolved: Vec<FindingId>,
    pub pending: Vec<String>,
    pub blocker: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Criterion {
    pub text: String,
    pub met: Met,
    #[serde(rename = "where")]
    pub place: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Met {
    Yes,
    No,
    Unknown,
}

impl Met {
    pub fn name(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
            Self::Unknown => "unknown",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReportedFinding {
    pub file: String,
    pub line: u32,
    pub severity: Severity,
    pub description: String,
    pub scenario: String,
}

/// Why a reviewer's turn gave no verdict to act on. Each is a reject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum NoVerdict {
    NoReport,
    WrongNonce,
    /// A reject that is signed with another part of the nonce than its first half; both in characters.
    PartOfNonce {
        given: usize,
        wanted: usize,
    },
    Unreadable {
        what: String,
    },
    TwoVerdicts,
    Contradiction {
        what: String,
    },
    TreeChanged,
    /// It accepts work that needs changed terms, and does not judge them.
    TermsNotJudged,
}

impl NoVerdict {
    pub fn words(&self) -> String {
        match self {
            Self::NoReport => "the reviewer wrote no report".to_owned(),
            Self::WrongNonce => "the report does not carry this attempt's nonce".to_owned(),
            Self::PartOfNonce { given, wanted } => format!(
                "a reject wants exactly the first half of the nonce ({wanted} characters); this has {given}"
            ),
            Self::Unreadable { what } => format!("the report cannot be read: {what}"),
            Self::TwoVerdicts => "the report holds more than one verdict".to_owned(),
            Self::Contradiction { what } => format!("the verdict contradicts itself: {what}"),
            Self::TreeChanged => "the reviewer changed the workspace".to_owned(),
            Self::TermsNotJudged => "the review accepts without a word on the changed terms".to_owned(),
        }
    }
}

/// Begins the text of the criterion by which a reviewer judges changed terms.
pub const TERMS_CRITERION: &str = "changed terms";

impl Review {
    /// Whether it judges the changed terms, and finds them in order.
    pub fn accepts_terms(&self) -> bool {
        let judges = |criterion: &Criterion| {
            criterion.text.trim().to_lowercase().starts_with(TERMS_CRITERION) && criterion.met == Met::Yes
        };
        self.verdict == Verdict::Accept && self.criteria.iter().any(judges)
    }

    /// What in an accepting review says the opposite of accept.
    pub fn contradiction(&self) -> Option<String> {
        if self.verdict == Verdict::Reject {
            return None;
        }
        if !self.blocker.trim().is_empty() {
            return Some("accept with a blocker".to_owned());
        }
        if let Some(item) = self.pending.first() {
            return Some(format!("accept with a pending item: {item}"));
        }
        if let Some(unmet) = self.criteria.iter().find(|criterion| criterion.met != Met::Yes) {
            return Some(format!("accept with an unmet criterion: {}", unmet.text));
        }
        let bug = self.findings.iter().find(|finding| finding.severity == Severity::Bug)?;
        Some(format!("accept with a bug: {}", bug.description))
    }
}
