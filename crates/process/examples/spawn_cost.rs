//! What a warden and a level cost: `/bin/true` started and waited for, plainly and each other way, in turn.
//!
//! `cargo run --release -p windlass-process --example spawn_cost [ROUNDS]`
#![allow(clippy::disallowed_methods, reason = "a measurement reads the clock")]

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use windlass_process::{
    Confinement, Containment, Exit, Level, Limits, Network, Program, Reach, Spawner, ThrowawayTree,
    WARDEN_ARG, remedy, warden_main,
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
    let made = |name: &str| std::fs::create_dir_all(scratch.join(name)).map(|()| scratch.join(name));
    let spawner = Spawner::new();
    let found = spawner.probe(&scratch);
    println!("{found:?}, {rounds} rounds");
    let tree = ThrowawayTree { lower: made("l")?, at: made("a")?, upper: made("u")?, hide: vec![made("l")?] };
    let reach = Reach { write: vec![made("work")?], scratch: Some(made("tmp")?), ..Reach::system() };
    let at = |level, network| Confinement { level, reach: reach.clone(), network, tree: None, image: None };
    let subreaper = spawner.clone().contained_by(Containment::Subreaper);
    let mut ways: Vec<(&str, &Spawner, Confinement)> = vec![("subreaper", &subreaper, Confinement::none())];
    if found.pid_namespace {
        ways.push(("namespace", &spawner, Confinement::none()));
    }
    if found.overlay {
        ways.push(("namespace + tree", &spawner, Confinement::none_with(Some(tree.clone()))));
    }
    for (name, level, network) in [
        ("level landlock", Level::Landlock, Network::Open),
        ("level namespaces", Level::Namespaces, Network::Open),
        ("… without network", Level::Namespaces, Network::None),
    ] {
        match spawner.prove(level, &scratch) {
            proof if proof.held => ways.push((name, &spawner, at(level, network))),
            proof => println!("not run: {}", remedy(&proof)),
        }
    }
    let mut times = vec![Vec::new(); ways.len() + 1];
    for _ in 0..rounds {
        let started = Instant::now();
        Command::new("/bin/true").status()?;
        times[0].push(started.elapsed());
        for ((_, spawner, confinement), times) in ways.iter().zip(&mut times[1..]) {
            times.push(wardened(spawner, &scratch, confinement)?);
            tree.discard()?;
        }
    }
    let names = ["plain"].into_iter().chain(ways.iter().map(|(name, ..)| *name));
    for (name, mut times) in names.zip(times) {
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
    confinement: &Confinement,
) -> Result<Duration, Box<dyn std::error::Error>> {
    let dir = scratch.join("attempt");
    std::fs::create_dir(&dir)?;
    let program = Program {
        argv: vec!["/bin/true".into()],
        cwd: "/".into(),
        env: Vec::new(),
        stdin: Vec::new(),
        limits: Limits::none(1 << 20),
        confinement: confinement.clone(),
        marker: dir.display().to_string(),
        dir: dir.clone(),
    };
    let started = Instant::now();
    let finished = spawner.start(&program)?.wait();
    let took = started.elapsed();
    std::fs::remove_dir_all(&dir)?;
    if finished.exit == Exit::Code(0) { Ok(took) } else { Err(format!("{:?}", finished.exit).into()) }
}
