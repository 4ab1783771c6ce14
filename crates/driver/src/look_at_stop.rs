//! The stop checks of a loop, looked at on its head. The loop may be driven meanwhile: nothing of it changes,
//! and nothing is recorded.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use windlass_core::effect::Effect;
use windlass_core::id::{BlobId, LoopName};
use windlass_core::input::{Creation, Input};
use windlass_core::state::State;
use windlass_core::stop::StopReport;
use windlass_store::{BlobError, MemoryStore, ReadStore, Store};

use crate::drive_loop::{DriveLoopError, DriveOutputs, LoopSite, effect_resources};
use crate::interrupt::Interrupts;
use crate::perform::{EffectRequest, EffectResources};
use crate::try_checks::{remove_traces, unused_name};

#[derive(Debug, thiserror::Error)]
pub enum StopLookError {
    #[error(transparent)]
    Resources(#[from] DriveLoopError),
    #[error("what the base showed cannot be read: {0}")]
    Blob(#[from] BlobError),
    #[error("the stop checks could not be looked at: {0}")]
    NotLooked(String),
    #[error("interrupted")]
    Interrupted,
}

/// What the state names and a gate reads is not larger.
const BLOB_LIMIT: u64 = 256 << 20;

/// Looks at every stop check once, by the loop's own policy, in directories of nobody else's.
#[expect(clippy::wildcard_enum_match_arm, reason = "a look has one answer, and a fault")]
pub fn look_at_stop(
    site: &LoopSite,
    reader: &dyn ReadStore,
    state: &State,
    interrupts: &Interrupts,
) -> Result<StopReport, StopLookError> {
    let name = unused_name();
    let site = LoopSite {
        name: name.clone(),
        project: site.project.clone(),
        vault: site.vault.clone(),
        surroundings: site.surroundings.clone(),
    };
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let needed: Vec<&BlobId> = state.baseline_writes.iter().chain(state.baseline_terms.iter()).collect();
    for id in needed {
        store.put(reader.blob(id, BLOB_LIMIT)?)?;
    }
    let state = named(state, name);
    let outputs = DriveOutputs { trail: Path::new("/nonexistent"), live: sync_channel(1).0 };
    let resources = Arc::new(effect_resources(&site, &store, state.policy(), outputs)?);
    resources.begin();
    let stopped = Arc::clone(&resources);
    let listening = interrupts.listen(move |_| EffectResources::stop(&stopped));
    let tree = state.head.tree.clone();
    let effect = Effect::CheckStop { tree: tree.clone() };
    let performed = resources.perform(EffectRequest::new(&effect, &state));
    drop(listening);
    drop(resources);
    remove_traces(&site);
    match performed {
        Input::StopChecked(results) => {
            let holds = state.policy().stop.holds(&results);
            Ok(StopReport { tree, holds, results })
        }
        Input::EffectDropped => Err(StopLookError::Interrupted),
        Input::EffectFailed(fault) => Err(StopLookError::NotLooked(fault.detail)),
        other => Err(StopLookError::NotLooked(other.name().to_owned())),
    }
}

/// A loop's directories go by its name.
fn named(state: &State, name: LoopName) -> State {
    let mut state = state.clone();
    state.creation = Arc::new(Creation { name, ..(*state.creation).clone() });
    state
}
