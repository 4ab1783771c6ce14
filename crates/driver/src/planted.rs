//! Terms that an earlier loop landed and nobody accepted, and tests that it added or added to: a later
//! loop that starts from them is not judged by them alone. Else one loop plants what the next one trusts:
//! one line switches an old test off as well as a setting does.

use std::collections::BTreeSet;

use windlass_core::event::{Event, LoopEvent};
use windlass_core::id::{LoopName, Seq, TreeId};
use windlass_core::state::State;
use windlass_core::view::View;
use windlass_gate::{BadGlob, BaseTerms, PathKind, PathRules};
use windlass_store::{BlobError, HistoryError, Store, StoreError, decisions, fold, view};
use windlass_workspace::{BString, Item, TreeChange, Vault, VaultError};

use crate::terms::{self, BASE_TERMS_LIMIT, graft};

#[derive(Debug, thiserror::Error)]
pub enum PlantedError {
    #[error(transparent)]
    Vault(#[from] VaultError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    History(#[from] HistoryError),
    #[error(transparent)]
    Blob(#[from] BlobError),
    #[error(transparent)]
    Glob(#[from] BadGlob),
}

/// What a new loop may trust of its base.
pub struct TrustedBase {
    pub tree: TreeId,
    /// Each path that is not trusted, with the loop that landed it.
    pub planted: Vec<PlantedTerm>,
}

pub struct PlantedTerm {
    pub path: String,
    pub by: LoopName,
    /// Added, or added to; no term.
    pub is_test: bool,
}

/// The base, with the terms that earlier loops landed and nobody accepted as they were before.
pub fn trusted_base(store: &dyn Store, vault: &Vault, base: &TreeId) -> Result<TrustedBase, PlantedError> {
    let mut loops = Vec::new();
    for row in store.loops()? {
        let Some(head) = store.head(&row.name)? else { continue };
        loops.push(view(store, &row.name, &head)?);
    }
    let mut trusted = TrustedBase { tree: base.clone(), planted: Vec::new() };
    let unaccepted = |view: &&View| view.terms.as_ref().is_some_and(|terms| !terms.trusted_later);
    let mut planted = Vec::new();
    for view in loops.iter().filter(unaccepted) {
        let state = fold(store, &view.name)?;
        let mut texts = Vec::new();
        for id in state.baseline_terms.iter() {
            texts.push(String::from_utf8_lossy(&store.blob(id, BASE_TERMS_LIMIT)?).into_owned());
        }
        let shown = BaseTerms::read(texts.iter().map(String::as_str));
        planted.extend(of_loop(vault, &state, shown, base)?);
    }
    if planted.is_empty() {
        return Ok(trusted);
    }
    let accepted = accepted(store, vault, &loops)?;
    planted.retain(|term| !accepted.contains(&(term.path.clone(), term.landed)));
    for Planted { path, by, is_test, before, .. } in planted {
        trusted.tree = graft(vault, &trusted.tree, &before, std::slice::from_ref(&path))?;
        trusted.planted.push(PlantedTerm { path: String::from_utf8_lossy(&path).into_owned(), by, is_test });
    }
    Ok(trusted)
}

struct Planted {
    path: BString,
    by: LoopName,
    is_test: bool,
    landed: Option<Item>,
    /// The tree that has it as it is trusted.
    before: TreeId,
}

/// Its terms and tests that the base has just as it landed them. What a task may change by its `allow` is among
/// what the loop trusted when that task landed, and what another task planted there is not.
fn of_loop(
    vault: &Vault,
    state: &State,
    shown: BaseTerms,
    base: &TreeId,
) -> Result<Vec<Planted>, PlantedError> {
    let read = |path: &str| vault.read_blob(&state.creation.base_tree, path.as_bytes()).ok().flatten();
    let rules = PathRules::new(state.policy(), &[], &read)?.with_base_terms(shown);
    let unlike: BTreeSet<BString> =
        vault.diff(base, &state.head.tree)?.into_iter().map(|change| change.path).collect();
    let changes = vault.diff(&state.trusted, &state.head.tree)?;
    let mut planted = Vec::new();
    let is_product =
        |change: &TreeChange| matches!(rules.kind(change.path.as_ref()), PathKind::Product { .. });
    for change in changes.into_iter().filter(|change| !unlike.contains(&change.path) && !is_product(change)) {
        planted.push(Planted {
            is_test: !terms::is_term(vault, &rules, &state.head.tree, change.path.as_ref())?,
            path: change.path,
            by: state.creation.name.clone(),
            landed: change.new,
            before: state.trusted.clone(),
        });
    }
    Ok(planted)
}

/// What some loop came to trust while it ran: a reviewer looked at it there.
fn accepted(
    store: &dyn Store,
    vault: &Vault,
    loops: &[View],
) -> Result<BTreeSet<(BString, Option<Item>)>, PlantedError> {
    let mut accepted = BTreeSet::new();
    for view in loops {
        let Some(landed) = &view.tree else { continue };
        let trusted = view.terms.as_ref().map_or(landed, |terms| &terms.trusted_tree);
        let Some(at_start) = trusted_at_start(store, &view.name)? else { continue };
        let changes = vault.diff(&at_start, trusted)?;
        accepted.extend(changes.into_iter().map(|change| (change.path, change.new)));
    }
    Ok(accepted)
}

fn trusted_at_start(store: &dyn Store, name: &LoopName) -> Result<Option<TreeId>, PlantedError> {
    let first = decisions(store, name, Seq(0)).next().transpose()?;
    let created = first.and_then(|(_, decision)| decision.events.into_iter().next());
    Ok(match created {
        Some(Event::Loop(LoopEvent::Created(creation))) => creation.trusted.clone(),
        Some(_) | None => None,
    })
}
