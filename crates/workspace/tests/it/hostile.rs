//! What an agent may leave behind.

use std::os::unix::fs::symlink;
use std::path::Path;

use windlass_workspace::{ReadFiles, Since, WorkspaceEvidence};

use crate::kit::{Lab, author, bytes, chmod, write};

/// Plants every way we know to run code from a git directory.
fn booby_trap(lab: &Lab, dir: &Path, canary: &Path) {
    let run = format!("touch {}", canary.display());
    let git = dir.join(".git");
    for hook in ["pre-commit", "post-checkout", "post-index-change", "reference-transaction", "pre-auto-gc"] {
        write(&git, format!("hooks/{hook}"), format!("#!/bin/sh\n{run}\n"));
        chmod(&git.join("hooks").join(hook), 0o755);
    }
    let set = |key: &str, value: &str| lab.run(dir, &["config", key, value]);
    set("core.hooksPath", git.join("hooks").to_str().unwrap());
    set("core.fsmonitor", &run);
    set("filter.evil.clean", &run);
    set("filter.evil.smudge", &run);
    set("filter.evil.process", &run);
    set("diff.evil.textconv", &run);
    set("diff.external", &run);
    set("core.pager", &run);
    set("core.sshCommand", &run);
    set("core.worktree", "/");
    write(dir, ".gitattributes", "* filter=evil diff=evil\n");
}

#[test]
fn nothing_of_the_agents_git_is_ever_run() {
    let lab = Lab::with(&[("a", "a"), ("d/b", "b")]);
    let mut bench = lab.bench();
    let root = bench.root();
    let canary = lab.path("canary");
    let nested = root.join("nested");
    std::fs::create_dir(&nested).unwrap();
    lab.run(&nested, &["init", "-q"]);
    write(&nested, "file", "plain");
    booby_trap(&lab, &nested, &canary);
    booby_trap(&lab, &root, &canary);
    write(&root, "a", "changed");
    let tree = bench.snapshot().tree;
    let (base, commit, rules) = (bench.rules.base.clone(), bench.base.clone(), bench.rules.clone());
    assert_eq!(
        bench.paths(&tree),
        [".gitattributes", "a", "d/b", "nested/.gitattributes", "nested/file"],
        "a nested repository is its files"
    );
    bench.vault.diff_text(&base, &tree, 1 << 20).unwrap();
    bench.space.ensure(&bench.vault, &commit, &author()).unwrap();
    bench.space.reset(&bench.vault, &base, &rules, Since::Unknown).unwrap();
    bench.try_snapshot(ReadFiles::Everything).unwrap();
    assert!(!canary.exists());
    // The trap is real: git itself falls for it.
    write(&root, "a", "again");
    let _ = lab.command(&root, &["--work-tree=.", "add", "a"]).output();
    assert!(canary.exists());
}

#[test]
fn hiding_changes_in_the_index_or_a_commit_hides_nothing() {
    let lab = Lab::with(&[("test.sh", "real"), ("other", "o")]);
    let mut bench = lab.bench();
    let root = bench.root();
    lab.run(&root, &["update-index", "--skip-worktree", "test.sh"]);
    lab.run(&root, &["update-index", "--assume-unchanged", "other"]);
    write(&root, "test.sh", "exit 0");
    write(&root, "other", "changed");
    assert_eq!(lab.run(&root, &["status", "--porcelain"]), "", "git is blind to it");
    let tree = bench.snapshot().tree;
    assert_eq!(bench.file(&tree, "test.sh").unwrap(), "exit 0");
    assert_eq!(bench.file(&tree, "other").unwrap(), "changed");
    lab.run(&root, &["update-index", "--no-skip-worktree", "test.sh"]);
    lab.run(&root, &["commit", "-q", "-a", "--amend", "-m", "history rewritten"]);
    lab.run(&root, &["replace", "HEAD", bench.base.as_str()]);
    write(&root, ".gitignore", "test.sh\nother\n");
    write(&root, ".git/info/exclude", "*\n");
    let snapshot = bench.snapshot();
    assert_eq!(bench.paths(&snapshot.tree), [".gitignore", "other", "test.sh"]);
    let parents = lab.run(bench.vault.dir(), &["log", "-1", "--format=%P", snapshot.commit.as_str()]);
    assert_eq!(parents, bench.base.as_str(), "the snapshot stands on the recorded base");
}

