//! An agent that plays a file of actions: for demonstrations and tests. Its turns run as a program under a
//! warden like any other's, and are bounded, judged and killed like any other's.

mod play;
mod script;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use windlass_core::policy::AgentPolicy;
use windlass_process::Canceller;

use crate::agent::{Agent, TurnRequest, TurnResult, Unusable};
use crate::attempt;

pub use script::ScriptError;

/// The first argument of the binary that means: call [`scripted_main`] with what follows, and do nothing else.
pub const SCRIPTED_ARG: &str = "__scripted";

/// The hidden mode of the binary that plays one turn.
pub fn scripted_main(args: impl Iterator<Item = OsString>) -> ExitCode {
    play::main(args)
}

pub struct ScriptedAgent;

impl Agent for ScriptedAgent {
    fn check(&self, policy: &AgentPolicy, project: &Path, _path: &OsStr) -> Result<(), Unusable> {
        script::read(&path(policy, project)).map(|_| ()).map_err(Unusable::from)
    }

    fn files(&self, policy: &AgentPolicy, project: &Path, _path: &OsStr) -> Vec<PathBuf> {
        vec![by_name(Path::new("/proc/self/exe")), path(policy, project)]
    }

    fn call(&self, call: &TurnRequest<'_>, started: &mut dyn FnMut(Canceller)) -> TurnResult {
        let task = call.names.task.map_or("", |task| task.as_str());
        let argv = [
            by_name(call.spawner.warden_path()).into_os_string(),
            SCRIPTED_ARG.into(),
            play::PLAY.into(),
            path(call.policy, call.project).into_os_string(),
            task.into(),
            call.role.name().into(),
            call.names.nth.to_string().into(),
            call.dir.join(attempt::REPORT_PATH).into_os_string(),
        ];
        attempt::run(call, argv.into(), started)
    }
}

/// The warden's program is ours too. By its name, which a confined program can be let to run; or, once an
/// upgrade has replaced the file, as what it is in the process that becomes the program.
pub fn by_name(warden: &Path) -> PathBuf {
    warden.canonicalize().unwrap_or_else(|_| warden.to_path_buf())
}

fn path(policy: &AgentPolicy, project: &Path) -> PathBuf {
    project.join(&policy.script)
}
