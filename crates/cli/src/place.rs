//! Where things are, as the command line and the environment say.
#![allow(clippy::disallowed_methods, reason = "the edge reads the environment")]

use std::path::{Component, Path, PathBuf};

use windlass_app::{Caller, OpenProject};

use crate::failure::{Failure, OrFail};

/// What the command line says about places.
#[derive(Clone, Debug, Default)]
pub struct Locations {
    pub project: Option<PathBuf>,
    pub state_dir: Option<PathBuf>,
}

impl Locations {
    pub fn directory(&self) -> Result<PathBuf, Failure> {
        match &self.project {
            Some(dir) => Ok(dir.clone()),
            None => std::env::current_dir()
                .map_err(|error| Failure::usage(format!("the current directory: {error}"))),
        }
    }

    pub fn open_project(&self) -> Result<OpenProject, Failure> {
        Ok(OpenProject::open(&self.directory()?, self.caller()?)?)
    }

    /// What the use cases are told of this process.
    pub fn caller(&self) -> Result<Caller, Failure> {
        Ok(Caller {
            variables: std::env::vars_os().collect(),
            state_dir: self.state_dir()?,
            user_file: user_file(),
            is_inside_attempt: std::env::var_os("WINDLASS_INSIDE").is_some(),
        })
    }

    fn state_dir(&self) -> Result<Option<PathBuf>, Failure> {
        if let Some(dir) = &self.state_dir {
            return Ok(Some(without_parents(std::path::absolute(dir).or_usage()?)));
        }
        let base = base_directory(variable("XDG_STATE_HOME"), variable("HOME"), ".local/state");
        Ok(base.map(|base| base.join("windlass")))
    }
}

/// The same directory, spelt without `..`, which is no way to a place inside of a sandbox.
fn without_parents(dir: PathBuf) -> PathBuf {
    if !dir.components().any(|part| part == Component::ParentDir) {
        return dir;
    }
    let real = dir.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    let rest = |above: &Path| dir.strip_prefix(above).map(Path::to_owned).unwrap_or_default();
    real.map_or_else(|| dir.clone(), |(above, real)| real.join(rest(above)).components().collect())
}

/// The user's own policy file.
fn user_file() -> Option<PathBuf> {
    let base = base_directory(variable("XDG_CONFIG_HOME"), variable("HOME"), ".config")?;
    Some(base.join("windlass/config.toml"))
}

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// A directory as the XDG specification finds it: a relative one is ignored.
fn base_directory(given: Option<PathBuf>, home: Option<PathBuf>, below: &str) -> Option<PathBuf> {
    let given = given.filter(|dir| dir.is_absolute());
    given.or_else(|| home.filter(|home| home.is_absolute()).map(|home| home.join(below)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_users_directory_is_where_xdg_says() {
        let found = |given: Option<&str>, home: Option<&str>| {
            base_directory(given.map(PathBuf::from), home.map(PathBuf::from), ".config")
        };
        assert_eq!(found(None, Some("/h")), Some("/h/.config".into()));
        assert_eq!(found(Some("relative"), Some("/h")), Some("/h/.config".into()));
        assert_eq!(found(Some("/x"), Some("/h")), Some("/x".into()));
        assert_eq!(found(None, Some("relative")), None);
        assert_eq!(found(None, None), None);
    }
}
