//! Proofs by attack, and that each attack is one.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use windlass_core::policy::SandboxLevel::{self, Landlock, Namespaces};
use windlass_process::{SandboxProof, Spawner, WARDEN_ARG, remedy};

use crate::confined::{Ground, on_each};
use crate::stage::{Stage, WARDEN, eventually};

fn broken(proof: &SandboxProof) -> Vec<&str> {
    proof.attempts.iter().filter(|attempt| !attempt.held).map(|attempt| attempt.what.as_str()).collect()
}

/// As the ground's user, who owns a scratch that must be empty again afterwards.
fn prove(ground: &Ground, level: SandboxLevel) -> SandboxProof {
    let scratch = ground.dir("proofs");
    let output = ground.command().args(["prove", level.name()]).arg(&scratch).output().unwrap();
    assert_eq!(std::fs::read_dir(scratch).unwrap().count(), 0);
    let mut texts = serde_json::Deserializer::from_slice(&output.stdout).into_iter();
    texts.next().unwrap().unwrap()
}

#[test]
fn each_level_holds_against_every_attack() {
    on_each(&[Landlock, Namespaces], |ground| {
        let proof = prove(&ground, ground.level);
        assert_eq!((broken(&proof), &proof.refused), (vec![], &None), "{:?} {:?}", ground.who, ground.level);
        assert!(proof.held && proof.level == ground.level && proof.attempts.len() == 17, "{proof:?}");
        assert_eq!(remedy(&proof), "");
    });
}

#[test]
fn without_a_level_every_attack_goes_through() {
    on_each(&[SandboxLevel::None], |ground| {
        let proof = prove(&ground, SandboxLevel::None);
        assert!(!proof.held, "{proof:?}");
        let expected = [
            "write a file beside its workspace",
            "write a file in the home directory",
            "read a secret in the home directory",
            "read what is hidden in a readable directory",
            "read the environment of the supervisor",
            "connect to a TCP port of this machine",
            "connect to a Unix socket by its path",
            "connect to an abstract Unix socket",
            "signal the supervisor",
            "make a user namespace",
            "mount a file system",
            "trace a process beside it",
            "read the memory of a process beside it",
            "change the memory of a process beside it",
            "take a descriptor of a process beside it",
        ];
        assert_eq!(broken(&proof), expected, "but for the daemon, which every warden ends: {:?}", ground.who);
    });
}

