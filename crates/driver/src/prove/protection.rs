//! Protected paths: what landed changed none that was protected then.

use std::collections::BTreeSet;

use windlass_core::history::LandingRecord;
use windlass_core::id::TreeId;
use windlass_core::policy::GatePolicy;
use windlass_gate::{Protection, npm_scripts_changed};
use windlass_workspace::{BString, Item, ItemKind, VaultError};

use super::judged::{self, Wanted};
use super::steps::{StepResult, counted};
use super::{ProofSources, Protected, ProtectedFile};

/// The base's files that nobody may change at the end, and nobody has changed.
pub(super) fn protected_files(sources: &ProofSources<'_>) -> Result<Protected, String> {
    let base = &sources.history.state.creation.base_tree;
    let changed = changed_since_base(sources)?;
    let protection = at_the_end(sources)?;
    let listed = sources.vault.list_paths(base).map_err(|error| format!("the base's tree: {error}"))?;
    let guarded = listed
        .into_iter()
        .filter(|(path, _)| protection.is_protected(path.as_ref()) && !changed.contains(path));
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
    let protection = at_the_end(sources)?;
    let late = changed_since_base(sources)?.into_iter().filter(|path| protection.is_protected(path.as_ref()));
    let late = late.count();
    let words = format!("{} as in the base", counted(protected.files.len(), "file"));
    Ok(match late {
        0 => words,
        late => format!("{words}, {late} changed while not protected"),
    })
}

fn landed_soundly(
    sources: &ProofSources<'_>,
    before: &TreeId,
    landing: &LandingRecord,
) -> Result<(), String> {
    let history = sources.history;
    let judged_at =
        judged::find(history, Wanted::landed(landing, &landing.tree)).map_or(landing.event, |run| run.event);
    let allow = landing.task.as_ref().map_or(&[][..], |task| &task.allow);
    let protection = protection(sources, &history.policy_at(judged_at).gate, allow, before)?;
    let unread = |error: VaultError| format!("the tree of commit {}: {error}", landing.commit);
    for change in sources.vault.diff(before, &landing.tree).map_err(unread)? {
        let path: &[u8] = change.path.as_ref();
        let scripts = protection.guards_scripts_of(path) && {
            let read = |tree| sources.vault.read_blob(tree, path).map_err(unread);
            npm_scripts_changed(read(before)?.as_deref(), read(&landing.tree)?.as_deref())
        };
        if protection.is_protected(path) || scripts {
            let path = String::from_utf8_lossy(path);
            return Err(format!("commit {} changes the protected path {path}", landing.commit));
        }
    }
    Ok(())
}

/// What a task that landed was allowed to change is not protected.
fn at_the_end(sources: &ProofSources<'_>) -> Result<Protection, String> {
    let history = sources.history;
    let landed = history.past.landings.iter().filter_map(|landing| landing.task.as_ref());
    let allow: Vec<String> = landed.flat_map(|task| task.allow.clone()).collect();
    protection(sources, &history.final_policy().gate, &allow, &history.state.creation.base_tree)
}

fn protection(
    sources: &ProofSources<'_>,
    gate: &GatePolicy,
    allow: &[String],
    base: &TreeId,
) -> Result<Protection, String> {
    let in_base = |path: &str| matches!(sources.vault.read_blob(base, path.as_bytes()), Ok(Some(_)));
    Protection::new(gate, allow, &in_base).map_err(|error| error.to_string())
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
