//! What an agent says of its turn: one JSON object in the file it was told of. Written by the very program
//! that is judged, so nothing about the file is taken for granted.

mod fields;
mod file;
mod json;

use std::path::Path;

use serde_json::Value;
use windlass_core::id::{FindingId, Nonce};
use windlass_core::input::Report;
use windlass_core::policy::Role;
use windlass_core::usage::Usage;
use windlass_core::verdict::{
    Claim, ClaimStatus, Criterion, Met, NoVerdict, ReportedFinding, Review, Verdict,
};

use windlass_redact::Redactor;

use crate::{bound, usage};
use fields::{Fields, LIST_ITEMS};
use json::Document;

/// Kept of a report for people to look at.
const KEPT_BYTES: usize = 16 * 1024;

/// A report as the core takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsedReport {
    pub report: Report,
    /// None when the agent did not say, or said something impossible.
    pub usage: Option<Usage>,
    /// Why an author's claim or a planner's answer is absent although a report was written.
    pub unread: Option<String>,
    /// What a planner answered, its form not yet looked at.
    pub answer: Option<Value>,
}

/// Reads the file. Fails closed: an author's claim is absent, a reviewer's verdict is none, and a nonce that
/// is not this attempt's makes all of it someone else's words.
pub fn read(path: &Path, role: Role, nonce: &Nonce, redactor: &Redactor) -> ParsedReport {
    match file::read(path) {
        // Before anything is cut to size: half a secret would not be known for one.
        Ok(Some(bytes)) => parse(&redactor.bytes(&bytes), role, nonce),
        Ok(None) => absent(role),
        Err(refused) => unread(role, refused.to_string()),
    }
}

/// The words in the file, for people, whatever they are worth; none where there are none.
pub fn words(path: &Path, redactor: &Redactor) -> Option<String> {
    let bytes = file::read(path).ok().flatten()?;
    let text = String::from_utf8_lossy(&redactor.bytes(&bytes)).into_owned();
    Some(bound::block(&text, KEPT_BYTES))
}

/// The same of what a file holds.
pub fn parse(bytes: &[u8], role: Role, nonce: &Nonce) -> ParsedReport {
    let fields = match json::read(bytes) {
        Document::Object(fields) => Fields::new(fields),
        Document::Two => return silent(role, NoVerdict::TwoVerdicts, Some("it holds two JSON documents")),
        Document::Unreadable { what } => return unread(role, what),
    };
    let signed = match (role, Signature::of(&fields, nonce)) {
        (_, Some(Signature::Whole)) => Signature::Whole,
        (Role::Reviewer, Some(Signature::RejectOnly)) => Signature::RejectOnly,
        (Role::Reviewer, None) if signs_reject_in_part(&fields, nonce) => {
            let (given, wanted) = (fields.length("nonce"), reject_nonce(nonce).chars().count());
            return silent(role, NoVerdict::PartOfNonce { given, wanted }, None);
        }
        (Role::Author | Role::Finisher | Role::Planner, Some(Signature::RejectOnly)) | (_, None) => {
            return wrong_nonce(role);
        }
    };
    if fields.count("verdict") > 1 {
        return silent(role, NoVerdict::TwoVerdicts, Some("it gives the key `verdict` twice"));
    }
    if let Some(key) = fields.repeated() {
        return unread(role, format!("it gives the key `{key}` twice"));
    }
    let usage = usage::of(fields.get("usage"));
    match role {
        Role::Reviewer => {
            let review = match (review(&fields), signed) {
                (Ok(review), Signature::RejectOnly) if review.verdict == Verdict::Accept => {
                    return wrong_nonce(role);
                }
                (Ok(review), Signature::RejectOnly | Signature::Whole) => Ok(review),
                (Err(what), _) => Err(NoVerdict::Unreadable { what }),
            };
            ParsedReport { report: Report::Review(review), usage, unread: None, answer: None }
        }
        Role::Author | Role::Finisher => match claim(&fields) {
            Ok(claim) => ParsedReport { report: Report::Author(claim), usage, unread: None, answer: None },
            Err(what) => ParsedReport { report: Report::None, usage, unread: Some(what), answer: None },
        },
        Role::Planner => {
            let answer = Some(fields.into_value());
            ParsedReport { report: Report::None, usage, unread: None, answer }
        }
    }
}

/// What a reviewer signs a reject with: half of its nonce. A report lies where whatever the reviewer runs can read it,
/// and half of a nonce does not make an accept.
pub(crate) fn reject_nonce(nonce: &Nonce) -> &str {
    let text = nonce.as_str();
    &text[..text.floor_char_boundary(text.len() / 2)]
}

#[derive(Clone, Copy)]
enum Signature {
    Whole,
    RejectOnly,
}

impl Signature {
    fn of(fields: &Fields, nonce: &Nonce) -> Option<Self> {
        if fields.is_text("nonce", nonce.as_str()) {
            return Some(Self::Whole);
        }
        fields.is_text("nonce", reject_nonce(nonce)).then_some(Self::RejectOnly)
    }
}

