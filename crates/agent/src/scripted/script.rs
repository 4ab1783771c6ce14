//! The file of turns: which one is played, and what it does.

use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use windlass_core::policy::Role;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentScript {
    #[serde(rename = "turn")]
    turns: Vec<ScriptTurn>,
}

/// One `[[turn]]`. A selector that is left out fits everything.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptTurn {
    /// Empty means the whole.
    task: Option<String>,
    role: Option<String>,
    nth: Option<u32>,
    actions: Vec<Action>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Action {
    Write {
        path: PathBuf,
        text: String,
    },
    Append {
        path: PathBuf,
        text: String,
    },
    Delete {
        path: PathBuf,
    },
    /// A command that fails ends the turn with its exit code.
    Run {
        shell: String,
    },
    /// A command in a session of its own, which the turn does not wait for.
    Daemon {
        shell: String,
    },
    Say {
        text: String,
    },
    /// Any fields: a script may also lie badly. The nonce is added unless it is given.
    Claim(toml::Table),
    Verdict(toml::Table),
    Sleep {
        ms: u64,
    },
    Exit {
        code: u8,
    },
}

/// What distinguishes one attempt from another.
pub struct WantedTurn<'a> {
    pub task: &'a str,
    pub role: &'a str,
    pub nth: u32,
}

#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    #[error("cannot read the agent's script {}: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("the agent's script {} is wrong: {what}", path.display())]
    Wrong { path: PathBuf, what: String },
}

pub fn read(path: &Path) -> Result<AgentScript, ScriptError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| ScriptError::Unreadable { path: path.to_path_buf(), source })?;
    let wrong = |what| ScriptError::Wrong { path: path.to_path_buf(), what };
    let script: AgentScript =
        toml::from_str(&text).map_err(|error| wrong(error.to_string().trim_end().to_owned()))?;
    let roles = script.turns.iter().filter_map(|turn| turn.role.as_deref());
    let known = |name: &str| Role::ALL.iter().any(|role| role.name() == name);
    match roles.into_iter().find(|role| !known(role)) {
        Some(role) => Err(wrong(format!("there is no role {role:?}"))),
        None => Ok(script),
    }
}

impl AgentScript {
    /// The actions of the first turn that fits.
    pub fn turn(&self, asked: &WantedTurn<'_>) -> Option<&[Action]> {
        let fits = |turn: &&ScriptTurn| {
            turn.task.as_deref().is_none_or(|task| task == asked.task)
                && turn.role.as_deref().is_none_or(|role| role == asked.role)
                && turn.nth.is_none_or(|nth| nth == asked.nth)
        };
        self.turns.iter().find(fits).map(|turn| turn.actions.as_slice())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(text: &str) -> Result<AgentScript, ScriptError> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("turns.toml");
        std::fs::write(&path, text).unwrap();
        read(&path)
    }

    #[test]
    fn the_first_turn_that_fits_is_played() {
        let script = script(
            r#"
            [[turn]]
            task = "001"
            nth = 1
            actions = [{ say = { text = "a" } }]
            [[turn]]
            task = "001"
            role = "author"
            actions = [{ say = { text = "b" } }, { exit = { code = 3 } }]
            [[turn]]
            task = ""
            actions = []
            "#,
        )
        .unwrap();
        let count = |task, role, nth| script.turn(&WantedTurn { task, role, nth }).map(<[Action]>::len);
        assert_eq!(count("001", "author", 1), Some(1));
        assert_eq!(count("001", "author", 2), Some(2));
        assert_eq!(count("001", "reviewer", 2), None);
        assert_eq!(count("", "finisher", 9), Some(0));
        assert_eq!(count("002", "author", 1), None);
    }

    #[test]
    fn a_wrong_script_is_refused_with_its_place() {
        for (text, said) in [
            ("[[turn]]\nactions = [{ dance = {} }]", "line 2, column 14"),
            ("[[turn]]\nactions = [{ write = { path = 'a' } }]", "missing field `text`"),
            ("[[turn]]\ntsk = 'a'\nactions = []", "unknown field `tsk`"),
            ("[[turn]]\nrole = 'king'\nactions = []", "there is no role \"king\""),
            ("[[turn]\n", "line 1"),
        ] {
            let error = script(text).unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
        assert!(read(Path::new("/no/such.toml")).unwrap_err().to_string().contains("/no/such.toml"));
    }
}
