use std::path::Path;

use windlass_core::id::CommitId;
use windlass_workspace::{
    Depth, DiscoverError, Git, GitError, IdentitySource, OperatorEnv, Repository, Vault, VaultError,
};

use crate::kit::{Lab, chmod, write};

#[test]
fn a_plain_repository_is_described() {
    let lab = Lab::with(&[("a", "a"), ("dir/b", "b")]);
    let found = Repository::discover(&lab.git, &lab.repo.join("dir")).unwrap();
    assert_eq!(found.toplevel, lab.repo.canonicalize().unwrap());
    assert_eq!(found.common_dir, lab.repo.join(".git").canonicalize().unwrap());
    assert_eq!(found.branch.as_deref(), Some("refs/heads/main"));
    assert_eq!(found.dirty_files, Vec::<String>::new());
    assert_eq!(
        (found.identity.name.as_str(), found.identity_source),
        ("Op Erator", IdentitySource::Configured)
    );
    assert!(!found.shallow && !found.partial);
    write(&lab.repo, "a", "changed");
    write(&lab.repo, "new", "n");
    lab.run(&lab.repo, &["mv", "dir/b", "dir/c"]);
    let index = std::fs::read(lab.repo.join(".git/index")).unwrap();
    assert_eq!(lab.repository().dirty_files.len(), 3);
    assert_eq!(std::fs::read(lab.repo.join(".git/index")).unwrap(), index, "looking must not write");
}

#[test]
fn revisions_resolve_to_commits() {
    let lab = Lab::with(&[("a", "a")]);
    lab.run(&lab.repo, &["tag", "-a", "-m", "t", "v1"]);
    let first = lab.repository().head;
    lab.commit("second");
    let found = lab.repository();
    assert_eq!(found.resolve("v1").unwrap(), first);
    assert_eq!(found.resolve("HEAD~1").unwrap(), first);
    assert!(matches!(found.resolve("nothing"), Err(DiscoverError::UnknownRevision { .. })));
    assert!(matches!(found.resolve("--all"), Err(DiscoverError::UnknownRevision { .. })));
}

#[test]
fn each_unusable_place_has_its_own_error() {
    let lab = Lab::new();
    let discover = |path: &Path| Repository::discover(&lab.git, path);
    assert!(matches!(discover(&lab.repo), Err(DiscoverError::NoCommits { .. })));
    let plain = lab.path("plain");
    std::fs::create_dir(&plain).unwrap();
    assert!(matches!(discover(&plain), Err(DiscoverError::NotARepository { .. })));
    assert!(matches!(discover(&lab.path("missing")), Err(DiscoverError::Unreadable { .. })));
    lab.run(&plain, &["init", "-q", "--bare", "bare.git"]);
    assert!(matches!(discover(&plain.join("bare.git")), Err(DiscoverError::Bare { .. })));
    lab.run(&plain, &["init", "-q", "--object-format=sha256", "sha256"]);
    let sha256 = discover(&plain.join("sha256"));
    assert!(
        matches!(&sha256, Err(DiscoverError::ObjectFormat { format, .. }) if format == "sha256"),
        "{sha256:?}"
    );
}

#[test]
fn a_missing_or_old_git_is_named() {
    let lab = Lab::new();
    let at = |path: &str| Git::locate(OperatorEnv { path: path.into(), ..OperatorEnv::default() });
    assert!(matches!(at("/nonexistent"), Err(GitError::Missing { .. })));
    // A relative entry of PATH is not searched.
    assert!(matches!(at("."), Err(GitError::Missing { .. })));
    let bin = lab.path("bin");
    write(&bin, "git", "#!/bin/sh\necho git version 2.30.1\n");
    chmod(&bin.join("git"), 0o755);
    let old = at(bin.to_str().unwrap());
    assert!(matches!(&old, Err(GitError::TooOld { found, .. }) if found.contains("2.30.1")), "{old:?}");
}

#[test]
fn without_an_identity_a_fallback_is_flagged() {
    let lab = Lab::with(&[("a", "a")]);
    let bare = OperatorEnv {
        path: std::env::var_os("PATH").unwrap(),
        home: None,
        config_home: Some(lab.path("no")),
    };
    let git = Git::locate(bare).unwrap();
    let found = Repository::discover(&git, &lab.repo).unwrap();
    assert_eq!(found.identity_source, IdentitySource::Fallback);
    assert_eq!(found.identity.email, "windlass@localhost");
}

#[test]
fn the_global_excludes_file_is_found() {
    let lab = Lab::with(&[("a", "a")]);
    assert_eq!(lab.repository().global_excludes, None);
    write(&lab.path("home"), ".config/git/ignore", "x");
    assert_eq!(lab.repository().global_excludes, Some(lab.path("home/.config/git/ignore")));
    write(&lab.path("home"), "mine", "x");
    lab.run(&lab.repo, &["config", "--global", "core.excludesFile", "~/mine"]);
    assert_eq!(lab.repository().global_excludes, Some(lab.path("home/mine")));
}

