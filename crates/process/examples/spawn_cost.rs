//! What a warden and a level cost, each way in turn, a line of JSON a round, in microseconds.
//!
//! `spawn_cost spawn ROUNDS` starts `/bin/true` and waits for it. `spawn_cost work ROUNDS DIR` reads every file of a
//! tree that it makes in DIR: plainly, through a read-only bind, and through an overlay.
#![allow(clippy::disallowed_methods, reason = "a measurement reads the clock")]

use std::error::Error;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use windlass_core::policy::{NetworkPolicy, SandboxLevel};
use windlass_process::{
    Confinement, Inspection, Program, ProgramExit, ProgramLimits, Reach, Spawner, ThrowawayTree, WARDEN_ARG,
    clear_attempt, remedy, warden_main,
};

type Outcome<T> = Result<T, Box<dyn Error>>;

const FILES: usize = 20_000;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let first = args.next().unwrap_or_default();
    if first == WARDEN_ARG {
        return warden_main(args);
    }
    let words: Vec<String> = args.map(|word| word.to_string_lossy().into_owned()).collect();
    let rounds = words.first().and_then(|word| word.parse().ok()).unwrap_or(50);
    let measured = match words.get(1) {
        Some(dir) if first == "work" => work(rounds, Path::new(dir)),
        Some(_) | None => spawn(rounds),
    };
    match measured {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn spawn(rounds: usize) -> Outcome<()> {
    let scratch = std::env::temp_dir().join(format!("spawn-cost-{}", std::process::id()));
    std::fs::create_dir(&scratch)?;
    let made = |name: &str| std::fs::create_dir_all(scratch.join(name)).map(|()| scratch.join(name));
    let spawner = Spawner::new();
    let reach = Reach { write: vec![made("work")?], scratch: Some(made("tmp")?), ..Reach::system() };
    let at = |level| Confinement {
        level,
        reach: reach.clone(),
        network: NetworkPolicy::default(),
        inspection: Inspection::Allowed,
        tree: None,
        layers: Vec::new(),
        image: None,
        counted: Vec::new(),
    };
    let mut ways: Vec<(&str, Confinement)> = vec![("warden", Confinement::none())];
    for (name, level) in [("landlock", SandboxLevel::Landlock), ("namespaces", SandboxLevel::Namespaces)] {
        match spawner.prove(level, &scratch) {
            proof if proof.held => ways.push((name, at(level))),
            proof => eprintln!("not run: {}", remedy(&proof)),
        }
    }
    for _ in 0..rounds {
        let started = Instant::now();
        Command::new("/bin/true").status()?;
        let mut line = vec![reading("plain", started.elapsed())];
        for (name, confinement) in &ways {
            line.push(reading(name, wardened(&spawner, &scratch, confinement, "/bin/true")?));
        }
        println!("{{{}}}", line.join(","));
    }
    Ok(std::fs::remove_dir_all(&scratch)?)
}

/// What a gate does most: many files are opened and read.
fn work(rounds: usize, dir: &Path) -> Outcome<()> {
    let made = |name: &str| std::fs::create_dir_all(dir.join(name)).map(|()| dir.join(name));
    let (tree, at, upper) = (made("tree")?, made("at")?, made("upper")?);
    for number in 0..FILES {
        let below = tree.join(format!("d{}", number % 200));
        std::fs::create_dir_all(&below)?;
        std::fs::write(below.join(format!("f{number}")), "a line of some length\n".repeat(60))?;
    }
    let spawner = Spawner::new();
    let read =
        |place: &Path| format!("cd {} && find . -type f -exec cat {{}} + > /dev/null", place.display());
    let layered = Reach { scratch: Some(made("tmp")?), ..Reach::system() };
    let mut bound = layered.clone();
    bound.read.push(tree.clone());
    let confined = |reach: Reach, tree| Confinement {
        level: SandboxLevel::Namespaces,
        reach,
        network: NetworkPolicy::default(),
        inspection: Inspection::Allowed,
        tree,
        layers: Vec::new(),
        image: None,
        counted: Vec::new(),
    };
    let layer = ThrowawayTree {
        over: Vec::new(),
        shown_at: None,
        lower: tree.clone(),
        at: at.clone(),
        upper,
        hide: vec![tree.clone()],
        read_only: Vec::new(),
    };
    let plainly = || -> Outcome<Duration> {
        let started = Instant::now();
        let plain = Command::new("/bin/sh").arg("-c").arg(read(&tree)).stdout(Stdio::null()).status()?;
        Ok(plain.success().then(|| started.elapsed()).ok_or("the work failed")?)
    };
    let through_bind = || wardened(&spawner, dir, &confined(bound.clone(), None), &read(&tree));
    for round in 0..rounds {
        // Each is the first in turn: what was done just before leaves its traces.
        let (plain, bind) = match round % 2 {
            0 => (plainly()?, through_bind()?),
            _ => {
                let bind = through_bind()?;
                (plainly()?, bind)
            }
        };
        let overlay = wardened(&spawner, dir, &confined(layered.clone(), Some(layer.clone())), &read(&at))?;
        layer.discard()?;
        let line = [reading("plain", plain), reading("bind", bind), reading("overlay", overlay)];
        println!("{{{}}}", line.join(","));
    }
    Ok(())
}

fn reading(name: &str, took: Duration) -> String {
    format!("\"{name}\":{}", took.as_micros())
}

fn wardened(spawner: &Spawner, scratch: &Path, confinement: &Confinement, run: &str) -> Outcome<Duration> {
    let dir = scratch.join("attempt");
    // As the driver does: one directory, used again.
    clear_attempt(&dir)?;
    let argv: Vec<OsString> = match run.contains(' ') {
        true => vec!["/bin/sh".into(), "-c".into(), run.into()],
        false => vec![run.into()],
    };
    let program = Program {
        argv,
        cwd: "/".into(),
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        stdin: Vec::new(),
        limits: ProgramLimits::none(1 << 20),
        confinement: confinement.clone(),
        marker: dir.display().to_string(),
        dir: dir.clone(),
    };
    let started = Instant::now();
    let finished = spawner.start(&program)?.wait();
    let took = started.elapsed();
    let said = std::fs::read_to_string(&finished.stderr.path).unwrap_or_default();
    if finished.exit == ProgramExit::Code(0) {
        Ok(took)
    } else {
        Err(format!("{:?}: {said}", finished.exit).into())
    }
}
