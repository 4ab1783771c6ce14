//! What a warden costs: `/bin/true` started and waited for, plainly and under a warden, in turn.
//!
//! `cargo run --release -p windlass-process --example spawn_cost [ROUNDS]`
#![allow(clippy::disallowed_methods, reason = "a measurement reads the clock")]

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use windlass_process::{
    Confinement, Containment, Exit, Limits, Program, Spawner, ThrowawayTree, WARDEN_ARG, warden_main,
};

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let rounds = match args.next() {
        Some(word) if word == WARDEN_ARG => return warden_main(args),
        Some(word) => word.to_str().and_then(|word| word.parse().ok()).unwrap_or(200),
        None => 200,
    };
    match measure(rounds) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(rounds: usize) -> Result<(), Box<dyn std::error::Error>> {
    let scratch = std::env::temp_dir().join(format!("spawn-cost-{}", std::process::id()));
    std::fs::create_dir(&scratch)?;
    let spawner = Spawner::new();
    let found = spawner.probe(&scratch);
    println!("{found:?}, {rounds} rounds");
    let mut times = vec![Vec::new(); 4];
    for _ in 0..rounds {
        let started = Instant::now();
        Command::new("/bin/true").status()?;
        times[0].push(started.elapsed());
        times[1].push(wardened(&spawner.clone().contained_by(Containment::Subreaper), &scratch, None)?);
        if found.pid_namespace {
            times[2].push(wardened(&spawner, &scratch, None)?);
        }
        if found.overlay {
            let made = |name: &str| std::fs::create_dir_all(scratch.join(name)).map(|()| scratch.join(name));
            let tree = ThrowawayTree {
                lower: made("l")?,
                at: made("a")?,
                upper: made("u")?,
                hide: vec![made("l")?],
            };
            times[3].push(wardened(&spawner, &scratch, Some(&tree))?);
            tree.discard()?;
        }
    }
    for (name, mut times) in ["plain", "subreaper", "namespace", "namespace + tree"].into_iter().zip(times) {
        times.sort();
        if let (Some(least), Some(median)) = (times.first(), times.get(times.len() / 2)) {
            println!("{name:18} median {median:9.2?}  least {least:9.2?}");
        }
    }
    std::fs::remove_dir_all(&scratch)?;
    Ok(())
}

fn wardened(
    spawner: &Spawner,
    scratch: &Path,
    tree: Option<&ThrowawayTree>,
) -> Result<Duration, Box<dyn std::error::Error>> {
    let dir = scratch.join("attempt");
    std::fs::create_dir(&dir)?;
    let program = Program {
        argv: vec!["/bin/true".into()],
        cwd: "/".into(),
        env: Vec::new(),
        stdin: Vec::new(),
        limits: Limits::none(1 << 20),
        confinement: Confinement::none_with(tree.cloned()),
        marker: dir.display().to_string(),
        dir: dir.clone(),
    };
    let started = Instant::now();
    let finished = spawner.start(&program)?.wait();
    let took = started.elapsed();
    std::fs::remove_dir_all(&dir)?;
    if finished.exit == Exit::Code(0) { Ok(took) } else { Err(format!("{:?}", finished.exit).into()) }
}
