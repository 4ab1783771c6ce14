//! What goes wrong at the edge: what happened, where, and what to do next.

use std::fmt;

use windlass_app::{AppError, ErrorKind};
use windlass_config::Styling;

use crate::exit::Exit;
use crate::show::out::coloured;
use crate::show::terminal::takes_colours;
use crate::show::text;

#[derive(Debug)]
pub struct Failure {
    pub exit: Exit,
    pub message: String,
    pub hints: Vec<String>,
}

impl Failure {
    pub fn error(message: impl fmt::Display) -> Self {
        Self { exit: Exit::Error, message: message.to_string(), hints: Vec::new() }
    }

    pub fn usage(message: impl fmt::Display) -> Self {
        Self { exit: Exit::Usage, message: message.to_string(), hints: Vec::new() }
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}

impl From<AppError> for Failure {
    fn from(error: AppError) -> Self {
        let exit = match error.kind {
            ErrorKind::Broken => Exit::Error,
            ErrorKind::Refused => Exit::Usage,
            ErrorKind::NeedsOperator => Exit::Paused,
            ErrorKind::Interrupted => Exit::Interrupted,
        };
        let styling = if takes_colours(&std::io::stderr()) { Styling::Ansi } else { Styling::Plain };
        let message = match &error.config {
            Some(config) => coloured(&config.render(styling, text::width())),
            None => error.message,
        };
        Self { exit, message, hints: error.hints }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", wrapped(format!("windlass: {}", self.message.trim_end()), "  "))?;
        for hint in &self.hints {
            writeln!(f, "{}", wrapped(format!("  hint: {hint}"), "        "))?;
        }
        Ok(())
    }
}

/// What has lines of its own, as one that shows a place in a file, keeps them.
fn wrapped(told: String, margin: &str) -> String {
    if told.contains('\n') { told } else { text::wrap(&told, margin) }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_interrupted_exits_as_every_interrupted_command_does() {
        assert_eq!(Failure::from(AppError::interrupted()).exit.code(), 130);
    }
}
