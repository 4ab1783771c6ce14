use std::os::unix::fs::symlink;

use windlass_workspace::{Ensured, Since, SpaceError};

use crate::kit::{Lab, author, chmod, write};

#[test]
fn a_deleted_workspace_is_told_and_rebuilt() {
    let lab = Lab::with(&[("a", "a"), ("d/b", "b")]);
    let mut bench = lab.bench();
    let root = bench.root();
    let ensure = |bench: &mut crate::kit::Bench| {
        let base = bench.base.clone();
        bench.space.ensure(&bench.vault, &base, &author()).unwrap()
    };
    assert_eq!(ensure(&mut bench), Ensured::Sound);
    std::fs::remove_dir_all(&root).unwrap();
    assert!(matches!(
        bench.try_snapshot(windlass_workspace::ReadFiles::Changed),
        Err(SpaceError::Gone { .. })
    ));
    assert_eq!(ensure(&mut bench), Ensured::Rebuilt);
    assert_eq!(bench.snapshot().tree, bench.rules.base);
    // In its place a link to something precious.
    let victim = lab.path("victim");
    write(&victim, "precious", "p");
    std::fs::remove_dir_all(&root).unwrap();
    symlink(&victim, &root).unwrap();
    assert!(matches!(
        bench.try_snapshot(windlass_workspace::ReadFiles::Changed),
        Err(SpaceError::Gone { .. })
    ));
    assert_eq!(ensure(&mut bench), Ensured::Rebuilt);
    assert_eq!(std::fs::read_to_string(victim.join("precious")).unwrap(), "p");
    assert!(!std::fs::symlink_metadata(&root).unwrap().is_symlink());
}

#[test]
fn a_broken_or_redirected_git_is_rebuilt_and_the_files_stay() {
    let lab = Lab::with(&[("a", "a")]);
    let mut bench = lab.bench();
    let root = bench.root();
    let git = root.join(".git");
    write(&root, "a", "work in progress");
    let evil = lab.path("evil.git");
    lab.run(lab.tmp.path(), &["init", "-q", "--bare", evil.to_str().unwrap()]);
    let breakages: [(&str, &dyn Fn()); 6] = [
        ("removed", &|| std::fs::remove_dir_all(&git).unwrap()),
        ("no HEAD", &|| std::fs::remove_file(git.join("HEAD")).unwrap()),
        ("a file that redirects", &|| {
            std::fs::remove_dir_all(&git).unwrap();
            std::fs::write(&git, format!("gitdir: {}\n", evil.display())).unwrap();
        }),
        ("a link", &|| {
            std::fs::remove_dir_all(&git).unwrap();
            symlink(&evil, &git).unwrap();
        }),
        ("alternates", &|| write(&git, "objects/info/alternates", "/elsewhere\n")),
        ("closed and read-only", &|| {
            std::fs::remove_file(git.join("config")).unwrap();
            chmod(&git.join("objects"), 0);
            chmod(&git, 0);
        }),
    ];
    for (what, damage) in breakages {
        damage();
        let base = bench.base.clone();
        assert_eq!(
            bench.space.ensure(&bench.vault, &base, &author()).unwrap(),
            Ensured::GitRebuilt,
            "{what}"
        );
        assert_eq!(lab.run(&root, &["status", "--porcelain"]), " M a", "{what}");
        lab.run(&root, &["fsck"]);
    }
    assert!(evil.join("HEAD").exists());
    let tree = bench.snapshot().tree;
    assert_eq!(bench.file(&tree, "a").unwrap(), "work in progress");
}

#[test]
fn reset_makes_exactly_the_tree_and_keeps_ignored_files() {
    let lab = Lab::with(&[(".gitignore", "target/\n"), ("a", "a"), ("d/b", "b"), ("f", "f")]);
    let mut bench = lab.bench();
    let root = bench.root();
    write(&root, "a", "changed");
    write(&root, "new/deep/x", "x");
    std::fs::remove_dir_all(root.join("d")).unwrap();
    symlink("/etc", root.join("d")).unwrap();
    std::fs::remove_file(root.join("f")).unwrap();
    write(&root, "f/inner", "i");
    write(&root, "target/out", "built");
    let changed = bench.snapshot().tree;
    let base = bench.rules.base.clone();
    let rules = bench.rules.clone();
    bench.space.reset(&bench.vault, &base, &rules, Since::Untouched).unwrap();
    assert_eq!(bench.snapshot().tree, base);
    assert_eq!(std::fs::read_to_string(root.join("target/out")).unwrap(), "built");
    assert!(!root.join("new").exists());
    bench.space.reset(&bench.vault, &changed, &rules, Since::Untouched).unwrap();
    assert_eq!(bench.snapshot().tree, changed);
    // With an agent in between: nothing of it is believed.
    write(&root, "a", "sneaky");
    write(&root, "extra", "x");
    rustix::fs::mkfifoat(rustix::fs::CWD, root.join("pipe"), rustix::fs::Mode::RWXU).unwrap();
    bench.space.reset(&bench.vault, &base, &rules, Since::Unknown).unwrap();
    assert!(!root.join("pipe").exists());
    let after = bench.snapshot();
    assert_eq!((after.tree, after.evidence), (base, vec![]));
}

#[test]
fn reset_and_removal_cope_with_closed_directories() {
    let lab = Lab::with(&[("a", "a"), ("d/b", "b")]);
    let mut bench = lab.bench();
    let root = bench.root();
    let victim = lab.path("victim");
    write(&victim, "precious", "p");
    write(&root, "d/more/x", "x");
    symlink(&victim, root.join("d/more/out")).unwrap();
    let mut deep = root.join("deep");
    for _ in 0..300 {
        deep.push("d");
    }
    std::fs::create_dir_all(&deep).unwrap();
    for closed in ["d/more", "d"] {
        chmod(&root.join(closed), 0o500);
    }
    let base = bench.rules.base.clone();
    let rules = bench.rules.clone();
    bench.space.reset(&bench.vault, &base, &rules, Since::Unknown).unwrap();
    assert_eq!(bench.snapshot().tree, base);
    chmod(&root, 0);
    bench.space.remove().unwrap();
    assert!(!root.exists());
    assert_eq!(std::fs::read_dir(root.parent().unwrap()).unwrap().count(), 1, "only the vault is left");
    assert_eq!(std::fs::read_to_string(victim.join("precious")).unwrap(), "p");
}