fn history(lab: &Lab, vault: &Vault, commit: &CommitId) -> usize {
    lab.run(vault.dir(), &["rev-list", commit.as_str()]).lines().count()
}

#[test]
fn import_takes_history_to_the_depth_and_stands_alone() {
    let lab = Lab::with(&[("a", "0")]);
    for n in 1..6 {
        write(&lab.repo, "a", n.to_string());
        lab.commit("more");
    }
    let vault = lab.vault();
    let found = lab.repository();
    vault.import(&found, &found.head, Depth::Commits(3)).unwrap();
    assert_eq!(history(&lab, &vault, &found.head), 3);
    assert!(!vault.dir().join("objects/info/alternates").exists());
    // Import again is nothing; a later base comes on top.
    vault.import(&found, &found.head, Depth::Commits(3)).unwrap();
    write(&lab.repo, "a", "next");
    lab.commit("next");
    let found = lab.repository();
    vault.import(&found, &found.head, Depth::Whole).unwrap();
    std::fs::rename(&lab.repo, lab.path("moved-away")).unwrap();
    lab.run(vault.dir(), &["fsck", "--strict"]);
    assert_eq!(vault.tree_of(&found.head).unwrap(), found.head_tree);
    assert!(!lab.path("moved-away/.git/FETCH_HEAD").exists());
}

#[test]
fn one_base_is_imported_by_several_at_once() {
    let lab = Lab::with(&[("a", "0")]);
    lab.vault();
    let found = lab.repository();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let vault = lab.vault();
                for _ in 0..50 {
                    vault.import(&found, &found.head, Depth::Commits(3)).unwrap();
                }
            });
        }
    });
    assert_eq!(history(&lab, &lab.vault(), &found.head), 1);
}

#[test]
fn a_linked_worktree_and_an_unborn_one_are_told_apart() {
    let lab = Lab::with(&[("a", "a")]);
    let linked = lab.path("linked tree");
    lab.run(&lab.repo, &["worktree", "add", "-q", "-b", "other", linked.to_str().unwrap()]);
    let found = Repository::discover(&lab.git, &linked).unwrap();
    assert_eq!(found.common_dir, lab.repo.join(".git").canonicalize().unwrap());
    assert_ne!(found.git_dir, found.common_dir);
    assert_eq!(found.branch.as_deref(), Some("refs/heads/other"));
    lab.vault().import(&found, &found.head, Depth::Commits(50)).unwrap();
    lab.run(&linked, &["checkout", "-q", "--orphan", "fresh"]);
    assert!(matches!(Repository::discover(&lab.git, &linked), Err(DiscoverError::NoCommits { .. })));
}

#[test]
fn a_shallow_clone_works() {
    let lab = Lab::with(&[("a", "a")]);
    lab.commit("two");
    lab.commit("three");
    let shallow = lab.path("shallow");
    let url = format!("file://{}", lab.repo.display());
    lab.run(lab.tmp.path(), &["clone", "-q", "--depth=1", &url, shallow.to_str().unwrap()]);
    let found = Repository::discover(&lab.git, &shallow).unwrap();
    assert!(found.shallow);
    let vault = lab.vault();
    vault.import(&found, &found.head, Depth::Commits(50)).unwrap();
    assert_eq!(history(&lab, &vault, &found.head), 1);
    let second = Vault::open_or_create(&lab.git, &lab.path("state/whole.git")).unwrap();
    second.import(&found, &found.head, Depth::Whole).unwrap();
    assert_eq!(second.tree_of(&found.head).unwrap(), found.head_tree);
}

#[test]
fn a_partial_clone_works_when_complete_and_names_the_fetch_when_not() {
    let lab = Lab::with(&[("a", "one"), ("b", "b")]);
    write(&lab.repo, "a", "two");
    lab.commit("two");
    lab.run(&lab.repo, &["config", "uploadpack.allowFilter", "true"]);
    let url = format!("file://{}", lab.repo.display());
    let partial = lab.path("partial");
    lab.run(lab.tmp.path(), &["clone", "-q", "--filter=blob:none", &url, partial.to_str().unwrap()]);
    let found = Repository::discover(&lab.git, &partial).unwrap();
    assert!(found.partial);
    let vault = lab.vault();
    vault.import(&found, &found.head, Depth::Commits(50)).unwrap();
    assert_eq!(history(&lab, &vault, &found.head), 1, "older objects of a partial clone may be missing");
    let older = found.resolve("HEAD~1").unwrap();
    let refused = vault.import(&found, &older, Depth::Commits(50));
    let Err(VaultError::Incomplete(DiscoverError::MissingObjects { missing: 1, remedy, .. })) = refused
    else {
        panic!("{refused:?}");
    };
    // The remedy it names is one.
    let status = std::process::Command::new("sh")
        .args(["-c", &remedy])
        .env("HOME", lab.path("home"))
        .current_dir(lab.tmp.path())
        .status()
        .unwrap();
    assert!(status.success());
    vault.import(&found, &older, Depth::Commits(50)).unwrap();
}
