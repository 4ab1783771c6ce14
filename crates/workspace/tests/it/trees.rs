use std::os::unix::fs::symlink;

use windlass_workspace::ChangeKind;

use crate::kit::{Lab, bytes, chmod, write};

#[test]
fn a_diff_names_every_path_and_how_it_changed() {
    let lab = Lab::with(&[
        ("same/deep/x", "x"),
        ("mod", "1"),
        ("gone/a", "a"),
        ("swap", "file"),
        ("kind", "k"),
        ("x", "x"),
    ]);
    let mut bench = lab.bench();
    let root = bench.root();
    write(&root, "mod", "2");
    std::fs::remove_dir_all(root.join("gone")).unwrap();
    std::fs::remove_file(root.join("swap")).unwrap();
    write(&root, "swap/inner", "i");
    std::fs::remove_file(root.join("kind")).unwrap();
    symlink("mod", root.join("kind")).unwrap();
    chmod(&root.join("x"), 0o755);
    write(&root, "new", "n");
    let tree = bench.snapshot().tree;
    let changes = bench.vault.diff(&bench.rules.base, &tree).unwrap();
    let said: Vec<(String, ChangeKind)> =
        changes.iter().map(|change| (change.path.to_string(), change.kind)).collect();
    let expected = [
        ("gone/a", ChangeKind::Deleted),
        ("kind", ChangeKind::TypeChanged),
        ("mod", ChangeKind::Modified),
        ("new", ChangeKind::Added),
        ("swap", ChangeKind::Deleted),
        ("swap/inner", ChangeKind::Added),
        ("x", ChangeKind::Modified),
    ];
    let expected: Vec<(String, ChangeKind)> = expected.map(|(path, kind)| (path.to_owned(), kind)).to_vec();
    assert_eq!(said, expected);
    assert!(bench.vault.diff(&tree, &tree).unwrap().is_empty());
    let whole = bench.vault.diff_text(&bench.rules.base, &tree, 1 << 20).unwrap();
    assert!(!whole.truncated && String::from_utf8_lossy(&whole.bytes).contains("+++ b/new"));
    let cut = bench.vault.diff_text(&bench.rules.base, &tree, 20).unwrap();
    assert!(cut.truncated && cut.bytes.len() == 20);
}

#[test]
fn whitespace_is_told_from_work() {
    let lab = Lab::with(&[("a", "one two\n"), ("b", "x")]);
    let mut bench = lab.bench();
    let root = bench.root();
    let base = bench.rules.base.clone();
    let mut after = |change: &dyn Fn()| {
        change();
        let tree = bench.snapshot().tree;
        bench.vault.whitespace_only(&base, &tree).unwrap()
    };
    assert!(!after(&|| {}));
    assert!(after(&|| write(&root, "a", "one\n\n\ttwo  \n")));
    assert!(after(&|| write(&root, "blank", " \n")));
    assert!(!after(&|| write(&root, "b", "y")));
    assert!(!after(&|| {
        write(&root, "b", "x");
        chmod(&root.join("b"), 0o755);
    }));
    assert!(!after(&|| {
        chmod(&root.join("b"), 0o644);
        write(&root, "a", "onetwo\0");
    }));
}

#[test]
fn grafting_restores_paths_and_leaves_the_rest() {
    let lab = Lab::with(&[
        ("test.sh", "real"),
        ("tests/a", "a"),
        ("tests/b", "b"),
        ("src", "s"),
        ("was-file", "f"),
    ]);
    let mut bench = lab.bench();
    let root = bench.root();
    write(&root, "test.sh", "exit 0");
    std::fs::remove_dir_all(root.join("tests")).unwrap();
    write(&root, "tests", "a file now");
    std::fs::remove_file(root.join("was-file")).unwrap();
    write(&root, "was-file/inner", "i");
    write(&root, "conftest.py", "skip");
    write(&root, "src", "work");
    let tree = bench.snapshot().tree;
    let paths =
        ["test.sh", "tests", "tests/a", "tests/b", "was-file", "was-file/inner", "conftest.py"].map(bytes);
    let grafted = bench.vault.graft(&tree, &bench.rules.base, &paths).unwrap();
    assert_eq!(bench.paths(&grafted), ["src", "test.sh", "tests/a", "tests/b", "was-file"]);
    assert_eq!(bench.file(&grafted, "test.sh").unwrap(), "real");
    assert_eq!(bench.file(&grafted, "src").unwrap(), "work");
    let all = bench.vault.graft(&grafted, &bench.rules.base, &[bytes("src")]).unwrap();
    assert_eq!(all, bench.rules.base);
    lab.run(bench.vault.dir(), &["fsck", "--strict"]);
}

#[test]
fn a_commit_can_be_made_again_after_a_power_cut_tore_it() {
    let lab = Lab::with(&[("a", "a")]);
    let bench = lab.bench();
    let make = || {
        bench
            .vault
            .commit(&bench.rules.base, std::slice::from_ref(&bench.base), &crate::kit::text("made"))
            .unwrap()
    };
    let commit = make();
    assert_eq!(make(), commit);
    let file = bench.vault.dir().join("objects").join(&commit.as_str()[..2]).join(&commit.as_str()[2..]);
    chmod(&file, 0o644);
    std::fs::write(&file, "").unwrap();
    assert_eq!(make(), commit);
    assert_eq!(bench.vault.tree_of(&commit).unwrap(), bench.rules.base);
    assert!(bench.vault.is_ancestor(&bench.base, &commit).unwrap());
    assert!(!bench.vault.is_ancestor(&commit, &bench.base).unwrap());
    let torn = bench.vault.dir().join("refs/windlass/demo/1");
    bench.vault.set_ref("refs/windlass/demo/1", &commit).unwrap();
    std::fs::write(&torn, "").unwrap();
    bench.vault.set_ref("refs/windlass/demo/1", &commit).unwrap();
    assert_eq!(std::fs::read_to_string(&torn).unwrap().trim_end(), commit.as_str());
}

#[test]
fn a_vault_is_shared_between_threads_and_a_space_moves() {
    fn shared<T: Send + Sync>() {}
    fn moved<T: Send>() {}
    shared::<windlass_workspace::Vault>();
    shared::<windlass_workspace::Repository>();
    moved::<windlass_workspace::Space>();
    moved::<windlass_workspace::Checkout>();
}

#[test]
fn many_small_packs_are_rolled_up_and_nothing_is_lost() {
    let lab = Lab::with(&[("a", "a")]);
    let mut bench = lab.bench();
    assert!(!bench.vault.maintain().unwrap());
    let mut trees = Vec::new();
    for n in 0..45 {
        write(&bench.root(), "a", n.to_string());
        let snapshot = bench.snapshot();
        // Every other one without a ref, as after a crash.
        if n % 2 == 0 {
            bench.vault.set_ref(&format!("refs/windlass/demo/{n}"), &snapshot.commit).unwrap();
        }
        trees.push(snapshot.tree);
    }
    assert!(bench.vault.maintain().unwrap());
    let packs = std::fs::read_dir(bench.vault.dir().join("objects/pack")).unwrap().count();
    assert!(packs < 20, "{packs} files");
    for (n, tree) in trees.iter().enumerate() {
        assert_eq!(bench.file(tree, "a").unwrap(), n.to_string());
    }
    lab.run(bench.vault.dir(), &["fsck", "--strict"]);
}
