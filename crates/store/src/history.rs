//! The log as decisions, and what it folds to. Everyone who reads a history
//! pages through it here.

use windlass_core::event::Decision;
use windlass_core::history::{History, HistoryLimits};
use windlass_core::id::{LoopName, Seq};
use windlass_core::state::State;
use windlass_core::view::{FOLD_VERSION, View};

use crate::log::{LogHead, ReadLog, Record, StoreError, replay};

#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    #[error("there is no loop named {0}")]
    NoSuchLoop(LoopName),
    #[error("loop {name}, record {seq}: {why}")]
    Unreadable { name: LoopName, seq: Seq, why: String },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A loop's records after `after`, each with the decision it holds.
pub fn decisions<'a, L: ReadLog + ?Sized>(
    log: &'a L,
    name: &'a LoopName,
    after: Seq,
) -> impl Iterator<Item = Result<(Record, Decision), HistoryError>> + 'a {
    replay(log, name, after).map(move |record| {
        let record = record?;
        let decision = serde_json::from_str(&record.body)
            .map_err(|error| unreadable(name, record.seq, error.to_string()))?;
        Ok((record, decision))
    })
}

/// Everything known of a loop: the fold of its whole log.
pub fn fold<L: ReadLog + ?Sized>(log: &L, name: &LoopName) -> Result<State, HistoryError> {
    fold_with(log, name, |_, _, _| {})
}

/// The same, with a look at each record and at the state after it.
pub fn fold_with<L: ReadLog + ?Sized>(
    log: &L,
    name: &LoopName,
    mut look: impl FnMut(&State, &Record, &Decision),
) -> Result<State, HistoryError> {
    let mut state: Option<State> = None;
    for read in decisions(log, name, Seq(0)) {
        let (record, decision) = read?;
        let state = match &mut state {
            Some(state) => {
                state.apply(record.seq, &decision);
                state
            }
            None => {
                let begun = State::created_by(&decision);
                state.insert(begun.map_err(|error| unreadable(name, record.seq, error.to_string()))?)
            }
        };
        look(state, &record, &decision);
    }
    state.ok_or_else(|| HistoryError::NoSuchLoop(name.clone()))
}

/// What a loop's log tells beyond its state, as far as the limits keep it.
pub fn history<L: ReadLog + ?Sized>(
    log: &L,
    name: &LoopName,
    limits: HistoryLimits,
) -> Result<History, HistoryError> {
    let mut history = History::new(limits);
    for read in decisions(log, name, Seq(0)) {
        let (record, decision) = read?;
        history.note(record.first_event, &decision);
    }
    Ok(history)
}

/// The View of a loop whose log ends here: the one that was kept, or, where
/// another version of the fold made it, a new one.
pub fn view<L: ReadLog + ?Sized>(log: &L, name: &LoopName, head: &LogHead) -> Result<View, HistoryError> {
    let kept = (head.fold_version == FOLD_VERSION).then(|| serde_json::from_str(&head.view));
    match kept {
        Some(Ok(view)) => Ok(view),
        Some(Err(_)) | None => Ok(View::of(&fold(log, name)?)),
    }
}

fn unreadable(name: &LoopName, seq: Seq, why: String) -> HistoryError {
    HistoryError::Unreadable { name: name.clone(), seq, why }
}
