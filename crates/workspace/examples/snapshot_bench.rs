//! Snapshot, checkout and landing beside plain git, as ratios inside one run.
//!
//! `cargo run --release -p windlass-workspace --example snapshot_bench [FILES [ROUNDS [DIR]]]`
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a measurement reads the clock and runs git"
)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use windlass_core::id::CommitId;
use windlass_workspace::{
    Checkout, CommitText, Depth, Git, Identity, LandRequest, OperatorEnv, Reading, Repository, Rules, Since,
    Snapshot, SnapshotRequest, Space, Vault, land,
};

fn main() {
    let mut words = std::env::args().skip(1);
    let files: usize = words.next().map_or(50_000, |word| word.parse().unwrap());
    let rounds: usize = words.next().map_or(10, |word| word.parse().unwrap());
    let parent = words.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let dir = tempfile::TempDir::new_in(parent).unwrap();
    println!("{files} files, {rounds} rounds, in {}", dir.path().display());
    let bench = Bench::new(dir.path(), files);
    println!("one flush                      {:9.2} ms", flush_cost(dir.path()));
    bench.first_snapshot();
    bench.rest(rounds);
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

    /// Everything is new: git writes loose objects, windlass one pack.
    fn first_snapshot(&self) {
        let empty = self.dir.join("empty");
        std::fs::create_dir(&empty).unwrap();
        self.run(&empty, &["init", "-q"]);
        self.run(&empty, &["commit", "-q", "--allow-empty", "-m", "empty"]);
        let vault = Vault::open_or_create(&self.git, &self.dir.join("first.git")).unwrap();
        let repository = Repository::discover(&self.git, &empty).unwrap();
        vault.import(&repository, &repository.head, Depth::Commits(1)).unwrap();
        let (git_ms, theirs) = timed(|| {
            self.run(&self.repo, &["add", "-A"]);
            self.run(&self.repo, &["write-tree"])
        });
        let mut space = Space::new(&self.repo, &self.dir.join("first.stat"));
        let rules = Rules::new(repository.head_tree.clone());
        let (ours_ms, ours) = timed(|| self.snapshot(&mut space, &vault, &rules, &repository.head));
        assert_eq!(ours.tree.as_str(), theirs);
        report("first snapshot", ours_ms, git_ms);
        self.run(&self.repo, &["commit", "-q", "-m", "base"]);
    }

    fn rest(&self, rounds: usize) {
        let repository = Repository::discover(&self.git, &self.repo).unwrap();
        let vault = Vault::open_or_create(&self.git, &self.dir.join("vault.git")).unwrap();
        let (ms, ()) = timed(|| vault.import(&repository, &repository.head, Depth::Commits(50)).unwrap());
        println!("import                         {ms:9.2} ms");
        let root = self.dir.join("space");
        let mut space = Space::new(&root, &self.dir.join("space.stat"));
        let (ms, ()) = timed(|| space.create(&vault, &repository.head, &self.identity).unwrap());
        println!("create workspace               {ms:9.2} ms");
        let rules = Rules::new(repository.head_tree.clone());
        let (ms, snapshot) = timed(|| self.snapshot(&mut space, &vault, &rules, &repository.head));
        assert_eq!(snapshot.tree, repository.head_tree);
        println!("snapshot after create          {ms:9.2} ms");
        let mut checkout = Checkout::new(&self.dir.join("checkout"));
        let (ms, _) = timed(|| checkout.bring_to(&vault, &repository.head_tree).unwrap());
        println!("first checkout                 {ms:9.2} ms");
        let mut kept = Kept::default();
        let mut landed: Option<CommitId> = None;
        for round in 0..rounds {
            std::thread::sleep(std::time::Duration::from_millis(60));
            std::fs::write(root.join("d0/e0/f1.txt"), format!("round {round}")).unwrap();
            std::fs::write(self.repo.join("d0/e0/f1.txt"), format!("round {round}")).unwrap();
            let before = cpu_ms();
            kept.git.push(
                timed(|| {
                    self.run(&self.repo, &["add", "-A"]);
                    self.run(&self.repo, &["write-tree"])
                })
                .0,
            );
            kept.git_cpu += cpu_ms() - before;
            let parent = landed.clone().unwrap_or_else(|| repository.head.clone());
            let before = cpu_ms();
            let (ms, snapshot) = timed(|| self.snapshot(&mut space, &vault, &rules, &parent));
            kept.snapshot.push(ms);
            kept.snapshot_cpu += cpu_ms() - before;
            let name = format!("refs/windlass/bench/{round}");
            kept.set_ref.push(timed(|| vault.set_ref(&name, &snapshot.commit).unwrap()).0);
            kept.delta.push(timed(|| checkout.bring_to(&vault, &snapshot.tree).unwrap()).0);
            kept.verify.push(timed(|| checkout.verify_and_rewrite(&vault, &snapshot.tree).unwrap()).0);
            let request = LandRequest {
                branch: "refs/heads/windlass/bench",
                commit: &snapshot.commit,
                expected: landed.as_ref(),
                reflog: "windlass: bench",
                identity: &self.identity,
            };
            kept.land.push(timed(|| land(&repository, &vault, &request).unwrap()).0);
            kept.update_ref.push(
                timed(|| {
                    self.run(&self.repo, &["update-ref", "refs/heads/other", snapshot_head(&repository)])
                })
                .0,
            );
            kept.reset
                .push(timed(|| space.reset(&vault, &snapshot.tree, &rules, Since::Untouched).unwrap()).0);
            landed = Some(snapshot.commit);
        }
        kept.report();
        self.next_process(&root, &vault, &rules, &repository.head);
    }

    /// From the cache on disk, as a new process would.
    fn next_process(&self, root: &Path, vault: &Vault, rules: &Rules, head: &CommitId) {
        let mut space = Space::new(root, &self.dir.join("space.stat"));
        let (ms, _) = timed(|| self.snapshot(&mut space, vault, rules, head));
        println!("snapshot from cache on disk    {ms:9.2} ms");
        let text = self.text();
        let parents = [head.clone()];
        let request = SnapshotRequest { rules, parents: &parents, text: &text, reading: Reading::Everything };
        let (ms, _) = timed(|| space.snapshot(vault, &request).unwrap());
        println!("snapshot, everything rehashed  {ms:9.2} ms");
    }

    fn snapshot(&self, space: &mut Space, vault: &Vault, rules: &Rules, parent: &CommitId) -> Snapshot {
        let text = self.text();
        let parents = [parent.clone()];
        let request = SnapshotRequest { rules, parents: &parents, text: &text, reading: Reading::Changed };
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

#[derive(Default)]
struct Kept {
    git: Vec<f64>,
    git_cpu: f64,
    snapshot_cpu: f64,
    snapshot: Vec<f64>,
    set_ref: Vec<f64>,
    delta: Vec<f64>,
    verify: Vec<f64>,
    land: Vec<f64>,
    update_ref: Vec<f64>,
    reset: Vec<f64>,
}

impl Kept {
    fn report(mut self) {
        let git = median(&mut self.git);
        let rounds = self.git.len() as f64;
        report("snapshot, one change", median(&mut self.snapshot), git);
        report("  in processor time", self.snapshot_cpu / rounds, self.git_cpu / rounds);
        for (what, times) in [
            ("set ref", &mut self.set_ref),
            ("checkout delta", &mut self.delta),
            ("checkout verify", &mut self.verify),
            ("land", &mut self.land),
            ("git update-ref alone", &mut self.update_ref),
            ("reset to the same tree", &mut self.reset),
        ] {
            println!("{what:30} {:9.2} ms", median(times));
        }
    }
}

/// Of this process and the children it has waited for, in ticks of 10 ms.
fn cpu_ms() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields = text.rsplit_once(')').unwrap().1.split_whitespace();
    fields.skip(11).take(4).map(|field| field.parse::<f64>().unwrap() * 10.0).sum()
}

fn flush_cost(dir: &Path) -> f64 {
    let file = dir.join("flushed");
    let once = |n: usize| {
        std::fs::write(&file, vec![n as u8; 4096]).unwrap();
        timed(|| std::fs::File::open(&file).unwrap().sync_all().unwrap()).0
    };
    median(&mut (0..20).map(once).collect::<Vec<_>>())
}

fn report(what: &str, ours: f64, git: f64) {
    println!("{what:30} {ours:9.2} ms   git {git:9.2} ms   ratio {:.3}", ours / git);
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let result = work();
    (start.elapsed().as_secs_f64() * 1000.0, result)
}

fn snapshot_head(repository: &Repository) -> &str {
    repository.head.as_str()
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
