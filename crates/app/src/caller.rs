//! What a surface brings along.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use windlass_driver::surroundings::Surroundings;
use windlass_store::StateDir;

use crate::AppError;

/// What only the process at the edge knows. All paths are absolute.
#[derive(Clone, Debug, Default)]
pub struct Caller {
    /// The environment, of which agents and checks get a part.
    pub variables: Vec<(OsString, OsString)>,
    /// Where windlass keeps its records; none when the process knows no place.
    pub state_dir: Option<PathBuf>,
    /// The user's own policy file.
    pub user_file: Option<PathBuf>,
    /// The process was started by an attempt of a loop: it starts no loop and runs no gate.
    pub is_inside_attempt: bool,
}

impl Caller {
    pub(crate) fn state(&self) -> Result<StateDir, AppError> {
        self.state_dir.as_ref().map(StateDir::new).ok_or_else(|| {
            AppError::refused("no place for windlass's records: neither HOME nor XDG_STATE_HOME is set")
                .hint("give one with --state-dir or WINDLASS_STATE_DIR")
        })
    }

    pub fn surroundings(&self, project: &Path) -> Surroundings {
        Surroundings {
            vars: self.variables.iter().cloned().collect(),
            project: project.to_owned(),
            ..Surroundings::default()
        }
    }
}
