//! `cargo xtask captures`: what a person sees of the real binary on a real terminal, as text, and one
//! moment as a picture. They are played again by the suite, and must look the same.

mod capture_set;
mod picture;
mod placeholders;
mod plays;
mod screen;
mod session;
mod tmux;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail, ensure};

use crate::args::CapturesMode;
use crate::binaries;
use crate::hostile::is_proven;
use crate::players;
use crate::stages::Stages;
use crate::surroundings::Surroundings;
use crate::tally::Tally;
use crate::tools;
use plays::{narrow_pipe, plays};

const DIR: &str = "docs/captures";
/// Written by hand.
const PAGE: &str = "README.md";
const PIPE: &str = "pipe.txt";
const STAGE: &str = "terminal captures";
/// The screen names the level, so there is one at which all are played.
pub const LEVEL: &str = "namespaces";
/// A play waits most of its time.
const PLAYERS: usize = 4;

pub fn run(mode: CapturesMode) -> Result<ExitCode> {
    let around = Surroundings::new()?;
    let windlass = binaries::plain(&around)?;
    if let Some(why) = missing(&windlass) {
        bail!("{why}");
    }
    let kept = around.root.join(DIR);
    match mode {
        CapturesMode::Write => {
            let captured = play_all(&windlass)?;
            remove_others(&captured, &kept)?;
            write(&captured, &kept)?;
        }
        CapturesMode::Check => check(&around, &windlass).map(drop)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// One stage of several: each file counts as a test.
pub fn stage(around: &Surroundings, stages: &mut Stages) {
    stages.run(STAGE, |stages| {
        let windlass = binaries::plain(around)?;
        if let Some(why) = missing(&windlass) {
            stages.not_run(STAGE, &why);
            return Ok(());
        }
        let passed = check(around, &windlass)?;
        stages.add(Tally { passed, failed: 0 });
        Ok(())
    });
}

/// What this machine lacks.
fn missing(windlass: &Path) -> Option<String> {
    if tools::find("tmux").is_none() {
        return Some("there is no tmux; on Debian: apt-get install tmux".to_owned());
    }
    (!is_proven(windlass, LEVEL)).then(|| format!("this machine does not prove the level {LEVEL}"))
}

/// A file of the directory of captures.
struct Captured {
    name: String,
    text: String,
}

/// How many files are as they were.
fn check(around: &Surroundings, windlass: &Path) -> Result<usize> {
    let captured = play_all(windlass)?;
    let fresh = tempfile::Builder::new().prefix("windlass-captures-").tempdir()?;
    write(&captured, fresh.path())?;
    let kept = around.root.join(DIR);
    fs::copy(kept.join(PAGE), fresh.path().join(PAGE)).with_context(|| format!("copy {PAGE}"))?;
    compare(around, &kept, fresh.path())?;
    Ok(captured.len())
}

/// A difference is shown line by line; a file that only one of them has is one.
fn compare(around: &Surroundings, kept: &Path, fresh: &Path) -> Result<()> {
    let mut diff = around.program("git");
    diff.args(["--no-pager", "diff", "--no-index", "--no-color", "--"]).arg(kept).arg(fresh);
    let status = diff.status().with_context(|| format!("start {diff:?}"))?;
    ensure!(
        status.success(),
        "the screen does not look as in {DIR}. If it should look so: cargo xtask captures"
    );
    Ok(())
}

fn play_all(windlass: &Path) -> Result<Vec<Captured>> {
    let named = |name: &str, text: fn(&Path) -> String| Job { name: name.to_owned(), text: Box::new(text) };
    // The longest first.
    let mut jobs = vec![named(session::FILE, session::play), named(PIPE, narrow_pipe)];
    jobs.extend(
        plays()
            .into_iter()
            .map(|play| Job { name: play.file(), text: Box::new(move |windlass| play.text(windlass)) }),
    );
    let played =
        players::play_all(&jobs, PLAYERS, |job| (job.name.clone(), players::caught(|| (job.text)(windlass))));
    let mut captured = Vec::new();
    let mut broken = Vec::new();
    for (name, text) in played {
        match text {
            Ok(text) => captured.push(Captured { name, text }),
            Err(why) => broken.push(format!("{name}: {why}")),
        }
    }
    ensure!(broken.is_empty(), "{}", broken.join("\n\n"));
    Ok(captured)
}

/// How a file is made anew.
struct Job {
    name: String,
    text: Box<dyn Fn(&Path) -> String + Sync>,
}

/// What nothing plays any more would be a difference for ever.
fn remove_others(captured: &[Captured], dir: &Path) -> Result<()> {
    for entry in fs::read_dir(dir).with_context(|| format!("list {}", dir.display()))? {
        let path = entry?.path();
        let is_named = |name: &str| path.file_name().is_some_and(|found| found == name);
        if !is_named(PAGE) && !captured.iter().any(|file| is_named(&file.name)) {
            fs::remove_file(&path).with_context(|| format!("remove {}", path.display()))?;
        }
    }
    Ok(())
}

fn write(captured: &[Captured], dir: &Path) -> Result<()> {
    fs::create_dir_all(dir).with_context(|| format!("create {}", dir.display()))?;
    for file in captured {
        let path = dir.join(&file.name);
        fs::write(&path, &file.text).with_context(|| format!("write {}", path.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_word_and_a_missing_file_are_differences_and_old_files_go() {
        let around = Surroundings::new().unwrap();
        let (kept, fresh) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let file = |name: &str, text: &str| Captured { name: name.to_owned(), text: text.to_owned() };
        let same = || compare(&around, kept.path(), fresh.path()).is_ok();
        write(&[file("a.txt", "one\n")], kept.path()).unwrap();
        assert!(!same(), "a file too few");
        write(&[file("a.txt", "one\n")], fresh.path()).unwrap();
        assert!(same());
        write(&[file("a.txt", "two\n")], fresh.path()).unwrap();
        assert!(!same(), "a changed word");
        write(&[file("b.txt", ""), file(PAGE, "")], kept.path()).unwrap();
        remove_others(&[file("a.txt", "")], kept.path()).unwrap();
        let left = |name: &str| kept.path().join(name).exists();
        assert_eq!(["a.txt", "b.txt", PAGE].map(left), [true, false, true]);
    }
}
