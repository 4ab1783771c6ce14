//! What an attempt left behind, as a commit in the vault and measured facts.

use std::sync::Arc;

use windlass_core::effect;
use windlass_core::finding::{Evidence, Rule, Touch};
use windlass_core::id::TreeId;
use windlass_core::input::{Change, Input, Snapshotted};
use windlass_core::outcome::Fault;
use windlass_core::task::how_to_allow;
use windlass_gate::{BaseTerms, PathRules, watched};
use windlass_workspace::{
    BString, ChangeKind, CommitText, ReadFiles, SnapshotRequest, SpaceError, StoredSnapshot, TreeChange,
    WorkspaceEvidence,
};

use super::prepare::{filled, reset, rules};
use super::scope;
use super::{CachedRules, EffectRequest, EffectResources, Performed, fault, lock};
use crate::hidden::{self, is_hidden};
use crate::terms::{self, BASE_TERMS_LIMIT, TermsRequest, TreeDiff, forbidden, graft};
use crate::weaken::Defence;

/// How many paths of a kind are told, and findings opened, at once.
pub(super) const LISTED: usize = 100;
const FINDINGS: usize = 25;
/// How much of a diff a finding carries.
const DIFF_BYTES: usize = 2 << 10;

pub(super) fn snapshot(
    resources: &EffectResources,
    request: &EffectRequest,
    wanted: &effect::Snapshot,
) -> Performed {
    let mut workspace = lock(&resources.workspace);
    let rules = rules(resources, request, &wanted.base)?;
    let text = CommitText {
        message: message(request, wanted),
        author: resources.repository.identity.clone(),
        date_ms: wanted.date * 1000,
    };
    let parents = [wanted.parent.clone()];
    let asked =
        SnapshotRequest { rules: &rules, parents: &parents, text: &text, reading: ReadFiles::Changed };
    let (taken, gone) = match workspace.space.snapshot(&resources.vault, &asked) {
        Err(SpaceError::Gone { path }) => {
            reset(resources, request, &mut workspace, &wanted.from)?;
            (workspace.space.snapshot(&resources.vault, &asked), Some(path))
        }
        taken => (taken, None),
    };
    let mut taken = taken.map_err(|error| fault(&error))?;
    workspace.touched = false;
    drop(workspace);
    let whole = filled(resources, request, &taken.tree)?;
    if whole != taken.tree {
        taken.commit = resources.vault.commit(&whole, &parents, &text).map_err(|error| fault(&error))?;
        taken.tree = whole;
    }
    let name = format!("refs/windlass/{}/{:06}", request.creation.name, wanted.attempt.0);
    resources.vault.set_ref(&name, &taken.commit).map_err(|error| fault(&error))?;
    let mut measured = measure(resources, request, wanted, taken)?;
    // Its place is empty for another reason than that nothing was done.
    let gone = gone.map(|path| Evidence::new(Rule::WorkspaceGone, path.display().to_string()));
    measured.evidence.extend(gone);
    Ok(Input::Snapshotted(Box::new(measured)))
}

fn message(request: &EffectRequest, wanted: &effect::Snapshot) -> String {
    let task = wanted.task.as_ref().map_or_else(String::new, |task| format!("Windlass-Task: {task}\n"));
    format!("{}\n\nWindlass-Loop: {}\n{task}", wanted.title, request.creation.name)
}

