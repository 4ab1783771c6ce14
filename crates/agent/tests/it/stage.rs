//! A project, a workspace, and what one call needs.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use tempfile::TempDir;
use windlass_agent::{Agent, AttemptNames, TurnRequest, TurnResult, Wall, WallSource, adapter};
use windlass_core::id::{LoopName, Nonce, TaskId};
use windlass_core::live::Live;
use windlass_core::policy::{AgentPolicy, Role};
use windlass_core::time::Millis;
use windlass_core::usage::Session;
use windlass_process::{Canceller, Confinement, Spawner};
use windlass_redact::Redactor;

pub struct Stage {
    pub root: TempDir,
    pub role: Role,
    pub task: Option<TaskId>,
    pub nth: u32,
    pub wall: Wall,
    pub env: Vec<(OsString, OsString)>,
    pub policy: AgentPolicy,
    spawner: Spawner,
    pub redactor: Redactor,
    /// The conversation to go on with.
    pub resume: Option<Session>,
    calls: u32,
}

impl Stage {
    pub fn new(policy: AgentPolicy) -> Self {
        let root = tempfile::tempdir().unwrap();
        for dir in ["project", "space", "trail", "attempts"] {
            fs::create_dir(root.path().join(dir)).unwrap();
        }
        Self {
            root,
            role: Role::Author,
            task: Some(TaskId::new("001")),
            nth: 1,
            wall: Wall { limit: Duration::from_secs(60), source: WallSource::Agent },
            env: vec![("PATH".into(), "/usr/bin:/bin".into())],
            policy: AgentPolicy { grace: Millis(500), ..policy },
            spawner: Spawner::with_warden(env!("CARGO_BIN_EXE_agent-warden")),
            redactor: Redactor::new(&[]),
            resume: None,
            calls: 0,
        }
    }

    pub fn command(argv: &[&str]) -> Self {
        let command = argv.iter().map(|word| (*word).to_owned()).collect();
        Self::new(AgentPolicy { command, ..AgentPolicy::default() })
    }

    pub fn shell(script: &str) -> Self {
        Self::command(&["sh", "-c", script])
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub fn space(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.path("space").join(name)).ok()
    }

    pub fn call(&mut self) -> TurnResult {
        self.call_with(&mut |_| {})
    }

    pub fn call_with(&mut self, started: &mut dyn FnMut(Canceller)) -> TurnResult {
        self.turn(started, &|_| {})
    }

    /// With what is told while it runs.
    pub fn call_heard(&mut self, live: &(dyn Fn(Live) + Sync)) -> TurnResult {
        self.turn(&mut |_| {}, live)
    }

    fn turn(&mut self, started: &mut dyn FnMut(Canceller), live: &(dyn Fn(Live) + Sync)) -> TurnResult {
        self.calls += 1;
        let dir = self.path("attempts").join(self.calls.to_string());
        fs::create_dir(&dir).unwrap();
        let (name, nonce) = (LoopName::new("demo1").unwrap(), Nonce::new("5ec7e7"));
        let marker = format!("{}", dir.display());
        let call = TurnRequest {
            role: self.role,
            nonce: &nonce,
            brief: "nonce: 5ec7e7\n\n# Do it\n",
            whole_brief: "nonce: 5ec7e7\n\n# Do it\n",
            policy: &self.policy,
            names: AttemptNames { name: &name, task: self.task.as_ref(), iteration: 4, nth: self.nth },
            wall: self.wall,
            workspace: &self.path("space"),
            project: &self.path("project"),
            trail: &self.path("trail"),
            dir: &dir,
            marker: &marker,
            env: &self.env,
            confinement: &Confinement::none(),
            spawner: &self.spawner,
            resources: windlass_core::policy::ResourcePolicy::default(),
            redactor: &self.redactor,
            home: &self.path("home"),
            path: std::ffi::OsStr::new("/usr/bin:/bin"),
            is_confined: false,
            resume: self.resume.as_ref(),
            clock: || windlass_core::time::Timestamp(0),
            is_spent: &|_| false,
            live,
        };
        let agent: Box<dyn Agent> = adapter(&self.policy).unwrap();
        let told = agent.call(&call, started);
        assert_eq!(told.survivors, 0);
        told
    }
}
