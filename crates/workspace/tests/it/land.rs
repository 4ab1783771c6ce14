use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use windlass_core::id::CommitId;
use windlass_workspace::{
    FilterRule, LandError, LandRequest, Landed, NotTaken, Repository, TakeResult, land, take,
};

use crate::kit::{Bench, Lab, author, write};

const BRANCH: &str = "refs/heads/windlass/demo1";

fn go(
    repository: &Repository,
    bench: &Bench,
    commit: &CommitId,
    expected: Option<&CommitId>,
) -> Result<Landed, LandError> {
    let author = author();
    let request = LandRequest {
        branch: BRANCH,
        commit,
        expected,
        reflog: "windlass: land task one",
        identity: &author,
    };
    land(repository, &bench.vault, &request)
}

fn work(bench: &mut Bench, parent: &CommitId, content: &str) -> CommitId {
    write(&bench.root(), "a", content);
    write(&bench.root(), "dir/new", content);
    bench.base = parent.clone();
    bench.snapshot().commit
}

fn files(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(dir) = waiting.pop() {
        for entry in std::fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
            } else {
                found.insert(path.strip_prefix(root).unwrap().to_owned(), std::fs::read(&path).unwrap());
            }
        }
    }
    found
}

#[test]
fn landing_adds_objects_one_branch_and_its_reflog_and_nothing_else() {
    let lab = Lab::with(&[("a", "a"), ("same/x", "x")]);
    lab.run(&lab.repo, &["pack-refs", "--all"]);
    let canary = lab.path("canary");
    write(&lab.repo, ".git/hooks/reference-transaction", format!("#!/bin/sh\ntouch {}\n", canary.display()));
    crate::kit::chmod(&lab.repo.join(".git/hooks/reference-transaction"), 0o755);
    let repository = lab.repository();
    let mut bench = lab.bench();
    let base = bench.base.clone();
    let first = work(&mut bench, &base, "one");
    let before = files(&lab.repo);
    assert_eq!(go(&repository, &bench, &first, None).unwrap(), Landed::Moved);
    let after = files(&lab.repo);
    let changed: Vec<String> = after
        .iter()
        .filter(|(path, content)| before.get(*path) != Some(*content))
        .map(|(path, _)| path.to_string_lossy().into_owned())
        .filter(|path| !path.starts_with(".git/objects/"))
        .collect();
    assert_eq!(changed, [".git/logs/refs/heads/windlass/demo1", ".git/refs/heads/windlass/demo1"]);
    assert!(before.keys().all(|path| after.contains_key(path)));
    assert!(!canary.exists(), "no hook runs");
    assert_eq!(lab.run(&lab.repo, &["rev-parse", BRANCH]), first.as_str());
    lab.run(&lab.repo, &["fsck", "--strict", "--connectivity-only", BRANCH]);
    let reflog = lab.run(&lab.repo, &["log", "-g", "-1", "--format=%gs|%gn", "windlass/demo1"]);
    assert_eq!(reflog, "windlass: land task one|Op Erator");
    // On top of it, and once more after a crash behind the ref update.
    let second = work(&mut bench, &first, "two");
    assert_eq!(go(&repository, &bench, &second, Some(&first)).unwrap(), Landed::Moved);
    assert_eq!(go(&repository, &bench, &second, Some(&first)).unwrap(), Landed::Already);
    assert_eq!(lab.run(&lab.repo, &["rev-list", "--count", &format!("{base}..{BRANCH}")]), "2");
}

