use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use windlass_workspace::{ReadFiles, Space, SpaceError, WorkspaceEvidence};

use crate::kit::{Lab, bytes, chmod, write};

/// The workspace's tree must be the one git would make of the same files.
fn same_as_git(lab: &Lab, bench: &mut crate::kit::Bench) -> String {
    let ours = bench.snapshot();
    let copy = lab.path("copy-for-git");
    let _ = std::fs::remove_dir_all(&copy);
    let status = std::process::Command::new("cp").arg("-a").arg(bench.root()).arg(&copy).status().unwrap();
    assert!(status.success());
    std::fs::remove_dir_all(copy.join(".git")).unwrap();
    let theirs = lab.tree_by_git(&copy, bench.base.as_str());
    assert_eq!(ours.tree.as_str(), theirs);
    theirs
}

#[test]
fn an_unchanged_workspace_is_the_base_tree_and_git_status_is_clean() {
    let lab = Lab::with(&[("a.txt", "a"), ("dir/b.txt", "b"), ("run.sh", "#!/bin/sh\n")]);
    chmod(&lab.repo.join("run.sh"), 0o755);
    symlink("a.txt", lab.repo.join("link")).unwrap();
    lab.commit("more");
    let mut bench = lab.bench();
    assert_eq!(bench.snapshot().tree, bench.rules.base);
    assert_eq!(lab.run(&bench.root(), &["status", "--porcelain"]), "");
    assert_eq!(lab.run(&bench.root(), &["rev-parse", "HEAD"]), bench.base.as_str());
    assert_eq!(lab.run(&bench.root(), &["remote"]), "");
    assert!(!bench.root().join(".git/objects/info/alternates").exists());
}

#[test]
fn names_of_any_bytes_give_the_tree_git_gives() {
    let lab = Lab::with(&[("a.txt", "a")]);
    let mut bench = lab.bench();
    let root = bench.root();
    let names: [&[u8]; 9] = [
        b"with space",
        b"new\nline",
        b"--output=x",
        b"-dash",
        b"n\xf6n-utf8-\xff\xfe",
        b"dir/in\tside",
        b"dir.txt",
        b"dir-x/y",
        b"quote\"back\\slash",
    ];
    for name in names {
        write(&root, name, name);
    }
    std::fs::create_dir_all(root.join("empty/dir")).unwrap();
    write(&root, "run", "#!/bin/sh\n");
    chmod(&root.join("run"), 0o755);
    symlink(OsStr::from_bytes(b"dangling\xff"), root.join("link")).unwrap();
    std::fs::remove_file(root.join("a.txt")).unwrap();
    same_as_git(&lab, &mut bench);
    // And again, from memory, after small changes.
    write(&root, "dir/in\tside", "changed");
    std::fs::remove_file(root.join("-dash")).unwrap();
    chmod(&root.join("run"), 0o644);
    same_as_git(&lab, &mut bench);
    // And from the cache on disk, in a new process's place.
    let mut other = Space::new(&root, &lab.path("state/space.stat"));
    std::mem::swap(&mut bench.space, &mut other);
    drop(other);
    write(&root, "dir-x/z", "more");
    same_as_git(&lab, &mut bench);
}

#[test]
fn ignore_rules_are_gits() {
    let lab = Lab::with(&[
        (
            ".gitignore",
            "*.log\n/build/\n!keep.log\ntarget\n{a,b}.txt\n**/deep/*.tmp\nfoo/**\n\\#hash\ntrail \n",
        ),
        ("sub/.gitignore", "!again.log\n*.o\n/only-here\n"),
        ("kept/x", "x"),
    ]);
    // Tracked although ignored, alone and inside an ignored directory.
    write(&lab.repo, "tracked.log", "t");
    write(&lab.repo, "build/tracked", "t");
    lab.run(&lab.repo, &["add", "-f", "tracked.log", "build/tracked"]);
    lab.run(&lab.repo, &["commit", "-q", "-m", "ignored but tracked"]);
    let mut bench = lab.bench();
    let root = bench.root();
    for name in [
        "a.log",
        "keep.log",
        "build/new",
        "build/sub/new",
        "target/x",
        "sub/target",
        "a.txt",
        "{a,b}.txt",
        "x/deep/y.tmp",
        "x/deep/y.ok",
        "foo/bar",
        "#hash",
        "trail",
        "sub/again.log",
        "sub/b.log",
        "sub/c.o",
        "sub/only-here",
        "sub/sub/only-here",
        "sub/sub/.gitignore",
        "other/c.o",
    ] {
        write(&root, name, "one");
    }
    write(&root, "tracked.log", "two");
    write(&root, "build/tracked", "two");
    same_as_git(&lab, &mut bench);
    // A changed .gitignore is a new decision about everything below it.
    write(&root, ".gitignore", "sub/\n");
    same_as_git(&lab, &mut bench);
    std::fs::remove_file(root.join(".gitignore")).unwrap();
    same_as_git(&lab, &mut bench);
}

