//! Protected paths: what landed changed none that was protected then.

use std::collections::BTreeSet;

use windlass_core::gate::Purpose;
use windlass_core::history::{GateRecord, LandingRecord};
use windlass_core::id::{BlobId, TreeId};
use windlass_core::policy::Policy;
use windlass_gate::{BaseTerms, PathRules};
use windlass_workspace::{BString, Item, ItemKind, VaultError};

use super::judged::{self, Wanted};
use super::steps::{StepResult, counted};
use super::{ProofSources, Protected, ProtectedFile};
use crate::hidden;
use crate::terms::{BASE_TERMS_LIMIT, TreeDiff, forbidden};

/// The base's files that nobody may change at the end, and nobody has changed.
pub(super) fn protected_files(sources: &ProofSources<'_>) -> Result<Protected, String> {
    let base = &sources.history.state.creation.base_tree;
    let changed = changed_since_base(sources)?;
    let rules = at_the_end(sources)?;
    let listed = sources.vault.list_paths(base).map_err(|error| format!("the base's tree: {error}"))?;
    let guarded =
        listed.into_iter().filter(|(path, _)| rules.is_protected(path.as_ref()) && !changed.contains(path));
    let files: Vec<ProtectedFile> = guarded.map(|(path, item)| file(path.as_ref(), item)).collect();
    let lines: String =
        files.iter().map(|file| format!("{} {} {}\n", file.mode, file.blob, file.path)).collect();
    Ok(Protected { hash: blake3::hash(lines.as_bytes()).to_hex().to_string(), files })
}

/// Each landing is held against the policy and the task it was judged by.
pub(super) fn unchanged(sources: &ProofSources<'_>, protected: &Protected) -> StepResult {
    sources.history.landed_point().ok_or_else(|| "nothing has landed".to_owned())?;
    let mut before = &sources.history.state.creation.base_tree;
    for landing in sources.history.past.landings.iter() {
        if landing.tree != *before {
            landed_soundly(sources, before, landing)?;
        }
        before = &landing.tree;
    }
    let rules = at_the_end(sources)?;
    let other = changed_since_base(sources)?.into_iter().filter(|path| rules.is_protected(path.as_ref()));
    let words = format!("{} as in the base", counted(protected.files.len(), "file"));
    Ok(match other.count() {
        0 => words,
        other => format!("{words}; {other} added or changed"),
    })
}

fn landed_soundly(
    sources: &ProofSources<'_>,
    before: &TreeId,
    landing: &LandingRecord,
) -> Result<(), String> {
    let rules = rules_of(sources, landing, before)?;
    let unread = |error: VaultError| format!("the tree of commit {}: {error}", landing.commit);
    let changes = sources.vault.diff(before, &landing.tree).map_err(unread)?;
    let diff = TreeDiff { base: before, tree: &landing.tree, changes: &changes };
    match forbidden(sources.vault, &rules, &diff).map_err(unread)?.first() {
        None => Ok(()),
        Some(path) => {
            let path = String::from_utf8_lossy(path.as_ref());
            Err(format!("commit {} changes the protected path {path}", landing.commit))
        }
    }
}

/// What paths were to the gate that judged this landing.
pub(super) fn rules_of(
    sources: &ProofSources<'_>,
    landing: &LandingRecord,
    before: &TreeId,
) -> Result<PathRules, String> {
    let history = sources.history;
    let judged_at =
        judged::find(history, Wanted::landed(landing, &landing.tree)).map_or(landing.event, |run| run.event);
    let allow = landing.task.as_ref().map_or(&[][..], |task| &task.allow);
    let policy = history.policy_at(judged_at).judging(landing.task.as_ref());
    let rules = rules(sources, &policy, allow, before)?;
    Ok(rules.with_base_terms(base_terms(sources, judged_at)?))
}

/// What the base had shown to be no product, by the last baseline of the gate that judged then.
fn base_terms(sources: &ProofSources<'_>, judged_at: u64) -> Result<BaseTerms, String> {
    let history = sources.history;
    let same_gate = |run: &&GateRecord| {
        let (from, then) = (run.event, history.policy_at(run.event));
        let later = history.past.policies.iter().filter(|of| of.event > from && of.event <= judged_at);
        later.into_iter().all(|of| of.policy.has_gate_of(then))
    };
    let baselines = history.past.gates.iter().filter(|run| run.purpose == Purpose::Baseline);
    let baselines = baselines.filter(|run| run.event <= judged_at).filter(same_gate);
    let results = baselines.flat_map(|run| &run.results);
    let ids = results.filter_map(|of| of.result.writes.as_ref()?.terms.as_ref());
    let read = |id: &BlobId| {
        let bytes = sources.reader.blob(id, BASE_TERMS_LIMIT);
        let bytes = bytes.map_err(|error| format!("what the base showed to be no product: {error}"))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let texts = ids.map(read).collect::<Result<Vec<String>, String>>()?;
    Ok(BaseTerms::read(texts.iter().map(String::as_str)))
}

/// What a task that landed was allowed to change is not protected.
fn at_the_end(sources: &ProofSources<'_>) -> Result<PathRules, String> {
    let history = sources.history;
    let landed = history.past.landings.iter().filter_map(|landing| landing.task.as_ref());
    let allow: Vec<String> = landed.flat_map(|task| task.allow.clone()).collect();
    rules(sources, history.final_policy(), &allow, &history.state.creation.base_tree)
}

fn rules(
    sources: &ProofSources<'_>,
    policy: &Policy,
    allow: &[String],
    base: &TreeId,
) -> Result<PathRules, String> {
    let read = |path: &str| sources.vault.read_blob(base, path.as_bytes()).ok().flatten();
    let rules = PathRules::new(policy, allow, &read).map_err(|error| error.to_string())?;
    hidden::extend(rules, policy, sources.vault).map_err(|error| error.to_string())
}

fn changed_since_base(sources: &ProofSources<'_>) -> Result<BTreeSet<BString>, String> {
    let Some(landed) = sources.history.landed_point() else { return Ok(BTreeSet::new()) };
    let base = &sources.history.state.creation.base_tree;
    let changes = sources.vault.diff(base, &landed.tree);
    let changes = changes.map_err(|error| format!("the landed tree: {error}"))?;
    Ok(changes.into_iter().map(|change| change.path).collect())
}

fn file(path: &[u8], item: Item) -> ProtectedFile {
    let mode = match item.kind {
        ItemKind::File => "100644",
        ItemKind::Executable => "100755",
        ItemKind::Link => "120000",
        ItemKind::Gitlink => "160000",
    };
    ProtectedFile {
        path: String::from_utf8_lossy(path).into_owned(),
        mode: mode.to_owned(),
        blob: item.oid.to_string(),
    }
}
