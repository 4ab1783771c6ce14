//! Snapshot, checkout and landing beside plain git: a line of JSON a round, in
//! microseconds, the first snapshot of everything apart.
//!
//! `snapshot_bench FILES ROUNDS DIR` leaves the repository in `DIR/repo`.
//! `snapshot_bench counted REPEATS` takes ten snapshots a repeat, for counting
//! instructions.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a measurement reads the clock and runs git"
)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use windlass_core::id::CommitId;
use windlass_workspace::{
    Checkout, CommitText, Depth, Git, Identity, LandRequest, OperatorEnv, ReadFiles, Repository, Since,
    SnapshotRequest, SnapshotRules, Space, StoredSnapshot, Vault, land,
};

/// How often everything is taken anew.
const FIRSTS: usize = 2;

/// After this a file's time tells it from one written later.
const NO_LONGER_RACY: Duration = Duration::from_millis(60);

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["counted", repeats] => counted(repeats.parse().unwrap()),
        [files, rounds, dir] => {
            let bench = Bench::new(Path::new(dir), files.parse().unwrap());
            (0..FIRSTS).for_each(|nth| bench.first_snapshot(nth));
            bench.run(&bench.repo, &["commit", "-q", "-m", "base"]);
            bench.rest(rounds.parse().unwrap());
        }
        _ => panic!("snapshot_bench FILES ROUNDS DIR, or snapshot_bench counted REPEATS"),
    }
}

fn counted(repeats: usize) {
    let dir = tempfile::TempDir::new().unwrap();
    let bench = Bench::new(dir.path(), 200);
    bench.run(&bench.repo, &["add", "-A"]);
    bench.run(&bench.repo, &["commit", "-q", "-m", "base"]);
    let repository = Repository::discover(&bench.git, &bench.repo).unwrap();
    let vault = Vault::open_or_create(&bench.git, &dir.path().join("vault.git")).unwrap();
    vault.import(&repository, &repository.head, Depth::Commits(1)).unwrap();
    let mut space = Space::new(&dir.path().join("space"), &dir.path().join("space.stat"));
    space.create(&vault, &repository.head, &bench.identity).unwrap();
    let rules = SnapshotRules::new(repository.head_tree.clone());
    for round in 0..=10 * repeats {
        let path = space.root().join("d0/e0/f1.txt");
        std::fs::write(path, format!("round {round:06}")).unwrap();
        std::thread::sleep(NO_LONGER_RACY);
        bench.snapshot(&mut space, &vault, &rules, &repository.head);
    }
}

struct Bench {
    dir: PathBuf,
    repo: PathBuf,
    git: Git,
    identity: Identity,
}

impl Bench {
    fn new(dir: &Path, files: usize) -> Self {
        let env = OperatorEnv { path: std::env::var_os("PATH").unwrap(), home: None, config_home: None };
        let git = Git::locate(env).unwrap();
        let repo = dir.join("repo");
        write_files(&repo, files);
        let identity = Identity { name: "bench".into(), email: "bench@localhost".into() };
        let bench = Self { dir: dir.to_owned(), repo, git, identity };
        bench.run(&bench.repo, &["init", "-q"]);
        bench
    }

    /// Everything is new: git writes loose objects, windlass one pack. The last
    /// time git writes them where they are needed from then on.
    fn first_snapshot(&self, nth: usize) {
        let name = |what: &str| self.dir.join(format!("first{nth}.{what}"));
        let empty = if nth + 1 == FIRSTS { self.repo.clone() } else { name("empty") };
        std::fs::create_dir_all(&empty).unwrap();
        self.run(&empty, &["init", "-q"]);
        self.run(&empty, &["commit", "-q", "--allow-empty", "-m", "empty"]);
        let vault = Vault::open_or_create(&self.git, &name("vault.git")).unwrap();
        let repository = Repository::discover(&self.git, &empty).unwrap();
        vault.import(&repository, &repository.head, Depth::Commits(1)).unwrap();
        let (git_dir, work_tree) = (
            format!("--git-dir={}", empty.join(".git").display()),
            format!("--work-tree={}", self.repo.display()),
        );
        let (git, theirs) = timed(|| {
            self.run(&self.repo, &[&git_dir, &work_tree, "add", "-A"]);
            self.run(&self.repo, &[&git_dir, &work_tree, "write-tree"])
        });
        let mut space = Space::new(&self.repo, &name("stat"));
        let rules = SnapshotRules::new(repository.head_tree.clone());
        let (first, ours) = timed(|| self.snapshot(&mut space, &vault, &rules, &repository.head));
        assert_eq!(ours.tree.as_str(), theirs);
        println!("{{\"first_git\":{git},\"first\":{first}}}");
    }

