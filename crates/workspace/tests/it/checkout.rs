use std::os::unix::fs::{MetadataExt, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::Path;

use windlass_workspace::{Brought, Checkout};

use crate::kit::{Bench, Lab, chmod, write};

/// The directory's content as a tree, judged by git.
fn holds(lab: &Lab, dir: &Path) -> String {
    lab.run(&lab.repo, &["update-ref", "refs/empty", "HEAD"]);
    let empty = lab.run(&lab.repo, &["hash-object", "-t", "tree", "-w", "/dev/null"]);
    lab.tree_by_git(dir, &empty)
}

fn bench_with_changes(lab: &Lab) -> (Bench, windlass_core::id::TreeId) {
    let mut bench = lab.bench();
    let root = bench.root();
    write(&root, "a", "changed");
    std::fs::remove_dir_all(root.join("d")).unwrap();
    write(&root, "d", "a file now");
    symlink("a", root.join("link")).unwrap();
    write(&root, "new/deep/x", "x");
    chmod(&root.join("f"), 0o755);
    let tree = bench.snapshot().tree;
    (bench, tree)
}

fn lab() -> Lab {
    Lab::with(&[("a", "a"), ("d/b", "b"), ("d/e/c", "c"), ("f", "f"), ("same", "s")])
}

#[test]
fn it_moves_between_trees_by_what_differs() {
    let lab = lab();
    let (bench, tree) = bench_with_changes(&lab);
    let base = &bench.rules.base;
    let mut checkout = Checkout::new(&lab.path("state/checkout"));
    let dir = checkout.dir().to_owned();
    assert_eq!(checkout.bring_to(&bench.vault, base).unwrap(), Brought::Whole);
    assert_eq!(holds(&lab, &dir), base.as_str());
    let untouched = std::fs::metadata(dir.join("same")).unwrap().ino();
    assert_eq!(checkout.bring_to(&bench.vault, &tree).unwrap(), Brought::Delta(7));
    assert_eq!(holds(&lab, &dir), tree.as_str());
    assert_eq!(std::fs::metadata(dir.join("same")).unwrap().ino(), untouched);
    assert_eq!(checkout.bring_to(&bench.vault, &tree).unwrap(), Brought::Already);
    // Another process goes on from the mark.
    let mut checkout = Checkout::new(&dir);
    assert!(matches!(checkout.bring_to(&bench.vault, base).unwrap(), Brought::Delta(_)));
    assert_eq!(holds(&lab, &dir), base.as_str());
    assert!(!dir.join("new").exists());
    checkout.remove().unwrap();
    assert!(!dir.exists());
}

#[test]
fn after_a_crash_in_the_middle_everything_is_verified() {
    let lab = lab();
    let (bench, tree) = bench_with_changes(&lab);
    let base = &bench.rules.base;
    let mut checkout = Checkout::new(&lab.path("state/checkout"));
    let dir = checkout.dir().to_owned();
    checkout.bring_to(&bench.vault, base).unwrap();
    // What a crash leaves: the mark says "changing", some paths are done.
    std::fs::write(lab.path("state/.checkout.tree"), "changing\n").unwrap();
    std::fs::write(dir.join("a"), "half").unwrap();
    std::fs::remove_file(dir.join("d/b")).unwrap();
    let mut checkout = Checkout::new(&dir);
    assert_eq!(checkout.bring_to(&bench.vault, &tree).unwrap(), Brought::Verified);
    assert_eq!(holds(&lab, &dir), tree.as_str());
    // A mark of an earlier boot is worth nothing.
    std::fs::write(lab.path("state/.checkout.tree"), format!("{base} other-boot\n")).unwrap();
    assert_eq!(checkout.bring_to(&bench.vault, base).unwrap(), Brought::Verified);
    assert_eq!(holds(&lab, &dir), base.as_str());
}

#[test]
fn whatever_a_gate_wrote_is_undone() {
    let lab = lab();
    let (bench, tree) = bench_with_changes(&lab);
    let mut checkout = Checkout::new(&lab.path("state/checkout"));
    let dir = checkout.dir().to_owned();
    let victim = lab.path("victim");
    write(&victim, "precious", "p");
    checkout.verify_and_rewrite(&bench.vault, &tree).unwrap();
    for round in 0..3 {
        write(&dir, "target/debug/out", "built");
        let time = std::fs::metadata(dir.join("a")).unwrap().modified().unwrap();
        write(&dir, "a", "chonged");
        std::fs::File::options().write(true).open(dir.join("a")).unwrap().set_modified(time).unwrap();
        chmod(&dir.join("same"), 0o400);
        chmod(&dir.join("f"), 0o644);
        std::fs::remove_dir_all(dir.join("new/deep")).unwrap();
        symlink(&victim, dir.join("new/deep")).unwrap();
        chmod(&dir.join("new"), 0o500);
        assert_eq!(checkout.verify_and_rewrite(&bench.vault, &tree).unwrap(), Brought::Verified);
        assert_eq!(holds(&lab, &dir), tree.as_str(), "round {round}");
        assert!(!dir.join("target").exists());
        assert_eq!(std::fs::metadata(dir.join("same")).unwrap().mode() & 0o600, 0o600);
        if round == 1 {
            checkout = Checkout::new(&dir);
        }
    }
    assert_eq!(std::fs::read_to_string(victim.join("precious")).unwrap(), "p");
    assert_eq!(checkout.verify_and_rewrite(&bench.vault, &bench.rules.base).unwrap(), Brought::Verified);
    assert_eq!(holds(&lab, &dir), bench.rules.base.as_str());
}

/// Root passes by every mode, so that root plays this as somebody else.
#[test]
fn modes_that_a_gate_took_are_given_back() {
    if rustix::process::geteuid().is_root() {
        return again_as_nobody("checkout::modes_that_a_gate_took_are_given_back");
    }
    let lab = lab();
    let (bench, tree) = bench_with_changes(&lab);
    let mut checkout = Checkout::new(&lab.path("state/checkout"));
    let dir = checkout.dir().to_owned();
    checkout.verify_and_rewrite(&bench.vault, &tree).unwrap();
    for closed in [0o000, 0o100, 0o200, 0o300, 0o400, 0o500, 0o600] {
        for path in ["same", "new/deep", "new", ""] {
            chmod(&dir.join(path), closed);
        }
        chmod(dir.parent().unwrap(), closed);
        let mended = checkout.verify_and_rewrite(&bench.vault, &tree);
        assert_eq!(mended.unwrap(), Brought::Verified, "{closed:o}");
        assert_eq!(holds(&lab, &dir), tree.as_str(), "{closed:o}");
        write(&dir, "new/deep/made", "as before");
    }
    for path in ["new/deep", "new", ""] {
        chmod(&dir.join(path), 0);
    }
    chmod(dir.parent().unwrap(), 0);
    checkout.remove().unwrap();
    assert!(!dir.exists());
}

fn again_as_nobody(test: &str) {
    const NOBODY: u32 = 65_534;
    let place = tempfile::tempdir().unwrap();
    let binary = place.path().join("tests");
    std::fs::copy(std::env::current_exe().unwrap(), &binary).unwrap();
    chmod(place.path(), 0o755);
    std::os::unix::fs::chown(place.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    let mut command = std::process::Command::new(&binary);
    command.args([test, "--exact", "--nocapture"]).current_dir(place.path()).env("TMPDIR", place.path());
    // The standard library drops root's other groups along with the user id.
    let output = command.uid(NOBODY).gid(NOBODY).output().unwrap();
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}
