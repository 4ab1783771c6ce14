//! Trusted terms: each landing that changed terms, or added tests, was judged
//! without them as well.

use windlass_core::gate::Purpose;
use windlass_core::history::LandingRecord;
use windlass_core::id::TreeId;
use windlass_workspace::VaultError;

use super::ProofSources;
use super::judged::{self, Wanted};
use super::protection::rules_of;
use super::steps::{StepResult, counted};
use crate::terms::{self, TermsMeasured, TermsRequest};

pub(super) fn judged_on_trusted(sources: &ProofSources<'_>) -> StepResult {
    let state = &sources.history.state;
    let Some(at_start) = &state.creation.trusted else {
        return Ok("not looked at: this loop is of before windlass judged on trusted terms".to_owned());
    };
    let (mut trusted, mut before) = (at_start, &state.creation.base_tree);
    let mut without = Vec::new();
    for landing in sources.history.past.landings.iter() {
        if landing.tree != *before {
            let measured = judged(sources, landing, trusted, before)?;
            without.extend(measured.changed.paths);
        }
        trusted = landing.trusted.as_ref().unwrap_or(&landing.tree);
        before = &landing.tree;
    }
    let whole = judged::find(sources.history, Wanted::whole(sources.history, before));
    let wanted = Some(trusted).filter(|trusted| *trusted != before);
    match whole {
        Some(run) if run.purpose == Purpose::Final && run.trusted.as_ref() != wanted => {
            Err("the final gate was not run on the terms that were trusted".to_owned())
        }
        Some(_) | None => Ok(words(sources, without)),
    }
}

/// What the trial on trusted terms was, is measured anew: the recorded tree must be the one.
fn judged(
    sources: &ProofSources<'_>,
    landing: &LandingRecord,
    trusted: &TreeId,
    before: &TreeId,
) -> Result<TermsMeasured, String> {
    let unread = |error: VaultError| format!("the tree of commit {}: {error}", landing.commit);
    let rules = rules_of(sources, landing, before)?;
    let request = TermsRequest { base: before, trusted, landing: &landing.tree };
    let measured = terms::measure(sources.vault, &rules, request).map_err(unread)?;
    let run = judged::find(sources.history, Wanted::landed(landing, &landing.tree));
    let recorded = run.and_then(|run| run.trusted.as_ref());
    let has_checks = run.is_some();
    let baseline = sources.history.state.baseline.as_ref();
    let untested = || {
        let has_tests = terms::has_tests(sources.vault, &rules, trusted).map_err(unread)?;
        Ok::<bool, String>(!has_tests && baseline.is_some_and(|baseline| !baseline.passed))
    };
    match (&measured.trusted_tree, recorded) {
        (wanted, recorded) if wanted.as_ref() == recorded => {}
        (_, _) if !has_checks => {}
        (Some(_), None) if untested()? => {}
        (_, _) => {
            return Err(format!("commit {} was not judged on the terms that were trusted", landing.commit));
        }
    }
    Ok(measured)
}

fn words(sources: &ProofSources<'_>, mut changed: Vec<String>) -> String {
    let state = &sources.history.state;
    changed.sort();
    changed.dedup();
    let unaccepted = &state.changed_terms;
    changed.retain(|path| !unaccepted.paths.contains(path));
    let mut parts = Vec::new();
    if !unaccepted.is_empty() {
        let count = counted(usize::try_from(unaccepted.count).unwrap_or(usize::MAX), "changed term");
        parts.push(format!("{count} accepted by nobody ({})", unaccepted.words()));
    }
    if !changed.is_empty() {
        parts.push(format!("{} accepted ({})", counted(changed.len(), "changed term"), changed.join(", ")));
    }
    if parts.is_empty() {
        parts.push("no term of the trial was changed".to_owned());
    }
    if state.policy().gate.product.is_empty() {
        parts.push("weaker: gate.product is not set".to_owned());
    }
    parts.join("; ")
}