#[test]
fn special_files_and_disguised_names_are_evidence_and_not_taken() {
    let lab = Lab::with(&[("a", "a")]);
    let mut bench = lab.bench();
    let root = bench.root();
    rustix::fs::mkfifoat(rustix::fs::CWD, root.join("pipe"), rustix::fs::Mode::RWXU).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(root.join("sock")).unwrap();
    write(&root, ".GIT/config", "evil");
    write(&root, "git~1", "evil");
    write(&root, "d/.g\u{200c}it/hooks/x", "evil");
    symlink("a", root.join(".gitmodules")).unwrap();
    write(&root, "d/.git", "gitdir: /elsewhere\n");
    let found = bench.snapshot();
    assert_eq!(found.tree, bench.rules.base);
    let unsafe_name = |path| WorkspaceEvidence::UnsafeName { path: bytes(path) };
    let special = |path| WorkspaceEvidence::SpecialFile { path: bytes(path) };
    let expected = [
        unsafe_name(".GIT"),
        unsafe_name(".gitmodules"),
        unsafe_name("d/.g\u{200c}it"),
        unsafe_name("git~1"),
        special("pipe"),
        special("sock"),
    ];
    assert_eq!(found.evidence, expected);
    assert_eq!(bench.snapshot().evidence, expected, "evidence is found anew each time");
}

#[test]
fn a_tracked_path_behind_a_planted_link_is_not_followed() {
    let lab = Lab::with(&[("d/b", "b"), ("a", "a")]);
    let mut bench = lab.bench();
    let root = bench.root();
    let victim = lab.path("victim");
    write(&victim, "b", "outside");
    std::fs::remove_dir_all(root.join("d")).unwrap();
    symlink(&victim, root.join("d")).unwrap();
    let found = bench.snapshot();
    assert_eq!(bench.paths(&found.tree), ["a", "d"]);
    assert!(matches!(&found.evidence[..], [WorkspaceEvidence::EscapingSymlink { .. }]));
    let (base, rules) = (bench.rules.base.clone(), bench.rules.clone());
    bench.space.reset(&bench.vault, &base, &rules, Since::Untouched).unwrap();
    assert_eq!(std::fs::read_to_string(victim.join("b")).unwrap(), "outside");
    assert_eq!(std::fs::read_to_string(root.join("d/b")).unwrap(), "b");
}

#[test]
fn closed_files_and_directories_are_opened() {
    let lab = Lab::with(&[("a", "a"), ("d/b", "b")]);
    let mut bench = lab.bench();
    let root = bench.root();
    write(&root, "a", "changed");
    write(&root, "d/b", "changed");
    write(&root, "e/x", "new");
    for closed in ["a", "d/b", "d", "e"] {
        chmod(&root.join(closed), 0);
    }
    let found = bench.snapshot();
    assert_eq!(found.evidence, []);
    assert_eq!(bench.file(&found.tree, "a").unwrap(), "changed");
    assert_eq!(bench.file(&found.tree, "d/b").unwrap(), "changed");
    assert_eq!(bench.file(&found.tree, "e/x").unwrap(), "new");
    chmod(&root, 0o300);
    assert_eq!(bench.snapshot().tree, found.tree);
}

#[test]
fn very_deep_directories_are_evidence() {
    let lab = Lab::with(&[("a", "a")]);
    let mut bench = lab.bench();
    let mut deep = bench.root().join("deep");
    for _ in 0..200 {
        deep.push("d");
    }
    std::fs::create_dir_all(&deep).unwrap();
    write(&deep, "x", "x");
    write(&bench.root().join("deep"), "shallow", "s");
    let found = bench.snapshot();
    assert!(matches!(&found.evidence[..], [WorkspaceEvidence::TooDeep { .. }]));
    assert_eq!(bench.paths(&found.tree), ["a", "deep/shallow"]);
}
