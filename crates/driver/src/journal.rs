//! The log of one loop and the state it folds to, kept in step: a decision is
//! appended, and only then applied.

use std::sync::Arc;

use windlass_core::event::Decision;
use windlass_core::id::{EffectId, LoopName, Seq};
use windlass_core::input::{Input, Stamped};
use windlass_core::state::{NotALoop, State};
use windlass_core::step::step;
use windlass_core::view::{FOLD_VERSION, View};
use windlass_store::{Append, AppendError, HistoryError, SentCommand, Store, StoreError, fold};

use crate::world::Stamp;

#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error(transparent)]
    History(#[from] HistoryError),
    #[error(transparent)]
    NotALoop(#[from] NotALoop),
    #[error(transparent)]
    Append(#[from] AppendError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl JournalError {
    pub fn is_disk_full(&self) -> bool {
        matches!(
            self,
            Self::Append(AppendError::Store(StoreError::Full { .. }))
                | Self::Store(StoreError::Full { .. })
                | Self::History(HistoryError::Store(StoreError::Full { .. }))
        )
    }
}

pub struct Journal {
    store: Arc<dyn Store>,
    state: State,
    /// Of this state, as it was stored with the last record.
    view: View,
}

impl Journal {
    /// Stores the record that creates a loop.
    pub fn create(store: Arc<dyn Store>, decision: &Decision) -> Result<Self, JournalError> {
        let state = State::created_by(decision)?;
        let view = View::of(&state);
        store.append(entry(&view, Seq(0), decision))?;
        Ok(Self { store, state, view })
    }

    /// Folds a loop's whole log.
    pub fn open(store: Arc<dyn Store>, name: &LoopName) -> Result<Self, JournalError> {
        let state = fold(&*store, name)?;
        let view = View::of(&state);
        Ok(Self { store, state, view })
    }

    pub fn state(&self) -> &State {
        &self.state
    }

    pub fn view(&self) -> &View {
        &self.view
    }

    /// The commands that no record has taken yet, to be taken in this order.
    pub fn waiting_commands(&self) -> Result<Vec<Input>, JournalError> {
        let sent = self.store.sent(&self.state.creation.name, self.state.last_command)?;
        Ok(sent.into_iter().map(input).collect())
    }

    /// One thing happened: decide, remember, and only then believe it.
    pub fn take(
        &mut self,
        stamp: Stamp,
        closes: Option<EffectId>,
        what: Input,
    ) -> Result<Decision, JournalError> {
        let input = Stamped { at: stamp.at, elapsed: stamp.elapsed, fresh: stamp.fresh, closes, what };
        let decision = step(&self.state, &input);
        let mut after = self.state.clone();
        after.apply(self.state.seq.next(), &decision);
        let view = View::of(&after);
        self.store.append(entry(&view, self.state.seq, &decision))?;
        (self.state, self.view) = (after, view);
        Ok(decision)
    }
}

fn input(sent: SentCommand) -> Input {
    match sent.command {
        Ok(command) => Input::Commanded { id: sent.id, command },
        Err(unreadable) => Input::UnreadableCommand { id: sent.id, why: unreadable.to_string() },
    }
}

fn entry(after: &View, expected: Seq, decision: &Decision) -> Append {
    Append {
        loop_name: after.name.clone(),
        expected,
        at: decision.at,
        body: serde_json::to_string(decision).expect("a decision is plain data"),
        events: decision.events.len() as u64,
        view: serde_json::to_string(after).expect("a view is plain data"),
        fold_version: FOLD_VERSION,
    }
}
