//! What only shows, beside the cheapest program there is.

use std::ffi::OsStr;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use super::Ground;
use super::iteration::scratch;
use super::page::Row;
use super::project::{Project, finish};
use super::rounds::{Rounds, Subject};

const EVENTS: &str = "1000000";
/// These take a millisecond each: more of them cost nothing.
const MORE: usize = 5;

pub fn noise(ground: &Ground) -> Result<Vec<Row>> {
    Ok(many(ground).compare(nothing(), vec![nothing()])?.rows(None))
}

pub fn version(ground: &Ground) -> Result<Vec<Row>> {
    let windlass = &ground.programs.windlass;
    let subject = Subject::timed("windlass --version", || spawn(windlass, &["--version"]));
    Ok(many(ground).compare(nothing(), vec![subject])?.rows(None))
}

pub fn status(ground: &Ground) -> Result<Vec<Row>> {
    let dir = scratch(ground, "status", 0)?;
    let project = Project::small(&dir, &ground.programs.windlass, 3)?;
    finish(project.run())?;
    let (state, repository) = (project.state(), &project.repository);
    let args = [state.as_os_str(), repository.as_os_str(), OsStr::new("bench"), OsStr::new(EVENTS)];
    ground.programs.measure("big_log", &dir, &args)?;
    let subject =
        Subject::timed("windlass status --json, 1,000,000 events", || finish_quietly(project.status()));
    let rows = many(ground).compare(nothing(), vec![subject])?.rows(Some(5.0));
    std::fs::remove_dir_all(&dir)?;
    Ok(rows)
}

fn nothing() -> Subject<'static> {
    Subject::timed("/bin/true", || spawn("/bin/true", &[]))
}

fn many(ground: &Ground) -> Rounds {
    Rounds { count: ground.rounds.count * MORE, ..ground.rounds }
}

fn spawn(program: impl AsRef<OsStr>, args: &[&str]) -> Result<()> {
    let mut command = Command::new(program);
    command.args(args).env_clear().stdin(Stdio::null());
    finish_quietly(command)
}

/// Without pipes, which would be measured too.
fn finish_quietly(mut command: Command) -> Result<()> {
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let status = command.status().with_context(|| format!("start {command:?}"))?;
    ensure!(status.success(), "{command:?}: {status}");
    Ok(())
}
