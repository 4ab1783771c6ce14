//! An input/output error with the place it happened at.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// What was tried on which path, and what the system said.
#[derive(Debug)]
pub struct FileFault {
    pub what: &'static str,
    pub path: PathBuf,
    pub source: io::Error,
}

impl FileFault {
    pub(crate) fn new(what: &'static str, path: &Path, source: impl Into<io::Error>) -> Self {
        Self { what, path: path.to_owned(), source: source.into() }
    }
}

impl fmt::Display for FileFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {} {}: {}", self.what, self.path.display(), self.source)
    }
}

impl std::error::Error for FileFault {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

pub(crate) trait At<T> {
    fn at(self, what: &'static str, path: &Path) -> Result<T, FileFault>;
}

impl<T, E: Into<io::Error>> At<T> for Result<T, E> {
    fn at(self, what: &'static str, path: &Path) -> Result<T, FileFault> {
        self.map_err(|error| FileFault::new(what, path, error))
    }
}

/// Where a test may end this process; nothing without the `failpoints` feature.
pub(crate) fn abort_point(_name: &str) {
    fail::fail_point!(_name, |_| -> () { std::process::abort() });
}
