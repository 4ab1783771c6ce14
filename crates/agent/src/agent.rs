//! One turn of an agent, whatever the agent is.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use windlass_core::id::{LoopName, Nonce, TaskId};
use windlass_core::input::AgentFinished;
use windlass_core::live::Live;
use windlass_core::nearest::nearest;
use windlass_core::policy::{AgentPolicy, ResourcePolicy, Role};
use windlass_core::time::Timestamp;
use windlass_core::usage::{Session, Usage};
use windlass_process::{Canceller, Capture, Confinement, Spawner};
use windlass_redact::Redactor;

use crate::acp::AcpAgent;
use crate::command::CommandAgent;
use crate::known::CliAgent;
use crate::registry;
use crate::scripted::{ScriptError, ScriptedAgent};

pub trait Agent: Send + Sync {
    /// Whether a call could work, as far as can be told without one. `path` is the agent's `PATH`.
    fn check(&self, policy: &AgentPolicy, project: &Path, path: &OsStr) -> Result<(), Unusable>;

    /// The operator's files that a call needs, wherever they are: a confined agent may read these.
    fn files(&self, policy: &AgentPolicy, project: &Path, path: &OsStr) -> Vec<PathBuf>;

    /// Whether the report is the agent's last message, by a schema; otherwise it is a file.
    fn answers(&self) -> bool {
        false
    }

    /// Runs one turn, and returns when nothing of it is alive. `started` is given the means to end it.
    fn call(&self, call: &TurnRequest<'_>, started: &mut dyn FnMut(Canceller)) -> TurnResult;
}

/// The agent that a policy names.
pub fn adapter(policy: &AgentPolicy) -> Result<Box<dyn Agent>, UnknownAdapter> {
    match policy.adapter.as_str() {
        "acp" => Ok(Box::new(AcpAgent)),
        "command" => Ok(Box::new(CommandAgent)),
        "scripted" => Ok(Box::new(ScriptedAgent)),
        other => match registry::named(other) {
            Some(agent) => Ok(Box::new(CliAgent(agent))),
            None => Err(UnknownAdapter {
                name: other.to_owned(),
                nearest: nearest(other, registry::adapter_names()).unwrap_or("command"),
            }),
        },
    }
}

/// Whether a role looks at the workspace and changes nothing in it.
pub(crate) fn reads_only(role: Role) -> bool {
    match role {
        Role::Reviewer | Role::Planner => true,
        Role::Author | Role::Finisher => false,
    }
}

/// Everything one turn needs. Nothing is looked up elsewhere.
#[derive(Clone, Copy)]
pub struct TurnRequest<'a> {
    pub role: Role,
    pub nonce: &'a Nonce,
    pub brief: &'a str,
    /// The same with all that the conversation to go on with has in it, for one that turns out to be gone.
    pub whole_brief: &'a str,
    pub policy: &'a AgentPolicy,
    pub names: AttemptNames<'a>,
    pub wall: Wall,
    pub workspace: &'a Path,
    /// The operator's directory, which relative paths of the policy start from.
    pub project: &'a Path,
    pub trail: &'a Path,
    /// This attempt's own, existing and empty.
    pub dir: &'a Path,
    /// The agent's home directory.
    pub home: &'a Path,
    /// The agent's `PATH`.
    pub path: &'a OsStr,
    /// Whether windlass confines it.
    pub is_confined: bool,
    /// The conversation to go on with.
    pub resume: Option<&'a Session>,
    /// Unique text by which recovery finds strays.
    pub marker: &'a str,
    /// What was allowed; the contract's own variables are added.
    pub env: &'a [(OsString, OsString)],
    pub confinement: &'a Confinement,
    pub resources: ResourcePolicy,
    pub spawner: &'a Spawner,
    /// Cleans what was captured and reported before anything is read of it.
    pub redactor: &'a Redactor,
    pub clock: fn() -> Timestamp,
    /// Whether so much in this turn is more than the loop's budget has left.
    pub is_spent: &'a (dyn Fn(&Usage) -> bool + Sync),
    /// Is told what is heard while the turn runs.
    pub live: &'a (dyn Fn(Live) + Sync),
}

#[derive(Clone, Copy, Debug)]
pub struct AttemptNames<'a> {
    pub name: &'a LoopName,
    /// None for the whole.
    pub task: Option<&'a TaskId>,
    pub iteration: u32,
    /// Which attempt of this task and role it is, from 1.
    pub nth: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wall {
    /// Zero is no limit.
    pub limit: Duration,
    pub source: WallSource,
}

/// Which limit was the tighter one: it names the end of a turn that reaches it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WallSource {
    Agent,
    Budget,
}

/// A turn that is over: core's record of it, and what only the driver needs.
#[derive(Clone, Debug)]
pub struct TurnResult {
    /// Without its transcript, its brief, and what became of the workspace, which the driver knows.
    pub finished: AgentFinished,
    /// Why a report that was written is not an author's claim, or not a planner's answer.
    pub unread: Option<String>,
    /// What a planner answered.
    pub answer: Option<serde_json::Value>,
    /// None when nothing was started.
    pub stdout: Option<Capture>,
    pub stderr: Option<Capture>,
    /// Processes that could not be ended: while there are any, the attempt is not over.
    pub survivors: u32,
    /// The conversation it was to go on with was gone, and it was given the whole brief.
    pub began_afresh: bool,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("there is no agent {name:?}; did you mean {nearest:?}?")]
pub struct UnknownAdapter {
    pub name: String,
    pub nearest: &'static str,
}

/// Why an agent cannot be called, before it is.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    #[error("the agent has no command")]
    NoCommand,
    #[error("{program} is not installed: there is no such program in PATH")]
    NotInstalled { program: String },
    #[error("the agent's command {program:?} is not in PATH")]
    NotInPath { program: String },
    #[error("the agent's command {} does not exist", path.display())]
    Missing { path: PathBuf },
    #[error("the agent's command {} is not executable", path.display())]
    NotExecutable { path: PathBuf },
    #[error(transparent)]
    Script(#[from] ScriptError),
}