/// The change against the task's base, what of it is protected, the tree with
/// that put back, and its product on trusted terms.
fn measure(
    resources: &EffectResources,
    request: &EffectRequest,
    wanted: &effect::Snapshot,
    taken: StoredSnapshot,
) -> Result<Snapshotted, Fault> {
    let changes = resources.vault.diff(&wanted.base, &taken.tree).map_err(|error| fault(&error))?;
    let diff = TreeDiff { base: &wanted.base, tree: &taken.tree, changes: &changes };
    let rules = path_rules(resources, request, &wanted.base)?;
    let touched = match resources.is_weak(Defence::Protect) {
        true => Vec::new(),
        false => forbidden(&resources.vault, &rules, &diff).map_err(|error| fault(&error))?,
    };
    let gate_tree =
        graft(&resources.vault, &taken.tree, &wanted.base, &touched).map_err(|error| fault(&error))?;
    let trusted = wanted.trusted.as_ref().unwrap_or(&wanted.base);
    let asked = TermsRequest { base: &wanted.base, trusted, landing: &gate_tree };
    let terms = terms::measure(&resources.vault, &rules, asked).map_err(|error| fault(&error))?;
    let has_tests = terms.trusted_tree.is_none() || has_tests(resources, &rules, trusted)?;
    let is_fix = request.task.as_ref().is_some_and(|task| request.policy.asks_for_regression_test(task));
    let with_tests = match is_fix {
        true => terms::with_added_tests(&resources.vault, &rules, &wanted.base, &gate_tree)
            .map_err(|error| fault(&error))?,
        false => None,
    };
    let unlike = wanted.from != taken.tree;
    let whitespace_only = unlike
        && resources.vault.whitespace_only(&wanted.from, &taken.tree).map_err(|error| fault(&error))?;
    let evidence = match resources.is_weak(Defence::Evidence) {
        true => Vec::new(),
        false => {
            let broken = broken_rules(&diff, &taken.evidence, &rules, &touched);
            let judged = JudgedDiff { diff: &diff, rules: &rules };
            let mut seen = evidence(resources, request, &judged, broken)?;
            seen.extend(scope::exceeded(resources, request, &diff)?);
            seen
        }
    };
    Ok(Snapshotted {
        commit: taken.commit,
        tree: taken.tree,
        gate_tree,
        trusted_tree: terms.trusted_tree,
        changed_terms: terms.changed,
        added_tests: terms.added_tests,
        with_tests,
        has_tests,
        change: summary(&changes),
        whitespace_only,
        evidence,
    })
}

/// It takes a look at every path of the tree, so the answer is kept.
fn has_tests(resources: &EffectResources, rules: &PathRules, tree: &TreeId) -> Result<bool, Fault> {
    let mut last = lock(&resources.rules);
    let known = last.as_ref().and_then(|last| last.has_tests.as_ref()).filter(|(of, _)| of == tree);
    if let Some((_, known)) = known {
        return Ok(*known);
    }
    let found = terms::has_tests(&resources.vault, rules, tree).map_err(|error| fault(&error))?;
    if let Some(last) = last.as_mut() {
        last.has_tests = Some((tree.clone(), found));
    }
    Ok(found)
}

pub(super) fn path_rules(
    resources: &EffectResources,
    request: &EffectRequest,
    base: &TreeId,
) -> Result<PathRules, Fault> {
    let read = |path: &str| resources.vault.read_blob(base, path.as_bytes()).ok().flatten();
    let policy = &request.policy;
    let mut last = lock(&resources.rules);
    let is_it = |last: &&CachedRules| {
        last.allow == request.allow && last.policy == *policy && last.base_terms == request.base_terms
    };
    if let Some(last) = last.as_ref().filter(is_it) {
        return Ok(last.rules.rebased(policy, &read));
    }
    let texts = request.base_terms.iter().map(|id| resources.blobs.text(id, BASE_TERMS_LIMIT));
    let texts = texts.collect::<Result<Vec<String>, Fault>>()?;
    let rules = PathRules::new(policy, &request.allow, &read).map_err(|error| fault(&error))?;
    let rules = hidden::extend(rules, policy, &resources.vault).map_err(|error| fault(&error))?;
    let rules = rules.with_base_terms(BaseTerms::read(texts.iter().map(String::as_str)));
    *last = Some(CachedRules {
        allow: request.allow.clone(),
        policy: Arc::clone(policy),
        base_terms: request.base_terms.clone(),
        rules: rules.clone(),
        has_tests: None,
        roles: None,
    });
    Ok(rules)
}

struct BrokenRule {
    rule: Rule,
    path: BString,
    /// What no diff can show.
    facts: String,
}

impl BrokenRule {
    fn new(rule: Rule, path: &BString) -> Self {
        Self { rule, path: path.clone(), facts: String::new() }
    }
}

fn broken_rules(
    diff: &TreeDiff<'_>,
    workspace: &[WorkspaceEvidence],
    rules: &PathRules,
    touched: &[BString],
) -> Vec<BrokenRule> {
    let mut found: Vec<BrokenRule> = Vec::new();
    found.extend(touched.iter().map(|path| BrokenRule::new(Rule::ProtectedChanged, path)));
    found.extend(workspace.iter().map(broken_in_workspace));
    for change in diff.changes.iter().filter(|change| !touched.contains(&change.path)) {
        let path: &[u8] = change.path.as_ref();
        let rule = watched(path).filter(|_| !rules.is_allowed(path));
        found.extend(rule.map(|rule| BrokenRule::new(rule, &change.path)));
    }
    found.truncate(FINDINGS);
    found
}

