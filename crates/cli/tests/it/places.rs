//! Directories with names nobody would choose, and things that are in the way.

use std::path::Path;

use windlass_testkit::{Repo, repo};

use crate::case::{Case, LOOP, RUN, Setup};

const HONEST: &str = "echo 42 >answer.txt\ncomplete";

/// Runs with records elsewhere, and looks only at what came of it.
#[track_caller]
fn completes_with(case: &Case, args: &[&str]) {
    let words = |verb: &[&str]| [args, verb].concat().into_iter().map(str::to_owned).collect::<Vec<_>>();
    let run = |verb: &[&str]| case.home.start(case.home.command(case.repo.path(), words(verb))).finish(RUN);
    run(&["run", "--name", LOOP]).expect_code(0);
    let view = run(&["status", LOOP, "--json"]).expect_code(0).json();
    assert_eq!(view["outcome"]["kind"], "completed", "{view:#}");
    case.untouched();
    assert_eq!(case.landed("answer.txt"), "42");
}

/// A mount's options are a list with commas, its layers one with colons.
#[test]
fn records_in_a_directory_with_an_odd_name() {
    for name in [
        "with blank",
        "a,b",
        "a:b",
        "back\\slash",
        "-dash",
        "new\nline",
        "wei\u{df} \u{1f980}",
        "%s $HOME 'q' \"q\"",
    ] {
        let case = Setup::new(HONEST).ready();
        let dir = case.repo.beside(name);
        completes_with(&case, &["--state-dir", &dir.display().to_string()]);
        assert!(dir.is_dir(), "{name:?}");
        assert_eq!(case.home.state().read_dir().unwrap().count(), 0, "nowhere else: {name:?}");
    }
}

#[test]
fn records_in_a_relative_directory() {
    let case = Setup::new(HONEST).ready();
    completes_with(&case, &["--state-dir", "../records"]);
    assert!(case.repo.beside("records").is_dir());
}

#[test]
fn a_project_with_an_odd_name() {
    for name in ["with blank", "a,b:c", "-dash", "\u{fc}ml\u{e4}ut"] {
        let case = Setup::new(HONEST).ready();
        let odd = case.repo.beside(name);
        repo::git(case.repo.path(), ["clone", "--quiet", "--no-hardlinks", ".", &odd.display().to_string()]);
        let at = odd.display().to_string();
        let ran = case.home.run(Path::new("/"), ["-C", &at, "run", "--name", LOOP]);
        assert_eq!(ran.status.code(), Some(0), "{name:?}: {ran}");
        assert_eq!(repo::git(&odd, ["show", &format!("windlass/{LOOP}:answer.txt")]), "42", "{name:?}");
    }
}

#[test]
fn a_file_where_the_trail_would_be() {
    let case = Setup::new(HONEST).file(".windlass", "mine\n").ready();
    let seen = case.run();
    seen.completed();
    assert_eq!(std::fs::read_to_string(case.repo.path().join(".windlass")).unwrap(), "mine\n");
    let said = format!("{}{}", seen.ran.stdout, seen.ran.stderr);
    assert!(said.contains(".windlass"), "it is said: {said}");
}

#[test]
fn a_link_where_the_trail_would_be_is_not_followed() {
    let case = Setup::new(HONEST).uncommitted();
    let elsewhere = case.side().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    case.repo.symlink(".windlass", &elsewhere);
    case.repo.commit("first");
    let case = case.looked_at();
    case.run().completed();
    assert_eq!(elsewhere.read_dir().unwrap().count(), 0, "nothing was written through it");
}

#[test]
fn refs_in_one_table() {
    let made = std::process::Command::new("git").args(["init", "-h"]).output().unwrap();
    if !String::from_utf8_lossy(&made.stdout).contains("ref-format") {
        return windlass_testkit::capability::not_run("this git does not know reftable");
    }
    let case = Setup::on(Repo::init(&["--ref-format=reftable"]), HONEST).ready();
    let ran = case.windlass(&["run", "--name", LOOP]).expect_code(0);
    assert!(ran.stdout.contains("completed"), "{ran}");
    assert_eq!(case.landed("answer.txt"), "42");
    assert_eq!(case.repo.git(["status", "--porcelain"]), "");
}

#[test]
fn packed_refs_and_packed_objects() {
    let case = Setup::new(HONEST).ready();
    case.repo.git(["gc", "--quiet"]);
    let case = case.looked_at();
    case.run().completed();
}

#[test]
fn objects_borrowed_from_another_repository() {
    let origin = Setup::new(HONEST).ready();
    let clone = Repo::empty();
    let objects = origin.repo.path().join(".git/objects");
    std::fs::write(clone.path().join(".git/objects/info/alternates"), format!("{}\n", objects.display()))
        .unwrap();
    clone.git(["reset", "--quiet", "--hard", &origin.repo.rev("HEAD")]);
    let case = Setup::on(clone, HONEST).ready();
    case.run().completed();
}
