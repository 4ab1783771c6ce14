//! What goes wrong at the edge: what happened, where, and what to do next.

use std::fmt;

use crate::exit::Exit;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// Something broke.
    Error,
    /// The operator's input cannot be used; nothing was changed.
    Usage,
    /// The loop needs the operator first.
    Paused,
}

impl FailureKind {
    pub fn exit(self) -> Exit {
        match self {
            Self::Error => Exit::Error,
            Self::Usage => Exit::Usage,
            Self::Paused => Exit::Paused,
        }
    }
}

#[derive(Debug)]
pub struct Failure {
    pub kind: FailureKind,
    pub message: String,
    pub hints: Vec<String>,
}

impl Failure {
    pub fn error(message: impl fmt::Display) -> Self {
        Self { kind: FailureKind::Error, message: message.to_string(), hints: Vec::new() }
    }

    pub fn usage(message: impl fmt::Display) -> Self {
        Self { kind: FailureKind::Usage, message: message.to_string(), hints: Vec::new() }
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "windlass: {}", self.message.trim_end())?;
        for hint in &self.hints {
            writeln!(f, "  hint: {hint}")?;
        }
        Ok(())
    }
}

/// Any error of a library becomes a failure of the edge.
pub trait OrFail<T> {
    fn or_error(self) -> Result<T, Failure>;
    fn or_usage(self) -> Result<T, Failure>;
}

impl<T, E: fmt::Display> OrFail<T> for Result<T, E> {
    fn or_error(self) -> Result<T, Failure> {
        self.map_err(Failure::error)
    }

    fn or_usage(self) -> Result<T, Failure> {
        self.map_err(Failure::usage)
    }
}