#[test]
fn a_gitignore_that_ignores_itself_still_counts() {
    let lab = Lab::with(&[("a", "a")]);
    let mut bench = lab.bench();
    let root = bench.root();
    write(&root, "venv/.gitignore", "*\n");
    write(&root, "venv/lib", "x");
    assert_eq!(bench.snapshot().tree, bench.rules.base);
    write(&root, "venv/.gitignore", "other\n");
    let tree = bench.snapshot().tree;
    assert_eq!(bench.paths(&tree), ["a", "venv/.gitignore", "venv/lib"]);
}

#[test]
fn the_operators_global_excludes_count_and_the_agents_do_not() {
    let lab = Lab::with(&[("a", "a")]);
    let excludes = lab.path("home/ignore");
    std::fs::write(&excludes, "*.swp\n").unwrap();
    let mut bench = lab.bench();
    bench.rules.global_excludes = Some(excludes.clone());
    let root = bench.root();
    write(&root, "x.swp", "x");
    write(&root, "secret", "x");
    write(&root, ".git/info/exclude", "secret\n");
    let tree = bench.snapshot().tree;
    assert_eq!(bench.paths(&tree), ["a", "secret"]);
    std::fs::write(&excludes, "").unwrap();
    let tree = bench.snapshot().tree;
    assert_eq!(bench.paths(&tree), ["a", "secret", "x.swp"]);
}

#[test]
fn paths_windlass_put_there_are_never_taken() {
    let lab = Lab::with(&[("a", "a"), ("tracked.env", "t")]);
    let mut bench = lab.bench();
    bench.rules.never = vec![bytes(".env.test"), bytes("conf/agent"), bytes("tracked.env")];
    write(&bench.root(), ".env.test", "secret");
    write(&bench.root(), "conf/agent/x", "secret");
    assert_eq!(bench.snapshot().tree, bench.rules.base);
}

#[test]
fn line_endings_follow_the_bases_attributes() {
    let lab = Lab::new();
    let files: [(&str, &[u8]); 4] = [
        (".gitattributes", b"* text=auto\n*.bat text eol=crlf\n*.raw -text\n*.bin binary\n"),
        ("a.txt", b"one\ntwo\n"),
        ("sub/.gitattributes", b"*.txt -text\n"),
        ("old.raw", b"x\r\n"),
    ];
    for (path, content) in files {
        write(&lab.repo, path, content);
    }
    lab.commit("base");
    // A file whose stored form has CRLF, from before the attributes.
    lab.run(&lab.repo, &["config", "core.autocrlf", "false"]);
    write(&lab.repo, "legacy.md", "l\r\n");
    let blob = lab.run(&lab.repo, &["hash-object", "-w", "--no-filters", "legacy.md"]);
    lab.run(&lab.repo, &["update-index", "--add", "--cacheinfo", &format!("100644,{blob},legacy.md")]);
    lab.run(&lab.repo, &["commit", "-q", "-m", "legacy"]);
    let mut bench = lab.bench();
    let root = bench.root();
    assert_eq!(bench.snapshot().tree, bench.rules.base);
    write(&root, "a.txt", b"one\r\ntwo\r\nthree\r\n");
    write(&root, "new.txt", b"n\r\nm\n");
    write(&root, "mixed-binary", b"n\r\n\0");
    write(&root, "lone-cr", b"a\rb\r\n");
    write(&root, "x.bat", b"a\rb\r\n");
    write(&root, "x.raw", b"a\r\n");
    write(&root, "x.bin", b"a\r\n");
    write(&root, "sub/y.txt", b"a\r\n");
    write(&root, "sub/y.md", b"a\r\n");
    write(&root, "legacy.md", b"l\r\nmore\r\n");
    same_as_git(&lab, &mut bench);
    // The agent's own attributes do not count.
    let tree = bench.snapshot().tree;
    write(&root, "other/.gitattributes", "*.txt -text\n");
    write(&root, "other/z.txt", b"a\r\n");
    let after = bench.snapshot().tree;
    assert_ne!(tree, after);
    assert_eq!(bench.file(&after, "other/z.txt").unwrap(), "a\n");
}