    fn rest(&self, rounds: usize) {
        let repository = Repository::discover(&self.git, &self.repo).unwrap();
        let vault = Vault::open_or_create(&self.git, &self.dir.join("vault.git")).unwrap();
        let (import, ()) = timed(|| vault.import(&repository, &repository.head, Depth::Commits(50)).unwrap());
        let root = self.dir.join("space");
        let mut space = Space::new(&root, &self.dir.join("space.stat"));
        let (create, ()) = timed(|| space.create(&vault, &repository.head, &self.identity).unwrap());
        let rules = SnapshotRules::new(repository.head_tree.clone());
        let (after_create, snapshot) = timed(|| self.snapshot(&mut space, &vault, &rules, &repository.head));
        assert_eq!(snapshot.tree, repository.head_tree);
        let mut checkout = Checkout::new(&self.dir.join("checkout"));
        let (first_checkout, _) = timed(|| checkout.bring_to(&vault, &repository.head_tree).unwrap());
        println!(
            "{{\"import\":{import},\"create\":{create},\"after_create\":{after_create},\"first_checkout\":{first_checkout}}}"
        );
        let mut landed: Option<CommitId> = None;
        for round in 0..rounds {
            for root in [&root, &self.repo] {
                std::fs::write(root.join("d0/e0/f1.txt"), format!("round {round}")).unwrap();
            }
            std::thread::sleep(NO_LONGER_RACY);
            let (git, _) = timed(|| {
                self.run(&self.repo, &["add", "-A"]);
                self.run(&self.repo, &["write-tree"])
            });
            let parent = landed.clone().unwrap_or_else(|| repository.head.clone());
            let (taken, snapshot) = timed(|| self.snapshot(&mut space, &vault, &rules, &parent));
            let name = format!("refs/windlass/bench/{round}");
            let (set_ref, ()) = timed(|| vault.set_ref(&name, &snapshot.commit).unwrap());
            let (delta, _) = timed(|| checkout.bring_to(&vault, &snapshot.tree).unwrap());
            let (verify, _) = timed(|| checkout.verify_and_rewrite(&vault, &snapshot.tree).unwrap());
            let request = LandRequest {
                branch: "refs/heads/windlass/snapshots",
                commit: &snapshot.commit,
                expected: landed.as_ref(),
                reflog: "windlass: bench",
                identity: &self.identity,
            };
            let (landing, _) = timed(|| land(&repository, &vault, &request).unwrap());
            let (reset, ()) =
                timed(|| space.reset(&vault, &snapshot.tree, &rules, Since::Untouched).map(|_| ()).unwrap());
            landed = Some(snapshot.commit);
            println!(
                "{{\"git\":{git},\"snapshot\":{taken},\"ref\":{set_ref},\"delta\":{delta},\
                 \"verify\":{verify},\"landing\":{landing},\"reset\":{reset}}}"
            );
        }
        self.run(&self.repo, &["checkout", "-q", "-f", "HEAD"]);
    }

    fn snapshot(
        &self,
        space: &mut Space,
        vault: &Vault,
        rules: &SnapshotRules,
        parent: &CommitId,
    ) -> StoredSnapshot {
        let text = self.text();
        let parents = [parent.clone()];
        let request = SnapshotRequest { rules, parents: &parents, text: &text, reading: ReadFiles::Changed };
        space.snapshot(vault, &request).unwrap()
    }

    fn text(&self) -> CommitText {
        CommitText { message: "bench".into(), author: self.identity.clone(), date_ms: 1_700_000_000_000 }
    }

    fn run(&self, dir: &Path, args: &[&str]) -> String {
        let mut command = Command::new(self.git.program());
        command.args(["-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "gc.auto=0"]);
        let output = command.args(args).current_dir(dir).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }
}

/// In microseconds.
fn timed<T>(work: impl FnOnce() -> T) -> (u128, T) {
    let start = Instant::now();
    let result = work();
    (start.elapsed().as_micros(), result)
}

/// About 20 files a directory and 3.4 kB a file, no two alike.
fn write_files(root: &Path, files: usize) {
    for n in 0..files {
        let (dir, file) = (n / 20, n % 20);
        let path = root.join(format!("d{}/e{dir}", dir % 50));
        if file == 0 {
            std::fs::create_dir_all(&path).unwrap();
        }
        let mut text = String::new();
        let mut seed = n as u64;
        while text.len() < 3_400 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            writeln!(text, "let value_{} = compute({});", seed >> 50, seed >> 33).unwrap();
        }
        std::fs::write(path.join(format!("f{file}.txt")), text).unwrap();
    }
}
