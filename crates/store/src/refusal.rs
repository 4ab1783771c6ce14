//! A refusal the operator can act on: what was refused, why, what to do.

use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {reason}; {remedy}", path.display())]
pub struct Refusal {
    pub path: PathBuf,
    pub reason: String,
    pub remedy: String,
}

impl Refusal {
    pub fn new(path: &Path, reason: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { path: path.to_owned(), reason: reason.into(), remedy: remedy.into() }
    }
}
