//! The coding agents that people have, each as it really behaves: how it is called, and what its lines mean.
//!
//! Nothing here runs anything or reads a file. A [`Cli`] turns an [`InvocationSpec`] into a [`CliInvocation`];
//! an [`OutputReader`] is given the program's lines as they come, and its exit, and says how the turn ended.
//! The brief is always the program's standard input.
//!
//! A program's word for success is about its turn, never about the work. Its exit code is not believed alone,
//! and a stream that stops before its end marker, or goes on after it, was no turn that ended well.

pub mod acp;
mod claude;
mod codex;
mod fault;
pub mod fuzzed;
mod gemini;
pub(crate) mod line;
pub(crate) mod messages;
mod opencode;
mod qwen;
mod story;
mod turn;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::Value;
use windlass_core::input::AttemptEnd;
use windlass_core::live::Live;
use windlass_core::policy::Role;
use windlass_core::summary::Summary;
use windlass_core::time::Timestamp;
use windlass_core::usage::{ModelUsage, Session};
use windlass_process::ProgramExit;

use crate::reset::Zone;

pub(crate) use self::claude::{Claude, ENVIRONMENT as CLAUDE_ENVIRONMENT};
pub(crate) use self::codex::Codex;
pub(crate) use self::gemini::Gemini;
pub(crate) use self::opencode::Opencode;
pub(crate) use self::qwen::Qwen;

pub trait Cli: Sync {
    fn invocation(&self, spec: &InvocationSpec<'_>) -> CliInvocation;

    /// The program to start for the one that was found: a wrapper that drops signals is stepped over.
    /// `exists` says whether there is such a file.
    fn native(&self, found: &Path, _exists: &dyn Fn(&Path) -> bool) -> PathBuf {
        found.to_path_buf()
    }

    fn reader(&self, setup: ReaderSetup) -> Box<dyn OutputReader>;
}

/// What is wanted of one turn.
#[derive(Clone, Copy)]
pub struct InvocationSpec<'a> {
    pub role: Role,
    /// As [`Cli::native`] resolved it.
    pub program: &'a Path,
    /// Empty: the program's own default.
    pub model: &'a str,
    /// Empty: the program's own default.
    pub effort: &'a str,
    /// The operator's own; they come last, so that they win.
    pub args: &'a [String],
    /// 0 is no limit.
    pub max_turns: u32,
    pub workspace: &'a Path,
    /// The home directory of this attempt.
    pub home: &'a Path,
    pub report: &'a Path,
    pub schema: Option<&'a Value>,
    /// Where the schema lies as a file.
    pub schema_file: &'a Path,
    /// A session of the same program, in the same workspace.
    pub resume: Option<&'a str>,
    pub confined: Confined,
    pub access: FileAccess,
    pub own_config: OwnConfig,
    /// Names of the variables that the attempt's environment has: how the program is logged in.
    pub variables: &'a [&'a str],
}

impl InvocationSpec<'_> {
    fn has_variable(&self, name: &str) -> bool {
        self.variables.contains(&name)
    }
}

/// Whose sandbox the tools run in. They do not nest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confined {
    /// windlass confines the whole program; its own sandbox is switched off.
    ByWindlass,
    /// Nobody else does: the program's own rules hold.
    ByItself,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileAccess {
    Write,
    /// A reviewer: what it changes is thrown away, and counts against it.
    ReadOnly,
}

/// The operator's MCP servers, plugins and settings for this program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnConfig {
    KeptOut,
    Wanted,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CliInvocation {
    pub argv: Vec<OsString>,
    /// On top of what the attempt's environment has.
    pub env: Vec<(OsString, OsString)>,
    /// Below the home; parents are to be made. An existing file is replaced.
    pub files: Vec<(PathBuf, Vec<u8>)>,
    /// What is to be said of this call.
    pub notes: Vec<String>,
}

/// What a reader must know of the call it reads.
#[derive(Clone, Debug)]
pub struct ReaderSetup {
    /// As asked; most programs do not name the model they used.
    pub model: String,
    pub schema: bool,
    pub start: SessionStart,
    /// Of the times of day that the program prints.
    pub zone: Zone,
    /// The names of the variables that the policy hands to the program.
    pub env: Vec<String>,
}

/// Two programs report the tokens of a whole session, also of the turns before the resumed one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionStart {
    Fresh,
    /// With the total of [`TurnEnding::session`] of the turn before, empty if that is not known.
    Resumed {
        before: Vec<ModelUsage>,
    },
}

impl SessionStart {
    pub(crate) fn of(resumed: Option<&Session>) -> Self {
        match resumed {
            Some(session) => Self::Resumed { before: session.total.clone() },
            None => Self::Fresh,
        }
    }
}

pub trait OutputReader: Send {
    /// One line of standard output, without its line feed.
    fn line(&mut self, line: &[u8], now: Timestamp) -> Vec<Live>;

    /// One line of standard error: where some programs tell of their retries.
    fn error_line(&mut self, _line: &[u8], _now: Timestamp) -> Vec<Live> {
        Vec::new()
    }

    /// The end that is certain already while the program still tries: the caller ends the turn, and keeps it.
    fn hopeless(&self) -> Option<AttemptEnd>;

    fn end(self: Box<Self>, over: &ProgramEnd<'_>) -> TurnEnding;
}

/// A turn whose program is dead.
#[derive(Clone, Copy, Debug)]
pub struct ProgramEnd<'a> {
    pub exit: &'a ProgramExit,
    /// What [`crate::failure::class`] makes of the exit, limits on resources included.
    pub outside: &'a AttemptEnd,
    pub stderr: &'a [u8],
    pub now: Timestamp,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TurnEnding {
    /// What the program calls itself, and its version, where its output says so.
    pub agent: String,
    pub end: AttemptEnd,
    /// The final message, verbatim but bounded.
    pub message: String,
    /// What the output schema gave, of a turn that ended well. Never from other text.
    pub structured: Option<Value>,
    /// Of this turn alone. Empty: unknown.
    pub usage: Vec<ModelUsage>,
    /// Whether `usage` is all of it. What a turn that was cut short had told is the least it can be.
    pub usage_is_whole: bool,
    /// What a later turn may go on with; its total is given only by programs that tell no other.
    pub session: Option<Session>,
    /// The session that was to be resumed is gone; a fresh one is the way on.
    pub session_is_gone: bool,
    /// What the turn did, as its program told. A claim, for the next brief and for people.
    pub summary: Summary,
    /// How many different files the program said it read.
    pub files_read: u64,
    pub notes: Vec<String>,
}
