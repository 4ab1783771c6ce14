//! What an attempt left behind, as a commit in the vault and measured facts.

use windlass_core::effect;
use windlass_core::finding::{Evidence, Rule, Touch};
use windlass_core::id::TreeId;
use windlass_core::input::{Change, Input, Snapshotted};
use windlass_core::outcome::Fault;
use windlass_gate::{Protection, watched};
use windlass_workspace::{
    BString, ChangeKind, CommitText, ReadFiles, SnapshotRequest, SpaceError, StoredSnapshot, TreeChange,
    WorkspaceEvidence as Seen,
};

use super::prepare::{ready, rules};
use super::{Guard, Job, Performed, SpaceDesk, Workshop, fault, lock};
use crate::weaken::Defence;

/// How many paths of a kind are told, and findings opened, at once.
const LISTED: usize = 100;
const FINDINGS: usize = 25;
/// How much of a diff a finding carries.
const DIFF_BYTES: usize = 2 << 10;

pub(super) fn snapshot(shop: &Workshop, job: &Job, wanted: &effect::Snapshot) -> Performed {
    let mut desk = lock(&shop.space);
    let taken = match record(shop, job, &mut desk, wanted) {
        Err(SpaceError::Gone { .. }) => {
            ready(shop, job, &mut desk, &wanted.from)?;
            record(shop, job, &mut desk, wanted)
        }
        taken => taken,
    };
    let taken = taken.map_err(|error| fault(&error))?;
    desk.touched = false;
    drop(desk);
    let name = format!("refs/windlass/{}/{:06}", job.creation.name, wanted.attempt.0);
    shop.vault.set_ref(&name, &taken.commit).map_err(|error| fault(&error))?;
    let told = measure(shop, job, wanted, taken)?;
    Ok(Input::Snapshotted(Box::new(told)))
}

fn record(
    shop: &Workshop,
    job: &Job,
    desk: &mut SpaceDesk,
    wanted: &effect::Snapshot,
) -> Result<StoredSnapshot, SpaceError> {
    let text = CommitText {
        message: message(job, wanted),
        author: shop.repository.identity.clone(),
        date_ms: wanted.date * 1000,
    };
    let rules = rules(shop, &wanted.base, &job.policy.brought());
    let parents = [wanted.parent.clone()];
    let request =
        SnapshotRequest { rules: &rules, parents: &parents, text: &text, reading: ReadFiles::Changed };
    desk.space.snapshot(&shop.vault, &request)
}

fn message(job: &Job, wanted: &effect::Snapshot) -> String {
    let task = wanted.task.as_ref().map_or_else(String::new, |task| format!("Windlass-Task: {task}\n"));
    format!("{}\n\nWindlass-Loop: {}\n{task}", wanted.title, job.creation.name)
}