/// A reviewer that means to reject and counted wrong.
fn signs_reject_in_part(fields: &Fields, nonce: &Nonce) -> bool {
    let given = fields.get("nonce").and_then(Value::as_str).unwrap_or_default();
    !given.is_empty()
        && nonce.as_str().starts_with(given)
        && fields.is_text("verdict", Verdict::Reject.name())
}

fn wrong_nonce(role: Role) -> ParsedReport {
    silent(role, NoVerdict::WrongNonce, Some("it does not carry this attempt's nonce"))
}

/// The same of what an output schema gave. The nonce is one of its fields.
pub fn parse_value(value: &Value, role: Role, nonce: &Nonce) -> ParsedReport {
    parse(value.to_string().as_bytes(), role, nonce)
}

/// What an agent reports that was held to a schema; no answer in that form is no report.
pub fn of_answer(answer: Option<&Value>, role: Role, nonce: &Nonce) -> ParsedReport {
    answer.map_or_else(|| absent(role), |value| parse_value(value, role, nonce))
}

impl ParsedReport {
    /// An author without a report may have claimed something in its last words.
    #[must_use]
    pub fn or_claim(self, role: Role, claim: impl FnOnce() -> Option<Claim>) -> Self {
        match (role, &self.report) {
            (Role::Author | Role::Finisher, Report::None) if self.unread.is_none() => {
                Self { report: claim().map_or(Report::None, Report::Author), ..self }
            }
            _ => self,
        }
    }
}

/// A text that is one JSON object and nothing else, and gives no key twice.
pub(crate) fn strict_object(text: &[u8]) -> Option<Value> {
    match json::read(text) {
        Document::Object(pairs) => {
            let fields = Fields::new(pairs);
            fields.repeated().is_none().then(|| fields.into_value())
        }
        Document::Two | Document::Unreadable { .. } => None,
    }
}

/// What is heard of a turn that never began.
pub fn absent(role: Role) -> ParsedReport {
    silent(role, NoVerdict::NoReport, None)
}

fn unread(role: Role, what: String) -> ParsedReport {
    let told = what.clone();
    silent(role, NoVerdict::Unreadable { what }, Some(&told))
}

fn silent(role: Role, why: NoVerdict, unread: Option<&str>) -> ParsedReport {
    match role {
        Role::Reviewer => {
            ParsedReport { report: Report::Review(Err(why)), usage: None, unread: None, answer: None }
        }
        Role::Author | Role::Finisher | Role::Planner => {
            let unread = unread.map(str::to_owned);
            ParsedReport { report: Report::None, usage: None, unread, answer: None }
        }
    }
}

fn claim(fields: &Fields) -> Result<Claim, String> {
    let status = fields.one_of(
        "status",
        &[
            ("complete", ClaimStatus::Complete),
            ("continue", ClaimStatus::Continue),
            ("blocked", ClaimStatus::Blocked),
        ],
    )?;
    Ok(Claim {
        status,
        summary: fields.text("summary")?,
        blockers: fields.texts("blockers")?,
        next: fields.texts("next")?,
        plan: fields.lines("plan"),
        checks: fields.checks("checks"),
        amendments: fields.amendments("amendments"),
    })
}

fn review(fields: &Fields) -> Result<Review, String> {
    let verdict = fields.one_of("verdict", &[("accept", Verdict::Accept), ("reject", Verdict::Reject)])?;
    let mut criteria = fields.objects("criteria", criterion)?;
    let mut findings = fields.objects("findings", finding)?;
    // Cut from the end, so what speaks against an accept must not stand there.
    criteria.sort_by_key(|criterion| criterion.met == Met::Yes);
    findings.sort_by_key(|finding| finding.severity != windlass_core::finding::Severity::Bug);
    criteria.truncate(LIST_ITEMS);
    findings.truncate(LIST_ITEMS);
    Ok(Review {
        verdict,
        summary: fields.text("summary")?,
        criteria,
        findings,
        resolved: fields.texts("resolved")?.into_iter().map(FindingId::new).collect(),
        pending: fields.texts("pending")?,
        blocker: fields.text("blocker")?,
    })
}

fn criterion(fields: &Fields) -> Result<Criterion, String> {
    Ok(Criterion {
        text: fields.text("text")?,
        met: fields.one_of("met", &[("yes", Met::Yes), ("no", Met::No), ("unknown", Met::Unknown)])?,
        place: fields.text("where")?,
    })
}

fn finding(fields: &Fields) -> Result<ReportedFinding, String> {
    use windlass_core::finding::Severity;
    let description = fields.text("description")?;
    if description.trim().is_empty() {
        return Err("`description` is empty".to_owned());
    }
    Ok(ReportedFinding {
        file: fields.text("file")?,
        line: fields.number("line")?,
        severity: fields.one_of("severity", &[("bug", Severity::Bug), ("warning", Severity::Warning)])?,
        description,
        scenario: fields.text("scenario")?,
    })
}