#[test]
fn filtered_paths_and_escaping_links_are_evidence_until_they_are_gone() {
    let lab = Lab::new();
    write(&lab.repo, ".gitattributes", "*.png filter=lfs diff=lfs merge=lfs -text\n");
    write(&lab.repo, "a.png", "version https://git-lfs.github.com/spec/v1\n");
    write(&lab.repo, "dir/x", "x");
    symlink("/etc/passwd", lab.repo.join("old")).unwrap();
    lab.commit("base");
    let mut bench = lab.bench();
    let root = bench.root();
    assert_eq!(bench.snapshot().evidence, []);
    write(&root, "a.png", "changed");
    symlink("/etc", root.join("abs")).unwrap();
    symlink("../../x", root.join("dir/up")).unwrap();
    symlink("../dir/x", root.join("dir/inside")).unwrap();
    symlink("dir", root.join("alias")).unwrap();
    symlink("alias/../..", root.join("through")).unwrap();
    symlink(".git/config", root.join("gitconfig")).unwrap();
    let mut found: Vec<String> = bench
        .snapshot()
        .evidence
        .into_iter()
        .map(|evidence| match evidence {
            WorkspaceEvidence::EscapingSymlink { path, .. } => format!("link {path}"),
            WorkspaceEvidence::FilteredPathChanged { path } => format!("filter {path}"),
            other => panic!("{other:?}"),
        })
        .collect();
    found.sort();
    assert_eq!(found, ["filter a.png", "link abs", "link dir/up", "link gitconfig", "link through"]);
    // The same evidence again, from memory; and none once it no longer holds.
    assert_eq!(bench.snapshot().evidence.len(), 5);
    write(&root, "a.png", "version https://git-lfs.github.com/spec/v1\n");
    for link in ["abs", "dir/up", "gitconfig", "through"] {
        std::fs::remove_file(root.join(link)).unwrap();
    }
    assert_eq!(bench.snapshot().evidence, []);
}

#[test]
fn submodules_stay_as_the_base_has_them() {
    let lab = Lab::with(&[("a", "a")]);
    let commit = lab.run(&lab.repo, &["rev-parse", "HEAD"]);
    for path in ["sub", "libs/deep/two"] {
        lab.run(&lab.repo, &["update-index", "--add", "--cacheinfo", &format!("160000,{commit},{path}")]);
    }
    lab.run(&lab.repo, &["commit", "-q", "-m", "submodules"]);
    let mut bench = lab.bench();
    let root = bench.root();
    let first = bench.snapshot();
    assert_eq!((first.tree, first.evidence), (bench.rules.base.clone(), vec![]));
    assert_eq!(lab.run(&root, &["status", "--porcelain"]), "");
    write(&root, "sub/file", "x");
    std::fs::remove_dir_all(root.join("libs")).unwrap();
    let second = bench.snapshot();
    assert_eq!(second.tree, bench.rules.base);
    let changed = |path| WorkspaceEvidence::GitlinkChanged { path: bytes(path) };
    assert_eq!(second.evidence, [changed("libs/deep/two"), changed("sub")]);
    write(&root, "a", "b");
    let third = bench.snapshot();
    assert_eq!(bench.paths(&third.tree), ["a", "libs/deep/two", "sub"]);
}