/// What changed, and what is protected of it.
struct JudgedDiff<'a> {
    diff: &'a TreeDiff<'a>,
    rules: &'a PathRules,
}

/// Each broken rule with the beginning of what shows it.
fn evidence(
    resources: &EffectResources,
    request: &EffectRequest,
    judged: &JudgedDiff<'_>,
    broken: Vec<BrokenRule>,
) -> Result<Vec<Evidence>, Fault> {
    let JudgedDiff { diff, rules } = *judged;
    let task = request.task.as_ref().map(|task| &task.id);
    let with_diff = |BrokenRule { rule, path, facts }: BrokenRule| {
        let change = diff.changes.iter().find(|change| change.path == path);
        let text = match change {
            // What is there, agents are not to see.
            Some(_) if is_hidden(rules, path.as_ref()) => String::new(),
            Some(_) => excerpt(resources, diff.base, diff.tree, &path)?,
            None => String::new(),
        };
        let detail = match change.filter(|_| rule == Rule::ProtectedChanged) {
            Some(change) => terms::told_of_forbidden(&resources.vault, rules, diff, change),
            None => Ok(None),
        };
        let detail = detail.map_err(|error| fault(&error))?.map_or_else(String::new, |told| {
            let how = how_to_allow(&request.creation.name, task, &told.paths);
            format!("{}; the gate used the base's version. If the work needs it, {how}", told.done)
        });
        let diff = [facts, text].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n");
        Ok(Evidence { touch: change.map(touch), detail, diff, ..Evidence::new(rule, shown(&path)) })
    };
    broken.into_iter().map(with_diff).collect()
}

/// The beginning of the diff of one path, as text.
pub(super) fn excerpt(
    resources: &EffectResources,
    old: &TreeId,
    new: &TreeId,
    path: &BString,
) -> Result<String, Fault> {
    let text = resources.vault.diff_text_of(old, new, path, DIFF_BYTES).map_err(|error| fault(&error))?;
    let cut = if text.truncated { "\n… cut here" } else { "" };
    Ok(format!("{}{cut}", String::from_utf8_lossy(&text.bytes).trim_end()))
}

pub(super) fn touch(change: &TreeChange) -> Touch {
    match change.kind {
        ChangeKind::Added => Touch::Added,
        ChangeKind::Modified | ChangeKind::TypeChanged => Touch::Edited,
        ChangeKind::Deleted => Touch::Deleted,
    }
}

pub(super) fn summary(changes: &[TreeChange]) -> Change {
    let of = |kinds: &[ChangeKind]| {
        let listed = changes.iter().filter(|change| kinds.contains(&change.kind));
        listed.take(LISTED).map(|change| shown(&change.path)).collect()
    };
    Change {
        files: changes.len() as u64,
        created: of(&[ChangeKind::Added]),
        edited: of(&[ChangeKind::Modified, ChangeKind::TypeChanged]),
        deleted: of(&[ChangeKind::Deleted]),
    }
}

fn broken_in_workspace(seen: &WorkspaceEvidence) -> BrokenRule {
    let none = String::new();
    let (rule, path, facts) = match seen {
        WorkspaceEvidence::EscapingSymlink { path, target } => {
            (Rule::EscapingSymlink, path, format!("-> {}", shown(target)))
        }
        WorkspaceEvidence::FilteredPathChanged { path } => (Rule::FilteredPathChanged, path, none),
        WorkspaceEvidence::GitlinkChanged { path } => (Rule::GitlinkChanged, path, none),
        WorkspaceEvidence::TooLarge { path, bytes } => (Rule::FileTooLarge, path, format!("{bytes} bytes")),
        WorkspaceEvidence::SpecialFile { path } => (Rule::SpecialFile, path, none),
        WorkspaceEvidence::UnsafeName { path } | WorkspaceEvidence::TooDeep { path } => {
            (Rule::UnsafeName, path, none)
        }
        WorkspaceEvidence::CollisionAttack { path, .. } => (Rule::CollisionAttack, path, none),
        WorkspaceEvidence::Unreadable { path, error } => (Rule::Unreadable, path, error.clone()),
    };
    BrokenRule { facts, ..BrokenRule::new(rule, path) }
}

pub(super) fn shown(path: &BString) -> String {
    String::from_utf8_lossy(path.as_ref()).into_owned()
}
