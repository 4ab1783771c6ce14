//! The level `container`: wired from the policy to the engine's command line.
//! No test here has an engine: a script stands in for one and says what it was
//! asked for (`windlass_testkit::stand_in`).

use std::path::Path;
use std::process::Command;

use windlass_testkit::Ran;
use windlass_testkit::stand_in::{IMAGE, StandIn};

use crate::case::{Case, LOOP, RUN, Setup};

const HONEST: &str = "echo 42 >answer.txt\ncomplete";

fn setup(agent: &str, image: &str) -> Setup {
    // The least is one of windlass's own levels.
    Setup::new(agent).level("container").minimum("landlock").sandbox_keys(&format!("image = {image:?}\n"))
}

fn with_path(case: &Case, path: impl AsRef<std::ffi::OsStr>, args: &[&str]) -> Ran {
    let mut command: Command = case.command(args);
    command.env("PATH", path);
    case.home.start(command).finish(RUN)
}

fn stand_in(case: &Case, engine: &str) -> Option<StandIn> {
    StandIn::install(&case.home.path().join("engine"), engine)
}

/// The mounts of a command line, without the paths before the names that matter.
fn mounts(line: &str) -> Vec<&str> {
    line.split(' ').filter(|word| word.starts_with("--mount=")).collect()
}

/// Whether a path is mounted, and how.
fn mounted(line: &str, path: &Path) -> Option<&'static str> {
    let target = format!("target={}", path.display());
    let found = mounts(line).into_iter().find(|mount| mount.contains(&target))?;
    Some(if found.ends_with(",readonly") { "read-only" } else { "writable" })
}

#[test]
fn a_loop_completes_with_agent_reviewer_and_gate_in_containers() {
    for engine in ["docker", "podman"] {
        let agent = format!(
            "ls -d /home /root /work \"$HOME\" >\"$side/seen\" 2>/dev/null\necho \"$PATH\" >\"$side/path\"\n{HONEST}"
        );
        let case = setup(&agent, IMAGE)
            .reviewer("echo 41 >answer.txt\necho $? >\"$side/wrote\"\naccept\n")
            .review("tasks = true\nfinal = false\n")
            .agent_keys("network = \"none\"\n")
            .sandbox_keys("memory = \"1GiB\"\nprocesses = 100\n")
            .ready();
        let Some(stand_in) = stand_in(&case, engine) else { return };
        let ran = with_path(&case, stand_in.path(), &["run", "--name", LOOP]).expect_code(0);
        assert!(!ran.stdout.contains("warning: the sandbox"), "{ran}");
        assert_eq!(case.landed("answer.txt"), "42");
        assert_ne!(case.left("wrote").trim(), "0", "a reviewer cannot change the workspace");
        assert_eq!(case.left("path").trim(), "/usr/local/bin:/usr/bin:/bin", "the image's own");

        let view = case.status();
        assert_eq!(
            (&view["sandbox"], &view["sandbox_missed"]),
            (&"container".into(), &serde_json::json!([]))
        );
        let proven = case.log().of("run_started")[0]["asked"]["sandbox"].clone();
        let words = format!("{engine} 99.1, image {IMAGE} (sha256:0123abcd)");
        assert_eq!((&proven["level"], &proven["engine"]), (&"container".into(), &words.into()));
        assert_eq!(proven["stopped"].as_array().unwrap().len(), 13, "{proven}");

        let asked = stand_in.asked();
        let space = view["workspace"].as_str().unwrap();
        let inside = format!("--workdir={space} ");
        let runs: Vec<&String> =
            asked.iter().filter(|line| line.starts_with("run ") && line.contains(&inside)).collect();
        let [author, reviewer] = runs[..] else { panic!("{asked:#?}") };
        assert_eq!(mounted(author, Path::new(space)), Some("writable"), "{author}");
        assert_eq!(mounted(reviewer, Path::new(space)), Some("read-only"), "{reviewer}");
        for line in [author, reviewer] {
            assert!(line.contains(" --memory=1073741824 ") && line.contains(" --pids-limit=101 "), "{line}");
            assert!(line.contains(" --network=none "), "{line}");
            assert_eq!(mounted(line, Path::new("/usr")), None, "{line}");
        }
        let gates: Vec<&String> = asked.iter().filter(|line| line.contains("--entrypoint=/bin/sh")).collect();
        assert!(!gates.is_empty(), "{asked:#?}");
        for gate in gates {
            assert!(!gate.contains("--network") && mounted(gate, Path::new(space)).is_none(), "{gate}");
        }
        let started = asked.iter().filter(|line| line.starts_with("run ")).count();
        let ended = asked.iter().filter(|line| line.starts_with("inspect ")).count();
        assert_eq!(started, ended, "each container was ended: {asked:#?}");
    }
}

