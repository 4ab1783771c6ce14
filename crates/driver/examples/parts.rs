//! The parts of one iteration, each alone, one after the other: what a whole
//! iteration is held against. Prints a line of JSON a round, in microseconds.
//!
//! `parts PROJECT STATE AGENT ROUNDS`: a repository with a commit, an empty
//! directory on the disk to be measured, and the agent's script.
#![allow(clippy::disallowed_methods, reason = "a measurement reads the clock and the environment")]

use std::error::Error;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use windlass_core::id::{CommitId, LoopName, Seq};
use windlass_core::policy::{CheckPolicy, CheckWhen};
use windlass_core::time::{Millis, Timestamp};
use windlass_gate::{GateRun, run_check};
use windlass_process::{
    Confinement, Program, ProgramExit, ProgramLimits, Spawner, ThrowawayTree, WARDEN_ARG, warden_main,
};
use windlass_redact::Redactor;
use windlass_store::{Append, StateDir, Store, VaultDir};
use windlass_workspace::{
    Checkout, CommitText, Depth, Git, LandRequest, OperatorEnv, ReadFiles, Repository, Since,
    SnapshotRequest, SnapshotRules, Space, StoredSnapshot, Vault, land,
};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Of an iteration without a review, in the order of its inputs: the bytes of
/// the record, and those of the blobs that go with it.
const COMMITS: [(usize, &[usize]); 5] = [(450, &[]), (700, &[2400, 0]), (750, &[]), (650, &[0]), (900, &[])];
/// The stored View of a loop with forty tasks.
const VIEW_BYTES: usize = 8_000;
const BRIEF_BYTES: usize = 2_400;
const OUTPUT_CAP: u64 = 4 << 20;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1).peekable();
    if args.peek().is_some_and(|word| word == WARDEN_ARG) {
        return warden_main(args.skip(1));
    }
    match measure(&args.collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(args: &[OsString]) -> Outcome<()> {
    let [project, state, agent, rounds] = args else { return Err("PROJECT STATE AGENT ROUNDS".into()) };
    let rounds: usize = rounds.to_str().unwrap_or_default().parse()?;
    let mut parts = Parts::new(Path::new(project), Path::new(state), Path::new(agent))?;
    for round in 0..rounds {
        parts.round(round)?;
    }
    Ok(())
}

struct Parts {
    repository: Repository,
    vault: Vault,
    space: Space,
    rules: SnapshotRules,
    checkout: Checkout,
    store: Arc<dyn Store>,
    dirs: VaultDir,
    name: LoopName,
    agent: PathBuf,
    spawner: Spawner,
    overlay: bool,
    landed: Option<CommitId>,
    seq: Seq,
}

impl Parts {
    fn new(project: &Path, state: &Path, agent: &Path) -> Outcome<Self> {
        let env = |name| std::env::var_os(name);
        let path = env("PATH").ok_or("no PATH")?;
        let git = Git::locate(OperatorEnv { path, home: env("HOME").map(PathBuf::from), config_home: None })?;
        let repository = Repository::discover(&git, project)?;
        let dirs = StateDir::new(state).vault(OsStr::new("parts"), &project.join(".git"));
        let store = windlass_store::open(&dirs)?;
        let vault = Vault::open_or_create(&git, &dirs.vault_git())?;
        vault.import(&repository, &repository.head, Depth::Commits(50))?;
        let name = LoopName::new("parts")?;
        for dir in [dirs.attempts(&name), dirs.checkout(&name)] {
            std::fs::create_dir_all(dir)?;
        }
        let mut space = Space::new(&dirs.space(&name), &dirs.cache_file(&name, "stat"));
        space.create(&vault, &repository.head, &repository.identity)?;
        let mut checkout = Checkout::new(&dirs.checkout(&name).join("clean"));
        checkout.bring_to(&vault, &repository.head_tree)?;
        let rules = SnapshotRules::new(repository.head_tree.clone());
        let spawner = Spawner::new();
        let overlay = spawner.probe(&dirs.checkout(&name)).overlay;
        let agent = agent.to_owned();
        let (landed, seq) = (None, Seq(0));
        Ok(Self {
            repository,
            vault,
            space,
            rules,
            checkout,
            store,
            dirs,
            name,
            agent,
            spawner,
            overlay,
            landed,
            seq,
        })
    }

    fn round(&mut self, round: usize) -> Outcome<()> {
        let (agent, ()) = timed(|| self.call(round))?;
        let (snapshot, taken) = timed(|| self.snapshot())?;
        let name = format!("refs/windlass/parts/{round:06}");
        let (set_ref, ()) = timed(|| Ok(self.vault.set_ref(&name, &taken.commit)?))?;
        let (checkout, _) = timed(|| Ok(self.checkout.bring_to(&self.vault, &taken.tree)?))?;
        let (check, ()) = timed(|| self.check())?;
        let (commits, ()) = timed(|| self.commits(round))?;
        let (landing, ()) = timed(|| self.land(&taken))?;
        self.rules = SnapshotRules::new(taken.tree.clone());
        self.space.reset(&self.vault, &taken.tree, &self.rules, Since::Unknown)?;
        self.landed = Some(taken.commit);
        for left in ["agent", "gate-1"] {
            let _ = std::fs::remove_dir_all(self.dirs.attempts(&self.name).join(left));
        }
        println!(
            "{{\"agent\":{agent},\"snapshot\":{snapshot},\"ref\":{set_ref},\"checkout\":{checkout},\
             \"check\":{check},\"commits\":{commits},\"landing\":{landing}}}"
        );
        Ok(())
    }

    fn call(&self, round: usize) -> Outcome<()> {
        let dir = self.dirs.attempts(&self.name).join("agent");
        std::fs::create_dir(&dir)?;
        let mut env = env();
        env.push(("WINDLASS_TASK".into(), format!("part-{round}").into()));
        let program = Program {
            argv: vec!["/bin/sh".into(), self.agent.clone().into()],
            cwd: self.space.root().to_owned(),
            env,
            stdin: vec![b'b'; BRIEF_BYTES],
            limits: ProgramLimits::none(OUTPUT_CAP),
            confinement: Confinement::none(),
            marker: format!("parts/{round}"),
            dir,
        };
        let exit = self.spawner.start(&program)?.wait().exit;
        if exit == ProgramExit::Code(0) {
            Ok(())
        } else {
            Err(format!("the agent ended with {exit:?}").into())
        }
    }

    fn snapshot(&mut self) -> Outcome<StoredSnapshot> {
        let text = CommitText {
            message: "a part".to_owned(),
            author: self.repository.identity.clone(),
            date_ms: 1_700_000_000_000,
        };
        let parents = [self.landed.clone().unwrap_or_else(|| self.repository.head.clone())];
        let request = SnapshotRequest {
            rules: &self.rules,
            parents: &parents,
            text: &text,
            reading: ReadFiles::Changed,
        };
        Ok(self.space.snapshot(&self.vault, &request)?)
    }

    fn check(&self) -> Outcome<()> {
        let beside = self.dirs.checkout(&self.name);
        let (at, upper, lower) = (beside.join("tree"), beside.join("layer"), self.checkout.dir().to_owned());
        for dir in [&at, &upper] {
            std::fs::create_dir_all(dir)?;
        }
        let hide = vec![lower.clone(), self.dirs.root()];
        let tree = self.overlay.then(|| ThrowawayTree {
            over: Vec::new(),
            shown_at: None,
            lower: lower.clone(),
            at: at.clone(),
            upper,
            hide,
            read_only: Vec::new(),
        });
        let checks = [CheckPolicy {
            name: "true".to_owned(),
            run: "true".to_owned(),
            when: CheckWhen::Both,
            timeout: Millis::minutes(5),
            ..CheckPolicy::default()
        }];
        let run = GateRun {
            resources: windlass_core::policy::ResourcePolicy::default(),
            checks: &checks,
            cwd: if self.overlay { &at } else { &lower },
            env: &env(),
            confinement: &Confinement::none_with(tree.clone()),
            attempts: &self.dirs.attempts(&self.name),
            name: "gate",
            marker: "gate",
            spawner: &self.spawner,
            redactor: &Redactor::new(&[]),
            shell: "/bin/sh".as_ref(),
        };
        let checked = run_check(&run, 0, &mut |_| ()).ok_or("the check was cancelled")?;
        if checked.exit_code != Some(0) {
            return Err(format!("the check failed: {}", checked.excerpt).into());
        }
        Ok(tree.map_or(Ok(()), |tree| tree.discard())?)
    }

    fn commits(&mut self, round: usize) -> Outcome<()> {
        for (nth, (body, blobs)) in COMMITS.into_iter().enumerate() {
            for size in blobs {
                let mut bytes = format!("{round} {nth} ").into_bytes();
                bytes.resize(bytes.len().max(*size), b'b');
                self.store.put(bytes)?;
            }
            self.store.append(Append {
                loop_name: self.name.clone(),
                expected: self.seq,
                at: Timestamp(0),
                body: "d".repeat(body),
                events: 2,
                view: "v".repeat(VIEW_BYTES),
                fold_version: 1,
            })?;
            self.seq = self.seq.next();
        }
        Ok(())
    }

    fn land(&self, taken: &StoredSnapshot) -> Outcome<()> {
        let request = LandRequest {
            branch: "refs/heads/windlass/parts",
            commit: &taken.commit,
            expected: self.landed.as_ref(),
            reflog: "windlass: a part",
            identity: &self.repository.identity,
        };
        land(&self.repository, &self.vault, &request)?;
        Ok(())
    }
}

fn env() -> Vec<(OsString, OsString)> {
    std::env::vars_os().filter(|(name, _)| name == "PATH" || name == "HOME").collect()
}

/// In microseconds.
fn timed<T>(work: impl FnOnce() -> Outcome<T>) -> Outcome<(u128, T)> {
    let begun = Instant::now();
    let done = work()?;
    Ok((begun.elapsed().as_micros(), done))
}