#[test]
fn the_commit_is_git_readable_and_carries_the_operators_name() {
    let lab = Lab::with(&[("a", "a")]);
    let mut bench = lab.bench();
    write(&bench.root(), "a", "b");
    let snapshot = bench.snapshot();
    bench.vault.set_ref("refs/windlass/demo/1", &snapshot.commit).unwrap();
    let vault = bench.vault.dir().to_owned();
    assert_eq!(lab.run(&vault, &["rev-parse", "refs/windlass/demo/1"]).trim(), snapshot.commit.as_str());
    lab.run(&vault, &["fsck", "--strict", "--no-dangling"]);
    let shown =
        lab.run(&vault, &["log", "-1", "--format=%an <%ae> %at|%cn|%s|%P|%T", "refs/windlass/demo/1"]);
    let expected = format!(
        "Op Erator <op@example.org> 1700000000|Op Erator|a snapshot|{}|{}",
        bench.base, snapshot.tree
    );
    assert_eq!(shown, expected);
    // The same content again adds nothing to the vault.
    assert_eq!(bench.snapshot().new_objects, 0);
    assert!(bench.vault.set_ref("refs/heads/main", &snapshot.commit).is_err());
    assert!(bench.vault.set_ref("refs/windlass/../x", &snapshot.commit).is_err());
}

#[test]
fn limits_are_kept() {
    let lab = Lab::with(&[("a", "a")]);
    let mut bench = lab.bench();
    let root = bench.root();
    bench.rules.limits.max_file_bytes = 10;
    write(&root, "big", "12345678901");
    let found = bench.snapshot();
    assert_eq!(found.evidence, [WorkspaceEvidence::TooLarge { path: bytes("big"), bytes: 11 }]);
    assert_eq!(found.tree, bench.rules.base);
    bench.rules.limits.max_files = 3;
    for n in 0..5 {
        write(&root, format!("f{n}"), "x");
    }
    assert!(matches!(bench.try_snapshot(ReadFiles::Changed), Err(SpaceError::Walk(_))));
    // A failed walk spoils nothing.
    bench.rules.limits = Default::default();
    let tree = bench.snapshot().tree;
    assert_eq!(bench.paths(&tree).len(), 7);
}

#[test]
fn a_damaged_cache_is_ignored() {
    let lab = Lab::with(&[("a", "a"), ("d/b", "b")]);
    let mut bench = lab.bench();
    write(&bench.root(), "d/b", "c");
    let tree = bench.snapshot().tree;
    bench.space.save().unwrap();
    let cache = lab.path("state/space.stat");
    let good = std::fs::read(&cache).unwrap();
    for damage in [Vec::new(), b"junk".to_vec(), good[..good.len() / 2].to_vec(), {
        let mut flipped = good.clone();
        flipped[60] ^= 1;
        flipped
    }] {
        std::fs::write(&cache, damage).unwrap();
        bench.space = Space::new(&bench.root(), &lab.path("state/space.stat"));
        std::fs::write(&cache, b"junk").unwrap();
        assert_eq!(bench.snapshot().tree, tree);
    }
}

#[test]
fn a_change_that_keeps_size_and_mtime_is_seen() {
    let lab = Lab::with(&[("a", "one")]);
    let mut bench = lab.bench();
    let file = bench.root().join("a");
    bench.snapshot();
    let time = std::fs::metadata(&file).unwrap().modified().unwrap();
    std::fs::write(&file, "two").unwrap();
    std::fs::File::options().write(true).open(&file).unwrap().set_modified(time).unwrap();
    let tree = bench.snapshot().tree;
    assert_eq!(bench.file(&tree, "a").unwrap(), "two");
    let all = bench.try_snapshot(ReadFiles::Everything).unwrap();
    assert_eq!(all.tree, tree);
}

#[test]
fn quick_changes_in_a_row_are_all_seen() {
    let lab = Lab::with(&[("a", "0")]);
    let mut bench = lab.bench();
    let root = bench.root();
    for n in 1..30 {
        write(&root, "a", (n % 10).to_string());
        if n % 3 == 0 {
            write(&root, format!("new{n}"), "x");
        }
        let tree = bench.snapshot().tree;
        assert_eq!(bench.file(&tree, "a").unwrap(), (n % 10).to_string());
        assert_eq!(bench.paths(&tree).len(), 1 + n / 3);
    }
}