#[test]
fn a_machine_without_an_engine_is_refused_with_what_is_missing() {
    let case = setup(HONEST, "agent:1").ready();
    let Some(stand_in) = stand_in(&case, "docker") else { return };
    // A client with nothing behind it, as is installed on many machines.
    let dead =
        "#!/bin/sh\necho 'Cannot connect to the Docker daemon at unix:///var/run/docker.sock.' >&2\nexit 1\n";
    std::fs::write(stand_in.dir().join("docker"), dead).unwrap();
    let system = format!("{}:{}", stand_in.dir().display(), bare_path(&case).display());
    let docker =
        |args: &[&str]| with_path(&case, &system, &[args, &["--set", "sandbox.engine=docker"]].concat());
    let ran = docker(&["run", "--name", LOOP]);
    let program = stand_in.dir().join("docker").canonicalize().unwrap();
    let expected = format!(
        "windlass: sandbox.level = \"container\" is not available: {} has no engine behind it: Cannot connect to the \
         Docker daemon at unix:///var/run/docker.sock.; nothing was started\n  \
         hint: start the engine (docker: `sudo systemctl start docker`, and be in its group; podman: `podman info` \
         must work as this user)\n  \
         hint: or use a level of windlass's own: sandbox.level = \"auto\"\n",
        program.display()
    );
    assert_eq!((ran.status.code(), ran.stderr.as_str()), (Some(1), expected.as_str()));
    case.nothing_was_made();
    let doctor = with_path(&case, &system, &["doctor", "--json"]).expect_code(1).json();
    let rows = doctor["checks"].as_array().unwrap();
    let row = rows.iter().find(|row| row["what"] == "sandbox container").unwrap();
    assert!(
        row["needed"] == true && row["detail"].as_str().unwrap().contains("has no engine behind it"),
        "{row}"
    );
}

#[test]
fn no_client_and_no_image_are_told_apart() {
    let case = setup(HONEST, "agent:1").ready();
    let Some(stand_in) = stand_in(&case, "podman") else { return };
    let ran = with_path(&case, stand_in.path(), &["run", "--name", LOOP, "--set", "sandbox.engine=podman"]);
    assert_eq!(
        (ran.status.code(), ran.stderr.as_str()),
        (
            Some(1),
            "windlass: sandbox.level = \"container\" is not available: podman has no image agent:1: Error: No such image: \
             agent:1; nothing was started\n  \
             hint: podman pull agent:1, or build it: nothing is pulled while a loop runs\n"
        )
    );
    case.nothing_was_made();
    std::fs::remove_file(stand_in.dir().join("podman")).unwrap();
    let bare = bare_path(&case);
    let ran = with_path(&case, &bare, &["run", "--name", LOOP]);
    assert_eq!(
        (ran.status.code(), ran.stderr.as_str()),
        (
            Some(1),
            "windlass: sandbox.level = \"container\" is not available: docker or podman is not in PATH; nothing was \
             started\n  \
             hint: install docker or podman, or use a level of windlass's own: sandbox.level = \"auto\"\n"
        )
    );
    case.nothing_was_made();
}

/// A PATH with git and a shell, and no engine's client wherever this machine has one.
fn bare_path(case: &Case) -> std::path::PathBuf {
    let dir = case.home.path().join("bare");
    std::fs::create_dir(&dir).unwrap();
    for name in ["git", "sh"] {
        let program = windlass_testkit::capability::program(name).unwrap();
        std::os::unix::fs::symlink(program, dir.join(name)).unwrap();
    }
    dir
}

#[test]
fn what_no_engine_can_do_is_a_mistake_of_the_policy() {
    let unnamed = Setup::new(HONEST).level("container").minimum("landlock").ready();
    let ran = unnamed.windlass(&["run", "--name", LOOP]).expect_code(2);
    assert!(ran.stderr.contains("sandbox.image is not set"), "{ran}");
    unnamed.nothing_was_made();
    for allow in [setup(HONEST, IMAGE).agent_keys("allow = [\"a.org:443\"]\n"), setup(HONEST, IMAGE).more("")]
    {
        let case = allow.ready();
        let args = ["run", "--name", LOOP, "--set", "gate.allow=[\"a.org:443\"]"];
        let ran = case.windlass(&args).expect_code(2);
        assert!(ran.stderr.contains("a list of allowed hosts does not work at level container"), "{ran}");
        case.nothing_was_made();
    }
}
