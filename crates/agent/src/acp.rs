//! Any program that speaks the Agent Client Protocol: JSON-RPC, a message a line, on its standard input and
//! output.
//!
//! A conversation needs two sides, and a program under a warden has only its brief and its captured output.
//! So a hidden mode of our own binary runs under the warden, in the same confinement: it starts the agent's
//! program, speaks with it, serves its files and terminals, and prints every message as a line. What those
//! lines mean is read outside, like the output of every other agent ([`crate::cli`]).

mod bridge;
mod environment;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::{Deserialize, Serialize};
use windlass_core::policy::AgentPolicy;
use windlass_process::Canceller;

use crate::agent::{Agent, TurnRequest, TurnResult, Unusable, reads_only};
use crate::attempt::{self, AgentProgram, REPORT_PATH};
use crate::cli::{self, ReaderSetup, SessionStart};
use crate::command::{self, CommandAgent};
use crate::known::{self, OUTPUT_CAP, OutputReading};
use crate::reset::Zone;
use crate::scripted;

/// The first argument of the binary that means: call [`acp_main`] with what follows, and do nothing else.
pub const ACP_ARG: &str = "__acp";

/// The hidden mode of the binary that speaks with one agent.
pub fn acp_main(args: impl Iterator<Item = OsString>) -> ExitCode {
    bridge::main(args)
}

pub struct AcpAgent;

impl Agent for AcpAgent {
    fn check(&self, policy: &AgentPolicy, project: &Path, path: &OsStr) -> Result<(), Unusable> {
        CommandAgent.check(policy, project, path)
    }

    /// Most of these programs were installed by a package manager, and lie among files of their own.
    fn files(&self, policy: &AgentPolicy, project: &Path, path: &OsStr) -> Vec<PathBuf> {
        let mut files = CommandAgent.files(policy, project, path);
        let argv = command::argv(policy, project);
        if let Some(found) = argv.first().and_then(|program| command::locate(program, path)) {
            files.extend(known::beside(&found, path));
        }
        files.push(scripted::by_name(Path::new("/proc/self/exe")));
        files
    }

    fn call(&self, call: &TurnRequest<'_>, started: &mut dyn FnMut(Canceller)) -> TurnResult {
        let argv = match argv(call) {
            Ok(argv) => argv,
            Err(what) => return attempt::not_started(call.role, what),
        };
        let setup = ReaderSetup {
            model: call.policy.model.clone(),
            schema: false,
            start: SessionStart::of(call.resume),
            zone: Zone::system(),
            env: call.policy.env.clone(),
        };
        let reader = cli::acp::reader(setup);
        let program = AgentProgram { argv, env: environment::of(call.policy), output_cap: OUTPUT_CAP };
        let reading = OutputReading { reader, by_schema: false, notes: Vec::new() };
        known::run_and_read(call, program, reading, started).0
    }
}

/// What the side under the warden must know.
#[derive(Debug, Serialize, Deserialize)]
struct Terms {
    workspace: PathBuf,
    /// Where files may be written, beside the workspace of one who may write.
    write: Vec<PathBuf>,
    /// Where they may be read beside those.
    read: Vec<PathBuf>,
    access: Access,
    model: String,
    effort: String,
    /// The conversation to go on with.
    resume: Option<String>,
    sandbox: Sandbox,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Access {
    Write,
    /// A reviewer changes nothing but its report.
    Report,
}

/// Whose sandbox the agent's own tools run in. They do not nest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Sandbox {
    Ours,
    Its,
}

fn argv(call: &TurnRequest<'_>) -> Result<Vec<OsString>, String> {
    let report = call.dir.join(REPORT_PATH);
    let scratch = call.env.iter().find(|(name, _)| name == "TMPDIR").map(|(_, value)| PathBuf::from(value));
    let terms = Terms {
        workspace: call.workspace.to_owned(),
        write: report.parent().map(Path::to_owned).into_iter().chain(scratch).collect(),
        read: vec![call.trail.to_owned()],
        access: if reads_only(call.role) { Access::Report } else { Access::Write },
        model: call.policy.model.clone(),
        effort: call.policy.effort.clone(),
        resume: call.resume.map(|session| session.id.clone()),
        sandbox: if call.is_confined { Sandbox::Ours } else { Sandbox::Its },
    };
    // The protocol itself is JSON, and has no words for such a path.
    let terms = serde_json::to_string(&terms).map_err(|error| {
        format!("the workspace {} has no name in JSON: {error}", call.workspace.display())
    })?;
    let ours = [scripted::by_name(call.spawner.warden_path()).into_os_string(), ACP_ARG.into(), terms.into()];
    Ok(ours.into_iter().chain(command::argv(call.policy, call.project)).collect())
}
