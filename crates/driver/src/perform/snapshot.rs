//! What an attempt left behind, as a commit in the vault and measured facts.

use windlass_core::effect;
use windlass_core::finding::{Evidence, Rule, Touch};
use windlass_core::id::TreeId;
use windlass_core::input::{Change, Input, Snapshotted};
use windlass_core::outcome::Fault;
use windlass_gate::{Protection, watched};
use windlass_workspace::{
    BString, ChangeKind, CommitText, ReadFiles, SnapshotRequest, SpaceError, StoredSnapshot, TreeChange,
    WorkspaceEvidence,
};

use super::prepare::{reset, rules};
use super::{CachedProtection, EffectRequest, EffectResources, Performed, WorkspaceState, fault, lock};
use crate::weaken::Defence;

/// How many paths of a kind are told, and findings opened, at once.
const LISTED: usize = 100;
const FINDINGS: usize = 25;
/// How much of a diff a finding carries.
const DIFF_BYTES: usize = 2 << 10;

pub(super) fn snapshot(
    resources: &EffectResources,
    request: &EffectRequest,
    wanted: &effect::Snapshot,
) -> Performed {
    let mut workspace = lock(&resources.workspace);
    let taken = match record(resources, request, &mut workspace, wanted) {
        Err(SpaceError::Gone { .. }) => {
            reset(resources, request, &mut workspace, &wanted.from)?;
            record(resources, request, &mut workspace, wanted)
        }
        taken => taken,
    };
    let taken = taken.map_err(|error| fault(&error))?;
    workspace.touched = false;
    drop(workspace);
    let name = format!("refs/windlass/{}/{:06}", request.creation.name, wanted.attempt.0);
    resources.vault.set_ref(&name, &taken.commit).map_err(|error| fault(&error))?;
    let measured = measure(resources, request, wanted, taken)?;
    Ok(Input::Snapshotted(Box::new(measured)))
}

fn record(
    resources: &EffectResources,
    request: &EffectRequest,
    workspace: &mut WorkspaceState,
    wanted: &effect::Snapshot,
) -> Result<StoredSnapshot, SpaceError> {
    let text = CommitText {
        message: message(request, wanted),
        author: resources.repository.identity.clone(),
        date_ms: wanted.date * 1000,
    };
    let rules = rules(resources, &wanted.base, &request.policy);
    let parents = [wanted.parent.clone()];
    let snapshot_request =
        SnapshotRequest { rules: &rules, parents: &parents, text: &text, reading: ReadFiles::Changed };
    workspace.space.snapshot(&resources.vault, &snapshot_request)
}

fn message(request: &EffectRequest, wanted: &effect::Snapshot) -> String {
    let task = wanted.task.as_ref().map_or_else(String::new, |task| format!("Windlass-Task: {task}\n"));
    format!("{}\n\nWindlass-Loop: {}\n{task}", wanted.title, request.creation.name)
}

/// The change against the task's base, what of it is protected, and the tree
/// with that put back.
fn measure(
    resources: &EffectResources,
    request: &EffectRequest,
    wanted: &effect::Snapshot,
    taken: StoredSnapshot,
) -> Result<Snapshotted, Fault> {
    let changes = resources.vault.diff(&wanted.base, &taken.tree).map_err(|error| fault(&error))?;
    let diff = TreeDiff { base: &wanted.base, tree: &taken.tree, changes: &changes };
    let protection = protection(resources, request, &wanted.base)?;
    let touched = match resources.is_weak(Defence::Protect) {
        true => Vec::new(),
        false => protected(resources, &protection, &diff)?,
    };
    let gate_tree = if touched.is_empty() {
        taken.tree.clone()
    } else {
        resources.vault.graft(&taken.tree, &wanted.base, &touched).map_err(|error| fault(&error))?
    };
    let unlike = wanted.from != taken.tree;
    let whitespace_only = unlike
        && resources.vault.whitespace_only(&wanted.from, &taken.tree).map_err(|error| fault(&error))?;
    let evidence = match resources.is_weak(Defence::Evidence) {
        true => Vec::new(),
        false => {
            let broken = broken_rules(&diff, &taken.evidence, &protection, &touched);
            evidence(resources, &diff, broken)?
        }
    };
    Ok(Snapshotted {
        commit: taken.commit,
        tree: taken.tree,
        gate_tree,
        change: summary(&changes),
        whitespace_only,
        evidence,
    })
}

fn protection(
    resources: &EffectResources,
    request: &EffectRequest,
    base: &TreeId,
) -> Result<Protection, Fault> {
    let in_base = |path: &str| matches!(resources.vault.read_blob(base, path.as_bytes()), Ok(Some(_)));
    let gate = &request.policy.gate;
    let mut last = lock(&resources.protection);
    if let Some(last) = last.as_ref().filter(|last| last.allow == request.allow && last.gate == *gate) {
        return Ok(last.protection.rebased(gate, &in_base));
    }
    let protection = Protection::new(gate, &request.allow, &in_base).map_err(|error| fault(&error))?;
    let (allow, gate) = (request.allow.clone(), gate.clone());
    *last = Some(CachedProtection { allow, gate, protection: protection.clone() });
    Ok(protection)
}

/// Two trees, and the paths in which they differ.
struct TreeDiff<'a> {
    base: &'a TreeId,
    tree: &'a TreeId,
    changes: &'a [TreeChange],
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
    protection: &Protection,
    touched: &[BString],
) -> Vec<BrokenRule> {
    let mut found: Vec<BrokenRule> = Vec::new();
    found.extend(touched.iter().map(|path| BrokenRule::new(Rule::ProtectedChanged, path)));
    found.extend(workspace.iter().map(broken_in_workspace));
    for change in diff.changes.iter().filter(|change| !touched.contains(&change.path)) {
        let path: &[u8] = change.path.as_ref();
        let rule = watched(path).filter(|_| !protection.is_allowed(path));
        found.extend(rule.map(|rule| BrokenRule::new(rule, &change.path)));
    }
    found.truncate(FINDINGS);
    found
}

/// Each broken rule with the beginning of what shows it.
fn evidence(
    resources: &EffectResources,
    diff: &TreeDiff<'_>,
    broken: Vec<BrokenRule>,
) -> Result<Vec<Evidence>, Fault> {
    let with_diff = |BrokenRule { rule, path, facts }: BrokenRule| {
        let change = diff.changes.iter().find(|change| change.path == path);
        let text = match change {
            Some(_) => excerpt(resources, diff.base, diff.tree, &path)?,
            None => String::new(),
        };
        let diff = [facts, text].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n");
        Ok(Evidence { touch: change.map(touch), diff, ..Evidence::new(rule, shown(&path)) })
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

fn protected(
    resources: &EffectResources,
    protection: &Protection,
    diff: &TreeDiff<'_>,
) -> Result<Vec<BString>, Fault> {
    let mut touched = Vec::new();
    for change in diff.changes {
        let path: &[u8] = change.path.as_ref();
        let changed_scripts = protection.guards_scripts_of(path) && {
            let read = |tree| resources.vault.read_blob(tree, path).map_err(|error| fault(&error));
            windlass_gate::npm_scripts_changed(read(diff.base)?.as_deref(), read(diff.tree)?.as_deref())
        };
        if protection.is_protected(path) || changed_scripts {
            touched.push(change.path.clone());
        }
    }
    Ok(touched)
}

fn summary(changes: &[TreeChange]) -> Change {
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
