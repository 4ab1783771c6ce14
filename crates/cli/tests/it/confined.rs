//! Agents, reviewers and checks inside each level that this machine can prove.

use std::fs;
use std::os::unix::net::UnixListener;

use windlass_testkit::capability::not_run;
use windlass_testkit::scratch::Scratch;

use crate::case::{LOOP, Setup};

const HONEST: &str = "echo 42 >answer.txt\ncomplete";

/// Whether what a program writes can go to a layer of its own; said where it cannot.
pub fn has_layers() -> bool {
    let case = Setup::new(HONEST).ready();
    let found = case.windlass(&["doctor", "--json"]).json();
    let holds = |what: &str| {
        found["checks"]
            .as_array()
            .is_some_and(|rows| rows.iter().any(|row| row["what"] == what && row["ok"] == true))
    };
    let has = holds("sandbox namespaces") && holds("overlay");
    if !has {
        not_run("a layer over a directory needs namespaces and overlays");
    }
    has
}

/// The levels that hold here; one that does not is told.
pub fn levels() -> Vec<&'static str> {
    let case = Setup::new(HONEST).ready();
    let seen = case.windlass(&["doctor", "--json"]);
    let found: serde_json::Value = serde_json::from_str(&seen.stdout).unwrap();
    let holds = |level: &&str| {
        let rows = found["checks"].as_array().unwrap();
        let row = rows.iter().find(|row| row["what"] == format!("sandbox {level}")).unwrap();
        let ok = row["ok"] == true;
        if !ok {
            not_run(&format!("at level {level}: {}", row["detail"]));
        }
        ok
    };
    ["namespaces", "landlock"].into_iter().filter(holds).collect()
}

fn secretive_home() -> Scratch {
    let home = Scratch::new(env!("CARGO_BIN_EXE_windlass"));
    fs::create_dir(home.path().join(".ssh")).unwrap();
    fs::write(home.path().join(".ssh/id_ed25519"), "a private key of the operator").unwrap();
    home
}

#[test]
fn the_default_is_the_best_there_is() {
    let Some(best) = levels().first().copied() else { return };
    let case = Setup::new(HONEST).level("auto").ready();
    let seen = case.run();
    seen.completed();
    assert_eq!(seen.view["sandbox"], best);
    let started = &seen.log.of("run_started")[0]["asked"]["sandbox"];
    assert_eq!(started["level"], best);
    assert!(started["stopped"].as_array().unwrap().len() > 8, "what was tried is on record: {started}");
}

#[test]
fn an_agent_reaches_its_workspace_and_nothing_else_of_the_operators() {
    for level in levels() {
        let home = secretive_home();
        let secret = home.path().join(".ssh/id_ed25519").display().to_string();
        let canary = home.path().join("canary").display().to_string();
        let agent = format!(
            "cat {secret} >\"$side/secret\" 2>&1
echo x >{canary}
echo x >/etc/windlass-canary
cat \"$(dirname \"$side\")\"/*/windlass.toml >\"$side/project\" 2>&1
ls -A \"$HOME\" >\"$side/home\"
echo \"$HOME\" >>\"$side/home\"
tr '\\0' '\\n' </proc/1/environ >\"$side/init\" 2>&1
env >\"$side/env\"
{HONEST}"
        );
        let case = Setup::new(&agent).level(level).home(home).ready();
        let seen = case.run();
        seen.completed();
        assert!(!case.left("secret").contains("private key"), "{level}: {}", case.left("secret"));
        assert!(!fs::exists(&canary).unwrap(), "{level}");
        assert!(!fs::exists("/etc/windlass-canary").unwrap(), "{level}");
        assert!(!case.left("project").contains("[agent]"), "{level}: {}", case.left("project"));
        assert!(!case.left("home").contains(".ssh"), "{level}: {}", case.left("home"));
        assert!(!case.left("init").contains("HOME="), "{level}: {}", case.left("init"));
    }
}