/// The change against the task's base, what of it is protected, and the tree
/// with that put back.
fn measure(
    shop: &Workshop,
    job: &Job,
    wanted: &effect::Snapshot,
    taken: StoredSnapshot,
) -> Result<Snapshotted, Fault> {
    let changes = shop.vault.diff(&wanted.base, &taken.tree).map_err(|error| fault(&error))?;
    let protection = protection(shop, job, &wanted.base)?;
    let touched = match shop.is_weak(Defence::Protect) {
        true => Vec::new(),
        false => protected(shop, &protection, &wanted.base, (&taken.tree, &changes))?,
    };
    let gate_tree = if touched.is_empty() {
        taken.tree.clone()
    } else {
        shop.vault.graft(&taken.tree, &wanted.base, &touched).map_err(|error| fault(&error))?
    };
    let unlike = wanted.from != taken.tree;
    let whitespace_only =
        unlike && shop.vault.whitespace_only(&wanted.from, &taken.tree).map_err(|error| fault(&error))?;
    let evidence = match shop.is_weak(Defence::Evidence) {
        true => Vec::new(),
        false => evidence(shop, (&wanted.base, &taken), &changes, (&protection, &touched))?,
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

fn protection(shop: &Workshop, job: &Job, base: &TreeId) -> Result<Protection, Fault> {
    let in_base = |path: &str| matches!(shop.vault.read_blob(base, path.as_bytes()), Ok(Some(_)));
    let gate = &job.policy.gate;
    let mut last = lock(&shop.protection);
    if let Some(last) = last.as_ref().filter(|last| last.allow == job.allow) {
        return Ok(last.protection.rebased(gate, &in_base));
    }
    let protection = Protection::new(gate, &job.allow, &in_base).map_err(|error| fault(&error))?;
    *last = Some(Guard { allow: job.allow.clone(), protection: protection.clone() });
    Ok(protection)
}

/// Every rule that the change breaks, each with the beginning of what shows it.
fn evidence(
    shop: &Workshop,
    (base, taken): (&TreeId, &StoredSnapshot),
    changes: &[TreeChange],
    (protection, touched): (&Protection, &[BString]),
) -> Result<Vec<Evidence>, Fault> {
    let mut found: Vec<(Rule, BString, String)> = Vec::new();
    found.extend(touched.iter().map(|path| (Rule::ProtectedChanged, path.clone(), String::new())));
    found.extend(taken.evidence.iter().map(seen));
    for change in changes.iter().filter(|change| !touched.contains(&change.path)) {
        let path: &[u8] = change.path.as_ref();
        let rule = watched(path).filter(|_| !protection.is_allowed(path));
        found.extend(rule.map(|rule| (rule, change.path.clone(), String::new())));
    }
    found.truncate(FINDINGS);
    let told = |(rule, path, facts): (Rule, BString, String)| {
        let change = changes.iter().find(|change| change.path == path);
        let diff = match change {
            Some(_) => excerpt(shop, (base, &taken.tree), &path)?,
            None => String::new(),
        };
        let diff = [facts, diff].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n");
        Ok(Evidence { touch: change.map(touch), diff, ..Evidence::new(rule, shown(&path)) })
    };
    found.into_iter().map(told).collect()
}

/// The beginning of the diff of one path, as text.
pub(super) fn excerpt(
    shop: &Workshop,
    (old, new): (&TreeId, &TreeId),
    path: &BString,
) -> Result<String, Fault> {
    let text = shop.vault.diff_text_of(old, new, path, DIFF_BYTES).map_err(|error| fault(&error))?;
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
    shop: &Workshop,
    protection: &Protection,
    base: &TreeId,
    (tree, changes): (&TreeId, &[TreeChange]),
) -> Result<Vec<BString>, Fault> {
    let mut touched = Vec::new();
    for change in changes {
        let path: &[u8] = change.path.as_ref();
        let changed_scripts = protection.guards_scripts_of(path) && {
            let read = |tree| shop.vault.read_blob(tree, path).map_err(|error| fault(&error));
            windlass_gate::npm_scripts_changed(read(base)?.as_deref(), read(tree)?.as_deref())
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

/// The rule, the path, and what no diff can show.
fn seen(seen: &Seen) -> (Rule, BString, String) {
    let none = String::new();
    let (rule, path, facts) = match seen {
        Seen::EscapingSymlink { path, target } => {
            (Rule::EscapingSymlink, path, format!("-> {}", shown(target)))
        }
        Seen::FilteredPathChanged { path } => (Rule::FilteredPathChanged, path, none),
        Seen::GitlinkChanged { path } => (Rule::GitlinkChanged, path, none),
        Seen::TooLarge { path, bytes } => (Rule::FileTooLarge, path, format!("{bytes} bytes")),
        Seen::SpecialFile { path } => (Rule::SpecialFile, path, none),
        Seen::UnsafeName { path } | Seen::TooDeep { path } => (Rule::UnsafeName, path, none),
        Seen::CollisionAttack { path, .. } => (Rule::CollisionAttack, path, none),
        Seen::Unreadable { path, error } => (Rule::Unreadable, path, error.clone()),
    };
    (rule, path.clone(), facts)
}

pub(super) fn shown(path: &BString) -> String {
    String::from_utf8_lossy(path.as_ref()).into_owned()
}
