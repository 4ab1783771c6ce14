//! Exit codes: the only place that knows their numbers.

use std::process::ExitCode;

use windlass_app::Ended;
use windlass_core::outcome::{Outcome, OutcomeKind, Reason};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Completed, or what was asked is done.
    Done,
    Error,
    /// Usage or configuration.
    Usage,
    Blocked,
    Limit,
    Cancelled,
    /// Paused: it needs the operator.
    Paused,
    Interrupted,
}

impl Exit {
    pub fn of(ended: &Ended) -> Self {
        match ended {
            Ended::Outcome(outcome) => Self::of_outcome(outcome),
            Ended::Paused(_) => Self::Paused,
            Ended::Interrupted => Self::Interrupted,
        }
    }

    pub fn of_outcome(outcome: &Outcome) -> Self {
        match outcome.kind {
            OutcomeKind::Completed => Self::Done,
            OutcomeKind::Stopped if outcome.reason == Reason::Asked => Self::Done,
            // The one task that was asked for cannot be done; `run` goes on with the others.
            OutcomeKind::Stopped | OutcomeKind::Blocked => Self::Blocked,
            OutcomeKind::Limit => Self::Limit,
            OutcomeKind::Cancelled => Self::Cancelled,
            OutcomeKind::Failed => Self::Error,
        }
    }

    /// What a process of windlass's own ended with.
    pub fn of_code(code: u8) -> Option<Self> {
        let all = [
            Self::Done,
            Self::Error,
            Self::Usage,
            Self::Blocked,
            Self::Limit,
            Self::Cancelled,
            Self::Paused,
            Self::Interrupted,
        ];
        all.into_iter().find(|exit| exit.code() == code)
    }

    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Error => 1,
            Self::Usage => 2,
            Self::Blocked => 3,
            Self::Limit => 4,
            Self::Cancelled => 5,
            Self::Paused => 6,
            Self::Interrupted => 130,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