#[test]
fn a_reviewer_cannot_change_the_workspace() {
    for level in levels() {
        let case = Setup::new(HONEST)
            .reviewer("echo 41 >answer.txt\necho $? >\"$side/wrote\"\naccept\n")
            .review("tasks = true\nfinal = false\n")
            .level(level)
            .ready();
        case.run().completed();
        assert_ne!(case.left("wrote").trim(), "0", "{level}");
        assert_eq!(case.landed("answer.txt"), "42");
    }
}

#[test]
fn without_a_network_nothing_can_be_reached() {
    for level in levels() {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let agent = format!(
            "perl -MIO::Socket::INET -e 'exit(IO::Socket::INET->new(\"127.0.0.1:{port}\") ? 0 : 7)'
echo $? >\"$side/tcp\"
{HONEST}"
        );
        let open = Setup::new(&agent).level(level).ready();
        open.run().completed();
        if open.left("tcp").trim() != "0" {
            return not_run("no perl with IO::Socket");
        }
        let shut = Setup::new(&agent).level(level).agent_keys("network = \"none\"\n").ready();
        shut.run().completed();
        assert_eq!(shut.left("tcp").trim(), "7", "{level}");
    }
}

#[test]
fn a_socket_of_the_host_cannot_be_reached() {
    for level in levels() {
        let home = secretive_home();
        let path = home.path().join("agent.sock");
        let _listener = UnixListener::bind(&path).unwrap();
        let shown = path.display();
        let agent = format!(
            "perl -MIO::Socket::UNIX -e 'exit(IO::Socket::UNIX->new(\"{shown}\") ? 0 : 7)'
echo $? >\"$side/unix\"
{HONEST}"
        );
        let case = Setup::new(&agent).level(level).home(home).ready();
        case.run().completed();
        assert_eq!(case.left("unix").trim(), "7", "{level}");
    }
}

#[test]
fn a_machine_below_the_minimum_starts_nothing() {
    let Some(setpriv) = windlass_testkit::capability::program("setpriv") else {
        return not_run("no setpriv");
    };
    if !windlass_testkit::capability::root() {
        return not_run("needs root, to give its privileges up");
    }
    let case = Setup::new(HONEST).level("namespaces").ready();
    let mut command = std::process::Command::new(setpriv);
    let windlass = case.command(&["run", "--name", LOOP]);
    command.args(["--bounding-set=-all", "--inh-caps=-all"]).arg(windlass.get_program());
    command.args(windlass.get_args()).current_dir(case.repo.path());
    command.env_clear().envs(windlass.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let ran = command.output().unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(1), "{said}");
    assert!(said.contains("sandbox.minimum = \"namespaces\""), "{said}");
    assert!(said.contains("hint:") && said.contains("CAP_SYS_ADMIN"), "the remedy for this host: {said}");
    case.untouched();
    assert_eq!(case.turns("author"), 0);
}

#[test]
fn what_an_agent_puts_beside_its_workspace_counts_with_it() {
    for level in levels() {
        for place in ["$HOME", "$TMPDIR", "$(dirname \"$WINDLASS_REPORT\")"] {
            let agent = format!("head -c 9000000 /dev/zero >\"{place}/big\"\nsleep 30\ncomplete");
            let case = Setup::new(&agent)
                .level(level)
                .sandbox_keys("workspace_size = \"4MB\"")
                .limits("max_agent_failures = 1")
                .ready();
            let seen = case.run();
            let ended = seen.log.of("attempt_finished")[0]["result"].to_string();
            assert!(ended.contains("sandbox.workspace_size"), "{level} {place} {ended}");
        }
    }
}

#[test]
fn a_part_of_the_machine_s_memory_is_a_limit() {
    for level in levels() {
        let case =
            Setup::new("head -c 2000000000 /dev/zero | tail -c 2000000000 | wc -c >\"$side/had\"\ncomplete")
                .level(level)
                .sandbox_keys("memory = \"1%\"")
                .limits("max_agent_failures = 1")
                .ready();
        let seen = case.run();
        assert_ne!(case.left("had").trim(), "2000000000", "{level} {}", seen.ran);
    }
}