#[test]
fn without_a_warden_the_daemon_lives_on() {
    let stage = Stage::new();
    let work = stage.work();
    let mut targets = serde_json::json!({ "level": "none", "abstract_name": "", "tcp_port": 1, "supervisor": { "pid": 0, "start_time": 0 } });
    for name in ["work", "shared", "beside", "home", "sockets"] {
        let path = if name == "work" { work.clone() } else { stage.path().join("gone") };
        targets[name] = serde_json::to_value(path.into_os_string()).unwrap();
    }
    let mut probe = Command::new(WARDEN)
        .args([WARDEN_ARG, "probe", "attack"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    probe.stdin.take().unwrap().write_all(targets.to_string().as_bytes()).unwrap();
    assert!(probe.wait().unwrap().success());
    let lock = std::fs::File::open(work.join("daemon")).unwrap();
    let free = || rustix::fs::flock(&lock, rustix::fs::FlockOperation::NonBlockingLockExclusive).is_ok();
    assert!(!free(), "it holds its lock");
    for process in holders(&work.join("daemon")) {
        rustix::process::kill_process(process, rustix::process::Signal::KILL).unwrap();
    }
    eventually("the daemon of this test is gone", free);
}

/// Processes, other than this one, that have a file open.
fn holders(path: &Path) -> Vec<rustix::process::Pid> {
    let this = std::process::id().to_string();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter(|process| process.file_name().to_str() != Some(&this))
        .filter(|process| {
            let open = std::fs::read_dir(process.path().join("fd")).into_iter().flatten().flatten();
            open.into_iter().any(|fd| std::fs::read_link(fd.path()).is_ok_and(|to| to == path))
        })
        .filter_map(|process| rustix::process::Pid::from_raw(process.file_name().to_str()?.parse().ok()?))
        .collect()
}

#[test]
fn a_proof_that_held_is_remembered_and_a_changed_memory_is_not_believed() {
    let stage = Stage::new();
    let (cache, spawner) = (stage.path().join("proofs.json"), Spawner::with_warden(WARDEN));
    let proof = spawner.prove_once(Namespaces, stage.path(), &cache);
    if !proof.held {
        return windlass_testkit::capability::not_run(&remedy(&proof));
    }
    let prove = || spawner.prove_once(Namespaces, stage.path(), &cache);
    let written = std::fs::read_to_string(&cache).unwrap();
    // Told apart from a proof that was made anew by a word that no proof has.
    let marked = written.replacen("\"detail\": \"", "\"detail\": \"remembered ", 1);
    let remembered = |proof: &SandboxProof| proof.attempts[0].detail.starts_with("remembered");
    std::fs::write(&cache, &marked).unwrap();
    assert!(remembered(&prove()));

    for (from, to) in [
        ("\"boot_id\": \"", "\"boot_id\": \"0"),
        ("\"kernel\": \"", "\"kernel\": \"0"),
        ("\"binary_size\": ", "\"binary_size\": 1"),
    ] {
        std::fs::write(&cache, marked.replacen(from, to, 1)).unwrap();
        assert!(!remembered(&prove()), "{from}");
    }
    std::fs::write(&cache, &marked[..marked.len() / 2]).unwrap();
    assert!(!remembered(&prove()), "torn");
    std::fs::write(&cache, &marked).unwrap();
    std::fs::set_permissions(&cache, std::fs::Permissions::from_mode(0o666)).unwrap();
    assert!(!remembered(&prove()), "others may have written it");
    assert!(prove().held && !remembered(&prove()), "and what was found is kept again");
    let entries: Vec<_> =
        std::fs::read_dir(stage.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(entries.len(), 3, "work, attempts and the cache: {entries:?}");
}

#[test]
fn a_proof_that_cannot_be_made_says_why_and_is_not_remembered() {
    let stage = Stage::new();
    let cache = stage.path().join("proofs.json");
    let missing = Spawner::with_warden(stage.path().join("no-warden"));
    let proof = missing.prove_once(Namespaces, stage.path(), &cache);
    assert!(!proof.held && proof.refused.as_ref().unwrap().contains("no-warden"), "{proof:?}");
    assert!(remedy(&proof).contains("no-warden"));
    let proof = Spawner::with_warden(WARDEN).prove(Namespaces, &stage.path().join("no-scratch"));
    assert!(!proof.held && proof.refused.is_some(), "{proof:?}");
    assert!(!cache.exists());
}

#[test]
fn a_machine_that_refuses_namespaces_is_told_what_it_lacks() {
    if !windlass_testkit::capability::root() || windlass_testkit::capability::program("setpriv").is_none() {
        return;
    }
    let stage = Stage::new();
    let output = Command::new("setpriv")
        .args(["--bounding-set=-all", "--inh-caps=-all", "--", WARDEN, "prove", "namespaces"])
        .arg(stage.work())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(
        text.contains("no confinement at level namespaces: no PID namespace: Operation not permitted"),
        "{text}"
    );
    assert!(text.contains("has no CAP_SYS_ADMIN"), "{text}");
}

#[cfg(not(feature = "weaken"))]
#[test]
fn a_plain_build_has_no_switch_for_its_defences() {
    let binary = std::fs::read(WARDEN).unwrap();
    let has = |word: &str| binary.windows(word.len()).any(|found| found == word.as_bytes());
    assert!(has("INVOCATION_ID") && !has("WINDLASS_WEAKEN"));
}
