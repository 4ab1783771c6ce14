//! What is measured and what is counted.

use std::ffi::OsStr;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use super::callgrind::Counted;
use super::page::Row;
use super::rounds::Subject;
use super::{Bench, Ground};

pub const BENCHES: &[Bench] = &[
    Bench {
        name: "noise",
        claim: "The same program against itself: how far from 1 a ratio of this machine is by chance.",
        run: noise,
    },
    Bench {
        name: "version",
        claim: "`windlass --version` takes at most twice the time of `/bin/true`.",
        run: version,
    },
];

pub const COUNTED: &[Counted] = &[];

fn noise(ground: &Ground) -> Result<Vec<Row>> {
    let program = || Subject::timed("/bin/true", || spawn("/bin/true", &[]));
    Ok(ground.rounds.compare(program(), vec![program()])?.rows(None))
}

fn version(ground: &Ground) -> Result<Vec<Row>> {
    let reference = Subject::timed("/bin/true", || spawn("/bin/true", &[]));
    let subject = Subject::timed("windlass --version", || spawn(&ground.binary, &["--version"]));
    Ok(ground.rounds.compare(reference, vec![subject])?.rows(Some(2.0)))
}

fn spawn(program: impl AsRef<OsStr>, args: &[&str]) -> Result<()> {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null());
    let status = command.status().with_context(|| format!("start {command:?}"))?;
    ensure!(status.success(), "{command:?}: {status}");
    Ok(())
}
