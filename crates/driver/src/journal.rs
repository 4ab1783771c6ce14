//! The log of one loop and the state it folds to, kept in step: a decision is
//! appended, and only then applied.

use windlass_core::event::{Decision, Event};
use windlass_core::id::{LoopName, Seq};
use windlass_core::input::{Input, Stamped};
use windlass_core::state::State;
use windlass_core::step::step;
use windlass_core::view::{FOLD_VERSION, View};
use windlass_store::{Append, AppendError, Blob, Fault, Log, Take, replay};

#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error("there is no loop named {0}")]
    NoSuchLoop(LoopName),
    #[error("loop {name}, record {seq}: {why}")]
    Unreadable { name: LoopName, seq: Seq, why: String },
    #[error(transparent)]
    Append(#[from] AppendError),
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl JournalError {
    pub fn is_disk_full(&self) -> bool {
        matches!(self, Self::Append(AppendError::Store(Fault::Full { .. })) | Self::Fault(Fault::Full { .. }))
    }
}

pub struct Journal<'a> {
    log: &'a mut dyn Log,
    state: State,
}

impl<'a> Journal<'a> {
    /// Stores the record that creates a loop.
    pub fn create(log: &'a mut dyn Log, decision: &Decision, blobs: Vec<Blob>) -> Result<Self, JournalError> {
        let state = State::found(decision).map_err(|error| JournalError::Unreadable {
            name: LoopName::new("new").expect("a plain name is legal"),
            seq: Seq(1),
            why: error.to_string(),
        })?;
        let append = entry(&state, Seq(0), decision, None, blobs);
        log.append(append)?;
        Ok(Self { log, state })
    }

    /// Folds a loop's whole log.
    pub fn open(log: &'a mut dyn Log, name: &LoopName) -> Result<Self, JournalError> {
        let mut state: Option<State> = None;
        for record in replay(log, name, Seq(0)) {
            let record = record?;
            let unreadable =
                |why: String| JournalError::Unreadable { name: name.clone(), seq: record.seq, why };
            let decision: Decision =
                serde_json::from_str(&record.body).map_err(|error| unreadable(error.to_string()))?;
            match &mut state {
                Some(state) => state.apply(record.seq, &decision),
                None => state = Some(State::found(&decision).map_err(|error| unreadable(error.to_string()))?),
            }
        }
        let state = state.ok_or_else(|| JournalError::NoSuchLoop(name.clone()))?;
        Ok(Self { log, state })
    }

    pub fn state(&self) -> &State {
        &self.state
    }

    /// One thing happened: decide, remember, and only then believe it.
    pub fn take(&mut self, input: &Stamped<Input>, blobs: Vec<Blob>) -> Result<Decision, JournalError> {
        let decision = step(&self.state, input);
        let taken = match &input.what {
            Input::Commanded { id, .. } => Some(Take { command: *id, answer: refusal(&decision) }),
            Input::RunAsked(_)
            | Input::WorkspaceReady
            | Input::AgentFinished(_)
            | Input::Snapshotted(_)
            | Input::GateReported(_)
            | Input::Landed
            | Input::EffectFailed(_)
            | Input::EffectDropped
            | Input::DeadlinePassed
            | Input::Interrupted { .. }
            | Input::StoreFull { .. } => None,
        };
        let mut after = self.state.clone();
        after.apply(self.state.seq.next(), &decision);
        let append = entry(&after, self.state.seq, &decision, taken, blobs);
        self.log.append(append)?;
        self.state = after;
        Ok(decision)
    }
}

/// Why a command was refused, if it was.
pub fn refusal(decision: &Decision) -> Option<String> {
    decision
        .events
        .iter()
        .find_map(|event| if let Event::InputRefused { why, .. } = event { Some(why.clone()) } else { None })
}

fn entry(after: &State, expected: Seq, decision: &Decision, takes: Option<Take>, blobs: Vec<Blob>) -> Append {
    Append {
        loop_name: after.creation.name.clone(),
        expected,
        at: decision.at,
        body: serde_json::to_string(decision).expect("a decision is plain data"),
        events: decision.events.len() as u64,
        view: serde_json::to_string(&View::of(after)).expect("a view is plain data"),
        fold_version: FOLD_VERSION,
        takes,
        blobs,
    }
}
