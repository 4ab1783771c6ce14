//! Findings: opened, carried and resolved from evidence and from reviews.

use super::{Draft, verify};
use crate::event::FindingEvent;
use crate::finding::{Evidence, Finding, Life, Origin, Rule, Severity, Subject};
use crate::gate::GateSummary;
use crate::id::{FindingId, TaskId};
use crate::state::State;
use crate::task::how_to_allow;
use crate::verdict::{ReportedFinding, Review, Verdict};

/// Evidence is recomputed on every snapshot: what no longer holds resolves by
/// itself.
pub(super) fn measured(draft: &mut Draft, evidence: &[Evidence]) {
    settle(draft, &[Subject::Tree, Subject::Review], evidence);
}

/// The same for what a run of the gate shows, new or used again.
pub(super) fn gated(draft: &mut Draft, summary: &GateSummary) {
    let mut evidence = summary.evidence();
    if summary.needs_terms && !verify::reviewer_judges_terms(&draft.state) {
        evidence.push(terms_changed(&draft.state, summary));
    }
    // A red check is asked neither of these, so they stay until it is.
    let unasked = |rule: Rule| {
        matches!(rule, Rule::WrittenDuringCheck | Rule::GateNotSensitive)
            && !summary.passed
            && evidence.iter().all(|seen| seen.rule != rule)
    };
    settle_but(draft, &[Subject::Gate], &evidence, &unasked);
}

/// The checks are green only with terms that the work changed, and nobody comes
/// who may decide that.
fn terms_changed(state: &State, summary: &GateSummary) -> Evidence {
    let changed = state.terms_under_review();
    let added = state.current.as_ref().and(state.recorded.as_ref()).map(|recorded| &recorded.added_tests);
    let (paths, which) = match added.filter(|_| changed.is_empty()) {
        Some(added) => (added, "tests that the work itself added"),
        None => (changed, "terms that the work itself changed"),
    };
    let red: Vec<String> = summary
        .failing
        .iter()
        .map(|failing| format!("check {}: {}", failing.check, failing.reason.words()))
        .collect();
    let detail = format!(
        "green only with {which} ({}); without them {}. If the work needs them, {}",
        paths.words(),
        red.join("; "),
        how_to_allow(&state.creation.name, state.current_task(), &paths.paths),
    );
    let path = paths.paths.first().cloned().unwrap_or_default();
    let diff = summary.failing.first().map_or_else(String::new, |failing| failing.excerpt.clone());
    Evidence { detail, diff, ..Evidence::new(Rule::TermsChanged, path) }
}

/// Whether the operator has waived that the work in hand needs its own terms.
pub(super) fn terms_waived(state: &State, summary: &GateSummary) -> bool {
    let (task, seen) = (state.current_task(), terms_changed(state, summary));
    summary.needs_terms
        && state.findings.values().any(|finding| {
            finding.life == Life::Waived
                && finding.task.as_ref() == task
                && finding.is_same(Origin::Evidence(seen.rule), &seen.path, &seen.words())
        })
}

/// What a review left behind is thrown away with the workspace; it is told.
pub(super) fn left_by_reviewer(draft: &mut Draft, evidence: &[Evidence]) {
    settle(draft, &[Subject::Review], evidence);
}

fn settle(draft: &mut Draft, subjects: &[Subject], evidence: &[Evidence]) {
    settle_but(draft, subjects, evidence, &|_| false);
}

fn settle_but(
    draft: &mut Draft,
    subjects: &[Subject],
    evidence: &[Evidence],
    unasked: &dyn Fn(Rule) -> bool,
) {
    let (mut gone, mut otherwise) = (Vec::new(), Vec::new());
    for finding in open_of_task(draft) {
        let Origin::Evidence(rule) = finding.origin else { continue };
        if !subjects.contains(&rule.subject()) || unasked(rule) {
            continue;
        }
        let same = |e: &&Evidence| finding.is_same(Origin::Evidence(e.rule), &e.path, &e.words());
        match evidence.iter().find(same) {
            None => gone.push(finding.id.clone()),
            Some(seen) if seen.diff != finding.diff => {
                otherwise.push((finding.id.clone(), seen.diff.clone()))
            }
            Some(_) => {}
        }
    }
    for finding in gone {
        draft.emit(FindingEvent::Resolved { finding });
    }
    for (finding, diff) in otherwise {
        draft.emit(FindingEvent::Remeasured { finding, diff });
    }
    for seen in evidence {
        open(draft, Found::from(seen));
    }
}

/// An accept speaks for the whole tree: the reviewer was shown what is open.
/// After a reject only what it names as resolved is.
pub(super) fn reviewed(draft: &mut Draft, review: &Review) {
    let (mut resolved, mut carried) = (Vec::new(), Vec::new());
    for finding in open_of_task(draft).filter(|finding| finding.origin == Origin::Reviewer) {
        let again =
            review.findings.iter().any(|f| finding.is_same(Origin::Reviewer, &f.file, &f.description));
        let named = review.resolved.contains(&finding.id);
        if !again && (named || review.verdict == Verdict::Accept) {
            resolved.push(finding.id.clone());
        } else {
            carried.push(finding.id.clone());
        }
    }
    for finding in resolved {
        draft.emit(FindingEvent::Resolved { finding });
    }
    for finding in carried {
        draft.emit(FindingEvent::Carried { finding });
    }
    for reported in &review.findings {
        open(draft, Found::from(reported));
    }
}

/// The operator did not let the work land.
pub(super) fn rejected_by_operator(draft: &mut Draft, why: &str) {
    let found = Found {
        origin: Origin::Operator,
        severity: Severity::Bug,
        file: String::new(),
        line: 0,
        description: why.to_owned(),
        scenario: String::new(),
        diff: String::new(),
    };
    open(draft, found);
}

struct Found {
    origin: Origin,
    severity: Severity,
    file: String,
    line: u32,
    description: String,
    scenario: String,
    diff: String,
}

impl From<&Evidence> for Found {
    fn from(seen: &Evidence) -> Self {
        Self {
            origin: Origin::Evidence(seen.rule),
            severity: seen.rule.severity(),
            file: seen.path.clone(),
            line: 0,
            description: seen.words(),
            scenario: String::new(),
            diff: seen.diff.clone(),
        }
    }
}

impl From<&ReportedFinding> for Found {
    fn from(reported: &ReportedFinding) -> Self {
        Self {
            origin: Origin::Reviewer,
            severity: reported.severity,
            file: reported.file.clone(),
            line: reported.line,
            description: reported.description.clone(),
            scenario: reported.scenario.clone(),
            diff: String::new(),
        }
    }
}

fn open(draft: &mut Draft, found: Found) {
    let task = task_of(draft);
    let known = draft.state.findings.values().any(|finding| {
        finding.task == task
            && finding.life != Life::Resolved
            && finding.is_same(found.origin, &found.file, &found.description)
    });
    if known {
        return;
    }
    let id = FindingId::new(format!("F{}", draft.state.findings.len() + 1));
    let iteration = draft.state.iterations;
    draft.emit(FindingEvent::Opened(Box::new(Finding {
        id,
        task,
        origin: found.origin,
        severity: found.severity,
        file: found.file,
        line: found.line,
        description: found.description,
        scenario: found.scenario,
        life: Life::Open,
        iteration,
        diff: found.diff,
    })));
}

fn task_of(draft: &Draft) -> Option<TaskId> {
    draft.state.current_task().cloned()
}

fn open_of_task(draft: &Draft) -> impl Iterator<Item = &Finding> {
    let task = task_of(draft);
    draft.state.findings.values().filter(move |finding| finding.task == task && finding.is_open())
}
