//! The ground other tests stand on: repositories, fingerprints, a scratch home.

#![allow(clippy::disallowed_methods, reason = "tests start real programs")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;
use std::time::Duration;

use rustix::process::{Pid, test_kill_process};
use windlass_testkit::{Repo, Scratch, fingerprint, poll, repo};

const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn equal_files_give_equal_commits_on_every_machine() {
    let make = || Repo::with(&[("a.txt", "one\n"), ("dir/b.txt", "two\n")]).rev("HEAD");
    assert_eq!(make(), make());
    assert_eq!(make(), "eec43499207582ee582c11392dfcfaf89c4b6805");
}

#[test]
fn a_repository_takes_every_kind_of_file() {
    let repo = Repo::empty();
    repo.file("with space and\nnewline", "x").executable("run.sh", "#!/bin/sh\n").symlink("link", "run.sh");
    repo.commit("first");
    let modes = repo.git(["ls-tree", "-r", "--format=%(objectmode)", "HEAD"]);
    assert_eq!(modes, "120000\n100755\n100644");
    assert_eq!(repo.show("HEAD", "link"), "run.sh");
    assert_eq!(repo.git(["status", "--porcelain"]), "");
    assert!(!repo.try_git(["rev-parse", "--verify", "nothing"]).status.success());
}

#[test]
fn a_fingerprint_overlooks_what_a_loop_may_do() {
    let repo = Repo::with(&[("a.txt", "one\n")]);
    let before = fingerprint(repo.path());
    fs::create_dir(repo.path().join(".windlass")).unwrap();
    repo.file(".windlass/registry.json", "{}");
    let commit = repo.git(["commit-tree", "-p", "HEAD", "-m", "landed", "HEAD^{tree}"]);
    repo.git(["update-ref", "--create-reflog", "refs/heads/windlass/demo", &commit]);
    let after = fingerprint(repo.path());
    assert_eq!(before.changes(&after), Vec::<String>::new());
    assert_ne!(before, after);
}

#[test]
fn a_fingerprint_sees_everything_else() {
    type Change = fn(&Repo);
    let changes: [(&str, Change); 10] = [
        ("changed: checkout/a.txt", |repo| {
            repo.file("a.txt", "two\n");
        }),
        ("changed: checkout/a.txt", |repo| {
            let file = fs::File::options().append(true).open(repo.path().join("a.txt")).unwrap();
            file.set_modified(std::time::UNIX_EPOCH + Duration::from_secs(1)).unwrap();
        }),
        ("new: checkout/b.txt", |repo| {
            repo.file("b.txt", "");
        }),
        ("gone: checkout/a.txt", |repo| fs::remove_file(repo.path().join("a.txt")).unwrap()),
        ("refs/heads/other", |repo| {
            repo.git(["branch", "other"]);
        }),
        ("config", |repo| {
            repo.git(["config", "core.hooksPath", "x"]);
        }),
        ("index", |repo| {
            repo.git(["rm", "--quiet", "--cached", "a.txt"]);
        }),
        ("FETCH_HEAD", |repo| {
            repo.git(["fetch", "--quiet", ".", "HEAD"]);
        }),
        ("objects/info/alternates", |repo| {
            repo.file(".git/objects/info/alternates", "elsewhere\n");
        }),
        ("object lost or changed", |repo| {
            let tree = repo.rev("HEAD^{tree}");
            let object = repo.path().join(".git/objects").join(&tree[..2]).join(&tree[2..]);
            fs::remove_file(object).unwrap();
        }),
    ];
    for (want, change) in changes {
        let repo = Repo::with(&[("a.txt", "one\n")]);
        let before = fingerprint(repo.path());
        change(&repo);
        let found = before.changes(&fingerprint(repo.path()));
        assert!(found.iter().any(|line| line.contains(want)), "{want}: {found:?}");
    }
}

#[test]
fn a_fingerprint_takes_a_file_its_owner_may_not_read() {
    let repo = Repo::with(&[("secret", "one\n")]);
    let secret = repo.path().join("secret");
    let allow = |mode| fs::set_permissions(&secret, fs::Permissions::from_mode(mode)).unwrap();
    allow(0o000);
    let before = fingerprint(repo.path());
    assert_eq!(before.changes(&fingerprint(repo.path())), [""; 0]);
    allow(0o600);
    repo.file("secret", "two\n");
    allow(0o000);
    assert_eq!(before.changes(&fingerprint(repo.path())).len(), 1);
}

#[test]
fn a_fingerprint_of_a_linked_worktree_sees_the_shared_repository() {
    let repo = Repo::with(&[("a.txt", "one\n")]);
    let linked = repo.beside("linked");
    repo.git(["worktree", "add", "--quiet", "-b", "side", linked.to_str().unwrap()]);
    let before = fingerprint(&linked);
    repo::git(&linked, ["branch", "other"]);
    let found = before.changes(&fingerprint(&linked));
    assert!(found.iter().any(|line| line.contains("refs/heads/other")), "{found:?}");
}

#[test]
fn a_scratch_shows_the_program_nothing_of_the_user() {
    let scratch = Scratch::new("/bin/sh");
    let script = "echo $HOME; echo $XDG_STATE_HOME; echo gone=$CARGO; git config user.name; exit 7";
    let ran = scratch.start(shell(&scratch, script)).finish(PATIENCE);
    let home = scratch.home();
    let want = format!("{0}\n{0}/.local/state\ngone=\n{1}\n", home.display(), repo::NAME);
    assert_eq!(ran.expect_code(7).stdout, want);
}

#[test]
fn a_program_that_does_not_end_is_killed_with_its_test() {
    let scratch = Scratch::new("/bin/sh");
    let running = scratch.start(shell(&scratch, "echo up; exec sleep 600"));
    let pid = Pid::from_raw(running.id().cast_signed()).unwrap();
    assert!(poll::until(PATIENCE, || running.stdout() == "up\n"));
    assert!(test_kill_process(pid).is_ok());
    drop(running);
    assert!(test_kill_process(pid).is_err());
}

fn shell(scratch: &Scratch, script: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    scratch.isolate(command.args(["-c", script]).current_dir(scratch.path()));
    command
}
