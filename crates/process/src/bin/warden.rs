//! For the tests of this crate: a warden that is not the test binary itself, and a small supervisor that
//! can be killed, or run as another user.
//!
//! `warden supervise key=value… -- argv…` runs one program and prints how it finished; `warden prove LEVEL DIR`
//! prints a proof; `warden call NUMBER ARGUMENT…` makes a system call and prints what came of it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use windlass_core::policy::{NetworkKind, NetworkPolicy, ResourcePolicy, SandboxLevel};
use windlass_process::{
    Confinement, Containment, Inspection, Program, ProgramLimits, Reach, Spawner, ThrowawayTree, WARDEN_ARG,
    remedy, warden_main,
};

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    match args.next() {
        Some(word) if word == WARDEN_ARG => warden_main(args),
        Some(word) if word == "supervise" => supervise(args),
        Some(word) if word == "prove" => prove(args),
        Some(word) if word == "call" => call(args),
        Some(_) | None => {
            eprintln!(
                "usage: warden supervise key=value… -- argv… | prove LEVEL DIR | call NUMBER ARGUMENT…"
            );
            ExitCode::from(2)
        }
    }
}

fn supervise(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let settings: BTreeMap<String, String> = args
        .by_ref()
        .take_while(|word| word != "--")
        .filter_map(|word| word.to_str()?.split_once('=').map(|(key, value)| (key.into(), value.into())))
        .collect();
    let path = |key: &str| settings.get(key).map(PathBuf::from);
    let (Some(cwd), Some(dir)) = (path("cwd"), path("dir")) else {
        eprintln!("cwd and dir are needed");
        return ExitCode::from(2);
    };
    let tree = path("lower").zip(path("at")).zip(path("upper")).map(|((lower, at), upper)| ThrowawayTree {
        over: Vec::new(),
        shown_at: None,
        hide: vec![lower.clone()],
        read_only: Vec::new(),
        lower,
        at,
        upper,
    });
    let Some(confinement) = confinement(&settings, tree.clone()) else {
        eprintln!("level: none, landlock, namespaces; network: open, loopback, none, allow");
        return ExitCode::from(2);
    };
    let number = |key: &str| settings.get(key).and_then(|text| text.parse().ok()).unwrap_or(0);
    let resources = ResourcePolicy {
        memory_bytes: number("memory"),
        processes: number("processes"),
        open_files: number("open_files"),
        file_bytes: number("file_size"),
        workspace_bytes: number("workspace_bytes"),
        ..ResourcePolicy::default()
    };
    let program = Program {
        argv: args.collect(),
        cwd,
        env: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
        stdin: Vec::new(),
        limits: ProgramLimits {
            wall: Duration::from_secs(60),
            silence: Duration::from_millis(number("silence_ms")),
            resources,
            ..ProgramLimits::none(1 << 20)
        },
        confinement,
        marker: settings.get("marker").cloned().unwrap_or_default(),
        dir,
    };
    let spawner = match settings.get("containment").map(String::as_str) {
        Some("subreaper") => Spawner::new().contained_by(Containment::Subreaper),
        Some("namespace") => Spawner::new().contained_by(Containment::PidNamespace),
        Some(_) | None => Spawner::new(),
    };
    let finished = match spawner.start(&program) {
        Ok(running) => running.wait(),
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let discarded = tree.map(|tree| tree.discard().map_err(|error| error.to_string()));
    println!("exit={:?}", finished.exit);
    println!("containment={:?}", finished.containment);
    println!("strays={} survivors={}", finished.stray_count, finished.survivor_count);
    println!("discarded={discarded:?}");
    println!("trips={:?}", finished.trips);
    println!("stall={}", finished.stall.map(|stall| stall.to_string()).unwrap_or_default());
    println!("duration={:?}", finished.duration);
    ExitCode::SUCCESS
}

/// `read`, `write`, `hide` and `counted` are lists with colons, on top of the system.
fn confinement(settings: &BTreeMap<String, String>, tree: Option<ThrowawayTree>) -> Option<Confinement> {
    let paths = |key: &str| -> Vec<PathBuf> {
        settings.get(key).into_iter().flat_map(|list| list.split(':')).map(PathBuf::from).collect()
    };
    let mut reach = Reach::system();
    reach.read.extend(paths("read"));
    reach.write.extend(paths("write"));
    reach.hide.extend(paths("hide"));
    reach.scratch = settings.get("scratch").map(PathBuf::from);
    let level = level(settings.get("level").map_or("none", String::as_str))?;
    let kind = match settings.get("network").map_or("open", String::as_str) {
        "open" => NetworkKind::Open,
        "loopback" => NetworkKind::Loopback,
        "none" => NetworkKind::None,
        "allow" => NetworkKind::Allow,
        _ => return None,
    };
    let network = NetworkPolicy { kind, allow: Vec::new() };
    let inspection = match settings.get("inspection").map(String::as_str) {
        Some("allowed") => Inspection::Allowed,
        Some(_) | None => Inspection::Refused,
    };
    Some(Confinement {
        level,
        reach,
        network,
        inspection,
        tree,
        layers: Vec::new(),
        image: None,
        counted: paths("counted"),
    })
}

fn level(name: &str) -> Option<SandboxLevel> {
    [SandboxLevel::None, SandboxLevel::Landlock, SandboxLevel::Namespaces]
        .into_iter()
        .find(|level| level.name() == name)
}

fn prove(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let named = args.next().and_then(|word| level(word.to_str()?));
    let (Some(level), Some(scratch)) = (named, args.next()) else { return ExitCode::from(2) };
    let proof = Spawner::new().prove(level, scratch.as_ref());
    match serde_json::to_string_pretty(&proof) {
        Ok(text) => println!("{text}"),
        Err(error) => eprintln!("{error}"),
    }
    println!("{}", remedy(&proof));
    if proof.held { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn call(args: impl Iterator<Item = OsString>) -> ExitCode {
    let words: Vec<libc::c_long> = args.filter_map(|word| word.to_str()?.parse().ok()).collect();
    let [number, given @ ..] = &words[..] else { return ExitCode::from(2) };
    let of = |index: usize| given.get(index).copied().unwrap_or(0);
    // SAFETY: the tests of this crate pass no addresses.
    let returned = unsafe { libc::syscall(*number, of(0), of(1), of(2), of(3), of(4)) };
    match returned {
        -1 => println!("{}", std::io::Error::last_os_error()),
        _ => println!("allowed"),
    }
    ExitCode::SUCCESS
}
