//! An agent is asked how a project is set up and tested. What it says is only a proposal: windlass runs it.

use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use serde::Deserialize;
use windlass_workspace::{Checkout, Depth};

use crate::agents::{Probe, Question, ask};
use crate::repositories::Repositories;
use crate::surroundings::Surroundings;
use crate::try_checks::TryPlace;

/// Where the agent writes its answer, in its copy of the project.
const ANSWER: &str = "windlass-proposal.json";

/// What an agent proposes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProposedCommands {
    #[serde(default)]
    pub setup: Vec<String>,
    pub run: String,
}

const MOST_COMMANDS: usize = 10;
const LONGEST_COMMAND: usize = 1_000;
const LARGEST_ANSWER: u64 = 64 << 10;

const QUESTION: &str = "nonce: probe

# How is this project set up and tested?

Your current directory is a fresh copy of a repository. Find out how its developers install what its tests need,
and how they run the tests: manifests, lock files, CI workflows, the guide for contributors. Change none of its files.

Write your answer into the file `windlass-proposal.json` in the current directory, as JSON:

{\"setup\": [\"command\", \"command\"], \"run\": \"command\"}

- `setup`: shell commands that bring what the tests need, in order, in a fresh copy such as this one. They may install
  into the copy (`node_modules`, a virtual environment `.venv`), not into the system or the home directory.
- `run`: one shell command that runs the tests once, exits with 0 if all pass, and needs nobody at a terminal.

Both are run by `sh` in the root of a fresh copy that has no `.git`. You may try them. Then end with a report that has the nonce
`probe` and the status `complete`, or with the one line `STATUS: complete`.
";

/// Asks once. `before` says what came of earlier proposals; empty the first time.
pub fn ask_for_checks(
    place: &TryPlace<'_>,
    probe: &Probe<'_>,
    before: &str,
) -> Result<ProposedCommands, String> {
    let space = fresh_copy(place, probe.scratch)?;
    let brief = if before.is_empty() {
        QUESTION.to_owned()
    } else {
        format!("{QUESTION}\n## What did not work\n\n{before}")
    };
    let told = ask(probe, &Question::of_author(&brief, place.interrupts, &|_| {}))?.finished.result;
    read_answer(&space).map_err(|why| format!("{why} ({})", told.end))
}

/// The head of the repository, in the directory in which an agent is asked.
pub(crate) fn fresh_copy(place: &TryPlace<'_>, scratch: &Path) -> Result<PathBuf, String> {
    let space = scratch.join("space");
    windlass_process::remove_tree(&space).map_err(|error| format!("{}: {error}", space.display()))?;
    copy_of_head(place, &space)?;
    Ok(space)
}

fn copy_of_head(place: &TryPlace<'_>, space: &Path) -> Result<(), String> {
    let surroundings = Surroundings { state: place.vault.state().to_owned(), ..place.surroundings.clone() };
    let repositories = Repositories::open(&surroundings, place.project, place.vault);
    let Repositories { repository, vault, .. } = repositories.map_err(|error| error.to_string())?;
    vault.import(&repository, &repository.head, Depth::Commits(1)).map_err(|error| error.to_string())?;
    let tree = vault.tree_of(&repository.head).map_err(|error| error.to_string())?;
    Checkout::new(space).bring_to(&vault, &tree).map(|_| ()).map_err(|error| error.to_string())
}

/// The file is the agent's: no link is followed, and nothing large is read.
fn read_answer(space: &Path) -> Result<ProposedCommands, String> {
    let path = space.join(ANSWER);
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
    let opened = fs::OpenOptions::new().read(true).custom_flags(flags.cast_signed()).open(&path);
    let file: File = opened.map_err(|error| format!("it left no {ANSWER}: {error}"))?;
    if !file.metadata().is_ok_and(|found| found.is_file()) {
        return Err(format!("{ANSWER} is not a file"));
    }
    let mut text = String::new();
    let read = file.take(LARGEST_ANSWER).read_to_string(&mut text);
    read.map_err(|error| format!("{ANSWER} cannot be read: {error}"))?;
    let answer: ProposedCommands = serde_json::from_str(&text)
        .map_err(|error| format!("{ANSWER} is not what was asked for: {error}"))?;
    let all = answer.setup.iter().chain([&answer.run]);
    let is_bad = |command: &String| {
        command.trim().is_empty() || command.len() > LONGEST_COMMAND || command.contains(['\n', '\0'])
    };
    if answer.setup.len() > MOST_COMMANDS || all.into_iter().any(is_bad) {
        return Err(format!("{ANSWER} has an empty command, one of several lines, or too many"));
    }
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_only_as_it_was_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        let answered = |text: &str| {
            fs::write(dir.path().join(ANSWER), text).unwrap();
            read_answer(dir.path())
        };
        assert_eq!(
            answered(r#"{"setup": ["a"], "run": "b"}"#),
            Ok(ProposedCommands { setup: vec!["a".into()], run: "b".into() })
        );
        for text in ["", "{}", r#"{"run": ""}"#, r#"{"run": "a\nb"}"#, r#"{"run": "a", "protect": []}"#] {
            assert!(answered(text).is_err(), "{text}");
        }
        let long = format!(r#"{{"run": "{}"}}"#, "x".repeat(2_000));
        assert!(answered(&long).is_err());
        fs::remove_file(dir.path().join(ANSWER)).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", dir.path().join(ANSWER)).unwrap();
        assert!(read_answer(dir.path()).unwrap_err().starts_with("it left no"));
    }
}