#[test]
fn a_moved_branch_is_left_alone() {
    let lab = Lab::with(&[("a", "a")]);
    let repository = lab.repository();
    let mut bench = lab.bench();
    let base = bench.base.clone();
    let first = work(&mut bench, &base, "one");
    lab.run(&lab.repo, &["update-ref", BRANCH, base.as_str()]);
    match go(&repository, &bench, &first, None) {
        Err(LandError::Moved { expected: None, found: Some(found), .. }) => assert_eq!(found, base),
        other => panic!("{other:?}"),
    }
    assert_eq!(lab.run(&lab.repo, &["rev-parse", BRANCH]), base.as_str());
    lab.run(&lab.repo, &["update-ref", "-d", BRANCH]);
    match go(&repository, &bench, &first, Some(&base)) {
        Err(LandError::Moved { expected: Some(_), found: None, .. }) => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_checked_out_branch_and_a_name_in_the_way_are_named() {
    let lab = Lab::with(&[("a", "a")]);
    let repository = lab.repository();
    let mut bench = lab.bench();
    let base = bench.base.clone();
    let first = work(&mut bench, &base, "one");
    lab.run(&lab.repo, &["branch", "windlass"]);
    match go(&repository, &bench, &first, None) {
        Err(LandError::NameConflict { existing, .. }) => assert_eq!(existing, "refs/heads/windlass"),
        other => panic!("{other:?}"),
    }
    lab.run(&lab.repo, &["branch", "-D", "windlass"]);
    lab.run(&lab.repo, &["branch", "windlass/demo1/sub"]);
    assert!(matches!(go(&repository, &bench, &first, None), Err(LandError::NameConflict { .. })));
    lab.run(&lab.repo, &["branch", "-D", "windlass/demo1/sub"]);
    lab.run(&lab.repo, &["branch", "windlass/demo1"]);
    let linked = lab.path("linked");
    lab.run(&lab.repo, &["worktree", "add", "-q", linked.to_str().unwrap(), "windlass/demo1"]);
    match go(&repository, &bench, &first, Some(&base)) {
        Err(LandError::CheckedOut { worktree, .. }) => {
            assert_eq!(worktree.canonicalize().unwrap(), linked.canonicalize().unwrap());
        }
        other => panic!("{other:?}"),
    }
    lab.run(&linked, &["checkout", "-q", "--detach"]);
    assert_eq!(go(&repository, &bench, &first, Some(&base)).unwrap(), Landed::Moved);
}

#[test]
fn a_checked_out_branch_is_seen_in_a_reftable_repository_too() {
    let lab = Lab::with(&[("a", "a")]);
    let other = lab.path("reftable");
    let cloned = lab
        .command(lab.tmp.path(), &["clone", "-q", "--ref-format=reftable", "project", "reftable"])
        .output()
        .unwrap();
    if !cloned.status.success() {
        eprintln!("not run: this git has no reftable");
        return;
    }
    let mut bench = lab.bench();
    let base = bench.base.clone();
    let first = work(&mut bench, &base, "one");
    lab.run(&other, &["checkout", "-q", "-b", "windlass/demo1"]);
    let repository = Repository::discover(&lab.git, &other).unwrap();
    assert!(matches!(go(&repository, &bench, &first, Some(&base)), Err(LandError::CheckedOut { .. })));
    lab.run(&other, &["checkout", "-q", "main"]);
    assert_eq!(go(&repository, &bench, &first, Some(&base)).unwrap(), Landed::Moved);
}

#[test]
fn landing_works_from_a_linked_worktree_and_a_shallow_clone() {
    let lab = Lab::with(&[("a", "a")]);
    lab.commit("two");
    let linked = lab.path("linked");
    lab.run(&lab.repo, &["worktree", "add", "-q", "--detach", linked.to_str().unwrap()]);
    let mut bench = lab.bench();
    let base = bench.base.clone();
    let first = work(&mut bench, &base, "one");
    let from_linked = Repository::discover(&lab.git, &linked).unwrap();
    assert_eq!(go(&from_linked, &bench, &first, None).unwrap(), Landed::Moved);
    let shallow = lab.path("shallow");
    let url = format!("file://{}", lab.repo.display());
    lab.run(lab.tmp.path(), &["clone", "-q", "--depth=1", "-b", "main", &url, shallow.to_str().unwrap()]);
    let shallow = Repository::discover(&lab.git, &shallow).unwrap();
    assert_eq!(go(&shallow, &bench, &first, None).unwrap(), Landed::Moved);
    lab.run(&shallow.toplevel, &["fsck", "--strict"]);
}

#[test]
fn many_objects_go_as_one_pack() {
    let lab = Lab::with(&[("a", "a")]);
    let repository = lab.repository();
    let mut bench = lab.bench();
    for n in 0..150 {
        write(&bench.root(), format!("many/{n}"), n.to_string());
    }
    let commit = bench.snapshot().commit;
    let before = files(&lab.repo.join(".git/objects")).len();
    assert_eq!(go(&repository, &bench, &commit, None).unwrap(), Landed::Moved);
    assert_eq!(files(&lab.repo.join(".git/objects")).len(), before + 2);
    lab.run(&lab.repo, &["fsck", "--strict"]);
}

#[test]
fn work_on_a_base_that_is_gone_is_refused() {
    let lab = Lab::with(&[("a", "a")]);
    let mut bench = lab.bench();
    let base = bench.base.clone();
    let first = work(&mut bench, &base, "one");
    let other = Lab::with(&[("b", "b")]);
    let landed = go(&other.repository(), &bench, &first, None);
    // Nothing there is known, so the whole history comes along: it is whole.
    assert_eq!(landed.unwrap(), Landed::Moved);
    other.run(&other.repo, &["fsck", "--strict"]);
    lab.commit("second");
    let vault = windlass_workspace::Vault::open_or_create(&lab.git, &lab.path("state/cut.git")).unwrap();
    let repository = lab.repository();
    vault.import(&repository, &repository.head, windlass_workspace::Depth::Commits(1)).unwrap();
    bench.vault = vault;
    match go(&Lab::with(&[("c", "c")]).repository(), &bench, &repository.head, None) {
        Err(LandError::BaseGone { .. }) => {}
        other => panic!("{other:?}"),
    }
}

/// The work has `one` in a file where the checkout has `mine`; and the commits before and after it.
fn landed_beside_mine(lab: &Lab) -> (Repository, CommitId, CommitId) {
    let repository = lab.repository();
    let mut bench = lab.bench();
    let base = bench.base.clone();
    let first = work(&mut bench, &base, "one");
    go(&repository, &bench, &first, None).unwrap();
    write(&lab.repo, "a", "mine");
    (repository, base, first)
}

#[test]
fn take_fast_forwards_where_nothing_of_the_operators_is_lost() {
    let lab = Lab::with(&[("a", "a"), ("b", "b")]);
    let (repository, base, first) = landed_beside_mine(&lab);
    match take(&repository, BRANCH, FilterRule::Tell).unwrap() {
        TakeResult::ByHand { why: NotTaken::Dirty { files }, command } => {
            assert_eq!(files, ["a"]);
            assert_eq!(command, "git stash && git merge windlass/demo1 && git stash pop");
        }
        other => panic!("{other:?}"),
    }
    write(&lab.repo, "a", "a");
    write(&lab.repo, "b", "mine, and nobody else's");
    assert_eq!(
        take(&repository, BRANCH, FilterRule::Tell).unwrap(),
        TakeResult::FastForwarded { from: base, to: first }
    );
    assert_eq!(std::fs::read_to_string(lab.repo.join("b")).unwrap(), "mine, and nobody else's");
    lab.run(&lab.repo, &["checkout", "-q", "b"]);
    assert_eq!(std::fs::read_to_string(lab.repo.join("a")).unwrap(), "one");
    assert_eq!(take(&repository, BRANCH, FilterRule::Tell).unwrap(), TakeResult::Already);
    lab.run(&lab.repo, &["reset", "-q", "--hard", "HEAD~1"]);
    lab.commit("diverged");
    assert!(matches!(
        take(&repository, BRANCH, FilterRule::Tell).unwrap(),
        TakeResult::ByHand { why: NotTaken::Diverged { .. }, .. }
    ));
}

#[test]
fn a_file_that_git_does_not_know_is_not_overwritten() {
    let lab = Lab::with(&[("b", "b")]);
    let (repository, ..) = landed_beside_mine(&lab);
    match take(&repository, BRANCH, FilterRule::Tell).unwrap() {
        TakeResult::ByHand { why: NotTaken::InTheWay { files }, command } => {
            assert_eq!(files, ["a"]);
            assert_eq!(command, "git stash -u && git merge windlass/demo1");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(std::fs::read_to_string(lab.repo.join("a")).unwrap(), "mine");
}
