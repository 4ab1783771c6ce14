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

/// Its loop is done and proven, but not of this repository.
#[test]
fn a_repository_made_anew_in_the_same_place_has_no_loop_that_answers() {
    let case = Setup::new(HONEST).ready();
    case.run().completed();
    let kept = case.repo.beside("before");
    let git_dir = case.repo.path().join(".git");
    std::fs::rename(&git_dir, &kept).unwrap();
    case.repo.git(["init", "--quiet"]);
    case.repo.git(["add", "--all"]);
    case.repo.git(["commit", "--quiet", "--message=anew"]);
    let ran = case.windlass(&["run", "--name", LOOP]).expect_code(2);
    assert!(ran.stderr.contains("is of another repository that was here"), "{ran}");
    assert!(ran.stderr.contains(&format!("`windlass rm {LOOP} --force` forgets it")), "{ran}");
    case.windlass(&["rm", LOOP]).expect_code(2);
    case.windlass(&["rm", LOOP, "--force"]).expect_code(0);
    let case = case.looked_at();
    case.run().completed();
    assert_eq!(case.turns("author"), 2);
}

/// What is typed in the directory of another repository.
fn words<'a>(dir: &'a str, verb: &[&'a str]) -> Vec<&'a str> {
    [&["-C", dir], verb].concat()
}

#[test]
fn no_file_of_a_repository_changes_because_it_is_moved() {
    let case = Setup::new(HONEST).ready();
    case.run().completed();
    let (old, new) = (case.repo.path(), case.repo.beside("moved"));
    std::fs::rename(old, &new).unwrap();
    std::fs::create_dir(old).unwrap();
    let dir = new.display().to_string();
    case.windlass(&words(&dir, &["adopt"])).expect_code(0);
    let told = case.windlass(&words(&dir, &["run", LOOP])).expect_code(0).stdout;
    assert!(!told.contains("your files changed"), "{told}");
    std::fs::write(new.join("tasks/answer.md"), "# Write another answer\n").unwrap();
    let told = case.windlass(&words(&dir, &["run", LOOP])).expect_code(0).stdout;
    assert!(told.contains("your files changed"), "{told}");
}

#[test]
fn a_repository_that_was_moved_gets_its_loops_back_and_its_copy_none() {
    let case = Setup::new(HONEST).ready();
    case.run().completed();
    let (old, new, copy) = (case.repo.path(), case.repo.beside("moved"), case.repo.beside("copy"));
    let copied = |from: &Path, to: &Path| {
        let done = std::process::Command::new("cp").arg("-a").args([from, to]).status().unwrap();
        assert!(done.success());
    };
    copied(old, &copy);
    let (new_dir, copy_dir) = (new.display().to_string(), copy.display().to_string());
    let listed = case.windlass(&words(&copy_dir, &["list", "--json"])).expect_code(0).json();
    assert_eq!(listed, serde_json::json!([]), "the original is there");
    let refused = case.windlass(&words(&copy_dir, &["adopt", &old.display().to_string()])).expect_code(2);
    assert!(refused.stderr.contains("is still there; its loops stay with it"), "{refused}");

    std::fs::rename(old, &new).unwrap();
    std::fs::create_dir(old).unwrap();
    for verb in [&["list"][..], &["status"], &["run"], &["take", LOOP]] {
        let told = case.windlass(&words(&new_dir, verb)).expect_code(2).stderr;
        assert!(told.contains(&format!("was in {} when", old.display())), "{verb:?}: {told}");
        assert!(told.contains("`windlass adopt` makes them loops"), "{verb:?}: {told}");
    }
    let adopted = case.windlass(&words(&new_dir, &["adopt"])).expect_code(0).stdout;
    assert!(adopted.contains(&format!("are loops of this repository: {LOOP}.")), "{adopted}");
    case.windlass(&words(&new_dir, &["prove", LOOP])).expect_code(0);
    case.windlass(&words(&new_dir, &["run", "--name", "second"])).expect_code(0);
    let listed = case.windlass(&words(&new_dir, &["list", "--json"])).expect_code(0).json();
    assert_eq!(listed.as_array().map(Vec::len), Some(2), "{listed:#}");
    case.windlass(&words(&new_dir, &["adopt"])).expect_code(2);
    std::fs::remove_dir_all(new.join(".windlass")).unwrap();
    std::fs::rename(&new, new.with_file_name("again")).unwrap();
    std::fs::create_dir(&new).unwrap();
    let again = new.with_file_name("again").display().to_string();
    case.windlass(&words(&again, &["adopt"])).expect_code(2);
    case.windlass(&words(&again, &["adopt", &format!("{copy_dir}/../moved")])).expect_code(0);
    let listed = case.windlass(&words(&copy_dir, &["list", "--json"])).expect_code(0).json();
    assert_eq!(listed, serde_json::json!([]), "they went with the repository that was moved");

    std::fs::remove_dir(old).unwrap();
    copied(Path::new(&again), old);
    let listed = case.windlass(&["list", "--json"]).expect_code(0).json();
    assert_eq!(listed, serde_json::json!([]), "another repository in the old place");
}
