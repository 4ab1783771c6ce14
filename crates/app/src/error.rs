//! Why a use case was not done, and who has to act.

use std::fmt;

use windlass_config::ConfigError;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// windlass or the machine failed.
    Broken,
    /// The request cannot be used; nothing was changed.
    Refused,
    /// The loop waits until the operator does something, or somebody else drives it.
    NeedsOperator,
    /// Somebody asked this process to end before it was done; nothing was changed.
    Interrupted,
}

#[derive(Debug)]
pub struct AppError {
    pub kind: ErrorKind,
    /// One lower-case sentence.
    pub message: String,
    /// What to do next, a sentence each.
    pub hints: Vec<String>,
    /// Where a policy file is wrong; the message says the same in plain text.
    pub config: Option<ConfigError>,
}

impl AppError {
    pub fn new(kind: ErrorKind, message: impl fmt::Display) -> Self {
        Self { kind, message: message.to_string(), hints: Vec::new(), config: None }
    }

    pub fn broken(message: impl fmt::Display) -> Self {
        Self::new(ErrorKind::Broken, message)
    }

    pub fn refused(message: impl fmt::Display) -> Self {
        Self::new(ErrorKind::Refused, message)
    }

    pub fn interrupted() -> Self {
        Self::new(ErrorKind::Interrupted, "interrupted; nothing was written")
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Its message in one line; of a policy file the first mistake, with its place.
    pub fn in_one_line(&self) -> String {
        let first = self.config.as_ref().and_then(|config| config.problems.first());
        match first.map(|problem| (problem, problem.at)) {
            Some((problem, Some((line, column)))) => {
                format!("{}:{line}:{column}: {}", problem.file, problem.message)
            }
            Some((problem, None)) => format!("{}: {}", problem.file, problem.message),
            None => self.message.lines().next().unwrap_or_default().to_owned(),
        }
    }

    pub fn with_hints(mut self, hints: Vec<String>) -> Self {
        self.hints.extend(hints);
        self
    }
}

impl fmt::Display for AppError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for AppError {}

/// Each place that meets an error of a library says who has to act.
pub(crate) trait Classify<T> {
    fn or_broken(self) -> Result<T, AppError>;
    fn or_refused(self) -> Result<T, AppError>;
}

impl<T, E: fmt::Display> Classify<T> for Result<T, E> {
    fn or_broken(self) -> Result<T, AppError> {
        self.map_err(AppError::broken)
    }

    fn or_refused(self) -> Result<T, AppError> {
        self.map_err(AppError::refused)
    }
}
