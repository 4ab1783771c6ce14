use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use windlass_core::id::TreeId;
use windlass_workspace::{BString, Since, TreeMerge};

use crate::kit::{Bench, Lab, bytes, chmod, write};

const LINES: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";

/// The trees that two sides make of the same base.
struct Sides {
    base: TreeId,
    ours: TreeId,
    theirs: TreeId,
}

fn sides(bench: &mut Bench, ours: &dyn Fn(&Path), theirs: &dyn Fn(&Path)) -> Sides {
    let (base, root) = (bench.rules.base.clone(), bench.root());
    let mut side = |change: &dyn Fn(&Path)| {
        change(&root);
        let tree = bench.snapshot().tree;
        bench.space.reset(&bench.vault, &base, &bench.rules, Since::Unknown).unwrap();
        tree
    };
    let (ours, theirs) = (side(ours), side(theirs));
    Sides { base, ours, theirs }
}

fn merged(bench: &Bench, sides: &Sides) -> TreeMerge {
    bench.vault.merge(&sides.base, &sides.ours, &sides.theirs).unwrap()
}

#[test]
fn what_two_sides_did_apart_comes_together() {
    let lab = Lab::with(&[("text", LINES), ("gone", "g"), ("old/name", LINES), ("run", "#!/bin/sh\n")]);
    let mut bench = lab.bench();
    let strange: &[u8] = b"new\nline \xff\"'\\";
    let sides = sides(
        &mut bench,
        &|root| {
            write(root, "text", LINES.replace("one", "ONE"));
            write(root, "sibling", "s");
            std::fs::rename(root.join("old"), root.join("moved")).unwrap();
        },
        &|root| {
            write(root, "text", LINES.replace("seven", "SEVEN"));
            write(root, "old/name", LINES.replace("four", "FOUR"));
            std::fs::remove_file(root.join("gone")).unwrap();
            std::fs::write(root.join(OsStr::from_bytes(strange)), b"\0binary\xff").unwrap();
            symlink("text", root.join("link")).unwrap();
            chmod(&root.join("run"), 0o755);
        },
    );
    let TreeMerge::Clean(tree) = merged(&bench, &sides) else { panic!("it conflicts") };
    let read = |path: &[u8]| bench.vault.read_blob(&tree, path).unwrap();
    assert_eq!(read(b"text").unwrap(), b"ONE\ntwo\nthree\nfour\nfive\nsix\nSEVEN\n");
    assert_eq!(read(b"sibling").unwrap(), b"s");
    assert_eq!(read(b"gone"), None);
    assert_eq!(
        read(b"moved/name").unwrap(),
        LINES.replace("four", "FOUR").into_bytes(),
        "a rename is followed"
    );
    assert_eq!(read(strange).unwrap(), b"\0binary\xff");
    bench.space.reset(&bench.vault, &tree, &bench.rules, Since::Unknown).unwrap();
    let mode = bench.root().join("run").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o111, 0o111, "{mode:o}");
    assert_eq!(std::fs::read_link(bench.root().join("link")).unwrap(), Path::new("text"));
    assert_eq!(merged(&bench, &sides), TreeMerge::Clean(tree), "the same comes out however often it is made");
}

#[test]
fn what_does_not_go_together_is_named() {
    let lab = Lab::with(&[("text", LINES), ("gone", "g\n"), ("binary", "\0one"), ("same", "x\n")]);
    let mut bench = lab.bench();
    let strange: &[u8] = b"both\n\xff";
    let sides = sides(
        &mut bench,
        &|root| {
            write(root, "text", LINES.replace("four", "ours"));
            write(root, "gone", "changed\n");
            write(root, "binary", "\0two");
            write(root, "same", "y\n");
            std::fs::write(root.join(OsStr::from_bytes(strange)), "ours").unwrap();
        },
        &|root| {
            write(root, "text", LINES.replace("four", "theirs"));
            std::fs::remove_file(root.join("gone")).unwrap();
            write(root, "binary", "\0three");
            write(root, "same", "y\n");
            std::fs::write(root.join(OsStr::from_bytes(strange)), "theirs").unwrap();
        },
    );
    let TreeMerge::Conflicts(mut paths) = merged(&bench, &sides) else { panic!("no conflict") };
    paths.sort();
    assert_eq!(paths, [bytes("binary"), BString::from(strange), bytes("gone"), bytes("text")]);
}

/// A driver of the operator's configuration is a program that attributes choose, and
/// `union` keeps both sides of every conflict. Agents write attributes.
#[test]
fn neither_attributes_nor_configuration_have_a_say_in_a_merge() {
    let lab = Lab::with(&[("text", LINES), ("other", LINES), (".gitattributes", "* -text\n")]);
    let mark = lab.path("driver-ran");
    let driver = format!("[merge \"evil\"]\n\tdriver = touch '{}'; true\n", mark.display());
    let config = lab.path("home/.gitconfig");
    let before = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, before + &driver).unwrap();
    let attributes = "text merge=evil\nother merge=union\n";
    let mut bench = lab.bench();
    let changed = |root: &Path, word: &str| {
        write(root, ".gitattributes", attributes);
        write(root, "text", LINES.replace("four", word));
        write(root, "other", LINES.replace("four", word));
    };
    let sides = sides(&mut bench, &|root| changed(root, "ours"), &|root| changed(root, "theirs"));
    let TreeMerge::Conflicts(paths) = merged(&bench, &sides) else { panic!("an attribute decided") };
    assert_eq!(paths, [bytes("other"), bytes("text")]);
    assert!(!mark.exists(), "a program of the operator's configuration ran");

    // The same in a checkout, by the operator's own git: there the attack works.
    for (branch, word) in [("ours", "ours"), ("theirs", "theirs")] {
        lab.run(&lab.repo, &["checkout", "-q", "-b", branch, "main"]);
        changed(&lab.repo, word);
        lab.commit(branch);
    }
    lab.run(&lab.repo, &["merge", "-q", "--no-edit", "ours"]);
    assert!(mark.exists(), "the attack of this test is none");
}
