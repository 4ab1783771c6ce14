//! An open-ended loop that follows the Collatz sequence, and what a round of it takes beside a stand-in for
//! the scripts of strict-agent-loop: as many Python processes in a round as those start, each of which reads
//! and writes the state.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use super::Ground;
use super::iteration::{middle, scratch};
use super::page::Row;
use super::project::{Project, finish};
use super::rounds::{Rounds, Subject};

const FROM: u64 = 27;
/// `append_event`, the verifier, `update_state`, `check_stop` and `report_status`, each a program of its own.
const PYTHONS: usize = 5;
/// A whole sequence is a round of measuring.
const ROUNDS: usize = 3;

const AGENT: &str = "x=$(tail -n 1 seq.txt)\n\
                     if [ $((x % 2)) = 0 ]; then echo $((x / 2)); else echo $((3 * x + 1)); fi >>seq.txt\n";
/// One line more than before.
const ONE_STEP: &str = "test $(($(wc -l <\"$WINDLASS_PREVIOUS/seq.txt\") + 1)) = $(wc -l <seq.txt)\n";
const STOP: &str = "[stop]\nstep_check = \"sh ./one-step.sh\"\n\
                    [[stop.check]]\nname = \"reached one\"\nrun = '[ \"$(tail -n 1 seq.txt)\" = 1 ]'\n";
/// What such a script needs before it does anything, and the least that it does.
const SCRIPT: &str = "import argparse, datetime, json, pathlib, re, subprocess, sys\n\
                      file = pathlib.Path(sys.argv[1])\n\
                      state = json.loads(file.read_text())\n\
                      state['written'] += 1\n\
                      file.write_text(json.dumps(state, indent=2))\n";

pub fn collatz(ground: &Ground) -> Result<Vec<Row>> {
    let Some(python) = crate::tools::find("python3") else {
        return Ok(vec![Row::plain("a round", "not measured: no python3".to_owned(), None)]);
    };
    let python = real(&python)?;
    let nth = RefCell::new(0..);
    let fresh = || scratch(ground, "collatz", nth.borrow_mut().next().unwrap_or(0));
    let scripts =
        Subject::measured("stand-in with 5 Python processes", || stand_in(&fresh()?, &python, FROM));
    let windlass =
        Subject::measured("a round, Collatz from 27", || round(&fresh()?, &ground.programs.windlass, FROM));
    let rounds = Rounds { warm_up: 0, count: ground.rounds.count.min(ROUNDS) };
    Ok(rounds.compare(scripts, vec![windlass])?.rows(None))
}

/// The program behind a script that chooses one of several: the script would be counted as well.
fn real(python: &Path) -> Result<PathBuf> {
    let mut command = Command::new(python);
    command.args(["-c", "import sys; print(sys.executable)"]).stdin(Stdio::null());
    let output = command.output().with_context(|| format!("start {command:?}"))?;
    let path = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    ensure!(path.is_file(), "{} does not say where it is", python.display());
    Ok(path)
}

/// The middle of windlass's rounds: from one iteration's opening to the next, agent and checks included.
fn round(dir: &Path, windlass: &Path, from: u64) -> Result<Duration> {
    let first = format!("{from}\n");
    let files = [("seq.txt", first.as_str()), ("one-step.sh", ONE_STEP)];
    let project = Project::of_files(dir, windlass, &files)?;
    let project = project.gated(STOP.to_owned(), AGENT.to_owned()).tasked(1)?;
    let times = project.drive()?;
    let steps = sequence(from).len() - 1;
    ensure!(times.len() + 1 == steps, "{} iterations for {steps} steps", times.len() + 1);
    middle(&times)
}

/// The mean of the same rounds with nothing but the agent and the scripts.
fn stand_in(dir: &Path, python: &Path, from: u64) -> Result<Duration> {
    let state = dir.join("state.json");
    fs::write(&state, "{\"written\": 0}")?;
    fs::write(dir.join("seq.txt"), format!("{from}\n"))?;
    let steps = sequence(from).len() - 1;
    let begun = Instant::now();
    for _ in 0..steps {
        finish(in_dir(dir, "sh", &["-c", AGENT]))?;
        for _ in 0..PYTHONS {
            finish(in_dir(dir, python, &["-c".as_ref(), SCRIPT.as_ref(), state.as_os_str()]))?;
        }
    }
    let took = begun.elapsed();
    let reached = fs::read_to_string(dir.join("seq.txt")).context("the sequence")?;
    let wanted: Vec<String> = sequence(from).iter().map(ToString::to_string).collect();
    ensure!(reached.lines().eq(wanted.iter().map(String::as_str)), "the stand-in went astray: {reached}");
    Ok(took / u32::try_from(steps)?)
}

fn in_dir<P: AsRef<std::ffi::OsStr>, S: AsRef<std::ffi::OsStr>>(
    dir: &Path,
    program: P,
    args: &[S],
) -> Command {
    let mut command = Command::new(program);
    command.args(args).current_dir(dir).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn sequence(from: u64) -> Vec<u64> {
    let next = |x: &u64| match *x {
        1 => None,
        x if x % 2 == 0 => Some(x / 2),
        x => Some(3 * x + 1),
    };
    std::iter::successors(Some(from), next).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The program of a build that is there, whichever it is.
    fn built() -> Option<PathBuf> {
        let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target");
        ["release/windlass", "debug/windlass"]
            .into_iter()
            .map(|path| target.join(path))
            .find(|path| path.is_file())
    }

    #[test]
    fn from_27_it_takes_111_steps() {
        assert_eq!(sequence(FROM).len() - 1, 111);
        assert_eq!(sequence(6), [6, 3, 10, 5, 16, 8, 4, 2, 1]);
    }

    /// From 7 it is 16 steps: enough for a middle.
    #[test]
    fn both_follow_the_sequence_to_its_end() {
        let dir = tempfile::tempdir().unwrap();
        let Some(python) = windlass_testkit::capability::program("python3") else { return };
        let (ours, theirs) = (dir.path().join("ours"), dir.path().join("theirs"));
        [&ours, &theirs].into_iter().for_each(|dir| fs::create_dir(dir).unwrap());
        let scripts = stand_in(&theirs, &real(&python).unwrap(), 7).unwrap();
        assert!(scripts > Duration::ZERO);
        let Some(windlass) = built() else {
            windlass_testkit::capability::not_run("a round of windlass: it is not built");
            return;
        };
        let round = round(&ours, &windlass, 7).unwrap();
        println!("a round: windlass {round:?}, stand-in {scripts:?}");
    }
}
